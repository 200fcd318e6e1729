package stripe

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

const day = 24 * time.Hour

// Charge creates a PaymentIntent or a Checkout Session.
func (p *Provider) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	if lack := lacks(r); lack != "" {
		return pay.Outcome{Kind: pay.Errored, Decline: lack}
	}
	name, hosted := method(r.Rail)
	if hosted {
		var s session
		if f := p.post(ctx, "/v1/checkout/sessions", p.sessionForm(r, name), r.Reference, &s); f != nil {
			return p.unmade(ctx, r, f)
		}
		return p.session(s, r)
	}
	form := p.intentForm(r, name)
	if name == "customer_balance" {
		payer, o := p.customer(ctx, r)
		if o != nil {
			return *o
		}
		form.Set("customer", payer)
	}
	var i intent
	if f := p.post(ctx, "/v1/payment_intents", form, r.Reference, &i); f != nil {
		return p.unmade(ctx, r, f)
	}
	return p.intent(i, r)
}

// unmade is the outcome of a call that created no charge. Stripe refuses a key that was used before
// with another body, as a repeated call may have: its deadline moves with the clock. Then the charge
// that the first call made is the outcome.
func (p *Provider) unmade(ctx context.Context, r provider.Request, f *failure) pay.Outcome {
	if f.kind != "idempotency_error" {
		return f.outcome
	}
	r.ProviderRef = ""
	if o := p.Query(ctx, r); o.Kind != pay.Missing {
		return o
	}
	return f.outcome
}

// lacks names the missing data without which Stripe refuses a charge, or "".
func lacks(r provider.Request) string {
	switch {
	case refusal(r.Local) != "":
		return refusal(r.Local)
	case r.Rail == "cash.oxxo.MEX" && !twoNames(provider.Words(r.Buyer.Name, 200)):
		return "buyer_name_missing"
	case (r.Rail == "cash.oxxo.MEX" || r.Rail == "spei.MEX") && email(r) == "": // of SPEI: without it nothing can be refunded
		return "buyer_email_missing"
	}
	return ""
}

// twoNames reports whether a name has at least two parts, as OXXO requires (docs.stripe.com/payments/oxxo: first and last name;
// stripe/stripe-android, pull request 2431 of 2020-04-27: a name of two parts).
func twoNames(name string) bool {
	_, last := provider.Names(name)
	return last != ""
}

// Accepts implements provider.Accepter.
func (p *Provider) Accepts(_ string, local money.Amount) bool { return refusal(local) == "" }

// largest is Stripe's limit, in minor units: an amount has at most eight digits.
const largest = 99_999_999

// refusal is why an amount is refused, or "".
func refusal(local money.Amount) string {
	switch {
	case !minorUnits(local.Currency):
		return "currency_not_supported"
	case !local.IsPositive():
		return "invalid_amount"
	case local.Minor > largest:
		return "amount_too_large"
	}
	return ""
}

// minorUnits reports whether Stripe's smallest unit of a currency is the ISO minor unit,
// for the currencies of our rails. It is not so for all currencies: at Stripe, ISK and UGX
// have two decimals that ISO does not give them, MGA has none, and amounts in a currency
// with three decimals must end in zero.
func minorUnits(c money.Currency) bool {
	switch c {
	case "ARS", "BOB", "BRL", "CLP", "COP", "CRC", "DOP", "GTQ", "HNL", "MXN", "PAB", "PEN", "PYG", "USD", "UYU":
		return true
	}
	return false
}

// intentForm creates a PaymentIntent and confirms it at once.
func (p *Provider) intentForm(r provider.Request, name string) url.Values {
	form := url.Values{
		"amount":                         {strconv.FormatInt(r.Local.Minor, 10)},
		"currency":                       {strings.ToLower(string(r.Local.Currency))},
		"confirm":                        {"true"},
		"return_url":                     {r.BackURL},
		"allowed_payment_method_types[]": {name},
		"payment_method_data[type]":      {name},
		"metadata[" + referenceKey + "]": {r.Reference},
		"description":                    {r.Title(200)},
	}
	set(form, "payment_method_data[billing_details][name]", provider.Words(r.Buyer.Name, 200))
	set(form, "payment_method_data[billing_details][email]", r.Buyer.Email)
	switch name {
	case "pix":
		set(form, "payment_method_data[billing_details][tax_id]", r.Buyer.Document)
		form.Set("payment_method_options[pix][expires_at]", p.deadline(r, time.Minute, 14*day-time.Minute))
	case "oxxo":
		form.Set("payment_method_options[oxxo][expires_after_days]", days(r, 7))
	case "customer_balance":
		form.Set("payment_method_options[customer_balance][funding_type]", "bank_transfer")
		form.Set("payment_method_options[customer_balance][bank_transfer][type]", "mx_bank_transfer")
	}
	return form
}

// sessionForm creates a hosted page for one payment. Without adaptive pricing: it would let
// the shopper pay in another currency than agreed.
func (p *Provider) sessionForm(r provider.Request, name string) url.Values {
	form := url.Values{
		"mode":                                          {"payment"},
		"client_reference_id":                           {r.Reference},
		"allowed_payment_method_types[]":                {name},
		"line_items[0][quantity]":                       {"1"},
		"line_items[0][price_data][currency]":           {strings.ToLower(string(r.Local.Currency))},
		"line_items[0][price_data][unit_amount]":        {strconv.FormatInt(r.Local.Minor, 10)},
		"line_items[0][price_data][product_data][name]": {r.Title(200)},
		"locale":                         {r.Language()},
		"success_url":                    {r.BackURL},
		"cancel_url":                     {r.BackURL},
		"expires_at":                     {p.deadline(r, 31*time.Minute, day-time.Minute)},
		"adaptive_pricing[enabled]":      {"false"},
		"metadata[" + referenceKey + "]": {r.Reference},
		"payment_intent_data[metadata][" + referenceKey + "]": {r.Reference},
		"payment_intent_data[metadata][" + hostedKey + "]":    {"checkout"},
		"expand[]": {"payment_intent"},
	}
	set(form, "customer_email", r.Buyer.Email)
	if p.Installments(r.Rail, r.Local, r.Installments).Max() > 1 {
		form.Set("payment_method_options[card][installments][enabled]", "true")
	}
	if name == "boleto" {
		form.Set("payment_method_options[boleto][expires_after_days]", days(r, 60))
	}
	return form
}

// deadline is when the shopper's time ends, as near as Stripe allows. It is the only part
// of a charge that may differ when the call is repeated.
func (p *Provider) deadline(r provider.Request, soonest, latest time.Duration) string {
	at, now := r.Expires, p.Now()
	if first := now.Add(soonest); at.Before(first) {
		at = first
	}
	if last := now.Add(latest); at.After(last) {
		at = last
	}
	return strconv.FormatInt(at.Unix(), 10)
}

// days is how many calendar days a voucher is valid: at least as long as the shopper was
// promised.
func days(r provider.Request, most int64) string {
	window := r.Expires.Sub(r.Created)
	return strconv.FormatInt(min(max(int64((window+day-1)/day), 1), most), 10)
}

// set adds a field unless its value is empty.
func set(form url.Values, field, value string) {
	if value != "" {
		form.Set(field, value)
	}
}
