package access

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider/providertest"
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
			"closeMerchant": `{"reason":"x"}`, "switchSandbox": `{"on":false}`, "changeMerchant": `{"refundFees":"kept"}`, "changeContact": `{"language":"es"}`, "pauseMerchant": `{"reason":"x"}`, "createShop": `{"name":"Two"}`,
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

const conflict = "409 conflict_state conflict_error"

// Users, invitations, operators and what needs two persons, over the admin API alone.
func TestAdminAPIManagesPeople(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		m := o.Merchant.ID
		op.Post(t, "/invitations", `{"email":"eva@acme.example","role":"owner"}`).Refused(t, "400 invalid_request invalid_request_error param=operatorRole")
		op.Post(t, "/invitations", `{"email":"eva@acme.example","merchantId":"`+m+`"}`).Refused(t, "400 invalid_request invalid_request_error param=role")
		sent := op.Post(t, "/invitations", `{"email":"eva@acme.example","merchantId":"`+m+`","role":"owner","language":"es"}`).Want(t, created)
		id := sent.Text(t, "invitation.id")
		if !strings.Contains(sent.Text(t, "address"), "/dashboard/link/") {
			t.Errorf("an invitation is %s", sent)
		}
		op.Get(t, "/invitations?merchantId="+m).Want(t, fine)
		op.Get(t, "/invitations/"+id+"?merchantId="+m).Want(t, fine)
		op.Remove(t, "/invitations/"+id+"?merchantId="+m).Want(t, fine)
		op.Get(t, "/invitations/"+id+"?merchantId="+m).Refused(t, "404 not_found invalid_request_error")

		first := o.Staff(t, people.Owner).User
		owner, second := first.ID, o.Staff(t, people.Viewer).User.ID
		op.Post(t, "/invitations", `{"email":"`+first.Email+`","merchantId":"`+m+`","role":"owner"}`).Refused(t, conflict+" reason=is_member")
		if r := op.Get(t, "/users?limit=1&merchantId="+m).Want(t, fine); r.Text(t, "data.0.id") != owner || r.Text(t, "pagination.nextCursor") != owner {
			t.Errorf("the first page of users is %s", r)
		}
		op.Ask(t, http.MethodPut, "/users/"+second+"/role", `{"merchantId":"`+m+`","role":"developer"}`).Want(t, fine)
		op.Ask(t, http.MethodPut, "/users/"+owner+"/role", `{"merchantId":"`+m+`","role":"viewer"}`).Refused(t, conflict+" reason=last_owner")
		op.Ask(t, http.MethodPut, "/users/"+second+"/operator-role", `{"role":"viewer"}`).Refused(t, conflict+" reason=not_operator")
		if r := op.Get(t, "/users/"+second).Want(t, fine); r.Text(t, "memberships.0.role") != "developer" {
			t.Errorf("a changed user is %s", r)
		}
		op.Post(t, "/users/"+second+"/unlock", "").Want(t, fine)
		op.Post(t, "/users/"+second+"/sign-out", "").Want(t, fine)
		op.Post(t, "/users/"+second+"/links", `{"kind":"sign-in"}`).Want(t, created)
		op.Remove(t, "/users/"+owner+"?merchantId="+m).Refused(t, conflict+" reason=last_owner")
		op.Remove(t, "/users/"+second).Want(t, fine)

		boss := harness.OperatorUser(t, o).User.ID
		op.Post(t, "/users/"+boss+"/links", `{"kind":"password"}`).Refused(t, conflict+" reason=operator")
		op.Ask(t, http.MethodPut, "/users/"+boss+"/operator-role", `{"role":"finance"}`).Want(t, fine)
	})
}

