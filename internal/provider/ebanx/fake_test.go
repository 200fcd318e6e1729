package ebanx

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const key = "test_ik_Aj8mBkUrCQe4zPFgdhC5Yw"

// certificate is for the key that signs instead of EBANX's.
var certificate = func() string {
	about := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "notifications"}, NotAfter: time.Unix(1, 0)}
	der, err := x509.CreateCertificate(rand.Reader, &about, &about, &providertest.Key().PublicKey, providertest.Key())
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}()

var credentials = map[string]string{"integrationKey": key, "certificate": certificate}

// fake is EBANX with its books.
type fake struct {
	providertest.Frame[*charged]
	says map[string]string // answers instead of the usual ones, by path
	late int               // how many of a payment's newest refunds its list does not show yet
}

type charged struct {
	providertest.Entry
	hash, code string
	page       bool

	refused string // the description of the page's last refusal
	most    string // installments that the page offers, as it was asked for them
	count   int    // of installments

	kind        string // person_type
	responsible map[string]any
}

func newFake() *fake { return &fake{} }

func (f *fake) find(reference, hash string) *charged {
	for _, c := range f.Charges {
		if c.Reference == reference && reference != "" || c.hash == hash && hash != "" {
			return c
		}
	}
	return nil
}

func (f *fake) Notification(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	kind := "update"
	if c.Ending == providertest.Disputed {
		kind = "chargeback"
	}
	return notification("operation=payment_status_change&notification_type=" + kind + "&hash_codes=" + c.hash)
}

// Try implements providertest.CardFake. A refusal ends the payment.
func (f *fake) Try(reference, code string) (n provider.Notification, open bool) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	if !c.page || c.Ending != providertest.Open {
		return n, false
	}
	c.Ending, c.refused = providertest.Paid, code
	if code != "" {
		c.Ending = providertest.Declined
	}
	return notification("operation=payment_status_change&notification_type=update&hash_codes=" + c.hash), true
}

// notification signs a body.
func notification(body string) provider.Notification {
	return providertest.Notify("application/x-www-form-urlencoded", []byte(body), "X-SignatureType", "rsa,sha1",
		"X-SignatureFingerprint", "4ABAD89CF66B99998465470550EB15E3E271A246", "X-SignatureContent", providertest.Signed(crypto.SHA1, []byte(body)))
}

// object returns a payment as EBANX shows it: amounts are strings with two decimals.
func (c *charged) object() map[string]any {
	status := map[providertest.Ending]string{
		providertest.Open: "PE", providertest.Paid: "CO", providertest.WrongAmount: "CO", providertest.WrongCurrency: "CO",
		providertest.Disputed: "CO", providertest.Declined: "CA", providertest.Expired: "CA", providertest.Canceled: "CA", providertest.Nonsense: "ZZ",
	}[c.Ending]
	if c.page && status == "PE" {
		status = "OP"
	}
	paid := c.Paid()
	whole, cents, _ := strings.Cut(paid.Decimal(), ".")
	m := map[string]any{
		"hash": c.hash, "pin": "484657684", "merchant_payment_code": c.Reference, "order_number": nil, "status": status, "status_date": nil,
		"open_date": "2026-11-21 12:00:00", "amount_br": "1362.01", "amount_iof": "0.00", "amount_ext": whole + "." + (cents + "00")[:2],
		"currency_ext": paid.Currency, "currency_rate": "1.0000", "instalments": fmt.Sprint(max(1, c.count)), "payment_type_code": c.code,
		"pre_approved": false, "capture_available": nil,
	}
	if len(c.Refunds) > 0 {
		m["refunds"] = c.given()
	}
	switch c.code {
	case "pix":
		m["pix"] = map[string]any{"qr_code_url": "https://sandbox.ebanx.com/qr", "qr_code_value": "00020126360014BR.GOV.BCB.PIX" + c.hash}
		m["redirect_url"] = "https://sandbox.ebanx.com/pix/checkout?hash=" + c.hash
	case "spei":
		m["clabe_account"], m["clabe_reference"] = "646181141900000339", "4262291"
		m["spei_url"] = "https://sandbox.ebanx.com/print/spei/execute?hash=" + c.hash
	case "oxxo":
		m["oxxo_barcode"], m["oxxo_url"] = "51000000000020022017052601362015", "https://sandbox.ebanx.com/print/oxxo/?hash="+c.hash
	}
	switch {
	case c.refused != "":
		m["transaction_status"] = map[string]any{"acquirer": "EBANX", "code": "NOK", "description": c.refused}
	case c.Ending == providertest.Declined:
		m["transaction_status"] = map[string]any{
			"acquirer": "EBANX", "code": "NOK", "description": "Insufficient funds or limit restrictions in the user's account",
			"description_code": "INSUFFICIENT_FUNDS_OR_DAILY_LIMIT",
		}
	}
	return m
}

