package pay

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// SettlementPrefix begins a settlement's id.
const SettlementPrefix = "STL-"

// SettlementStatus is the state of a settlement (SETTLE-2).
type SettlementStatus string

// States of a settlement.
const (
	BatchOpen   SettlementStatus = "open"   // it waits until its lines are old enough
	BatchClosed SettlementStatus = "closed" // its lines and totals are fixed, its money is available
	BatchPaid   SettlementStatus = "paid"   // withdrawals that cover its net have arrived
)

// SettlementStatuses lists the states in order.
func SettlementStatuses() []SettlementStatus {
	return []SettlementStatus{BatchOpen, BatchClosed, BatchPaid}
}

const (
	// settlementGap is the least time between two closings: a merchant gets at most one settlement a day.
	settlementGap = day
	// SettleLease is how long a settlement, its receipt or a reserve belongs to the node that works on it, before another node
	// looks at it: much longer than one Change of it takes. Doing it twice is harmless.
	SettleLease = time.Minute
	// restPause is how long a settlement waits if it could collect nothing although something is old enough.
	restPause = time.Minute
)

// Settlement collects a merchant's lines in one environment. There is one open settlement at a
// time: closing it opens the next.
//
// A due settlement collects lines, a limited number in one Change, until none is left; the last of these
// Changes closes it. Each transfer is collected by at most one settlement, whatever its time, and a
// closed settlement never changes.
type Settlement struct {
	ID              string // STL-…, made from the merchant, the environment and the number
	merchants.Scope        // without a shop: like the balance, it is the merchant's
	Version         int64
	Number          int64 // counts the merchant's settlements from 1
	Status          SettlementStatus
	PeriodStart     time.Time
	PeriodEnd       time.Time // captures up to here, under the merchant's present terms; zero until it begins to close
	LastAt          time.Time // of its newest line
	// Matured is when it began to close: it collects what is due by then. Since is the same of the settlement
	// before it, which left nothing that was due by then; zero of the first.
	Matured, Since time.Time
	Totals
	Taxes []TaxSum // what Totals.Tax is made of
	// Pending is what the lines, listed or not, add to pending. Moved is what was moved from
	// pending to available for them. Carry is the rest of earlier settlements, moved as soon as there
	// is enough. In USD cents.
	Pending, Moved, Carry int64
	// Sums is, for each account, the sum of all transfers collected up to and including this settlement.
	// The summary of fees is the balances less the Sums of an old settlement.
	Sums      ledger.Balances
	At        Cursor // how far the collecting has come
	Sequence  int64  // events so far
	PDFAt     time.Time
	Automatic bool   // its net is paid out automatically (PayoutLimits.Payouts)
	Payout    string // the latest withdrawal that pays it out automatically, "" if there is none
	PayoutWhy string // why there is none
	// Covers is what its net is paid out by or set off against, Covered their sum in USD cents.
	Covers    []Cover
	Covered   int64
	CreatedAt time.Time
	UpdatedAt time.Time
	ClosedAt  time.Time
	PaidAt    time.Time
	DueAt     time.Time // open: when to look; later: for the receipt, the automatic payout; zero when all is done
}

// Cursor is a place in the order in which lines are collected: by kind and time. Of the lines at
// exactly that time, some may be collected already.
type Cursor struct {
	Kind int // index of SettledKinds; after the last one, nothing is left
	At   time.Time
}

// Done reports whether all kinds have been searched.
func (c Cursor) Done() bool { return c.Kind >= len(SettledKinds()) }

// Next is the start of the next kind.
func (c Cursor) Next() Cursor { return Cursor{Kind: c.Kind + 1} }

// OpenSettlement returns the first settlement of a merchant, due at once. The Once of the Change keeps
// it from being opened twice. start is when the books begin: when the merchant was made, or its sandbox was emptied.
// The id is made from it, so a settlement after a reset differs from the one that is gone.
func OpenSettlement(scope merchants.Scope, start, now time.Time) Change {
	s := newSettlement(scope, 1, start, now)
	s.DueAt = now
	return Change{
		Once:        &Once{Key: "settlement|" + s.ID, Object: s.ID, At: now},
		Settlements: []Settlement{s},
	}
}

