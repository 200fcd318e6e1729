package pay

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/printable"
)

// PayoutControl is the operator's limits for the withdrawals of one merchant, or of all together,
// in an environment, and how much of them is used. Amounts are USD cents, fees included; zero means
// no limit.
type PayoutControl struct {
	ID       string // see PayoutControlID
	Version  int64
	Merchant string // "" for all merchants together
	Live     bool
	PayoutLimits
	// HourSum and DaySum are what was sent in the hour and the day (UTC) that begin at HourAt and
	// DayAt. Payouts that failed later count too.
	HourAt, DayAt   time.Time
	HourSum, DaySum int64
}

// Forget is the control without what was sent so far.
func (pc PayoutControl) Forget() PayoutControl {
	pc.Version++
	pc.HourAt, pc.DayAt, pc.HourSum, pc.DaySum = time.Time{}, time.Time{}, 0, 0
	return pc
}

// PayoutLimits are the limits of a PayoutControl.
type PayoutLimits struct {
	Stopped       string `json:"stopped,omitempty"`       // why nothing is sent; "": payouts are sent
	ApprovalAbove int64  `json:"approvalAbove,omitempty"` // a larger amount waits for an operator's approval
	Hourly        int64  `json:"hourly,omitempty"`
	Daily         int64  `json:"daily,omitempty"`
	// Schedule, Minimum and Days take the place of what the merchant's price plan says about payouts; what is empty is as the plan
	// says. Automatic payouts pay the net of each settlement out to the default wallet of the merchant's first shop, if it is at
	// least Minimum, on the Days, such as "mon,thu".
	Schedule PayoutSchedule `json:"schedule,omitempty"`
	Minimum  int64          `json:"minimum,omitempty"`
	Days     string         `json:"days,omitempty"`
}

// PayoutSchedule says who begins a merchant's payouts.
type PayoutSchedule string

// The schedules.
const (
	PayoutsByPlan    PayoutSchedule = "" // as the price plan says
	PayoutsAutomatic PayoutSchedule = "automatic"
	PayoutsOnRequest PayoutSchedule = "on_request"
)

// Word is the schedule in requests and replies, where the plan's has a word too.
func (s PayoutSchedule) Word() string { return cmp.Or(string(s), planWord) }

// ParseSchedule reads a Word. Set refuses what is none.
func ParseSchedule(word string) PayoutSchedule {
	if word == planWord {
		return PayoutsByPlan
	}
	return PayoutSchedule(word)
}

const planWord = "plan"

// weekdays are the names of days in PayoutLimits.Days.
var weekdays = merchants.WeekdayWords()

// Payouts is how the merchant is paid out, whose price plan says p.
func (l PayoutLimits) Payouts(p merchants.Payouts) merchants.Payouts {
	if l.Schedule != PayoutsByPlan {
		p.Automatic = l.Schedule == PayoutsAutomatic
	}
	if l.Minimum > 0 {
		p.Minimum = l.Minimum
	}
	if l.Days != "" {
		p.Days = merchants.PayoutDays{}
		for word := range strings.SplitSeq(l.Days, ",") {
			if day := slices.Index(weekdays, word); day >= 0 {
				p.Days.Weekdays = p.Days.Weekdays.With(time.Weekday(day))
			}
		}
	}
	return p
}

// Stops reports whether new limits do nothing but stop payouts: that needs no second person.
func (l PayoutLimits) Stops(next PayoutLimits) bool {
	l.Stopped = next.Stopped
	return next.Stopped != "" && next == l
}

// MaxStopReason is the longest reason of a stop, in characters.
const MaxStopReason = 200

// Why a due withdrawal waits, for an operator or for a time.
const (
	WaitsStopped  Unpayable = "payouts_stopped"
	WaitsApproval Unpayable = "approval_required"
	WaitsHourly   Unpayable = "hourly_limit"
	WaitsDaily    Unpayable = "daily_limit"

	WaitsAccount Unpayable = "payout_delayed" // no account can pay it now
	WaitsProof   Unpayable = "not_proved"     // it is not as the service wrote it, or not as the ledger has it: nothing is sent or given back. It is not written into the withdrawal
	WaitsFloat   Unpayable = "float_short"    // the accounts that could pay it have too little float; the merchant reads payout_delayed
)

// PendingReason is why a due withdrawal is not sent, in the form that the merchant may read; "" if
// nothing holds it back.
func (w Withdrawal) PendingReason() string {
	if w.Waiting == string(WaitsFloat) {
		return string(WaitsAccount)
	}
	return w.Waiting
}

// Before reports whether one reason is shown before another. Reasons that a person has to end come
// first.
func (u Unpayable) Before(other Unpayable) bool {
	order := []Unpayable{WaitsStopped, WaitsApproval, WaitsDaily, WaitsHourly, Payable}
	return slices.Index(order, u) < slices.Index(order, other)
}

