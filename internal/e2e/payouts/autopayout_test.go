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
	"github.com/cascadapay/cascada/internal/app/merchants"
	appplans "github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	tenants "github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
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

// autopay is a sandbox shop with automatic payouts.
type autopay struct {
	*testing.T
	o harness.Client
	b *harness.Payer
}

func eachAutopay(t *testing.T, minimum int64, test func(a autopay)) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		b := harness.NewPayer()
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.Adapters = append(c.Adapters, b.Adapter()) })
		_, err := s.App.Accounts.Add(ctx, s.App.Self(), accounts.NewAccount{ID: "bank-1", Adapter: "bank"})
		harness.Must(t, err)
		o := s.NewShop(t)
		_, err = s.App.Payouts.LimitPayouts(ctx, carla, o.Merchant.ID, false, func(l *pay.PayoutLimits) { l.Schedule, l.Minimum = pay.PayoutsAutomatic, minimum })
		harness.Must(t, err)
		o.Wallet(t)
		test(autopay{t, o, b})
	})
}

// pass moves the test clock, and does all that is due.
func (a autopay) pass(by string) {
	a.Helper()
	harness.MoveTestClock(a.T, a.o, by)
	for range 6 {
		a.o.Work(a.T)
		harness.MoveTestClock(a.T, a.o, "1m")
		_, err := a.o.App.Payouts.PayOut(ctx)
		harness.Must(a.T, err)
	}
}

func (a autopay) completed() string {
	return a.o.Get(a.T, "/withdrawals?status=completed").Text(a.T, "pagination.total")
}

func (a autopay) statuses() string {
	r := a.o.Get(a.T, "/settlements")
	var list []string
	for i := 0; ; i++ {
		if _, listed := r.At(a.T, fmt.Sprintf("data.%d.id", i)); !listed {
			return strings.Join(list, " ")
		}
		if status, closed := r.At(a.T, fmt.Sprintf("data.%d.payout.status", i)); closed {
			list = append(list, fmt.Sprint(status))
		}
	}
}

