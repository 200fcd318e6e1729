package pay

import (
	"fmt"
	"strings"
	"time"
)

// EventType names an event (contract: Event types).
type EventType string

// The events of the contract.
const (
	PaymentCompleted    EventType = "payment.completed"
	PaymentFailed       EventType = "payment.failed"
	PaymentRefunded     EventType = "payment.refunded"
	PaymentCaptured     EventType = "payment.captured"  // the simulator's alias of payment.completed
	PaymentAttention    EventType = "payment.attention" // another amount was paid, or that was dealt with
	ChargebackCreated   EventType = "chargeback.created"
	ClaimOpened         EventType = "claim.opened"
	ClaimResolved       EventType = "claim.resolved"
	SettlementClosed    EventType = "settlement.closed"
	SettlementPDFReady  EventType = "settlement.pdf_ready"
	WithdrawalCompleted EventType = "withdrawal.completed"
	WithdrawalFailed    EventType = "withdrawal.failed"
	WalletAdded         EventType = "wallet.created" // the balance can be paid to one more destination
)

// EventTypes lists all events in the contract's order.
func EventTypes() []EventType {
	return []EventType{
		PaymentCompleted, PaymentFailed, PaymentRefunded, ChargebackCreated, ClaimOpened, ClaimResolved,
		SettlementClosed, SettlementPDFReady, WithdrawalCompleted, WithdrawalFailed, PaymentCaptured, PaymentAttention,
		WalletAdded,
	}
}

// Event is something that happened to an object, told to the merchant's
// endpoints. Its id is made from the object's and the sequence, so that one
// thing cannot be told twice under two ids.
type Event struct {
	ID   string // evt_…, the same for all endpoints, tries and replays
	Type EventType
	Scope
	Object   string // id of the payment, claim, settlement, withdrawal or wallet
	Sequence int64  // counts the object's events from 1
	At       time.Time
	Previous Status // the object's status before, or ""

	// The snapshot that the payload is made from.
	Payment    Payment
	Claim      *Claim      // of claim.* and chargeback.created
	Refund     *Refund     // of payment.refunded
	Withdrawal *Withdrawal // of withdrawal.*
	Wallet     *Wallet     // of wallet.created

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

// event returns the claim's next event, and c with the event counted.
func (c Claim) event(t EventType, p Payment, now time.Time) (Claim, Event) {
	c.Sequence++
	snapshot := c
	return c, Event{
		ID: fmt.Sprintf("%s%s-%d", EventPrefix, strings.TrimPrefix(c.ID, ClaimPrefix), c.Sequence), Type: t, Scope: c.Scope,
		Object: c.ID, Sequence: c.Sequence, At: now, Payment: p, Claim: &snapshot,
	}
}
