package pay

import (
	"fmt"
	"strings"
	"time"
)

// EventType names an event (EVT-1).
type EventType string

// The events.
const (
	PaymentCompleted    EventType = "payment.completed"
	PaymentFailed       EventType = "payment.failed"
	PaymentRefunded     EventType = "payment.refunded"
	PaymentCaptured     EventType = "payment.captured"  // of what the sandbox plays: an alias of payment.completed
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
	PaymentCreated EventType = "payment.created"          // it is there, and no provider was asked yet
	PaymentPending EventType = "payment.pending"          // the shopper has to act
	SessionExpired EventType = "checkout.session.expired" // nobody chose a method in its time
)

// EventTypes lists all events in the order of the documents.
func EventTypes() []EventType {
	return []EventType{
		PaymentCompleted, PaymentFailed, PaymentRefunded, ChargebackCreated, ClaimOpened, ClaimResolved,
		SettlementClosed, SettlementPDFReady, WithdrawalCompleted, WithdrawalFailed, PaymentCaptured, PaymentAttention,
		WalletAdded, PaymentCreated, PaymentPending, SessionExpired,
	}
}

// EventsVersion is a set of types of events, called by the day since which it is sent. An
// endpoint for all events gets those of the set that it was made with, so that no shop is told
// what its program does not know.
type EventsVersion string

// The sets.
const (
	FirstEvents  EventsVersion = "2026-11-21"
	NewestEvents EventsVersion = "2026-11-24"
)

// EventsVersions lists the sets, oldest first.
func EventsVersions() []EventsVersion { return []EventsVersion{FirstEvents, NewestEvents} }

// Since is the first set that has the type.
func (t EventType) Since() EventsVersion {
	switch t {
	case PaymentCreated, PaymentPending, SessionExpired:
		return NewestEvents
	}
	return FirstEvents
}

// Optional reports whether events of the type are made only where an endpoint wants them:
// they tell what the payment tells by itself (docs/decisions/events.md).
func (t EventType) Optional() bool { return t == PaymentCreated || t == PaymentPending }

// Event is something that happened to an object, told to the merchant's
// endpoints. Its id is made from the object's and the sequence, so that one
// thing cannot be told twice under two ids.
type Event struct {
	ID   string // evt_…, the same for all endpoints, tries and replays
	Type EventType
	Scope
	Object   string // id of the payment, claim, settlement, withdrawal, wallet or session
	Sequence int64  // counts the object's events from 1; 0 of those that stand before the count
	At       time.Time
	Previous Status // the object's status before, or ""

	// The snapshot that the payload is made from.
	Payment    Payment
	Claim      *Claim      // of claim.* and chargeback.created
	Refund     *Refund     // of payment.refunded
	Withdrawal *Withdrawal // of withdrawal.*
	Wallet     *Wallet     // of wallet.created
	Session    *Session    // of checkout.session.expired

	Settlement *Settlement // of settlement.*

	Payload []byte // the body that is sent; made before the commit
}

// event returns the payment's next event, and p with the event counted.
func (p Payment) event(t EventType, previous Status, now time.Time) (Payment, Event) {
	p.Sequence++
	return p, Event{
		ID: fmt.Sprintf("%s%s-%d", EventPrefix, p.Suffix(), p.Sequence), Type: t, Scope: p.Scope,
		Object: p.ID, Sequence: p.Sequence, At: now, Previous: previous, Payment: p,
	}
}

// early returns an event from before the payment's count: the count is as long as without it,
// so that who is not told of it misses no number.
func (p Payment) early(t EventType, previous Status, now time.Time) Event {
	name := ""
	for _, u := range unnumbered {
		if u.kind == t {
			name = u.name
		}
	}
	return Event{
		ID: fmt.Sprintf("%s%s-%s", EventPrefix, p.Suffix(), name), Type: t, Scope: p.Scope,
		Object: p.ID, At: now, Previous: previous, Payment: p,
	}
}

// event returns the claim's next event, and c with the event counted.
func (c Claim) event(t EventType, p Payment, now time.Time) (Claim, Event) {
	c.Sequence++
	snapshot := c
	return c, Event{
		ID: fmt.Sprintf("%s%s-%d", EventPrefix, strings.TrimPrefix(c.ID, ClaimPrefix), c.Sequence), Type: t, Scope: c.Scope,
		Object: c.ID, Sequence: c.Sequence, At: now, Payment: p, Claim: &snapshot,
	}
}
