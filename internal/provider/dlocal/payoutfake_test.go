package dlocal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

var payoutCredentials = map[string]string{"clientId": "c1i3nt", "clientSecret": "s3cr3t-0f-0auth", "purpose": "DIGITAL_GOODS"}

// tokenLife is the lifetime of a token (reference: Security, Payouts v3).
const tokenLife = 180 * time.Second

// payoutFake is Payouts v3, as documented: of the sandbox, which pays only what it is told to pay.
type payoutFake struct {
	payouttest.Frame[*fakePayout]
	clock  func() time.Time // nil: its clock stands still
	issued map[string]time.Time
	grants int    // requested tokens
	says   string // the body of the answer that refuses new payouts
	status int    // of that answer; 0 means 400
	fine   string // a more detailed code of a rejection
	last   []byte // the last order
}

type fakePayout struct {
	payouttest.Entry
	order fakeOrder
	word  string // its status, if it is not the usual one
}

func (p *fakePayout) id() string { return "PO-4-" + p.Reference }

// fakeOrder has all fields that an order may have (reference: Submit a payout, v3, and the countries').
type fakeOrder struct {
	ExternalID      string      `json:"external_id"`
	MethodID        string      `json:"payment_method_id"`
	Flow            string      `json:"flow_type"`
	Country         string      `json:"country"`
	Currency        string      `json:"currency"`
	Amount          json.Number `json:"amount"`
	Purpose         string      `json:"purpose"`
	NotificationURL string      `json:"notification_url"`
	Description     string      `json:"description"`
	Beneficiary     struct {
		First    string `json:"first_name"`
		Last     string `json:"last_name"`
		Business string `json:"business_name"`
		Document *struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		} `json:"document"`
		Bank *struct {
			Code    string `json:"code"`
			Branch  string `json:"branch"`
			Type    string `json:"type"`
			Account string `json:"account"`
		} `json:"bank_account"`
		Instant *struct {
			ID string `json:"id"`
		} `json:"instant_payment"`
	} `json:"beneficiary"`
}

// page is what a country's page requires: patterns of fields, "" for a field that is not sent.
type page struct {
	currency, amount            string
	account, code, branch, kind string
	persons, companies          string // "type id" of documents
}

const (
	cents = `\d+(\.\d{1,2})?`
	kinds = `CHECKING|SAVINGS`
)

var countries = map[string]page{
	"BR": {currency: "BRL", amount: cents, account: `\d{11}|\d{14}`, persons: ` \d{11}`, companies: ` \d{14}`},
	"MX": {currency: "MXN", amount: cents, account: `\d{18}`, code: `\d{3}`, persons: `RFC [A-Z0-9]{13}|CURP [A-Z0-9]{18}`, companies: `RFC [A-Z0-9]{12}`},
	"AR": {currency: "ARS", amount: cents, account: `\d{22}`, kind: kinds, persons: ` 2\d{10}`, companies: ` 3\d{10}`},
	"CL": {currency: "CLP", amount: `\d+`, account: `\d{5,18}`, code: `\d{1,3}`, kind: kinds, persons: `RUT [1-4]?\d{7}[0-9K]`, companies: `RUT [5-9]\d{7}[0-9K]`},
	"UY": {currency: "UYU", amount: cents, account: `\d{5,14}`, code: `\d{1,3}`, branch: `\d{1,4}`, kind: kinds, persons: `CI \d{6,8}`, companies: `RUT \d{12}`},
}

func fits(form, text string) bool { return regexp.MustCompile(`^(` + form + `)$`).MatchString(text) }

