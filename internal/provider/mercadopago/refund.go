package mercadopago

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// refund is the part of a refund that we read.
type refund struct {
	ID          text        `json:"id"`
	Status      text        `json:"status"`
	Amount      json.Number `json:"amount"`
	DateCreated text        `json:"date_created"`
	Metadata    struct {
		Reference text `json:"reference"`
		Total     text `json:"total"` // of the refund, if several payments give it back
	} `json:"metadata"`
	kept bool // the answer to our call has our reference
}

// final are the causes that are final: no later try can succeed.
var final = []string{
	"2024", "15016", // too old
	"2063", // not possible in the payment's status
	"3024", // no partial refunds
	"4295", "4296",
}

// Refund refunds a money unless it finds that it was refunded before: how long Mercado Pago keeps a key is not documented. What
// several cards paid together goes back to each.
func (a *account) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if !whole(r.Local) {
		return pay.Outcome{Kind: pay.Declined, Decline: "amount_not_whole", Message: "only whole pesos can be refunded"}
	}
	f, lost := a.paidFunds(ctx, r.Charge)
	if lost != nil {
		return *lost
	}
	if len(f) > 1 {
		return a.refundParts(ctx, f, r)
	}
	switch o, found, lost := a.findRefund(ctx, f.ref(), r); {
	case lost != nil: // no refund was requested yet
		return pay.Outcome{Kind: pay.Unavailable, Decline: lost.Decline}
	case found:
		return o
	}
	back, lost := a.makeRefund(ctx, f.ref(), r, r.Local, "refund/"+r.Reference)
	if lost != nil {
		return *lost
	}
	return a.refundOutcome(back, r.Local.Currency)
}

// makeRefund refunds an amount of a payment: all of a refund, or its part.
func (a *account) makeRefund(ctx context.Context, id string, r provider.RefundRequest, part money.Amount, key string) (back refund, lost *pay.Outcome) {
	about := map[string]string{"reference": r.Reference}
	if part != r.Local {
		about["total"] = r.Local.Decimal()
	}
	body := struct {
		Amount   json.Number       `json:"amount"`
		Metadata map[string]string `json:"metadata"`
	}{json.Number(part.Decimal()), about}
	reply, lost := a.call(ctx, http.MethodPost, "/v1/payments/"+id+"/refunds", body, key)
	if lost != nil {
		return back, lost
	}
	if reply.Status != http.StatusOK && reply.Status != http.StatusCreated {
		o := refused(reply)
		for _, code := range causes(reply.Body) {
			if o.Kind == pay.Errored && slices.Contains(final, code) {
				o.Kind, o.Message = pay.Declined, "the payment cannot be refunded"
			}
		}
		return back, o
	}
	if read(reply.Body, &back) != nil {
		return back, provider.Broken()
	}
	back.kept = back.Metadata.Reference == text(r.Reference)
	back.Metadata.Reference, back.Metadata.Total = text(r.Reference), text(about["total"]) // whether the answer has them or not
	return back, nil
}

// paidFunds is the money of a request to give it back: what was paid on a page may have several, and one may be of several payments.
func (a *account) paidFunds(ctx context.Context, r provider.Request) (funds, *pay.Outcome) {
	way, _ := railOf(r.Rail)
	ref := r.MoneyRef
	if !isID(ref) {
		ref = r.ProviderRef
	}
	if isID(ref) && !way.hosted() {
		return funds{{ID: text(ref)}}, nil
	}
	list, lost := a.payments(ctx, r.Reference)
	if lost != nil {
		return nil, lost
	}
	came := sorted(list, r.Local)
	came.apart()
	for _, f := range came.all() {
		if f.ref() == ref || !isID(ref) {
			if !isID(f.ref()) {
				return nil, provider.Broken()
			}
			return f, nil
		}
	}
	if isID(ref) { // the search does not find it, or no longer
		return funds{{ID: text(ref)}}, nil
	}
	return nil, &pay.Outcome{Kind: pay.Errored, Decline: "payment_not_found"}
}

// refundOutcome is the outcome of a refund.
func (a *account) refundOutcome(back refund, currency money.Currency) pay.Outcome {
	o := pay.Outcome{ProviderRef: string(back.ID)}
	if !isID(o.ProviderRef) {
		return *provider.Broken()
	}
	local, ok := provider.Major(back.Amount.String(), string(currency))
	if !ok {
		o.Kind, o.Decline = pay.Unknown, "broken_answer"
		return o
	}
	o.Local = local
	switch o.Kind = refundKinds[back.Status]; o.Kind {
	case pay.Declined:
		o.Decline, o.Message = "refund_rejected", "the refund was refused"
	case "":
		a.Strange("refund", string(back.Status))
		o.Kind, o.Decline = pay.Unknown, unmapped
	}
	return o
}

// QueryRefund reads a refund by its id, or searches those of the payments. One of several payments goes on if it was not finished.
func (a *account) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	f, lost := a.paidFunds(ctx, r.Charge)
	if lost != nil {
		return lost.AsQueried()
	}
	if len(f) > 1 {
		return a.queryParts(ctx, f, r)
	}
	id := f.ref()
	if isID(r.RefundRef) {
		reply, lost := a.call(ctx, http.MethodGet, "/v1/payments/"+id+"/refunds/"+url.PathEscape(r.RefundRef), nil, "")
		var back refund
		switch {
		case lost != nil:
			return lost.AsQueried()
		case reply.Status == http.StatusNotFound:
			return *notFound(reply, noRefund)
		case reply.Status != http.StatusOK:
			return refused(reply).AsQueried()
		case read(reply.Body, &back) != nil || string(back.ID) != r.RefundRef:
			return *provider.Broken()
		}
		return a.refundOutcome(back, r.Local.Currency)
	}
	o, _, lost := a.findRefund(ctx, id, r)
	if lost != nil {
		return lost.AsQueried()
	}
	return o
}

// refundsOf lists all refunds of a payment.
func (a *account) refundsOf(ctx context.Context, id string) ([]refund, *pay.Outcome) {
	reply, lost := a.call(ctx, http.MethodGet, "/v1/payments/"+id+"/refunds", nil, "")
	var list *[]refund
	switch {
	case lost != nil:
		return nil, lost
	case reply.Status != http.StatusOK:
		return nil, refused(reply)
	case read(reply.Body, &list) != nil || list == nil:
		return nil, provider.Broken()
	}
	return *list, nil
}

// findRefund searches all refunds of a payment for our reference. If none has it, the
// result is Missing, or Unknown if one without a reference may be it.
func (a *account) findRefund(ctx context.Context, id string, r provider.RefundRequest) (o pay.Outcome, found bool, lost *pay.Outcome) {
	list, lost := a.refundsOf(ctx, id)
	if lost != nil {
		return o, false, lost
	}
	doubt := false
	for _, back := range list {
		if back.Metadata.Reference == text(r.Reference) {
			return a.refundOutcome(back, r.Local.Currency), true, nil
		}
		local, ok := provider.Major(back.Amount.String(), string(r.Local.Currency))
		doubt = doubt || back.Metadata.Reference == "" && (!ok || local == r.Local)
	}
	if doubt {
		return provider.Unknown("refund_without_reference"), false, nil
	}
	return pay.Outcome{Kind: pay.Missing}, false, nil
}
