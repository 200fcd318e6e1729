package adyen

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// amount is money in Adyen's form.
type amount struct {
	Value    int64  `json:"value"`
	Currency string `json:"currency"`
}

// scale is how many of Adyen's minor units make one ISO minor unit, for the currencies of
// our rails; 0 for others.
func scale(c money.Currency) int64 {
	switch c {
	case "ARS", "BRL", "COP", "MXN", "PEN", "USD", "UYU":
		return 1
	case "CLP": // two decimals at Adyen
		return 100
	}
	return 0
}

// largest keeps an amount in Adyen's units far from overflow.
const largest = 1e15

// local converts an amount of Adyen's to ours.
func (a amount) local() (money.Amount, bool) {
	currency, err := money.ParseCurrency(a.Currency)
	by := max(scale(currency), 1)
	if err != nil || a.Value <= 0 || a.Value > largest || a.Value%by != 0 {
		return money.Amount{}, false
	}
	return money.New(a.Value/by, currency), true
}

func units(a money.Amount) amount { return amount{a.Minor * scale(a.Currency), string(a.Currency)} }

// payment is the answer of /payments.
type payment struct {
	Ref    string `json:"pspReference"`
	Result string `json:"resultCode"`
	Reason string `json:"refusalReasonCode"`
	Action *struct {
		Type      string `json:"type"`
		Code      string `json:"qrCodeData"`
		Reference string `json:"reference"`
		Barcode   string `json:"alternativeReference"`
	} `json:"action"`
}

// paymentLink is the answer of /paymentLinks.
type paymentLink struct {
	ID        string `json:"id"`
	Reference string `json:"reference"`
	Status    string `json:"status"`
	URL       string `json:"url"`
}

// method is Adyen's name for a rail, and whether the shopper pays on Adyen's page.
func method(rail string) (name string, hosted bool) {
	switch rail {
	case "pix.BRA":
		return "pix", false
	case "cash.oxxo.MEX":
		return "oxxo", false
	}
	return "scheme", true
}

// alpha2 is the two-letter code of a country of our rails, or "".
func alpha2(country string) string {
	switch country {
	case "ARG", "BRA", "COL", "PER", "USA":
		return country[:2]
	case "CHL":
		return "CL"
	case "MEX":
		return "MX"
	case "URY":
		return "UY"
	}
	return ""
}

// Charge creates a payment or a link.
func (p *Provider) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	if !p.Accepts(r.Rail, r.Local) {
		return pay.Outcome{Kind: pay.Errored, Decline: "invalid_amount"}
	}
	name, hosted := method(r.Rail)
	body := p.body(r)
	if hosted {
		body["allowedPaymentMethods"] = []string{name}
		body["expiresAt"] = r.Expires.UTC().Format(time.RFC3339)
		body["reusable"] = false
		body["description"] = r.Title(280)
		if counts := p.Installments(r.Rail, r.Local, r.Installments).InterestFree; len(counts) > 0 {
			body["installmentOptions"] = map[string]any{"card": map[string]any{"values": append([]int{1}, counts...)}}
		}
		var l paymentLink
		if f := p.call(ctx, http.MethodPost, "/paymentLinks", body, r.Reference, &l); f != nil {
			return f.outcome
		}
		return p.link(l, r)
	}
	body["paymentMethod"] = map[string]string{"type": name}
	body["sessionValidity"] = r.Expires.UTC().Format(time.RFC3339)
	body["channel"] = "Web"
	set(body, "shopperIP", r.Buyer.IP, 50) // a link has no such field, and Adyen refuses unknown fields
	var made payment
	if f := p.call(ctx, http.MethodPost, "/payments", body, r.Reference, &made); f != nil {
		return f.outcome
	}
	return p.payment(made, r)
}

// Accepts implements provider.Accepter. A code and a voucher have one currency.
func (p *Provider) Accepts(rail string, local money.Amount) bool {
	switch name, _ := method(rail); {
	case name == "pix" && local.Currency != money.BRL, name == "oxxo" && local.Currency != "MXN":
		return false
	}
	return scale(local.Currency) != 0 && local.IsPositive() && local.Minor <= largest/100
}