// wrong returns what is undocumented in an order; "" if nothing is.
func (q *fakeOrder) wrong() string {
	c, b := countries[q.Country], q.Beneficiary
	to, code, branch, kind := "", "", "", ""
	switch {
	case b.Bank != nil && b.Instant == nil && q.MethodID == "BANK_TRANSFER" && q.Country != "BR":
		to, code, branch, kind = b.Bank.Account, b.Bank.Code, b.Bank.Branch, b.Bank.Type
	case b.Instant != nil && b.Bank == nil && q.MethodID == "INSTANT_PAYMENT" && q.Country == "BR":
		to = b.Instant.ID
	default:
		return "payment_method_id"
	}
	documents, names := c.persons, b.First != "" && b.Last != "" && b.Business == ""
	if q.Flow == "B2B" {
		documents, names = c.companies, b.Business != "" && (q.Country == "UY") == (b.First != "" && b.Last != "")
	}
	for field, right := range map[string]bool{
		"external_id": q.ExternalID != "" && len(q.ExternalID) <= 100, "flow_type": q.Flow == "B2C" || q.Flow == "B2B",
		"currency": q.Currency == c.currency, "amount": fits(c.amount, q.Amount.String()) && fits(`.*[1-9].*`, q.Amount.String()),
		"purpose": q.Purpose == payoutCredentials["purpose"], "notification_url": providertest.IsNotifications(q.NotificationURL),
		"beneficiary": names, "beneficiary.document.id": b.Document != nil && fits(documents, b.Document.Type+" "+b.Document.ID),
		"description": q.Description == "DELIVERED:PAID",
		"account":     fits(c.account, to), "code": fits(c.code, code), "branch": fits(c.branch, branch), "type": fits(c.kind, kind),
	} {
		if !right {
			return field
		}
	}
	if q.Country == "MX" && code != to[:3] {
		return "code"
	}
	return ""
}

func (q *fakeOrder) to() string {
	if q.Beneficiary.Instant != nil {
		return q.Beneficiary.Instant.ID
	}
	return q.Beneficiary.Bank.Account
}

func (f *payoutFake) json(p *fakePayout) map[string]any {
	words := map[payouttest.Stage][2]string{
		payouttest.Open: {"PENDING", "100"}, payouttest.Done: {"PAID", "200"}, payouttest.Failed: {"REJECTED", "300"},
	}
	word, pays := words[p.Stage], p.Asked
	switch {
	case p.word != "":
		word = [2]string{p.word, "0"}
	case p.Stage == payouttest.Open && p.Why == payouttest.Nonsense:
		word = [2]string{"SLEEPING", "0"}
	case p.Stage == payouttest.Failed && f.fine != "":
		word[1] = f.fine
	case p.Stage == payouttest.Done:
		pays = p.Paid
	}
	return map[string]any{
		"id": p.id(), "external_id": p.Reference, "status": word[0], "status_code": word[1], "status_detail": "The payout is so",
		"created_date": "2026-11-21T12:00:00.00Z", "last_updated": "2026-11-21T12:00:00.00Z", "payment_method_id": p.order.MethodID,
		"flow_type": p.order.Flow, "country": p.order.Country, "currency": p.order.Currency, "currency_to_pay": p.order.Currency,
		"amount": p.order.Amount, "purpose": p.order.Purpose, "on_hold": false, "notification_url": p.order.NotificationURL,
		"amount_details": map[string]any{"amount_to_pay": json.Number(pays.Decimal()), "fees": map[string]any{"amount": 0.1, "currency": "USD"}},
		"beneficiary":    p.order.Beneficiary,
	}
}

func (f *payoutFake) now() time.Time {
	if f.clock == nil {
		return providertest.Noon
	}
	return f.clock()
}

func (f *payoutFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) {
		for name := range r.Header {
			if !slices.Contains([]string{"User-Agent", "Accept-Encoding", "Content-Length", "Content-Type", "Authorization"}, name) {
				f.Complain("a header %s", name)
			}
		}
		if r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json" || r.Method == http.MethodGet && len(body) > 0 {
			f.Complain("%s %s with the type %q and %d bytes", r.Method, r.URL.Path, r.Header.Get("Content-Type"), len(body))
		}
		if r.Method+" "+r.URL.RequestURI() == "POST /oauth/token" {
			return f.grant(r, body)
		}
		token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		at, issued := f.issued[token]
		if !bearer || !issued || f.now().Sub(at) >= tokenLife {
			return refusal(http.StatusForbidden, 4001, "Invalid credentials")
		}
		switch route := r.Method + " " + r.URL.Path; {
		case route == "POST /payouts/v3" && r.URL.RawQuery == "":
			return f.create(body)
		case route == "GET /payouts/v3":
			return f.get(r.URL.Query())
		case route == "GET /payouts/v3/balance" && r.URL.RawQuery == "":
			return http.StatusOK, map[string]any{"currency": "USD", "available_balance": 1234.5, "previous_day_closing_balance": 2000, "current_balance_date": "2026-11-21"}
		}
		f.Complain("no route %s %s", r.Method, r.URL)
		return refusal(http.StatusBadRequest, 3000, "Invalid params")
	})
}