func TestAdminAPIManagesOperators(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		added := op.Post(t, "/operators", `{"name":"bot","role":"viewer"}`).Want(t, created)
		bot := op
		bot.Token = added.Text(t, "token")
		bot.Get(t, "/operators").Want(t, fine)
		bot.Post(t, "/operators", `{"name":"bot2","role":"admin"}`).Refused(t, "403 forbidden permission_error reason=role")
		op.Post(t, "/operators", `{"name":"bot","role":"viewer"}`).Refused(t, conflict+" reason=name_taken")
		op.Patch(t, "/operators/bot", `{"role":"support"}`).Want(t, fine)
		if r := op.Get(t, "/operators/bot").Want(t, fine); r.Text(t, "role") != "support" {
			t.Errorf("a changed operator is %s", r)
		}
		op.Remove(t, "/operators/bot").Want(t, fine)
		op.Remove(t, "/operators/bot").Refused(t, conflict+" reason=removed")
		op.Patch(t, "/operators/bot", `{"role":"viewer"}`).Refused(t, conflict+" reason=removed")

		// Two persons.
		mate := harness.OperatorToken(t, op.Instance, auth.Newcomer{Name: "ben", Role: operators.Admin}, op.Log)
		op.Get(t, "/dual-controls").Want(t, fine)
		op.Ask(t, http.MethodPut, "/dual-controls/limits", `{"required":true}`).Want(t, fine)
		key := "Idempotency-Key: 41"
		change := func() harness.Reply {
			return op.Ask(t, http.MethodPatch, "/payout-limits/production", `{"daily":"20000"}`, key)
		}
		change().Refused(t, conflict+" reason=approval_needed")
		list := op.Get(t, "/proposals").Want(t, fine)
		id := list.Text(t, "data.0.id")
		op.Get(t, "/proposals/"+id).Want(t, fine)
		op.Post(t, "/proposals/"+id+"/approve", "").Refused(t, conflict+" reason=same_operator")
		mate.Post(t, "/proposals/"+id+"/approve", "").Want(t, fine)
		if r := op.Get(t, "/payout-limits/production").Want(t, fine); r.Text(t, "daily") != "20000" {
			t.Errorf("approved limits are %s", r)
		}
		op.Ask(t, http.MethodPut, "/dual-controls/limits", `{"required":false}`).Refused(t, conflict+" reason=approval_needed")
		next := op.Get(t, "/proposals").Want(t, fine).Text(t, "data.0.id")
		mate.Post(t, "/proposals/"+next+"/reject", `{"note":"not now"}`).Want(t, fine)
		mate.Post(t, "/proposals/"+next+"/reject", `{"note":"not now"}`).Refused(t, conflict+" reason=rejected")
		op.Post(t, "/payout-limits/production/stop", `{"reason":"a key was stolen"}`).Want(t, fine)
		op.Post(t, "/payout-limits/production/resume", "").Refused(t, conflict+" reason=approval_needed")
		op.Ask(t, http.MethodPut, "/dual-controls/manage", `{"required":true}`).Want(t, fine)
		// A proposal does not use the key up: the approved one is carried out with it, once.
		once := "Idempotency-Key: 42"
		add := func() harness.Reply {
			return op.Ask(t, http.MethodPost, "/operators", `{"name":"carl","role":"viewer"}`, once)
		}
		add().Refused(t, conflict+" reason=approval_needed")
		mate.Post(t, "/proposals/"+op.Get(t, "/proposals").Text(t, "data.0.id")+"/approve", "").Want(t, fine)
		first, again := add().Want(t, created), add().Want(t, created)
		if first.Text(t, "token") != again.Text(t, "token") {
			t.Errorf("a repeat has another token: %s", again)
		}
	})
}

