package pay

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

const day = 24 * time.Hour

// ReservePeriod is how long the rolling reserve of a payment is held. It is
// the same for all tiers, which differ in how much is held: so a change of
// tier cannot move a release that was promised.
const ReservePeriod = 90 * day

// releaseRest is how long after its time a day is released. A refund that was
// decided before that time draws on the reserve; it is written by then.
const releaseRest = time.Minute

// DayOf is the start of a moment's day, in UTC.
func DayOf(t time.Time) time.Time { return t.UTC().Truncate(day) }

// ReleaseOf is when the reserve of a payment that was captured then is
// released: all payments of a day together, once each was held for the period.
func ReleaseOf(captured time.Time) time.Time { return DayOf(captured).Add(day + ReservePeriod) }

// reserveFree reports whether the payment's reserve has been released, or is
// about to be: what a refund gives back of it is then drawn from what the
// merchant has.
func (p Payment) reserveFree(now time.Time) bool {
	return !p.Times.Completed.IsZero() && !now.Before(ReleaseOf(p.Times.Completed))
}

// Reserve is what is held back from the payments of one day, one row for each
// merchant, environment and day.
type Reserve struct {
	ID string // rsv_…, made from the merchant, the environment and the day
	Scope
	Version   int64
	Day       time.Time // when the payments were captured
	ReleaseAt time.Time
	Held      int64     // USD cents; less what refunds gave back
	Released  int64     // USD cents
	DueAt     time.Time // zero while nothing is left to release
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Left is what is still to be released, in USD cents.
func (r Reserve) Left() int64 { return r.Held - r.Released }

// ReserveID names the reserve of a day.
func ReserveID(s Scope, day time.Time) string {
	return derivedID("rsv_", day, s.Merchant, string(s.Environment()), day.Format(time.DateOnly))
}

// hold notes what settled lines hold, or give back, of the day's reserve. A
// zero r is a day that has no row yet.
func (r Reserve) hold(s Scope, day time.Time, amount int64, now time.Time) Reserve {
	if r.Version == 0 {
		r = Reserve{
			ID: ReserveID(s, day), Scope: Scope{Merchant: s.Merchant, Live: s.Live}, Day: day,
			ReleaseAt: ReleaseOf(day), CreatedAt: now,
		}
	}
	r.Version++
	r.Held += amount
	r.UpdatedAt = now
	return r.wait()
}

// wait sets the time of the release. A day whose reserve refunds took
// altogether has none.
func (r Reserve) wait() Reserve {
	r.DueAt = time.Time{}
	if r.Left() > 0 {
		r.DueAt = r.ReleaseAt.Add(releaseRest)
	}
	return r
}

// Release frees what is left of the day. given is what refunds that no
// settlement has claimed yet gave back of it, in USD cents: it is not there to
// be released.
func (r Reserve) Release(given int64, now time.Time) Change {
	free := max(0, r.Left()-max(0, given))
	r.Version++
	r.Released += free
	r.UpdatedAt = now
	r = r.wait()
	if r.Left() > 0 {
		r.DueAt = now.Add(day) // the next settlement claims those refunds
	}
	change := Change{Reserves: []Reserve{r}}
	if free > 0 {
		change.Transfers = []ledger.Transfer{{
			ID: fmt.Sprintf("tr_%s-release-%d", r.ID[len("rsv_"):], r.Version), Merchant: r.Merchant, Live: r.Live,
			Kind: ledger.ReserveRelease, Local: money.New(free, money.USD), At: now,
			Postings: []ledger.Posting{{Account: ledger.Reserve, Amount: -free}, {Account: ledger.Available, Amount: free}},
		}}
	}
	return change
}
