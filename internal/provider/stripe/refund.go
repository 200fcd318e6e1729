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
	Created  int64             `json:"created"`
	Amount   int64             `json:"amount"`
	Currency string            `json:"currency"`
	Failure  string            `json:"failure_reason"`
	Failed   ident             `json:"failure_balance_transaction"` // the money is back in the merchant's balance at Stripe
	Metadata map[string]string `json:"metadata"`
	Intent   ident             `json:"payment_intent"` // "" of an older charge, and of money in a cash balance
	Customer ident             `json:"customer"`
}

func (r refund) key() string       { return r.ID }
func (r refund) reference() string { return r.Metadata[referenceKey] }

// kind is a refund's state.
func (r refund) kind() pay.OutcomeKind {
	switch r.Status {
	case "succeeded":
		return pay.Approved
	case "pending", "requires_action": // the shopper may have to name a bank account
		return pay.Awaiting
	case "failed", "canceled":
		return pay.Declined
	}
	return pay.Unknown
}

// reversed adds what went back to the outcome of a paid intent, if its refunds can be read.
func (p *Provider) reversed(ctx context.Context, o pay.Outcome, i intent) pay.Outcome {
	if o.Kind != pay.Approved || !id(i.ID) {
		return o
	}
	var back []pay.ProviderRefund
	f := walk(ctx, p, "/v1/refunds", url.Values{"payment_intent": {i.ID}}, func(r refund) bool {
		local := money.New(r.Amount, o.Local.Currency)
		if !strings.EqualFold(r.Currency, string(o.Local.Currency)) {
			local = money.Amount{}
		}
		back = append(back, provider.RefundOf(r.ID, r.reference(), p.listedKind(ctx, r, i), local))
		return false
	})
	if f != nil {
		return o
	}
	return provider.Reversed(o, back, money.Amount{}, false)
}

// listedKind is the state of a refund in the list of its payment. The money of one that ended in a cash balance has left the merchant.
// If somebody else made such a refund, it counts as made. Otherwise it is unknown here: a query of the refund itself decides.
func (p *Provider) listedKind(ctx context.Context, r refund, of intent) pay.OutcomeKind {
	kind := r.kind()
	if kind != pay.Declined || r.Failed != "" || !of.transfer() {
		return kind
	}
	if there, f := p.unrefunded(ctx, r, of); f == nil && there && r.reference() == "" {
		return pay.Approved
	}
	return pay.Unknown
}

// unrefunded reports whether a refund's money went to the cash balance that had paid, and not to the shopper's bank.
func (p *Provider) unrefunded(ctx context.Context, r refund, of intent) (bool, *failure) {
	moves, f := p.moves(ctx, of.Customer)
	return slices.ContainsFunc(moves, func(m movement) bool { return m.Type == unrefunded && string(m.Refunded.Refund) == r.ID }), f
}

// refundDays is for how many days a bank transfer can be refunded.
const refundDays = 180

// Refund makes a refund unless it finds that it was made before: Stripe forgets the
// idempotency key after 24 hours.
func (p *Provider) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if !p.Refunds(r.Charge.Rail) {
		return pay.Outcome{Kind: pay.Declined, Decline: "refund_not_supported", Message: "payments made with this method cannot be refunded"}
	}
	of, o := p.payer(ctx, r.Charge)
	if o != nil { // no refund was requested yet
		if o.Kind == pay.Missing {
			return pay.Outcome{Kind: pay.Declined, Decline: "charge_not_paid", Message: "there is no payment to refund"}
		}
		return pay.Outcome{Kind: pay.Unavailable, Decline: o.Decline}
	}
	if inBalance(r.Charge) {
		return p.sendBack(ctx, r, of)
	}
	if o := p.findRefund(ctx, of, r.Reference); o.Kind != pay.Missing {
		if o.ProviderRef == "" { // the search failed, and no refund was requested
			o.Kind = pay.Unavailable
		}
		return o
	}
	form := refundForm(r)
	form.Set("payment_intent", of)
	if r.Charge.Rail == "spei.MEX" {
		if r.Charge.Now.Sub(r.Charge.Created) > refundDays*day {
			return pay.Outcome{Kind: pay.Declined, Decline: "refund_too_late", Message: "a bank transfer can be refunded for 180 days"}
		}
		set(form, "instructions_email", r.Charge.Buyer.Email)
	}
	if slices.Contains([]string{"duplicate", "fraudulent", "requested_by_customer"}, r.Reason) {
		form.Set("reason", r.Reason)
	}
	return p.makeRefund(ctx, r, form)
}