func (f *payoutFake) grant(r *http.Request, body []byte) (int, any) {
	var q struct {
		Type   string `json:"grant_type"`
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if !providertest.Strict(body, &q) || q.Type != "client_credentials" || r.Header.Get("Authorization") != "" {
		f.Complain("a token is asked for with %s", body)
	}
	if q.ID != payoutCredentials["clientId"] || q.Secret != payoutCredentials["clientSecret"] {
		return refusal(http.StatusForbidden, 4001, "Invalid credentials")
	}
	f.grants++
	token := fmt.Sprintf("eyJ0.t0k3n-%d", f.grants)
	if f.issued == nil {
		f.issued = map[string]time.Time{}
	}
	f.issued[token] = f.now()
	return http.StatusOK, map[string]any{"access_token": token, "scope": "payouts", "expires_in": tokenLife / time.Second, "token_type": "Bearer"}
}

func (f *payoutFake) create(body []byte) (int, any) {
	q := fakeOrder{}
	if !providertest.Strict(body, &q) {
		f.Complain("an order %s", body)
		return refusal(http.StatusBadRequest, 3000, "Invalid params")
	}
	if field := q.wrong(); field != "" {
		f.Complain("%s of the order %s", field, body)
		return refusal(http.StatusBadRequest, 3000, "Invalid params "+field)
	}
	_, again := f.Of(q.ExternalID)
	switch {
	case f.Coming == payouttest.Barred:
		return refusal(http.StatusForbidden, 4002, "Unregistered IP address")
	case again:
		return refusal(http.StatusBadRequest, 5011, "External id already used")
	case f.says != "":
		return max(f.status, http.StatusBadRequest), json.RawMessage(f.says)
	case f.Coming == payouttest.NoFloat:
		return refusal(http.StatusBadRequest, 5014, "Insufficient funds")
	}
	asked, err := money.Parse(q.Amount.String(), money.Currency(q.Currency))
	if err != nil {
		panic(err) // its form was checked
	}
	f.last = body
	p := f.Enter(&fakePayout{order: q, Entry: payouttest.Entry{Reference: q.ExternalID, Destination: q.to(), Asked: asked}})
	f.Begin(p)
	return http.StatusOK, f.json(p)
}

func (f *payoutFake) get(q url.Values) (int, any) {
	if len(q) != 1 || q.Get("external_id") == "" || len(q.Get("external_id")) > 100 {
		f.Complain("a question for %s", q.Encode())
	}
	if p, found := f.Of(q.Get("external_id")); found {
		return http.StatusOK, f.json(p)
	}
	return refusal(http.StatusBadRequest, codeNotFound, "Payout not found with this ID")
}

func (f *payoutFake) Notify(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	return providertest.Notify("application/json", providertest.JSON(f.json(f.Must(reference))))
}

// Forge returns forged notifications. Their signature is not documented, so anybody can send one.
func (f *payoutFake) Forge(reference string) map[string]provider.Notification {
	f.Lock()
	defer f.Unlock()
	paid := f.json(f.Must(reference))
	paid["status"], paid["status_code"] = "PAID", "200"
	rejected := f.json(f.Must(reference))
	rejected["status"], rejected["status_code"] = "REJECTED", "300"
	body := providertest.JSON(paid)
	return map[string]provider.Notification{
		"paid": providertest.Notify("application/json", body), "rejected": providertest.Notify("application/json", providertest.JSON(rejected)),
		"signed as a charge": notification(paid, noon),
	}
}

func (f *payoutFake) Other() map[string]provider.Notification {
	all := map[string]provider.Notification{}
	for name, body := range map[string]string{
		"an empty object": `{}`, "a payout of the dashboard": `{"id":"PO-4-1","external_id":"31ee9576-99ec-412a-9ac7-e142a4a6acf0","status":"PAID"}`,
		"nobody's payout": `{"id":"PO-4-1","external_id":"01M7ZNOBODYS","status":"PAID","amount":5,"currency":"BRL"}`, "another thing": `{"event_type":"ACCOUNT_STATUS_UPDATE"}`,
	} {
		all[name] = providertest.Notify("application/json", []byte(body))
	}
	return all
}
