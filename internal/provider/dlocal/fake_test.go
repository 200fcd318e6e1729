package dlocal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

var credentials = map[string]string{"login": "sak223k2wdksdl2", "transKey": "fm12O7G9", "secretKey": "s3cr3t"}

// fake is dLocal with its books.
type fake struct {
	providertest.Frame[*charged]
	says map[string]says // answers instead of the usual ones, by method and first part of the path
	late int             // how many of a payment's newest refunds its list does not show yet
}

// says is an answer that has no object. done: what was requested is done all the same.
type says struct {
	status, code int
	message      string
	done         bool
}

type charged struct {
	providertest.Entry
	id  string
	ask map[string]any

	refused string // the code with which a card was refused on the page
	count   int    // of installments
}

func newFake() *fake { return &fake{} }

// find returns the charge with our reference or dLocal's id.
func (f *fake) find(reference string) *charged {
	for _, c := range f.Charges {
		if c.Reference == reference || c.id == reference {
			return c
		}
	}
	return nil
}

const noon = "2026-11-21T12:00:00.000Z"

// now is the fake's time as dLocal writes it.
func now() string { return providertest.Noon.Format("2006-01-02T15:04:05.000Z") }

func (f *fake) Notification(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	told := c.object()
	if c.Ending == providertest.Disputed {
		told = c.chargeback()
	}
	return notification(told, now())
}

// Try implements providertest.CardFake. The address of a page works once.
func (f *fake) Try(reference, code string) (n provider.Notification, open bool) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	if c.Ending != providertest.Open {
		return n, false
	}
	c.Ending, c.refused = providertest.Paid, code
	if code != "" {
		c.Ending = providertest.Declined
	}
	return notification(c.object(), now()), true
}

// In implements providertest.Installing: the page of an account that offers installments by itself. Whether there is one is unproved.
func (f *fake) In(reference string, count int) (n provider.Notification, offered bool) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	c.Ending, c.count = providertest.Paid, count
	return notification(c.object(), now()), true
}

func (c *charged) chargeback() map[string]any {
	of := c.object()
	return map[string]any{
		"id": "CHAR" + c.id, "payment_id": c.id, "amount": of["amount"], "currency": of["currency"], "status": "COMPLETED",
		"status_code": "200", "status_detail": "The chargeback was executed.", "created_date": "2018-02-15T15:14:52-00:00",
	}
}

func (f *fake) RefundNotification(reference string, n int) provider.Notification {
	f.Lock()
	defer f.Unlock()
	return notification(f.Must(reference).given()[n], now())
}

// notification returns a signed notification.
func notification(told any, date string) provider.Notification {
	body := providertest.JSON(told)
	return providertest.Notify("application/json", body, "X-Date", date, "Authorization", "V2-HMAC-SHA256, Signature: "+signature(date, body))
}

func signature(date string, body []byte) string {
	return hex.EncodeToString(providertest.MAC(sha256.New, credentials["secretKey"], credentials["login"], date, string(body)))
}

