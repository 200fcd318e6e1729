package settlements_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// The payments of a day settle once, after their delay: net = gross - fees - refunds - reserve to the cent, and becomes available. A
// closed settlement never changes: what comes later is in the next one (SETTLE-1 to SETTLE-3).
func TestPaymentsOfADaySettleOnce(t *testing.T) {
	s := open(t)
	card := s.charge(100_00)
	part := s.charge(33_33)
	s.refund(part, "10.01")
	whole := s.charge(10_00)
	s.refund(whole, "")
	s.work()
	s.pass(47 * time.Hour)
	if list := s.closed(0); len(s.all()) != 1 || s.balances()["available"] != 0 {
		t.Errorf("before the delay is over there are %v, of them closed %v", s.all(), list)
	}
	s.charge(20_00) // too late for this settlement
	s.Clock.Advance(2 * time.Hour)
	for range 2 { // closing twice is harmless
		s.work()
	}
	first := s.closed(1)[0]
	s.adds(first)
	if first.Lines != 7 || first.Gross != 143_33 || first.Refunds != 20_01 || first.Net != s.balances()["available"] {
		t.Errorf("the settlement is %+v, and available are %v", first.Totals, s.balances())
	}
	pending := s.balances()["pending"]

	s.refund(card, "")
	s.pass(48 * time.Hour)
	list := s.closed(2)
	s.adds(list[1])
	if !reflect.DeepEqual(list[0].Totals, first.Totals) || list[0].Covered == 0 { // the refund is a debt, which is set off
		t.Errorf("the closed settlement changed: %+v", list[0])
	}
	if list[1].Gross != 20_00 || list[1].Refunds != 100_00 || pending <= 0 {
		t.Errorf("the next settlement is %+v", list[1].Totals)
	}
	if have := s.balances(); have["available"] != list[0].Net+list[1].Net || have["pending"] != 0 {
		t.Errorf("the settlements net %d and %d, and the balances are %v", list[0].Net, list[1].Net, have)
	}
}

// A refund after the payment's reserve was released is paid from the merchant's other money. The reserve of later payments stays
// (SETTLE-2).
func TestRefundAfterTheReserveIsReleased(t *testing.T) {
	s := open(t)
	old := s.charge(100_00)
	s.work()
	s.pass(49 * time.Hour)
	s.has(90_51, 0, 5_00)
	s.pass(90 * 24 * time.Hour)
	s.pass(49 * time.Hour)
	s.has(95_51, 0, 0)
	s.charge(100_00)
	s.refund(old, "")
	s.has(0, 90_51, 5_00)
}

// A payment settles by the terms that it was made with, whatever the merchant's tier is now (SVC-18).
func TestATierMovesNoSettlement(t *testing.T) {
	for _, c := range []struct {
		from, to merchants.Tier
		closed   int
	}{
		{merchants.Standard, merchants.Trusted, 0}, // 48 hours
		{merchants.Trusted, merchants.Standard, 1}, // 24 hours
	} {
		t.Run(string(c.from), func(t *testing.T) {
			s := open(t)
			s.agree(c.from)
			s.charge(100_00)
			s.agree(c.to)
			s.work()
			s.pass(25 * time.Hour)
			s.closed(c.closed)
		})
	}
}

// The reserve of a day is released after 90 whole days, less what refunds gave back. The next settlement has the release (SETTLE-7,
// BAL-4).
func TestReserveIsReleasedAfterItsPeriod(t *testing.T) {
	s := open(t) // at noon, since the reserve's days begin at midnight
	first := s.charge(100_00)
	schedule := func(when string, want ...int64) {
		t.Helper()
		balance, err := s.settlements.Balance(t.Context(), s.Scope)
		s.must(err)
		var got []int64
		for _, r := range balance.Releases {
			got = append(got, r.Held-r.Released)
			if r.ReleaseAt.Truncate(24*time.Hour) != r.ReleaseAt {
				t.Errorf("%s a release is at %s, want the beginning of a day", when, r.ReleaseAt)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s the next releases are %v, want %v", when, got, want)
		}
	}
	schedule("at first", 5_00)
	for range 3 {
		s.pass(24 * time.Hour)
		s.charge(200_00)
	}
	schedule("after four days", 5_00, 10_00, 10_00)
	s.pass(72 * time.Hour)
	if pending := s.balances()["pending"]; pending != 0 {
		t.Fatalf("after the delay %d are pending", pending)
	}
	s.refund(first, "")
	schedule("with the first refunded", 10_00, 10_00, 10_00)
	s.pass(86 * 24 * time.Hour)
	if reserve := s.balances()["reserve"]; reserve != 20_00 {
		t.Errorf("once the second day is released, the reserve is %d, want 2000", reserve)
	}
	s.pass(30 * 24 * time.Hour)
	schedule("at last")
	s.pass(72 * time.Hour)
	held, released := int64(0), int64(0)
	for _, one := range s.all() {
		s.adds(one)
		held, released = held+one.Held, released+one.Released
	}
	if held != 35_00 || released != 35_00 {
		t.Errorf("the settlements held %d and released %d, want 3500 each", held, released)
	}
	s.has(573_96, 0, 0)
}

// A settlement has the disputes, their fees and their lost money, but not the withdrawals (SETTLE-3).
func TestDisputesAndWithdrawalsInTheBooks(t *testing.T) {
	s := open(t)
	s.charge(100_00)
	s.charge(100_00)
	s.work()
	s.pass(49 * time.Hour)
	w := s.withdraw(50_00)
	disputed := s.charge(100_00)
	s.dispute(disputed, "disputed")
	s.dispute(disputed, "dispute_lost")
	s.pass(72 * time.Hour)
	next := s.closed(2)[1]
	s.adds(next)
	if next.Gross != 100_00 || next.Chargebacks != 100_00 || next.ChargebackFees != 20_00 || next.Refunds != 0 || next.Held != 5_00 || next.Adjustments != 0 || next.Net != -29_49 || next.Lines != 3 {
		t.Errorf("the settlement with the dispute is %+v", next.Totals)
	}
	if arrived := s.arrived(1); arrived[0].ID != w.ID {
		t.Errorf("%s has arrived, want %s", arrived[0].ID, w.ID)
	}
	s.has(2*90_51-50_00-29_49, 0, 15_00)
}

// The reports of a merchant that earns nothing, and the loops that find nothing, write nothing.
func TestNothingIsSettledOfNothing(t *testing.T) {
	s := open(t)
	s.pass(100 * time.Hour)
	if list := s.all(); len(list) != 0 {
		t.Errorf("without a payment there are the settlements %v", list)
	}
	_, err := s.settlements.Get(t.Context(), s.Scope, "STL-NOBODY")
	refused(t, err, "settlement_not_found")
}