// Limits, rules and rates, over the admin API alone.
func TestAdminAPISetsLimitsRulesAndRates(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		m := op.Post(t, "/merchants", `{"name":"Acme","email":"ops@acme.example"}`).Want(t, created).Text(t, "merchant.id")
		of := "/payout-limits/production?merchantId=" + m
		if r := op.Get(t, of).Want(t, fine); r.Text(t, "version") != "0" || r.Text(t, "merchantId") != m || r.Text(t, "environment") != "production" {
			t.Errorf("limits that were never set are %s", r)
		}
		op.Patch(t, of, `{"schedule":"automatic","minimum":"100","days":"mon,thu","approvalAbove":"5000"}`).Want(t, fine)
		op.Patch(t, of, `{}`).Refused(t, "400 invalid_request invalid_request_error")
		op.Patch(t, of, `{"hourly":"-1"}`).Refused(t, "400 invalid_request invalid_request_error param=hourly")
		op.Patch(t, "/payout-limits/production", `{"schedule":"automatic"}`).Refused(t, "400 invalid_request invalid_request_error param=schedule")
		op.Post(t, "/payout-limits/production/stop?merchantId="+m, `{"reason":"we look into it"}`).Want(t, fine)
		if r := op.Post(t, "/payout-limits/production/resume?merchantId="+m, "").Want(t, fine); r.Text(t, "stopped") != "<nil>" && r.Text(t, "stopped") != "" || r.Text(t, "days") != "mon,thu" {
			t.Errorf("resumed limits are %s", r)
		}
		op.Get(t, "/payout-limits").Want(t, fine)

		// Rules.
		u := providertest.NewUpstream(t, "key-1")
		op.Post(t, "/accounts", harness.PlainAccount("bank", u, "")).Want(t, created)
		rules := op.Get(t, "/routing-rules").Want(t, fine)
		if rules.Text(t, "version") != "0" || rules.Text(t, "applied") != "false" {
			t.Errorf("rules that were never applied are %s", rules)
		}
		put := func(body string) harness.Reply { return op.Ask(t, http.MethodPut, "/routing-rules", body) }
		applied := put(`{"version":0,"file":"order: least_cost\n"}`).Want(t, fine)
		put(`{"version":0,"file":"order: priority\n"}`).Refused(t, conflict+" reason=version")
		if r := put(`{"version":1,"file":"ordr: priority\n"}`); r.Status != http.StatusBadRequest || !strings.Contains(r.Text(t, "error.message"), "ordr") {
			t.Errorf("a wrong file gets %s", r)
		}
		if r := put(`{"version":1,"file":"rails: {pix.BRA: {accounts: [nobody]}}\n"}`); r.Status != http.StatusBadRequest {
			t.Errorf("rules of an unknown account get %s", r)
		}
		if again := put(`{"version":1,"file":"order: least_cost\n"}`).Want(t, fine); again.Text(t, "version") != applied.Text(t, "version") {
			t.Errorf("the same rules again are %s", again)
		}
		op.Get(t, "/routing-rules/versions").Want(t, fine)
		op.Post(t, "/routing-replays", `{"file":"order: priority\n","from":"2026-01-01T00:00:00Z","examples":5}`).Want(t, fine)
		op.Remove(t, "/routing-rules?version=7").Refused(t, conflict+" reason=version")
		op.Remove(t, "/routing-rules?version=1").Want(t, fine)

		// Rates.
		op.Get(t, "/rates").Want(t, fine)
		op.Get(t, "/rates/BRL").Want(t, fine)
		if r := op.Ask(t, http.MethodPut, "/rates/BRL", `{"rate":"5.5","source":"desk"}`).Want(t, fine); r.Text(t, "rate") != "5.5" || r.Text(t, "source") != "desk" {
			t.Errorf("a rate that was set is %s", r)
		}
		op.Ask(t, http.MethodPut, "/rates/BRL", `{"rate":"5.6","at":"2020-01-01T00:00:00Z"}`).Refused(t, conflict+" reason=newer")
		op.Ask(t, http.MethodPut, "/rates/BRL", `{"rate":"55"}`).Refused(t, "400 invalid_request invalid_request_error param=rate")
		op.Ask(t, http.MethodPut, "/rates/BRL", `{"rate":"x"}`).Refused(t, "400 invalid_request invalid_request_error param=rate")
		op.Get(t, "/rates/BRL/readings").Want(t, fine)
		op.Post(t, "/rate-imports", `{"content":"currency,rate\nMXN,18.5\n","source":"file"}`).Want(t, fine)
		op.Post(t, "/rate-imports", `{"content":"nonsense","source":"file"}`).Refused(t, "400 invalid_request invalid_request_error param=content")

		// The books.
		op.Get(t, "/audit?limit=2&merchantId="+m).Want(t, fine)
		op.Get(t, "/audit?action=merchant.created").Want(t, fine)
		op.Get(t, "/stories/"+m).Want(t, fine)
		heads := op.Get(t, "/seals/heads").Want(t, fine)
		_ = heads
		op.Post(t, "/seals/comparisons", `{"lines":["nonsense"]}`).Refused(t, "400 invalid_request invalid_request_error param=lines")
		op.Post(t, "/seals/comparisons", `{"lines":["- production 1 `+strings.Repeat("0", 64)+`"]}`).Want(t, fine)
		op.Post(t, "/books-check", `{}`).Want(t, fine)
		harness.Eventually(t, "a check is refused while another one runs", func() bool {
			return strings.HasPrefix(op.Post(t, "/books-check", `{}`).Problem(t), "409 conflict_state")
		})
		op.Get(t, "/books-check").Want(t, fine)
		op.Remove(t, "/books-check").Want(t, fine)
		op.Post(t, "/shopper-exports", `{"merchantId":"`+m+`","email":"eva@shop.example"}`).Want(t, fine)
		op.Post(t, "/shopper-erasures", `{"merchantId":"`+m+`","email":"eva@shop.example","dryRun":true}`).Want(t, fine)
		op.Get(t, "/reconciliations").Want(t, fine)
		report := `{"reports":[{"name":"r.csv","content":"cmVmZXJlbmNlLGFtb3VudCxjdXJyZW5jeSxkYXRlCg=="}],"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`
		op.Post(t, "/accounts/bank/reconciliations", report).Want(t, created)
		for _, path := range []string{"/claims", "/claims?carry=true", "/notifications", "/notifications?unknown=true", "/verifications", "/settlements", "/batches", "/floats", "/withdrawals/sent", "/withdrawals/waiting", "/invitations", "/users"} {
			op.Get(t, path).Want(t, fine)
		}
	})
}

