package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Spec is the OpenAPI document that a service publishes. In this copy objects
// have only the properties that are described, so that a reply with more is
// found out.
type Spec struct {
	Text  []byte // as published
	Tree  map[string]any
	Paths map[string]any
	base  string   // in front of its paths
	seen  *witness // what the tests saw of it

	mu       sync.Mutex // owns what follows
	compiler *jsonschema.Compiler
}

// Published is the document that all services of a test run publish, but for
// the URL in it.
var Published struct {
	sync.Once
	*Spec
}

// PublishedForOperators is the document of the admin API.
var PublishedForOperators struct {
	sync.Once
	*Spec
}

// ReadSpec reads a document from the service itself.
func ReadSpec(t *testing.T, address, base string, seen *witness) *Spec {
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

// Follow validates a JSON text by the schema at a place of the document.
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
	schema, err := s.compiler.Compile(address) // kept by the compiler
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// check fails the test when a reply is not as the document says.
func (s *Spec) check(t *testing.T, r Reply) {
	t.Helper()
	if err := s.Validate(r); err != nil {
		t.Errorf("the OpenAPI document says otherwise: %v: %s", err, r)
	}
}

// Validate reports how a reply differs from the document, and remembers what
// was seen. What is no endpoint is not in it.
func (s *Spec) Validate(r Reply) error {
	path, _, _ := strings.Cut(strings.TrimPrefix(r.request.Path, s.base), "?")
	template := s.find(path)
	method := strings.ToLower(r.request.Method)
	status := strconv.Itoa(r.Status)
	if method == "head" { // a GET without its body
		return nil
	}
	if _, ok := At(s.Paths[template], method); !ok {
		if r.Status != http.StatusNotFound && r.Status != http.StatusMethodNotAllowed && !strings.HasPrefix(path, "/providers/") {
			return fmt.Errorf("%s %s is not in it", r.request.Method, path)
		}
		return nil
	}
	place := []string{"paths", template, method, "responses", status}
	response, ok := s.Node(place)
	if !ok {
		return fmt.Errorf("%s %s never answers %d", method, template, r.Status)
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
		return fmt.Errorf("%s %s never answers %d with %q", method, template, r.Status, kind)
	}
	code := ""
	if declared, ok := response["x-error-codes"].([]any); ok {
		var e struct{ Error struct{ Code string } }
		if err := json.Unmarshal(r.Body, &e); err != nil {
			return err
		}
		if code = e.Error.Code; !slices.Contains(declared, any(code)) {
			return fmt.Errorf("%s %s never answers %s, only %v", method, template, code, declared)
		}
	}
	if kind == "application/json" {
		if err := s.Follow(r.Body, append(place, "content", kind, "schema")...); err != nil {
			return err
		}
	}
	s.seen.reply(s, method, template, status, code)
	if reason := s.seen.unseen[code]; code != "" && reason != "" {
		return fmt.Errorf("%s %s answers %s: %s", method, template, code, reason)
	}
	return nil
}

// node is what stands at a place of the document.
func (s *Spec) Node(place []string) (map[string]any, bool) {
	v := any(s.Tree)
	for _, part := range place {
		m, _ := v.(map[string]any)
		v = m[part]
	}
	m, ok := v.(map[string]any)
	return m, ok
}

// headersFollow reports whether the headers of ours are those that a response
// of the document has.
func headersFollow(header http.Header, response map[string]any) error {
	declared, _ := response["headers"].(map[string]any)
	canonical := map[string]bool{}
	for name := range declared {
		canonical[http.CanonicalHeaderKey(name)] = true
	}
	for name, values := range header {
		ours := strings.HasPrefix(name, "X-") && name != "X-Content-Type-Options" || // which is for browsers
			strings.HasPrefix(name, "Ratelimit-") || strings.HasPrefix(name, "Idempotency-") ||
			name == "Service-Version" || name == "Retry-After"
		if ours && !canonical[name] {
			return fmt.Errorf("there is no header %s: %q", name, values)
		}
		if strings.HasPrefix(name, "Ratelimit-") || name == "Retry-After" {
			if n, err := strconv.Atoi(values[0]); err != nil || n < 0 {
				return fmt.Errorf("%s is %q, want a whole number", name, values)
			}
		}
	}
	return nil
}

// find returns the template of a concrete path; one without a parameter goes
// before one with.
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

// CheckEvent fails the test when an event is not as the document says.
func (s *Spec) CheckEvent(t *testing.T, kind string, body []byte) {
	t.Helper()
	if err := s.ValidateEvent(kind, body); err != nil {
		t.Errorf("the OpenAPI document says otherwise of %s: %v:\n%s", kind, err, body)
	}
}

func (s *Spec) ValidateEvent(kind string, body []byte) error {
	err := s.Follow(body, "webhooks", kind, "post", "requestBody", "content", "application/json", "schema")
	if err == nil {
		witnessed.event(kind)
	}
	return err
}

// The checks of this package are as good as this one.
func TestDocumentSeesEveryDifference(t *testing.T) {
	Each(t, func(t *testing.T, s *Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		created := o.Post(t, "/payments", Card).Want(t, http.StatusCreated)
		refused := o.Post(t, "/payments", `{}`).Want(t, http.StatusBadRequest)
		event := endpoint.About(t, created.Text(t, "transactionId"), 1)[0]
		for _, change := range []struct {
			of       Reply
			old, new string
		}{
			{created, `"status":"completed"`, `"status":"done"`},
			{created, `"status":"completed"`, `"status":null`},
			{created, `"status":"completed"`, `"provider":"x","status":"completed"`},
			{created, `"amount":25.5`, `"amount":"25.5"`},
			{created, `"currency":"USD",`, ``},
			{created, `"platform":`, `"hidden":1,"platform":`},
			{refused, `"code":"invalid_request"`, `"code":"oops"`},
			{refused, `"details":{`, `"details":{"stack":"x",`},
			{refused, `"requestId":`, `"request":`},
		} {
			r := change.of
			r.Body = bytes.Replace(r.Body, []byte(change.old), []byte(change.new), 1)
			if bytes.Equal(r.Body, change.of.Body) || s.Spec.Validate(r) == nil {
				t.Errorf("the document does not mind %s in place of %s: %s", change.new, change.old, r)
			}
		}
		for old, changed := range map[string]string{
			`"type":"payment.completed"`: `"type":"payment.failed"`,
			`"sequence":1`:               `"sequence":"1"`,
			`"status":"completed"`:       `"status":"done"`,
			`"data":{`:                   `"data":{"more":1,`,
			`"object":{`:                 `"object":{"more":1,`,
			`"previous":{`:               `"previous":{"more":1,`,
		} {
			body := bytes.Replace(event.Body, []byte(old), []byte(changed), 1)
			if bytes.Equal(body, event.Body) || s.Spec.ValidateEvent("payment.completed", body) == nil {
				t.Errorf("the document does not mind %s in place of %s:\n%s", changed, old, body)
			}
		}
	})
}

func TestDocumentListsEveryEndpointAndEvent(t *testing.T) {
	Alone(t, func(t *testing.T, s *Instance) {
		doc, err := openapi3.NewLoader().LoadFromData(ReadSpec(t, s.URL+"/api/openapi.json", APIPath, &witnessed).Text)
		if err != nil {
			t.Fatalf("the OpenAPI document cannot be read: %v", err)
		}
		if doc.OpenAPI != "3.1.0" {
			t.Errorf("the document is OpenAPI %s, want 3.1.0 (VER-2)", doc.OpenAPI)
		}
		var endpoints []string
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				endpoints = append(endpoints, method+" "+path)
				if body := operation.RequestBody; body != nil && !slices.Equal(slices.Collect(maps.Keys(body.Value.Content)), []string{"application/json"}) {
					t.Errorf("%s %s takes %v, want application/json alone", method, path, slices.Collect(maps.Keys(body.Value.Content)))
				}
			}
		}
		slices.Sort(endpoints)
		for _, endpoint := range endpointsWanted {
			if !slices.Contains(endpoints, endpoint) {
				t.Errorf("the document lacks %s; it has %v", endpoint, endpoints)
			}
		}
		for _, e := range hook.EventTypes() {
			if doc.Webhooks[string(e)] == nil {
				t.Errorf("the document lacks the event %s", e)
			}
		}
		if len(doc.Webhooks) != len(hook.EventTypes()) {
			t.Errorf("the document has %d events, want %d", len(doc.Webhooks), len(hook.EventTypes()))
		}
		if server := doc.Servers[0].URL; server != s.URL+APIPath {
			t.Errorf("the document's server is %s, want %s", server, s.URL+APIPath)
		}
		if err := doc.Validate(ctx); err != nil {
			t.Errorf("the document is not valid: %v", err)
		}
	})
}

