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
var listPaymentsOfKind = paged(`
    SELECT ids.value AS id FROM (
      SELECT rail, country, status, method FROM counters WHERE shop = $1 AND live = $2 AND day = -1
      UNION SELECT rail, country, status, method FROM counters WHERE shop = $1 AND live = $2 AND day >= $12
    ) AS k CROSS JOIN {ids
      SELECT p.id FROM payments AS p
      WHERE p.shop = $1 AND p.live = $2 AND p.rail = k.rail AND p.country = k.country AND p.status = k.status AND p.id >= $4 AND p.id < $5
      ORDER BY p.id DESC LIMIT $9}
    WHERE ($3 = '' OR k.status = $3) AND ($6 = '' OR k.rail = $6) AND ($7 = '' OR k.method = $7) AND ($8 = '' OR k.country = $8)
    UNION ALL
    SELECT id FROM processing
    WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND id >= $4 AND id < $5
      AND ($6 = '' OR rail = $6) AND ($7 = '' OR method = $7) AND ($8 = '' OR country = $8)`, "LIMIT $10 OFFSET $11")

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
  AND ($7 = '' OR rail = $7) AND ($8 = '' OR method = $8) AND ($9 = '' OR country = $9)`
	byTime = `shop = $1 AND live = $2 AND status IN ('processing', 'pending', 'completed', 'failed', 'expired', 'refunded', 'chargeback')
  AND ($3 = '' OR status = $3) AND id >= $4 AND id < $5
  AND ($6 = '' OR rail = $6) AND ($7 = '' OR method = $7) AND ($8 = '' OR country = $8)`
)

var (
	listPaymentsByOrder = "SELECT * FROM (" + matching(paymentColumns, byOrder) + ") AS p ORDER BY id DESC LIMIT $10 OFFSET $11"
	countByOrder        = "SELECT count(*) FROM (" + matching("id", byOrder) + ") AS p"
	countByTime         = "SELECT count(*) FROM payments WHERE " + byTime
)

const (
	countByDays = `
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM counters
WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND day >= $4 AND day < $5
  AND ($6 = '' OR rail = $6) AND ($7 = '' OR method = $7) AND ($8 = '' OR country = $8)`

	// What is rolled up, of the young days what is not, and the few whose outcome
	// is not known: at one moment, so that one that moves is counted once.
	countAllDays = `
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM (
  SELECT n, status, rail, method, country FROM counters WHERE shop = $1 AND live = $2 AND day = -1
  UNION ALL SELECT n - rolled, status, rail, method, country FROM counters WHERE shop = $1 AND live = $2 AND day >= $4
  UNION ALL SELECT 1, status, rail, method, country FROM processing WHERE shop = $1 AND live = $2
) AS c
WHERE ($3 = '' OR status = $3) AND ($5 = '' OR rail = $5) AND ($6 = '' OR method = $6) AND ($7 = '' OR country = $7)`

	// The few whose outcome is not known are counted where they are.
	countProcessing = `