// object returns the payment object.
func (c *charged) object() map[string]any {
	paid := c.Paid()
	word := map[providertest.Ending][3]string{
		providertest.Open:          {"PENDING", "100", "The payment is pending."},
		providertest.Challenged:    {"PENDING", "101", "The payment is pending 3D Secure authentication."},
		providertest.Paid:          {"PAID", "200", "The payment was paid."},
		providertest.WrongAmount:   {"PAID", "200", "The payment was paid."},
		providertest.WrongCurrency: {"PAID", "200", "The payment was paid."},
		providertest.Disputed:      {"PAID", "200", "The payment was paid."},
		providertest.Declined:      {"REJECTED", "302", "Insufficient amount."},
		providertest.SoftDeclined:  {"REJECTED", "321", "Error in acquirer."},
		providertest.Expired:       {"EXPIRED", "500", "The payment was expired."},
		providertest.Canceled:      {"CANCELLED", "400", "The payment was cancelled."},
		providertest.Nonsense:      {"TELEPORTED", "900", "?"},
	}[c.Ending]
	if c.refused != "" {
		word[1] = c.refused
	}
	m := map[string]any{
		"id": c.id, "amount": json.Number(paid.Decimal()), "currency": paid.Currency, "country": c.ask["country"],
		"payment_method_id": c.ask["payment_method_id"], "payment_method_flow": c.ask["payment_method_flow"],
		"status": word[0], "status_code": word[1], "status_detail": word[2], "order_id": c.Reference,
		"notification_url": c.ask["notification_url"], "created_date": "2026-11-21T12:00:00.000+0000", "refunds": c.given(),
	}
	if c.count > 1 {
		m["card"] = map[string]any{"holder_name": "Thiago Gabriel", "brand": "VI", "last4": "1111", "installments": fmt.Sprint(c.count)}
	}
	if word[0] != "PENDING" {
		return m
	}
	if m["payment_method_flow"] == "REDIRECT" {
		m["redirect_url"] = "https://pay.dlocal.com/collect/pay/pay/M-" + c.id
		return m
	}
	switch m["payment_method_id"] {
	case "PQ":
		m["ticket"] = map[string]any{"type": "CUSTOM", "number": "QRS2-" + c.id, "barcode": "iVBORw0KGgo=", "image_url": "https://pay.dlocal.com/gmf/" + c.id}
	case "SE":
		m["ticket"] = map[string]any{}
		m["bank_transfer"] = map[string]any{
			"bank_name": "STP", "beneficiary_name": "Dlocal MX", "bank_account": "646180205700001446", "bank_account_label": "CLABE",
			"reference": "0000144", "redirect_url": "https://pay.dlocal.com/gmf-apm/payments/M-" + c.id,
		}
	default:
		m["ticket"] = map[string]any{"type": "CUSTOM", "number": "42805600", "barcode": "21410000100020055", "company_name": "DLOCAL"}
	}
	return m
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) {
		if status, answer := f.admit(r, body); status != 0 {
			return status, answer
		}
		key := ""
		if r.Method == http.MethodPost && r.Header.Get("X-Idempotency-Key") != "" {
			key = r.URL.Path + " " + r.Header.Get("X-Idempotency-Key")
		}
		said, instead := f.says[r.Method+" "+strings.Split(r.URL.Path, "/")[1]]
		if instead && !said.done {
			return refusal(said.status, said.code, said.message)
		}
		status, answer := f.Once(key, "", func() (int, any) { return f.route(r, body) })
		if instead {
			return refusal(said.status, said.code, said.message)
		}
		return status, answer
	})
}

func refusal(status, code int, message string) (int, any) {
	return status, map[string]any{"code": code, "message": message}
}

// admit checks headers and signature.
func (f *fake) admit(r *http.Request, body []byte) (int, any) {
	date := r.Header.Get("X-Date")
	if _, ok := instant(date); !ok || r.Header.Get("X-Version") != "2.1" || r.Header.Get("User-Agent") == "" || r.Header.Get("Content-Type") != "application/json" {
		return refusal(400, 5001, "Invalid parameter")
	}
	if r.Header.Get("X-Login") != credentials["login"] || r.Header.Get("X-Trans-Key") != credentials["transKey"] {
		return refusal(403, 3001, "Invalid Credentials.")
	}
	if r.Header.Get("Authorization") != "V2-HMAC-SHA256, Signature: "+signature(date, body) {
		return refusal(400, 5000, "Signature not match")
	}
	return 0, nil
}

func (f *fake) route(r *http.Request, body []byte) (int, any) {
	path := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	for i := range path {
		path[i], _ = url.PathUnescape(path[i])
	}
	switch what := r.Method + " " + path[0]; {
	case what == "GET payments-methods" && r.URL.Query().Get("country") == "BR":
		return 200, []any{map[string]any{
			"id": "PQ", "type": "TICKET", "name": "PIX", "logo": "https://static.dlocal.com/images/providers/PQ.png", "allowed_flows": []string{"DIRECT", "REDIRECT"},
		}}
	case what == "POST payments" && len(path) == 1:
		return f.create(body)
	case what == "POST payments" && len(path) == 3 && path[2] == "cancel":
		return f.cancel(path[1], body)
	case what == "GET payments" && len(path) == 2:
		if c := f.find(path[1]); c != nil && c.id == path[1] {
			o := c.object()
			o["refunds"] = c.given()[:max(0, len(c.Refunds)-f.late)]
			return 200, o
		}
		return refusal(404, 4000, "Payment not found.")
	case what == "GET orders" && len(path) == 2:
		if c := f.find(path[1]); c != nil && c.Reference == path[1] {
			o := c.object()
			return 200, map[string]any{
				"order_id": c.Reference, "payment_id": c.id, "amount": o["amount"], "currency": o["currency"], "status": o["status"],
				"status_code": o["status_code"], "status_detail": o["status_detail"], "created_date": o["created_date"],
			}
		}
		return refusal(404, 4000, "Payment not found.")
	case what == "GET chargebacks" && len(path) == 2:
		for _, c := range f.Charges {
			if c.Ending == providertest.Disputed && path[1] == "CHAR"+c.id {
				return 200, c.chargeback()
			}
		}
		return refusal(404, 4000, "Chargeback not found.")
	case what == "POST refunds" && len(path) == 1:
		return f.refund(body)
	case what == "GET refunds" && len(path) == 2:
		for _, c := range f.Charges {
			for _, back := range c.given() {
				if back["id"] == path[1] {
					return 200, back
				}
			}
		}
		return refusal(404, 4001, "Refund not found.")
	}
	return 404, "NOT_FOUND"
}

