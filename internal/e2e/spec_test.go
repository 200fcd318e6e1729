package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// spec is the OpenAPI document that a service publishes. In this copy objects
// have only the properties that are described, so that a reply with more is
// found out.
type spec struct{ doc *openapi3.T }

// loadSpec reads the document from the service itself.
func loadSpec(t *testing.T, url string) *spec {
	t.Helper()
	res, err := http.Get(url + "/api/openapi.json")
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(t, err)
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "application/json" {
		t.Fatalf("GET /api/openapi.json: %d %s", res.StatusCode, kind)
	}
	tree, _ := decode(t, text).(map[string]any)
	if version := tree["openapi"]; version != "3.1.0" {
		t.Errorf("the document is OpenAPI %v, want 3.1.0 (contract: Versioning, 3)", version)
	}
	closeObjects(tree)
	closed, err := json.Marshal(tree)
	must(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(closed)
	if err != nil {
		t.Fatalf("the OpenAPI document cannot be read: %v", err)
	}
	return &spec{doc}
}

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

// check fails the test when a reply is not as the document says.
func (s *spec) check(t *testing.T, r reply) {
	t.Helper()
	if err := s.validate(r); err != nil {
		t.Errorf("the OpenAPI document says otherwise: %v: %s", err, r)
	}
}

// validate reports how a reply differs from the document. What is no endpoint
// is not in it.
func (s *spec) validate(r reply) error {
	path, _, _ := strings.Cut(strings.TrimPrefix(r.request.path, base), "?")
	template, item := s.find(path)
	if item == nil || item.GetOperation(r.request.method) == nil {
		return nil
	}
	request, err := http.NewRequest(r.request.method, r.request.path, nil)
	if err != nil {
		return err
	}
	options := &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true}
	options.WithCustomSchemaErrorFunc(func(e *openapi3.SchemaError) string { return e.Reason })
	return openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, Route: &routers.Route{
			Spec: s.doc, Path: template, PathItem: item, Method: r.request.method, Operation: item.GetOperation(r.request.method),
		}},
		Status: r.status, Header: r.header, Body: io.NopCloser(bytes.NewReader(r.body)), Options: options,
	})
}

// find returns the path item of a concrete path.
func (s *spec) find(path string) (string, *openapi3.PathItem) {
	parts := strings.Split(path, "/")
	for template, item := range s.doc.Paths.Map() {
		pattern := strings.Split(template, "/")
		same := func(a, b string) bool { return a == b || strings.HasPrefix(a, "{") }
		if slices.EqualFunc(pattern, parts, same) {
			return template, item
		}
	}
	return "", nil
}

// checkEvent fails the test when an event is not as the document says.
func (s *spec) checkEvent(t *testing.T, kind string, body []byte) {
	t.Helper()
	if err := s.validateEvent(kind, body); err != nil {
		t.Errorf("the OpenAPI document says otherwise of %s: %v:\n%s", kind, err, body)
	}
}

func (s *spec) validateEvent(kind string, body []byte) error {
	item := s.doc.Webhooks[kind]
	if item == nil {
		return errors.New("there is no such webhook")
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	schema := item.Post.RequestBody.Value.Content["application/json"].Schema.Value
	return schema.VisitJSON(v, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors())
}

// The checks of this package are as good as this one.
func TestDocumentSeesEveryDifference(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"*"`)
		created := o.post(t, "/payments", card).want(t, http.StatusCreated)
		refused := o.post(t, "/payments", `{}`).want(t, http.StatusBadRequest)
		event := endpoint.about(t, created.text(t, "transactionId"), 1)[0]
		for _, change := range []struct {
			of       reply
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
			r.body = bytes.Replace(r.body, []byte(change.old), []byte(change.new), 1)
			if bytes.Equal(r.body, change.of.body) || s.spec.validate(r) == nil {
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
			body := bytes.Replace(event.body, []byte(old), []byte(changed), 1)
			if bytes.Equal(body, event.body) || s.spec.validateEvent("payment.completed", body) == nil {
				t.Errorf("the document does not mind %s in place of %s:\n%s", changed, old, body)
			}
		}
	})
}

func TestDocumentListsEveryEndpointAndEvent(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		doc := s.spec.doc
		var endpoints []string
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				endpoints = append(endpoints, method+" "+path)
				if operation.Responses.Default() == nil {
					t.Errorf("%s %s does not say what its errors look like", method, path)
				}
				if body := operation.RequestBody; body != nil && !slices.Equal(slices.Collect(maps.Keys(body.Value.Content)), []string{"application/json"}) {
					t.Errorf("%s %s takes %v, want application/json alone", method, path, slices.Collect(maps.Keys(body.Value.Content)))
				}
			}
		}
		slices.Sort(endpoints)
		want := []string{
			"DELETE /webhooks/{id}", "GET /me", "GET /me/balance", "GET /payment-methods", "GET /payments", "GET /payments/{id}",
			"GET /ping", "GET /transactions", "GET /transactions/{id}", "GET /webhooks",
			"POST /auth/refresh", "POST /auth/token", "POST /payments", "POST /payments/{id}/simulate",
			"POST /transactions", "POST /transactions/{id}/simulate", "POST /webhooks",
		}
		for _, endpoint := range want {
			if !slices.Contains(endpoints, endpoint) {
				t.Errorf("the document lacks %s; it has %v", endpoint, endpoints)
			}
		}
		for _, e := range pay.EventTypes() {
			if doc.Webhooks[string(e)] == nil {
				t.Errorf("the document lacks the event %s", e)
			}
		}
		if len(doc.Webhooks) != len(pay.EventTypes()) {
			t.Errorf("the document has %d events, want %d", len(doc.Webhooks), len(pay.EventTypes()))
		}
		if server := doc.Servers[0].URL; server != s.URL+base {
			t.Errorf("the document's server is %s, want %s", server, s.URL+base)
		}
		if err := doc.Validate(ctx); err != nil {
			t.Errorf("the document is not valid: %v", err)
		}
	})
}
