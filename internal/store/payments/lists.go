package payments

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// LastID sorts after every payment's id.
const LastID = pay.PaymentPrefix + "ZZZZZZZZZZZZZZZZZZZZZZZZZZ"

// paymentIDs bounds the ids of all selected payments, from inclusive and below exclusive: ids sort by
// creation time.
func paymentIDs(f lists.PaymentFilter) (from, below string) {
	below = LastID
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

// amountArgs are the arguments of sameAmount: the amount in USD, the amount in another currency, and that
// currency.
func amountArgs(amount money.Amount) []any {
	if amount.IsZero() || amount.Currency == money.USD {
		return []any{amount.Minor, int64(0), ""}
	}
	return []any{int64(0), amount.Minor, string(amount.Currency)}
}

// lowered is an e-mail as the index has it: only ASCII is lowered, as both engines do with text that is compared as bytes.
func lowered(email string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, email)
}

// tableOf is the table of payments with a status: those with an unknown outcome have their own, so that
// accepting a card payment writes its row with all the indexes only once.
func tableOf(status pay.Status) string {
	if status == pay.Processing {
		return "processing"
	}
	return "payments"
}

// listPayments reads newest first through an index of statuses: each status yields its newest ids, and the
// newest of all are read.
var listPayments = engine.Statement(func() string {
	var parts []string
	for _, status := range pay.Statuses() {
		parts = append(parts, fmt.Sprintf(`
    SELECT id FROM (SELECT id FROM %s
      WHERE shop = $1 AND live = $2 AND status = '%[2]s' AND ($3 = '' OR $3 = '%[2]s') AND id >= $4 AND id < $5
      ORDER BY id DESC LIMIT $6) AS of_%[2]s`, tableOf(status), status))
	}
	return paged(strings.Join(parts, "\n    UNION ALL"), "LIMIT $7 OFFSET $8")
}())

// listPaymentsOfKind reads newest first through an index of kinds: the counters tell which kinds the shop
// has, each kind yields its newest ids, and the newest of all are read. However rare or old a kind is,
// nothing else is read.
var listPaymentsOfKind = engine.Statement(paged(ofKinds("", "TRUE"), "LIMIT $10 OFFSET $11"))

// Payments of an e-mail, a document or an amount are read in the same way, by indexes with it in front of the kind.
// They are counted likewise, but only up to a limit: every shopper may pay the same amount.
//
// An amount not in USD is what the shopper pays or what the shop asked for. If both are the same, the
// payment is only in the index of the first.
var (
	byEmail = ofKinds("p.email <> '' AND lower(p.email) = $13 AND "+sameAmount("p.", 14)+" AND "+sameDocument("p.", 17)+" AND",
		"email <> '' AND lower(email) = $13 AND "+sameAmount("", 14)+" AND "+sameDocument("", 17))
	byDocument = ofKinds("p.document <> '' AND {last 4 "+bare("p.document")+"} = $17 AND "+sameDocument("p.", 13)+" AND "+sameAmount("p.", 14)+" AND",
		"document <> '' AND {last 4 "+bare("document")+"} = $17 AND "+sameDocument("", 13)+" AND "+sameAmount("", 14))

	byAmount      = ofKinds("p.amount = $13 AND", "amount = $13")
	byLocal       = "p.currency_local <> 'USD' AND p.currency_local = $14 AND p.amount_local = $13 AND"
	byAsked       = "p.currency_asked <> '' AND (p.currency_asked <> p.currency_local OR p.amount_asked <> p.amount_local) AND p.currency_asked = $14 AND p.amount_asked = $13 AND"
	byOtherAmount = ofKind(byLocal) + "\n    UNION ALL" + ofKind(byAsked) +
		"\n    UNION ALL" + ofProcessing("(currency_local = $14 AND amount_local = $13 OR currency_asked = $14 AND amount_asked = $13)")

	ListByEmail        = engine.Statement(paged(byEmail, "LIMIT $10 OFFSET $11"))
	ListByDocument     = engine.Statement(paged(byDocument, "LIMIT $10 OFFSET $11"))
	ListByAmount       = engine.Statement(paged(byAmount, "LIMIT $10 OFFSET $11"))
	ListByOtherAmount  = engine.Statement(paged(byOtherAmount, "LIMIT $10 OFFSET $11"))
	CountByEmail       = engine.Statement(countOf(byEmail))
	CountByDocument    = engine.Statement(countOf(byDocument))
	CountByAmount      = engine.Statement(countOf(byAmount))
	CountByOtherAmount = engine.Statement(countOf(byOtherAmount))
)

