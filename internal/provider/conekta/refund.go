package conekta

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// refund is the part of a refund that we read. Its amount is negative.
type refund struct {
	ID      text  `json:"id"`
	Amount  int64 `json:"amount"`
	Created int64 `json:"created_at"`
	Status  text  `json:"status"`
}

// refunds are an order's refunds; all reports whether the list is complete.
func (o order) refunds() (list []refund, all bool) {
	all = o.Charges == nil || !o.Charges.HasMore
	for _, c := range o.charges() {
		if c.Refunds != nil {
			list, all = append(list, c.Refunds.Data...), all && !c.Refunds.HasMore
		}
	}
	return list, all
}

// reversed adds what went back to the outcome of a paid order.
func (o order) reversed(out pay.Outcome) pay.Outcome {
	if o.Status == "charged_back" { // a dispute
		return out
	}
	if len(o.charges()) > 1 { // each money of an order has its own refunds
		at := slices.IndexFunc(o.charges(), func(c charge) bool { return string(c.ID) == out.MoneyRef })
		if at < 0 {
			return out
		}
		first := *o.Charges
		first.Data = o.Charges.Data[at : at+1]
		o.Charges, o.Status = &first, first.Data[0].Status
	}
	list, all := o.refunds()
	var back []pay.ProviderRefund
	for _, r := range list {
		kind := pay.Awaiting
		if r.Status == "" {
			kind = pay.Approved
		}
		back = append(back, provider.RefundOf(string(r.ID), "", kind, money.New(max(r.Amount, -r.Amount), out.Local.Currency)))
	}
	next := provider.Reversed(out, back, money.Amount{}, o.Status == "refunded")
	if o.Status == "partially_refunded" && (!all || next.Back == nil) { // how much is not known
		next.Kind, next.Back = pay.Reversed, nil
	}
	return next
}

// of reports whether a refund is of that amount.
func (r refund) of(amount money.Amount) bool {
	return r.Amount == -amount.Minor || r.Amount == amount.Minor
}

// newest is the last refund of an amount.
func newest(list []refund, amount money.Amount) (refund, bool) {
	var last refund
	found := false
	for _, r := range list {
		if r.of(amount) && r.Created >= last.Created {
			last, found = r, true
		}
	}
	return last, found
}

// refundReason is Conekta's code for a reason of ours.
func refundReason(ours string) string {
	switch {
	case strings.Contains(ours, "customer"), strings.Contains(ours, "client"):
		return "requested_by_client"
	case strings.Contains(ours, "duplicate"):
		return "duplicated_transaction"
	case strings.Contains(ours, "fraud"):
		return "suspected_fraud"
	}
	return "other"
}

// Refund refunds an order. If there is a full refund already, it is the one; for a partial
// refund we rely on the idempotency key.
func (a *account) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	o, lost := a.ask(ctx, r.Charge)
	switch {
	case lost != nil && lost.Kind == pay.Missing:
		return pay.Outcome{Kind: pay.Errored, Decline: "order_not_found"}
	case lost != nil:
		return *lost
	case !o.paid():
		return pay.Outcome{Kind: pay.Errored, Decline: "order_not_paid"}
	}
	if list, _ := o.moneys(); len(list) > 1 && r.Charge.MoneyRef != "" && r.Charge.MoneyRef != list[0].Ref {
		// A refund of an order does not say of which charge.
		return pay.Outcome{Kind: pay.Declined, Decline: "second_charge", Message: "the order was paid twice: give this charge back in Conekta's panel, or by a bank transfer"}
	}
	before, _ := o.refunds()
	if done, found := newest(before, r.Local); found && r.Local == r.Charge.Local {
		return a.refundOutcome(done, r)
	}
	body := struct {
		Amount int64  `json:"amount"`
		Reason string `json:"reason"`
	}{r.Local.Minor, refundReason(r.Reason)}
	path := "/orders/" + url.PathEscape(string(o.ID)) + "/refunds"
	reply, lost := a.call(ctx, http.MethodPost, path, body, "refund-"+r.Reference)
	if lost != nil {
		return *lost
	}
	after, lost := one(reply)
	switch {
	case lost != nil && lost.Kind == pay.Errored && (reply.Status == http.StatusUnprocessableEntity || reply.Status == http.StatusPreconditionRequired):
		return pay.Outcome{Kind: pay.Declined, Decline: lost.Decline, Message: "the payment cannot be refunded"}
	case lost != nil:
		return *lost
	}
	list, _ := after.refunds()
	done, found := newest(list, r.Local)
	if !found || after.ID != o.ID {
		return *provider.Broken()
	}
	return a.refundOutcome(done, r)
}

func (a *account) refundOutcome(done refund, r provider.RefundRequest) pay.Outcome {
	out := pay.Outcome{ProviderRef: string(done.ID), Local: r.Local}
	switch {
	case !isID(out.ProviderRef) || !done.of(r.Local):
		return *provider.Broken()
	case done.Status == "": // older API versions list only completed refunds
		out.Kind = pay.Approved
	case done.Status == "pending":
		out.Kind = pay.Awaiting
	default:
		a.Strange("refund", string(done.Status))
		out.Kind, out.Decline = pay.Unknown, "unknown_status"
	}
	return out
}

// QueryRefund searches the order's refunds.
func (a *account) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	o, lost := a.ask(ctx, r.Charge)
	if lost != nil {
		return lost.Asked()
	}
	list, all := o.refunds()
	for _, done := range list {
		if r.RefundRef != "" && string(done.ID) == r.RefundRef {
			return a.refundOutcome(done, r)
		}
	}
	done, found := newest(list, r.Local)
	switch {
	case (r.RefundRef != "" || !found) && !all:
		return pay.Outcome{Kind: pay.Unknown, Decline: "too_many_refunds"}
	case r.RefundRef != "" || !found:
		return pay.Outcome{Kind: pay.Missing}
	case r.Local == r.Charge.Local:
		return a.refundOutcome(done, r)
	}
	return pay.Outcome{Kind: pay.Unknown, Decline: "refund_without_reference"}
}
