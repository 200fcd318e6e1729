package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/danielgtaylor/huma/v2"
)

func (a *API) routes() {
	a.authRoutes()
	a.merchantRoutes()
	a.paymentRoutes()
	a.sessionRoutes()
	a.webhookRoutes()
	a.walletRoutes()
	a.withdrawalRoutes()
	a.kycRoutes()
	a.clockRoutes()
	a.refundRoutes()
	a.claimRoutes()
	a.settlementRoutes()
}

// publish makes the OpenAPI document once and serves it (contract: Versioning,
// 3). The document is a copy: what requests are validated against is looser,
// because clamped and coded values must pass it.
func (a *API) publish() error {
	doc := a.huma.OpenAPI()
	doc.Info.Description = "Payment orchestration: one API over a cascade of providers."
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer", Description: "An access token from /auth/token, or a raw key"},
	}
	doc.Webhooks = map[string]*huma.PathItem{}
	for _, e := range pay.EventTypes() {
		doc.Webhooks[string(e)] = eventItem(doc, e)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("openapi document: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return fmt.Errorf("openapi document: %w", err)
	}
	a.polish(tree)
	if a.spec, err = json.MarshalIndent(tree, "", " "); err != nil {
		return fmt.Errorf("openapi document: %w", err)
	}
	a.mux.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(a.spec) // the client may be gone
	})
	return nil
}

// eventItem describes one event as a webhook.
func eventItem(doc *huma.OpenAPI, e pay.EventType) *huma.PathItem {
	registry := doc.Components.Schemas
	schema := huma.SchemaFromType(registry, reflect.TypeFor[view.Event]())
	schema.Properties["type"] = &huma.Schema{Type: huma.TypeString, Enum: []any{e}}
	if object := eventObject(e); object != nil {
		schema.Properties["data"] = &huma.Schema{Type: huma.TypeObject, Required: []string{"object", "previous"}, Properties: map[string]*huma.Schema{
			"object":   registry.Schema(object, true, ""),
			"previous": registry.Schema(reflect.TypeFor[view.EventPrevious](), true, ""),
		}}
	}
	return &huma.PathItem{Post: &huma.Operation{
		OperationID: "on" + string(e), Summary: string(e), Tags: []string{"Events"},
		RequestBody: &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}},
		Responses:   map[string]*huma.Response{"200": {Description: "Any 2xx within 10 seconds"}},
	}}
}

// eventObject is what an event is about, nil where that has no shape yet (gaps:
// Events, data.object).
func eventObject(e pay.EventType) reflect.Type {
	switch subject, _, _ := strings.Cut(string(e), "."); subject {
	case "payment":
		return reflect.TypeFor[view.Transaction]()
	case "withdrawal":
		return reflect.TypeFor[view.Withdrawal]()
	case "claim", "chargeback":
		return reflect.TypeFor[view.Claim]()
	case "settlement":
		return reflect.TypeFor[view.Settlement]()
	}
	return nil
}

// polish says in the published document what the validated one cannot.
func (a *API) polish(tree map[string]any) {
	paths, _ := tree["paths"].(map[string]any)
	for _, item := range paths {
		operations, _ := item.(map[string]any)
		for _, operation := range operations {
			op, _ := operation.(map[string]any)
			responses, _ := op["responses"].(map[string]any)
			// Huma lists its own statuses; every error is the one envelope, which
			// "default" describes.
			for status := range responses {
				if status >= "400" && status != "default" {
					delete(responses, status)
				}
			}
			// A handler that wants the raw body takes JSON all the same.
			body, _ := op["requestBody"].(map[string]any)
			content, _ := body["content"].(map[string]any)
			delete(content, "application/octet-stream")
			for _, p := range list(op["parameters"]) {
				param, _ := p.(map[string]any)
				schema, _ := param["schema"].(map[string]any)
				if _, said := schema["enum"]; said {
					continue
				}
				switch param["name"] {
				case "limit":
					schema["type"], schema["default"], schema["minimum"], schema["maximum"] = "integer", 50, 1, 100
				case "offset":
					schema["type"], schema["default"], schema["minimum"] = "integer", 0, 0
				case "status":
					schema["enum"] = pay.Statuses() // of payments
					if op["operationId"] == "listDeliveries" {
						schema["enum"] = pay.DeliveryStatuses()
					}
				case "event":
					schema["enum"] = pay.EventTypes()
				case "channel":
					schema["enum"] = []pay.Channel{pay.Online, pay.Cash, pay.CreditCard}
				case "Sandbox-Simulate":
					schema["enum"] = pay.HeaderActions()
				}
			}
		}
	}
	components, _ := tree["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	if body, ok := schemas["PaymentBody"].(map[string]any); ok {
		properties, _ := body["properties"].(map[string]any)
		properties["amount"] = map[string]any{
			"type": "number", "description": amountDoc, "exclusiveMinimum": 0, "maximum": 100_000, "multipleOf": 0.01, "examples": []any{25.5},
		}
	}
	publishSessions(schemas)
	if body, ok := schemas["SubscribeInBody"].(map[string]any); ok {
		body["required"] = []string{"events"}
	}
	publishPayouts(paths, schemas)
	// Huma has no way to say that a reference may be null.
	if transaction, ok := schemas["Transaction"].(map[string]any); ok {
		properties, _ := transaction["properties"].(map[string]any)
		properties["failure"] = map[string]any{"anyOf": []any{properties["failure"], map[string]any{"type": "null"}}}
	}
	publishClaims(schemas)
	if problem, ok := schemas["Problem"].(map[string]any); ok {
		properties, _ := problem["properties"].(map[string]any)
		if code, ok := properties["code"].(map[string]any); ok {
			code["enum"] = codes()
		}
	}
}

func list(v any) []any {
	items, _ := v.([]any)
	return items
}