// sameAmount is true if the filter names no amount, or the row's; from is the number of its first argument.
func sameAmount(row string, from int) string {
	return fmt.Sprintf("($%[2]d = 0 OR %[1]samount = $%[2]d) AND ($%[3]d = 0 OR %[1]scurrency_local = $%[4]d AND %[1]samount_local = $%[3]d OR %[1]scurrency_asked = $%[4]d AND %[1]samount_asked = $%[3]d)",
		row, from, from+1, from+2)
}

// bare is a document in lower case and without punctuation.
func bare(document string) string {
	return "replace(replace(replace(replace(lower(" + document + "), '.', ''), '-', ''), '/', ''), ' ', '')"
}

// sameDocument is true if the filter names no document, or the row's ends with it; at is the number of its argument.
func sameDocument(row string, at int) string {
	return fmt.Sprintf("($%[2]d = '' OR %[1]s LIKE $%[2]d)", bare(row+"document"), at)
}

// endsWith is the argument of sameDocument: only letters and digits, which have no special meaning in LIKE.
func endsWith(end string) string {
	if end == "" {
		return ""
	}
	return "%" + end
}

// countOf counts ids up to a limit.
func countOf(ids string) string {
	return "SELECT count(*) FROM (SELECT id FROM (" + ids + "\n  ) AS found LIMIT $10 OFFSET $11) AS c"
}

// ofKinds are the newest ids of each kind that satisfy a condition, in payments and processing.
func ofKinds(of, processing string) string {
	return ofKind(of) + "\n    UNION ALL" + ofProcessing(processing)
}

// ofKind are the newest ids in payments.
func ofKind(of string) string {
	return `
    SELECT ids.value AS id FROM (
      SELECT rail, country, status, method FROM counters WHERE shop = $1 AND live = $2 AND day = -1
      UNION SELECT rail, country, status, method FROM counters WHERE shop = $1 AND live = $2 AND day >= $12
    ) AS k CROSS JOIN {ids
      SELECT p.id FROM payments AS p
      WHERE p.shop = $1 AND p.live = $2 AND ` + of + ` p.rail = k.rail AND p.country = k.country AND p.status = k.status AND p.id >= $4 AND p.id < $5
      ORDER BY p.id DESC LIMIT $9}
    WHERE ($3 = '' OR k.status = $3) AND ($6 = '' OR k.rail = $6) AND ($7 = '' OR k.method = $7) AND ($8 = '' OR k.country = $8)`
}

// ofProcessing are the newest ids in processing.
func ofProcessing(condition string) string {
	return `
    SELECT id FROM processing
    WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND id >= $4 AND id < $5
      AND ($6 = '' OR rail = $6) AND ($7 = '' OR method = $7) AND ($8 = '' OR country = $8) AND ` + condition
}

// paged reads a page of payments by their ids: only these are read whole.
func paged(ids, page string) string {
	return "WITH page AS (\n  SELECT id FROM (" + ids + "\n  ) AS found ORDER BY id DESC " + page + `)
SELECT ` + Table.List + ` FROM payments WHERE id {in SELECT id FROM page}
UNION ALL
SELECT ` + Table.List + ` FROM processing WHERE id {in SELECT id FROM page}
ORDER BY id DESC`
}

// matching selects from both tables by order or by time.
func matching(columns, where string) string {
	return "SELECT " + columns + " FROM payments WHERE " + where + "\nUNION ALL SELECT " + columns + " FROM processing WHERE " + where
}

var byOrder = `shop = $1 AND live = $2 AND order_id = $3 AND order_id <> '' AND ($4 = '' OR status = $4) AND id >= $5 AND id < $6
  AND ($7 = '' OR rail = $7) AND ($8 = '' OR method = $8) AND ($9 = '' OR country = $9)
  AND ($10 = '' OR lower(email) = $10) AND ` + sameAmount("", 11) + " AND " + sameDocument("", 14)

