package docs

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/getkin/kin-openapi/openapi3"
)

// The check of replies and events against the document finds each of these changes. All other tests
// depend on it.
func TestDocumentSeesEveryDifference(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		created := o.Post(t, "/payments", harness.Card).Want(t, http.StatusCreated)
		refused := o.Post(t, "/payments", `{}`).Want(t, http.StatusBadRequest)
		event := endpoint.About(t, created.Text(t, "transactionId"), 1)[0]
		for _, change := range []struct {
			of       harness.Reply
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
				t.Errorf("the check accepts %s instead of %s: %s", change.new, change.old, r)
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
				t.Errorf("the check accepts %s instead of %s:\n%s", changed, old, body)
			}
		}
	})
}

func TestDocumentListsEveryEndpointAndEvent(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		doc, err := openapi3.NewLoader().LoadFromData(harness.ReadDocument(t, s).Text)
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
					t.Errorf("%s %s accepts %v, want only application/json", method, path, slices.Collect(maps.Keys(body.Value.Content)))
				}
			}
		}
		slices.Sort(endpoints)
		for _, endpoint := range endpointsWanted {
			if !slices.Contains(endpoints, endpoint) {
				t.Errorf("the document lacks %s; it has %v", endpoint, endpoints)
			}
		}
		for _, e := range webhooks.EventTypes() {
			if doc.Webhooks[string(e)] == nil {
				t.Errorf("the document lacks the event %s", e)
			}
		}
		if len(doc.Webhooks) != len(webhooks.EventTypes()) {
			t.Errorf("the document has %d events, want %d", len(doc.Webhooks), len(webhooks.EventTypes()))
		}
		if server := doc.Servers[0].URL; server != s.URL+harness.APIPath {
			t.Errorf("the document's server is %s, want %s", server, s.URL+harness.APIPath)
		}
		if err := doc.Validate(ctx); err != nil {
			t.Errorf("the document is not valid: %v", err)
		}
	})
}

// endpointsWanted are the operations that the document must have (VER-2).
var endpointsWanted = []string{
	"GET /settlements", "GET /settlements/{id}", "GET /settlements/{id}/report", "GET /settlements/{id}/transactions", "GET /me/balance/movements",
	"GET /wallets", "POST /wallets", "GET /wallets/{id}", "DELETE /wallets/{id}", "GET /withdrawals", "POST /withdrawals", "GET /withdrawals/{id}",
	"POST /withdrawals/{id}/cancel", "POST /kyc/init", "GET /kyc/{id}",
	"POST /payments/{id}/refund", "POST /transactions/{id}/refund", "GET /claims", "GET /claims/{id}", "POST /claims/{id}/evidence",
	"POST /claims/{id}/accept", "GET /claims/{id}/evidence/{evidenceId}/file",
	"GET /webhooks/{id}", "PATCH /webhooks/{id}", "POST /webhooks/{id}/rotate-secret", "GET /webhooks/{id}/deliveries",
	"GET /webhooks/{id}/deliveries/{deliveryId}", "POST /webhooks/{id}/deliveries/{deliveryId}/replay", "GET /webhooks/{id}/inbox",
	"DELETE /webhooks/{id}", "GET /me", "GET /me/balance", "GET /payment-methods", "GET /payments", "GET /payments/{id}",
	"GET /checkout/sessions/{token}", "POST /checkout/sessions", "POST /checkout/sessions/{token}/select", "POST /checkout/sessions/{token}/expire",
	"GET /ping", "GET /sandbox/clock", "GET /transactions", "GET /transactions/{id}", "GET /webhooks",
	"POST /auth/refresh", "POST /auth/token", "POST /payments", "POST /payments/{id}/simulate", "POST /sandbox/clock",
	"POST /transactions", "POST /transactions/{id}/simulate", "POST /webhooks",
}

// Numbers have the format double and no multipleOf. Without the format, generators of clients use
// float32. With multipleOf 0.01, validators refuse many prices, because they divide floats.
func TestDocumentsNumbersAreDouble(t *testing.T) {
	t.Run("merchants", func(t *testing.T) {
		harness.Alone(t, func(t *testing.T, s *harness.Instance) { numbersAreDouble(t, s.Spec) })
	})
	t.Run("operators", func(t *testing.T) {
		harness.Operated(t, func(t *testing.T, _ harness.Operator) { numbersAreDouble(t, harness.PublishedForOperators.Spec) })
	})
}

func numbersAreDouble(t *testing.T, s *harness.Spec) {
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
				t.Errorf("%s has multipleOf %v, want none", place, v["multipleOf"])
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

// Every schema is used by an operation. Generators of clients drop schemas that only webhooks use.
func TestDocumentsEventsReferToWhatOperationsUse(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
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
