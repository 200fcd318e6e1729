package harness

import (
	"fmt"
	"net/http"
	"testing"
)

// PixOrder is an order of 10 USD, 54 BRL.
func (o Client) PixOrder(t *testing.T) string {
	t.Helper()
	return `{"amount":10,"documentId":"52998224725","paymentMethodId":"` + o.Production().Method(t, "BRA", "pix") + `"}`
}

// Balance is what /me/balance shows of a shop on the standard tier. Movements
// and the reserve have tests of their own.
func Balance(o Client, buckets, warnings, fees string) string {
	return fmt.Sprintf(`{"merchantId":%q,"currency":"USD","balance":%s,"ledgerWarnings":%s,"tier":"standard","trustScore":600,
		"rollingReservePct":5,"withdrawalFeeUsd":3,"refundFees":"returned","feeSummary":%s,"movements":"<list>","reserveSchedule":"<list>"}`, o.Merchant.ID, buckets, warnings, fees)
}

// EmptyBuckets is a balance without money.
const EmptyBuckets = `{"available":0,"pending":0,"frozen":0,"reserve":0}`

// Profile is what /me shows of a sandbox shop.
func Profile(o Client, balance string) string {
	return fmt.Sprintf(`{"id":%q,"name":"Acme","email":"ops@acme.example","industry":"retail","tier":"standard","trustScore":600,
		"environment":"sandbox","capabilities":{"checkout":true,"directCharge":true,"refunds":true,"webhooks":true,"crypto":[],
		"methods":["pix","spei","bank_transfer","card","cash"]},"balance":%s}`, o.Merchant.ID, balance)
}

// sandboxMethod is a test method, and what a payment by it looks like.
type sandboxMethod struct {
	Id, Method, Country, Document   string
	Status                          string
	Local, Currency, Rate           string
	Platform, Provider, Total, Held string
	Data                            string // paymentData on get
}

// SandboxMethods are the test methods (SBX-1), charged 25.50 USD on the
// standard tier (platform 1.2 %, reserve 5 %, rates of fx).
var SandboxMethods = []sandboxMethod{
	{"sbx_pix", "pix", "BRA", "52998224725", "pending", "137.7", "BRL", "5.4", "0.31", "0.25", "0.56", "1.28",
		`{"type":"pix","qrCode":"<text>","qrCodeImageUrl":"<url>","expiresAt":"<time>"}`},
	{"sbx_spei", "spei", "MEX", "XAXX010101000", "pending", "467.92", "MXN", "18.35", "0.31", "0.5", "0.81", "1.28",
		`{"type":"spei","clabe":"<digits>","bankName":"<text>","beneficiary":"<text>","reference":"<digits>","expiresAt":"<time>"}`},
	{"sbx_pse", "bank_transfer", "COL", "", "pending", "105072.75", "COP", "4120.5", "0.31", "0.71", "1.02", "1.28",
		`{"type":"redirect"}`},
	{"sbx_card", "card", "USA", "", "completed", "25.5", "USD", "1", "0.31", "1.06", "1.37", "1.28",
		`{"type":"redirect"}`},
	{"sbx_cash", "cash", "MEX", "", "pending", "467.92", "MXN", "18.35", "0.31", "0.89", "1.2", "1.28",
		`{"type":"voucher","reference":"<digits>","barcode":"<digits>","barcodeImageUrl":"<url>","voucherUrl":"<url>","expiresAt":"<time>"}`},
}

// PaidByShopper is a payment of two events: payment.completed, and its alias of the
// simulator.
const PaidByShopper = `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`

// Card is the least that pays.
const Card = `{"amount":25.5,"paymentMethodId":"sbx_card"}`

// Method finds a production method's id.
func (o Client) Method(t *testing.T, country, slug string) string {
	t.Helper()
	r := o.Get(t, "/payment-methods?country="+country+"&method="+slug).Want(t, http.StatusOK)
	return r.Text(t, "methods.0.paymentMethodId")
}

// stage is a place that a payment can be brought to.
type stage struct {
	Name, Status string
	Bring        func(t *testing.T, o Client) string
}

// Stages are the places a payment can be brought to, with the status it then
// has.
var Stages = []stage{
	{"pending", "pending", func(t *testing.T, o Client) string { return o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`) }},
	{"processing", "processing", func(t *testing.T, o Client) string {
		return o.Create(t, `{"amount":10.96,"paymentMethodId":"sbx_card"}`)
	}},
	{"completed", "completed", func(t *testing.T, o Client) string { return o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`) }},
	{"failed", "failed", func(t *testing.T, o Client) string {
		return o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`, "Sandbox-Simulate: failed")
	}},
	{"exhausted", "failed", func(t *testing.T, o Client) string {
		return o.Post(t, "/payments", `{"amount":10.91,"paymentMethodId":"sbx_card"}`).Text(t, "error.details.transactionId")
	}},
	{"expired", "expired", func(t *testing.T, o Client) string {
		return o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`, "Sandbox-Simulate: expired")
	}},
	{"refunded", "refunded", func(t *testing.T, o Client) string {
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)
		o.Simulate(t, id, "refunded").Want(t, http.StatusOK)
		return id
	}},
	{"disputed", "completed", func(t *testing.T, o Client) string {
		return o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`, "Sandbox-Simulate: chargeback")
	}},
	{"charged back", "chargeback", func(t *testing.T, o Client) string {
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)
		o.Notify(t, "sandbox-1", Note(id, `"status":"disputed","reason":"fraudulent"`)).Want(t, http.StatusOK)
		return id
	}},
}
