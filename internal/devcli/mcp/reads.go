package mcp

import (
	"context"
	"encoding/json"
	"strings"
)

// Arguments that many tools have.
var (
	limit    = argument{name: "limit", kind: "integer", about: "Rows of a page, 10 without it", least: 1, most: 50}
	cursor   = argument{name: "cursor", about: "The \"next\" of the page before", query: "startingAfter"}
	from     = argument{name: "from", about: "Created at this time or later: 2026-11-21, or 2026-11-21T12:00:00Z"}
	to       = argument{name: "to", about: "Created before this time"}
	country  = argument{name: "country", about: "ISO 3166 code, such as BRA or BR"}
	method   = argument{name: "method", about: "Slug of a way to pay, such as pix, spei or oxxo"}
	payments = argument{name: "id", about: "Id of the payment, TXN-…", required: true, id: true}
)

// eventTypes are the types of events. A test compares them with the published document.
var eventTypes = []string{
	"payment.created", "payment.pending", "payment.completed", "payment.failed", "payment.refunded", "payment.captured", "payment.attention", "chargeback.created",
	"claim.opened", "claim.resolved", "settlement.closed", "settlement.pdf_ready", "wallet.created", "withdrawal.completed", "withdrawal.failed",
	"withdrawal.returned", "checkout.session.expired", "balance.adjusted", "payment_link.paid", "payment_link.closed",
}

// idOf is the required id of a thing.
func idOf(name, about string) argument {
	return argument{name: name, about: about, required: true, id: true}
}

// read is a tool that reads one thing, or a page of a list. Names in braces in path are arguments. operation is the published one.
func read(name, title, about, path string, arguments ...argument) tool {
	return tool{name: name, title: title, about: about, arguments: arguments, run: func(ctx context.Context, d *door, in values) (result, error) {
		below := path
		for _, a := range arguments {
			if a.id {
				below = strings.Replace(below, "{"+a.name+"}", in.text(a.name), 1)
			}
		}
		query := in.query(arguments)
		if strings.HasPrefix(name, "list_") && !query.Has("limit") && name != "list_payment_methods" {
			query.Set("limit", "10")
		}
		raw, err := d.caller.Read(ctx, below, query)
		if err != nil {
			return result{}, err
		}
		return d.page(raw)
	}}
}

