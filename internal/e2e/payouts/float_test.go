package payouts

import (
	"fmt"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// topUp enters money of the operator into the float of a payout account.
func topUp(t *testing.T, o harness.Client, account, reference string, amount money.Amount) {
	t.Helper()
	harness.Must(t, o.App.Floats.Enter(ctx, o.App.Self(), account, amount, reference, "a test", false))
}

// float fails the test unless the ledger has want for a float: "X free, Y committed, Z paid", in minor
// units.
func float(t *testing.T, o harness.Client, account string, currency money.Currency, want string) {
	t.Helper()
	list, err := o.App.Floats.List(ctx)
	harness.Must(t, err)
	for _, f := range list {
		if f.Account == account && f.Currency == currency {
			if got := fmt.Sprintf("%d free, %d committed, %d paid", f.Free, f.Committed, f.Paid); got != want {
				t.Errorf("the float of %s in %s has %s, want %s", account, currency, got, want)
			}
			return
		}
	}
	t.Errorf("%s has no float in %s: %+v", account, currency, list)
}

// Withdrawals that are sent at once never exceed the float, and leave nothing committed.
func TestFloatIsNeverOverdrawn(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		topUp(t, o, "bank-1", "wire", money.New(70_00, "USD")) // this account's float is in dollars
		var all []string
		for range 20 {
			all = append(all, o.Withdraw(t, "13"))
		}
		o.Clock.Advance(pay.WithdrawalHold(true))
		done := make(chan error, 4)
		for range cap(done) {
			go func() {
				_, err := o.App.Payouts.PayOut(ctx)
				done <- err
			}()
		}
		for range cap(done) {
			harness.Must(t, harness.Soon(t, "the loop of payouts to return", done))
		}
		float(t, o, "bank-1", "USD", "0 free, 0 committed, 7000 paid")
		topUp(t, o, "bank-1", "wire 2", money.New(130_00, "USD"))
		o.Clock.Advance(5 * time.Minute)
		for _, id := range all {
			o.PayOut(t, id, "completed")
		}
		float(t, o, "bank-1", "USD", "0 free, 0 committed, 20000 paid")
	})
}
