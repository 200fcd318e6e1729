package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func around(text, what string) string {
	at := strings.Index(text, what)
	return text[max(0, at-120):min(len(text), at+80)]
}

func same(a, b any) bool {
	sorted := func(v any) (list []string) {
		values, _ := v.([]any)
		for _, e := range values {
			list = append(list, fmt.Sprint(e))
		}
		slices.Sort(list)
		return list
	}
	return slices.Equal(sorted(a), sorted(b))
}

func fetched(t *testing.T, url string) []byte {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, answer.StatusCode, err)
	}
	return text
}

// document is the published OpenAPI document.
type document struct{ tree map[string]any }

func published(t *testing.T, url string) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(fetched(t, url+"/api/openapi.json"), &d.tree); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d document) resolve(node any) map[string]any {
	object, _ := node.(map[string]any)
	for range 5 {
		ref, _ := object["$ref"].(string)
		if ref == "" {
			break
		}
		object = d.tree
		for _, key := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			object, _ = object[key].(map[string]any)
		}
	}
	return object
}

// operation is an operation by its id, with its path under "path".
func (d document) operation(id string) map[string]any {
	for path, methods := range d.resolve(d.tree["paths"]) {
		for _, operation := range d.resolve(methods) {
			if of := d.resolve(operation); of["operationId"] == id {
				of["path"] = path
				return of
			}
		}
	}
	return nil
}

const leakedKey = "rk_test_LeakLeakLeakLeakLeakLeakLeakLeak0123"

// leaks are texts that no agent may read.
var leaks = []string{
	"whsec_LeakLeakLeakLeakLeak", "sk_live_LeakLeakLeakLeak", "cs_LeakLeakLeakLeakLeak0", "eyJLeakLeakLeak.eyJLeakLeak", "leak@example.com", "529.982.247-25", "4242 4242 4242 4242",
	"Bearer LeakLeak", "+55 11 99999-8888",
}

// leaking answers each operation with everything that its document allows, with leaks in each text.
func (d document) leaking() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for path, methods := range d.resolve(d.tree["paths"]) {
			form := regexp.MustCompile(`^/api/v1` + regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "[^/]+") + `$`)
			operation := d.resolve(d.resolve(methods)["get"])
			if operation == nil || !form.MatchString(r.URL.Path) {
				continue
			}
			media := d.resolve(d.resolve(d.resolve(d.resolve(operation["responses"])["200"])["content"])["application/json"])
			w.Header().Set("X-Secret", leakedKey)
			_ = json.NewEncoder(w).Encode(d.filled(media["schema"], 0)) // the client may have left
			return
		}
		w.WriteHeader(http.StatusNotFound)
	})
}

// filled is a value of a schema in which every member is present.
func (d document) filled(node any, depth int) any {
	schema := d.resolve(node)
	for _, either := range []string{"anyOf", "oneOf"} {
		if options, ok := schema[either].([]any); ok && schema["properties"] == nil {
			for _, option := range options {
				if d.resolve(option)["type"] != "null" {
					schema = d.resolve(option)
					break
				}
			}
		}
	}
	kind := fmt.Sprint(schema["type"])
	switch {
	case depth > 12:
		return nil
	case schema["properties"] != nil || strings.Contains(kind, "object"):
		object := map[string]any{"password": "hunter2-" + leaks[0], "x-" + leakedKey: leakedKey}
		for name, p := range d.resolve(schema["properties"]) {
			object[name] = d.filled(p, depth+1)
		}
		if schema["additionalProperties"] != nil && schema["additionalProperties"] != false {
			object["a note"] = strings.Join(leaks, " ")
		}
		return object
	case strings.Contains(kind, "array"):
		return []any{d.filled(schema["items"], depth+1)}
	case strings.Contains(kind, "string"):
		if choices, ok := schema["enum"].([]any); ok {
			return choices[0]
		}
		if schema["format"] == "date-time" {
			return "2026-11-21T12:00:00.000Z"
		}
		return strings.Join(leaks, " ") + " " + leakedKey
	case strings.Contains(kind, "boolean"):
		return true
	}
	return 5
}
