package webhooks

import (
	"slices"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/wire"
)

// publish adds to the published document what the validated one cannot say.
func publish(_, schemas map[string]any) {
	for _, of := range []string{"DeliveryDetail", "Received"} {
		if properties, ok := call.Dig(schemas, of, "properties"); ok {
			properties["payload"] = map[string]any{"$ref": "#/components/schemas/Event", "description": call.Description(properties["payload"])}
		}
	}
	if properties, ok := call.Dig(schemas, "EditInBody", "properties"); ok {
		properties["authentication"] = map[string]any{
			"anyOf": []any{map[string]any{"$ref": "#/components/schemas/AuthenticationBody"}, map[string]any{"type": "null"}}, "description": call.Description(properties["authentication"]),
		}
	}
	publishTypes(schemas)
	call.Require(schemas, "SubscribeInBody", "events")
	call.Require(schemas, "ReplaySpanInBody", "from")
	call.RequireAny(schemas, "AuthenticationBody", []string{"username", "password"}, []string{"header", "value"})
}

// publishTypes lists the types of events where the validated document accepts any text: those have an error of their own.
func publishTypes(schemas map[string]any) {
	types := wire.Texts(webhooks.EventTypes()...)
	all := append(slices.Clone(types), webhooks.AllEvents)
	for _, of := range []struct {
		schema, field string
		values        []any
	}{{"SubscribeInBody", "events", all}, {"EditInBody", "events", all}, {"Subscription", "events", all}, {"CreatedSubscription", "events", all}, {"ReplaySpanInBody", "types", types}} {
		if items, ok := call.Dig(schemas, of.schema, "properties", of.field, "items"); ok {
			items["enum"] = of.values
		}
	}
}
