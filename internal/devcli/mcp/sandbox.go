package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/devcli"
)

// triggerWait is how long a triggered event is waited for.
const triggerWait = 30 * time.Second

// shopper is who pays in the sandbox: nobody. The check digits of the document are right.
var shopper = map[string]any{"documentId": "52998224725", "userEmail": "ana@example.com", "userName": "Ana Test"}

// sandboxTools are the tools that change something, all of them in the sandbox.
func sandboxTools() []tool {
	makeable, clock := devcli.Triggers()
	reason := argument{name: "reason", about: "Why, such as requested_by_customer"}
	return []tool{
		{
			name: "create_sandbox_payment", title: "Make a payment in the sandbox", changes: true, run: createPayment,
			about: "Makes a payment in the sandbox, by a made-up shopper. Cards answer at once; other methods stay pending until simulate_payment ends them. The guide \"testing\" lists amounts that make a card fail in each way.",
			arguments: []argument{
				{name: "amount", kind: "number", about: "Major units of currency, such as 25.50", required: true, most: 1e9},
				{name: "paymentMethodId", about: "Id from list_payment_methods, such as sbx_card, sbx_pix or sbx_cash", required: true},
				{name: "currency", about: "ISO 4217 code; USD without it"},
				{name: "merchantOrderId", about: "The shop's number of the order"}, {name: "description", about: "What the shopper sees"},
				{name: "metadata", kind: "texts", about: "Texts that the payment keeps, and events repeat"},
				{name: "outcome", about: "How it ends, whatever the amount says", choices: []string{"paid", "failed", "expired", "chargeback", "slow_payment"}},
			},
		},
		change("simulate_payment", "Simulate what happens to a payment", "Does to a sandbox payment what a shopper or a bank would do, and returns the events that it caused.", "/payments/{id}/simulate", true, []string{"action"}, false,
			payments, argument{name: "action", about: "What happens", required: true, choices: []string{"paid", "failed", "expired", "refunded", "chargeback"}}),
		change("refund_payment", "Refund a sandbox payment", "Refunds a sandbox payment, in full or in part.", "/payments/{id}/refund", true, []string{"amount", "reason"}, true,
			payments, argument{name: "amount", kind: "number", about: "In the currency that the shopper paid; all that is left without it", most: 1e9}, reason),
		change("cancel_payment", "Cancel a sandbox payment", "Cancels a sandbox payment that is pending.", "/payments/{id}/cancel", true, nil, false, payments),
		change("replay_delivery", "Send an event again", "Sends an event to a webhook of the sandbox again.", "/webhooks/{webhookId}/deliveries/{deliveryId}/replay", false, nil, false,
			idOf("webhookId", "Id of the webhook, wh_…"), idOf("deliveryId", "Id of the delivery, wd_…")),
		{
			name: "trigger_event", title: "Make an event happen in the sandbox", changes: true, destroys: true, run: triggerEvent,
			about: "Makes an event happen by real operations in the sandbox, waits for it, and returns its id: the shop's webhooks get it. So a webhook is tested. For " + strings.Join(clock, ", ") + " the clock of the sandbox must move.",
			arguments: []argument{
				{name: "event", about: "Type of the event", required: true, choices: makeable},
				{name: "moveClock", kind: "boolean", about: "Let the clock of the whole sandbox go forward. It never goes back: payments that wait expire"},
			},
		},
	}
}

// change is a tool that makes one call, with the arguments of fields as its body. once: the call gets an Idempotency-Key.
func change(name, title, about, path string, destroys bool, fields []string, once bool, arguments ...argument) tool {
	return tool{name: name, title: title, about: about, arguments: arguments, changes: true, destroys: destroys, run: func(ctx context.Context, d *door, in values) (result, error) {
		below := path
		for _, a := range arguments {
			if a.id {
				below = strings.Replace(below, "{"+a.name+"}", in.text(a.name), 1)
			}
		}
		return d.send(ctx, below, nil, in.body(fields...), once)
	}}
}

func createPayment(ctx context.Context, d *door, in values) (result, error) {
	body := in.body("amount", "paymentMethodId", "currency", "merchantOrderId", "description", "metadata")
	for name, value := range shopper {
		body[name] = value
	}
	header := map[string]string{"Sandbox-Strict": "false"}
	if outcome := in.text("outcome"); outcome != "" {
		header["Sandbox-Simulate"] = outcome
	}
	return d.send(ctx, "/payments", header, body, true)
}

// send makes a call that changes something.
func (d *door) send(ctx context.Context, path string, header map[string]string, body any, once bool) (result, error) {
	raw, err := d.caller.Send(ctx, path, header, body, once)
	if err != nil {
		return result{}, err
	}
	return d.page(raw)
}

func triggerEvent(ctx context.Context, d *door, in values) (result, error) {
	made, err := d.caller.Trigger(ctx, in.text("event"), in.flag("moveClock"), triggerWait)
	raw, broken := json.Marshal(map[string]any{"event": made.Event, "id": made.ID, "objectId": made.Object, "calls": made.Calls})
	if broken != nil {
		return result{}, broken
	}
	out, broken := d.page(raw)
	if broken != nil {
		return result{}, broken
	}
	return out, err // what was called before it failed is returned too
}