func newSettlement(scope merchants.Scope, number int64, start, now time.Time) Settlement {
	return Settlement{
		ID:    derivedID(SettlementPrefix, start, scope.Merchant, string(scope.Environment()), fmt.Sprint(number)),
		Scope: scope, Version: 1, Number: number, Status: BatchOpen,
		PeriodStart: start, CreatedAt: now, UpdatedAt: now,
	}
}

// Suffix is the id without its prefix. The ids of everything that belongs to the settlement are
// made from it.
func (s Settlement) Suffix() string { return strings.TrimPrefix(s.ID, SettlementPrefix) }

// Advance decides what to do with a due open settlement. first is when the first transfer that no settlement has
// collected is due, zero if there is none; delay and the days on which it may close are of the merchant's present terms. The settlement begins to close
// when that transfer is due and the last closing is long enough ago. Otherwise it is due again when both may be true.
func (s Settlement) Advance(first time.Time, delay time.Duration, on merchants.Weekdays, now time.Time) (next Settlement, closing bool) {
	if !s.PeriodEnd.IsZero() { // a node died while closing it
		return s, true
	}
	due := now.Add(merchants.ShortestDelay) // payments that are captured after this look are not due before that
	if !first.IsZero() && first.Before(due) {
		due = first
	}
	if s.Number > 1 && due.Before(s.CreatedAt.Add(settlementGap)) {
		due = s.CreatedAt.Add(settlementGap)
	}
	if due = on.Next(due); due.After(now) || !on.Has(now.UTC().Weekday()) {
		s = s.written(now)
		s.DueAt = on.Next(slices.MaxFunc([]time.Time{due, now}, time.Time.Compare))
		if look := now.Add(merchants.ShortestDelay); look.Before(s.DueAt) { // the merchant may get other terms
			s.DueAt = look
		}
		return s, false
	}
	s.PeriodEnd, s.Matured = now.Add(-delay), now
	if s.PeriodEnd.Before(s.PeriodStart) { // the delay grew
		s.PeriodEnd = s.PeriodStart
	}
	return s, true
}

func (s Settlement) written(now time.Time) Settlement {
	s.Version++
	s.UpdatedAt = now
	return s
}

// Gather collects transfers for the settlement and returns their lines. to is the new cursor.
func (s Settlement) Gather(list []Unsettled, to Cursor) (Settlement, []SettlementLine) {
	sums := make(ledger.Balances, len(s.Sums))
	for account, amount := range s.Sums {
		sums[account] = amount
	}
	lines := make([]SettlementLine, 0, len(list))
	for _, u := range list {
		l := u.line(s)
		if l.listed() {
			s.Totals = s.Totals.add(l)
			s.Taxes = withTax(s.Taxes, l)
			l.Number = s.Lines
			if l.At.After(s.LastAt) {
				s.LastAt = l.At
			}
		}
		s.Pending += l.Pending
		for _, p := range u.Postings {
			sums[p.Account] += p.Amount
		}
		lines = append(lines, l)
	}
	s.Sums, s.At = sums, to
	return s, lines
}

// Continue writes lines of a settlement that has more to collect. held are the present reserves of the
// days of the lines.
func (s Settlement) Continue(lines []SettlementLine, held map[string]Reserve, lease, now time.Time) (Settlement, Change) {
	s = s.written(now)
	s.DueAt = lease
	return s, Change{Settlements: []Settlement{s}, Lines: lines, Reserves: holding(s.Scope, lines, held, now)}
}

// Rest keeps a settlement without listed lines open, since there is nothing to report to the merchant
// yet. What it collected stays with it.
//
// It is due again at once, and then waits for the oldest line that is left, since one may be old
// enough in a moment. If it could collect nothing, it waits for restPause to avoid an endless loop.
func (s Settlement) Rest(lines []SettlementLine, held map[string]Reserve, now time.Time) Change {
	s = s.written(now)
	s.PeriodEnd, s.Matured, s.At = time.Time{}, time.Time{}, Cursor{}
	if s.DueAt = now; len(lines) == 0 {
		s.DueAt = now.Add(restPause)
	}
	return Change{Settlements: []Settlement{s}, Lines: lines, Reserves: holding(s.Scope, lines, held, now)}
}

