package harness

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// Endpoint is an operation with a valid request.
type Endpoint struct {
	Method, Path, Body string
	AnyKey             bool // a publishable key may use it
}

// Endpoints lists a valid request of each operation. The payment and the webhook exist. Other ids
// in the paths do not.
func Endpoints(payment, hook string) []Endpoint {
	return []Endpoint{
		{http.MethodGet, "/ping", "", true},
		{http.MethodGet, "/payment-methods", "", true},
		{http.MethodGet, "/me", "", false},
		{http.MethodGet, "/me/balance", "", false},
		{http.MethodPost, "/payments", Card, false},
		{http.MethodGet, "/payments", "", false},
		{http.MethodGet, "/payments/" + payment, "", false},
		{http.MethodPost, "/payments/" + payment + "/simulate", `{"action":"paid"}`, false},
		{http.MethodPost, "/transactions", Card, false},
		{http.MethodPost, "/checkout/sessions", CheckoutBody, false},
		{http.MethodGet, "/transactions", "", false},
		{http.MethodGet, "/transactions/" + payment, "", false},
		{http.MethodPost, "/transactions/" + payment + "/simulate", `{"action":"paid"}`, false},
		{http.MethodPost, "/webhooks", `{"events":["*"]}`, false},
		{http.MethodGet, "/webhooks", "", false},
		{http.MethodDelete, "/webhooks/" + hook, "", false},
		{http.MethodPost, "/payments/" + payment + "/refund", `{}`, false},
		{http.MethodPost, "/transactions/" + payment + "/refund", `{}`, false},
		{http.MethodGet, "/claims", "", false},
		{http.MethodGet, "/claims/CLM-1", "", false},
		{http.MethodPost, "/claims/CLM-1/evidence", `{"kind":"other","text":"x"}`, false},
		{http.MethodPost, "/claims/CLM-1/accept", "", false},
		{http.MethodGet, "/claims/CLM-1/evidence/ev_1/file", "", false},
		{http.MethodPost, "/wallets", `{"type":"bank_account","currency":"USD","destination":"12345"}`, false},
		{http.MethodGet, "/wallets", "", false},
		{http.MethodGet, "/wallets/wal_1", "", false},
		{http.MethodDelete, "/wallets/wal_1", "", false},
		{http.MethodPost, "/withdrawals", `{"amount":1}`, false},
		{http.MethodGet, "/withdrawals", "", false},
		{http.MethodGet, "/withdrawals/wdr_1", "", false},
		{http.MethodPost, "/withdrawals/wdr_1/cancel", "", false},
		{http.MethodPost, "/kyc/init", `{"level":"basic","subjectType":"company"}`, false},
		{http.MethodGet, "/kyc/kyc_1", "", false},
		{http.MethodPost, "/sandbox/kyc/kyc_1", `{"status":"verified"}`, false},
	}
}

// fixture makes the object that an id in a path names.
type fixture struct {
	Make func(t *testing.T, o Client, ids map[string]string) string
	Code string // the error code if the object does not exist
	Wide bool   // the object belongs to the merchant: its other shops may see it
}

