package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// EventType names an event.
type EventType string

// The events. There may be new ones: have a default case.
const (
	EventPaymentCompleted    EventType = "payment.completed"
	EventPaymentFailed       EventType = "payment.failed"     // Payment.Failure tells why
	EventPaymentRefunded     EventType = "payment.refunded"   // in full or in part; Payment.Refund tells
	EventPaymentCaptured     EventType = "payment.captured"   // alias of completed, from the simulator only
	EventPaymentAttention    EventType = "payment.attention"  // another amount was paid, or that was resolved: Payment.Attention
	EventChargebackCreated   EventType = "chargeback.created" // about the claim
	EventClaimOpened         EventType = "claim.opened"       // of any type, also a chargeback's
	EventClaimResolved       EventType = "claim.resolved"     // Claim.Outcome tells how
	EventSettlementClosed    EventType = "settlement.closed"  // sent to each shop of the merchant
	EventSettlementPDFReady  EventType = "settlement.pdf_ready"
	EventWithdrawalCompleted EventType = "withdrawal.completed"
	EventWithdrawalFailed    EventType = "withdrawal.failed" // the money is back in the balance
	EventWalletCreated       EventType = "wallet.created"    // withdrawals can go to one more destination

	// Since PaymentEvents.
	EventPaymentCreated  EventType = "payment.created"          // no provider was called yet; Sequence is 0
	EventPaymentPending  EventType = "payment.pending"          // the shopper has to act; Sequence is 0
	EventCheckoutExpired EventType = "checkout.session.expired" // no method was chosen in 24 hours, or the shop ended it

	// Since NewestEvents.
	EventWithdrawalReturned EventType = "withdrawal.returned" // a part came back: Withdrawal.ReturnedAmount
	EventBalanceAdjusted    EventType = "balance.adjusted"    // the operator credited or debited the balance by hand
	EventPaymentLinkPaid    EventType = "payment_link.paid"   // PaymentLink.TransactionID is the payment
	EventPaymentLinkClosed  EventType = "payment_link.closed" // PaymentLink.Status says why
)

// The sets of event types that AllEvents may mean, each named by the day of its
// introduction.
const (
	FirstEvents   = "2026-11-21"
	PaymentEvents = "2026-11-24"
	NewestEvents  = "2026-11-28"
)

// AllEvents subscribes a webhook to every event.
const AllEvents = "*"

// Event is something that happened, as a webhook delivers it. Drop an event whose ID
// you have seen, and order the events of one object by Sequence: each is delivered
// at least once, and deliveries that failed may overtake each other.
//
// In JSON it is the body of the delivery, also that of Delivery.Payload and
// Received.Payload.
type Event struct {
	ID          string       `json:"id"` // evt_…, the same for all endpoints, tries and replays
	Type        EventType    `json:"type"`
	APIVersion  string       `json:"apiVersion"`
	CreatedAt   time.Time    `json:"createdAt"`
	Environment string       `json:"environment"` // sandbox or production
	MerchantID  string       `json:"merchantId"`
	ShopID      string       `json:"shopId"`
	Sequence    int64        `json:"sequence"` // counts the object's events from 1; 0 comes before 1
	Request     EventRequest `json:"request"`
	Data        EventData    `json:"data"`

	// The object of the event, as it was then, is one of these; the others are nil. All are
	// nil if the Type has no constant here: use Data.Object.
	Payment    *Payment       `json:"-"` // of payment.*
	Claim      *Claim         `json:"-"` // of claim.* and chargeback.created
	Settlement *Settlement    `json:"-"` // of settlement.*
	Adjustment *Adjustment    `json:"-"`
	Withdrawal *Withdrawal    `json:"-"` // of withdrawal.*
	Wallet     *Wallet        `json:"-"` // of wallet.created
	Checkout   *EndedCheckout `json:"-"` // of checkout.session.expired

	PaymentLink *PaymentLink `json:"-"` // of payment_link.*
}

