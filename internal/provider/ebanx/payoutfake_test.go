package ebanx

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// payoutFake is the part of EBANX that pays out, as documented.
type payoutFake struct {
	payouttest.Frame[*fakePayout]
	says   map[string]any // the answer to a new order, instead of the usual one
	commit map[string]any // the answer to a commit, which then does nothing
	lags   bool           // a committed payout stays OP until its batch
	absent map[string]any // the answer about a missing payout, instead of the one that we expect
	where  string         // where the reason of a cancellation is
}

type fakePayout struct {
	payouttest.Entry
	uid, document string
	committed     bool
	paidBefore    bool
	word          string // its status or the code of its end, if that is not the usual one
}

// endings are the codes of canceled payouts.
var endings = map[payouttest.Behaviour]string{
	payouttest.InvalidAccount: "INCORRECT_CUSTOMER_DATA", payouttest.AccountClosed: "ACCOUNT_DOESNT_EXISTS",
	payouttest.OverLimit: "HIGH_RISK", payouttest.Refused: "DECLINED",
}

// denial is the format of an error (payoutErrorCodes).
func denial(code, message string) map[string]any {
	return map[string]any{"type": "invalid_request_error", "message": message, "status_code": code, "code": code}
}

func (p *fakePayout) status(lags bool) string {
	switch {
	case p.Stage == payouttest.Failed:
		return "CA"
	case p.Stage == payouttest.Done:
		return "PA"
	case p.word != "":
		return p.word
	case p.committed && p.Why == payouttest.Nonsense:
		return "RE"
	case p.committed && !lags:
		return "PE"
	}
	return "OP"
}

// object returns a payout as consultPayout shows it: amounts are strings with two decimals.
func (f *payoutFake) object(p *fakePayout) map[string]any {
	arrives := p.Asked
	if p.Times > 0 {
		arrives = p.Paid
	}
	m := map[string]any{
		"uid": p.uid, "external_reference": p.Reference, "status": p.status(f.lags), "request_date": "2026-11-21 12:00:00", "status_date": "2026-11-21 12:00:00",
		"paid_date": nil, "cancel_date": nil, "request_amount": twoDecimals(p.Asked), "request_currency": p.Asked.Currency, "request_exchange_rate": "1.0000",
		"debit_amount": "25.00", "debit_fee": "2.98", "debit_amount_total": "27.98", "debit_currency": "USD", "local_tax_amount": "0.48",
		"local_amount_total": twoDecimals(arrives), "local_currency": arrives.Currency,
		"payee": map[string]any{
			"name": "Han Solo", "email": "chew@bac.ca", "phone": nil, "document": p.document, "document_type": "CPF", "birthdate": nil, "bank_info": nil,
		},
	}
	if p.Stage == payouttest.Done || p.paidBefore {
		m["paid_date"] = "2026-11-21 12:03:15"
	}
	if p.Stage == payouttest.Failed {
		m["cancel_date"] = "2026-11-21 12:03:15"
		code := p.word
		if code == "" {
			code = endings[p.Why]
		}
		if code != "" && f.where != "answer" {
			m["error"] = map[string]any{"code": code, "message": "Incorrect customer data", "gateway_details": "20-08A: iDato no encontrado!"}
		}
	}
	return m
}

func twoDecimals(a money.Amount) string {
	whole, cents, _ := strings.Cut(a.Decimal(), ".")
	return whole + "." + (cents + "00")[:2]
}

// wrong refuses undocumented requests.
func (f *payoutFake) wrong(format string, args ...any) map[string]any {
	f.Complain(format, args...)
	return denial("HP-ZZ-99", "Not documented")
}

func (f *payoutFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) { return http.StatusOK, f.answer(r, body) })
}

// kinds are the formats of the bodies, by path.
var kinds = map[string]string{
	"/ws/payout/create": "application/json", "/ws/payout/commit": "application/json",
	"/ws/payout/retrieve": "application/x-www-form-urlencoded", "/ws/payout/balance": "application/x-www-form-urlencoded",
}