func refundForm(r provider.RefundRequest) url.Values {
	return url.Values{"amount": {strconv.FormatInt(r.Local.Minor, 10)}, "metadata[" + referenceKey + "]": {r.Reference}}
}

func (p *Provider) makeRefund(ctx context.Context, r provider.RefundRequest, form url.Values) pay.Outcome {
	var made refund
	f := p.post(ctx, "/v1/refunds", form, r.Reference, &made)
	switch {
	case f == nil:
		return p.refunded(ctx, made)
	case f.outcome.Kind == pay.Errored && final(f.outcome.Decline):
		return pay.Outcome{Kind: pay.Declined, Decline: f.outcome.Decline, Message: "the payment cannot be refunded any more"}
	}
	return f.outcome
}

// inBalance reports whether the money to give back is not a payment's, but lies in the shopper's cash balance.
func inBalance(r provider.Request) bool {
	return r.MoneyRef != "" && !strings.HasPrefix(r.MoneyRef, "pi_")
}

// sendBack gives money in a cash balance back to its shopper, unless it finds that this was done before. of is the payment that the
// money is about.
func (p *Provider) sendBack(ctx context.Context, r provider.RefundRequest, of string) pay.Outcome {
	customer, f := p.customerOf(ctx, of)
	if f != nil {
		return pay.Outcome{Kind: pay.Unavailable, Decline: f.outcome.Decline}
	}
	if o := p.findReturn(ctx, customer, r); o.Kind != pay.Missing {
		if o.ProviderRef == "" {
			o.Kind = pay.Unavailable
		}
		return o
	}
	c, f := p.purse(ctx, customer)
	if f != nil {
		return pay.Outcome{Kind: pay.Unavailable, Decline: f.outcome.Decline}
	}
	there := slices.ContainsFunc(c.lots(p.strangeMove), func(l lot) bool { return l.id == r.Charge.MoneyRef && l.left >= r.Local.Minor })
	if !there {
		return pay.Outcome{Kind: pay.Declined, Decline: "left_cash_balance", Message: "the money is no longer in the shopper's balance at the provider"}
	}
	form := refundForm(r)
	form.Set("origin", "customer_balance")
	form.Set("customer", string(customer))
	form.Set("currency", strings.ToLower(string(r.Local.Currency)))
	form.Set("metadata["+moneyKey+"]", r.Charge.MoneyRef)
	set(form, "instructions_email", r.Charge.Buyer.Email)
	return p.makeRefund(ctx, r, form)
}

// customerOf reads whose cash balance a payment takes from.
func (p *Provider) customerOf(ctx context.Context, of string) (ident, *failure) {
	var i intent
	f := p.get(ctx, "/v1/payment_intents/"+url.PathEscape(of), nil, &i)
	if f == nil && !i.transfer() {
		f = &failure{outcome: provider.Unknown("broken_answer")}
	}
	return i.Customer, f
}

