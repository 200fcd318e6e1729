package hook

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

	// Since NewestEvents.
	PaymentCreated EventType = "payment.created"          // the payment exists, and no provider was called yet
	PaymentPending EventType = "payment.pending"          // the shopper has to act
	SessionExpired EventType = "checkout.session.expired" // the shopper chose no method in time
)

// Since is the first set that has the type.
func (t EventType) Since() EventsVersion {
	switch t {
	case PaymentCreated, PaymentPending, SessionExpired:
		return NewestEvents
	}
	return FirstEvents
}

// Optional reports whether events of the type are made only if an endpoint wants them: the payment
// itself shows the same (docs/decisions/events.md).
func (t EventType) Optional() bool { return t == PaymentCreated || t == PaymentPending }

// EventTypes lists all events in the order of the documents.
func EventTypes() []EventType {
	return []EventType{
		PaymentCompleted, PaymentFailed, PaymentRefunded, ChargebackCreated, ClaimOpened, ClaimResolved,
		SettlementClosed, SettlementPDFReady, WithdrawalCompleted, WithdrawalFailed, PaymentCaptured, PaymentAttention,
		WalletAdded, PaymentCreated, PaymentPending, SessionExpired,
	}
}

// EventsVersion is a set of event types, named after the day from which it is sent. An endpoint for
// all events gets the types of the set with which it was made, so that no shop's program gets a
// type that it does not know.
type EventsVersion string

// The sets.
const (
	FirstEvents  EventsVersion = "2026-11-21"
	NewestEvents EventsVersion = "2026-11-24"
)

// EventsVersions lists the sets, oldest first.
func EventsVersions() []EventsVersion { return []EventsVersion{FirstEvents, NewestEvents} }

// Prefixes of ids (SVC-13).
const (
	EventPrefix        = "evt_"
	DeliveryPrefix     = "wd_"
	SubscriptionPrefix = "wh_" // of an endpoint
)
