package payouts

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/payout"
)

// A month of a merchant whose settlements are paid out by themselves: one below the minimum waits for the
// next, one that the bank rejects comes with the one after, one comes back after it arrived. Each cent that
// was earned is paid out, a fee, in the reserve or in the balance.
func TestMonthOfAutomaticPayouts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		b := harness.NewPayer()
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.Adapters = append(c.Adapters, b.Adapter()) })
		_, err := s.App.Accounts.Add(ctx, s.App.Self(), acquiring.NewAccount{ID: "bank-1", Adapter: "bank"})
		harness.Must(t, err)
		o := s.NewShop(t)
		limit := func(change func(*pay.PayoutLimits)) {
			t.Helper()
			_, err := s.App.Payouts.LimitPayouts(ctx, carla, o.Merchant.ID, false, change)
			harness.Must(t, err)
		}
		limit(func(l *pay.PayoutLimits) { l.Automatic, l.Minimum = true, 50_00 })
		if _, err := s.App.Payouts.LimitPayouts(ctx, carla, o.Merchant.ID, false, func(l *pay.PayoutLimits) { l.Days = "monday" }); err == nil {
			t.Error("a day that there is not was taken")
		}
		if _, err := s.App.Payouts.LimitPayouts(ctx, carla, "", false, func(l *pay.PayoutLimits) { l.Automatic = true }); err == nil {
			t.Error("all merchants at once were made automatic")
		}

		// step lets a day go by and all loops run.
		step := func(t *testing.T, done func() bool, what string) {
			t.Helper()
			harness.MoveTestClock(t, o, "26h")
			harness.Eventually(t, what, func() bool {
				for range 3 {
					s.Work(t)
					harness.MoveTestClock(t, o, "1m")
					_, err := s.App.Payouts.PayOut(ctx)
					harness.Must(t, err)
				}
				return done()
			})
		}
		status := func(want string) func() bool {
			return func() bool {
				var list []string
				r := o.Get(t, "/settlements")
				for i := 0; ; i++ {
					status, listed := r.At(t, fmt.Sprintf("data.%d.status", i))
					if !listed {
						break
					}
					why, _ := r.At(t, fmt.Sprintf("data.%d.payoutReason", i))
					if status != "open" {
						list = append(list, strings.TrimSuffix(fmt.Sprint(status, " ", why), " <nil>"))
					}
				}
				return strings.Join(list, ", ") == want
			}
		}
		// No wallet yet: it waits, and says so; then the first settlement is below the minimum.
		o.Create(t, `{"amount":40,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "48h")
		step(t, status("closed below_minimum"), "the first waits for the minimum")
		o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "24h")
		step(t, status("closed no_wallet, closed below_minimum"), "the second needs a wallet")
		o.Wallet(t)
		harness.MoveTestClock(t, o, "1h")
		step(t, status("paid, paid"), "both are paid at once")
		if r := o.Get(t, "/withdrawals?status=completed"); r.Text(t, "pagination.total") != "1" {
			t.Errorf("both settlements are one payout: %s", r)
		}
		// The bank rejects the third, and the fourth's payout has both.
		b.Behave(func(*harness.Payer, payout.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "account_closed"}
		}, nil)
		o.Create(t, `{"amount":200,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "24h")
		step(t, status("closed account_closed, paid, paid"), "the third is rejected")
		b.Behave(nil, nil)
		o.Create(t, `{"amount":80,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "24h")
		step(t, status("paid, paid, paid, paid"), "the fourth takes the third along")
		// The bank sends the last one back days later: the settlement was paid, and the money is there again.
		last := o.Get(t, "/withdrawals?status=completed").Text(t, "data.0.id")
		if got := bankTells(t, o.Instance, "bank-1", "bank", pay.PayoutNotice{ID: "n1", Reference: last[len(pay.WithdrawalPrefix):], Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed"}}); got != 200 {
			t.Errorf("the return: %d", got)
		}
		// The operator takes it back: the merchant withdraws himself.
		limit(func(l *pay.PayoutLimits) { l.Automatic = false })
		o.Create(t, `{"amount":60,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "24h")
		step(t, status("closed, paid, paid, paid, paid"), "the fifth is by hand")
		harness.MoveTestClock(t, o, "480h")

		earned, fees := 0.0, 0.0
		r := o.Get(t, "/settlements")
		for i := range 6 { // with the open one
			earned += number(t, r, fmt.Sprintf("data.%d.netAmount", i))
		}
		w := o.Get(t, "/withdrawals")
		paidOut := 0.0
		for i := 0; ; i++ {
			completed, listed := w.At(t, fmt.Sprintf("data.%d.completedAt", i))
			if !listed {
				break
			}
			if completed == nil {
				continue
			}
			fees += number(t, w, fmt.Sprintf("data.%d.feeUsd", i))
			if w.Text(t, fmt.Sprintf("data.%d.status", i)) == "completed" {
				paidOut += number(t, w, fmt.Sprintf("data.%d.netAmount", i))
			}
		}
		available := number(t, o.Get(t, "/me/balance"), "balance.available")
		if apart := earned - fees - paidOut - available; math.Abs(apart) > 0.001 {
			t.Errorf("%.2f were settled; %.2f fees, %.2f paid out and %.2f available: %.2f apart", earned, fees, paidOut, available, apart)
		}
		for i := range 3 {
			if story, err := s.App.Story(ctx, w.Text(t, fmt.Sprintf("data.%d.id", i))); err != nil || !strings.Contains(story, "tr_") {
				t.Errorf("no story: %v\n%s", err, story)
			}
		}
	})
}

// number is a value of a reply.
func number(t *testing.T, r harness.Reply, path string) float64 {
	t.Helper()
	v, _ := r.At(t, path)
	switch v := v.(type) {
	case float64:
		return v
	case fmt.Stringer:
		var f float64
		if _, err := fmt.Sscan(v.String(), &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	t.Fatalf("%s is %v", path, v)
	return 0
}
