package conekta

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

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

// refundWords are the statuses of a refund. Only "pending" is in an example, and older versions of
// the API list refunds without one. The others are the names of the events cash_refund.*.
var refundWords = map[text]pay.OutcomeKind{
	"": pay.Approved, "refunded": pay.Approved, "pending": pay.Awaiting, "created": pay.Awaiting, "canceled": pay.Declined, "expired": pay.Declined,
}

// size is the amount of a refund, without its sign.
func (r refund) size() int64 { return max(r.Amount, -r.Amount) }

// refunds are an order's refunds; all reports whether the list is complete.
func (o order) refunds() (list []refund, all bool) {
	all = o.Charges == nil || !o.Charges.HasMore
	for _, c := range o.charges() {
		if c.Refunds != nil {
			list, all = append(list, c.Refunds.Data...), all && !c.Refunds.HasMore
		}
	}
	made := int64(0)
	for _, r := range list {
		if refundWords[r.Status] == pay.Declined {
			continue
		}
		if made += r.size(); made < 0 { // more than there can be
			return list, false
		}
	}
	return list, all && made >= o.Refunded
}

// alone is an order as if it had only the charge with an id, or none. Which part of its total is the
// charge's is not known.
func (o order) alone(id string) order {
	if o.Charges == nil {
		return o
	}
	list := *o.Charges
	list.Data = nil
	o.Status, o.Refunded = "", 0
	if at := slices.IndexFunc(o.charges(), func(c charge) bool { return string(c.ID) == id }); at >= 0 {
		list.Data = o.Charges.Data[at : at+1]
		o.Status = list.Data[0].Status
	}
	o.Charges = &list
	return o
}

// reversed adds what went back to the outcome of a paid order.
func (o order) reversed(out pay.Outcome) pay.Outcome {
	if o.Status == chargedBack { // a dispute
		return out
	}
	total := money.New(max(0, o.Refunded), out.Local.Currency)
	if len(o.paidCharges()) > 1 { // each money of an order has its own refunds
		if o = o.alone(out.MoneyRef); len(o.charges()) == 0 {
			return out
		}
		total.Minor = 0
	}
	if len(o.chargebacks()) > 0 { // whether the total counts them is not documented
		total.Minor, o.Refunded = 0, 0
	}
	list, all := o.refunds()
	var back []pay.ProviderRefund
	for _, r := range list {
		kind, known := refundWords[r.Status]
		if !known {
			kind = pay.Awaiting
		}
		back = append(back, provider.RefundOf(string(r.ID), "", kind, money.New(r.size(), out.Local.Currency)))
	}
	gone := []text{"refunded", storeReversed}
	whole, part := slices.Contains(gone, o.Status), o.Status == partlyBack
	if paid := o.paidCharges(); len(paid) == 1 {
		whole, part = whole || slices.Contains(gone, paid[0].Status), part || paid[0].Status == partlyBack
	}
	next := provider.Reversed(out, back, total, whole)
	if part && !whole && (!all && total.Minor == 0 || next.Back == nil) { // how much is not known
		next.Kind, next.Back = pay.Reversed, nil
	}
	return next
}

// of reports whether a refund is of that amount.
func (r refund) of(amount money.Amount) bool { return r.size() == amount.Minor }

// candidates are the refunds that may be ours, which have no name of ours: those of its amount that
// were not made before ours was first requested. certain: the last one is ours, because there can be
// only one of a charge's whole amount.
func (o order) candidates(r provider.RefundRequest, since time.Time) (list []refund, certain bool) {
	own := o
	if paid, _ := o.moneys(); len(paid) > 1 { // each has its own refunds
		own = o.alone(cmp.Or(r.Charge.MoneyRef, paid[0].Ref))
	}
	late := func(one refund) bool { return one.Created >= since.Unix() }
	if r.Local == r.Charge.Local {
		all, _ := own.refunds()
		for _, one := range all {
			if one.of(r.Local) && (refundWords[one.Status] != pay.Declined || late(one)) {
				list = append(list, one)
			}
		}
		if len(list) > 0 {
			return list, true
		}
	}
	all, _ := o.refunds() // a refund of an order does not say of which charge
	for _, one := range all {
		if one.of(r.Local) && late(one) {
			list = append(list, one)
		}
	}
	return list, false
}

