package settlements_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payouts"
	appplans "github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	providerpayouts "github.com/cascadapay/cascada/internal/provider/payouts"
)

// settled makes a payment of USD cents, and closes its settlement.
func (s *shop) settled(cents int64) pay.Settlement {
	s.Helper()
	s.charge(cents)
	s.work()
	s.pass(50 * time.Hour)
	list := s.all()
	return list[len(list)-2] // the last is open
}

// The operator sends the net of a settlement to the bank and books it, in parts. The money is gone from the balance, the bank's
// reference is booked once, and nobody can pay it again (SETTLE-12).
func TestOperatorPaysASettlementOnce(t *testing.T) {
	s := open(t)
	one := s.settled(1000_00)
	order := payouts.HandPayment{Settlement: one.ID, Amount: money.New(100_00, money.USD), Note: "from our account at the bank"}
	book := func() (pay.Settlement, pay.Withdrawal, error) {
		return s.payouts.PaySettlement(t.Context(), carla, order)
	}
	_, _, err := book()
	refused(t, err, "invalid_request reference")
	order.Reference = "TED 0091"
	part, w, err := book()
	if err != nil || part.Status != pay.BatchClosed || w.Status != pay.WithdrawalDone || w.Fee != 0 || w.Payout.BankRef != "TED 0091" {
		t.Fatalf("a part by hand: %s, %s, %v", part.Status, w, err)
	}
	_, _, err = book() // its answer may have been lost
	refused(t, err, "conflict_state known")
	order.Amount, order.Reference = money.Amount{}, "TED 0092"
	paid, _, err := book()
	if err != nil || paid.Status != pay.BatchPaid {
		t.Fatalf("the rest by hand: %s, %v", paid.Status, err)
	}
	order.Reference = "TED 0093"
	_, _, err = book()
	refused(t, err, "settlement_already_paid")
	s.has(0, 0, 50_00)
	s.payoutsAre(pay.PayoutConfirmed)
	if made := s.arrived(2); made[0].Amount+made[1].Amount != one.Net {
		t.Errorf("two withdrawals paid %d and %d of %d", made[0].Amount, made[1].Amount, one.Net)
	}
	if sends, _, _ := s.bank.Sent(w.ID); sends != 0 {
		t.Error("the bank was called to pay what was paid by hand")
	}
}

// The merchant withdraws: the settlement is paid once the withdrawal has arrived, and owed again if it comes back, also in parts
// (SETTLE-11, PAYOUT-8).
func TestWithdrawalPaysTheSettlement(t *testing.T) {
	s := open(t)
	one := s.settled(1000_00)
	w := s.withdraw(one.Net)
	_, _, err := s.payouts.PaySettlement(t.Context(), carla, payouts.HandPayment{Settlement: one.ID, Reference: "TED 1"})
	refused(t, err, "balance_insufficient amount")
	s.pass(time.Hour)
	s.payoutsAre(pay.PayoutConfirmed)
	if arrived := s.arrived(1)[0]; len(arrived.Covers) != 1 || arrived.Covers[0].Settlement != one.ID || arrived.Covers[0].Amount != one.Net {
		t.Errorf("the withdrawal covers %+v, want all of %s", arrived.Covers, one.ID)
	}
	_, paid, ok := s.bank.Sent(w.ID)
	if !ok {
		t.Fatal("the bank did not pay it")
	}
	read := func(status pay.WithdrawalStatus, returned int64) {
		t.Helper()
		w, err := s.payouts.Withdrawal(t.Context(), s.Scope, w.ID)
		if s.must(err); w.Status != status || w.Returned != returned || s.balances()["available"] != returned {
			t.Errorf("the withdrawal is %s, %d came back, %d are available; want %s and %d", w.Status, w.Returned, s.balances()["available"], status, returned)
		}
	}
	third := paid.Local.Minor / 3
	// What a part is worth is rounded down, until all is back.
	usd := func(local int64) int64 { return local * paid.Net.Minor / paid.Local.Minor }
	for range 2 { // the second time it is the same notice
		s.back("n1", w.ID, third)
	}
	read(pay.WithdrawalDone, usd(third))
	s.pass(time.Minute)
	s.payoutsAre(pay.PayoutOwed)
	if left := s.closed(1)[0]; left.Uncovered() != usd(third) || left.Status != pay.BatchClosed {
		t.Errorf("%d of the settlement are owed: %s", left.Uncovered(), left.Status)
	}
	resolve := func(amount string) error {
		_, _, err := s.payouts.ResolveWithdrawal(t.Context(), carla, base.Resolution{ID: w.ID, Word: pay.WordReturned, Note: "the statement", Amount: amount})
		return err
	}
	for _, amount := range []string{"0", "-5", "1.234", "x", fmt.Sprint(paid.Local.Minor)} {
		if resolve(amount) == nil {
			t.Errorf("a part of %q came back", amount)
		}
	}
	s.must(resolve("500"))
	read(pay.WithdrawalDone, usd(third+500_00))
	s.must(resolve(""))
	read(pay.WithdrawalRefused, w.Net())
	refused(t, resolve("1"), "conflict_state")
	s.pass(time.Minute)
	if left := s.closed(1)[0]; left.Covered != w.Fee { // the fee is spent
		t.Errorf("%d of the settlement are covered, want the fee %d", left.Covered, w.Fee)
	}
}

