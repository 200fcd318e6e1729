package stripe

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// refund is the part of a Refund that we read.
type refund struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Status   string            `json:"status"`
	Amount   int64             `json:"amount"`
	Currency string            `json:"currency"`
	Failure  string            `json:"failure_reason"`
	Metadata map[string]string `json:"metadata"`
	Intent   string            `json:"payment_intent"` // its id; "" of an older charge
}

// reversed adds what went back to the outcome of a paid intent, if its refunds can be read.
func (p *Provider) reversed(ctx context.Context, o pay.Outcome, of string) pay.Outcome {
	var list page[refund]
	if o.Kind != pay.Approved || !id(of) || p.get(ctx, "/v1/refunds", url.Values{"payment_intent": {of}, "limit": {"100"}}, &list) != nil || !list.whole() {
		return o
	}
	var back []pay.ProviderRefund
	for _, r := range list.Data {
		kind := pay.Awaiting
		switch r.Status {
		case "succeeded":
			kind = pay.Approved
		case "failed", "canceled":
			kind = pay.Declined
		}
		local := money.New(r.Amount, o.Local.Currency)
		if !strings.EqualFold(r.Currency, string(o.Local.Currency)) {
			local = money.Amount{}
		}
		back = append(back, provider.RefundOf(r.ID, r.Metadata[referenceKey], kind, local))
	}
	return provider.Reversed(o, back, money.Amount{}, false)
}

// Refund makes a refund unless it finds that it was made before: Stripe forgets the
// idempotency key after 24 hours.
func (p *Provider) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if !refundable(r.Charge.Rail) {
		return pay.Outcome{Kind: pay.Declined, Decline: "refund_not_supported", Message: "payments made with this method cannot be refunded"}
	}
	of, o := p.payer(ctx, r.Charge)
	if o != nil { // no refund was requested yet
		if o.Kind == pay.Missing {
			return pay.Outcome{Kind: pay.Declined, Decline: "charge_not_paid", Message: "there is no payment to refund"}
		}
		return pay.Outcome{Kind: pay.Unavailable, Decline: o.Decline}
	}
	if o := p.findRefund(ctx, of, r.Reference); o.Kind != pay.Missing {
		if o.ProviderRef == "" { // the search failed, and no refund was requested
			o.Kind = pay.Unavailable
		}
		return o
	}
	form := url.Values{
		"payment_intent":                 {of},
		"amount":                         {strconv.FormatInt(r.Local.Minor, 10)},
		"metadata[" + referenceKey + "]": {r.Reference},
	}
	if slices.Contains([]string{"duplicate", "fraudulent", "requested_by_customer"}, r.Reason) {
		form.Set("reason", r.Reason)
	}
	var made refund
	f := p.post(ctx, "/v1/refunds", form, r.Reference, &made)
	switch {
	case f == nil:
		return p.refund(made)
	case f.outcome.Kind == pay.Errored && final(f.outcome.Decline):
		return pay.Outcome{Kind: pay.Declined, Decline: f.outcome.Decline, Message: "the payment cannot be refunded any more"}
	}
	return f.outcome
}

// final reports whether a refusal of a refund with this code is final.
func final(code string) bool {
	switch code {
	case "charge_already_refunded", "charge_disputed", "charge_not_refundable", "refund_disputed_payment", "payment_intent_unexpected_state":
		return true
	}
	return false
}

// QueryRefund asks for the state of a refund. It looks for our reference in the list of all
// refunds of the payment, which shows new ones at once.
func (p *Provider) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if r.RefundRef != "" {
		var made refund
		if f := p.get(ctx, "/v1/refunds/"+url.PathEscape(r.RefundRef), nil, &made); f != nil {
			return f.asked()
		}
		return p.refund(made)
	}
	of, o := p.payer(ctx, r.Charge)
	if o != nil {
		return *o
	}
	return p.findRefund(ctx, of, r.Reference)
}

// findRefund looks for the refund with our reference among all of a payment: Missing if
// there is none.
func (p *Provider) findRefund(ctx context.Context, of, reference string) pay.Outcome {
	query := url.Values{"payment_intent": {of}, "limit": {"100"}}
	for range maxPages {
		var list page[refund]
		if f := p.get(ctx, "/v1/refunds", query, &list); f != nil {
			return f.asked()
		}
		if !list.whole() {
			break
		}
		for _, made := range list.Data {
			if made.Metadata[referenceKey] == reference {
				return p.refund(made)
			}
		}
		if !list.HasMore {
			return pay.Outcome{Kind: pay.Missing}
		}
		if len(list.Data) == 0 {
			break
		}
		query.Set("starting_after", list.Data[len(list.Data)-1].ID)
	}
	return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
}

// payer returns the id of the intent that was paid for a charge, or why there is none:
// Missing if that is proven.
func (p *Provider) payer(ctx context.Context, r provider.Request) (of string, o *pay.Outcome) {
	_, hosted := method(r.Rail)
	if strings.HasPrefix(r.ProviderRef, "pi_") {
		return r.ProviderRef, nil
	}
	if !hosted {
		i, o := find[intent](ctx, p, "/v1/payment_intents", r)
		return i.ID, o
	}
	if r.ProviderRef == "" {
		s, o := find[session](ctx, p, "/v1/checkout/sessions", r)
		if o != nil {
			return "", o
		}
		r.ProviderRef = s.ID
	}
	s, f := p.loadSession(ctx, r.ProviderRef)
	if f != nil {
		asked := f.asked()
		return "", &asked
	}
	if s.Object != "checkout.session" {
		return "", &pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	if s.Intent.id == "" {
		return "", &pay.Outcome{Kind: pay.Missing}
	}
	return s.Intent.id, nil
}

// refund is the outcome of a Refund.
func (p *Provider) refund(made refund) pay.Outcome {
	if made.Object != "refund" || !id(made.ID) {
		return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	o := pay.Outcome{Kind: pay.Unknown, ProviderRef: made.ID}
	if currency, err := money.ParseCurrency(strings.ToUpper(made.Currency)); err == nil && made.Amount > 0 {
		o.Local = money.New(made.Amount, currency)
	}
	switch made.Status {
	case "succeeded":
		o.Kind = pay.Approved
	case "pending", "requires_action": // the shopper may have to name a bank account
		o.Kind = pay.Awaiting
	case "failed", "canceled":
		o.Kind, o.Message = pay.Declined, "the shopper could not be refunded"
		if o.Decline = word(made.Failure); o.Decline == "" {
			o.Decline = "refund_" + made.Status
		}
	default:
		p.Strange("refund", made.Status)
	}
	return o
}