// earlier is the outcome of a refund that may have been made already, nil if there is no sign of it.
func (a *account) earlier(o order, r provider.RefundRequest, since time.Time) *pay.Outcome {
	list, certain := o.candidates(r, since)
	switch {
	case len(list) == 0:
		return nil
	case !certain:
		out := provider.Unknown(nameless)
		return &out
	}
	out := a.refundOutcome(list[len(list)-1], r)
	return &out
}

// slack is how far clocks may differ that are compared.
const slack = time.Minute

// since is the time of Conekta's at which a refund was first requested at the earliest. before is our
// time when we asked for the order.
func (a *account) since(o order, r provider.RefundRequest, before time.Time) time.Time {
	if r.Sent.IsZero() {
		return time.Time{}
	}
	sent := before.Add(-max(0, r.Charge.Now.Sub(r.Sent)))
	if o.answered.IsZero() {
		return sent.Add(-lead)
	}
	return sent.Add(o.answered.Sub(a.Now())).Add(-slack)
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

const (
	tooManyRefunds = "too_many_refunds"
	nameless       = "refund_without_reference"
)

// Refund refunds an order, unless there is a refund that may be this one. Refunds of an order are made
// one at a time, so that each sees those before it.
func (a *account) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	done, err := a.turns.Lock(ctx, r.Charge.Reference)
	if err != nil {
		return pay.Outcome{Kind: pay.Unavailable, Decline: "no_turn"}
	}
	defer done()
	before := a.Now()
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
	old, all := o.refunds()
	if !all {
		return provider.Unknown(tooManyRefunds)
	}
	if found := a.earlier(o, r, a.since(o, r, before)); found != nil {
		return *found
	}
	return a.giveBack(ctx, o, old, r)
}

// giveBack makes a refund of an order, whose refunds so far are old.
func (a *account) giveBack(ctx context.Context, o order, old []refund, r provider.RefundRequest) pay.Outcome {
	body := struct {
		Amount int64  `json:"amount"`
		Reason string `json:"reason"`
	}{r.Local.Minor, refundReason(r.Reason)}
	reply, lost := a.call(ctx, http.MethodPost, "/orders/"+url.PathEscape(string(o.ID))+"/refunds", body)
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
	fresh := slices.DeleteFunc(list, func(one refund) bool {
		return !one.of(r.Local) || slices.ContainsFunc(old, func(before refund) bool { return before.ID == one.ID })
	})
	if len(fresh) != 1 || after.ID != o.ID { // none, or somebody made an equal one meanwhile
		return *provider.Broken()
	}
	return a.refundOutcome(fresh[0], r)
}

func (a *account) refundOutcome(done refund, r provider.RefundRequest) pay.Outcome {
	out := pay.Outcome{ProviderRef: string(done.ID), Local: r.Local}
	if !isID(out.ProviderRef) || !done.of(r.Local) {
		return *provider.Broken()
	}
	kind, known := refundWords[done.Status]
	switch {
	case !known:
		a.Strange("refund", string(done.Status))
		out.Kind, out.Decline = pay.Unknown, "unknown_status"
		return out
	case kind == pay.Declined:
		out.Decline, out.Message = string(done.Status), "the refund was not made: it was canceled, or nobody collected it"
	}
	out.Kind = kind
	return out
}

// QueryRefund searches the order's refunds.
func (a *account) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	before := a.Now()
	o, lost := a.ask(ctx, r.Charge)
	if lost != nil {
		return lost.AsQueried()
	}
	list, all := o.refunds()
	if r.RefundRef != "" {
		if at := slices.IndexFunc(list, func(one refund) bool { return string(one.ID) == r.RefundRef }); at >= 0 {
			return a.refundOutcome(list[at], r)
		}
		return provider.Unknown("refund_gone") // it was there
	}
	if found := a.earlier(o, r, a.since(o, r, before)); found != nil {
		return *found
	}
	if !all {
		return provider.Unknown(tooManyRefunds)
	}
	return provider.NoRefund(r, settles)
}