// endpointsWanted are the operations that there have to be (VER-2).
var endpointsWanted = []string{
	"GET /settlements", "GET /settlements/{id}", "GET /settlements/{id}/report", "GET /settlements/{id}/transactions", "GET /me/balance/movements",
	"GET /wallets", "POST /wallets", "GET /wallets/{id}", "DELETE /wallets/{id}", "GET /withdrawals", "POST /withdrawals", "GET /withdrawals/{id}",
	"POST /withdrawals/{id}/cancel", "POST /kyc/init", "GET /kyc/{id}",
	"POST /payments/{id}/refund", "POST /transactions/{id}/refund", "GET /claims", "GET /claims/{id}", "POST /claims/{id}/evidence",
	"POST /claims/{id}/accept", "GET /claims/{id}/evidence/{evidenceId}/file",
	"GET /webhooks/{id}", "PATCH /webhooks/{id}", "POST /webhooks/{id}/rotate-secret", "GET /webhooks/{id}/deliveries",
	"GET /webhooks/{id}/deliveries/{deliveryId}", "POST /webhooks/{id}/deliveries/{deliveryId}/replay", "GET /webhooks/{id}/inbox",
	"DELETE /webhooks/{id}", "GET /me", "GET /me/balance", "GET /payment-methods", "GET /payments", "GET /payments/{id}",
	"GET /checkout/sessions/{token}", "POST /checkout/sessions", "POST /checkout/sessions/{token}/select",
	"GET /ping", "GET /sandbox/clock", "GET /transactions", "GET /transactions/{id}", "GET /webhooks",
	"POST /auth/refresh", "POST /auth/token", "POST /payments", "POST /payments/{id}/simulate", "POST /sandbox/clock",
	"POST /transactions", "POST /transactions/{id}/simulate", "POST /webhooks",
}