func (f *payoutFake) answer(r *http.Request, body []byte) map[string]any {
	if kind := kinds[r.URL.Path]; r.Method != http.MethodPost || kind == "" || r.Header.Get("Content-Type") != kind || r.URL.RawQuery != "" {
		return f.wrong("no route %s %s of the type %q", r.Method, r.URL, r.Header.Get("Content-Type"))
	}
	m := map[string]any{}
	if kinds[r.URL.Path] == "application/json" {
		m = providertest.Fields(body)
	} else {
		fields, err := url.ParseQuery(string(body))
		if err != nil {
			return f.wrong("a form %s", body)
		}
		for name := range fields {
			m[name] = fields.Get(name)
		}
	}
	if m["integration_key"] != key {
		return map[string]any{"type": "authentication_error", "message": "Invalid integration key"}
	}
	delete(m, "integration_key")
	switch r.URL.Path {
	case "/ws/payout/create":
		return f.create(m)
	case "/ws/payout/commit":
		return f.confirm(m)
	case "/ws/payout/retrieve":
		return f.retrieve(m)
	}
	if len(m) != 0 {
		return f.wrong("a balance of %v", m)
	}
	return map[string]any{"type": "success", "currency_code": "BRL", "balance": json.Number("490.5")}
}

// documents are the formats of the documents, by country and name (createPayee).
var documents = map[string]*regexp.Regexp{
	"br CPF": regexp.MustCompile(`^\d{11}$`), "br CNPJ": regexp.MustCompile(`^[0-9A-Z]{12}\d{2}$`),
	"mx RFC": regexp.MustCompile(`^[A-ZÑ&]{3,4}\d{6}[A-Z0-9]{3}$`), "mx CURP": regexp.MustCompile(`^[A-Z0-9]{18}$`),
}

// keys are the formats of Pix keys (createPixPayoutBR).
var keys = regexp.MustCompile(`^(\d{11}|\d{14}|\+55\d{10,11}|[0-9a-z]{32}|[^@ ]+@[^@ ]+)$`)

func (f *payoutFake) create(m map[string]any) map[string]any {
	text := func(name string) string { s, _ := m[name].(string); return s }
	payee, _ := m["payee"].(map[string]any)
	bank, _ := payee["bank_info"].(map[string]any)
	number, _ := m["amount"].(json.Number)
	asked, err := money.Parse(number.String(), money.Currency(text("currency_code")))
	names, payees := []string{"amount", "country", "currency_code", "external_reference", "payee"}, []string{"document", "document_type", "email", "name"}
	destination := text("target_account")
	switch text("country") + text("currency_code") {
	case "brBRL":
		names = append(names, "target", "target_account")
		if text("target") != "pix_key" || !keys.MatchString(destination) {
			return f.wrong("the Pix key %q for %q", destination, text("target"))
		}
		if k := destination; len(k) == 32 && !strings.Contains(k, "@") {
			destination = strings.Join([]string{k[:8], k[8:12], k[12:16], k[16:20], k[20:]}, "-")
		}
	case "mxMXN":
		payees = append(payees, "bank_info")
		destination, _ = bank["bank_details"].(string)
		if len(bank) != 1 || !clabe.MatchString(destination) {
			return f.wrong("the account %v", bank)
		}
	default:
		return f.wrong("an order in %q for %q", text("currency_code"), text("country"))
	}
	document, _ := payee["document"].(string)
	form := documents[fmt.Sprint(text("country"), " ", payee["document_type"])]
	reference := text("external_reference")
	switch {
	case !slices.Equal(slices.Sorted(maps.Keys(m)), slices.Sorted(slices.Values(names))), !slices.Equal(slices.Sorted(maps.Keys(payee)), slices.Sorted(slices.Values(payees))),
		payee["name"] == "", payee["email"] == "", form == nil, form != nil && !form.MatchString(document):
		return f.wrong("an order %v", m)
	case err != nil || !asked.IsPositive():
		return f.wrong("an amount %s", number)
	case len(reference) < 6 || len(reference) > 40:
		return f.wrong("a reference %q", reference)
	}
	_, again := f.Of(reference)
	switch {
	case f.says != nil:
		return f.says
	case again:
		return denial("HP-CM-03", "You already have a payout with this external_reference")
	case f.Coming == payouttest.NoFloat:
		return denial("HP-CM-30", "The payout amount exceeds your total")
	case f.Coming == payouttest.Barred:
		return denial("HP-CM-07", "This country is not enabled for your account")
	}
	p := f.Enter(&fakePayout{
		uid: fmt.Sprintf("%041x", len(f.Payouts)+1), document: document,
		Entry: payouttest.Entry{Reference: reference, Destination: destination, Asked: asked},
	})
	return map[string]any{"type": "success", "payout": f.object(p)}
}