// OfSums reports whether a reason is a limit on the sum of an hour or a day. A withdrawal counts when its account gets it, also
// one that leaves in a file later.
func (u Unpayable) OfSums() bool { return u == WaitsHourly || u == WaitsDaily }

// PayoutControlID is the id of a merchant's control in an environment; merchant "" is all
// merchants.
func PayoutControlID(merchant string, live bool) string {
	return "payouts/" + string(merchants.EnvironmentOf(live)) + "/" + merchant
}

// Set changes the limits.
//
// Errors: invalid_request.
func (pc PayoutControl) Set(l PayoutLimits) (PayoutControl, Change, error) {
	for name, value := range map[string]int64{"approvalAbove": l.ApprovalAbove, "hourly": l.Hourly, "daily": l.Daily, "minimum": l.Minimum} {
		if value < 0 {
			return pc, Change{}, problem.Field(problem.InvalidRequest, name, notDollars.With(name))
		}
	}
	if err := cmp.Or(checkDays(l.Days), problem.Fit(problem.Text{Param: "reason", Text: l.Stopped, Most: MaxStopReason})); err != nil {
		return pc, Change{}, err
	}
	if !slices.Contains([]PayoutSchedule{PayoutsByPlan, PayoutsAutomatic, PayoutsOnRequest}, l.Schedule) {
		return pc, Change{}, problem.Field(problem.InvalidRequest, "schedule", unknownSchedule)
	}
	if pc.Merchant == "" && l.Schedule != PayoutsByPlan {
		return pc, Change{}, problem.Field(problem.InvalidRequest, "schedule", automaticIsMerchants)
	}
	pc.Version++
	pc.PayoutLimits = l
	return pc, Change{Controls: []PayoutControl{pc}}, nil
}

// at returns the control without sums of earlier hours and days.
func (pc PayoutControl) at(now time.Time) PayoutControl {
	if hour := now.UTC().Truncate(time.Hour); hour.After(pc.HourAt) { // clocks differ: an earlier time counts in the present hour
		pc.HourAt, pc.HourSum = hour, 0
	}
	if day := now.UTC().Truncate(24 * time.Hour); day.After(pc.DayAt) {
		pc.DayAt, pc.DaySum = day, 0
	}
	return pc
}

// When a withdrawal that the limits hold is tried again. A change of the limits wakes none, so this is how late it has an
// effect.
const (
	stopLook     = time.Minute     // everything waits, and leaves soon once payouts are on again
	approvalLook = time.Hour       // Approve makes it due by itself; this finds a higher limit for approvals
	limitLook    = 5 * time.Minute // a higher limit, before the hour or the day is over
)

// Holds says why a withdrawal is not sent now, and when to look again; "" if it may be sent. An
// operator's approval lifts the limits, but not a stop.
func (pc PayoutControl) Holds(w Withdrawal, now time.Time) (why Unpayable, until time.Time) {
	pc = pc.at(now)
	switch {
	case pc.Stopped != "":
		return WaitsStopped, now.Add(stopLook)
	case w.ApprovedBy != "":
	case pc.ApprovalAbove > 0 && w.Amount > pc.ApprovalAbove && w.Status == WithdrawalPending: // one that was sent had it, or needed none
		return WaitsApproval, now.Add(approvalLook)
	case pc.Hourly > 0 && !w.sentSince(pc.HourAt) && w.Amount > pc.Hourly-pc.HourSum:
		return WaitsHourly, earlier(pc.HourAt.Add(time.Hour), now)
	case pc.Daily > 0 && !w.sentSince(pc.DayAt) && w.Amount > pc.Daily-pc.DaySum:
		return WaitsDaily, earlier(pc.DayAt.Add(24*time.Hour), now)
	}
	return Payable, time.Time{}
}

// earlier is when to look again at a withdrawal that waits: the operator may lift the limit before
// until.
func earlier(until, now time.Time) time.Time {
	if soon := now.Add(limitLook); soon.Before(until) {
		return soon
	}
	return until
}

// Count adds a withdrawal that is about to be sent. It returns false if nothing is limited, so that
// payouts without limits do not wait for one another.
func (pc PayoutControl) Count(w Withdrawal, now time.Time) (PayoutControl, bool) {
	if pc.Hourly == 0 && pc.Daily == 0 {
		return pc, false
	}
	pc = pc.at(now)
	pc.Version++
	if !w.sentSince(pc.HourAt) {
		pc.HourSum += w.Amount
	}
	if !w.sentSince(pc.DayAt) {
		pc.DaySum += w.Amount
	}
	return pc, true
}

// sentSince reports whether the withdrawal was sent since a time. A withdrawal counts once in an hour and in a day, however
// many accounts it goes to and however often it is sent.
func (w Withdrawal) sentSince(at time.Time) bool {
	if w.Status == WithdrawalProcessing && !w.Payout.SentAt.Before(at) {
		return true
	}
	return slices.ContainsFunc(w.Tried, func(a PayoutAttempt) bool { return !time.UnixMicro(a.Started).Before(at) })
}