// findReturn looks for our refund of money in a cash balance among all refunds from its first request to its last, which may be much
// later: Missing if there is none.
func (p *Provider) findReturn(ctx context.Context, customer ident, r provider.RefundRequest) pay.Outcome {
	made, o := find[refund](ctx, p, "/v1/refunds", r.Reference, p.between(r.Charge.Now, r.Sent, r.Last))
	switch {
	case o != nil:
		return *o
	case made.Customer != customer:
		return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	return p.refund(made)
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
			return f.queryFailed()
		}
		return p.refunded(ctx, made)
	}
	of, o := p.payer(ctx, r.Charge)
	if o != nil {
		return *o
	}
	if !inBalance(r.Charge) {
		return p.findRefund(ctx, of, r.Reference)
	}
	customer, f := p.customerOf(ctx, of)
	if f != nil {
		return f.queryFailed()
	}
	return p.findReturn(ctx, customer, r)
}

// findRefund looks for the refund with our reference among all of a payment: Missing if
// there is none.
func (p *Provider) findRefund(ctx context.Context, of, reference string) pay.Outcome {
	var found *refund
	f := walk(ctx, p, "/v1/refunds", url.Values{"payment_intent": {of}}, func(made refund) bool {
		if made.reference() == reference {
			found = &made
		}
		return found != nil
	})
	switch {
	case f != nil:
		return f.queryFailed()
	case found == nil:
		return pay.Outcome{Kind: pay.Missing}
	}
	return p.refunded(ctx, *found)
}

// payer returns the id of the intent that was paid for a charge, or why there is none:
// Missing if that is proven.
func (p *Provider) payer(ctx context.Context, r provider.Request) (of string, o *pay.Outcome) {
	_, hosted := method(r.Rail)
	if strings.HasPrefix(r.ProviderRef, "pi_") {
		return r.ProviderRef, nil
	}
	if !hosted {
		i, o := find[intent](ctx, p, "/v1/payment_intents", r.Reference, p.since(r))
		return i.ID, o
	}
	if r.ProviderRef == "" {
		s, o := find[session](ctx, p, "/v1/checkout/sessions", r.Reference, p.since(r))
		if o != nil {
			return "", o
		}
		r.ProviderRef = s.ID
	}
	s, f := p.loadSession(ctx, r.ProviderRef)
	if f != nil {
		asked := f.queryFailed()
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

// refunded is the outcome of a refund, wherever its money is.
//
// A canceled or failed refund of a bank transfer may have left the merchant all the same. If the shopper names no bank account in 45
// days, its money goes to the shopper's cash balance, and neither of the two has it (docs.stripe.com/payments/customer-balance/refunding,
// read on 2026-11-28; the same page also says that such a refund fails, and has to be made outside of Stripe). So it is declined only if
// it names the transaction that gave the money back to the merchant. Otherwise the outcome is that 0 was refunded: the refund is still
// owed, and the operator sees to it.
func (p *Provider) refunded(ctx context.Context, made refund) pay.Outcome {
	o := p.refund(made)
	if o.Kind != pay.Declined || made.Failed != "" || made.Intent == "" {
		return o
	}
	var of intent
	if f := p.get(ctx, "/v1/payment_intents/"+url.PathEscape(string(made.Intent)), nil, &of); f != nil {
		return pay.Outcome{Kind: pay.Unknown, Decline: f.outcome.Decline, ProviderRef: made.ID}
	}
	if of.transfer() {
		o = pay.Outcome{Kind: pay.Approved, ProviderRef: made.ID, Local: money.New(0, money.MXN)}
	}
	return o
}

// refund is the outcome of a Refund.
func (p *Provider) refund(made refund) pay.Outcome {
	if made.Object != "refund" || !id(made.ID) {
		return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	o := pay.Outcome{Kind: made.kind(), ProviderRef: made.ID}
	if currency, err := money.ParseCurrency(strings.ToUpper(made.Currency)); err == nil && made.Amount > 0 {
		o.Local = money.New(made.Amount, currency)
	}
	switch o.Kind {
	case pay.Declined:
		o.Message = "the shopper could not be refunded"
		if o.Decline = word(made.Failure); o.Decline == "" {
			o.Decline = "refund_" + made.Status
		}
	case pay.Unknown:
		p.Strange("refund", made.Status)
	}
	return o
}