// EventRequest is the API call that caused an event, "" if none did.
type EventRequest struct {
	ID             string `json:"id"` // req_…
	IdempotencyKey string `json:"idempotencyKey"`
}

// EventData is the object of an event, as received.
type EventData struct {
	Object   json.RawMessage `json:"object"`
	Previous EventPrevious   `json:"previous"`
}

// EventPrevious is what the event changed.
type EventPrevious struct {
	Status string `json:"status"` // the object's status before; "" if it is new
}

// UnmarshalJSON reads an event and its object.
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event // without this method
	var read plain
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if read.ID == "" || read.Type == "" {
		return errors.New("client: an event without id or type")
	}
	*e = Event(read)
	object := e.subject()
	if object == nil {
		return nil
	}
	if len(e.Data.Object) == 0 || string(e.Data.Object) == "null" {
		return fmt.Errorf("client: %s without data.object", e.Type)
	}
	if err := json.Unmarshal(e.Data.Object, object); err != nil {
		return fmt.Errorf("client: data.object of %s: %w", e.Type, err)
	}
	return nil
}

// subject makes the object of an event by its type, nil if the type is not known.
func (e *Event) subject() any {
	switch e.Type {
	case EventPaymentCompleted, EventPaymentFailed, EventPaymentRefunded, EventPaymentCaptured, EventPaymentAttention, EventPaymentCreated, EventPaymentPending:
		e.Payment = new(Payment)
		return e.Payment
	case EventChargebackCreated, EventClaimOpened, EventClaimResolved:
		e.Claim = new(Claim)
		return e.Claim
	case EventSettlementClosed, EventSettlementPDFReady:
		e.Settlement = new(Settlement)
		return e.Settlement
	case EventCheckoutExpired:
		e.Checkout = new(EndedCheckout)
		return e.Checkout
	case EventPaymentLinkPaid, EventPaymentLinkClosed:
		e.PaymentLink = new(PaymentLink)
		return e.PaymentLink
	case EventBalanceAdjusted:
		e.Adjustment = new(Adjustment)
		return e.Adjustment
	case EventWalletCreated:
		e.Wallet = new(Wallet)
		return e.Wallet
	case EventWithdrawalCompleted, EventWithdrawalFailed, EventWithdrawalReturned:
		e.Withdrawal = new(Withdrawal)
		return e.Withdrawal
	}
	return nil
}

// EndedCheckout is a hosted checkout that expired before a method was chosen.
type EndedCheckout struct {
	SessionID       string    `json:"sessionId"` // the token, which is no longer valid
	Status          string    `json:"status"`    // expired
	Amount          Decimal   `json:"amount"`
	Currency        string    `json:"currency"`
	Country         string    `json:"country"`
	MerchantOrderID string    `json:"merchantOrderId"`
	CreatedAt       time.Time `json:"createdAt"`
	ExpiresAt       time.Time `json:"expiresAt"`
}

// EventFilter selects events; empty fields select all.
type EventFilter struct {
	Type     EventType
	ObjectID string // a payment's, a claim's, a settlement's, a withdrawal's, a wallet's, or a checkout's token
	From, To time.Time
	Page
}

// EventPage is one page of events.
type EventPage struct {
	Data       []Event    `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Events lists the shop's events, newest first. Limit 0 means 50.
func (c *Client) Events(ctx context.Context, f EventFilter) (EventPage, error) {
	query := map[string]string{
		"type": string(f.Type), "objectId": f.ObjectID, "from": moment(f.From), "to": moment(f.To),
	}
	addPage(query, f.Page)
	var page EventPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/events", query: values(query)}, &page)
	return page, err
}

// Event reads an event in its form for webhooks. Errors: event_not_found.
func (c *Client) Event(ctx context.Context, id string) (Event, error) {
	var e Event
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/events/" + url.PathEscape(id)}, &e)
	return e, err
}
