package payouts

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

func TestAuditLogSaysWhoMovedMoneyOut(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Fund(t, false, 100_00)
		wallet := o.Post(t, "/wallets", `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`"}`).Want(t, http.StatusCreated)
		id := wallet.Text(t, "id")
		harness.AuditByRequest(t, o, harness.AuditEntry(t, o, audit.WalletCreated, id), wallet)
		const key = "Idempotency-Key: audited"
		made := o.Post(t, "/withdrawals", `{"amount":10}`, key).Want(t, http.StatusCreated)
		o.Post(t, "/withdrawals", `{"amount":10}`, key).Want(t, http.StatusCreated) // a replay does nothing
		out := made.Text(t, "id")
		e := harness.AuditEntry(t, o, audit.WithdrawalCreated, out)
		harness.AuditByRequest(t, o, e, made)
		if e.Details["amount"] != "10.00 USD" || e.Details["wallet"] != id {
			t.Errorf("the entry of the withdrawal has %v", e.Details)
		}
		canceled := o.Post(t, "/withdrawals/"+out+"/cancel", "").Want(t, http.StatusOK)
		harness.AuditByRequest(t, o, harness.AuditEntry(t, o, audit.WithdrawalGivenUp, out), canceled)
		o.Post(t, "/withdrawals/"+out+"/cancel", "").Want(t, http.StatusConflict)
		deleted := o.Delete(t, "/wallets/"+id).Want(t, http.StatusOK)
		o.Delete(t, "/wallets/"+id).Want(t, http.StatusOK)
		harness.AuditByRequest(t, o, harness.AuditEntry(t, o, audit.WalletDeleted, id), deleted)

		begun := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated)
		verification := begun.Text(t, "verificationId")
		if e := harness.AuditEntry(t, o, audit.VerificationStarted, verification); e.By.Kind != audit.ByKey || e.By.Request != begun.Header.Get("X-Request-Id") || e.Shop != "" {
			t.Errorf("the entry of the verification's start is %+v", e)
		}
		harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), verification, merchants.KYCVerified, "", ""))
		if e := harness.AuditEntry(t, o, audit.VerificationMoved, verification); e.By.Kind == audit.ByKey || e.Details["from"] != "requires_input" || e.Details["to"] != "verified" {
			t.Errorf("the entry of the verification's decision is %+v", e)
		}
		log, err := json.Marshal(harness.AuditActs(t, o))
		harness.Must(t, err)
		if strings.Contains(string(log), harness.CLABE) {
			t.Errorf("the audit log has the destination in plain text: %s", log)
		}
	})
}