func (f *payoutFake) under(uid string) *fakePayout {
	for _, p := range f.Payouts {
		if p.uid == uid {
			return p
		}
	}
	return nil
}

func (f *payoutFake) confirm(m map[string]any) map[string]any {
	uid, _ := m["uid"].(string)
	p := f.under(uid)
	switch {
	case len(m) != 1 || p == nil:
		return f.wrong("a commit of %v", m)
	case f.commit != nil:
		return f.commit
	case f.lags && p.committed:
		return denial("HP-ZZ-50", "Payout is committed already")
	case p.status(f.lags) != "OP": // the answer to that is not documented
		return f.wrong("a commit of %s, which is %s", p.Reference, p.status(f.lags))
	}
	p.committed = true
	f.Begin(p)
	return map[string]any{"type": "success", "message": "You've successfully committed your Payout!"}
}

func (f *payoutFake) retrieve(m map[string]any) map[string]any {
	uid, byUID := m["uid"].(string)
	reference, byReference := m["external_reference"].(string)
	if len(m) != 1 || !byUID && !byReference {
		return f.wrong("a question about %v", m)
	}
	p := f.under(uid)
	if byReference {
		if len(reference) < 6 || len(reference) > 40 {
			return f.wrong("a question about %q", reference)
		}
		p, _ = f.Of(reference)
	}
	if p == nil && f.absent != nil {
		return f.absent
	}
	if p == nil { // the words and the code for that are not documented
		return denial("HP-ZZ-40", "Payout not found")
	}
	all := map[string]any{"type": "success", "payout": f.object(p)}
	if f.where == "answer" && p.Stage == payouttest.Failed {
		all["error"] = map[string]any{"code": endings[p.Why], "message": ""}
	}
	return all
}

func (f *payoutFake) Notify(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	p := f.Must(reference)
	if p.status(f.lags) == "OP" {
		return provider.Notification{}
	}
	return payoutNotice(p.uid)
}

// payoutNotice is a notification in the format of a charge's: the field names of a payout's notification are
// cut off in the documentation.
func payoutNotice(uids string) provider.Notification {
	return notification("operation=payout_status_change&notification_type=update&hash_codes=" + url.QueryEscape(uids))
}

func (f *payoutFake) Forge(reference string) map[string]provider.Notification {
	f.Lock()
	defer f.Unlock()
	good, other := payoutNotice(f.Must(reference).uid), payoutNotice("another")
	other.Body = good.Body
	return map[string]provider.Notification{
		"no signature":                  providertest.Notify("application/x-www-form-urlencoded", good.Body),
		"another body's signature":      other,
		"no Base64":                     providertest.Notify("application/x-www-form-urlencoded", good.Body, "X-SignatureContent", "%%"),
		"early news":                    good,
		"a notification that says paid": notification(string(good.Body) + "&status=PA&external_reference=" + reference),
	}
}

func (f *payoutFake) Other() map[string]provider.Notification {
	return map[string]provider.Notification{
		"a charge":           notification("operation=payment_status_change&notification_type=update&hash_codes=592db57ad6933455efbb62a48d1dfa091dd7cd092109db99"),
		"a stranger's":       payoutNotice("0f28f5b2bf60536d78b2dbf003c13886dd452d926"),
		"several strangers'": payoutNotice("0f28f5b2bf60536d78b2dbf003c13886dd452d926,0f28f5b2bf60536d78b2dbf003c13886dd452d927"),
		"an enrollment":      notification("operation=enrollment"),
		"no form":            notification(`{"trial":true}`),
	}
}
