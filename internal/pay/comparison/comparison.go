// Package comparison has the results of comparisons with providers' reports, and the drifts that stay open until a later
// comparison covers their period. internal/pay/reconcile finds the discrepancies.
package comparison

import (
	"maps"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// Prefix begins the id of a comparison with a provider's report.
const Prefix = "rec_"

// Result is the result of comparing a provider account's report with our books. It is kept for
// good.
type Result struct {
	ID      string // rec_…, ordered by time
	Account string
	Live    bool
	// The report had to contain our payments from From (inclusive) to To (exclusive).
	From time.Time
	To   time.Time
	By   string // the operator's user and host
	At   time.Time
	// Reports are the names of the files.
	Reports  []string
	Lines    int
	PaysOut  bool // charges are payouts here, and refunds are returned payouts
	Charges  int  // entries that agree
	Refunds  int
	Charged  map[money.Currency]int64 // minor units
	Refunded map[money.Currency]int64
	Findings map[string]int // number of discrepancies by kind
	Count    int            // of all discrepancies
}

// Drift is the difference between a merchant's books and a provider's report. It is open until a
// later comparison covers its period.
type Drift struct {
	ID             string // of the comparison and the merchant
	Version        int64
	Reconciliation string
	Account        string
	Merchant       string
	Live           bool
	From           time.Time
	To             time.Time
	Findings       int
	USD            int64 // cents
	Since          time.Time
	ClosedBy       string // the comparison that replaced it, "" while it is open
	ClosedAt       time.Time
}

// Drifts returns the drifts that the comparison writes. found is the value of each merchant's discrepancies. open are
// earlier drifts of the account. Those whose period is within its own are closed: a difference that it does not find
// again is resolved.
func (r Result) Drifts(open []Drift, found map[string]Drift) []Drift {
	var drifts []Drift
	since := map[string]time.Time{}
	for _, d := range open {
		if d.Account != r.Account || d.From.Before(r.From) || d.To.After(r.To) {
			continue
		}
		if first, known := since[d.Merchant]; !known || d.Since.Before(first) {
			since[d.Merchant] = d.Since
		}
		d.Version++
		d.ClosedBy, d.ClosedAt = r.ID, r.At
		drifts = append(drifts, d)
	}
	for _, merchant := range slices.Sorted(maps.Keys(found)) {
		d := found[merchant]
		d.ID, d.Version, d.Reconciliation, d.Account, d.Merchant, d.Live = r.ID+"/"+merchant, 1, r.ID, r.Account, merchant, r.Live
		d.From, d.To, d.Since = r.From, r.To, r.At
		if first, known := since[merchant]; known {
			d.Since = first
		}
		drifts = append(drifts, d)
	}
	return drifts
}
