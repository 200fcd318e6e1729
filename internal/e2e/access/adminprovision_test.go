package access

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/getkin/kin-openapi/openapi3"
)

const (
	created = http.StatusCreated
	fine    = http.StatusOK
)

// What nobody has is not found, whatever is asked of it.
func TestAdminAPIKnowsWhatDoesNotExist(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		doc, err := openapi3.NewLoader().LoadFromData(harness.PublishedForOperators.Text)
		harness.Must(t, err)
		names := strings.NewReplacer("{id}", "none1", "{name}", "nobody", "{currency}", "XAU", "{environment}", "sandbox")
		bodies := map[string]string{
			"changeMerchant": `{"refundFees":"kept"}`, "changeContact": `{"language":"es"}`, "pauseMerchant": `{"reason":"x"}`, "createShop": `{"name":"Two"}`,
			"changeShop": `{"name":"Two"}`, "createKey": `{"environment":"sandbox"}`, "rotateKey": `{}`, "revokeFoundKey": `{"key":"sk_test_x"}`, "revokeLogins": `{"loginId":"lgn_1","reason":"x"}`,
			"changeUserRole": `{"merchantId":"mer_1","role":"owner"}`, "changeOperatorRole": `{"role":"viewer"}`, "createUserLink": `{"kind":"sign-in"}`,
			"inviteUser": `{"email":"a@b.example","merchantId":"mer_1","role":"owner"}`, "addOperator": `{"name":"bot","role":"viewer","person":"usr_1"}`, "changeOperator": `{"role":"viewer"}`,
			"rejectProposal": `{"note":"x"}`, "changePayoutLimits": `{"hourly":"5"}`, "stopPayouts": `{"reason":"x"}`, "approveWithdrawal": `{"note":"x"}`, "askEvidence": `{"note":"x"}`,
			"importAnswers": `{"content":"eA=="}`, "enterFloat": `{"account":"x","amount":"5","currency":"MXN","reference":"r"}`, "closeNotification": `{"note":"x"}`,
			"decideVerification": `{"outcome":"verified"}`, "paySettlement": `{"reference":"r"}`, "reconcile": `{"reports":[{"name":"r.csv","content":"eA=="}]}`,
			"exportShopper": `{"merchantId":"mer_1","email":"a@b.example"}`, "eraseShopper": `{"transactionId":"TXN-1","dryRun":true}`,
			"rotateCredentials": `{"credentials":{"apiKey":"x"}}`, "changeAccount": `{"version":1}`, "resolvePayment": `{"outcome":"paid","note":"x"}`, "resolveClaim": `{"outcome":"approved","note":"x"}`,
			"carryEvidence": `{"note":"x"}`, "bookRefund": `{"reference":"r","origin":"provider","note":"x"}`, "resolveWithdrawal": `{"outcome":"paid","note":"x"}`,
			"rejectAdjustment": `{"note":"x"}`, "reverseAdjustment": `{"note":"x"}`,
		}
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				if operation.Responses.Value("404") == nil || operation.OperationID == "createAdjustment" {
					continue
				}
				at := names.Replace(path)
				if strings.HasPrefix(at, "/payout-limits") || operation.OperationID == "listUsers" || operation.OperationID == "listInvitations" {
					at += "?merchantId=mer_1"
				}
				body := bodies[operation.OperationID]
				if operation.RequestBody != nil && body == "" {
					t.Errorf("%s needs a body here", operation.OperationID)
					continue
				}
				if r := op.Ask(t, method, at, body); r.Status != http.StatusNotFound {
					t.Errorf("%s %s of nothing gets %s", method, path, r)
				}
			}
		}
	})
}

