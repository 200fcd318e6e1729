package view

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// APIVersion is the API version of this program (VER-1).
const APIVersion = "2026-11-21"

// Event is the body of a webhook delivery (EVT-8).
type Event struct {
	ID          string                `json:"id"`
	Type        webhooks.EventType    `json:"type"`
	APIVersion  string                `json:"apiVersion"`
	CreatedAt   Time                  `json:"createdAt"`
	Environment merchants.Environment `json:"environment"`
	MerchantID  string                `json:"merchantId"`
	ShopID      string                `json:"shopId"`
	Sequence    int64                 `json:"sequence" doc:"Counts the object's events from 1. 0: the event comes before the counted ones, as payment.created and payment.pending do"`
	Request     EventRequest          `json:"request"`
	Data        EventData             `json:"data"`
}

// EventRequest is the API call that caused an event, null for none.
type EventRequest struct {
	ID             *string `json:"id"`
	IdempotencyKey *string `json:"idempotencyKey"`
}

// EventData is an event's object. The tag personal marks a field that may name a shopper, and says what an erasure leaves
// of it (internal/app/privacy/blank.go).
type EventData struct {
	Object   any           `json:"object"`
	Previous EventPrevious `json:"previous"`
}

// EventPrevious is the old values of what an event changed.
type EventPrevious struct {
	Status pay.Status `json:"status,omitempty" doc:"The object's status before"`
}

// eventSize holds most events of a payment.
const eventSize = 1536

// Cause is the API call behind a change; the zero value is none.
type Cause struct {
	RequestID, IdempotencyKey string
	SessionToken              string // of the event's checkout session
}

// NewEvent returns the body of an event.
func NewEvent(e *pay.Event, cause Cause, checkoutURL string) ([]byte, error) {
	v := Event{
		ID: e.ID, Type: e.Type, APIVersion: APIVersion, CreatedAt: Time{e.At}, Environment: e.Environment(),
		MerchantID: e.Merchant, ShopID: e.Shop, Sequence: e.Sequence,
		Request: EventRequest{text(cause.RequestID), text(cause.IdempotencyKey)},
		Data:    EventData{Previous: EventPrevious{e.Previous}},
	}
	switch { // the object of nearly all events is a payment
	case e.PaymentLink != nil:
		l := NewPaymentLink(*e.PaymentLink, e.At, checkoutURL)
		if e.Payment != nil {
			l.TransactionID = e.Payment.ID
		}
		v.Data.Object = l
	case e.Session != nil:
		v.Data.Object = NewEndedSession(*e.Session, cause.SessionToken)
	case e.Adjustment != nil:
		v.Data.Object = NewAdjustment(*e.Adjustment)
	case e.Settlement != nil:
		v.Data.Object = NewSettlement(*e.Settlement, checkoutURL)
	case e.Claim != nil:
		c := NewClaim(*e.Claim)
		c.Transaction = newSummary(e.Payment)
		v.Data.Object = c
	case e.Wallet != nil:
		v.Data.Object = NewWallet(*e.Wallet, e.Wallet.Unpayable(e.At))
	case e.Withdrawal != nil:
		v.Data.Object = NewWithdrawal(*e.Withdrawal)
	default:
		t := NewTransactionWithData(e.Payment, checkoutURL)
		if e.Refund != nil {
			r := NewRefund(*e.Refund)
			t.Refund = &r
		}
		v.Data.Object = t
	}
	if _, payment := v.Data.Object.(Transaction); !payment {
		object, err := encode(v.Data.Object)
		if err != nil {
			return nil, err
		}
		v.Data.Object = encoded(object)
	}
	return v.AppendJSON(make([]byte, 0, eventSize)), nil
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
