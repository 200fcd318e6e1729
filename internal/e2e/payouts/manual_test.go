package payouts

import (
	"net/http"
	"strings"
	"testing"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// A withdrawal that the operator pays by hand waits until he resolves it, with the bank's reference.
func TestOperatorPaysByHand(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.WalletCoolDown = time.Millisecond })
		s.Rate(t, "MXN 18.3")
		o := s.NewShop(t).Production()
		unverified := o.Wallet(t)
		s.Clock.Advance(time.Second)
		if r := o.Get(t, "/wallets/"+unverified); r.Text(t, "unpayableReason") != "kyc_required" {
			t.Errorf("before the verification the wallet is %s, want kyc_required", r)
		}
		v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
		o.Fund(t, true, 1_000_00)
		w := unverified

		// No account pays out yet. The wallet shows that before a withdrawal is refused.
		payable := func(want, why string) {
			t.Helper()
			if r := o.Get(t, "/wallets/"+w); r.Text(t, "payable") != want || r.Text(t, "unpayableReason") != why {
				t.Errorf("want payable %s, %q: %s", want, why, r)
			}
		}
		payable("false", "no_payout_account")
		o.Post(t, "/withdrawals", `{"amount":100}`).Refused(t, "503 service_unavailable api_error reason=no_payout_account")
		s.PayOutBy(t, "manual", appaccounts.NewAccount{ID: "by-hand", Terms: []accounts.RailTerms{{Limits: []accounts.Limit{{Currency: "USD", Min: 10_00, Max: 500_00}}}}})
		payable("true", "<nil>")
		o.Post(t, "/withdrawals", `{"amount":600}`).Refused(t, "400 amount_above_maximum invalid_request_error param=amount")
		o.Post(t, "/withdrawals", `{"amount":12}`).Refused(t, "400 amount_below_minimum invalid_request_error param=amount")

		id := o.Post(t, "/withdrawals", `{"amount":100}`).Want(t, http.StatusCreated).Text(t, "id")
		s.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "processing")
		shown, err := s.App.Payouts.RevealWithdrawal(ctx, s.App.Self(), id)
		harness.Must(t, err)
		if shown.Destination != "032180000118359719" || shown.Payout.Provider != "by-hand" {
			t.Errorf("the operator sees the destination %q at %s", shown.Destination, shown.Payout.Provider)
		}
		if shown.Hold != pay.Payable {
			t.Errorf("the operator must not pay it: %s", shown.Hold)
		}
		// Whoever pays by hand is told of a stop that came after the withdrawal was handed out.
		stop := func(why string) {
			_, err := s.App.Payouts.LimitPayouts(ctx, carla, "", true, func(l *pay.PayoutLimits) { l.Stopped = why })
			harness.Must(t, err)
		}
		stop("a key was stolen")
		if shown, err := s.App.Payouts.RevealWithdrawal(ctx, s.App.Self(), id); err != nil || shown.Hold != pay.WaitsStopped {
			t.Errorf("payouts are stopped, and the operator is told %q, %v", shown.Hold, err)
		}
		stop("")
		paid := base.Resolution{ID: id, Word: pay.WordPaid, Note: "statement of today", Reference: "SPEI-77"}
		ended, said, err := s.App.Payouts.ResolveWithdrawal(ctx, s.App.Self(), paid)
		harness.Must(t, err)
		if ended.Status != pay.WithdrawalDone || ended.Payout.BankRef != "SPEI-77" || said != pay.PayoutHeld {
			t.Errorf("after the operator's word the withdrawal is %v (provider: %s) with the reference %q", ended, said, ended.Payout.BankRef)
		}
		if _, _, err := s.App.Payouts.ResolveWithdrawal(ctx, s.App.Self(), paid); err == nil {
			t.Error("the withdrawal was resolved as paid twice")
		}
		not := o.Post(t, "/withdrawals", `{"amount":50}`).Want(t, http.StatusCreated).Text(t, "id")
		s.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, not, "processing")
		s.Clock.Advance(time.Hour)
		_, _, err = s.App.Payouts.ResolveWithdrawal(ctx, s.App.Self(), base.Resolution{ID: not, Word: pay.WordNotPaid, Note: "the account is closed"})
		harness.Must(t, err)
		if got := harness.Available(t, o); got != "900" {
			t.Errorf("%s USD are available, want 900: the withdrawal that was not paid is back", got)
		}
		// The operator enters days later that the first payout was returned. He can do so only once.
		s.Clock.Advance(48 * time.Hour)
		back := base.Resolution{ID: id, Word: pay.WordReturned, Note: "today's statement", Reference: "SPEI-99"}
		if ended, _, err := s.App.Payouts.ResolveWithdrawal(ctx, s.App.Self(), back); err != nil || ended.Status != pay.WithdrawalRefused || ended.FailureCode != "returned" {
			t.Errorf("after the return the withdrawal is %v with the error %v", ended, err)
		}
		if _, _, err := s.App.Payouts.ResolveWithdrawal(ctx, s.App.Self(), back); err == nil {
			t.Error("the withdrawal was returned twice")
		}
		if got := harness.Available(t, o); got != "997" {
			t.Errorf("%s USD are available, want 997: all but the fee is back", got)
		}
		log, err := s.App.Audit(ctx, o.Merchant.ID, "", time.Time{}, 100)
		harness.Must(t, err)
		var acts []string
		for _, e := range log {
			acts = append(acts, string(e.Act))
		}
		if told := strings.Join(acts, " "); !strings.Contains(told, "wallet.revealed") || !strings.Contains(told, "withdrawal.ruled") {
			t.Errorf("the audit log has the acts %s, want wallet.revealed and withdrawal.ruled", told)
		}
	})
}
