package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
)

// Filter selects payments of one shop. Empty fields select all.
type Filter struct {
	Status  pay.Status
	Rail    string
	Method  string
	Country string // alpha-3
	OrderID string
	Email   string    // in any case
	Amount  int64     // USD cents; 0: any
	From    time.Time // created from then on, to the millisecond
	To      time.Time // created before
	After   string    // ids older than this one
	Limit   int
	Offset  int
}

// lastID is above every payment's id.
const lastID = pay.PaymentPrefix + "ZZZZZZZZZZZZZZZZZZZZZZZZZZ"

// bounds are the ids from and below which all selected ones are: ids sort by
// the time they were made.
func (f Filter) bounds() (from, below string) {
	below = lastID
	if !f.From.IsZero() {
		from = id.From(pay.PaymentPrefix, f.From)
	}
	if !f.To.IsZero() {
		below = id.From(pay.PaymentPrefix, f.To)
	}
	if f.After != "" {
		below = min(below, f.After)
	}
	return from, below
}

// ofKind reports whether the filter asks for more than a status and a time.
func (f Filter) ofKind() bool { return f.Rail != "" || f.Method != "" || f.Country != "" }

// found reports whether the filter asks for what no counter counts.
func (f Filter) found() bool { return f.Email != "" || f.Amount != 0 }

// email is the e-mail as {email doc} has it: the cases of ASCII alone are alike, as on both engines.
func (f Filter) email() string {
	lower := strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, f.Email)
	return strings.Trim(encode(lower), `"`)
}

// tableOf is where payments of a status are: those whose outcome is not known
// have a table of their own, so that taking a card payment writes its row with
// all the indexes once.
func tableOf(status pay.Status) string {
	if status == pay.Processing {
		return "processing"
	}
	return "payments"
}

// listPayments reads newest first by an index of statuses: each gives its
// newest ids, and the best of them are read.
var listPayments = func() string {
	var parts []string
	for _, status := range pay.Statuses() {
		parts = append(parts, fmt.Sprintf(`
    SELECT id FROM (SELECT id FROM %s
      WHERE shop = $1 AND live = $2 AND status = '%[2]s' AND ($3 = '' OR $3 = '%[2]s') AND id >= $4 AND id < $5
      ORDER BY id DESC LIMIT $6) AS of_%[2]s`, tableOf(status), status))
	}
	return paged(strings.Join(parts, "\n    UNION ALL"), "LIMIT $7 OFFSET $8")
}()

// listPaymentsOfKind reads newest first by an index of kinds: the counters say
// which kinds the shop has, each gives its newest ids, and the best of them
// are read. However rare or long ago a kind is, nothing else is looked at.
var listPaymentsOfKind = paged(ofKinds("", "TRUE"), "LIMIT $10 OFFSET $11")

// Those of an e-mail or an amount are read alike, by indexes that have it in front of the kind. So
// are they counted, but no more than so many: everybody may pay the same amount.
var (
	byEmail  = [2]string{"{emailed p.doc} AND {email p.doc} = $13 AND ($14 = 0 OR p.amount = $14) AND", "{emailed doc} AND {email doc} = $13 AND ($14 = 0 OR amount = $14)"}
	byAmount = [2]string{"p.amount = $13 AND", "amount = $13"}

	listPaymentsByEmail  = paged(ofKinds(byEmail[0], byEmail[1]), "LIMIT $10 OFFSET $11")
	listPaymentsByAmount = paged(ofKinds(byAmount[0], byAmount[1]), "LIMIT $10 OFFSET $11")
	countByEmail         = countOf(ofKinds(byEmail[0], byEmail[1]))
	countByAmount        = countOf(ofKinds(byAmount[0], byAmount[1]))
)

// MostCounted is how many payments of an e-mail or an amount are counted: there are that many, or
// more.
const MostCounted = 10_000

// countOf counts ids, and no more of them than so many.
func countOf(ids string) string {
	return "SELECT count(*) FROM (SELECT id FROM (" + ids + "\n  ) AS found LIMIT $10 OFFSET $11) AS c"
}