// Close fixes the settlement with its last lines, makes its money available, makes an event for each of
// the merchant's shops, and opens the next settlement.
//
// Refunds draw from available first and then from pending. So the settlement moves what the lines left
// of pending, but not more than there is: a refund that was frozen while the settlement closed is
// collected by the next one, and the rest of the sum is carried there too.
func (s Settlement) Close(lines []SettlementLine, held map[string]Reserve, have ledger.Balances, to Audience, now time.Time) (Settlement, Change) {
	s = s.written(now)
	s.Status, s.ClosedAt, s.DueAt = BatchClosed, now, now
	s.Moved = max(0, min(s.Carry+s.Pending, have[ledger.Pending]))
	next := newSettlement(s.Scope, s.Number+1, s.PeriodEnd, now)
	next.Since = s.Matured
	next.Carry, next.Sums, next.DueAt = s.Carry+s.Pending-s.Moved, s.Sums, now.Add(settlementGap)
	s, events := s.announce(webhooks.SettlementClosed, BatchOpen, to, now)
	change := Change{
		Settlements: []Settlement{s, next}, Lines: lines, Reserves: holding(s.Scope, lines, held, now), Events: events,
	}
	if s.Moved > 0 {
		change.Transfers = []ledger.Transfer{{
			ID: transferID(s.Suffix(), "settlement"), Merchant: s.Merchant, Live: s.Live, Kind: ledger.Settled,
			Local: money.New(s.Moved, money.USD), At: now,
			Postings: []ledger.Posting{{Account: ledger.Pending, Amount: -s.Moved}, {Account: ledger.Available, Amount: s.Moved}},
		}}
		change.Floors = []ledger.Floor{{Merchant: s.Merchant, Live: s.Live, Account: ledger.Pending}}
	}
	return s, change
}

// announce makes an event for each shop of the merchant: endpoints belong to shops, but a settlement
// belongs to the merchant.
func (s Settlement) announce(t webhooks.EventType, previous SettlementStatus, to Audience, now time.Time) (Settlement, []Event) {
	s.Sequence++
	var events []Event
	for _, shop := range to.Shops {
		snapshot := to.Show(s, shop.ID)
		events = append(events, Event{
			ID:   webhooks.EventID(s.Suffix(), s.Sequence) + "-" + strings.TrimPrefix(shop.ID, merchants.ShopPrefix),
			Type: t, Scope: merchants.Scope{Merchant: s.Merchant, Shop: shop.ID, Live: s.Live},
			Object: s.ID, Sequence: s.Sequence, At: now, Previous: Status(previous), Settlement: &snapshot,
		})
	}
	return s, events
}

// Audience is a merchant's shops, and of which shop each withdrawal is that pays out a settlement; nil if there is only one shop.
type Audience struct {
	Shops []merchants.Shop
	Of    map[string]string
}

// Show is a settlement as a shop sees it: not which withdrawals of its siblings pay it out (AUTH-17).
func (a Audience) Show(s Settlement, shop string) Settlement {
	if shop == "" || len(a.Shops) < 2 || s.Payout == "" && len(s.Covers) == 0 {
		return s
	}
	return s.Showing(func(withdrawal string) bool { return a.Of[withdrawal] == shop })
}

// Showing is the settlement without the ids of the withdrawals that show refuses. What they pay out is one part, or two: arrived and not.
func (s Settlement) Showing(show func(withdrawal string) bool) Settlement {
	if !show(s.Payout) {
		s.Payout = ""
	}
	covers := s.Covers
	s.Covers = nil
	for _, c := range covers {
		if !c.SetOff() && !show(c.By) {
			c.By = ""
		}
		at := slices.IndexFunc(s.Covers, func(o Cover) bool { return c.By == "" && o.By == "" && o.Paid == c.Paid })
		if at < 0 {
			s.Covers = append(s.Covers, c)
		} else {
			s.Covers[at].Amount += c.Amount
		}
	}
	return s
}