func (f *fake) create(body []byte) (int, any) {
	m := providertest.Fields(body)
	p, _ := m["payer"].(map[string]any)
	for _, field := range []string{"currency", "country", "payment_method_id", "payment_method_flow", "order_id"} {
		if s, ok := m[field].(string); !ok || s == "" {
			return refusal(400, 5001, "Missing parameter. "+field)
		}
	}
	needed := []string{"name", "email"}
	if m["payment_method_flow"] == "DIRECT" {
		needed = append(needed, "document")
	} else if m["callback_url"] == nil {
		return refusal(400, 5001, "Missing parameter. callback_url")
	}
	for _, field := range needed {
		if s, ok := p[field].(string); !ok || s == "" {
			return refusal(400, 5001, "Missing parameter. payer."+field)
		}
	}
	number, ok := m["amount"].(json.Number)
	currency := money.Currency(m["currency"].(string))
	if !ok || !currency.Valid() {
		return refusal(400, 5001, "Invalid parameter: amount")
	}
	if currency == money.COP && strings.Contains(number.String(), ".") { // the country pages: amounts have no decimals
		return refusal(400, 5001, "Invalid parameter: amount")
	}
	local, err := money.Parse(number.String(), currency)
	if err != nil || !local.IsPositive() {
		return refusal(400, 5001, "Invalid parameter: amount")
	}
	if f.find(m["order_id"].(string)) != nil {
		return refusal(400, 5009, "Order ID is duplicated.")
	}
	c := &charged{id: fmt.Sprintf("D-4-%08d", len(f.Charges)+1), ask: m}
	c.Reference, c.Local = m["order_id"].(string), local
	return 200, f.Enter(c).object()
}

func (f *fake) cancel(id string, body []byte) (int, any) {
	c := f.find(id)
	switch {
	case c == nil || c.id != id:
		return refusal(404, 4000, "Payment not found.")
	case len(body) != 0:
		return refusal(400, 5000, "Invalid request.")
	case c.Ending != providertest.Open || slices.Contains([]any{"CARD", "MP", "QP"}, c.ask["payment_method_id"]):
		return refusal(400, 5002, "Invalid transaction status.")
	}
	c.Ending = providertest.Canceled
	return 200, c.object()
}

func (f *fake) refund(body []byte) (int, any) {
	m := providertest.Fields(body)
	id, _ := m["payment_id"].(string)
	number, ok := m["amount"].(json.Number)
	c := f.find(id)
	if c == nil || c.id != id {
		return refusal(404, 4000, "Payment not found.")
	}
	if m["notification_url"] == nil || m["currency"] != string(c.Local.Currency) || !ok {
		return refusal(400, 5001, "Missing parameter.")
	}
	back, err := money.Parse(number.String(), c.Local.Currency)
	if err != nil {
		return refusal(400, 5001, "Invalid parameter: amount")
	}
	if f.Refusing || c.Ending != providertest.Paid {
		return refusal(400, 5002, "Invalid transaction status.")
	}
	reference, _ := m["order_refund_id"].(string)
	if slices.ContainsFunc(c.Refunds, func(r providertest.Refund) bool { return r.Reference == reference }) {
		return refusal(400, 5011, "Order refund id is duplicated.")
	}
	if !f.Give(c, reference, back) {
		return refusal(400, 5007, "Amount exceeded.")
	}
	return 200, c.given()[len(c.Refunds)-1]
}

// given returns the refund objects of a payment.
func (c *charged) given() []map[string]any {
	list := []map[string]any{}
	for n, r := range c.Refunds {
		status := map[providertest.Ending]string{
			"": "SUCCESS", providertest.Paid: "SUCCESS", providertest.Open: "PENDING", providertest.Declined: "REJECTED", providertest.Nonsense: "TELEPORTED",
		}[r.Ending]
		list = append(list, map[string]any{
			"id": fmt.Sprintf("REF%s%d", strings.ReplaceAll(c.id, "-", ""), n+1), "payment_id": c.id, "amount": json.Number(r.Local.Decimal()),
			"currency": r.Local.Currency, "status": status, "status_code": 200, "status_detail": "The refund",
			"description": r.Reference, "created_date": "2026-11-21T12:00:00.000+0000",
		})
	}
	return list
}
