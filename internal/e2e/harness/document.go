package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Media is a place in the document that has a schema and its examples.
type Media struct {
	Place []string       // keys from the root of the document
	Node  map[string]any // what the document has there
}

// Examples returns the values of a place's examples, by name. A single example is named "example".
func (s *Spec) Examples(m Media) map[string]any {
	found := map[string]any{}
	if example, ok := m.Node["example"]; ok {
		found["example"] = example
	}
	named, _ := m.Node["examples"].(map[string]any)
	for name, e := range named {
		example := e.(map[string]any)
		if ref, ok := example["$ref"].(string); ok {
			example, _ = s.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
		}
		found[name] = example["value"]
	}
	return found
}

// Spec is the OpenAPI document that a service publishes. In Tree, objects allow only the
// properties that are described, so that a reply with another property fails.
type Spec struct {
	Text  []byte // as published
	Tree  map[string]any
	Paths map[string]any
	base  string   // the prefix of its paths in requests
	seen  *witness // what the tests have seen of it

	mu       sync.Mutex // owns what follows
	compiler *jsonschema.Compiler
}

// Published is the merchants' document. It is read once in a run: services publish the same
// document, except for the URL in it.
var Published struct {
	sync.Once
	*Spec
}

// PublishedForOperators is the admin API's document. It is read once in a run.
var PublishedForOperators struct {
	sync.Once
	*Spec
}

// ReadDocument reads the merchants' document from a service, with that service's URL in it.
func ReadDocument(t *testing.T, s *Instance) *Spec {
	t.Helper()
	return readSpec(t, s.URL+"/api/openapi.json", APIPath, &witnessed)
}

// ReadOperatorsDocument reads the admin API's document from a service.
func ReadOperatorsDocument(t *testing.T, s *Instance) *Spec {
	t.Helper()
	return readSpec(t, s.AdminURL+"/openapi.json", adminBase, &witnessedByOperators)
}

// readSpec reads a document from a URL and closes its objects.
func readSpec(t *testing.T, address, base string, seen *witness) *Spec {
	t.Helper()
	res, err := http.Get(address)
	Must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	Must(t, err)
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "application/json" {
		t.Fatalf("GET %s: %d %s", address, res.StatusCode, kind)
	}
	tree := Decode(t, text)
	closeObjects(tree)
	s := &Spec{Text: text, base: base, seen: seen, compiler: jsonschema.NewCompiler()}
	s.Tree, _ = tree.(map[string]any)
	s.Paths, _ = s.Tree["paths"].(map[string]any)
	s.compiler.AssertFormat()
	Must(t, s.compiler.AddResource(document, tree))
	return s
}

const document = "https://cascada.test/openapi.json"

// closeObjects forbids properties that are not described.
func closeObjects(v any) {
	switch t := v.(type) {
	case map[string]any:
		if _, ok := t["properties"].(map[string]any); ok {
			t["additionalProperties"] = false
		}
		for _, value := range t {
			closeObjects(value)
		}
	case []any:
		for _, value := range t {
			closeObjects(value)
		}
	}
}