// An operator's program sets a merchant up, without the command line.
func TestAdminAPIProvisionsMerchants(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		made := op.Post(t, "/merchants", `{"name":"Acme","email":"ops@acme.example","industry":"retail","tier":"standard","language":"es"}`).Want(t, created)
		m, shop := made.Text(t, "merchant.id"), made.Text(t, "shop.id")
		if made.Text(t, "merchant.language") != "es" || made.Text(t, "merchant.tier") != "standard" || made.Text(t, "shop.merchantId") != m {
			t.Errorf("a new merchant is %s", made)
		}
		mine := harness.Client{Instance: op.Instance, Credential: made.Text(t, "keys.sandbox.secret")}
		mine.Get(t, "/me").Want(t, fine)
		op.Post(t, "/merchants", `{"name":"Bolt","email":"ops@bolt.example"}`).Want(t, created)
		page := op.Get(t, "/merchants?limit=1").Want(t, fine)
		next := op.Get(t, "/merchants?limit=1&startingAfter="+page.Text(t, "pagination.nextCursor")).Want(t, fine)
		if page.Text(t, "data.0.name") != "Bolt" || next.Text(t, "data.0.name") != "Acme" {
			t.Errorf("two pages of merchants are %s and %s", page, next)
		}
		op.Get(t, "/merchants?startingAfter=mer_1").Refused(t, "400 invalid_request invalid_request_error param=startingAfter")
		if r := op.Get(t, "/merchants?text=ACM").Want(t, fine); r.Text(t, "data.0.id") != m {
			t.Errorf("a search finds %s", r)
		}
		op.Patch(t, "/merchants/"+m+"/contact", `{"email":"new@acme.example","language":"pt"}`).Want(t, fine)
		op.Patch(t, "/merchants/"+m+"/contact", `{}`).Refused(t, "400 invalid_request invalid_request_error")
		// Shops.
		second := op.Post(t, "/merchants/"+m+"/shops", `{"name":"Acme Two"}`).Want(t, created).Text(t, "shop.id")
		if r := op.Get(t, "/merchants/"+m+"/shops").Want(t, fine); r.Text(t, "data.0.id") != shop || r.Text(t, "data.1.id") != second {
			t.Errorf("the shops are %s", r)
		}
		r := op.Patch(t, "/shops/"+second, `{"name":"Acme 2","brand":{"color":"#0a7d5a","frames":["https://shop.example"],"passFee":true},"schemes":["com.example.shop"]}`).Want(t, fine)
		if r.Text(t, "name") != "Acme 2" || r.Text(t, "brand.color") != "#0a7d5a" || r.Text(t, "schemes.0") != "com.example.shop" {
			t.Errorf("a changed shop is %s", r)
		}
		if r := op.Patch(t, "/shops/"+second, `{"name":"Acme 3","brand":{"color":"green"}}`); r.Status != http.StatusBadRequest {
			t.Errorf("a wrong colour gets %s", r)
		}
		if r := op.Get(t, "/shops/"+second).Want(t, fine); r.Text(t, "name") != "Acme 2" {
			t.Errorf("a refused change changed the shop: %s", r)
		}

		// Keys.
		k := op.Post(t, "/merchants/"+m+"/keys", `{"environment":"sandbox","shopId":"`+second+`","kind":"restricted","rights":["read"]}`).Want(t, created)
		id, text := k.Text(t, "key.id"), k.Text(t, "text")
		mine.As(text).Get(t, "/me").Want(t, fine)
		op.Get(t, "/keys/"+id).Want(t, fine)
		rolled := op.Post(t, "/keys/"+id+"/rotate", `{"grace":"0s"}`).Want(t, created)
		op.Post(t, "/keys/"+id+"/rotate", `{}`).Refused(t, "409 conflict_state conflict_error")
		if r := op.Get(t, "/merchants/"+m+"/keys?all=true").Want(t, fine); !strings.Contains(string(r.Body), id) || strings.Contains(string(r.Body), text) {
			t.Errorf("the keys are %s", r)
		}
		op.Get(t, "/merchants/"+m+"/keys").Want(t, fine)
		op.Remove(t, "/keys/"+rolled.Text(t, "key.id")).Want(t, fine)
		op.Post(t, "/key-revocations", `{"key":"`+made.Text(t, "keys.production.secret")+`"}`).Want(t, fine)
		op.Post(t, "/login-revocations", `{"merchantId":"`+m+`","reason":"a lost laptop"}`).Want(t, fine)
		op.Post(t, "/login-revocations", `{"reason":"x"}`).Refused(t, "400 invalid_request invalid_request_error")
		op.Get(t, "/merchants/"+m+"/sandbox/reset").Refused(t, "404 not_found invalid_request_error")
		op.Post(t, "/merchants/"+m+"/sandbox/reset", "").Want(t, fine)
		op.Get(t, "/merchants/"+m+"/sandbox/reset").Want(t, fine)
	})
}

// A repeat with the same key gets the same reply, also with its secret, and does nothing.
func TestAdminRequestsAreRepeated(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		const body = `{"name":"Acme","email":"ops@acme.example"}`
		key := "Idempotency-Key: 6f1c"
		first := op.Ask(t, http.MethodPost, "/merchants", body, key).Want(t, created)
		again := op.Ask(t, http.MethodPost, "/merchants", `{"email":"ops@acme.example", "name":"Acme"}`, key).Want(t, created)
		if string(first.Body) != string(again.Body) || first.Header.Get("Idempotency-Replayed") != "" || again.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("a repeat gets %s, want %s", again, first)
		}
		op.Ask(t, http.MethodPost, "/merchants", `{"name":"Bolt","email":"ops@acme.example"}`, key).Refused(t, "409 idempotency_conflict idempotency_error reason=body_differs")
		op.Ask(t, http.MethodPost, "/merchants", body, "Idempotency-Key: "+strings.Repeat("k", 256)).Refused(t, "400 invalid_request invalid_request_error param=Idempotency-Key")
		if r := op.Get(t, "/merchants?text=Acme").Want(t, fine); strings.Count(string(r.Body), `"email"`) != 1 {
			t.Errorf("a repeat made a merchant: %s", r)
		}
		other := op.Operator(t, "bot", op.Log)
		if r := other.Ask(t, http.MethodPost, "/merchants", body, key).Want(t, created); r.Text(t, "merchant.id") == first.Text(t, "merchant.id") {
			t.Error("an operator gets the reply of another one's key")
		}
		// A refusal keeps the key free.
		wrong := "Idempotency-Key: 77aa"
		op.Ask(t, http.MethodPost, "/merchants", `{"name":"Acme","email":"x"}`, wrong).Refused(t, "400 invalid_request invalid_request_error param=email")
		op.Ask(t, http.MethodPost, "/merchants", body, wrong).Want(t, created)
		secret := first.Text(t, "keys.production.secret")
		query, closeDB := op.Open(t)
		defer closeDB()
		kept := query(`SELECT object FROM once WHERE id LIKE '%|reply'`)
		if len(kept) != 3 || strings.Contains(strings.Join(kept, " "), secret) {
			t.Errorf("the stored replies are %q, want three without the secret", kept)
		}
	})
}
