package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

func TestAuditLogSaysWhoMovedMoneyOut(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		o.fund(t, false, 100_00)
		wallet := o.post(t, "/wallets", `{"type":"bank_account","currency":"MXN","destination":"`+clabe+`"}`).want(t, http.StatusCreated)
		id := wallet.text(t, "id")
		o.byRequest(t, o.act(t, audit.WalletCreated, id), wallet)
		const key = "Idempotency-Key: audited"
		made := o.post(t, "/withdrawals", `{"amount":10}`, key).want(t, http.StatusCreated)
		o.post(t, "/withdrawals", `{"amount":10}`, key).want(t, http.StatusCreated) // a replay does nothing
		out := made.text(t, "id")
		e := o.act(t, audit.WithdrawalCreated, out)
		o.byRequest(t, e, made)
		if e.Details["amount"] != "10.00 USD" || e.Details["wallet"] != id {
			t.Errorf("the withdrawal is told as %v", e.Details)
		}
		canceled := o.post(t, "/withdrawals/"+out+"/cancel", "").want(t, http.StatusOK)
		o.byRequest(t, o.act(t, audit.WithdrawalGivenUp, out), canceled)
		o.post(t, "/withdrawals/"+out+"/cancel", "").want(t, http.StatusConflict)
		deleted := o.delete(t, "/wallets/"+id).want(t, http.StatusOK)
		o.delete(t, "/wallets/"+id).want(t, http.StatusOK)
		o.byRequest(t, o.act(t, audit.WalletDeleted, id), deleted)

		begun := o.post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).want(t, http.StatusCreated)
		verification := begun.text(t, "verificationId")
		if e := o.act(t, audit.VerificationStarted, verification); e.By.Kind != audit.ByKey || e.By.Request != begun.header.Get("X-Request-Id") || e.Shop != "" {
			t.Errorf("the verification was begun by %+v", e)
		}
		must(t, s.App.Verifications.Decide(ctx, verification, tenant.KYCVerified, "", ""))
		if e := o.act(t, audit.VerificationMoved, verification); e.By.Kind == audit.ByKey || e.Details["from"] != "requires_input" || e.Details["to"] != "verified" {
			t.Errorf("the verification was decided by %+v", e)
		}
		log, err := json.Marshal(o.acts(t))
		must(t, err)
		if strings.Contains(string(log), clabe) {
			t.Errorf("the audit log tells the destination: %s", log)
		}
	})
}
