package api

import (
	"net/http"
	"slices"
	"sync"

	"github.com/cascadapay/cascada/internal/api/openapi"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/wire"
)

func (a *API) routes() {
	a.authRoutes()
	a.merchantRoutes()
	a.ownRoutes()
	a.paymentRoutes()
	a.sessionRoutes()
	a.linkRoutes()
	a.webhookRoutes()
	a.eventRoutes()
	a.walletRoutes()
	a.withdrawalRoutes()
	a.kycRoutes()
	a.clockRoutes()
	a.refundRoutes()
	a.claimRoutes()
	a.settlementRoutes()
}

// publish serves the OpenAPI document (VER-2), made on the first request.
func (a *API) publish() {
	needs := func(id string) openapi.Credentials {
		need := a.needs[id]
		return openapi.Credentials{Any: need != open, Secret: need != open && need != anyKey}
	}
	a.Document = sync.OnceValues(openapi.Publish(a.huma.OpenAPI(), needs, loosened))
	a.mux.Handle("GET /api/openapi.json", a.gate.Strangers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := a.Document()
		if err != nil {
			panic(err) // a fault of ours: reported and logged like any other
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // the client may have gone
	}), a.writeError))
}

// loosened adds the constraints that huma does not validate: violations have their own codes or are
// clamped.
func loosened(paths, schemas map[string]any) {
	for _, name := range []string{"PaymentBody", "SessionBody", "LinkBody"} { // a longer text has an error of its own
		if country, ok := dig(schemas, name, "properties", "country"); ok {
			country["maxLength"] = 3
		}
	}
	for body, fields := range map[string][]string{"PaymentBody": {"amount"}, "LinkBody": {"amount"}, "OpenAmountBody": {"min", "max"}, "InstallmentsBody": {"min"}} {
		for _, field := range fields {
			if amount, ok := dig(schemas, body, "properties", field); ok {
				properties, _ := dig(schemas, body, "properties")
				properties[field] = map[string]any{"type": "number", "format": "double", "description": description(amount), "exclusiveMinimum": 0, "examples": []any{25.5}}
			}
		}
	}
	for _, path := range []string{"/payments", "/payments/export", "/transactions", "/withdrawals/quote"} {
		operation, _ := dig(paths, path, "get")
		parameters, _ := operation["parameters"].([]any)
		for _, p := range parameters {
			if p, _ := p.(map[string]any); p["name"] == "amount" {
				p["schema"] = map[string]any{"type": "number", "format": "double", "exclusiveMinimum": 0, "examples": []any{25.5}}
				p["required"] = path == "/withdrawals/quote"
			}
		}
	}
	for _, of := range []string{"DeliveryDetail", "Received"} {
		if properties, ok := dig(schemas, of, "properties"); ok {
			properties["payload"] = map[string]any{"$ref": "#/components/schemas/Event", "description": description(properties["payload"])}
		}
	}
	if properties, ok := dig(schemas, "EditInBody", "properties"); ok {
		properties["authentication"] = map[string]any{
			"anyOf": []any{map[string]any{"$ref": "#/components/schemas/AuthenticationBody"}, map[string]any{"type": "null"}}, "description": description(properties["authentication"]),
		}
	}
	publishSessions(schemas)
	publishPayouts(paths, schemas)
	publishClaims(schemas)
	publishPurchases(schemas)
	publishWebhooks(schemas)
	for body, required := range map[string][]string{
		"PaymentBody": {"amount"}, "OpenAmountBody": {"min", "max"}, "SubscribeInBody": {"events"}, "MoveClockInBody": {"advance"}, "WithdrawInBody": {"amount"}, "AddWalletInBody": {"type", "currency", "destination"},
		"ReplaySpanInBody": {"from"},
	} {
		if schema, ok := dig(schemas, body); ok {
			schema["required"] = required
		}
	}
	for body, sets := range map[string][][]string{
		"PaymentBody": {{"paymentMethodId"}, {"paymentMethod"}}, "SessionBody": {{"paymentMethodId"}, {"customer"}}, "LinkBody": {{"amount"}, {"openAmount"}},
		"ChangeLinkInBody": {{"status"}, {"expiresAt"}}, "EvidenceBody": {{"text"}, {"file"}}, "AuthenticationBody": {{"username", "password"}, {"header", "value"}},
	} {
		if schema, ok := dig(schemas, body); ok {
			schema["anyOf"] = oneOfThese(sets)
		}
	}
}

// oneOfThese says that one of several sets of fields is required.
func oneOfThese(sets [][]string) []any {
	list := make([]any, len(sets))
	for i, set := range sets {
		list[i] = map[string]any{"required": set}
	}
	return list
}

// publishWebhooks lists the types of events where the validated document accepts any text: those have an error of their own.
func publishWebhooks(schemas map[string]any) {
	types := wire.Texts(webhooks.EventTypes()...)
	all := append(slices.Clone(types), webhooks.AllEvents)
	for _, of := range []struct {
		schema, field string
		values        []any
	}{{"SubscribeInBody", "events", all}, {"EditInBody", "events", all}, {"Subscription", "events", all}, {"CreatedSubscription", "events", all}, {"ReplaySpanInBody", "types", types}} {
		if items, ok := dig(schemas, of.schema, "properties", of.field, "items"); ok {
			items["enum"] = of.values
		}
	}
}

// publishPayouts adds to the published document what the validated one cannot say about wallets,
// withdrawals and verifications.
func publishPayouts(paths, schemas map[string]any) {
	if properties, ok := dig(schemas, "WithdrawInBody", "properties"); ok {
		properties["amount"] = map[string]any{
			"type": "number", "format": "double", "description": description(properties["amount"]), "exclusiveMinimum": 0, "examples": []any{250.0},
		}
	}
	if kind, ok := dig(schemas, "AddWalletInBody", "properties", "type"); ok {
		kind["enum"] = []any{"bank_account", "crypto"}
	}
	// Only the status code shows that a verification was already open.
	if created, ok := dig(paths, "/kyc/init", "post", "responses"); ok {
		created["200"] = created["201"]
	}
}

// dig returns the object at a path of keys.
func dig(tree map[string]any, path ...string) (map[string]any, bool) {
	for _, key := range path {
		next, ok := tree[key].(map[string]any)
		if !ok {
			return nil, false
		}
		tree = next
	}
	return tree, true
}

// description is a schema's description, "" for none.
func description(schema any) string {
	fields, _ := schema.(map[string]any)
	text, _ := fields["description"].(string)
	return text
}
