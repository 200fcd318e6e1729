package payouts

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// A withdrawal counts once for the day's limit, even if several accounts get it one after another.
func TestHandedOnWithdrawalCountsOnce(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		for _, id := range []string{"bank-2", "bank-3"} {
			o.PayOutBy(t, "bank", accounts.NewAccount{ID: id, Priority: 9})
		}
		start := o.Clock.Now()
		o.Clock.Advance(start.UTC().Truncate(24 * time.Hour).Add(24*time.Hour + time.Minute).Sub(start)) // to the beginning of a day
		_, err := o.App.Payouts.LimitPayouts(ctx, carla, o.Merchant.ID, true, func(l *pay.PayoutLimits) { l.Daily, l.Hourly = 250_00, 1000_00 })
		harness.Must(t, err)
		b.Behave(func(b *harness.Payer, r payouts.Request) pay.PayoutOutcome {
			if !strings.HasSuffix(r.Reference, "-3") {
				return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "closed"}
			}
			return b.Pay(r)
		}, nil)
		id := o.Withdraw(t, "200")
		o.Clock.Advance(pay.WithdrawalHold(true))
		if r := o.PayOut(t, id, "completed"); !strings.HasSuffix(r.Text(t, "reference"), "-3") {
			t.Errorf("the withdrawal was not paid with its third reference: %s", r)
		}
		b.Behave(nil, nil)
		fits := o.Withdraw(t, "30")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, fits, "completed")
		over := o.Withdraw(t, "25")
		o.Clock.Advance(pay.WithdrawalHold(true))
		harness.Eventually(t, "the withdrawal over the limit waits for the daily limit", func() bool {
			_, err := o.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
			return o.Get(t, "/withdrawals/"+over).Text(t, "pendingReason") == "daily_limit"
		})
	})
}

// Limits hold due withdrawals, and the merchant sees why. They go on after some time, after an
// approval, or when the operator changes the limits.
func TestPayoutsKeepToTheirLimits(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		limit := func(merchant string, change func(*pay.PayoutLimits)) {
			t.Helper()
			_, err := o.App.Payouts.LimitPayouts(ctx, carla, merchant, true, change)
			harness.Must(t, err)
		}
		waits := func(id, why string) {
			t.Helper()
			harness.Eventually(t, id+" waits for "+why, func() bool {
				_, err := o.App.Payouts.PayOut(ctx)
				harness.Must(t, err)
				return o.Get(t, "/withdrawals/"+id).Text(t, "pendingReason") == why
			})
		}
		start := o.Clock.Now()
		o.Clock.Advance(start.UTC().Truncate(24 * time.Hour).Add(24*time.Hour + time.Minute).Sub(start)) // to the beginning of a day
		limit("", func(l *pay.PayoutLimits) { l.Hourly = 100_00 })
		limit(o.Merchant.ID, func(l *pay.PayoutLimits) { l.ApprovalAbove, l.Daily = 300_00, 250_00 })
		small := o.Withdraw(t, "90")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, small, "completed")
		large, later := o.Withdraw(t, "400"), o.Withdraw(t, "60")
		o.Clock.Advance(pay.WithdrawalHold(true))
		waits(large, "approval_required")
		waits(later, "hourly_limit")
		o.Clock.Advance(time.Hour)
		o.PayOut(t, later, "completed")
		if list, err := o.App.Payouts.WaitingWithdrawals(ctx, 10); err != nil || len(list) != 1 || list[0].ID != large {
			t.Errorf("the waiting withdrawals are %v with the error %v, want %s", list, err, large)
		}
		_, err := o.App.Payouts.ApproveWithdrawal(ctx, bruno, large, "the merchant called")
		harness.Must(t, err)
		limit("", func(l *pay.PayoutLimits) { l.Stopped = "a key was stolen" })
		waits(large, "payouts_stopped")
		limit("", func(l *pay.PayoutLimits) { l.Stopped = "" })
		o.Clock.Advance(time.Minute)
		o.PayOut(t, large, "completed")
		if _, err := o.App.Payouts.ApproveWithdrawal(ctx, bruno, large, "again"); err == nil {
			t.Error("a completed withdrawal was approved")
		}
		// 90, 60 and 400 have used up the day's 250.
		next := o.Withdraw(t, "10")
		o.Clock.Advance(pay.WithdrawalHold(true))
		waits(next, "daily_limit")
		o.Clock.Advance(24 * time.Hour)
		o.PayOut(t, next, "completed")

		// Of five withdrawals at once, the hourly limit allows two.
		o.Clock.Advance(time.Hour)
		limit(o.Merchant.ID, func(l *pay.PayoutLimits) { *l = pay.PayoutLimits{} })
		limit("", func(l *pay.PayoutLimits) { *l = pay.PayoutLimits{Hourly: 25_00} })
		var ids []string
		for range 5 {
			ids = append(ids, o.Withdraw(t, "10"))
		}
		from := o.Clock.Now()
		o.Clock.Advance(from.UTC().Truncate(time.Hour).Add(time.Hour + pay.WithdrawalHold(true)).Sub(from))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 5 {
					_, err := o.App.Payouts.PayOut(ctx)
					harness.Must(t, err)
				}
			})
		}
		all.Wait()
		paid := 0
		for _, id := range ids {
			if sends, _, _ := b.Sent(id); sends > 0 {
				paid++
			}
		}
		if paid != 2 {
			t.Errorf("%d withdrawals of 10 USD were sent in an hour with the limit 25, want 2", paid)
		}
		log, err := o.App.Audit(ctx, o.Merchant.ID, "", time.Time{}, 100)
		harness.Must(t, err)
		var acts []string
		for _, e := range log {
			acts = append(acts, string(e.Act))
		}
		if told := strings.Join(acts, " "); !strings.Contains(told, "payouts.limited") || !strings.Contains(told, "withdrawal.approved") {
			t.Errorf("the audit log has the acts %s, want payouts.limited and withdrawal.approved", told)
		}
		if _, err := o.App.Payouts.LimitPayouts(ctx, carla, "mer_NONE", true, func(*pay.PayoutLimits) {}); err == nil {
			t.Error("limits were set for a merchant that does not exist")
		}
		o.Get(t, "/withdrawals/"+small).Want(t, http.StatusOK)
	})
}