// ofKinds are the newest ids of each kind for which a condition of payments and processing is true.
func ofKinds(of, processing string) string {
	return `
    SELECT ids.value AS id FROM (
      SELECT rail, country, status, method FROM counters WHERE shop = $1 AND live = $2 AND day = -1
      UNION SELECT rail, country, status, method FROM counters WHERE shop = $1 AND live = $2 AND day >= $12
    ) AS k CROSS JOIN {ids
      SELECT p.id FROM payments AS p
      WHERE p.shop = $1 AND p.live = $2 AND ` + of + ` p.rail = k.rail AND p.country = k.country AND p.status = k.status AND p.id >= $4 AND p.id < $5
      ORDER BY p.id DESC LIMIT $9}
    WHERE ($3 = '' OR k.status = $3) AND ($6 = '' OR k.rail = $6) AND ($7 = '' OR k.method = $7) AND ($8 = '' OR k.country = $8)
    UNION ALL
    SELECT id FROM processing
    WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND id >= $4 AND id < $5
      AND ($6 = '' OR rail = $6) AND ($7 = '' OR method = $7) AND ($8 = '' OR country = $8) AND ` + processing
}

// paged reads the payments of a page of ids: only these are read whole.
func paged(ids, page string) string {
	return "WITH page AS (\n  SELECT id FROM (" + ids + "\n  ) AS found ORDER BY id DESC " + page + `)
SELECT ` + paymentColumns + ` FROM payments WHERE id {in SELECT id FROM page}
UNION ALL
SELECT ` + paymentColumns + ` FROM processing WHERE id {in SELECT id FROM page}
ORDER BY id DESC`
}

// matching selects from both tables by an order or a time.
func matching(columns, where string) string {
	return "SELECT " + columns + " FROM payments WHERE " + where + "\nUNION ALL SELECT " + columns + " FROM processing WHERE " + where
}

const (
	byOrder = `shop = $1 AND live = $2 AND order_id = $3 AND order_id <> '' AND ($4 = '' OR status = $4) AND id >= $5 AND id < $6
  AND ($7 = '' OR rail = $7) AND ($8 = '' OR method = $8) AND ($9 = '' OR country = $9)
  AND ($10 = 0 OR amount = $10) AND ($11 = '' OR {emailed doc} AND {email doc} = $11)`
	selected = `shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND ($4 = '' OR rail = $4) AND ($5 = '' OR method = $5) AND ($6 = '' OR country = $6)`
	// A status is named where it does not matter, or the index of statuses were none.
	anyStatus = `status IN ('processing', 'pending', 'completed', 'failed', 'expired', 'refunded', 'chargeback')`
)

var (
	listPaymentsByOrder = "SELECT * FROM (" + matching(paymentColumns, byOrder) + ") AS p ORDER BY id DESC LIMIT $12 OFFSET $13"
	countByOrder        = "SELECT count(*) FROM (" + matching("id", byOrder) + ") AS p"
)

// A total is one statement, of one moment, so that a payment that moves from one
// place to another meanwhile is counted once.
const (
	// countAllDays adds up what is rolled up, of the young days what is not, and the
	// few whose outcome is not known.
	countAllDays = `
SELECT CAST(sum(n) AS BIGINT) FROM (
  SELECT coalesce(sum(n), 0) AS n FROM counters WHERE day = -1 AND ` + selected + `
  UNION ALL SELECT coalesce(sum(n - rolled), 0) FROM counters WHERE day >= $7 AND ` + selected + `
  UNION ALL SELECT count(*) FROM processing WHERE ` + selected + `
) AS c`

	// countTime adds up whole days, what each end of the time adds to them or takes
	// off, and the few whose outcome is not known.
	countTime = `
SELECT CAST(sum(n) AS BIGINT) FROM (
  SELECT count(*) AS n FROM processing WHERE id >= $7 AND id < $8 AND ` + selected + `
  UNION ALL SELECT coalesce(sum(n), 0) FROM counters WHERE day >= $9 AND day < $10 AND ` + selected + `
  UNION ALL SELECT CAST($11 AS BIGINT) * coalesce(sum(n), 0) FROM counters WHERE day = $12 AND ` + selected + `
  UNION ALL SELECT CAST($13 AS BIGINT) * count(*) FROM payments WHERE id >= $14 AND id < $15 AND ` + anyStatus + ` AND ` + selected + `
  UNION ALL SELECT CAST($16 AS BIGINT) * coalesce(sum(n), 0) FROM counters WHERE day = $17 AND ` + selected + `
  UNION ALL SELECT CAST($18 AS BIGINT) * count(*) FROM payments WHERE id >= $19 AND id < $20 AND ` + anyStatus + ` AND ` + selected + `
) AS c`
)

func listQueries() []string {
	return []string{
		listPayments, listPaymentsOfKind, listPaymentsByOrder, listPaymentsByEmail, listPaymentsByAmount,
		countByOrder, countByEmail, countByAmount, countAllDays, countTime,
	}
}

