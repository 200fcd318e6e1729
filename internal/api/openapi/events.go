package openapi

import (
	"reflect"
	"strings"
	"sync"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/danielgtaylor/huma/v2"
)

// Schemas has the schemas of all types of the API, made once: a process may have many services, as in tests.
// Registering operations changes it, so it is done under a lock; requests only read it.
var Schemas = huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)

// webhooks are the events that endpoints receive. Generators drop schemas without an operation before they
// read webhooks; GET /events refers to all of them.
var webhookEvents = sync.OnceValue(func() map[string]*huma.PathItem {
	items := map[string]*huma.PathItem{}
	var objects []*huma.Schema
	seen := map[reflect.Type]bool{}
	for _, e := range webhooks.EventTypes() {
		items[string(e)] = eventItem(e)
		if object := eventObject(e); object != nil && !seen[object] {
			seen[object] = true
			objects = append(objects, Schemas.Schema(object, true, ""))
		}
	}
	Schemas.Map()["EventData"].Properties["object"] = &huma.Schema{AnyOf: objects, Description: "What the event is about: its type says which"}
	return items
})

// eventItem describes one event as a webhook.
func eventItem(e webhooks.EventType) *huma.PathItem {
	schema := huma.SchemaFromType(Schemas, reflect.TypeFor[view.Event]())
	schema.Properties["type"] = &huma.Schema{Type: huma.TypeString, Enum: []any{e}}
	if object := eventObject(e); object != nil {
		schema.Properties["data"] = &huma.Schema{Type: huma.TypeObject, Required: []string{"object", "previous"}, Properties: map[string]*huma.Schema{
			"object":   Schemas.Schema(object, true, ""),
			"previous": Schemas.Schema(reflect.TypeFor[view.EventPrevious](), true, ""),
		}}
	}
	return &huma.PathItem{Post: &huma.Operation{
		OperationID: "on" + camel(strings.NewReplacer(".", "_").Replace(string(e))), Summary: string(e), Tags: []string{"Events"},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}},
		Responses:   map[string]*huma.Response{"2XX": {Description: "Received. Any 2xx within " + seconds(sender.DefaultTimeout) + " counts."}},
	}}
}

// eventObject is the object of an event, nil if that has no shape yet (EVT-11, EVT-12).
func eventObject(e webhooks.EventType) reflect.Type {
	switch subject, _, _ := strings.Cut(string(e), "."); subject {
	case "payment":
		return reflect.TypeFor[view.Transaction]()
	case "wallet":
		return reflect.TypeFor[view.Wallet]()
	case "withdrawal":
		return reflect.TypeFor[view.Withdrawal]()
	case "claim", "chargeback":
		return reflect.TypeFor[view.Claim]()
	case "settlement":
		return reflect.TypeFor[view.Settlement]()
	case "balance":
		return reflect.TypeFor[view.Adjustment]()
	case "payment_link":
		return reflect.TypeFor[view.PaymentLink]()
	case "checkout":
		return reflect.TypeFor[view.EndedSession]()
	}
	return nil
}

// camel turns name_with_underscores into NameWithUnderscores.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}
