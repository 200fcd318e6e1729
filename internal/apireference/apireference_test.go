package apireference

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a document says is text: none of it becomes markup.
func TestDescriptionsAreEscaped(t *testing.T) {
	const evil = `<script>alert(1)</script>`
	page, err := New(func() ([]byte, error) {
		return []byte(`{"openapi":"3.1.0","info":{"title":"` + evil + `","version":"1","description":"**a** ` + evil + ` and ` + "`<b>`" + `"},
		"tags":[{"name":"T","description":"- one\n- ` + evil + `\n\n| a | ` + evil + ` |\n|---|---|\n| .05 | ` + "`refused`" + ` |"}],
		"paths":{"/x":{"post":{"operationId":"x","summary":"` + evil + `","tags":["T"],"responses":{"200":{"description":"` + evil + `"}},
			"requestBody":{"content":{"application/json":{"schema":{"properties":{"` + evil + `":{"type":"string","enum":["` + evil + `"]}}},
			"example":{"` + evil + `":"it's ` + evil + `"}}}}}}}}`), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs", nil))
	html := w.Body.String()
	if strings.Contains(html, evil) || !strings.Contains(html, "&lt;script&gt;") || !strings.Contains(html, "<code>&lt;b&gt;</code>") || !strings.Contains(html, `it&#39;\&#39;&#39;s`) {
		t.Errorf("the page has markup of the document's: %s", html)
	}
	if !strings.Contains(html, `<th scope="col">a</th><th scope="col">&lt;script`) || !strings.Contains(html, `<tr><td>.05</td><td><code>refused</code></td></tr></tbody></table>`) || !strings.Contains(html, "<li>one</li>") || !strings.Contains(html, "<strong>a</strong>") {
		t.Errorf("the page does not show lists, tables and bold words: %s", html)
	}
}

// A schema that holds itself ends.
func TestSchemasThatHoldThemselvesEnd(t *testing.T) {
	d := document{map[string]any{"components": map[string]any{"schemas": map[string]any{
		"Node": map[string]any{"type": "object", "properties": map[string]any{"next": map[string]any{"$ref": "#/components/schemas/Node"}}},
		"Loop": map[string]any{"$ref": "#/components/schemas/Loop"},
	}}}}
	if got := d.fields(map[string]any{"$ref": "#/components/schemas/Node"}, 0); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	if got := d.fields(map[string]any{"$ref": "#/components/schemas/Loop"}, 0); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestTypesReadAsWords(t *testing.T) {
	d := document{}
	for want, schema := range map[string]map[string]any{
		"string":           {"type": "string"},
		"array":            {"type": "array", "items": map[string]any{}},
		"date-time":        {"type": "string", "format": "date-time"},
		"string or null":   {"type": []any{"string", "null"}},
		"array of strings": {"type": "array", "items": map[string]any{"type": "string"}},
		"integer":          {"type": "integer", "format": "int64"},
		"object":           {"properties": map[string]any{"a": map[string]any{}}},
		"anything":         {},
	} {
		if got := d.typeOf(schema); got != want {
			t.Errorf("%v is %q, want %q", schema, got, want)
		}
	}
	if got := number(100000.0) + " " + number(0.01); got != "100000 0.01" {
		t.Errorf("numbers read %s", got)
	}
}