// Approve lets a withdrawal pass the limits.
//
// Errors: conflict_state if it is not pending.
func (w Withdrawal) Approve(operator string, now time.Time) (Withdrawal, Change, error) {
	if w.Status != WithdrawalPending {
		return w, Change{}, &problem.Error{Code: problem.ConflictState, Reason: onlyPendingApproved.With(w.Status),
			Details: problem.Details{From: string(w.Status), Action: "approve"}}
	}
	w = w.next(now)
	w.ApprovedBy = operator
	if w.Waiting != "" { // it was held back
		w.Waiting, w.DueAt = "", now
	}
	return w, Change{Withdrawals: []Withdrawal{w}}, nil
}

// Float is the operator's money at a payout account in one currency, as the ledger has it. It
// exists from the operator's first entry on. Amounts are minor units of Currency.
type Float struct {
	Account   string
	Live      bool
	Currency  money.Currency
	Free      int64 // available for payouts; below zero after an entry that took out more than there was
	Committed int64 // sent, and not known to have arrived
	Paid      int64 // arrived
	Funded    int64 // what the operator put in
}

// NewFloat reads a float from its balances. It returns false if owner is a merchant.
func NewFloat(owner string, live bool, b ledger.Balances) (Float, bool) {
	account, currency, ok := ledger.FloatOf(owner)
	return Float{
		Account: account, Live: live, Currency: money.Currency(currency),
		Free: b[ledger.Float], Committed: b[ledger.FloatCommitted], Paid: b[ledger.FloatPaid], Funded: -b[ledger.FloatFunding],
	}, ok
}

// Off is how far the provider's balance is outside the range that the ledger allows: from Free to
// Free plus Committed, since committed money may have left or not. It is zero within that range.
func (f Float) Off(balance money.Amount) money.Amount {
	switch most := f.Free + f.Committed; {
	case balance.Minor > most:
		return money.New(balance.Minor-most, f.Currency)
	case balance.Minor < f.Free:
		return money.New(balance.Minor-f.Free, f.Currency)
	}
	return money.New(0, f.Currency)
}

// mostEntry is the largest entry, in minor units: thousands of them still fit into a balance.
const mostEntry = 1e15

// EnterFloat books money that the operator put into a payout account, or, below zero, took out or
// lost there. Its id is made from the reference, so the same entry cannot be booked twice.
//
// Errors: invalid_request.
func EnterFloat(account string, live bool, amount money.Amount, reference string, now time.Time) (ledger.Transfer, error) {
	switch {
	case amount.Minor == 0:
		return ledger.Transfer{}, problem.Field(problem.InvalidRequest, "amount", floatOfZero)
	case amount.Minor > mostEntry || amount.Minor < -mostEntry:
		return ledger.Transfer{}, problem.Field(problem.InvalidRequest, "amount", floatTooLarge)
	case reference == "" || strings.ContainsFunc(reference, printable.Unprintable):
		return ledger.Transfer{}, problem.Field(problem.InvalidRequest, "reference", ReferenceNotALine)
	}
	owner := ledger.FloatOwner(account, string(amount.Currency))
	sum := sha256.Sum256([]byte(fmt.Sprintf("%t %s %s", live, owner, reference)))
	return ledger.Transfer{
		ID: "tr_float_" + hex.EncodeToString(sum[:16]), Merchant: owner, Live: live, Kind: ledger.FloatEntered, Local: amount, At: now,
		Postings: ledger.Post(
			ledger.Posting{Account: ledger.FloatFunding, Amount: -amount.Minor},
			ledger.Posting{Account: ledger.Float, Amount: amount.Minor},
		),
	}, nil
}

// Drop removes a withdrawal from its float and its batch, which are the operator's, because its sandbox is being
// emptied: as if it had never been sent. batch is nil if it is in none.
func (w Withdrawal) Drop(batch *Batch, now time.Time) Change {
	change := Change{}
	if w.Status == WithdrawalDone {
		change.Transfers = w.moveFloat("dropped", ledger.FloatReturned, ledger.FloatPaid, ledger.Float, now)
	} else {
		change.Transfers = w.moveFloat("dropped", ledger.FloatBack, ledger.FloatCommitted, ledger.Float, now)
	}
	if batch != nil {
		left := *batch
		left.Version++
		left.UpdatedAt = now
		left.Lines--
		left.Total.Minor -= w.Local.Minor
		change.Batches = []Batch{left}
	}
	w = w.next(now)
	w.Payout.Float, w.Payout.Batch = money.Amount{}, ""
	change.Withdrawals = []Withdrawal{w}
	return change
}

// checkDays checks a list of days on which payouts are made.
//
// Errors: invalid_request.
func checkDays(days string) error {
	if days == "" {
		return nil
	}
	for day := range strings.SplitSeq(days, ",") {
		if !slices.Contains(weekdays, day) {
			return problem.Field(problem.InvalidRequest, "days", unknownWeekdays.With(strings.Join(weekdays, ",")))
		}
	}
	return nil
}