// neverArrived is a withdrawal whose call was lost on the way. The bank does not answer.
func neverArrived(t *testing.T, o harness.Client, b *harness.Payer) string {
	t.Helper()
	b.Behave(unknownPayer, unknownPayer)
	id := o.Withdraw(t, "200")
	o.Clock.Advance(pay.WithdrawalHold(true))
	o.PayOut(t, id, "processing")
	return id
}

// payFor runs the loop of payouts for an hour.
func payFor(t *testing.T, o harness.Client, times int) {
	t.Helper()
	for range times {
		o.Clock.Advance(5 * time.Minute)
		_, err := o.App.Payouts.PayOut(ctx)
		harness.Must(t, err)
	}
}

// A payout whose call was lost, and that the bank never had, is not sent again while payouts are stopped or
// the day's limit is used up. The bank is still queried. It leaves once it may.
func TestGateHoldsWhatTheBankNeverHad(t *testing.T) {
	t.Parallel()
	for reason, shut := range map[string]func(*testing.T, harness.Client) func(){
		"payouts_stopped": func(t *testing.T, o harness.Client) func() {
			limit := func(why string) {
				_, err := o.App.Payouts.LimitPayouts(ctx, carla, "", true, func(l *pay.PayoutLimits) { l.Stopped = why })
				harness.Must(t, err)
			}
			limit("a key was stolen")
			return func() { limit("") }
		},
		"daily_limit": func(t *testing.T, o harness.Client) func() {
			limit := func(most int64) {
				_, err := o.App.Payouts.LimitPayouts(ctx, carla, o.Merchant.ID, true, func(l *pay.PayoutLimits) { l.Daily = most })
				harness.Must(t, err)
			}
			limit(100_00)
			o.Clock.Advance(24 * time.Hour)
			return func() { limit(0) }
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
				id := neverArrived(t, o, b)
				open := shut(t, o)
				o.Clock.Advance(time.Hour)
				b.Behave(nil, nil) // the bank answers again: it never had it
				payFor(t, o, 12)
				if sends, _, ok := b.Sent(id); ok || sends != 1 {
					t.Fatalf("it was sent %d times, paid %t", sends, ok)
				}
				w := o.Get(t, "/withdrawals/"+id)
				waiting, err := o.App.Payouts.WaitingWithdrawals(ctx, 10)
				if w.Text(t, "status") != "processing" || w.Text(t, "pendingReason") != reason || err != nil || len(waiting) != 1 {
					t.Errorf("want it to wait for %s, for all to see: %s, %d waiting, %v", reason, w, len(waiting), err)
				}
				open()
				payFor(t, o, 3)
				o.PayOut(t, id, "completed")
			})
		})
	}
}

// A deleted wallet gets nothing that the bank never had: the withdrawal fails, and the money is back. As long as the bank may have
// it, nothing is decided.
func TestDeletedWalletIsNotPaidWhatTheBankNeverHad(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		before := harness.Available(t, o)
		id := neverArrived(t, o, b)
		o.Delete(t, "/wallets/"+o.Get(t, "/withdrawals/"+id).Text(t, "walletId")).Want(t, http.StatusOK)
		payFor(t, o, 12)
		if w := o.Get(t, "/withdrawals/"+id); w.Text(t, "status") != "processing" {
			t.Errorf("the bank may have it: %s", w)
		}
		b.Behave(nil, nil)
		payFor(t, o, 3)
		w := o.PayOut(t, id, "failed")
		if sends, _, ok := b.Sent(id); ok || sends != 1 || w.Text(t, "failureCode") != "wallet_disabled" || harness.Available(t, o) != before {
			t.Errorf("sent %d times, paid %t, %s available: %s", sends, ok, harness.Available(t, o), w)
		}
	})
}