// Payments lists a shop's payments, newest first.
func (s *Store) Payments(ctx context.Context, scope pay.Scope, f Filter) ([]pay.Payment, error) {
	from, below := f.bounds()
	switch {
	case f.OrderID != "":
		return many(ctx, s, listPaymentsByOrder, scanPayment, scope.Shop, scope.Live, f.OrderID, string(f.Status),
			from, below, f.Rail, f.Method, f.Country, f.Amount, f.email(), f.Limit, f.Offset)
	case f.found():
		text, args := f.search(s, scope, listPaymentsByEmail, listPaymentsByAmount, f.Limit, f.Offset)
		return many(ctx, s, text, scanPayment, args...)
	case f.ofKind():
		return many(ctx, s, listPaymentsOfKind, scanPayment, scope.Shop, scope.Live, string(f.Status), from, below,
			f.Rail, f.Method, f.Country, f.Limit+f.Offset, f.Limit, f.Offset, s.young())
	}
	return many(ctx, s, listPayments, scanPayment, scope.Shop, scope.Live, string(f.Status), from, below,
		f.Limit+f.Offset, f.Limit, f.Offset)
}

// search is the statement for an e-mail or an amount, with its arguments.
func (f Filter) search(s *Store, scope pay.Scope, byEmail, byAmount string, limit, offset int) (text string, args []any) {
	from, below := f.bounds()
	args = []any{scope.Shop, scope.Live, string(f.Status), from, below, f.Rail, f.Method, f.Country, limit + offset, limit, offset, s.young()}
	if f.Email != "" {
		return byEmail, append(args, f.email(), f.Amount)
	}
	return byAmount, append(args, f.Amount)
}

// CountPayments counts what the filter selects, leaving After, Limit and
// Offset aside. It adds up counters; what is scanned is at most half a day at
// either end of a time that does not begin and end at midnight UTC, the
// payments of one order, and MostCounted of each kind for an e-mail or an amount.
func (s *Store) CountPayments(ctx context.Context, scope pay.Scope, f Filter) (int64, error) {
	f.After = ""
	from, below := f.bounds()
	status := string(f.Status)
	switch {
	case f.OrderID != "":
		return one(ctx, s, countByOrder, scanInt, scope.Shop, scope.Live, f.OrderID, status, from, below, f.Rail, f.Method, f.Country, f.Amount, f.email())
	case f.found():
		text, args := f.search(s, scope, countByEmail, countByAmount, MostCounted, 0)
		return one(ctx, s, text, scanInt, args...)
	case f.From.IsZero() && f.To.IsZero():
		return one(ctx, s, countAllDays, scanInt, scope.Shop, scope.Live, status, f.Rail, f.Method, f.Country, s.young())
	}
	first, last, ends := f.days()
	args := []any{scope.Shop, scope.Live, status, f.Rail, f.Method, f.Country, from, below, first, last}
	for _, e := range ends {
		args = append(args, e.days, e.day, e.rows, id.From(pay.PaymentPrefix, e.from), id.From(pay.PaymentPrefix, e.to))
	}
	return one(ctx, s, countTime, scanInt, args...)
}

// end is how an end of a time that is not midnight differs from whole days.
type end struct {
	days     int64 // how often the day's payments count: -1, 0 or 1
	day      int64
	rows     int64 // how often each payment of from to to counts
	from, to time.Time
}

// endOfDays is later than any day that is counted.
const endOfDays = 1 << 40

// days cuts the filter's time into whole days, from the first to below the last, and
// what its ends add to them.
func (f Filter) days() (first, last int64, ends [2]end) {
	last = endOfDays
	if !f.From.IsZero() {
		first, ends[0] = upTo(f.From, -1) // of that day, what came before From
	}
	if !f.To.IsZero() {
		last, ends[1] = upTo(f.To, 1)
	}
	switch {
	case f.From.IsZero() || f.To.IsZero() || first < last:
	case first == last && f.To.Sub(f.From) <= dayMicros/2*time.Microsecond:
		ends = [2]end{{rows: 1, from: f.From, to: f.To}}
	case first > last: // From is after To
		ends = [2]end{}
	}
	return first, last, ends
}

// upTo returns the day of a time, and what counts its payments before that time,
// times sign: row by row up to noon, and after it the day less the rest.
func upTo(t time.Time, sign int64) (day int64, e end) {
	t = t.Truncate(time.Millisecond) // as ids are
	day = max(0, t.UnixMicro()) / dayMicros
	start, stop := time.UnixMicro(day*dayMicros), time.UnixMicro((day+1)*dayMicros)
	switch {
	case !t.After(start):
		return day, end{}
	case t.Sub(start) <= stop.Sub(t):
		return day, end{rows: sign, from: start, to: t}
	}
	return day, end{days: sign, day: day, rows: -sign, from: t, to: stop}
}
