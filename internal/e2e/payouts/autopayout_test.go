package payouts

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/store"
)

// A month of a merchant with automatic payouts of settlements. A settlement below the minimum waits
// for the next one. One that the bank rejects is paid later. One payout arrives and is
// returned. Every cent of the settlements is paid out, a fee, or in the balance.
func TestMonthOfAutomaticPayouts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		b := harness.NewPayer()
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.Adapters = append(c.Adapters, b.Adapter()) })
		_, err := s.App.Accounts.Add(ctx, s.App.Self(), accounts.NewAccount{ID: "bank-1", Adapter: "bank"})
		harness.Must(t, err)
		o := s.NewShop(t)
		limit := func(change func(*pay.PayoutLimits)) {
			t.Helper()
			_, err := s.App.Payouts.LimitPayouts(ctx, carla, o.Merchant.ID, false, change)
			harness.Must(t, err)
		}
		limit(func(l *pay.PayoutLimits) { l.Schedule, l.Minimum = pay.PayoutsAutomatic, 50_00 })
		if _, err := s.App.Payouts.LimitPayouts(ctx, carla, o.Merchant.ID, false, func(l *pay.PayoutLimits) { l.Days = "monday" }); err == nil {
			t.Error("an unknown day is accepted")
		}
		if _, err := s.App.Payouts.LimitPayouts(ctx, carla, "", false, func(l *pay.PayoutLimits) { l.Schedule = pay.PayoutsAutomatic }); err == nil {
			t.Error("automatic payouts can be set for all merchants at once")
		}

		// step moves the test clock by a day, and runs all loops until done returns true.
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
		// The first settlement is below the minimum. The second is not, but there is no wallet.
		o.Create(t, `{"amount":40,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "48h")
		step(t, status("closed below_minimum"), "the first settlement waits for the minimum")
		o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "24h")
		step(t, status("closed no_wallet, closed below_minimum"), "the second settlement waits for a wallet")
		o.Wallet(t)
		harness.MoveTestClock(t, o, "1h")
		step(t, status("paid, paid"), "both settlements are paid")
		if r := o.Get(t, "/withdrawals?status=completed"); r.Text(t, "pagination.total") != "1" {
			t.Errorf("want one payout for both settlements: %s", r)
		}
		// The bank rejects the payout of the third settlement. It is tried again a day later, or with the fourth.
		b.Behave(func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "account_closed"}
		}, nil)
		o.Create(t, `{"amount":200,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "24h")
		step(t, status("closed account_closed, paid, paid"), "the payout of the third settlement is rejected")
		b.Behave(nil, nil)
		o.Create(t, `{"amount":80,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "24h")
		step(t, status("paid, paid, paid, paid"), "the third and fourth settlements are paid")
		// The bank returns the last payout. Its settlement is owed again, and the money is available.
		last := o.Get(t, "/withdrawals?status=completed").Text(t, "data.0.id")
		if got := bankTells(t, o.Instance, "bank-1", "bank", pay.PayoutNotice{ID: "n1", Reference: last[len(pay.WithdrawalPrefix):], Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed"}}); got != 200 {
			t.Errorf("the notification of the return gets %d, want 200", got)
		}
		// The operator ends automatic payouts.
		limit(func(l *pay.PayoutLimits) { l.Schedule = pay.PayoutsOnRequest })
		o.Create(t, `{"amount":60,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "24h")
		step(t, status("closed, closed account_closed, paid, paid, paid"), "the fifth settlement is not paid out, and the fourth is owed again")
		harness.MoveTestClock(t, o, "480h")

		earned, fees := 0.0, 0.0
		r := o.Get(t, "/settlements")
		for i := range 6 { // five closed settlements and the open one
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
			t.Errorf("%.2f USD were settled, but there are %.2f of fees, %.2f paid out and %.2f available: the difference is %.2f", earned, fees, paidOut, available, apart)
		}
		for i := range 3 {
			if story, err := s.App.Story(ctx, w.Text(t, fmt.Sprintf("data.%d.id", i))); err != nil || !strings.Contains(story, "tr_") {
				t.Errorf("the story has no transfer (%v):\n%s", err, story)
			}
		}
	})
}

// number returns the number at a dotted path of a reply.
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
	t.Fatalf("%s is %v, want a number", path, v)
	return 0
}

// A merchant that withdraws just when its automatic payout is made is no fault of the service: the next look pays what is left.
func TestWithdrawalBesideAnAutomaticPayoutIsNoFault(t *testing.T) {
	t.Parallel()
	eachSettled(t, func(t *testing.T, o harness.Client, _ *harness.Payer, id, _ string) {
		for range 8 {
			_, err := o.App.Payouts.LimitPayouts(ctx, o.App.Self(), o.Merchant.ID, true, func(l *pay.PayoutLimits) { l.Schedule = pay.PayoutsAutomatic })
			harness.Must(t, err)
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() { o.Post(t, "/withdrawals", `{"amount":20}`) })
			}
			all.Go(func() {
				s, err := o.App.Store.Settlements().Any(ctx, id)
				harness.Must(t, err)
				if err := o.App.Payouts.SettlePayout(ctx, s.ID, s.Scope); err != nil && !errors.Is(err, store.ErrStale) { // stale: the next look pays
					t.Errorf("the automatic payout beside withdrawals: %v", err)
				}
			})
			all.Wait()
			o.Clock.Advance(time.Hour)
		}
	})
}