// readTools are the tools that read what the API has of a shop.
func readTools() []tool {
	return []tool{
		{name: "get_account", title: "Read whose key it is", about: "Reads the merchant, the environment and the shops that the key reaches.", run: readAccount},
		read("list_payments", "List payments", "Lists payments, newest first. Search by order, the shopper's e-mail address, amount, status or time.", "/payments",
			argument{name: "status", about: "Only payments in this status", choices: []string{"processing", "pending", "completed", "failed", "expired", "refunded", "chargeback"}},
			argument{name: "merchantOrderId", about: "The shop's number of the order"},
			argument{name: "email", about: "The shopper's complete e-mail address. Answers mask it"},
			argument{name: "amount", kind: "number", about: "Amount in major units of currency, such as 25.5"},
			argument{name: "currency", about: "ISO 4217 code: the currency of amount; USD without it"},
			argument{name: "paymentMethodId", about: "Id of a payment method, such as sbx_pix"}, country, method, from, to, limit, cursor),
		read("get_payment", "Read a payment", "Reads a payment with its status, amounts, fees, tries, refunds and disputes, and why it failed.", "/payments/{id}", payments),
		read("list_events", "List events", "Lists what happened in the shop, newest first: each event as webhooks get it.", "/events",
			argument{name: "type", about: "Only events of this type", choices: eventTypes},
			argument{name: "objectId", about: "Only events about this payment, claim, settlement, withdrawal, wallet or session"}, from, to, limit, cursor),
		read("get_event", "Read an event", "Reads one event.", "/events/{id}", idOf("id", "Id of the event, evt_…")),
		read("list_webhooks", "List webhooks", "Lists the shop's webhooks: address, types of events, status.", "/webhooks", limit, cursor),
		read("list_deliveries", "List deliveries of a webhook", "Lists what was sent to a webhook and how its endpoint answered, newest first. Find out here why an endpoint got no event.",
			"/webhooks/{webhookId}/deliveries", idOf("webhookId", "Id of the webhook, wh_…"),
			argument{name: "status", about: "Only deliveries in this status; dead_letter: given up", choices: []string{"pending", "delivered", "failed", "dead_letter"}},
			argument{name: "event", about: "Only deliveries of this type of event", choices: eventTypes}, from, to, limit, cursor),
		read("get_delivery", "Read a delivery", "Reads a delivery with each try and the payload.", "/webhooks/{webhookId}/deliveries/{deliveryId}",
			idOf("webhookId", "Id of the webhook, wh_…"), idOf("deliveryId", "Id of the delivery, wd_…")),
		read("list_claims", "List claims", "Lists refunds and disputes, newest first.", "/claims",
			argument{name: "status", about: "Only claims in this status", choices: []string{"pending", "needs_evidence", "under_review", "approved", "rejected", "expired", "withdrawn"}},
			argument{name: "type", about: "user_dispute: a refund", choices: []string{"user_dispute", "chargeback", "inquiry"}},
			argument{name: "transactionId", about: "Only claims of this payment, TXN-…"}, limit, cursor),
		read("get_claim", "Read a claim", "Reads a refund or dispute with its history, evidence and deadline.", "/claims/{id}", idOf("id", "Id of the claim, CLM-…")),
		read("list_payment_links", "List payment links", "Lists the addresses at which shoppers pay without a shop, newest first, with how often each was paid.", "/payment-links",
			argument{name: "status", about: "Only links in this status; used: paid as often as it may be", choices: []string{"open", "used", "expired", "closed"}}, limit, cursor),
		read("get_payment_link", "Read a payment link", "Reads a payment link as it is now.", "/payment-links/{id}", idOf("id", "Id of the payment link, lnk_…")),
		read("list_settlements", "List settlements", "Lists settlements, newest first: what becomes available to the merchant, after fees, refunds and reserves.", "/settlements",
			argument{name: "status", about: "Only settlements in this status", choices: []string{"open", "closed", "paid"}}, from, to, limit, cursor),
		read("get_settlement", "Read a settlement", "Reads a settlement with its totals and its payout.", "/settlements/{id}", idOf("id", "Id of the settlement, STL-…")),
		read("list_settlement_lines", "List the lines of a settlement", "Lists the payments of a settlement with their fees.", "/settlements/{id}/transactions", idOf("id", "Id of the settlement, STL-…"), limit, cursor),
		read("get_balance", "Read the balance", "Reads the merchant's balance: pending, available, frozen, reserve, with fees and terms.", "/me/balance"),
		read("list_balance_movements", "List movements of the balance", "Lists what moved the balance, newest first.", "/me/balance/movements", limit, cursor),
		read("list_payment_methods", "List payment methods", "Lists the payment methods on offer with their currencies, limits and fees. Those of the sandbox have ids that begin with sbx_.", "/payment-methods", country, method,
			argument{name: "channel", about: "Only methods of this channel", choices: []string{"ONLINE", "CASH", "CREDIT_CARD"}}),
		read("list_requests", "List the log of API requests", "Lists the last API requests of the shop with status, error code and what was wrong, newest first. Look here when a call of the shop's program fails.", "/requests",
			argument{name: "outcome", about: "failed: refused; fault: failed by no fault of the request", choices: []string{"ok", "failed", "fault"}},
			argument{name: "code", about: "Only requests that ended in this error, such as card_declined"}, from, to, limit, cursor),
	}
}

func readAccount(ctx context.Context, d *door, _ values) (result, error) {
	key, err := d.caller.Read(ctx, "/ping", nil)
	if err != nil {
		return result{}, err
	}
	shops, err := d.caller.Read(ctx, "/shops", map[string][]string{"limit": {"50"}})
	if err != nil {
		return result{}, err
	}
	both, err := json.Marshal(map[string]json.RawMessage{"key": key, "shops": shops})
	if err != nil {
		return result{}, err
	}
	return d.page(both)
}
