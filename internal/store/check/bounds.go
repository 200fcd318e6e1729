package check

import (
	"fmt"

	"github.com/cascadapay/cascada/internal/store/merchants"
)

// waits is a table of rows that wait, and how long one may wait at most.
type waits struct {
	table  string
	of     string // the rows that wait; "": those that have a time
	days   int    // after the row was written, or after now
	ends   string // a time in the row that it may wait for; "": none
	time   string // when the row was written last; "": it does not say
	tenant bool   // its times are in the merchant's clock
}

// dues are all tables of due work. Nothing in them sleeps for good: a row that nobody looks at any more is money that nobody
// moves. The days are far more than the service ever waits: a corrupted time is years away.
var dues = []waits{
	{table: "payments", days: 400, time: "updated_at", tenant: true},
	{table: "processing", of: "TRUE", days: 40, time: "updated_at", tenant: true},
	{table: "claims", days: 400, time: "updated_at", tenant: true},
	{table: "withdrawals", days: 40, time: "updated_at", tenant: true},
	{table: "wallets", days: 100, time: "updated_at", tenant: true},
	{table: "verifications", days: 100, time: "updated_at", tenant: true},
	{table: "settlements", of: "d.status = 'open'", days: 400, time: "updated_at", tenant: true},
	{table: "reserves", days: 400, ends: "release_at", time: "updated_at", tenant: true},
	{table: "sessions", days: 400, time: "updated_at", tenant: true},
	{table: "payment_links", days: 400, time: "updated_at", tenant: true},
	{table: "link_uses", days: 40, time: "created_at", tenant: true},
	{table: "mails", days: 40, time: "updated_at", tenant: true},
	{table: "replays", of: "d.status = 'running'", days: 40, time: "updated_at", tenant: true},
	{table: "deliveries", of: "d.status IN ('pending', 'failed')", days: 40, time: "created_at", tenant: true},
	{table: "fanouts", of: "TRUE", days: 40, time: "at", tenant: true},
	{table: "resets", of: "d.done_at = 0", days: 40, time: "started_at"},
	{table: "rate_feeds", days: 40},
}

// invariantSleeps is the rule of all tables of due work.
const invariantSleeps = "what waits is looked at within the time of its kind"

// boundInvariants are the invariants of due times.
var boundInvariants = invariants(func() (list []invariant) {
	for _, d := range dues {
		waits, advance, emptied := "d.due_at > 0", "0", ""
		if d.of != "" {
			waits = "(" + d.of + " OR d.due_at > 0)"
		}
		if d.tenant {
			advance = "coalesce((SELECT c.advance FROM clocks AS c WHERE c.id = d.merchant AND NOT d.live), 0)"
			emptied = " AND " + merchants.NotEmptied("d.merchant", "d.live")
		}
		late := fmt.Sprintf("d.due_at > {now} + %s + %d", advance, days(d.days))
		for _, from := range []string{d.time, d.ends} {
			if from != "" {
				late += fmt.Sprintf(" AND d.due_at > d.%s + %d", from, days(d.days))
			}
		}
		if d.of != "" {
			late = "d.due_at <= 0 AND " + d.of + " OR " + late
		}
		list = append(list, invariant{invariantSleeps, "SELECT d.id, '" + d.table + ", due at ' || d.due_at FROM " + d.table + " AS d WHERE " + waits + " AND (" + late + ")" + emptied})
	}
	return append(list, invariant{"a reserve is not released before its day", `
SELECT r.id, 'due at ' || r.due_at || ', released at ' || r.release_at FROM reserves AS r
WHERE r.due_at > 0 AND r.due_at < r.release_at AND ` + merchants.NotEmptied("r.merchant", "r.live")})
}())

// days is that many days in microseconds.
func days(n int) int64 { return int64(n) * 86_400_000_000 }
