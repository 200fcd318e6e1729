package dlocal

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// refund is the part of dLocal's refund object that we read.
type refund struct {
	ID          string      `json:"id"`
	PaymentID   string      `json:"payment_id"`
	OrderID     string      `json:"order_refund_id"`
	Description string      `json:"description"`
	Amount      json.Number `json:"amount"`
	Currency    string      `json:"currency"`
	Status      string      `json:"status"`
}

// refunding is the request for a refund (reference: Make a refund).
type refunding struct {
	PaymentID       string      `json:"payment_id"`
	Amount          json.Number `json:"amount"`
	Currency        string      `json:"currency"`
	NotificationURL string      `json:"notification_url"`
	OrderID         string      `json:"order_refund_id"`
	Description     string      `json:"description"`
}

// Refund refunds a payment unless it finds that it was refunded before. The money goes to
// the card, or by a transfer for which dLocal asks the shopper for an account by e-mail.
// Our reference is the idempotency key, the refund's order id and its description, so that
// a list shows at least one of them.
func (a *account) Refund(ctx context.Context, q provider.RefundRequest) pay.Outcome {
	if !sendable(q.Local) {
		return pay.Outcome{Kind: pay.Errored, Decline: "amount_not_accepted"}
	}
	id := q.Charge.ProviderRef
	if id == "" {
		found, o := a.find(ctx, q.Charge)
		switch {
		case o.Kind == pay.Missing:
			return pay.Outcome{Kind: pay.Declined, Decline: "charge_missing", Message: "there is no payment to refund"}
		case found.ID == "": // no refund was requested yet
			return pay.Outcome{Kind: pay.Unavailable, Decline: o.Decline}
		}
		id = found.ID
	}
	switch o, found, failed := a.findRefund(ctx, id, q); {
	case failed != nil: // no refund was requested yet
		return pay.Outcome{Kind: pay.Unavailable, Decline: failed.Decline}
	case found:
		return o
	}
	reply, failed := a.call(ctx, http.MethodPost, "/refunds", q.Reference, refunding{
		PaymentID: id, Amount: json.Number(q.Local.Decimal()), Currency: string(q.Local.Currency),
		NotificationURL: a.NotificationURL, OrderID: q.Reference, Description: q.Reference,
	})
	if failed != nil {
		return *failed
	}
	var f refund
	switch {
	case reply.read(&f):
		return a.refunded(f, id)
	case reply.Status == http.StatusBadRequest && reply.code() == 5011: // our reference was used: this refund exists
		if o, found, failed := a.findRefund(ctx, id, q); failed == nil && found {
			return o
		}
		return provider.Unknown("duplicate_refund")
	}
	return a.refundRefused(reply)
}

// refundRefusals are why there will be no refund, by dLocal's codes beside status 400 (reference: Refunds
// HTTP Errors).
var refundRefusals = map[int]string{
	5002: "not_refundable_now", 5003: "country_not_supported", 5004: "currency_not_accepted", 5005: "document_irregular",
	5006: "shopper_limit", 5007: "amount_exceeded", 5013: "not_refundable", 5016: "amount_too_low", 5018: "disputed",
	5020: "refund_period_exceeded",
}

// refundRefused is the outcome of an answer that is not a refund. Only a documented code beside its
// documented status proves that there is none: 5010 is a time-out or a method that is not available, and
// of a refund that the acquirer could not process (5021) only the list tells what became of it.
func (a *account) refundRefused(reply reply) pay.Outcome {
	code := reply.code()
	reason := refundRefusals[code]
	if reply.Status == http.StatusNotFound && code == 4000 {
		reason = "charge_missing"
	}
	switch o := provider.Refused(reply.Status); {
	case reply.Status < http.StatusBadRequest:
		return provider.Unknown("broken_answer")
	case o.Kind != pay.Errored:
		return o
	case reason == "charge_missing", reply.Status == http.StatusBadRequest && reason != "":
		return pay.Outcome{Kind: pay.Declined, Decline: reason, Message: "the refund was refused"}
	case reply.Status == http.StatusBadRequest && code == 5012:
		return pay.Outcome{Kind: pay.Unavailable, Decline: "insufficient_funds"}
	case reply.Status == http.StatusBadRequest && slices.Contains([]int{5000, 5001, 5017}, code): // the request is wrong
		return o
	}
	if code != 0 && code != 5010 && code != 5021 {
		a.Strange("refund refused", strconv.Itoa(code))
	}
	return provider.Unknown(fmt.Sprintf("http_%d_%d", reply.Status, code))
}

// QueryRefund reads a refund by its id, or searches the payment's refunds.
func (a *account) QueryRefund(ctx context.Context, q provider.RefundRequest) pay.Outcome {
	id := q.Charge.ProviderRef
	if q.RefundRef != "" {
		f, failed := a.refund(ctx, q.RefundRef)
		if failed != nil {
			return provider.Unknown(failed.Decline)
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
	o, _, failed := a.findRefund(ctx, id, q)
	if failed != nil {
		return *failed
	}
	return o
}

// findRefund searches all refunds of a payment for our reference. If none has it, the
// result is Missing, or Unknown if one without a name may be it or the list may be too old.
func (a *account) findRefund(ctx context.Context, payment string, q provider.RefundRequest) (o pay.Outcome, found bool, failed *pay.Outcome) {
	p, failed := a.payment(ctx, payment)
	switch {
	case failed != nil:
		return o, false, failed
	case p.ID != payment:
		return o, false, provider.Broken()
	case p.Refunds == nil: // the answer has no list
		return provider.Unknown("refunds_not_listed"), false, nil
	}
	for _, f := range *p.Refunds {
		if f.name() == q.Reference {
			return a.refunded(f, payment), true, nil
		}
		if f.name() == "" {
			o = provider.Unknown("refund_unnamed")
		}
	}
	if o.Kind == "" {
		o = provider.NoRefund(q, settles)
	}
	return o, false, nil
}

// reversed adds what went back to the outcome of a paid payment.
func reversed(o pay.Outcome, list []refund) pay.Outcome {
	var back []pay.ProviderRefund
	for _, f := range list {
		kind := pay.Awaiting
		switch f.Status {
		case "SUCCESS":
			kind = pay.Approved
		case "REJECTED", "CANCELLED":
			kind = pay.Declined
		}
		local, _ := provider.Major(f.Amount.String(), f.Currency)
		back = append(back, provider.RefundOf(f.ID, f.name(), kind, local))
	}
	return provider.Reversed(o, back, money.Amount{}, false)
}

// name is our reference of a refund, or "" if dLocal shows none.
func (re refund) name() string {
	for _, name := range []string{re.OrderID, re.Description} {
		if _, _, ours := pay.ParseRefundReference(name); ours {
			return name
		}
	}
	return ""
}

// refund reads a refund by its id. The outcome is Missing if there is none.
func (a *account) refund(ctx context.Context, id string) (refund, *pay.Outcome) {
	reply, failed := a.call(ctx, http.MethodGet, "/refunds/"+url.PathEscape(id), "", nil)
	if failed != nil {
		return refund{}, failed
	}
	var f refund
	switch {
	case reply.Status == http.StatusNotFound && reply.code() == 4001:
		return refund{}, &pay.Outcome{Kind: pay.Missing, Decline: "refund_not_found"}
	case !reply.read(&f) || f.ID != id:
		o := queryFailed(reply)
		return refund{}, &o
	}
	return f, nil
}

// refunded is a refund in our terms (reference: Refund codes).
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
