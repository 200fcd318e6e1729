package ebanx

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// Accepts implements provider.Accepter.
func (a *account) Accepts(rail string, local money.Amount) bool {
	_, served := methods[rail]
	return served && local.IsPositive()
}

// Charge makes a payment by /ws/direct or on EBANX's page.
func (a *account) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	m, served := methods[r.Rail]
	switch {
	case !served:
		return pay.Outcome{Kind: pay.Errored, Decline: "rail_not_served"}
	case !a.Accepts(r.Rail, r.Local):
		return pay.Outcome{Kind: pay.Errored, Decline: "amount_not_accepted"}
	case provider.Words(r.Buyer.Name, longestName) == "" || r.Buyer.Email == "" || m.code == "pix" && number(r) == "":
		return pay.Outcome{
			Kind: pay.Errored, Decline: "buyer_incomplete", Message: "the shopper's name, e-mail address and, for Pix, document are needed",
		}
	}
	got, failed := a.ask(ctx, r, m)
	if failed != nil {
		return *failed
	}
	if got.Code == "BP-DR-0" && got.Status == "ERROR" {
		// Ours, from a call whose answer was lost.
		if o := a.Query(ctx, r); o.Kind != pay.Missing {
			return o
		}
		return provider.Unknown("duplicate_payment")
	}
	if got.Status == "ERROR" && got.Code == "BP-DR-84" { // of this shopper and amount, some minutes ago
		return provider.Refusal(decline.Duplicate, "")
	}
	if got.Status == "ERROR" {
		return pay.Outcome{Kind: pay.Errored, Decline: strings.ToLower(provider.Exact(got.Code, 20))}
	}
	if got.Payment.Redirect == "" {
		got.Payment.Redirect = got.Redirect
	}
	if !got.good(r.Reference, "") {
		return provider.Unknown("broken_answer")
	}
	return a.outcome(r, got.Payment)
}

// The most characters of what the shop and the shopper are shown.
const (
	longestName  = 100 // of the shopper, of the person responsible, and of an item
	longestOrder = 40
	longestNote  = 200
	longestSKU   = 20
)

// ask makes the call of a charge (references: direct operation, request operation).
func (a *account) ask(ctx context.Context, r provider.Request, m method) (answer, *pay.Outcome) {
	if !m.direct {
		return a.form(ctx, "/ws/request", a.page(r, m))
	}
	document := number(r)
	payment := map[string]any{
		"name": provider.Words(r.Buyer.Name, longestName), "email": r.Buyer.Email, "country": m.country, "payment_type_code": m.code,
		"merchant_payment_code": r.Reference, "currency_code": r.Local.Currency, "amount_total": json.Number(r.Local.Decimal()),
		"note": r.Title(longestNote),
	}
	for field, value := range map[string]string{
		"document": document, "phone_number": r.Phone(), "customer_ip": provider.Exact(r.Buyer.IP, 45), "order_number": provider.Words(r.OrderID, longestOrder),
		"notification_url": a.NotificationURL, "redirect_url": r.BackURL,
	} {
		if value != "" {
			payment[field] = value
		}
	}
	if list := items(r); len(list) > 0 {
		payment["items"] = list
	}
	if m.isCompany(r) {
		payment["person_type"] = "business"
		payment["responsible"] = map[string]any{"name": payment["name"], "document": document}
	}
	return a.post(ctx, "/ws/direct", map[string]any{"operation": "request", "mode": "full", "payment": payment})
}

// page is the call of a charge on EBANX's page, which asks for a document.
func (a *account) page(r provider.Request, m method) url.Values {
	form := url.Values{
		"name": {provider.Words(r.Buyer.Name, longestName)}, "email": {r.Buyer.Email}, "country": {m.country}, "payment_type_code": {m.code},
		"merchant_payment_code": {r.Reference}, "currency_code": {string(r.Local.Currency)}, "amount": {r.Local.Decimal()},
	}
	for field, value := range map[string]string{
		"phone_number": r.Phone(), "order_number": provider.Words(r.OrderID, longestOrder), "notification_url": a.NotificationURL, "redirect_url": r.BackURL,
	} {
		if value != "" {
			form.Set(field, value)
		}
	}
	if m.isCompany(r) {
		form.Set("person_type", "business")
	}
	if most := a.Installments(r.Rail, r.Local, r.Installments).Max(); most > 1 {
		form.Set("instalments", fmt.Sprintf("1-%d", most))
	}
	return form
}