// Verifications are decided, and claims are read, over the admin API.
func TestAdminAPIDecidesCases(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		v := o.Production().Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, created).Text(t, "verificationId")
		decision := "/verifications/" + v + "/decision"
		op.Post(t, decision, `{"outcome":"rejected"}`).Refused(t, "400 invalid_request invalid_request_error")
		op.Post(t, decision, `{"outcome":"verified"}`).Want(t, fine)
		op.Get(t, "/verifications/"+v).Want(t, fine)
		if r := op.Post(t, decision, `{"outcome":"rejected","code":"x","message":"x"}`); !strings.HasPrefix(r.Problem(t), "409 conflict_state") {
			t.Errorf("a second decision gets %s", r)
		}
		p := o.Post(t, "/payments", harness.Card).Want(t, created).Text(t, "transactionId")
		o.Post(t, "/payments/"+p+"/simulate", `{"action":"chargeback"}`).Want(t, fine)
		claim := op.Get(t, "/claims?transactionId="+p).Want(t, fine).Text(t, "data.0.id")
		op.Get(t, "/claims/"+claim).Want(t, fine)
		if r := op.Post(t, "/claims/"+claim+"/ask", `{"note":"who paid?"}`); !strings.HasPrefix(r.Problem(t), "409 ") {
			t.Errorf("a question about a chargeback gets %s", r)
		}
		op.Post(t, "/claims/"+claim+"/resolution", `{"outcome":"rejected","note":"the bank"}`).Want(t, fine)
		if r := op.Post(t, "/claims/"+claim+"/ask", `{"note":"who paid?"}`); !strings.HasPrefix(r.Problem(t), "409 claim_already_resolved") {
			t.Errorf("a question about a claim that has ended gets %s", r)
		}
		late := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		op.Notify(t, "sandbox-1", harness.NoticeBody(late, `"status":"declined"`)).Want(t, fine)
		op.Notify(t, "sandbox-1", harness.NoticeBody(late, harness.Paid50)).Want(t, fine)
		inquiry := op.Get(t, "/claims?transactionId="+late).Want(t, fine).Text(t, "data.0.id")
		op.Post(t, "/claims/"+inquiry+"/ask", `{"note":"is the order still wanted?"}`).Want(t, fine)
		odd := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		op.Notify(t, "sandbox-1", harness.NoticeBody(odd, `"status":"paid","amount":"183","currency":"USD"`)).Want(t, fine)
		notice := "/notifications/" + url.PathEscape(op.Get(t, "/notifications").Want(t, fine).Text(t, "data.0.id"))
		op.Get(t, notice).Want(t, fine)
		op.Post(t, notice+"/close", `{"note":"given back at the provider"}`).Want(t, fine)
		if r := op.Post(t, notice+"/close", `{"note":"once more"}`); !strings.HasPrefix(r.Problem(t), "409 conflict_state") {
			t.Errorf("a notification is closed twice: %s", r)
		}
	})
}