// Generators make float32 of a number without a format, and validators that
// divide by 0.01 refuse a good part of all prices.
func TestDocumentsNumbersAreDouble(t *testing.T) {
	t.Run("merchants", func(t *testing.T) {
		Alone(t, func(t *testing.T, s *Instance) { numbersAreDouble(t, s.Spec) })
	})
	t.Run("operators", func(t *testing.T) {
		Operated(t, func(t *testing.T, _ Operator) { numbersAreDouble(t, PublishedForOperators.Spec) })
	})
}

func numbersAreDouble(t *testing.T, s *Spec) {
	t.Helper()
	numbers := 0
	var look func(place string, v any)
	look = func(place string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if strings.Contains(fmt.Sprint(v["type"]), "number") && v["in"] == nil {
				numbers++
				if v["format"] != "double" {
					t.Errorf("%s has the format %v, want double", place, v["format"])
				}
			}
			if v["multipleOf"] != nil {
				t.Errorf("%s has multipleOf %v", place, v["multipleOf"])
			}
			for key, below := range v {
				if key != "example" && key != "examples" {
					look(place+"/"+key, below)
				}
			}
		case []any:
			for i, below := range v {
				look(fmt.Sprint(place, "/", i), below)
			}
		}
	}
	look("", s.Tree)
	if numbers == 0 {
		t.Error("the document has no number")
	}
}

// Generators drop schemas that no operation refers to before they look at
// webhooks.
func TestDocumentsEventsReferToWhatOperationsUse(t *testing.T) {
	Alone(t, func(t *testing.T, s *Instance) {
		used := map[string]bool{}
		var follow func(v any)
		follow = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				if ref, ok := v["$ref"].(string); ok && !used[ref] {
					used[ref] = true
					to, _ := s.Spec.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
					follow(to)
				}
				for _, below := range v {
					follow(below)
				}
			case []any:
				for _, below := range v {
					follow(below)
				}
			}
		}
		follow(s.Spec.Paths)
		components, _ := s.Spec.Tree["components"].(map[string]any)
		schemas, _ := components["schemas"].(map[string]any)
		for name := range schemas {
			if !used["#/components/schemas/"+name] {
				t.Errorf("no operation refers to the schema %s", name)
			}
		}
	})
}