// Follow validates a JSON text with the schema at a place in the document.
func (s *Spec) Follow(text []byte, place ...string) error {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	address := document + "#"
	for _, part := range place {
		address += "/" + escape.Replace(part)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	s.mu.Lock()
	schema, err := s.compiler.Compile(address) // the compiler caches it
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// check fails the test if a reply differs from the document.
func (s *Spec) check(t *testing.T, r Reply) {
	t.Helper()
	if err := s.Validate(r); err != nil {
		t.Errorf("the reply differs from the OpenAPI document: %v: %s", err, r)
	}
}

// Validate returns an error if a reply differs from the document, and records what was seen.
// Requests to no endpoint pass if they are refused with 404 or 405.
func (s *Spec) Validate(r Reply) error {
	path, _, _ := strings.Cut(strings.TrimPrefix(r.request.Path, s.base), "?")
	template := s.find(path)
	method := strings.ToLower(r.request.Method)
	status := strconv.Itoa(r.Status)
	if method == "head" { // has no body to check
		return nil
	}
	if _, ok := At(s.Paths[template], method); !ok {
		if r.Status != http.StatusNotFound && r.Status != http.StatusMethodNotAllowed && !strings.HasPrefix(path, "/providers/") {
			return fmt.Errorf("%s %s is not in the document", r.request.Method, path)
		}
		return nil
	}
	place := []string{"paths", template, method, "responses", status}
	response, ok := s.Node(place)
	if !ok {
		return fmt.Errorf("%s %s has no response %d", method, template, r.Status)
	}
	if ref, ok := response["$ref"].(string); ok {
		place = strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		response, _ = s.Node(place)
	}
	if err := headersFollow(r.Header, response); err != nil {
		return err
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if _, ok := At(response["content"], kind); !ok {
		return fmt.Errorf("%s %s has no response %d of the type %q", method, template, r.Status, kind)
	}
	code := ""
	if declared, ok := response["x-error-codes"].([]any); ok {
		var e struct{ Error struct{ Code string } }
		if err := json.Unmarshal(r.Body, &e); err != nil {
			return err
		}
		if code = e.Error.Code; !slices.Contains(declared, any(code)) {
			return fmt.Errorf("%s %s has no error %s, only %v", method, template, code, declared)
		}
	}
	if kind == "application/json" {
		if err := s.Follow(r.Body, append(place, "content", kind, "schema")...); err != nil {
			return err
		}
	}
	s.seen.see(answer(method, template, status, code))
	if reason := s.seen.unseen[code]; code != "" && reason != "" {
		return fmt.Errorf("%s %s answers %s: %s", method, template, code, reason)
	}
	return nil
}

// Node returns the object at a place in the document. It follows no $ref.
func (s *Spec) Node(place []string) (map[string]any, bool) {
	v := any(s.Tree)
	for _, part := range place {
		m, _ := v.(map[string]any)
		v = m[part]
	}
	m, ok := v.(map[string]any)
	return m, ok
}

// headersFollow returns an error if the reply has a header of ours that the document's response
// does not have, or a count in a header is not a whole number.
func headersFollow(header http.Header, response map[string]any) error {
	declared, _ := response["headers"].(map[string]any)
	canonical := map[string]bool{}
	for name := range declared {
		canonical[http.CanonicalHeaderKey(name)] = true
	}
	for name, values := range header {
		ours := strings.HasPrefix(name, "X-") && name != "X-Content-Type-Options" || // that one is for browsers
			strings.HasPrefix(name, "Ratelimit-") || strings.HasPrefix(name, "Idempotency-") ||
			name == "Service-Version" || name == "Retry-After"
		if ours && !canonical[name] {
			return fmt.Errorf("the document does not have the header %s: %q", name, values)
		}
		if strings.HasPrefix(name, "Ratelimit-") || name == "Retry-After" {
			if n, err := strconv.Atoi(values[0]); err != nil || n < 0 {
				return fmt.Errorf("%s is %q, want a whole number", name, values)
			}
		}
	}
	return nil
}

// find returns the template of a path, or "". A template without parameters wins over one with
// parameters.
func (s *Spec) find(path string) (found string) {
	if _, ok := s.Paths[path]; ok {
		return path
	}
	parts := strings.Split(path, "/")
	for template := range s.Paths {
		same := func(a, b string) bool { return a == b || strings.HasPrefix(a, "{") && b != "" }
		if slices.EqualFunc(strings.Split(template, "/"), parts, same) {
			found = template
		}
	}
	return found
}

// CheckEvent fails the test if an event differs from the document.
func (s *Spec) CheckEvent(t *testing.T, kind string, body []byte) {
	t.Helper()
	if err := s.ValidateEvent(kind, body); err != nil {
		t.Errorf("the event %s differs from the OpenAPI document: %v:\n%s", kind, err, body)
	}
}

// ValidateEvent returns an error if an event differs from the document. Otherwise it records that
// the type was seen.
func (s *Spec) ValidateEvent(kind string, body []byte) error {
	err := s.Follow(body, "webhooks", kind, "post", "requestBody", "content", "application/json", "schema")
	if err == nil {
		witnessed.see("event " + kind)
	}
	return err
}