// body is the request body for both calls. Nothing in it depends on the time, or on a setting such as the shop's name: a repeated
// call has the same body. The order's reference is in the notifications of what somebody does with the payment at Adyen, whatever
// reference they give that.
func (p *Provider) body(r provider.Request) map[string]any {
	body := map[string]any{
		"merchantAccount": p.merchant, "reference": r.Reference, "merchantOrderReference": r.Reference, "amount": units(r.Local),
		"returnUrl": r.BackURL, "captureDelayHours": 0,
	}
	set(body, "countryCode", alpha2(r.Country), 2)
	body["shopperLocale"] = locales[r.Language()]
	if phone := r.Phone(); strings.HasPrefix(phone, "+") { // Adyen wants the country's code
		body["telephoneNumber"] = phone
	}
	if order := provider.Words(r.OrderID, 80); order != "" {
		body["metadata"] = map[string]string{"order": order}
	}
	if !strings.ContainsAny(r.Buyer.Email, `" `) {
		set(body, "shopperEmail", r.Buyer.Email, 256)
	}
	if _, number := r.Document(); r.Country == "BRA" {
		set(body, "socialSecurityNumber", number, 32)
	}
	if first, last := provider.Names(provider.Words(r.Buyer.Name, 200)); last != "" { // both are required
		body["shopperName"] = map[string]string{"firstName": provider.Words(first, 80), "lastName": provider.Words(last, 80)}
	}
	return body
}

// locales are Adyen's of our languages.
var locales = map[string]string{"es": "es-ES", "pt": "pt-BR", "en": "en-US"}

// set sets an optional field, unless Adyen would refuse the whole request because of it.
func set(body map[string]any, field, value string, most int) {
	if value != "" && len(value) <= most {
		body[field] = value
	}
}

// Query repeats the call, or reads the link. It never returns Missing.
func (p *Provider) Query(ctx context.Context, r provider.Request) pay.Outcome {
	if _, hosted := method(r.Rail); hosted && strings.HasPrefix(r.ProviderRef, "PL") {
		var l paymentLink
		f := p.call(ctx, http.MethodGet, "/paymentLinks/"+url.PathEscape(r.ProviderRef), nil, "", &l)
		switch {
		case f == nil && l.Reference != r.Reference:
			return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
		case f == nil:
			return p.link(l, r)
		}
		return pay.Outcome{Kind: pay.Unknown, Decline: f.outcome.Decline}
	}
	if r.Now.Sub(r.Sent) > keyLife {
		return pay.Outcome{Kind: pay.Unknown, Decline: "too_old_to_ask"}
	}
	if provider.OnlyLooks(ctx) {
		return provider.Unknown("cannot_be_asked")
	}
	return p.Charge(ctx, r).AsQueried()
}

// Cancel expires a link. A Pix code or a voucher cannot be canceled.
func (p *Provider) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	if _, hosted := method(r.Rail); !hosted {
		return pay.Outcome{Kind: pay.Awaiting, Decline: "cannot_be_canceled"}
	}
	if !strings.HasPrefix(r.ProviderRef, "PL") {
		o := p.Query(ctx, r)
		if r.ProviderRef = o.ProviderRef; o.Kind != pay.Awaiting {
			return lapsed(o)
		}
	}
	var l paymentLink
	f := p.call(ctx, http.MethodPatch, "/paymentLinks/"+url.PathEscape(r.ProviderRef), map[string]string{"status": "expired"}, "", &l)
	if f != nil { // also if the link had ended before
		return lapsed(p.Query(ctx, r))
	}
	return lapsed(p.link(l, r))
}

// lapsed turns the state of a link into the result of a cancel.
func lapsed(o pay.Outcome) pay.Outcome {
	if o.Kind == pay.Lapsed {
		return o
	}
	return pay.Outcome{Kind: pay.Unknown, Decline: "cannot_be_canceled", ProviderRef: o.ProviderRef}
}
