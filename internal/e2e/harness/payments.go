package harness

import (
	"fmt"
	"net/http"
	"testing"
)

// PixOrder returns the body of a production payment of 10 USD, which is 54 BRL.
func (o Client) PixOrder(t *testing.T) string {
	t.Helper()
	return `{"amount":10,"documentId":"52998224725","paymentMethodId":"` + Method(t, o.Production(), "BRA", "pix") + `"}`
}

// Balance returns the pattern of /me/balance for a merchant on the standard tier. Movements and the
// reserve have their own tests.
func Balance(o Client, buckets, warnings, fees string) string {
	return fmt.Sprintf(`{"merchantId":%q,"currency":"USD","balance":%s,"ledgerWarnings":%s,"tier":"standard","trustScore":600,
		"rollingReservePct":5,"withdrawalFeeUsd":3,"payouts":{"schedule":"on_request","minimumUsd":0,"weekdays":[],"monthdays":[]},"refundFees":"returned","feeSummary":%s,"movements":"<list>","reserveSchedule":"<list>"}`, o.Merchant.ID, buckets, warnings, fees)
}

// EmptyBuckets is the buckets of a balance without money.
const EmptyBuckets = `{"available":0,"pending":0,"frozen":0,"reserve":0}`

// Profile returns the pattern of /me for a shop's sandbox.
func Profile(o Client, balance string) string {
	return fmt.Sprintf(`{"id":%q,"name":"Acme","email":"ops@acme.example","industry":"retail","tier":"standard","trustScore":600,"plan":"standard",
		"environment":"sandbox","capabilities":{"checkout":true,"directCharge":true,"refunds":true,"webhooks":true,"crypto":[],
		"methods":["pix","spei","bank_transfer","card","cash"]},"balance":%s}`, o.Merchant.ID, balance)
}

// sandboxMethod is a test method, and how a payment over it looks.
type sandboxMethod struct {
	Id, Method, Country, Document   string
	Status                          string
	Local, Currency, Rate           string
	Platform, Provider, Total, Held string // fees in USD, and the part that goes to the reserve
	Data                            string // the pattern of paymentData
}

// SandboxMethods are the test methods (SBX-1), each with a payment of 25.50 USD on the standard
// tier: platform fee 1.2 %, reserve 5 %, and the rates that Start sets.
var SandboxMethods = []sandboxMethod{
	{"sbx_pix", "pix", "BRA", "52998224725", "pending", "137.7", "BRL", "5.4", "0.31", "0.25", "0.56", "1.28",
		`{"type":"pix","qrCode":"<text>","qrCodeImageUrl":"<url>","expiresAt":"<time>"}`},
	{"sbx_spei", "spei", "MEX", "XAXX010101000", "pending", "467.93", "MXN", "18.35", "0.31", "0.5", "0.81", "1.28",
		`{"type":"spei","clabe":"<digits>","bankName":"<text>","beneficiary":"<text>","reference":"<digits>","expiresAt":"<time>"}`},
	{"sbx_pse", "bank_transfer", "COL", "", "pending", "105072.75", "COP", "4120.5", "0.31", "0.71", "1.02", "1.28",
		`{"type":"redirect"}`},
	{"sbx_card", "card", "USA", "", "completed", "25.5", "USD", "1", "0.31", "1.06", "1.37", "1.28",
		`{"type":"redirect"}`},
	{"sbx_cash", "cash", "MEX", "", "pending", "467.93", "MXN", "18.35", "0.31", "0.89", "1.2", "1.28",
		`{"type":"voucher","reference":"<digits>","barcode":"<digits>","barcodeImageUrl":"<url>","voucherUrl":"<url>","expiresAt":"<time>"}`},
}

// PaidByShopper is a payment that waits for the shopper. When the simulator pays it, it has two
// events: payment.completed, and the simulator's alias payment.captured.
const PaidByShopper = `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`

// Card is the shortest body of a payment. The payment is completed at once.
const Card = `{"amount":25.5,"paymentMethodId":"sbx_card"}`

// Method returns the id of the first rail of a method in a country.
func Method(t *testing.T, o Client, country, slug string) string {
	t.Helper()
	r := o.Get(t, "/payment-methods?country="+country+"&method="+slug).Want(t, http.StatusOK)
	return r.Text(t, "methods.0.paymentMethodId")
}

// stage is a state that a payment can be in. Bring makes such a payment and returns its id.
type stage struct {
	Name, Status string
	Bring        func(t *testing.T, o Client) string
}

// Stages are the states that a payment can be in, with its status in each.
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
		o.Notify(t, "sandbox-1", NoticeBody(id, `"status":"disputed","reason":"fraudulent"`)).Want(t, http.StatusOK)
		return id
	}},
}