// Receipt stores the PDF of a closed settlement and makes the event that it is ready. It is due again at once: withdrawals
// and debts may cover it, and if automatic payouts were agreed, its payout follows.
func (s Settlement) Receipt(pdf []byte, automatic bool, to Audience, now time.Time) Change {
	s = s.written(now)
	s.PDFAt, s.Automatic, s.DueAt = now, automatic, now
	s, events := s.announce(webhooks.SettlementPDFReady, "", to, now)
	return Change{
		Settlements: []Settlement{s}, Events: events,
		Documents: []Document{{ID: s.ID, Merchant: s.Merchant, Live: s.Live, Body: pdf}},
	}
}

// holding returns the reserves of the days of the lines, changed by the lines.
func holding(s merchants.Scope, lines []SettlementLine, held map[string]Reserve, now time.Time) []Reserve {
	amounts := map[time.Time]int64{}
	for _, l := range lines {
		if !l.Day.IsZero() {
			amounts[l.Day] += l.Reserve
		}
	}
	var list []Reserve
	for at, amount := range amounts {
		list = append(list, held[ReserveID(s, at)].hold(s, at, amount, now))
	}
	slices.SortFunc(list, func(a, b Reserve) int { return a.Day.Compare(b.Day) })
	return list
}

// Why a settlement's net is not paid out automatically yet.
const (
	WaitsMinimum Unpayable = "below_minimum"
	WaitsDay     Unpayable = "payout_day"
	WaitsWallet  Unpayable = "no_wallet"
	WaitsMoney   Unpayable = "balance_insufficient"
	WaitsPause   Unpayable = merchants.ReasonPaused
)

// notBegun are the reasons for which an automatic payout was not begun. Others are of a withdrawal that failed or came back.
var notBegun = []Unpayable{
	WaitsMinimum, WaitsDay, WaitsWallet, WaitsMoney, WaitsPause, "no_rate", "stale_rate", "beneficiary_incomplete",
	Unpayable(problem.KYCRequired), Unpayable(problem.ConflictState), Unpayable(problem.AmountBelowMinimum), Unpayable(problem.ServiceUnavailable),
}

// payoutAgain is the pause before an automatic payout that could not be made, or not in full, is tried again.
const payoutAgain = time.Hour

// Unpaid records why a settlement's payout is not made, and when to look again.
func (s Settlement) Unpaid(why Unpayable, now time.Time) Change {
	s = s.written(now)
	s.Automatic, s.PayoutWhy, s.DueAt = true, string(why), now.Add(payoutAgain)
	if why == WaitsDay {
		s.DueAt = now.UTC().Truncate(day).Add(day)
	}
	return Change{Settlements: []Settlement{s}}
}

// Rested ends the looks at a settlement. newest, if it is not zero, is the newest settlement that is owed, and looks for
// all.
func (s Settlement) Rested(newest Settlement, now time.Time) Change {
	s = s.written(now)
	s.DueAt = time.Time{}
	if s.Uncovered() == 0 {
		s.PayoutWhy = ""
	}
	change := Change{Settlements: []Settlement{s}}
	if newest.ID != "" {
		change.Settlements = append(change.Settlements, newest.Woken(now)...)
	}
	return change
}

// Woken lets a settlement look for its automatic payout, unless it does already: then there is nothing to write.
func (s Settlement) Woken(now time.Time) []Settlement {
	if s.Automatic && !s.DueAt.IsZero() {
		return nil
	}
	s = s.written(now)
	s.Automatic, s.DueAt = true, now
	return []Settlement{s}
}

// ReservePeriod is how long the reserve of a day is held: see ReserveDay.
const ReservePeriod = merchants.DefaultReserveDays * day

// ReleasesShown is how many days of the reserve a balance shows: the next ones (BAL-4). The calendar of the reserve has all.
const ReleasesShown = 3

// ReleaseOf is when the reserve of a day is released. All payments of a day are released together, once each was held for its
// period.
func ReleaseOf(day time.Time) time.Time { return DayOf(day).Add(24*time.Hour + ReservePeriod) }