// 4,519 are settled while 10 of an older payment are disputed: what is available is paid, and the rest once it is (SETTLE-9).
func TestOneSmallDisputeDoesNotStopAutomaticPayouts(t *testing.T) {
	s := open(t)
	s.automatic(0)
	disputed := s.charge(10_00)
	s.settled(100_00)
	s.arrived(1)
	s.dispute(disputed, "disputed")
	for range 4 {
		s.charge(1000_00)
	}
	s.settled(1000_00)
	s.arrived(2)
	if have := s.balances(); have["available"] != 0 || have["frozen"] == 0 {
		t.Errorf("the balances are %v: want all that is there paid out", have)
	}
	s.payoutsAre(pay.PayoutConfirmed, pay.PayoutOwed)
	if why := s.closed(2)[1].PayoutWhy; why != string(pay.WaitsMoney) {
		t.Errorf("the disputed rest waits for %s", why)
	}
}

// A withdrawal by hand in between is part of what is paid of the settlements: the next payout pays the rest (SETTLE-9).
func TestWithdrawalByHandDoesNotStopAutomaticPayouts(t *testing.T) {
	s := open(t)
	s.automatic(200_00)
	s.settled(150_00)
	s.payoutsAre(pay.PayoutOwed)
	if why := s.closed(1)[0].PayoutWhy; why != string(pay.WaitsMinimum) {
		t.Errorf("below the minimum it waits for %s", why)
	}
	s.withdraw(50_00)
	s.pass(time.Hour)
	s.settled(300_00)
	s.arrived(2)
	s.payoutsAre(pay.PayoutConfirmed, pay.PayoutConfirmed)
	s.has(0, 0, 22_50)
}

// What the bank sends back is paid with the next settlement, or a day later if there is none (SETTLE-9).
func TestReturnedAutomaticPayoutIsPaidAgain(t *testing.T) {
	s := open(t)
	s.automatic(0)
	s.settled(100_00)
	s.payoutsAre(pay.PayoutConfirmed)
	s.back("n1", s.arrived(1)[0].ID, 0)
	s.pass(time.Hour)
	s.payoutsAre(pay.PayoutOwed)
	s.pass(25 * time.Hour)
	s.payoutsAre(pay.PayoutConfirmed)
	s.has(0, 0, 5_00)
	s.back("n2", s.arrived(1)[0].ID, 0)
	s.settled(100_00)
	s.payoutsAre(pay.PayoutConfirmed, pay.PayoutConfirmed)
	s.has(0, 0, 10_00)
}