const (
	selected = `shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND ($4 = '' OR rail = $4) AND ($5 = '' OR method = $5) AND ($6 = '' OR country = $6)`
	// Names every status where it does not matter, so that the index of statuses can be used.
	anyStatus = `status IN ('processing', 'pending', 'completed', 'failed', 'expired', 'refunded', 'chargeback')`
)

var (
	listPaymentsByOrder = engine.Statement("SELECT * FROM (" + matching(Table.List, byOrder) + ") AS p ORDER BY id DESC LIMIT $15 OFFSET $16")
	countByOrder        = engine.Statement("SELECT count(*) FROM (" + matching("id", byOrder) + ") AS p")
)

// A total is one statement, of one moment, so that a payment that moves between tables meanwhile is counted
// once.
var (
	// countAllDays sums the rolled-up counters, the young days' remaining counters, and the few payments
	// with an unknown outcome.
	countAllDays = engine.Statement(`
SELECT CAST(sum(n) AS BIGINT) FROM (
  SELECT coalesce(sum(n), 0) AS n FROM counters WHERE day = -1 AND ` + selected + `
  UNION ALL SELECT coalesce(sum(n - rolled), 0) FROM counters WHERE day >= $7 AND ` + selected + `
  UNION ALL SELECT count(*) FROM processing WHERE ` + selected + `
) AS c`)

	// countTime sums whole days, plus or minus what each end of the span adds or removes, and the few
	// payments with an unknown outcome.
	countTime = engine.Statement(`
SELECT CAST(sum(n) AS BIGINT) FROM (
  SELECT count(*) AS n FROM processing WHERE id >= $7 AND id < $8 AND ` + selected + `
  UNION ALL SELECT coalesce(sum(n), 0) FROM counters WHERE day >= $9 AND day < $10 AND ` + selected + `
  UNION ALL SELECT CAST($11 AS BIGINT) * coalesce(sum(n), 0) FROM counters WHERE day = $12 AND ` + selected + `
  UNION ALL SELECT CAST($13 AS BIGINT) * count(*) FROM payments WHERE id >= $14 AND id < $15 AND ` + anyStatus + ` AND ` + selected + `
  UNION ALL SELECT CAST($16 AS BIGINT) * coalesce(sum(n), 0) FROM counters WHERE day = $17 AND ` + selected + `
  UNION ALL SELECT CAST($18 AS BIGINT) * count(*) FROM payments WHERE id >= $19 AND id < $20 AND ` + anyStatus + ` AND ` + selected + `
) AS c`)
)

// List lists a shop's payments, newest first.
func (pa Payments) List(ctx context.Context, scope merchants.Scope, f lists.PaymentFilter) ([]pay.Payment, error) {
	from, below := paymentIDs(f)
	switch {
	case f.OrderID != "":
		return base.AtMost(ctx, pa.b, f.Limit, listPaymentsByOrder, Table.Reader(pa.b.Personal), append(ofOrder(scope, f), f.Limit, f.Offset)...)
	case f.Capped():
		text, args := pa.search(scope, f, searches{
			email:    ListByEmail,
			document: ListByDocument,
			usd:      ListByAmount,
			other:    ListByOtherAmount,
		}, f.Limit, f.Offset)
		return base.AtMost(ctx, pa.b, f.Limit, text, Table.Reader(pa.b.Personal), args...)
	case f.Rail != "" || f.Method != "" || f.Country != "":
		return base.AtMost(ctx, pa.b, f.Limit, listPaymentsOfKind, Table.Reader(pa.b.Personal), scope.Shop, scope.Live, string(f.Status), from, below,
			f.Rail, f.Method, f.Country, f.Limit+f.Offset, f.Limit, f.Offset, pa.b.Young())
	}
	return base.AtMost(ctx, pa.b, f.Limit, listPayments, Table.Reader(pa.b.Personal), scope.Shop, scope.Live, string(f.Status), from, below,
		f.Limit+f.Offset, f.Limit, f.Offset)
}

// ofOrder returns the arguments of byOrder.
func ofOrder(scope merchants.Scope, f lists.PaymentFilter) []any {
	from, below := paymentIDs(f)
	args := []any{scope.Shop, scope.Live, f.OrderID, string(f.Status), from, below, f.Rail, f.Method, f.Country, lowered(f.Email)}
	return append(append(args, amountArgs(f.Amount)...), endsWith(f.Document))
}

// searches are the statements for an e-mail, a document, an amount in USD and an amount in another currency.
type searches struct{ email, document, usd, other string }

