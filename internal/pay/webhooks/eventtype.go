package webhooks

import "cmp"

// EventType names an event (EVT-1).
type EventType string

// The events.
const (
	PaymentCompleted    EventType = "payment.completed"
	PaymentFailed       EventType = "payment.failed"
	PaymentRefunded     EventType = "payment.refunded"
	PaymentCaptured     EventType = "payment.captured"  // only for what the sandbox plays: an alias of payment.completed
	PaymentAttention    EventType = "payment.attention" // another amount was paid, or that was dealt with
	ChargebackCreated   EventType = "chargeback.created"
	ClaimOpened         EventType = "claim.opened"
	ClaimResolved       EventType = "claim.resolved"
	SettlementClosed    EventType = "settlement.closed"
	SettlementPDFReady  EventType = "settlement.pdf_ready"
	WithdrawalCompleted EventType = "withdrawal.completed"
	WithdrawalFailed    EventType = "withdrawal.failed"
	WalletAdded         EventType = "wallet.created" // the balance can be paid to one more destination

	PaymentCreated EventType = "payment.created"          // the payment exists, and no provider was called yet
	PaymentPending EventType = "payment.pending"          // the shopper has to act
	SessionExpired EventType = "checkout.session.expired" // the shopper chose no method in time

	WithdrawalReturned EventType = "withdrawal.returned" // a part of a completed withdrawal came back
	BalanceAdjusted    EventType = "balance.adjusted"    // an operator adjusted the balance
	LinkPaid           EventType = "payment_link.paid"   // a payment of the link was completed
	LinkClosed         EventType = "payment_link.closed" // nobody can pay with it any more
)

// eventRow is everything that is said about a type, except its name.
type eventRow struct {
	kind    EventType
	meaning string        // when it is sent, for the documents (EVT-1, EVT-5)
	since   EventsVersion // the first set that has the type
	// Two events precede the first number of their object (docs/decisions/order.md): early is the part
	// of their ids that replaces the number and sorts before it, place their place.
	early    string
	place    int64
	optional bool // made only if an endpoint wants it
}

// events has a row for each type, in the order of the documents.
var events = []eventRow{
	{kind: PaymentCompleted, since: FirstEvents,
		meaning: "The shopper paid: a pending payment was confirmed, or a card approved at once."},
	{kind: PaymentFailed, since: FirstEvents,
		meaning: "The payment was declined, no provider took it, it expired, or the shop canceled it: `failure.code` says which."},
	{kind: PaymentRefunded, since: FirstEvents,
		meaning: "A completed payment was refunded, in full or in part. `data.object.refund` is the refund."},
	{kind: ChargebackCreated, since: FirstEvents,
		meaning: "A dispute was opened against a completed payment."},
	{kind: ClaimOpened, since: FirstEvents,
		meaning: "A claim of any kind was opened: a refund, a chargeback or an inquiry."},
	{kind: ClaimResolved, since: FirstEvents,
		meaning: "A claim reached its end: approved, rejected, expired or withdrawn."},
	{kind: SettlementClosed, since: FirstEvents,
		meaning: "A settlement batch was closed."},
	{kind: SettlementPDFReady, since: FirstEvents,
		meaning: "The PDF of a closed settlement can be fetched."},
	{kind: WithdrawalCompleted, since: FirstEvents,
		meaning: "A withdrawal arrived."},
	{kind: WithdrawalFailed, since: FirstEvents,
		meaning: "A withdrawal failed; the money is back in the balance."},
	{kind: PaymentCaptured, since: FirstEvents,
		meaning: "An older name of payment.completed, from the sandbox's simulator only. Subscribe to payment.completed."},
	{kind: PaymentAttention, since: FirstEvents,
		meaning: "A different amount was paid than was requested (`attention` shows it), or the operator has resolved that (`attention` is null)."},
	{kind: WalletAdded, since: FirstEvents,
		meaning: "A wallet was added. Each shop of the merchant is told: the balance can be withdrawn to one more destination."},
	{kind: PaymentCreated, since: PaymentEvents, early: "0a", place: -1, optional: true,
		meaning: "A payment was made, and no provider was asked yet. `sequence` is 0: it comes before the counted events. Made only if a webhook subscribes to it."},
	{kind: PaymentPending, since: PaymentEvents, early: "0b", place: 0, optional: true,
		meaning: "A payment waits for the shopper. `sequence` is 0: it comes before the counted events, after payment.created. Made only if a webhook subscribes to it."},
	{kind: SessionExpired, since: PaymentEvents,
		meaning: "Nobody chose a method in the 24 hours of a hosted checkout, or its shop ended it before. `data.object.sessionId` is its token, which no longer works."},
	{kind: WithdrawalReturned, since: NewestEvents,
		meaning: "A part of a completed withdrawal came back and is in the balance again: `returnedAmount` is the sum of all parts. If all of it comes back, `withdrawal.failed` is sent."},
	{kind: BalanceAdjusted, since: NewestEvents,
		meaning: "The operator credited or debited the balance by hand. Each shop of the merchant is told: `reason` and `note` say why."},
	{kind: LinkPaid, since: NewestEvents,
		meaning: "A payment of a payment link was completed: `data.object.transactionId` says which, and `paid` how many are. It comes beside that payment's own payment.completed."},
	{kind: LinkClosed, since: NewestEvents,
		meaning: "A payment link has ended, and nobody can begin to pay with it: `status` says whether it was used, expired, or the shop closed it. A payment that is under way can still be completed."},
}

// rows has the events by their type.
var rows = func() map[EventType]eventRow {
	all := map[EventType]eventRow{}
	for _, e := range events {
		all[e.kind] = e
	}
	return all
}()

// Meaning says when the event is sent.
func (t EventType) Meaning() string { return rows[t].meaning }

// Since is the first set that has the type.
func (t EventType) Since() EventsVersion { return cmp.Or(rows[t].since, FirstEvents) }

// Optional reports whether events of the type are made only if an endpoint wants them: the payment
// itself shows the same (docs/decisions/events.md).
func (t EventType) Optional() bool { return rows[t].optional }

// EventTypes lists all events in the order of the documents.
func EventTypes() []EventType {
	list := make([]EventType, len(events))
	for i, e := range events {
		list[i] = e.kind
	}
	return list
}

// EventsVersion is a set of event types, named after the day from which it is sent. An endpoint for
// all events gets the types of the set with which it was made, so that no shop's program gets a
// type that it does not know.
type EventsVersion string

// The sets.
const (
	FirstEvents   EventsVersion = "2026-11-21"
	PaymentEvents EventsVersion = "2026-11-24" // adds how a payment and a checkout begin and end
	NewestEvents  EventsVersion = "2026-11-28" // adds withdrawal.returned, balance.adjusted and payment_link.*
)

// EventsVersions lists the sets, oldest first.
func EventsVersions() []EventsVersion {
	return []EventsVersion{FirstEvents, PaymentEvents, NewestEvents}
}

// Prefixes of ids (SVC-13).
const (
	EventPrefix        = "evt_"
	DeliveryPrefix     = "wd_"
	SubscriptionPrefix = "wh_" // of an endpoint
)
