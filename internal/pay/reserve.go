package pay

import (
	"fmt"
	"math"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

const day = 24 * time.Hour

// ReservePeriod is how long the rolling reserve of a payment is held. It is the same for all tiers,
// which differ only in how much is held. So a change of tier cannot move a promised release.
const ReservePeriod = 90 * day

// ReleasesShown is how many days of the reserve a balance shows: the next ones (BAL-4). The calendar of the reserve has all.
const ReleasesShown = 3

// DayOf is the start of a time's day, in UTC.
func DayOf(t time.Time) time.Time { return t.UTC().Truncate(day) }

// ReleaseOf is when the reserve of a payment captured at a time is released. All payments of a day
// are released together, once each was held for the period.
func ReleaseOf(captured time.Time) time.Time { return DayOf(captured).Add(day + ReservePeriod) }

// ReserveOf is the id of the reserve that holds the payment's part.
func ReserveOf(p Payment) string {
	return ReserveID(p.Scope, DayOf(p.Times.Completed))
}

// Reserve is the money held back from the payments of one day, one row for each merchant,
// environment and day.
type Reserve struct {
	ID string // rsv_…, made from the merchant, the environment and the day
	merchants.Scope
	Version   int64
	Day       time.Time // when the payments were captured
	ReleaseAt time.Time
	Held      int64     // USD cents, less what refunds gave back
	Released  int64     // USD cents
	ClosedAt  time.Time // when the release began: after it, refunds draw nothing from it
	DueAt     time.Time // zero if nothing is left to release
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Closed reports whether the release has begun.
func (r Reserve) Closed() bool { return !r.ClosedAt.IsZero() }

// Left is what is not released yet, in USD cents.
func (r Reserve) Left() int64 { return r.Held - r.Released }

// ReserveID is the id of a day's reserve.
func ReserveID(s merchants.Scope, day time.Time) string {
	return derivedID("rsv_", day, s.Merchant, string(s.Environment()), day.Format(time.DateOnly))
}

// hold adds what settled lines hold of the day's reserve, or subtracts what they give back. A zero
// r is a day without a row.
func (r Reserve) hold(s merchants.Scope, day time.Time, amount int64, now time.Time) Reserve {
	if r.Version == 0 {
		r = Reserve{
			ID: ReserveID(s, day), Scope: merchants.Scope{Merchant: s.Merchant, Live: s.Live}, Day: day,
			ReleaseAt: ReleaseOf(day), CreatedAt: now,
		}
	}
	r.Version++
	r.Held += amount
	r.UpdatedAt = now
	return r.wait()
}

// wait sets the time of the release. There is none if refunds took the day's whole reserve.
func (r Reserve) wait() Reserve {
	r.DueAt = time.Time{}
	if r.Left() > 0 {
		r.DueAt = r.ReleaseAt
	}
	return r
}

// Close begins the release. Whether a refund draws from the reserve must not depend on a clock: a
// commit may take any length of time, and the same money could be released and given back. So the
// day is closed first, and refunds that are written later draw from the merchant's balance. Only
// then are the earlier refunds counted.
//
// The floor can never be violated. It makes this Change and changes that draw from the reserve wait
// for each other.
func (r Reserve) Close(now time.Time) (Reserve, Change) {
	r.Version++
	r.ClosedAt, r.UpdatedAt = now, now
	r = r.wait()
	return r, Change{
		Reserves: []Reserve{r},
		Floors:   []ledger.Floor{{Merchant: r.Merchant, Live: r.Live, Account: ledger.Reserve, Min: math.MinInt64}},
	}
}

// Release releases what is left of a closed day, but not more than the merchant's reserve holds.
// given is what refunds that no settlement has collected yet gave back of it, in USD cents, read
// after it was closed. It is not released.
func (r Reserve) Release(given int64, have ledger.Balances, now time.Time) Change {
	free := max(0, min(r.Left()-max(0, given), have[ledger.Reserve]))
	r.Version++
	r.Released += free
	r.UpdatedAt = now
	r = r.wait()
	if r.Left() > 0 {
		r.DueAt = now.Add(day) // the next settlement collects those refunds
	}
	change := Change{Reserves: []Reserve{r}}
	if free > 0 {
		change.Transfers = []ledger.Transfer{{
			// After a reset of the sandbox the day has another row with the same id: its time tells them apart.
			ID: fmt.Sprintf("tr_%s-%x-release-%d", r.ID[len("rsv_"):], r.CreatedAt.UnixMicro(), r.Version), Merchant: r.Merchant, Live: r.Live,
			Kind: ledger.ReserveRelease, Local: money.New(free, money.USD), At: now,
			Postings: []ledger.Posting{{Account: ledger.Reserve, Amount: -free}, {Account: ledger.Available, Amount: free}},
		}}
		change.Floors = []ledger.Floor{{Merchant: r.Merchant, Live: r.Live, Account: ledger.Reserve}}
	}
	return change
}