// search picks the statement of a filter, with its arguments.
func (pa Payments) search(scope merchants.Scope, f lists.PaymentFilter, texts searches, limit, offset int) (text string, args []any) {
	from, below := paymentIDs(f)
	args = []any{scope.Shop, scope.Live, string(f.Status), from, below, f.Rail, f.Method, f.Country, limit + offset, limit, offset, pa.b.Young()}
	amounts := amountArgs(f.Amount)
	switch {
	case f.Email != "":
		return texts.email, append(append(append(args, lowered(f.Email)), amounts...), endsWith(f.Document))
	case f.Document != "":
		return texts.document, append(append(append(args, endsWith(f.Document)), amounts...), f.Document[len(f.Document)-lists.FewestOfDocument:])
	case f.Amount.Currency == money.USD:
		return texts.usd, append(args, amounts[0])
	}
	return texts.other, append(args, amounts[1:]...)
}

// Count counts the filter's matches, ignoring After, Limit and Offset. It sums counters. It scans at most
// half a day at each end of a span that does not begin and end at midnight UTC, the payments of one order,
// and lists.MostCounted of each kind for an e-mail, a document or an amount.
func (pa Payments) Count(ctx context.Context, scope merchants.Scope, f lists.PaymentFilter) (int64, error) {
	f.After = ""
	from, below := paymentIDs(f)
	status := string(f.Status)
	switch {
	case f.OrderID != "":
		return base.One(ctx, pa.b, countByOrder, base.ScanInt, ofOrder(scope, f)...)
	case f.Capped():
		text, args := pa.search(scope, f, searches{
			email:    CountByEmail,
			document: CountByDocument,
			usd:      CountByAmount,
			other:    CountByOtherAmount,
		}, lists.MostCounted, 0)
		return base.One(ctx, pa.b, text, base.ScanInt, args...)
	case f.From.IsZero() && f.To.IsZero():
		return base.One(ctx, pa.b, countAllDays, base.ScanInt, scope.Shop, scope.Live, status, f.Rail, f.Method, f.Country, pa.b.Young())
	}
	first, last, ends := wholeDays(f.Span)
	args := []any{scope.Shop, scope.Live, status, f.Rail, f.Method, f.Country, from, below, first, last}
	for _, e := range ends {
		args = append(args, e.days, e.day, e.rows, id.From(pay.PaymentPrefix, e.from), id.From(pay.PaymentPrefix, e.to))
	}
	return base.One(ctx, pa.b, countTime, base.ScanInt, args...)
}

// end is the difference between a span's end and whole days.
type end struct {
	days     int64 // factor of the day's payments: -1, 0 or 1
	day      int64
	rows     int64 // factor of each payment between from and to
	from, to time.Time
}

// endOfDays is later than any counted day.
const endOfDays = 1 << 40

// wholeDays splits a span into whole days, first inclusive and last exclusive, and what its ends add.
func wholeDays(f lists.Span) (first, last int64, ends [2]end) {
	last = endOfDays
	if !f.From.IsZero() {
		first, ends[0] = upTo(f.From, -1) // minus the payments before From on that day
	}
	if !f.To.IsZero() {
		last, ends[1] = upTo(f.To, 1)
	}
	switch {
	case f.From.IsZero() || f.To.IsZero() || first < last:
	case first == last && f.To.Sub(f.From) <= base.DayMicros/2*time.Microsecond:
		ends = [2]end{{rows: 1, from: f.From, to: f.To}}
	case first > last: // From is after To
		ends = [2]end{}
	}
	return first, last, ends
}

// upTo returns the day of t and how to count the day's payments before t, times sign: row by row until
// noon; after noon, the whole day minus the rest.
func upTo(t time.Time, sign int64) (day int64, e end) {
	t = t.Truncate(time.Millisecond) // the precision of ids
	day = max(0, t.UnixMicro()) / base.DayMicros
	start, stop := time.UnixMicro(day*base.DayMicros), time.UnixMicro((day+1)*base.DayMicros)
	switch {
	case !t.After(start):
		return day, end{}
	case t.Sub(start) <= stop.Sub(t):
		return day, end{rows: sign, from: start, to: t}
	}
	return day, end{days: sign, day: day, rows: -sign, from: t, to: stop}
}
