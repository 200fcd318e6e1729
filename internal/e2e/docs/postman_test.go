package docs

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/apireference"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// collection is the collection for Postman, as far as it is checked here.
type collection struct {
	Variable []struct{ Key, Value string }
	Item     []struct {
		Name string
		Item []request
	}
}

// request is one of the collection.
type request struct {
	Name  string
	Event []struct{ Script struct{ Exec []string } }
	// Request is what is sent.
	Request struct {
		Method string
		Auth   *struct{ Type string }
		Header []pair
		Body   *struct{ Raw string }
		URL    struct {
			Raw             string
			Path            []string
			Query, Variable []pair
		}
	}
}

type pair struct {
	Key, Value string
	Disabled   bool
}

// The collection for Postman is one of its format, and has each operation of the document, with a variable for all that is different for each
// shop. Sent in their order, as Postman sends them, requests find what those before them have made.
func TestPostmanCollectionIsTheDocument(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		res, text := fetchPage(t, s, apireference.CollectionPath)
		if res.Header.Get("Content-Type") != "application/json" || res.Header.Get("ETag") == "" {
			t.Fatalf("the collection is %d %v", res.StatusCode, res.Header)
		}
		checkForm(t, text)
		var c collection
		harness.Must(t, json.Unmarshal([]byte(text), &c))
		variables, found := map[string]string{}, map[string]bool{}
		for _, v := range c.Variable {
			variables[v.Key] = v.Value
		}
		for _, m := range regexp.MustCompile(`\{\{([^}$]+)\}\}`).FindAllStringSubmatch(text, -1) {
			if _, known := variables[m[1]]; !known {
				t.Errorf("there is no variable %s", m[1])
			}
		}
		if variables["baseUrl"] == "" || variables["secretKey"] != "" {
			t.Errorf("the variables are %v", variables)
		}
		_, page := fetchPage(t, s, "/docs")
		if !strings.Contains(page, `href="`+apireference.CollectionPath+`"`) {
			t.Error("the reference does not link to the collection")
		}
		variables["baseUrl"], variables["secretKey"] = s.URL+"/api/v1", s.NewShop(t).Credential
		for _, folder := range c.Item {
			for _, r := range folder.Item {
				found[r.operation()] = true
				r.checkHeaders(t, s)
				if r.Request.Method == http.MethodDelete || strings.HasPrefix(r.Request.URL.Raw, "{{baseUrl}}/auth/") {
					continue
				}
				r.send(t, variables)
			}
		}
		for name := range variables {
			if none := slices.Contains([]string{"claimId", "evidenceId", "deliveryId", "withdrawalId", "settlementId"}, name); strings.HasSuffix(name, "Id") && !none && variables["got "+name] == "" && !strings.HasPrefix(name, "got ") {
				t.Errorf("no reply fills %s", name)
			}
		}
		for path, item := range s.Spec.Paths {
			for method, operation := range item.(map[string]any) {
				old, _ := harness.At(operation, "deprecated")
				if name := strings.ToUpper(method) + " " + path; found[name] == (old == true) {
					t.Errorf("%s is in the collection: %t", name, found[name])
				}
			}
		}
	})
}

// checkForm checks a collection against Postman's schema.
func checkForm(t *testing.T, text string) {
	t.Helper()
	published, err := os.ReadFile("testdata/postman-collection-2.1.0.json")
	harness.Must(t, err)
	form, err := jsonschema.UnmarshalJSON(bytes.NewReader(published))
	harness.Must(t, err)
	compiler := jsonschema.NewCompiler()
	harness.Must(t, compiler.AddResource("postman.json", form))
	schema, err := compiler.Compile("postman.json")
	harness.Must(t, err)
	c, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	harness.Must(t, err)
	if err := schema.Validate(c); err != nil {
		t.Errorf("the collection is not of Postman's format: %v", err)
	}
	c.(map[string]any)["variable"] = []any{map[string]any{"key": 5}}
	if schema.Validate(c) == nil {
		t.Error("the schema accepts everything")
	}
}

// operation is the request's operation as the document names it.
func (r request) operation() string {
	path := ""
	for _, segment := range r.Request.URL.Path {
		if name, parameter := strings.CutPrefix(segment, ":"); parameter {
			segment = "{" + name + "}"
		}
		path += "/" + segment
	}
	return r.Request.Method + " " + path
}

