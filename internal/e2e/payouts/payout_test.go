package payouts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"net/http"
	"strings"
	"testing"
)

// bankTells sends a notification with one notice to an account of a harness.Payer, and returns the
// reply's status. The right signature is "bank".
func bankTells(t *testing.T, s *harness.Instance, account, signature string, n pay.PayoutNotice) int {
	t.Helper()
	body, err := json.Marshal([]pay.PayoutNotice{n})
	harness.Must(t, err)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+harness.APIPath+"/providers/"+account+"/notifications", bytes.NewReader(body))
	harness.Must(t, err)
	request.Header.Set("Signature", signature)
	reply, err := http.DefaultClient.Do(request)
	harness.Must(t, err)
	harness.Must(t, reply.Body.Close())
	return reply.StatusCode
}

// Anybody can send a notification that nobody signs. It costs a call of the provider only if it names a payout that is
// there, and not many. Nobody learns which payouts there are.
func TestUnsignedNotificationsCostNothing(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		id := o.Withdraw(t, "100")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "completed")
		for i := range 200 {
			for account, n := range map[string]pay.PayoutNotice{"bank-1": {ID: "1", Reference: fmt.Sprintf("01M7Z%d", i)}, "nobody": {ID: "1", ProviderRef: fmt.Sprintf("p%d", i)}} {
				want := map[string]int{"bank-1": http.StatusOK, "nobody": http.StatusUnauthorized}[account]
				if got := bankTells(t, o.Instance, account, "none", n); got != want {
					t.Fatalf("an unsigned notification about nothing of ours gets %d at %s, want %d", got, account, want)
				}
			}
		}
		if b.Asked != 0 {
			t.Errorf("they made %d calls, want none", b.Asked)
		}
		known, refused := strings.TrimPrefix(id, pay.WithdrawalPrefix), 0
		for range 200 {
			if bankTells(t, o.Instance, "bank-1", "none", pay.PayoutNotice{ID: "2", Reference: known, Outcome: pay.PayoutOutcome{Kind: pay.PayoutPaid}}) == http.StatusTooManyRequests {
				refused++
			}
		}
		if b.Asked < 1 || b.Asked > 10 || refused < 100 {
			t.Errorf("200 notifications about a payout made %d calls and %d refusals, want a few calls", b.Asked, refused)
		}
	})
}

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
		o.Post(t, "/withdrawals/"+out+"/cancel", "").Refused(t, "409 conflict_state conflict_error from=canceled action=cancel")
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
