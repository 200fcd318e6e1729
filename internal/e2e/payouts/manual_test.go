package payouts

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// What the operator pays by hand waits for his word, and ends with it and the bank's reference.
func TestOperatorPaysByHand(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.WalletCoolDown = time.Millisecond })
		s.Rate(t, "MXN 18.3")
		o := s.NewShop(t).Production()
		unverified := o.Wallet(t)
		s.Clock.Advance(time.Second)
		if r := o.Get(t, "/wallets/"+unverified); r.Text(t, "unpayableReason") != "kyc_required" {
			t.Errorf("before the verification: %s", r)
		}
		v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		harness.Must(t, s.App.Verifications.Decide(ctx, v, tenant.KYCVerified, "", ""))
		o.Fund(t, true, 1_000_00)
		w := unverified

		// Nobody pays out yet: the wallet says so before a withdrawal is refused.
		payable := func(want, why string) {
			t.Helper()
			if r := o.Get(t, "/wallets/"+w); r.Text(t, "payable") != want || r.Text(t, "unpayableReason") != why {
				t.Errorf("want payable %s, %q: %s", want, why, r)
			}
		}
		payable("false", "no_payout_account")
		o.Post(t, "/withdrawals", `{"amount":100}`).Refused(t, "503 service_unavailable api_error reason=no_payout_account")
		s.PayOutBy(t, "manual", acquiring.NewAccount{ID: "by-hand", Terms: []acquirer.RailTerms{{Limits: []acquirer.Limit{{Currency: "USD", Min: 10_00, Max: 500_00}}}}})
		payable("true", "<nil>")
		o.Post(t, "/withdrawals", `{"amount":600}`).Refused(t, "400 amount_above_maximum invalid_request_error param=amount")
		o.Post(t, "/withdrawals", `{"amount":12}`).Refused(t, "400 amount_below_minimum invalid_request_error param=amount")

		id := o.Post(t, "/withdrawals", `{"amount":100}`).Want(t, http.StatusCreated).Text(t, "id")
		s.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "processing")
		shown, err := s.App.Payouts.RevealWithdrawal(ctx, s.App.Self(), id)
		harness.Must(t, err)
		if shown.Destination != "032180000118359719" || shown.Provider != "by-hand" {
			t.Errorf("the operator is shown %q at %s", shown.Destination, shown.Provider)
		}
		paid := base.Ruled{ID: id, Word: pay.WordPaid, Note: "statement of today", Reference: "SPEI-77"}
		ended, said, err := s.App.Payouts.RuleWithdrawal(ctx, s.App.Self(), paid)
		harness.Must(t, err)
		if ended.Status != pay.WithdrawalDone || ended.BankRef != "SPEI-77" || said != pay.PayoutHeld {
			t.Errorf("by the operator's word it is %v (%s), reference %q", ended, said, ended.BankRef)
		}
		if _, _, err := s.App.Payouts.RuleWithdrawal(ctx, s.App.Self(), paid); err == nil {
			t.Error("it ends twice")
		}
		not := o.Post(t, "/withdrawals", `{"amount":50}`).Want(t, http.StatusCreated).Text(t, "id")
		s.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, not, "processing")
		s.Clock.Advance(time.Hour)
		_, _, err = s.App.Payouts.RuleWithdrawal(ctx, s.App.Self(), base.Ruled{ID: not, Word: pay.WordNotPaid, Note: "the account is closed"})
		harness.Must(t, err)
		if got := harness.Available(t, o); got != "900" {
			t.Errorf("available is %s, want 900: the one that was not paid is back", got)
		}
		// What had arrived comes back, days later, once.
		s.Clock.Advance(48 * time.Hour)
		back := base.Ruled{ID: id, Word: pay.WordReturned, Note: "today's statement", Reference: "SPEI-99"}
		if ended, _, err := s.App.Payouts.RuleWithdrawal(ctx, s.App.Self(), back); err != nil || ended.Status != pay.WithdrawalRefused || ended.FailureCode != "returned" {
			t.Errorf("by the operator's word it is %v, %v", ended, err)
		}
		if _, _, err := s.App.Payouts.RuleWithdrawal(ctx, s.App.Self(), back); err == nil {
			t.Error("it comes back twice")
		}
		if got := harness.Available(t, o); got != "997" {
			t.Errorf("available is %s, want 997: all but the fee is back", got)
		}
		log, err := s.App.Audit(ctx, o.Merchant.ID, "", time.Time{}, 100)
		harness.Must(t, err)
		var acts []string
		for _, e := range log {
			acts = append(acts, string(e.Act))
		}
		if told := strings.Join(acts, " "); !strings.Contains(told, "wallet.revealed") || !strings.Contains(told, "withdrawal.ruled") {
			t.Errorf("the audit log has %s", told)
		}
	})
}