// 4,519 are settled while 10 of an older payment are disputed: what is available is paid, and the rest once it is.
func TestOneSmallDisputeDoesNotStopAutomaticPayouts(t *testing.T) {
	eachAutopay(t, 0, func(a autopay) {
		disputed := a.o.Create(a.T, `{"amount":10,"paymentMethodId":"sbx_card"}`)
		a.o.Create(a.T, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		a.pass("50h")
		a.pass("1h")
		a.o.Simulate(a.T, disputed, "chargeback").Want(a.T, 200)
		for range 5 {
			a.o.Create(a.T, `{"amount":1000,"paymentMethodId":"sbx_card"}`)
		}
		a.pass("50h")
		a.pass("1h")
		if a.completed() != "2" || harness.Available(a.T, a.o) != "0" {
			a.Errorf("%s payouts, %s available: want all that is there paid out", a.completed(), harness.Available(a.T, a.o))
		}
		r := a.o.Get(a.T, "/settlements?status=closed")
		if r.Text(a.T, "data.0.payout.status") != "owed" || r.Text(a.T, "data.0.payoutReason") != "balance_insufficient" {
			a.Errorf("want the disputed rest owed: %s", r)
		}
	})
}

// A withdrawal by hand in between is part of what is paid of the settlements: the next payout pays the rest.
func TestWithdrawalByHandDoesNotStopAutomaticPayouts(t *testing.T) {
	eachAutopay(t, 200_00, func(a autopay) {
		a.o.Create(a.T, `{"amount":150,"paymentMethodId":"sbx_card"}`)
		a.pass("50h")
		w := a.o.Withdraw(a.T, "50")
		harness.MoveTestClock(a.T, a.o, "1h")
		a.o.PayOut(a.T, w, "completed")
		a.o.Create(a.T, `{"amount":300,"paymentMethodId":"sbx_card"}`)
		a.pass("50h")
		a.pass("2h")
		if a.completed() != "2" || harness.Available(a.T, a.o) != "0" || a.statuses() != "paid paid" {
			a.Errorf("%s payouts, %s available, settlements %s", a.completed(), harness.Available(a.T, a.o), a.statuses())
		}
	})
}

// What the bank sends back is paid with the next settlement, or a day later if there is none.
func TestReturnedAutomaticPayoutIsPaidAgain(t *testing.T) {
	eachAutopay(t, 0, func(a autopay) {
		back := func(notice string) {
			last := a.o.Get(a.T, "/withdrawals?status=completed").Text(a.T, "data.0.id")
			bankTells(a.T, a.o.Instance, "bank-1", "bank", pay.PayoutNotice{ID: notice, Reference: last[len(pay.WithdrawalPrefix):], Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed"}})
		}
		a.o.Create(a.T, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		a.pass("50h")
		a.pass("1h")
		back("n1")
		a.pass("1h")
		if a.statuses() != "owed" {
			a.Errorf("the payout came back, and the settlement is %s", a.statuses())
		}
		a.pass("25h")
		a.pass("1h")
		if a.statuses() != "paid" || harness.Available(a.T, a.o) != "0" {
			a.Errorf("a day later it is %s, with %s available", a.statuses(), harness.Available(a.T, a.o))
		}
		back("n2")
		a.o.Create(a.T, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		a.pass("50h")
		a.pass("1h")
		if a.statuses() != "paid paid" || harness.Available(a.T, a.o) != "0" {
			a.Errorf("with the next settlement they are %s, with %s available", a.statuses(), harness.Available(a.T, a.o))
		}
	})
}

// The bank rejects a payout, and the merchant withdraws that money by hand: payouts go on.
func TestRejectedPayoutThatIsWithdrawnByHandStopsNothing(t *testing.T) {
	eachAutopay(t, 0, func(a autopay) {
		a.b.Behave(func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "account_closed"}
		}, nil)
		a.o.Create(a.T, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		a.pass("50h")
		a.pass("1h")
		a.b.Behave(nil, nil)
		w := a.o.Withdraw(a.T, harness.Available(a.T, a.o))
		harness.MoveTestClock(a.T, a.o, "1h")
		a.o.PayOut(a.T, w, "completed")
		a.o.Create(a.T, `{"amount":20,"paymentMethodId":"sbx_card"}`)
		a.pass("73h")
		a.pass("2h")
		if a.completed() != "2" || a.statuses() != "paid paid" {
			a.Errorf("%s payouts, settlements %s", a.completed(), a.statuses())
		}
	})
}

// What is owed when automatic payouts are agreed is paid, also if the merchant sells nothing any more and no other settlement closes.
func TestAutomaticPayoutsPayWhatWasOwedBefore(t *testing.T) {
	eachAutopay(t, 0, func(a autopay) {
		agree := func(on bool) {
			a.Helper()
			schedule := pay.PayoutsOnRequest
			if on {
				schedule = pay.PayoutsAutomatic
			}
			_, err := a.o.App.Payouts.LimitPayouts(ctx, carla, a.o.Merchant.ID, false, func(l *pay.PayoutLimits) { l.Schedule = schedule })
			harness.Must(a.T, err)
		}
		agree(false)
		a.o.Create(a.T, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		a.pass("50h")
		a.pass("1h")
		if a.completed() != "0" || a.statuses() != "owed" {
			a.Fatalf("before anything is agreed there are %s payouts, and the settlement is %s", a.completed(), a.statuses())
		}
		agree(true)
		a.pass("1h")
		a.pass("1h")
		if a.completed() != "1" || a.statuses() != "paid" || harness.Available(a.T, a.o) != "0" {
			a.Errorf("%s payouts, %s available, settlements %s", a.completed(), harness.Available(a.T, a.o), a.statuses())
		}
	})
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

// What settlements owe is paid out as the price plan in force says, also what was owed before it was in force; a merchant's exceptions
// come before the plan, and the operator's setting before both (PLAN-4).
func TestPayoutsAreThoseOfThePlan(t *testing.T) {
	eachAutopay(t, 0, func(a autopay) {
		limit := func(schedule pay.PayoutSchedule) {
			a.Helper()
			_, err := a.o.App.Payouts.LimitPayouts(ctx, carla, a.o.Merchant.ID, false, func(l *pay.PayoutLimits) { l.Schedule = schedule })
			harness.Must(a.T, err)
		}
		apply := func(payouts plans.Payouts, from time.Time) {
			a.Helper()
			_, _, err := a.o.App.Plans.Apply(ctx, carla, plans.Plan{Name: "gold", Terms: plans.Terms{Settlement: plans.Settlement{Delay: 24 * time.Hour}, Payouts: payouts}}, from)
			harness.Must(a.T, err)
		}
		assign := func(own plans.Exceptions) {
			a.Helper()
			_, err := a.o.App.Onboarding.Agree(ctx, carla, a.o.Merchant.ID, merchants.Agreement{Plan: &appplans.Assignment{Plan: "gold", Own: own}})
			harness.Must(a.T, err)
		}
		wants := func(when, completed, statuses, schedule string) {
			a.Helper()
			if got := a.completed() + ", " + a.statuses(); got != completed+", "+statuses {
				a.Errorf("%s there are payouts and settlements %s, want %s, %s", when, got, completed, statuses)
			}
			if got := a.o.Get(a.T, "/me/balance").Text(a.T, "payouts.schedule"); got != schedule {
				a.Errorf("%s payouts are %s, want %s", when, got, schedule)
			}
		}
		limit(pay.PayoutsByPlan)
		apply(plans.Payouts{}, time.Time{})
		apply(plans.Payouts{Schedule: plans.Automatic, Minimum: 50_00}, a.o.App.Now().Add(5*24*time.Hour))
		assign(plans.Exceptions{})
		a.o.Create(a.T, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		a.pass("48h")
		wants("before the plan is automatic", "0", "owed", "on_request")
		a.pass("72h")
		a.pass("24h")
		wants("within a day after it is", "1", "paid", "automatic")

		a.o.Create(a.T, `{"amount":40,"paymentMethodId":"sbx_card"}`)
		a.pass("48h")
		wants("below the plan's minimum", "1", "owed paid", "automatic")
		if got := a.o.Get(a.T, "/settlements").Text(a.T, "data.1.payoutReason"); got != "below_minimum" {
			a.Errorf("below the minimum a settlement waits for %s", got)
		}
		assign(plans.Exceptions{Payouts: &plans.Payouts{}})
		a.o.Create(a.T, `{"amount":70,"paymentMethodId":"sbx_card"}`)
		a.pass("48h")
		a.pass("24h")
		wants("with the merchant's exceptions", "1", "owed owed paid", "on_request")
		limit(pay.PayoutsAutomatic)
		a.pass("1h")
		a.pass("1h")
		wants("with the operator's setting", "2", "paid paid paid", "automatic")

		today := a.o.App.TimeOf(tenants.Scope{Merchant: a.o.Merchant.ID}).Day()
		assign(plans.Exceptions{Payouts: &plans.Payouts{Schedule: plans.Automatic, Monthdays: tenants.Monthdays(0).With((today+14)%28 + 1)}})
		limit(pay.PayoutsByPlan)
		a.o.Create(a.T, `{"amount":70,"paymentMethodId":"sbx_card"}`)
		a.pass("48h")
		wants("on another day of the month", "2", "owed paid paid paid", "automatic")
		a.pass("288h")
		for range 16 {
			a.pass("24h")
		}
		wants("once the day has come", "3", "paid paid paid paid", "automatic")
	})
}