func refusal(code, message string) map[string]any {
	return map[string]any{"status": "ERROR", "status_code": code, "status_message": message}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) {
		m := map[string]any{}
		switch kind := r.Header.Get("Content-Type"); {
		case r.Method != http.MethodPost:
			return http.StatusNotFound, "not found"
		case kind == "application/json" && r.URL.Path != "/ws/request":
			m = providertest.Fields(body)
		case kind == "application/x-www-form-urlencoded" && r.URL.Path == "/ws/request":
			fields, _ := url.ParseQuery(string(body))
			for name := range fields {
				m[name] = fields.Get(name)
			}
		}
		if text, instead := f.says[r.URL.Path]; instead {
			return http.StatusOK, json.RawMessage(text)
		}
		return http.StatusOK, f.route(r.URL.Path, m)
	})
}

func (f *fake) route(path string, m map[string]any) map[string]any {
	switch m["integration_key"] {
	case key:
	case nil:
		return refusal("BP-SA-1", "Parameter integration_key not found")
	default:
		return refusal("DA-1", "Invalid integration key")
	}
	hash, _ := m["hash"].(string)
	reference, _ := m["merchant_payment_code"].(string)
	switch path {
	case "/ws/direct":
		p, ok := m["payment"].(map[string]any)
		if !ok || m["operation"] != "request" {
			return refusal("BP-DR-2", "Field payment is required")
		}
		return f.create(p, "amount_total", false)
	case "/ws/request":
		return f.create(m, "amount", true)
	case "/ws/query":
		c := f.find(reference, hash)
		if c == nil {
			return refusal("BP-QRY-2", "Payment with this hash or merchant_payment_code not found")
		}
		o := c.object()
		if list := c.given(); len(list) > 0 {
			o["refunds"] = list[:max(0, len(list)-f.late)]
		}
		return map[string]any{"payment": o, "status": "SUCCESS"}
	case "/ws/cancel":
		c := f.find("", hash)
		if c == nil {
			return refusal("BP-CAN-1", "Parameter hash not informed")
		}
		if c.Ending != providertest.Open {
			return refusal("BP-CAN-3", "Payment cannot be cancelled")
		}
		c.Ending = providertest.Canceled
		return map[string]any{"payment": c.object(), "operation": "cancel", "status": "SUCCESS"}
	case "/ws/refund":
		return f.refund(f.find("", hash), m)
	}
	return refusal("BP-ER-1", "Unknown operation")
}

