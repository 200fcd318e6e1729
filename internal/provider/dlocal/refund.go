package dlocal

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// refund is dLocal's refund object, as far as we read it.
type refund struct {
	ID          string      `json:"id"`
	PaymentID   string      `json:"payment_id"`
	OrderID     string      `json:"order_refund_id"`
	Description string      `json:"description"`
	Amount      json.Number `json:"amount"`
	Currency    string      `json:"currency"`
	Status      string      `json:"status"`
}

// refunding asks for a refund (reference: Make a refund).
type refunding struct {
	PaymentID       string      `json:"payment_id"`
	Amount          json.Number `json:"amount"`
	Currency        string      `json:"currency"`
	NotificationURL string      `json:"notification_url"`
	OrderID         string      `json:"order_refund_id"`
	Description     string      `json:"description"`
}

// Refund gives money back: to the card, or by a transfer for which dLocal asks
// the shopper by e-mail where to. Our reference is the idempotency key, the
// refund's order id and its description, so that one of them shows in a list.
func (a *account) Refund(ctx context.Context, q provider.RefundRequest) pay.Outcome {
	if !sendable(q.Local) {
		return pay.Outcome{Kind: pay.Errored, Decline: "amount_not_accepted"}
	}
	id := q.Charge.ProviderRef
	if id == "" {
		found, o := a.find(ctx, q.Charge)
		switch {
		case o.Kind == pay.Missing:
			return pay.Outcome{Kind: pay.Declined, Decline: "charge_missing", Message: "there is no payment to give back"}
		case found.ID == "": // nothing was asked for yet
			return pay.Outcome{Kind: pay.Unavailable, Decline: o.Decline}
		}
		id = found.ID
	}
	reply, failed := a.call(ctx, http.MethodPost, "/refunds", q.Reference, refunding{
		PaymentID: id, Amount: json.Number(q.Local.Decimal()), Currency: string(q.Local.Currency),
		NotificationURL: a.NotificationURL, OrderID: q.Reference, Description: q.Reference,
	})
	if failed != nil {
		return *failed
	}
	var f refund
	if !reply.read(&f) {
		return refundRefused(reply)
	}
	return a.refunded(f, id)
}

// refundRefused is what an answer says that is not a refund.
func refundRefused(reply reply) pay.Outcome {
	if reply.Status < http.StatusBadRequest {
		return provider.Unknown("broken_answer")
	}
	reasons := map[int]string{
		4000: "charge_missing", 5002: "not_refundable_now", 5007: "amount_exceeded", 5010: "method_not_refundable",
		5013: "not_refundable", 5018: "disputed",
	}
	if reason := reasons[reply.code()]; reason != "" {
		return pay.Outcome{Kind: pay.Declined, Decline: reason, Message: "the refund was refused"}
	}
	return provider.Refused(reply.Status)
}

// QueryRefund asks for a refund by its id, or looks for ours in the payment's.
func (a *account) QueryRefund(ctx context.Context, q provider.RefundRequest) pay.Outcome {
	id := q.Charge.ProviderRef
	if q.RefundRef != "" {
		reply, failed := a.call(ctx, http.MethodGet, "/refunds/"+url.PathEscape(q.RefundRef), "", nil)
		if failed != nil {
			return provider.Unknown(failed.Decline)
		}
		var f refund
		if !reply.read(&f) {
			return asked(reply)
		}
		return a.refunded(f, id)
	}
	if id == "" {
		found, o := a.find(ctx, q.Charge)
		if o.Kind == pay.Missing {
			return o // no payment, no refund
		}
		if found.ID == "" {
			return provider.Unknown(o.Decline)
		}
		id = found.ID
	}
	p, failed := a.payment(ctx, id)
	if failed != nil {
		return *failed
	}
	if p.ID != id || p.Refunds == nil {
		return provider.Unknown("broken_answer")
	}
	named := true
	for _, f := range *p.Refunds {
		if f.OrderID == q.Reference || f.Description == q.Reference {
			return a.refunded(f, id)
		}
		named = named && (f.OrderID != "" || f.Description != "")
	}
	if !named { // ours may be the one without a name
		return provider.Unknown("refund_unnamed")
	}
	return pay.Outcome{Kind: pay.Missing}
}

// refunded is a refund in our words (reference: Refund codes).
func (a *account) refunded(f refund, payment string) pay.Outcome {
	local, ok := provider.Major(f.Amount.String(), f.Currency)
	if !identifier.MatchString(f.ID) || f.PaymentID != "" && payment != "" && f.PaymentID != payment || !ok {
		return provider.Unknown("broken_answer")
	}
	o := pay.Outcome{ProviderRef: f.ID, Local: local}
	switch f.Status {
	case "SUCCESS":
		o.Kind = pay.Approved
	case "PENDING":
		o.Kind = pay.Awaiting
	case "REJECTED", "CANCELLED":
		o.Kind, o.Decline, o.Message = pay.Declined, "refund_rejected", "the refund was refused"
	default:
		a.Strange("refund", f.Status)
		o.Kind, o.Decline = pay.Unknown, "unmapped_status"
	}
	return o
}
