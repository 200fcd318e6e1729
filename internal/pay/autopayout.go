package pay

import (
	"slices"
	"strings"
	"time"
)

// Why the net of a settlement is not paid out by itself yet.
const (
	WaitsMinimum Unpayable = "below_minimum"
	WaitsDay     Unpayable = "payout_day"
	WaitsWallet  Unpayable = "no_wallet"
)

// payoutLook is how soon a settlement whose payout is under way is looked at again, and payoutAgain
// one whose payout could not be made.
const (
	payoutLook  = 15 * time.Second
	payoutAgain = time.Hour
)

// weekdays are the days that terms name.
var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// checkDays says what is wrong with days on which payouts are made.
//
// Errors: invalid_request.
func checkDays(days string) error {
	if days == "" {
		return nil
	}
	for day := range strings.SplitSeq(days, ",") {
		if !slices.Contains(weekdays, day) {
			return FieldError(CodeInvalidRequest, "days", "days must be some of "+strings.Join(weekdays, ",")+", with commas between them")
		}
	}
	return nil
}

// PayoutDay reports whether payouts are made on the day of a moment, UTC.
func (l PayoutLimits) PayoutDay(at time.Time) bool {
	return l.Days == "" || slices.Contains(strings.Split(l.Days, ","), weekdays[at.UTC().Weekday()])
}

// Owed is the sum of settlements' nets, in USD cents, of those that are to be paid out by themselves
// and are not.
func Owed(list []Settlement) (sum int64, of []Settlement) {
	for _, s := range list {
		if s.Status == BatchClosed && s.Automatic && s.Payout == "" && !s.PDFAt.IsZero() {
			sum += s.Net
			of = append(of, s)
		}
	}
	return sum, of
}

// PaidBy is settlements whose nets a withdrawal pays out.
func PaidBy(of []Settlement, withdrawal string, now time.Time) []Settlement {
	list := make([]Settlement, 0, len(of))
	for _, s := range of {
		s = s.written(now)
		s.Payout, s.PayoutWhy, s.DueAt = withdrawal, "", now.Add(payoutLook)
		list = append(list, s)
	}
	return list
}

// Unpaid notes why a settlement's payout is not made, and when somebody looks again: of what is below
// the minimum, with the next settlement.
func (s Settlement) Unpaid(why Unpayable, now time.Time) Change {
	s = s.written(now)
	s.PayoutWhy, s.DueAt = string(why), now.Add(payoutAgain)
	switch why {
	case WaitsMinimum:
		s.DueAt = time.Time{}
	case WaitsDay:
		s.DueAt = now.UTC().Truncate(day).Add(day)
	}
	return Change{Settlements: []Settlement{s}}
}

// ByHand ends that a settlement's payout follows by itself: the merchant withdraws.
func (s Settlement) ByHand(now time.Time) Change {
	s = s.written(now)
	s.Automatic = false
	return Change{Settlements: []Settlement{s.wait()}}
}

// PayoutIs applies how the withdrawal stands that pays settlements out.
func PayoutIs(w Withdrawal, of []Settlement, now time.Time) (Change, error) {
	var change Change
	for _, s := range of {
		if s.Payout != w.ID || s.Status != BatchClosed {
			continue
		}
		switch {
		case w.Open():
			s = s.written(now)
			s.DueAt = now.Add(payoutLook)
		case !w.CompletedAt.IsZero(): // what came back later was paid all the same
			paid, _, err := s.Pay(now)
			if err != nil {
				return change, err
			}
			s = paid
		default: // the money is back; the next settlement's payout has it
			s = s.written(now)
			s.Payout, s.PayoutWhy, s.DueAt = "", w.FailureCode, time.Time{}
			if s.PayoutWhy == "" {
				s.PayoutWhy = string(w.Status)
			}
		}
		change.Settlements = append(change.Settlements, s)
	}
	return change, nil
}
