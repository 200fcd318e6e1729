package api

import (
	"net/http"
	"sync"

	"github.com/cascadapay/cascada/internal/api/openapi"
)

func (a *API) routes() {
	a.authRoutes()
	a.merchantRoutes()
	a.ownRoutes()
	a.paymentRoutes()
	a.sessionRoutes()
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

// publish serves the OpenAPI document (VER-2), which is made
// when it is first asked for.
func (a *API) publish() {
	needs := func(id string) openapi.Credentials {
		need := a.needs[id]
		return openapi.Credentials{Any: need != open, Secret: need != open && need != anyKey}
	}
	a.Document = sync.OnceValues(openapi.Publish(a.huma.OpenAPI(), needs, loosened))
	a.mux.Handle("GET /api/openapi.json", a.gate.Strangers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := a.Document()
		if err != nil {
			panic(err) // a fault of ours, told and logged as every other
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // the client may be gone
	}), a.writeError))
}

// loosened says in the published document what is not left to huma's validation: these have
// codes of their own, or are clamped.
func loosened(paths, schemas map[string]any) {
	for _, name := range []string{"PaymentBody", "SessionBody"} { // a longer text has an error of its own
		if country, ok := dig(schemas, name, "properties", "country"); ok {
			country["maxLength"] = 3
		}
	}
	if properties, ok := dig(schemas, "PaymentBody", "properties"); ok {
		properties["amount"] = map[string]any{
			"type": "number", "format": "double", "description": amountDoc, "exclusiveMinimum": 0, "examples": []any{25.5},
		}
	}
	publishSessions(schemas)
	publishPayouts(paths, schemas)
	publishClaims(schemas)
	publishPurchases(schemas)
	for body, required := range map[string][]string{
		"PaymentBody": {"amount"}, "SubscribeInBody": {"events"}, "MoveClockInBody": {"advance"}, "WithdrawInBody": {"amount"}, "AddWalletInBody": {"type", "currency", "destination"},
	} {
		if schema, ok := dig(schemas, body); ok {
			schema["required"] = required
		}
	}
}

// publishPayouts says in the published document what the validated one cannot
// about wallets, withdrawals and verifications.
func publishPayouts(paths, schemas map[string]any) {
	if properties, ok := dig(schemas, "WithdrawInBody", "properties"); ok {
		properties["amount"] = map[string]any{
			"type": "number", "format": "double", "description": description(properties["amount"]), "exclusiveMinimum": 0, "examples": []any{250.0},
		}
	}
	// A verification that was open already is told by its status code alone.
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

// description is what a schema says of itself, "" for nothing.
func description(schema any) string {
	fields, _ := schema.(map[string]any)
	text, _ := fields["description"].(string)
	return text
}
