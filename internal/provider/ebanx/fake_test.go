package ebanx

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const key = "test_ik_Aj8mBkUrCQe4zPFgdhC5Yw"

// notary is a key pair in place of EBANX's, with its certificate.
var notary, certificate = func() (*rsa.PrivateKey, string) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	about := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "notifications"}, NotAfter: time.Unix(1, 0)}
	der, err := x509.CreateCertificate(rand.Reader, &about, &about, &private.PublicKey, private)
	if err != nil {
		panic(err)
	}
	return private, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}()

var credentials = map[string]string{"integrationKey": key, "certificate": certificate}

// fake is EBANX with its books.
type fake struct {
	mu     sync.Mutex // owns what follows
	next   providertest.Ending
	refuse bool
	list   []*charged
}

type charged struct {
	providertest.Entry
	hash, code string
	page       bool
	paid       money.Amount
	refunds    []map[string]any
}

func newFake() *fake { return &fake{next: providertest.Open} }

func (f *fake) Next(e providertest.Ending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = e
}

func (f *fake) RefuseRefunds() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = true
}

func (f *fake) Move(reference string, e providertest.Ending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.find(reference, "")
	c.Ending, c.paid = e, c.Local
	switch e {
	case providertest.WrongAmount:
		c.paid.Minor--
	case providertest.WrongCurrency:
		c.paid.Currency = "EUR"
	}
}

func (f *fake) Books() (list []providertest.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.list {
		list = append(list, c.Entry)
	}
	return list
}

func (f *fake) find(reference, hash string) *charged {
	for _, c := range f.list {
		if c.Reference == reference && reference != "" || c.hash == hash && hash != "" {
			return c
		}
	}
	return nil
}

func (f *fake) Notification(reference string) provider.Notification {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.find(reference, "")
	kind := "update"
	if c.Ending == providertest.Disputed {
		kind = "chargeback"
	}
	return notification("operation=payment_status_change&notification_type=" + kind + "&hash_codes=" + c.hash)
}

// notification signs a body.
func notification(body string) provider.Notification {
	digest := sha1.Sum([]byte(body))
	signature, err := rsa.SignPKCS1v15(nil, notary, crypto.SHA1, digest[:])
	if err != nil {
		panic(err)
	}
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	h.Set("X-SignatureType", "rsa,sha1")
	h.Set("X-SignatureFingerprint", "4ABAD89CF66B99998465470550EB15E3E271A246")
	h.Set("X-SignatureContent", base64.StdEncoding.EncodeToString(signature))
	return provider.Notification{Body: []byte(body), Header: h}
}

// object is the payment as EBANX shows it: amounts are strings with two decimals.
func (c *charged) object() map[string]any {
	status := map[providertest.Ending]string{
		providertest.Open: "PE", providertest.Paid: "CO", providertest.WrongAmount: "CO", providertest.WrongCurrency: "CO",
		providertest.Disputed: "CO", providertest.Declined: "CA", providertest.Expired: "CA", providertest.Canceled: "CA", providertest.Nonsense: "ZZ",
	}[c.Ending]
	if c.page && status == "PE" {
		status = "OP"
	}
	whole, cents, _ := strings.Cut(c.paid.Decimal(), ".")
	m := map[string]any{
		"hash": c.hash, "pin": "484657684", "merchant_payment_code": c.Reference, "order_number": nil, "status": status, "status_date": nil,
		"open_date": "2026-11-21 12:00:00", "amount_br": "1362.01", "amount_iof": "0.00", "amount_ext": whole + "." + (cents + "00")[:2],
		"currency_ext": c.paid.Currency, "currency_rate": "1.0000", "instalments": "1", "payment_type_code": c.code,
		"pre_approved": false, "capture_available": nil,
	}
	if len(c.refunds) > 0 {
		m["refunds"] = c.refunds
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
	if c.Ending == providertest.Declined {
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
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	m := map[string]any{}
	switch kind := r.Header.Get("Content-Type"); {
	case r.Method != http.MethodPost:
		http.NotFound(w, r)
		return
	case kind == "application/json" && r.URL.Path != "/ws/request":
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		_ = d.Decode(&m)
	case kind == "application/x-www-form-urlencoded" && r.URL.Path == "/ws/request":
		fields, _ := url.ParseQuery(string(body))
		for name := range fields {
			m[name] = fields.Get(name)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(f.route(r.URL.Path, m))
}

func (f *fake) route(path string, m map[string]any) map[string]any {
	if m["integration_key"] != key {
		return refusal("BP-SA-1", "Parameter integration_key not found")
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
		return map[string]any{"payment": c.object(), "status": "SUCCESS"}
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
	c := &charged{hash: fmt.Sprintf("%048x", len(f.list)+1), code: text("payment_type_code"), page: page, paid: local}
	c.Reference, c.Local, c.Ending = text("merchant_payment_code"), local, f.next
	f.list = append(f.list, c)
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
	if f.refuse || c.Ending != providertest.Paid {
		return refusal("BP-REF-7", "The payment cannot be refunded because it is not confirmed")
	}
	back, err := money.Parse(number.String(), c.Local.Currency)
	if err != nil {
		return refusal("BP-REF-4", "Invalid amount")
	}
	c.Refunds = append(c.Refunds, back)
	given := map[string]any{
		"id": fmt.Sprint(21425 + len(c.Refunds)), "merchant_refund_code": code, "status": "RE", "request_date": "2026-11-21 12:00:00",
		"pending_date": nil, "confirm_date": nil, "cancel_date": nil, "amount_ext": number, "description": m["description"],
	}
	c.refunds = append(c.refunds, given)
	return map[string]any{"payment": c.object(), "refund": given, "operation": "refund", "status": "SUCCESS"}
}