SELECT count(*) FROM processing
WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND id >= $4 AND id < $5
  AND ($6 = '' OR rail = $6) AND ($7 = '' OR method = $7) AND ($8 = '' OR country = $8)`
)

func listQueries() []string {
	return []string{listPayments, listPaymentsOfKind, listPaymentsByOrder, countByOrder, countByTime, countByDays, countAllDays, countProcessing}
}

// Payments lists a shop's payments, newest first.
func (s *Store) Payments(ctx context.Context, scope pay.Scope, f Filter) ([]pay.Payment, error) {
	from, below := f.bounds()
	switch {
	case f.OrderID != "":
		return many(ctx, s, listPaymentsByOrder, scanPayment, scope.Shop, scope.Live, f.OrderID, string(f.Status),
			from, below, f.Rail, f.Method, f.Country, f.Limit, f.Offset)
	case f.ofKind():
		return many(ctx, s, listPaymentsOfKind, scanPayment, scope.Shop, scope.Live, string(f.Status), from, below,
			f.Rail, f.Method, f.Country, f.Limit+f.Offset, f.Limit, f.Offset, s.young())
	}
	return many(ctx, s, listPayments, scanPayment, scope.Shop, scope.Live, string(f.Status), from, below,
		f.Limit+f.Offset, f.Limit, f.Offset)
}

// CountPayments counts what the filter selects, leaving After, Limit and
// Offset aside. It adds up counters; what is scanned is at most half a day at
// either end of a time that does not begin and end at midnight UTC, and the
// payments of one order.
func (s *Store) CountPayments(ctx context.Context, scope pay.Scope, f Filter) (int64, error) {
	f.After = ""
	from, below := f.bounds()
	status := string(f.Status)
	if f.OrderID != "" {
		return one(ctx, s, countByOrder, scanInt, scope.Shop, scope.Live, f.OrderID, status, from, below, f.Rail, f.Method, f.Country)
	}
	if f.From.IsZero() && f.To.IsZero() {
		return one(ctx, s, countAllDays, scanInt, scope.Shop, scope.Live, status, s.young(), f.Rail, f.Method, f.Country)
	}
	total, err := one(ctx, s, countProcessing, scanInt, scope.Shop, scope.Live, status, from, below, f.Rail, f.Method, f.Country)
	if err != nil {
		return 0, err
	}
	for _, part := range f.parts() {
		n, err := s.countPart(ctx, scope, f, part)
		if err != nil {
			return 0, err
		}
		total += part.sign * n
	}
	return total, nil
}

// part is a stretch of time whose payments are counted in one way, to be added
// or taken off.
type part struct {
	sign      int64
	from, to  time.Time // counted by rows
	day, last int64     // counted by days: from day to below last
}

func (s *Store) countPart(ctx context.Context, scope pay.Scope, f Filter, p part) (int64, error) {
	if p.last > p.day {
		return one(ctx, s, countByDays, scanInt, scope.Shop, scope.Live, string(f.Status), p.day, p.last, f.Rail, f.Method, f.Country)
	}
	from, to := id.From(pay.PaymentPrefix, p.from), id.From(pay.PaymentPrefix, p.to)
	return one(ctx, s, countByTime, scanInt, scope.Shop, scope.Live, string(f.Status), from, to, f.Rail, f.Method, f.Country)
}

// endOfDays is later than any day that is counted.
const endOfDays = 1 << 40

// parts cuts the filter's time into whole days, and a rest at either end that
// is counted from the nearer midnight.
func (f Filter) parts() []part {
	first, _ := midnight(f.From)
	last, _ := midnight(f.To)
	if !f.From.IsZero() && !f.To.IsZero() && first == last {
		return []part{{sign: 1, from: f.From, to: f.To}}
	}
	whole := part{sign: 1, day: 0, last: endOfDays}
	var list []part
	if !f.From.IsZero() {
		day, rest := midnight(f.From)
		whole.day = day
		list = rest.before(list, -1) // of that day, what came before From
	}
	if !f.To.IsZero() {
		day, rest := midnight(f.To)
		whole.last = day
		list = rest.before(list, 1)
	}
	if whole.last < whole.day { // From is after To
		return nil
	}
	if whole.last > whole.day {
		list = append(list, whole)
	}
	return list
}

// instant is a time of a day.
type instant struct {
	day int64
	at  time.Time
}

// midnight returns the day of a time, and the time within it.
func midnight(t time.Time) (int64, instant) {
	t = t.Truncate(time.Millisecond) // as ids are
	day := max(0, t.UnixMicro()) / dayMicros
	return day, instant{day, t}
}

// before appends what counts the day's payments before the instant, times
// sign: row by row up to noon, and after it the day less the rest.
func (i instant) before(list []part, sign int64) []part {
	start, end := time.UnixMicro(i.day*dayMicros), time.UnixMicro((i.day+1)*dayMicros)
	switch {
	case !i.at.After(start):
		return list
	case i.at.Sub(start) <= end.Sub(i.at):
		return append(list, part{sign: sign, from: start, to: i.at})
	}
	return append(list, part{sign: sign, day: i.day, last: i.day + 1}, part{sign: -sign, from: i.at, to: end})
}
