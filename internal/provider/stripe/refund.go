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

// refund is what we read of a Refund.
type refund struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Status   string            `json:"status"`
	Amount   int64             `json:"amount"`
	Currency string            `json:"currency"`
	Failure  string            `json:"failure_reason"`
	Metadata map[string]string `json:"metadata"`
}

// Refund gives money of a charge back, after a look whether it was given already:
// Stripe does it once for a reference within 24 hours, and then forgets the key.
func (p *Provider) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if !refundable(r.Charge.Rail) {
		return pay.Outcome{Kind: pay.Declined, Decline: "refund_not_supported", Message: "payments made with this method cannot be refunded"}
	}
	of, o := p.payer(ctx, r.Charge)
	if o != nil { // nothing was asked for yet
		if o.Kind == pay.Missing {
			return pay.Outcome{Kind: pay.Declined, Decline: "charge_not_paid", Message: "there is no payment to give back"}
		}
		return pay.Outcome{Kind: pay.Unavailable, Decline: o.Decline}
	}
	if o := p.findRefund(ctx, of, r.Reference); o.Kind != pay.Missing {
		if o.ProviderRef == "" { // the look found out nothing, and nothing was asked for
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

// final reports whether a refund that was refused with a code will be refused
// for ever.
func final(code string) bool {
	switch code {
	case "charge_already_refunded", "charge_disputed", "charge_not_refundable", "refund_disputed_payment", "payment_intent_unexpected_state":
		return true
	}
	return false
}

// QueryRefund asks what became of a refund: under our reference, by the list of
// all refunds of the payment, which tells at once of what was made.
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

// findRefund looks for the refund with our reference among all of a payment:
// Missing where there is none.
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

// payer returns the id of the intent that took the money of a charge, or why
// there is none: Missing where that is proven.
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

// refund is how a Refund stands.
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
		o.Kind, o.Message = pay.Declined, "the money could not be given back to the shopper"
		if o.Decline = word(made.Failure); o.Decline == "" {
			o.Decline = "refund_" + made.Status
		}
	default:
		p.Strange("refund", made.Status)
	}
	return o
}