// A name that was removed and is given again is another token: it gets no reply of the earlier one's keys.
func TestNameGivenAgainHasItsOwnKeys(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		const body, key = `{"name":"Acme","email":"ops@acme.example"}`, "Idempotency-Key: deploy-1"
		bot := op.Operator(t, "bot", op.Log)
		first := bot.Ask(t, http.MethodPost, "/merchants", body, key).Want(t, created)
		op.Remove(t, "/operators/bot").Want(t, fine)
		bot.Ask(t, http.MethodPost, "/merchants", body, key).Refused(t, "401 invalid_token authentication_error")
		op.Clock.Advance(time.Second)
		again := op.Operator(t, "bot", op.Log)
		for range 2 {
			r := again.Ask(t, http.MethodPost, "/merchants", body, key).Want(t, created)
			if r.Text(t, "merchant.id") == first.Text(t, "merchant.id") || strings.Contains(string(r.Body), first.Text(t, "keys.production.secret")) {
				t.Errorf("the new token gets what the old one was shown: %s", r)
			}
		}
		if r := again.Get(t, "/merchants?text=Acme").Want(t, fine); strings.Count(string(r.Body), `"email"`) != 2 {
			t.Errorf("two tokens made %s", r)
		}
	})
}

// A node that dies before it has stored the reply leaves a repeat without one: it is refused, and does nothing (IDEM-13).
func TestLostReplyIsNotDoneAgain(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		const body, key = `{"name":"Acme","email":"ops@acme.example"}`, "Idempotency-Key: deploy-1"
		op.Ask(t, http.MethodPost, "/merchants", body, key).Want(t, created)
		exec, closeDB := op.Exec(t)
		defer closeDB()
		exec(`DELETE FROM once WHERE id LIKE '%|reply'`)
		for range 2 {
			op.Ask(t, http.MethodPost, "/merchants", body, key).Refused(t, "409 idempotency_conflict idempotency_error reason=reply_lost")
		}
		op.Ask(t, http.MethodPost, "/merchants", `{"name":"Bolt","email":"ops@acme.example"}`, key).Refused(t, "409 idempotency_conflict idempotency_error reason=body_differs")
		if r := op.Get(t, "/merchants").Want(t, fine); strings.Count(string(r.Body), `"email"`) != 1 {
			t.Errorf("a repeat of a request whose reply is lost made %s", r)
		}
		op.Ask(t, http.MethodPost, "/merchants", body, "Idempotency-Key: deploy-2").Want(t, created)
	})
}

// sentAtOnce sends one request with one key several times at once, to the nodes in turn. It fails the test unless one merchant is made, of
// which every reply is, or says that the first is still being stored, and of which a later repeat has the same reply.
func sentAtOnce(t *testing.T, key string, nodes ...harness.Operator) {
	t.Helper()
	body := fmt.Sprintf(`{"name":%q,"email":"ops@acme.example"}`, key)
	replies := make([]harness.Reply, 8)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() {
			replies[i] = nodes[i%len(nodes)].Ask(t, http.MethodPost, "/merchants", body, "Idempotency-Key: "+key)
		})
	}
	all.Wait()
	for _, node := range nodes {
		last := node.Ask(t, http.MethodPost, "/merchants", body, "Idempotency-Key: "+key).Want(t, created)
		if last.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("a repeat of %s is done again: %s", key, last)
		}
		for _, r := range replies {
			if r.Status != created && r.Problem(t) != "409 idempotency_conflict idempotency_error reason=reply_lost" || r.Status == created && string(r.Body) != string(last.Body) {
				t.Errorf("a request with the key %s gets %s, and a later one %s", key, r, last)
			}
		}
		if list := node.Get(t, "/merchants?text="+key).Want(t, fine); strings.Count(string(list.Body), `"email"`) != 1 {
			t.Errorf("%d requests with the key %s made %s", len(replies), key, list)
		}
	}
}

// One key that comes several times at once does its work once, on one node and on two (IDEM-13).
func TestOneKeyAtOnceOfAnOperatorIsDoneOnce(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		for i := range 5 {
			sentAtOnce(t, fmt.Sprintf("alone-%d", i), op)
		}
	})
	t.Run("two nodes", func(t *testing.T) {
		t.Parallel()
		database, clock, log := dbtest.Postgres(t), &harness.Clock{}, &harness.Diary{}
		node := func() *harness.Instance {
			return harness.StartWith(t, database, clock, func(c *daemon.Config) { c.Admin = "127.0.0.1:0" })
		}
		a := node().Operator(t, "ana", log)
		b := a
		b.Instance = node()
		for i := range 5 {
			sentAtOnce(t, fmt.Sprintf("both-%d", i), a, b)
		}
	})
}