func (f *fake) create(m map[string]any, amountField string, page bool) map[string]any {
	text := func(name string) string { s, _ := m[name].(string); return s }
	needed := []string{"name", "email", "country", "payment_type_code", "merchant_payment_code", "currency_code"}
	if text("payment_type_code") == "pix" {
		needed = append(needed, "document")
	}
	for _, name := range needed {
		if text(name) == "" {
			return refusal("BP-DR-13", "Field payment."+name+" is required")
		}
	}
	responsible, _ := m["responsible"].(map[string]any)
	switch kind := text("person_type"); {
	case kind != "" && kind != "personal" && kind != "business":
		return refusal("BP-DR-41", "Field payment.person_type must contain a valid person_type")
	case page || text("country") != "br":
	case kind == "business" && responsible == nil:
		return refusal("BP-DR-42", "Field payment.responsible is required")
	case kind == "business" && responsible["name"] == nil:
		return refusal("BP-DR-43", "Field payment.responsible.name is required")
	case kind == "business" && responsible["document"] == nil:
		return refusal("BP-DR-44", "Field payment.responsible.document is required")
	}
	if len(text("merchant_payment_code")) > 40 {
		return refusal("BP-DR-10", "Parameter merchant_payment_code can have 40 characters maximum")
	}
	currency := money.Currency(text("currency_code"))
	number := text(amountField)
	if n, ok := m[amountField].(json.Number); ok && !page {
		number = n.String()
	}
	local, err := money.Parse(number, currency)
	if err != nil {
		return refusal("BP-DR-5", "Field payment.amount_total is required")
	}
	if old := f.find(text("merchant_payment_code"), ""); old != nil {
		return refusal("BP-DR-0", "Payment already exists with merchant_payment_code: "+old.Reference+" (created on 2026-11-21 12:00:00, status is PE)")
	}
	c := &charged{hash: fmt.Sprintf("%048x", len(f.Charges)+1), code: text("payment_type_code"), page: page}
	c.Reference, c.Local = text("merchant_payment_code"), local
	c.kind, c.responsible, c.most = text("person_type"), responsible, text("instalments")
	if c.most != "" && (!page || !strings.HasPrefix(c.most, "1-")) {
		return refusal("BP-DR-34", "Invalid value for instalments: "+c.most+" (range)")
	}
	f.Enter(c)
	answer := map[string]any{"payment": c.object(), "status": "SUCCESS"}
	if page {
		answer["redirect_url"] = "https://sandbox.ebanx.com/checkout?hash=" + c.hash
	}
	return answer
}

func (f *fake) refund(c *charged, m map[string]any) map[string]any {
	number, ok := m["amount"].(json.Number)
	code, _ := m["merchant_refund_code"].(string)
	if c == nil || m["operation"] != "request" || m["description"] == "" || !ok || len(code) > 20 {
		return refusal("BP-REF-1", "Parameter not informed")
	}
	back, err := money.Parse(number.String(), c.Local.Currency)
	if err != nil {
		return refusal("BP-REF-4", "Invalid amount")
	}
	description, _ := m["description"].(string)
	if !f.Give(c, code+" "+description, back) {
		return refusal("BP-REF-7", "The payment cannot be refunded because it is not confirmed")
	}
	return map[string]any{"payment": c.object(), "refund": c.given()[len(c.Refunds)-1], "operation": "refund", "status": "SUCCESS"}
}

// given returns the refunds of a payment. The reference of a refund is its code and its
// description.
func (c *charged) given() (list []map[string]any) {
	for n, r := range c.Refunds {
		code, description, _ := strings.Cut(r.Reference, " ")
		status := map[providertest.Ending]string{
			"": "RE", providertest.Open: "PE", providertest.Paid: "CO", providertest.Declined: "CA", providertest.Nonsense: "ZZ",
		}[r.Ending]
		list = append(list, map[string]any{
			"id": fmt.Sprintf("%s%d", strings.TrimLeft(c.hash, "0"), 21426+n), "merchant_refund_code": code, "status": status, "request_date": "2026-11-21 12:00:00",
			"pending_date": nil, "confirm_date": nil, "cancel_date": nil, "amount_ext": json.Number(r.Local.Decimal()), "description": description,
		})
	}
	return list
}

func (f *fake) RefundNotification(reference string, _ int) provider.Notification {
	f.Lock()
	defer f.Unlock()
	return notification("operation=payment_status_change&notification_type=refund&hash_codes=" + f.Must(reference).hash)
}