// number is the shopper's document, if it has a length that EBANX takes.
func number(r provider.Request) string {
	_, number := r.Document()
	if utf8.RuneCountInString(number) > 32 {
		return ""
	}
	return number
}

// isCompany reports whether the payer is a company, which EBANX distinguishes in Brazil.
func (m method) isCompany(r provider.Request) bool { return m.country == "br" && r.IsCompany() }

// items are what is bought, for the risk analysis.
func items(r provider.Request) (list []map[string]any) {
	for _, item := range r.Items() {
		one := map[string]any{
			"name": provider.Words(item.Name, longestName), "quantity": item.Quantity, "unit_price": json.Number(item.Unit.Decimal()),
		}
		if sku := provider.Words(item.SKU, longestSKU); sku != "" {
			one["sku"] = sku
		}
		list = append(list, one)
	}
	return list
}

// Query reads a payment, by EBANX's hash if it is known.
func (a *account) Query(ctx context.Context, r provider.Request) pay.Outcome {
	p, failed := a.find(ctx, r)
	if failed != nil {
		return *failed
	}
	return a.outcome(r, p)
}

// find is the payment with our reference, or the outcome of a query that did not find it.
func (a *account) find(ctx context.Context, r provider.Request) (payment, *pay.Outcome) {
	question := map[string]any{"merchant_payment_code": r.Reference}
	if r.ProviderRef != "" {
		question = map[string]any{"hash": r.ProviderRef}
	}
	got, failed := a.post(ctx, "/ws/query", question)
	switch {
	case failed != nil: // it proves nothing, whatever it says
		o := provider.Unknown(failed.Decline)
		return payment{}, &o
	case got.missing() && r.ProviderRef == "":
		return payment{}, &pay.Outcome{Kind: pay.Missing}
	case got.Status == "ERROR": // there is a hash, so EBANX had it once
		o := provider.Unknown(strings.ToLower(provider.Exact(got.Code, 20)))
		return payment{}, &o
	case !got.good(r.Reference, r.ProviderRef):
		o := provider.Unknown("broken_answer")
		return payment{}, &o
	}
	return got.Payment, nil
}

// Cancel ends an open or pending payment.
func (a *account) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	if r.ProviderRef == "" {
		p, failed := a.find(ctx, r)
		if failed != nil {
			return provider.Ended(*failed)
		}
		r.ProviderRef = p.Hash
	}
	got, failed := a.post(ctx, "/ws/cancel", map[string]any{"hash": r.ProviderRef})
	switch {
	case failed != nil:
		return provider.Unknown(failed.Decline)
	case got.Status == "ERROR": // it may have ended already
		return provider.RefusedCancel(a.Query(ctx, r))
	case !got.good(r.Reference, r.ProviderRef):
		return provider.Ended(a.Query(ctx, r))
	}
	return provider.Ended(a.outcome(r, got.Payment))
}

// outcome is a payment in our terms.
func (a *account) outcome(r provider.Request, p payment) pay.Outcome {
	o := pay.Outcome{ProviderRef: p.Hash}
	switch p.Status {
	case "CO":
		local, ok := provider.Major(p.Amount.String(), p.Currency)
		if !ok {
			return provider.Unknown("broken_answer")
		}
		o.Kind, o.Local, o.FormURL, o.MoneyRef, o.Installments = pay.Approved, local, r.PageURL, p.Hash, p.plan(local)
		o = p.reversed(o)
	case "OP", "PE":
		o.Kind = pay.Awaiting
		o.FormURL, o.Data = form(r, p)
		if reason, refused := p.refusal(); refused { // by its page, which is still open
			o.Tries = p.tries(a.Reason(declines, reason), reason)
		}
	case "CA":
		return a.canceled(o, p)
	default:
		a.Strange("payment", p.Status)
		o.Kind, o.Decline = pay.Unknown, "unmapped_status"
	}
	return o
}

// canceled tells a refusal from an expired payment: both are CA.
func (a *account) canceled(o pay.Outcome, p payment) pay.Outcome {
	reason, refused := p.refusal()
	if !refused {
		o.Kind = pay.Lapsed
		return o
	}
	o = a.Declined(declines, reason, o.ProviderRef)
	o.Tries = p.tries(decline.Reason(o.Decline), reason)
	return o
}