// checkHeaders checks that the request has an Idempotency-Key of its own if the operation has one, and a key unless it needs none.
func (r request) checkHeaders(t *testing.T, s *harness.Instance) {
	t.Helper()
	method, path, _ := strings.Cut(r.operation(), " ")
	operation, known := harness.At(s.Spec.Paths[path], strings.ToLower(method))
	if !known {
		t.Errorf("the document has no %s", r.operation())
		return
	}
	text, err := json.Marshal(operation)
	harness.Must(t, err)
	sent := slices.ContainsFunc(r.Request.Header, func(h pair) bool {
		return h.Key == "Idempotency-Key" && h.Value == "{{$guid}}" && !h.Disabled
	})
	if takes := strings.Contains(string(text), `"name":"Idempotency-Key"`); takes != sent {
		t.Errorf("%s takes an Idempotency-Key: %t, and has one: %t", r.Name, takes, sent)
	}
	if free := strings.Contains(string(text), `"security":[]`); free != (r.Request.Auth != nil && r.Request.Auth.Type == "noauth") {
		t.Errorf("%s needs no key: %t, and its access is %v", r.Name, free, r.Request.Auth)
	}
	if body := strings.Contains(string(text), `"requestBody"`) && strings.Contains(string(text), `"example`); r.Request.Body == nil && body && method != http.MethodGet && strings.Contains(string(text), `"examples":{`) {
		t.Errorf("%s has no body", r.Name)
	}
}

// send sends a request as Postman does, and keeps what its script keeps. A GET is answered with success if those before it have made what it
// reads.
func (r request) send(t *testing.T, variables map[string]string) {
	t.Helper()
	filled := func(text string) string {
		text = strings.ReplaceAll(text, "{{$guid}}", rand.Text())
		for name, value := range variables {
			text = strings.ReplaceAll(text, "{{"+name+"}}", value)
		}
		return text
	}
	address, fresh := filled(r.Request.URL.Raw), true
	for _, p := range r.Request.URL.Variable {
		name := strings.Trim(p.Value, "{}")
		fresh = fresh && variables["got "+name] != ""
		address = strings.Replace(address, "/:"+p.Key, "/"+filled(p.Value), 1)
	}
	body := ""
	if r.Request.Body != nil {
		body = filled(r.Request.Body.Raw)
	}
	q, err := http.NewRequestWithContext(t.Context(), r.Request.Method, address, strings.NewReader(body))
	harness.Must(t, err)
	q.Header.Set("Authorization", "Bearer "+variables["secretKey"])
	for _, h := range r.Request.Header {
		if !h.Disabled {
			q.Header.Set(h.Key, filled(h.Value))
		}
	}
	res, err := http.DefaultClient.Do(q)
	harness.Must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	harness.Must(t, err)
	later := strings.HasSuffix(address, "/report") || strings.Contains(address, "/withdrawals/quote") // a settlement must close first, and a new shop has nothing to withdraw
	if res.StatusCode >= 500 || res.StatusCode == http.StatusUnauthorized || r.Request.Method == http.MethodGet && fresh && !later && res.StatusCode >= 300 {
		t.Errorf("%s: %s %s is answered %d %.300s", r.Name, r.Request.Method, address, res.StatusCode, text)
	}
	var reply map[string]any
	if res.StatusCode >= 300 || len(r.Event) == 0 {
		return
	}
	harness.Must(t, json.Unmarshal(text, &reply))
	if rows, ok := reply["data"].([]any); ok {
		reply = nil
		if len(rows) > 0 {
			reply, _ = rows[0].(map[string]any)
		}
	}
	code := strings.Join(r.Event[0].Script.Exec, "\n")
	set, from := regexp.MustCompile(`set\("(\w+)", id\)`).FindStringSubmatch(code), regexp.MustCompile(`id = row && (?:.*row\.(\w+)\[.*|row\.(\w+));`).FindStringSubmatch(code)
	if set == nil || from == nil {
		t.Fatalf("the script of %s keeps nothing: %s", r.Name, code)
	}
	if rows, _ := reply[from[1]].([]any); len(rows) > 0 {
		reply, _ = rows[len(rows)-1].(map[string]any)
		from[2] = "id"
	}
	if id, ok := reply[from[2]].(string); ok {
		variables[set[1]], variables["got "+set[1]] = id, "yes"
	}
}
