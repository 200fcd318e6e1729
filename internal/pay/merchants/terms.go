package merchants

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Tier is how far the operator trusts a merchant. It decides the limits of requests, and the built-in price plan of a merchant
// to which no plan was assigned (SVC-14).
type Tier string

// The tiers.
const (
	Starter  Tier = "starter"
	Standard Tier = "standard"
	Premium  Tier = "premium"
	Trusted  Tier = "trusted"
)

// Tiers lists all tiers.
func Tiers() []Tier { return []Tier{Starter, Standard, Premium, Trusted} }

// FirstScore is the trust score, 0 to 1000, with which a merchant of the tier begins.
func (t Tier) FirstScore() int {
	switch t {
	case Standard:
		return 600
	case Premium:
		return 750
	case Trusted:
		return 900
	}
	return 400
}

// MostScore is the highest trust score.
const MostScore = 1000

// RefundFees is what happens to a payment's fees when it is refunded (REF-11).
type RefundFees string

// The two terms.
const (
	// FeesKept leaves the fees with those who earned them: the merchant pays the whole refund.
	FeesKept RefundFees = "kept"
	// FeesReturned gives back each fee in proportion to the refund: the merchant pays what the
	// payment brought.
	FeesReturned RefundFees = "returned"
)

// AllRefundFees lists the terms, the default first.
func AllRefundFees() []RefundFees { return []RefundFees{FeesKept, FeesReturned} }

// Assignment says which price plan a merchant has from a time on, and what differs from it for this merchant.
type Assignment struct {
	Plan string    `json:"plan"`          // its name
	From time.Time `json:"from"`          // in force from then on
	Own  string    `json:"own,omitempty"` // the merchant's exceptions, as plans.Exceptions in JSON; "": none
}

// MostAssignments is how many assignments a merchant can have. Those that ended assignmentKept ago are dropped: the audit log has
// them.
const MostAssignments = 20

// assignmentKept is longer than a payment can wait for its shopper, then for its delay and for a day on which settlements close, and
// for an outage: a settlement finds how far back it looks in the assignments (plans.Book.LongestDelay).
const assignmentKept = 180 * 24 * time.Hour

// AssignmentAt is the assignment that is in force at a time; false if none is: the built-in plan of the tier is.
func (m Merchant) AssignmentAt(at time.Time) (Assignment, bool) {
	for i := len(m.Assignments) - 1; i >= 0; i-- {
		if a := m.Assignments[i]; !a.From.After(at) {
			return a, true
		}
	}
	return Assignment{}, false
}

// Assign gives the merchant a price plan from a time on. What was to come into force at that time or later is withdrawn.
//
// Errors: conflict_state if there are too many.
func (m Merchant) Assign(a Assignment, now time.Time) (Merchant, error) {
	list := slices.DeleteFunc(slices.Clone(m.Assignments), func(old Assignment) bool { return !old.From.Before(a.From) })
	list = append(list, a)
	for len(list) > 1 && list[1].From.Before(now.Add(-assignmentKept)) {
		list = list[1:]
	}
	if len(list) > MostAssignments {
		return m, problem.Conflict("plan", tooManyAssignments.With(MostAssignments))
	}
	m.Version++
	m.Assignments = list
	return m, nil
}

// Terms is the prices and limits for a merchant, as its price plan says at a moment. Amounts are USD cents, shares are of
// 10,000.
type Terms struct {
	Plan          string        // the plan and its version, such as gold/3
	Price         Price         // of a payment, for its rail
	FXMarginBps   int64         // of a payment that the shopper pays in another currency than USD
	ReserveBps    int64         // held back from each payment
	ReserveDays   int           // how long it is held
	ReserveCap    int64         // the reserve grows up to this; 0: without a bound
	Delay         time.Duration // from capture to available, from ShortestDelay to LongestDelay
	Weekdays      Weekdays      // on which settlements close, in UTC
	WithdrawalFee int64
	MinWithdrawal int64   // the fee included; 0: anything above the fee
	ChargebackFee int64   // for each dispute, whatever its outcome
	RefundFee     int64   // for each refund
	Taxed         TaxRate // on the fees
	Payouts       Payouts
	RefundFees    RefundFees // the merchant's own, whatever the plan
}

// TaxRate is a tax on fees: its name, such as IVA, and its share of them, of 10,000. Zero: there is none.
type TaxRate struct {
	Name string
	Bps  int64
}

// Percent is the share in percent, such as 16 or 16.5; "" if there is no tax.
func (t TaxRate) Percent() string {
	if t.Bps == 0 {
		return ""
	}
	return money.New(t.Bps, money.USD).Decimal() // two decimals, as cents have
}

// Payouts says when what settlements owe a merchant is paid out (PLAN-4).
type Payouts struct {
	Automatic bool  // otherwise the merchant withdraws
	Minimum   int64 // USD cents; automatic payouts of less wait for the next settlement
	Days      PayoutDays
}

// PayoutDays are the days on which automatic payouts are made, in UTC: of the week, or else of the month. None means all.
type PayoutDays struct {
	Weekdays  Weekdays
	Monthdays Monthdays
}

// Has reports whether payouts are made on the day of a time.
func (d PayoutDays) Has(at time.Time) bool {
	at = at.UTC()
	return d.Weekdays.Has(at.Weekday()) && d.Monthdays.Has(at)
}

// Monthdays is a set of days of the month, 1 to 31; none means all.
type Monthdays int64

