package settlements_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// order is an adjustment of USD cents with a reference of its own.
func (s *shop) order(cents int64, reason pay.AdjustmentReason) settlements.NewAdjustment {
	s.sent++
	return settlements.NewAdjustment{Merchant: s.Scope.Merchant, Amount: money.New(cents, money.USD), Reason: reason, Note: "by the recipe", Reference: fmt.Sprint("ticket ", s.sent)}
}

func (s *shop) adjust(n settlements.NewAdjustment) (pay.Adjustment, error) {
	return s.adjustments.Make(s.Context(), carla, n)
}

// An adjustment moves the balance once, whoever repeats it; its reversal is its exact opposite, once too. The next settlement lists
// both, and they add up (ADJ-1, ADJ-3, ADJ-6).
func TestAdjustmentAndItsReversalBalance(t *testing.T) {
	s := open(t)
	order := s.order(12_50, pay.ForGoodwill)
	order.About = s.charge(100_00).ID
	made, err := s.adjust(order)
	s.must(err)
	again, err := s.adjust(order)
	if err != nil || again.ID != made.ID || made.Status != pay.AdjustmentApplied {
		t.Errorf("the repeat is %+v, %v, want %+v", again, err, made)
	}
	s.has(12_50, 90_51, 5_00)
	order.Amount.Minor++
	_, err = s.adjust(order)
	refused(t, err, "conflict_state reference")
	var undo []pay.Adjustment
	for range 2 {
		r, err := s.adjustments.Reverse(t.Context(), carla, made.ID, "it was another merchant's", false)
		s.must(err)
		undo = append(undo, r)
	}
	if undo[0].ID != undo[1].ID || undo[0].Amount != -12_50 || undo[0].Reverses != made.ID {
		t.Errorf("it is reversed by %+v and %+v", undo[0], undo[1])
	}
	if by, err := s.adjustments.ReversedBy(t.Context(), made); err != nil || by != undo[0].ID {
		t.Errorf("it is reversed by %s, %v", by, err)
	}
	s.has(0, 90_51, 5_00)
	kept, err := s.adjust(s.order(7_00, pay.ForGoodwill))
	s.must(err)
	_, err = s.adjust(s.order(-7_01, "fee_correction")) // more than there is (ADJ-5)
	refused(t, err, "balance_insufficient amount")
	s.work()
	s.pass(49 * time.Hour)
	one := s.closed(1)[0]
	s.adds(one)
	if one.Adjustments != kept.Amount {
		t.Errorf("the settlement has adjustments of %d, want %d", one.Adjustments, kept.Amount)
	}
}

// A second operator approves what he has seen: an adjustment that was rejected is made again under its reference only if it says the
// same (ADJ-4). A reversal that was rejected is followed by another one (ADJ-6).
func TestApprovalIsOfWhatTheSecondOperatorSaw(t *testing.T) {
	s := open(t)
	s.limit(func(l *pay.PayoutLimits) { l.ApprovalAbove = 50_00 })
	order := s.order(60_00, pay.ForGoodwill)
	made, err := s.adjust(order)
	if err != nil || made.Status != pay.AdjustmentPending {
		t.Fatalf("above the limit it is %+v, %v", made, err)
	}
	s.has(0, 0, 0)
	_, err = s.adjustments.Approve(t.Context(), carla, made.ID)
	refused(t, err, "conflict_state same_operator")
	_, err = s.adjustments.Reject(t.Context(), carla, made.ID, "a typo")
	s.must(err)
	other := order
	other.Amount.Minor = 9_000_000_00
	_, err = s.adjust(other)
	refused(t, err, "conflict_state reference")
	_, err = s.adjustments.Approve(t.Context(), bruno, made.ID)
	refused(t, err, "conflict_state")
	_, err = s.adjust(order)
	s.must(err)
	_, err = s.adjustments.Approve(t.Context(), bruno, made.ID)
	s.must(err)
	s.has(60_00, 0, 0)

	reverse := func(note string) pay.Adjustment {
		t.Helper()
		r, err := s.adjustments.Reverse(t.Context(), carla, made.ID, note, false)
		s.must(err)
		return r
	}
	first := reverse("x")
	_, err = s.adjustments.Reject(t.Context(), carla, first.ID, "a typo")
	s.must(err)
	second := reverse("y")
	if again := reverse("y"); again.ID != second.ID || second.ID == first.ID {
		t.Errorf("after the rejected reversal %s it is reversed by %s, and by %s", first.ID, second.ID, again.ID)
	}
	_, err = s.adjustments.Approve(t.Context(), bruno, first.ID)
	refused(t, err, "conflict_state")
	_, err = s.adjustments.Approve(t.Context(), bruno, second.ID)
	s.must(err)
	s.has(0, 0, 0)
}
