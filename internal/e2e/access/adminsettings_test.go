package access

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// Limits, rules and rates, over the admin API alone.
func TestAdminAPISetsLimitsRulesAndRates(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		m := op.Post(t, "/merchants", `{"name":"Acme","email":"ops@acme.example"}`).Want(t, created).Text(t, "merchant.id")
		of := "/payout-limits/production?merchantId=" + m
		if r := op.Get(t, of).Want(t, fine); r.Text(t, "version") != "0" || r.Text(t, "merchantId") != m || r.Text(t, "environment") != "production" {
			t.Errorf("limits that were never set are %s", r)
		}
		op.Patch(t, of, `{"automatic":true,"minimum":"100","days":"mon,thu","approvalAbove":"5000"}`).Want(t, fine)
		op.Patch(t, of, `{}`).Refused(t, "400 invalid_request invalid_request_error")
		op.Patch(t, of, `{"hourly":"-1"}`).Refused(t, "400 invalid_request invalid_request_error param=hourly")
		op.Patch(t, "/payout-limits/production", `{"automatic":true}`).Refused(t, "400 invalid_request invalid_request_error param=automatic")
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
	})
}