// With adds a day.
func (mo Monthdays) With(day int) Monthdays { return mo | 1<<day }

// Has reports whether the day of a time is in the set. A day that a month does not have is its last day.
func (mo Monthdays) Has(at time.Time) bool {
	if mo == 0 {
		return true
	}
	if at.AddDate(0, 0, 1).Day() == 1 {
		return mo>>at.Day() != 0
	}
	return mo&(1<<at.Day()) != 0
}

// List lists the days in their order.
func (mo Monthdays) List() (days []int) {
	for day := 1; day <= 31; day++ {
		if mo&(1<<day) != 0 {
			days = append(days, day)
		}
	}
	return days
}

// Price is what the operator earns of a payment, and whether the merchant pays the provider's cost beside it.
type Price struct {
	Bps   int64
	Flat  int64 // USD cents
	Least int64 // USD cents: the share and the flat part together are at least this
	// Cost is what the merchant pays for the provider; nil: what the catalog lists for the rail. A zero Fee: nothing, the
	// price has it.
	Cost *money.Fee
}

// Weekdays is a set of days of the week; none means all.
type Weekdays int

// Has reports whether the day is in the set.
func (w Weekdays) Has(d time.Weekday) bool { return w == 0 || w&(1<<d) != 0 }

// Words lists the days, such as mon; none for all days.
func (w Weekdays) Words() (words []string) {
	for d, word := range WeekdayWords() {
		if w != 0 && w.Has(time.Weekday(d)) {
			words = append(words, word)
		}
	}
	return words
}

// WeekdayWords are the names of the days from Sunday on.
func WeekdayWords() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

// With adds a day.
func (w Weekdays) With(d time.Weekday) Weekdays { return w | 1<<d }

// Next is the time, or the start of the next day of the set, in UTC.
func (w Weekdays) Next(at time.Time) time.Time {
	for at = at.UTC(); !w.Has(at.Weekday()); {
		at = at.Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	return at
}

// Bounds of the delay of every plan. A settlement relies on them to know when to look, and how far back.
const (
	ShortestDelay = 24 * time.Hour
	LongestDelay  = 30 * 24 * time.Hour
)

// DefaultReserveDays is how long the rolling reserve of a payment is held if the plan does not say it.
const DefaultReserveDays = 90

// LeastWithdrawal is the smallest withdrawal, in USD cents, the fee included: more than the fee (PAYOUT-11).
func (t Terms) LeastWithdrawal() int64 { return max(t.MinWithdrawal, t.WithdrawalCost()+1) }

// WithdrawalCost is the fee of a withdrawal with the tax on it, in USD cents.
func (t Terms) WithdrawalCost() int64 { return t.WithdrawalFee + t.Tax(t.WithdrawalFee) }

// Fees is the price of a payment, in USD cents, by who earns it.
type Fees struct {
	Platform int64 `json:"platform"`      // the operator of Cascada
	Provider int64 `json:"provider"`      // the provider's share of the amount
	Flat     int64 `json:"flat"`          // the provider's fixed price
	Network  int64 `json:"network"`       // schemes and networks
	Tax      int64 `json:"tax,omitempty"` // on the other fees
}

// Total is the sum of all fees.
func (f Fees) Total() int64 { return f.Platform + f.Provider + f.Flat + f.Network + f.Tax }

// Charged is a payment whose price is computed.
type Charged struct {
	USD       money.Amount
	Cost      money.Fee // the provider's, as the catalog lists it
	Converted bool      // the shopper pays in another currency than USD
	Held      int64     // USD cents: what the merchant's reserve holds already
}

// Charge computes a payment's fees and its part of the reserve. Shares round half up, as providers
// bill. Where a share is agreed, its fee is at least a cent: many small payments cost no less than one large one. No
// fee is more than the others left, so the merchant's part is never negative.
func (t Terms) Charge(c Charged) (Fees, int64) {
	left := c.USD.Minor
	part := func(want int64) int64 {
		got := min(want, left)
		left -= got
		return got
	}
	cost := c.Cost
	if t.Price.Cost != nil {
		cost = *t.Price.Cost
	}
	platform := max(money.Fee{Bps: t.Price.Bps}.Share(c.USD)+t.Price.Flat, t.Price.Least)
	if c.Converted {
		platform += money.Fee{Bps: t.FXMarginBps}.Share(c.USD)
	}
	fees := Fees{
		Platform: part(platform),
		Provider: part(cost.Share(c.USD)),
		Flat:     part(cost.Flat),
	}
	fees.Tax = part(t.Tax(fees.Total()))
	reserve := c.USD.Share(t.ReserveBps, money.HalfUp).Minor
	if t.ReserveCap > 0 {
		reserve = min(reserve, max(0, t.ReserveCap-c.Held))
	}
	return fees, part(reserve)
}

// Listed is what payments cost before taxes, by who earns it; cost and converted are as in Charged. The operator's part is at
// least Price.Least.
func (t Terms) Listed(cost money.Fee, converted bool) (platform, provider money.Fee) {
	platform = money.Fee{Bps: t.Price.Bps, Flat: t.Price.Flat}
	if converted {
		platform.Bps += t.FXMarginBps
	}
	if t.Price.Cost != nil {
		cost = *t.Price.Cost
	}
	return platform, cost
}

// Tax is the tax on fees, in USD cents, rounded half up.
func (t Terms) Tax(fees int64) int64 {
	return money.New(fees, money.USD).Share(t.Taxed.Bps, money.HalfUp).Minor
}
