package payouts_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	providerpayouts "github.com/cascadapay/cascada/internal/provider/payouts"
)

// Limits hold due withdrawals, and say why. They go on after some time, after an approval, or when the operator changes the limits
// (PAYOUT-9).
func TestPayoutsKeepToTheirLimits(t *testing.T) {
	s := openBank(t)
	s.midnight()
	s.limit("", func(l *pay.PayoutLimits) { l.Hourly = 100_00 })
	s.limit(s.scope.Merchant, func(l *pay.PayoutLimits) { l.ApprovalAbove, l.Daily = 300_00, 250_00 })
	small := s.withdraw(90_00)
	s.due()
	s.is(small, "completed")
	large, later := s.withdraw(400_00), s.withdraw(60_00)
	s.due()
	s.is(large, "pending approval_required")
	s.is(later, "pending hourly_limit")
	s.after(time.Hour)
	s.is(later, "completed")
	if list, err := s.payouts.WaitingWithdrawals(t.Context(), 10); err != nil || len(list) != 1 || list[0].ID != large {
		t.Errorf("the waiting withdrawals are %v, %v, want %s", list, err, large)
	}
	_, err := s.payouts.ApproveWithdrawal(t.Context(), bruno, large, "the merchant called")
	s.must(err)
	s.stop("a key was stolen")
	s.after(0)
	s.is(large, "pending payouts_stopped")
	s.stop("")
	s.after(time.Minute)
	s.is(large, "completed")
	_, err = s.payouts.ApproveWithdrawal(t.Context(), bruno, large, "again")
	refused(t, err, "conflict_state")
	next := s.withdraw(10_00) // 90, 60 and 400 have used up the day's 250
	s.due()
	s.is(next, "pending daily_limit")
	s.after(24 * time.Hour)
	s.is(next, "completed")

	if _, err := s.payouts.LimitPayouts(t.Context(), carla, "mer_NONE", true, func(*pay.PayoutLimits) {}); err == nil {
		t.Error("limits were set for a merchant that does not exist")
	}
	log, err := s.Store.Audit().List(t.Context(), s.scope.Merchant, "", 100)
	s.must(err)
	for _, act := range []audit.Act{audit.PayoutsLimited, audit.WithdrawalApproved} {
		if !slices.ContainsFunc(log, func(e audit.Entry) bool { return e.Act == act }) {
			t.Errorf("the audit log lacks %s: %v", act, log)
		}
	}
}

// Of five withdrawals that all nodes send at once, the hourly limit allows two.
func TestLimitHoldsWhatIsSentAtOnce(t *testing.T) {
	s := openBank(t)
	s.limit("", func(l *pay.PayoutLimits) { l.Hourly = 25_00 })
	var ids []string
	for range 5 {
		ids = append(ids, s.withdraw(10_00))
	}
	s.Clock.Advance(pay.WithdrawalHold(true))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				_, err := s.payouts.PayOut(t.Context())
				s.must(err)
			}
		})
	}
	all.Wait()
	paid := 0
	for _, id := range ids {
		if _, _, ok := s.bank.Sent(id); ok {
			paid++
		}
	}
	if paid != 2 {
		t.Errorf("%d withdrawals of 10 USD were sent in an hour with the limit 25, want 2", paid)
	}
}

// A withdrawal counts once for the day's limit, even if several accounts get it one after another.
func TestHandedOnWithdrawalCountsOnce(t *testing.T) {
	s := openBank(t)
	for _, id := range []string{"bank-2", "bank-3"} {
		s.account(accounts.NewAccount{ID: id, Adapter: "bank", Priority: 9})
	}
	s.midnight()
	s.limit(s.scope.Merchant, func(l *pay.PayoutLimits) { l.Daily, l.Hourly = 250_00, 1000_00 })
	s.bank.OnSend = func(r providerpayouts.Request) pay.PayoutOutcome {
		if !strings.HasSuffix(r.Reference, "-3") {
			return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "closed"}
		}
		return s.bank.Pay(r)
	}
	id := s.withdraw(200_00)
	s.due()
	s.every(0, 2)
	if w := s.is(id, "completed"); !strings.HasSuffix(w.Reference(), "-3") {
		t.Errorf("the withdrawal was not paid with its third reference: %s", w.Reference())
	}
	s.bank.OnSend = nil
	fits := s.withdraw(30_00)
	s.due()
	s.is(fits, "completed")
	over := s.withdraw(25_00)
	s.due()
	s.is(over, "pending daily_limit")
}

// When a limit is removed, the withdrawals that it held go on.
func TestLiftedLimitLetsGo(t *testing.T) {
	s := openBank(t)
	s.midnight()
	s.limit("", func(l *pay.PayoutLimits) { l.Daily = 50_00 })
	id := s.withdraw(100_00)
	s.due()
	s.is(id, "pending daily_limit")
	s.limit("", func(l *pay.PayoutLimits) { l.Daily = 0 })
	s.every(15*time.Minute, 20)
	s.is(id, "completed")
}

// neverArrived is a withdrawal whose call was lost on the way. The bank does not answer.
func neverArrived(s *shop) string {
	s.Helper()
	s.bank.OnSend, s.bank.OnQuery = silent, silent
	id := s.withdraw(200_00)
	s.due()
	s.is(id, "processing")
	return id
}

// A payout whose call was lost, and that the bank never had, is not sent again while payouts are stopped or the day's limit is used
// up. The bank is still queried. It leaves once it may (PAYOUT-12).
func TestGateHoldsWhatTheBankNeverHad(t *testing.T) {
	for reason, c := range map[string]struct{ shut, open func(s *shop) }{
		"payouts_stopped": {func(s *shop) { s.stop("a key was stolen") }, func(s *shop) { s.stop("") }},
		"daily_limit": {func(s *shop) {
			s.limit(s.scope.Merchant, func(l *pay.PayoutLimits) { l.Daily = 100_00 })
			s.Clock.Advance(24 * time.Hour)
		}, func(s *shop) { s.limit(s.scope.Merchant, func(l *pay.PayoutLimits) { l.Daily = 0 }) }},
	} {
		t.Run(reason, func(t *testing.T) {
			s := openBank(t)
			id := neverArrived(s)
			c.shut(s)
			s.Clock.Advance(time.Hour)
			s.bank.OnSend, s.bank.OnQuery = nil, nil // the bank answers again: it never had it
			s.every(5*time.Minute, 12)
			s.wasSent(id, 1, false)
			s.is(id, "processing "+reason)
			if list, err := s.payouts.WaitingWithdrawals(t.Context(), 10); err != nil || len(list) != 1 {
				t.Errorf("for the operator wait %v, %v, want one", list, err)
			}
			c.open(s)
			s.every(5*time.Minute, 4)
			s.is(id, "completed")
			s.wasSent(id, 2, true)
		})
	}
}

// A deleted wallet gets nothing that the bank never had: the withdrawal fails, and the money is back. As long as the bank may have it,
// nothing is decided (PAYOUT-12).
func TestDeletedWalletIsNotPaidWhatTheBankNeverHad(t *testing.T) {
	s := openBank(t)
	id := neverArrived(s)
	s.must(s.wallets.Delete(t.Context(), s.Operator, s.scope, s.wallet))
	s.every(5*time.Minute, 12)
	s.is(id, "processing")
	s.bank.OnSend, s.bank.OnQuery = nil, nil
	s.every(5*time.Minute, 4)
	s.is(id, "failed wallet_disabled")
	s.wasSent(id, 1, false)
	s.has(1_000_00)
}