// The bank rejects a payout, and the merchant withdraws that money by hand: payouts go on (SETTLE-9).
func TestRejectedPayoutThatIsWithdrawnByHandStopsNothing(t *testing.T) {
	s := open(t)
	s.automatic(0)
	s.bank.OnSend = func(providerpayouts.Request) pay.PayoutOutcome {
		return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "account_closed"}
	}
	s.settled(100_00)
	s.payoutsAre(pay.PayoutOwed)
	s.bank.OnSend = nil
	s.withdraw(s.balances()["available"])
	s.pass(time.Hour)
	s.settled(20_00)
	s.arrived(2)
	s.payoutsAre(pay.PayoutConfirmed, pay.PayoutConfirmed)
}

// What is owed when automatic payouts are agreed is paid, also if the merchant sells nothing any more and no other settlement closes
// (SETTLE-9).
func TestAutomaticPayoutsPayWhatWasOwedBefore(t *testing.T) {
	s := open(t)
	s.settled(100_00)
	s.pass(time.Hour)
	s.arrived(0)
	s.payoutsAre(pay.PayoutOwed)
	s.automatic(0)
	s.pass(time.Hour)
	s.arrived(1)
	s.payoutsAre(pay.PayoutConfirmed)
	s.has(0, 0, 5_00)
}

// What settlements owe is paid out as the price plan in force says, also what was owed before it was in force; a merchant's exceptions
// come before the plan, and the operator's setting before both (PLAN-4).
func TestPayoutsAreThoseOfThePlan(t *testing.T) {
	s := open(t)
	apply := func(payouts plans.Payouts, from time.Time) {
		t.Helper()
		_, _, err := s.Plans.Apply(t.Context(), carla, plans.Plan{Name: "gold", Terms: plans.Terms{Settlement: plans.Settlement{Delay: 24 * time.Hour}, Payouts: payouts}}, from)
		s.must(err)
	}
	assign := func(own plans.Exceptions) {
		t.Helper()
		_, err := s.Onboarding.Agree(t.Context(), carla, s.Scope.Merchant, appmerchants.Agreement{Plan: &appplans.Assignment{Plan: "gold", Own: own}})
		s.must(err)
	}
	schedule := func(p pay.PayoutSchedule) { s.limit(func(l *pay.PayoutLimits) { l.Schedule = p }) }
	agreed := func(automatic bool, completed int, states ...pay.PayoutState) {
		t.Helper()
		s.arrived(completed)
		s.payoutsAre(states...)
		if p, err := payouts.Agreed(t.Context(), s.payouts, s.Scope); err != nil || p.Automatic != automatic {
			t.Errorf("payouts are automatic: %t, %v, want %t", p.Automatic, err, automatic)
		}
	}
	const paid, owed = pay.PayoutConfirmed, pay.PayoutOwed
	apply(plans.Payouts{}, time.Time{})
	apply(plans.Payouts{Schedule: plans.Automatic, Minimum: 50_00}, s.Clock.Now().Add(5*24*time.Hour))
	assign(plans.Exceptions{})
	s.settled(100_00)
	agreed(false, 0, owed) // before the plan is automatic
	s.pass(72 * time.Hour)
	s.pass(24 * time.Hour)
	agreed(true, 1, paid) // within a day after it is

	s.settled(40_00)
	agreed(true, 1, paid, owed) // below the plan's minimum
	assign(plans.Exceptions{Payouts: &plans.Payouts{}})
	s.settled(70_00)
	s.pass(24 * time.Hour)
	agreed(false, 1, paid, owed, owed) // with the merchant's exceptions
	schedule(pay.PayoutsAutomatic)
	s.pass(time.Hour)
	agreed(true, 2, paid, paid, paid) // with the operator's setting

	today := s.Clock.Now().Day()
	assign(plans.Exceptions{Payouts: &plans.Payouts{Schedule: plans.Automatic, Monthdays: merchants.Monthdays(0).With((today+14)%28 + 1)}})
	schedule(pay.PayoutsByPlan)
	s.settled(70_00)
	agreed(true, 2, paid, paid, paid, owed) // on another day of the month
	s.pass(288 * time.Hour)
	for range 16 {
		s.pass(24 * time.Hour)
	}
	agreed(true, 3, paid, paid, paid, paid) // once the day has come
}