// Fixtures has the fixture of every id in a path, by the path up to the id. The walk of the room
// access tries every operation with another tenant's id, and fails if an id has no fixture here.
var Fixtures = map[string]fixture{
	"/payments/{id}": {Code: "transaction_not_found", Make: func(t *testing.T, o Client, _ map[string]string) string {
		return o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse","merchantOrderId":"order of `+o.Shop.ID+`","userEmail":"`+o.Shop.ID+`@shoppers.example"}`)
	}},
	"/claims/{id}": {Code: "claim_not_found", Make: func(t *testing.T, o Client, _ map[string]string) string {
		_, claim := o.Dispute(t, false)
		return claim
	}},
	"/claims/{id}/evidence/{evidenceId}": {Code: "not_found", Make: func(t *testing.T, o Client, ids map[string]string) string {
		body := `{"kind":"delivery_proof","text":"words of ` + o.Shop.ID + `","file":{"name":"a.txt","contentType":"text/plain","content":"c2VjcmV0"}}`
		return o.Post(t, "/claims/"+ids["/claims/{id}"]+"/evidence", body).Want(t, http.StatusCreated).Text(t, "evidence.0.id")
	}},
	"/settlements/{id}": {Code: "settlement_not_found", Wide: true, Make: func(t *testing.T, o Client, _ map[string]string) string {
		id := ""
		o.Settle(t, "a settlement is open", func() bool {
			r := o.Get(t, "/settlements?status=open").Want(t, http.StatusOK)
			found, ok := r.At(t, "data.0.id")
			id = fmt.Sprint(found)
			return ok
		})
		return id
	}},
	"/checkout/sessions/{token}": {Code: "checkout_session_not_found", Make: func(t *testing.T, o Client, _ map[string]string) string { return o.Session(t, CheckoutBody) }},
	"/payment-links/{id}": {Code: "not_found", Make: func(t *testing.T, o Client, _ map[string]string) string {
		return o.Post(t, "/payment-links", `{"amount":25.5,"merchantOrderId":"order of `+o.Shop.ID+`"}`).Want(t, http.StatusCreated).Text(t, "id")
	}},
	"/wallets/{id}": {Code: "wallet_not_found", Make: func(t *testing.T, o Client, _ map[string]string) string { return o.Wallet(t) }},
	"/withdrawals/{id}": {Code: "withdrawal_not_found", Make: func(t *testing.T, o Client, _ map[string]string) string {
		o.Fund(t, false, 100_00)
		id := o.Withdraw(t, "50")
		o.Clock.Advance(5 * time.Second)
		o.PayOut(t, id, "processing")
		o.Clock.Advance(15 * time.Second)
		o.PayOut(t, id, "completed")
		query, closeDB := o.Open(t)
		defer closeDB()
		Eventually(t, "the withdrawal was compared with the settlements", func() bool {
			_, err := o.App.Payouts.PayOut(ctx)
			Must(t, err)
			return query("SELECT due_at FROM withdrawals WHERE id = '" + id + "'")[0] == "0"
		})
		return id
	}},
	"/kyc/{id}":         {Code: "not_found", Wide: true, Make: verified},
	"/sandbox/kyc/{id}": {Code: "not_found", Wide: true, Make: verified},
	"/webhooks/{id}": {Code: "webhook_not_found", Make: func(t *testing.T, o Client, _ map[string]string) string {
		return o.Post(t, "/webhooks", `{"events":["payment.refunded"],"description":"hook of `+o.Shop.ID+`"}`).Want(t, http.StatusCreated).Text(t, "id")
	}},
	"/webhooks/{id}/deliveries/{deliveryId}": {Code: "webhook_delivery_not_found", Make: func(t *testing.T, o Client, ids map[string]string) string {
		o.Fund(t, false, 100_00)
		o.Simulate(t, o.Create(t, Card), "refunded").Want(t, http.StatusOK)
		return Subscribed{Client: o, ID: ids["/webhooks/{id}"]}.Last(t, "delivered").Text(t, "id")
	}},
	"/webhooks/{id}/replays/{replayId}": {Code: "not_found", Make: func(t *testing.T, o Client, ids map[string]string) string {
		path := "/webhooks/" + ids["/webhooks/{id}"]
		from := o.Clock.Now().UTC().Add(-time.Hour).Format(time.RFC3339)
		id := o.Post(t, path+"/replay", `{"from":"`+from+`","types":["withdrawal.failed"]}`).Want(t, http.StatusOK).Text(t, "id")
		Eventually(t, "the replay is done", func() bool { return o.Get(t, path+"/replays/"+id).Text(t, "status") == "done" })
		return id
	}},
	"/events/{id}": {Code: "event_not_found", Make: func(t *testing.T, o Client, _ map[string]string) string {
		o.Create(t, Card)
		return o.Get(t, "/events").Text(t, "data.0.id")
	}},
}

// verified begins a verification of the merchant and returns its id. If one is open, it is that
// one's id.
func verified(t *testing.T, o Client, _ map[string]string) string {
	return o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Text(t, "verificationId")
}

// PathParam matches an id in the template of a path, such as {id}.
var PathParam = regexp.MustCompile(`\{\w+\}`)