// refusal is why the last try to pay was refused; false if there was none, or none was refused.
func (pa payment) refusal() (reason string, refused bool) {
	if reason = pa.Transaction.Reason; reason == "" {
		reason = pa.Transaction.Text
	}
	if pa.Transaction.Code != "NOK" && pa.Transaction.Code != "RETRY" || reason == "CANCELED_BY_MERCHANT" || reason == sandboxVoid {
		return "", false
	}
	word, ours := strings.CutPrefix(reason, sandboxRefusal)
	if !ours {
		return reason, true
	}
	if known := sandboxReasons[word]; known != "" {
		return known, true
	}
	return word, true
}

// tries is the payment's last try. EBANX has no id of it, and shows no other: the same refusal again counts once.
func (pa payment) tries(reason decline.Reason, raw string) []decline.Try {
	return []decline.Try{provider.Try(pa.Hash+"/"+string(reason), 0, reason, raw)} // the zone of status_date is not documented
}

var clabe = regexp.MustCompile(`^[0-9]{18}$`)

// form is where the shopper pays, and the data that our page shows.
func form(r provider.Request, p payment) (string, pay.PaymentData) {
	var d pay.PaymentData
	switch methods[r.Rail].code {
	case "pix":
		d.QRCode = provider.Exact(p.Pix.Code, 1000)
	case "spei":
		if clabe.MatchString(p.CLABE) {
			d = pay.PaymentData{CLABE: p.CLABE, Reference: provider.Exact(p.CLABENote, 100)}
		}
	case "oxxo":
		code := provider.Exact(p.OXXO, 200)
		d = pay.PaymentData{Reference: code, Barcode: code}
	}
	if d != (pay.PaymentData{}) {
		return r.PageURL, d
	}
	for _, address := range []string{p.Redirect, p.SPEIURL, p.OXXOURL} {
		if address = provider.Link(address); address != "" {
			return address, d
		}
	}
	return r.PageURL, d
}

// The sandbox has its own words (ActiveMerchant's recordings; the reasons: EBANX's test cards).
const (
	sandboxVoid    = "Sandbox - Test credit card, transaction cancelled"
	sandboxRefusal = "Sandbox - Test credit card, transaction declined reason "
)

// sandboxReasons are the sandbox's reasons in the words of production.
var sandboxReasons = map[string]string{
	"insufficientFunds": "Insufficient funds", "invalidData": "Incorrect customer data", "cardExpired": "Expired card", "notApproved": "Not accepted",
}

// declines are by the response code of payments without a card (docs.ebanx.com, APM response codes), and by the description of card
// payments (there, card response codes; the older guide of developers.ebanxpagamentos.com explains the same list; both read on 2026-11-28).
// The copies end before the last seven words of cards, which are hard and counted until one is seen: a transaction that was
// executed already, a failed void, a wrong date, an inactive card, a card that was reported, an error of the acquirer, and fraud.
var declines = provider.Declines{
	"ATTEMPTS_EXCEEDED_MPIN_OR_OTP":     decline.TooManyTries,
	"BIN_MISMATCH":                      decline.InvalidData,
	"BROKEN_COMMUNICATION":              decline.ProcessingError,
	"CANCELED_BY_PAYER":                 decline.Canceled,
	"CANNOT_TRANSACTION":                decline.ProcessingError,
	"COMMUNICATION_MISMATCH":            decline.ProcessingError,
	"CUSTOMER_NUMBER_OR_ACCOUNT_CHANGE": decline.AccountUnavailable,
	"INSUFFICIENT_FUNDS_OR_DAILY_LIMIT": decline.InsufficientFunds,
	"Not accepted":                      decline.DoNotHonor,
	"Insufficient funds":                decline.InsufficientFunds,
	"Incorrect customer data":           decline.InvalidData,
	"Expired card":                      decline.ExpiredCard,
	"Security code mismatch":            decline.InvalidCVC,
	"Invalid card or card type":         decline.InvalidNumber,
	"Invalid card number":               decline.InvalidNumber,
	"3-D Secure required":               decline.AuthenticationNeeded,
	"Timeout":                           decline.ProcessingError,
	"No response from acquirer":         decline.ProcessingError,
	"Acquirer response error":           decline.ProcessingError,
	"Broken communication":              decline.ProcessingError,
	"Communication mismatch":            decline.ProcessingError,
}
