package payouts

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/store"
)

func unknownPayer(*harness.Payer, payouts.Request) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
}

// Somebody changes in the database how much two withdrawals commit of a float. The sum stays the same,
// but the check finds it.
func TestCheckFindsFloatOfAnotherWithdrawal(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		topUp(t, o, "bank-1", "TED-1", money.New(9000_00, "MXN"))
		b.Behave(unknownPayer, unknownPayer)
		one, two := o.Withdraw(t, "103"), o.Withdraw(t, "203")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, one, "processing")
		o.PayOut(t, two, "processing")
		float(t, o, "bank-1", "MXN", "349500 free, 550500 committed, 0 paid")
		exec, done := o.Exec(t)
		defer done()
		set := func(id, from, to string) {
			exec(`UPDATE withdrawals SET doc = replace(doc, ',"float":` + from + `,', ',"float":` + to + `,') WHERE id = '` + id + `'`)
		}
		set(one, "183500", "550499")
		set(two, "367000", "1")
		broken, err := o.App.Check(ctx)
		harness.Must(t, err)
		broken = slices.DeleteFunc(broken, func(b store.Broken) bool {
			return !strings.HasPrefix(b.Invariant, "a withdrawal took its part of a float")
		})
		if len(broken) != 2 { // by the ledger, whatever the rows' hashes say
			t.Errorf("the check finds %v, want both withdrawals", broken)
		}
		set(one, "550499", "183500")
		set(two, "1", "367000")
	})
}

// A line of a production account's report with a sandbox withdrawal's reference matches no withdrawal,
// and warns no merchant.
func TestSandboxReferenceWarnsNobody(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		sandbox := harness.Client{Onboarded: o.Onboarded, Instance: o.Instance}.NewKey(t, auth.NewKey{Kind: merchants.Secret, Rights: []merchants.Right{merchants.RightWithdrawals}})
		o.Fund(t, false, 500_00)
		sandbox.Wallet(t)
		o.Clock.Advance(time.Second)
		id := sandbox.Withdraw(t, "103")
		w, err := o.App.Payouts.Withdrawal(ctx, merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, id)
		harness.Must(t, err)
		format, err := o.App.Reconciliation.ReportFormat(ctx, "bank-1")
		harness.Must(t, err)
		now := o.Clock.Now()
		done, err := o.App.Reconciliation.Reconcile(ctx, reconciliation.Comparison{Account: "bank-1", Format: format, From: now.Add(-time.Hour), To: now.Add(time.Hour),
			Reports: []reconciliation.Report{{Name: "bank.csv", Reader: strings.NewReader("reference,type,amount,currency,date\n" + w.Reference() + ",payout,1835,MXN," + now.Format(time.RFC3339) + "\n")}}})
		harness.Must(t, err)
		if done.Totals.Found[reconcile.PayoutMissingHere] != 1 {
			t.Errorf("the discrepancies are %v, want one payout_missing_here", done.Totals.Found)
		}
		if got := o.Get(t, "/me/balance").Text(t, "ledgerWarnings"); strings.Contains(got, "provider_drift") {
			t.Errorf("the production balance warns because of a sandbox withdrawal: %s", got)
		}
	})
}
