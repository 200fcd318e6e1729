package payouts

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
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

// The rate is fixed when a withdrawal is made, so giving it up and making another must bring nothing (PAYOUT-13). A merchant
// gives it up by deleting its wallet, too.
func TestDeletingTheWalletBringsNoBetterRate(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, _ *harness.Payer) {
		second := o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"002010077777777771"}`)
		o.Clock.Advance(time.Second)
		first := o.Post(t, "/withdrawals", `{"amount":100}`).Want(t, http.StatusCreated)
		o.Rate(t, "MXN 18.90")
		o.Delete(t, "/wallets/"+first.Text(t, "walletId")).Want(t, http.StatusOK)
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, first.Text(t, "id"), "failed")
		if again := o.Post(t, "/withdrawals", `{"amount":100,"walletId":"`+second+`"}`).Want(t, http.StatusCreated); again.Text(t, "payout.rate") != "18.35" {
			t.Errorf("a merchant gives a withdrawal at 18.35 up by deleting its wallet, and gets %s", again.Text(t, "payout.rate"))
		}
	})
}