// Reserve is the money held back from the payments of one day (ReserveDay), one row for each merchant,
// environment and day.
type Reserve struct {
	ID string // rsv_…, made from the merchant, the environment and the day
	merchants.Scope
	Version   int64
	Day       time.Time // see ReserveDay
	ReleaseAt time.Time
	Held      int64     // USD cents, less what refunds gave back
	Released  int64     // USD cents
	ClosedAt  time.Time // when the release began: after it, refunds draw nothing from it
	DueAt     time.Time // zero if nothing is left to release
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Closed reports whether the release has begun.
func (re Reserve) Closed() bool { return !re.ClosedAt.IsZero() }

// Remaining is what is not released yet, in USD cents.
func (re Reserve) Remaining() int64 { return re.Held - re.Released }

// hold adds what settled lines hold of the day's reserve, or subtracts what they give back. A zero
// r is a day without a row.
func (re Reserve) hold(s merchants.Scope, day time.Time, amount int64, now time.Time) Reserve {
	if re.Version == 0 {
		re = Reserve{
			ID: ReserveID(s, day), Scope: merchants.Scope{Merchant: s.Merchant, Live: s.Live}, Day: day,
			ReleaseAt: ReleaseOf(day), CreatedAt: now,
		}
	}
	re.Version++
	re.Held += amount
	re.UpdatedAt = now
	return re.wait()
}

// wait sets the time of the release. There is none if refunds took the day's whole reserve.
func (re Reserve) wait() Reserve {
	re.DueAt = time.Time{}
	if re.Remaining() > 0 {
		re.DueAt = re.ReleaseAt
	}
	return re
}

// Close begins the release. Whether a refund draws from the reserve must not depend on a clock: a
// commit may take any length of time, and the same money could be released and given back. So the
// day is closed first, and refunds that are written later draw from the merchant's balance. Only
// then are the earlier refunds counted.
//
// The floor can never be violated. It makes this Change and changes that draw from the reserve wait
// for each other.
func (re Reserve) Close(now time.Time) (Reserve, Change) {
	re.Version++
	re.ClosedAt, re.UpdatedAt = now, now
	re = re.wait()
	return re, Change{
		Reserves: []Reserve{re},
		Floors:   []ledger.Floor{{Merchant: re.Merchant, Live: re.Live, Account: ledger.Reserve, Min: math.MinInt64}},
	}
}

// Release releases what is left of a closed day, but not more than the merchant's reserve holds.
// given is what refunds that no settlement has collected yet gave back of it, in USD cents, read
// after it was closed. It is not released.
func (re Reserve) Release(given int64, have ledger.Balances, now time.Time) Change {
	free := max(0, min(re.Remaining()-max(0, given), have[ledger.Reserve]))
	re.Version++
	re.Released += free
	re.UpdatedAt = now
	re = re.wait()
	if re.Remaining() > 0 {
		re.DueAt = now.Add(day) // the next settlement collects those refunds
	}
	change := Change{Reserves: []Reserve{re}}
	if free > 0 {
		change.Transfers = []ledger.Transfer{{
			// After a reset of the sandbox the day has another row with the same id: its time tells them apart.
			ID: fmt.Sprintf("tr_%s-%x-release-%d", re.ID[len("rsv_"):], re.CreatedAt.UnixMicro(), re.Version), Merchant: re.Merchant, Live: re.Live,
			Kind: ledger.ReserveRelease, Local: money.New(free, money.USD), At: now,
			Postings: []ledger.Posting{{Account: ledger.Reserve, Amount: -free}, {Account: ledger.Available, Amount: free}},
		}}
		change.Floors = []ledger.Floor{{Merchant: re.Merchant, Live: re.Live, Account: ledger.Reserve}}
	}
	return change
}

// Cover is a part of a settlement's net, and what it is paid out by or set off against (SETTLE-11).
type Cover struct {
	// By is the withdrawal that pays it out (wdr_…), or the settlement that it is set off against (STL-…); "" in what Showing hides.
	By string `json:"by"`
	// Amount is in USD cents; below zero in a settlement whose net is a debt.
	Amount int64 `json:"amount"`
	// Paid: the withdrawal has arrived. It is always true of a set-off.
	Paid bool `json:"paid,omitempty"`
}

// SetOff reports whether the part is set off against another settlement.
func (c Cover) SetOff() bool { return strings.HasPrefix(c.By, SettlementPrefix) }

// Uncovered is the part of the net, in USD cents, that nothing covers: what is owed to the merchant, or,
// below zero, a debt that is not set off yet. It is zero while the settlement is open.
func (s Settlement) Uncovered() int64 {
	if s.Status == BatchOpen {
		return 0
	}
	return s.Net - s.Covered
}
