package settlements

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/engine"
	storemerchants "github.com/cascadapay/cascada/internal/store/merchants"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Table is the table settlements.
var Table = table.Describe(table.Table[pay.Settlement]{
	Name:    "settlements",
	Hashed:  true,
	Lock:    290,
	Of:      func(c *pay.Change) []pay.Settlement { return c.Settlements },
	ID:      func(v *pay.Settlement) string { return v.ID },
	Version: func(v *pay.Settlement) int64 { return v.Version },
	Fields: func(f *table.Fields, v *pay.Settlement) {
		f.Text("id!", &v.ID)
		f.Text("merchant!", &v.Merchant)
		f.Flag("live!", &v.Live)
		f.Number("version", &v.Version)
		f.Number("number!", &v.Number)
		table.Word(f, "status", &v.Status)
		f.Time("period_start!", &v.PeriodStart)
		f.Time("period_end", &v.PeriodEnd)
		f.Time("last_at", &v.LastAt)
		f.Number("lines", &v.Lines)
		f.Number("gross", &v.Gross)
		f.Number("platform", &v.Platform)
		f.Number("provider", &v.Provider)
		f.Number("network", &v.Network)
		f.Number("tax", &v.Tax)
		f.Number("refunds", &v.Refunds)
		f.Number("chargebacks", &v.Chargebacks)
		f.Number("chargeback_fees", &v.ChargebackFees)
		f.Number("held", &v.Held)
		f.Number("released", &v.Released)
		f.Number("adjustments", &v.Adjustments)
		f.Number("net", &v.Net)
		f.Number("pending", &v.Pending)
		f.Number("moved", &v.Moved)
		f.Number("carry!", &v.Carry)
		f.Time("due_at", &v.DueAt)
		f.Time("created_at!", &v.CreatedAt)
		f.Time("updated_at", &v.UpdatedAt)
		table.JSONList(f, "covers", &v.Covers)
		f.Number("covered", &v.Covered)
		table.Document[settlementDoc](f, "doc", v)
	},
})

// settlementDoc holds what no query filters by. Times in microseconds UTC.
type settlementDoc struct {
	Sums     ledger.Balances `json:"sums,omitempty"`
	Kind     int             `json:"kind,omitempty"` // of the cursor
	At       int64           `json:"at,omitempty"`
	Sequence int64           `json:"sequence,omitempty"`
	PDFAt    int64           `json:"pdfAt,omitempty"`
	ClosedAt int64           `json:"closedAt,omitempty"`
	PaidAt   int64           `json:"paidAt,omitempty"`

	Automatic bool   `json:"automatic,omitempty"`
	Payout    string `json:"payout,omitempty"`
	PayoutWhy string `json:"payoutWhy,omitempty"`

	Taxes []taxDoc `json:"taxes,omitempty"`

	Matured int64 `json:"matured,omitempty"`
	Since   int64 `json:"since,omitempty"`
}

// taxDoc is a pay.TaxSum.
type taxDoc struct {
	Name   string `json:"name"`
	Bps    int64  `json:"bps"`
	Amount int64  `json:"amount"`
}

func (d *settlementDoc) Of(_ *table.Fields, v *pay.Settlement) {
	*d = settlementDoc{
		Sums:      v.Sums,
		Kind:      v.At.Kind,
		At:        table.Micros(v.At.At),
		Sequence:  v.Sequence,
		PDFAt:     table.Micros(v.PDFAt),
		ClosedAt:  table.Micros(v.ClosedAt),
		PaidAt:    table.Micros(v.PaidAt),
		Automatic: v.Automatic,
		Payout:    v.Payout,
		PayoutWhy: v.PayoutWhy,
		Matured:   table.Micros(v.Matured),
		Since:     table.Micros(v.Since),
	}
	for _, t := range v.Taxes {
		d.Taxes = append(d.Taxes, taxDoc{t.Name, t.Bps, t.Amount})
	}
}

func (d *settlementDoc) Into(_ *table.Fields, v *pay.Settlement) error {
	v.Sums = d.Sums
	v.At = pay.Cursor{Kind: d.Kind, At: table.FromMicros(d.At)}
	v.Sequence = d.Sequence
	v.Automatic = d.Automatic
	v.Payout = d.Payout
	v.PayoutWhy = d.PayoutWhy
	v.Matured = table.FromMicros(d.Matured)
	v.Since = table.FromMicros(d.Since)
	v.PDFAt = table.FromMicros(d.PDFAt)
	v.ClosedAt = table.FromMicros(d.ClosedAt)
	v.PaidAt = table.FromMicros(d.PaidAt)
	for _, t := range d.Taxes {
		v.Taxes = append(v.Taxes, pay.TaxSum{TaxRate: merchants.TaxRate{Name: t.Name, Bps: t.Bps}, Amount: t.Amount})
	}
	return nil
}

// LinesTable is the table settlement_lines.
var LinesTable = table.Describe(table.Table[pay.SettlementLine]{
	Name:   "settlement_lines",
	Hashed: true,
	Lock:   430,
	Of:     func(c *pay.Change) []pay.SettlementLine { return c.Lines },
	ID:     func(l *pay.SettlementLine) string { return l.Transfer },
	Fields: func(f *table.Fields, l *pay.SettlementLine) {
		f.Text("id!", &l.Transfer)
		f.Text("settlement!", &l.Settlement)
		f.Text("merchant!", &l.Merchant)
		f.Flag("live!", &l.Live)
		f.Number("number!", &l.Number)
		table.Word(f, "type!", &l.Type)
		f.Text("payment!", &l.Payment)
		f.Text("claim!", &l.Claim)
		f.Number("amount_local!", &l.Local.Minor) // a memo; the currency is "" without one
		table.Word(f, "currency_local!", &l.Local.Currency)
		f.Time("at!", &l.At)
		f.Time("day!", &l.Day)
		f.Number("gross!", &l.Gross)
		f.Number("platform!", &l.Platform)
		f.Number("provider!", &l.Provider)
		f.Number("network!", &l.Network)
		f.Number("tax!", &l.Tax)
		f.Number("refund!", &l.Refund)
		f.Number("chargeback!", &l.Chargeback)
		f.Number("chargeback_fee!", &l.ChargebackFee)
		f.Number("reserve!", &l.Reserve)
		f.Number("adjustment!", &l.Adjustment)
		f.Number("net!", &l.Net)
		f.Number("pending!", &l.Pending)
	},
})

// ReceiptsTable is the table documents.
var ReceiptsTable = table.Describe(table.Table[pay.Document]{
	Name:   "documents",
	Hashed: true,
	Lock:   440,
	Of:     func(c *pay.Change) []pay.Document { return c.Documents },
	ID:     func(d *pay.Document) string { return d.ID },
	Fields: func(f *table.Fields, d *pay.Document) {
		f.Text("id!", &d.ID)
		f.Text("merchant!", &d.Merchant)
		f.Flag("live!", &d.Live)
		f.Bytes("body!", &d.Body)
	},
})

var selectUnopened = engine.Statement(`
SELECT b.merchant, b.live, m.created_at, coalesce(r.done_at, 0) FROM balances AS b
JOIN merchants AS m ON m.id = b.merchant
LEFT JOIN resets AS r ON r.merchant = b.merchant AND NOT b.live
WHERE NOT EXISTS (SELECT 1 FROM settlements AS s WHERE s.merchant = b.merchant AND s.live = b.live AND s.status = 'open')
  AND ` + storemerchants.NotEmptied("b.merchant", "b.live") + `
LIMIT $1`)

// Unopened are books with a balance and no open settlement.
type Unopened struct {
	merchants.Scope
	Start time.Time // when the merchant was made, or its sandbox was emptied
}

// Unopened lists books without an open settlement.
func (s Settlements) Unopened(ctx context.Context, limit int) ([]Unopened, error) {
	return base.Many(ctx, s.b, selectUnopened, func(r engine.Row) (u Unopened, err error) {
		var made, emptied int64
		err = r.Scan(&u.Merchant, &u.Live, &made, &emptied)
		u.Start = table.FromMicros(max(made, emptied))
		return u, err
	}, limit)
}

// Collected is true if a settlement has collected t.
const Collected = `EXISTS (SELECT 1 FROM settlement_lines AS l WHERE l.id = t.id)`

// captureOf joins the capture of a transfer's payment, whose id pay.CaptureID makes, as c. A capture names the time at which
// its payment settles (SVC-18).
const captureOf = `LEFT JOIN transfers AS c ON t.payment <> '' AND c.id = 'tr_' || substr(t.payment, 5) || '-capture'`

// ReserveDay is pay.ReserveDay of the capture c, whose memo is the number of days if it is not the usual.
var ReserveDay = fmt.Sprintf(`c.at - c.at %% %[1]d - (%[2]d - CASE WHEN c.memo = '' THEN %[2]d ELSE CAST(c.memo AS BIGINT) END) * %[1]d`,
	(24 * time.Hour).Microseconds(), merchants.DefaultReserveDays)

// firstDue finds the uncollected transfer that is due first: a capture when its payment settles, any other the merchant's
// delay after its time, and not before its payment.
var firstDue = engine.Statement(func() string {
	of := `WHERE t.merchant = $1 AND t.live = $2 AND t.kind = '%s' AND t.at >= $3 AND NOT ` + Collected
	var parts []string
	for _, kind := range pay.SettledKinds() {
		if kind == ledger.Capture {
			parts = append(parts, `SELECT t.settles_at AS due FROM transfers AS t`+fmt.Sprintf("\n  "+of, kind))
			continue
		}
		parts = append(parts, `SELECT CASE WHEN x.matures > x.at + $4 THEN x.matures ELSE x.at + $4 END AS due FROM (
  SELECT t.at, coalesce(c.settles_at, 0) AS matures FROM transfers AS t `+captureOf+fmt.Sprintf("\n  "+of, kind)+`) AS x`)
	}
	return "SELECT coalesce(min(due), 0) FROM (\n" + strings.Join(parts, "\nUNION ALL ") + ") AS first"
}())

// FirstDue returns when the first of a merchant's uncollected transfers, which are from since on, is due; zero for none.
// delay is of the merchant's present terms.
func (s Settlements) FirstDue(ctx context.Context, scope merchants.Scope, since time.Time, delay time.Duration) (time.Time, error) {
	var at int64
	err := s.b.DB.Walk(ctx, s.b.Text(firstDue), []any{scope.Merchant, scope.Live, table.Micros(since), delay.Microseconds()}, func(r engine.Row) error {
		return r.Scan(&at)
	})
	return table.FromMicros(at), err
}

// Uncollected transfers are read in index order, so a part costs that part and what is not due in between. What belongs to
// a payment comes with its capture or after it.
var (
	selectUnsettledCaptures = engine.Statement(`
SELECT ` + books.TransfersTable.ListOf("t") + `, ` + strings.ReplaceAll(ReserveDay, "c.", "t.") + ` FROM transfers AS t
WHERE t.merchant = $1 AND t.live = $2 AND t.kind = $3 AND t.at >= $4 AND t.at <= $5 AND t.settles_at <= $5 AND NOT ` + Collected + `
ORDER BY t.at LIMIT $6`)
	selectUnsettled = engine.Statement(`
SELECT ` + books.TransfersTable.ListOf("t") + `, coalesce(` + ReserveDay + `, 0)
FROM transfers AS t ` + captureOf + `
WHERE t.merchant = $1 AND t.live = $2 AND t.kind = $3 AND t.at >= $4 AND coalesce(c.settles_at, 0) <= $5 AND NOT ` + Collected + `
ORDER BY t.at LIMIT $6`)
)

// Unsettled reads uncollected transfers of the cursor's kind from its time on, whose payment settles by matured, oldest
// first.
func (s Settlements) Unsettled(ctx context.Context, scope merchants.Scope, from pay.Cursor, matured time.Time, limit int) ([]pay.Unsettled, error) {
	kind, text := pay.SettledKinds()[from.Kind], selectUnsettled
	if kind == ledger.Capture {
		text = selectUnsettledCaptures
	}
	var list []pay.Unsettled
	taxed := map[string]merchants.TaxRate{} // by payment
	scan := scanUnsettled(s.b)
	args := []any{scope.Merchant, scope.Live, string(kind), table.Micros(from.At), table.Micros(matured), limit}
	err := s.b.DB.Walk(ctx, s.b.Text(text), args, func(r engine.Row) error {
		u, err := scan(r)
		list = append(list, u)
		if u.Amount(ledger.FeeTaxes) != 0 {
			taxed[u.Payment] = merchants.TaxRate{}
		}
		return err
	})
	if err != nil || len(taxed) == 0 {
		return list, err
	}
	err = s.b.Query(ctx, selectTaxed, s.b.IDs(slices.Collect(maps.Keys(taxed))), func(r engine.Row) error {
		var payment string
		var rate merchants.TaxRate
		err := r.Scan(&payment, &rate.Name, &rate.Bps)
		taxed[payment] = rate
		return err
	})
	for i := range list {
		if list[i].Amount(ledger.FeeTaxes) != 0 {
			list[i].Taxed = taxed[list[i].Payment]
		}
	}
	return list, err
}

// taxedBy is the tax on the fees of the payment p.
const taxedBy = `coalesce({json p.doc taxName}, ''), coalesce(CAST({json p.doc taxBps} AS BIGINT), 0)`

var selectTaxed = engine.Statement(`SELECT p.id, ` + taxedBy + ` FROM {rows: id TEXT} AS r JOIN payments AS p ON p.id = r.id`)

// scanUnsettled returns a reader of a transfer and the day of its payment's reserve.
func scanUnsettled(b *base.Base) func(engine.Row) (pay.Unsettled, error) {
	scan := books.TransfersTable.Scan(b.Personal)
	return func(r engine.Row) (u pay.Unsettled, err error) {
		var day int64
		u.Transfer, err = scan(table.With(r, &day))
		u.Day = table.FromMicros(day)
		return u, err
	}
}

var (
	selectSettlement = engine.Statement(`SELECT ` + Table.List + ` FROM settlements WHERE id = $1`)
	selectOpen       = engine.Statement(`SELECT ` + Table.List + ` FROM settlements WHERE merchant = $1 AND live = $2 AND status = 'open'`)
	listSettlements  = engine.Statement(`
SELECT ` + Table.List + ` FROM settlements
WHERE merchant = $1 AND live = $2 AND ($3 = '' OR status = $3) AND created_at >= $4 AND created_at < $5 AND number < $6
ORDER BY number DESC LIMIT $7 OFFSET $8`)
	countSettlements = engine.Statement(`
SELECT count(*) FROM settlements
WHERE merchant = $1 AND live = $2 AND ($3 = '' OR status = $3) AND created_at >= $4 AND created_at < $5`)
	settledBefore = engine.Statement(`
SELECT ` + Table.List + ` FROM settlements
WHERE merchant = $1 AND live = $2 AND status <> 'open' AND last_at <= $3 ORDER BY number DESC LIMIT 1`)
	allSettlements = engine.Statement(`
SELECT ` + Table.List + ` FROM settlements
WHERE ($1 = '' OR merchant = $1) AND ($2 = '' OR status = $2) AND ($3 = '' OR (created_at, id) < (SELECT c.created_at, c.id FROM settlements AS c WHERE c.id = $3))
ORDER BY created_at DESC, id DESC LIMIT $4`)
)

// Get reads a merchant's settlement. ErrNotFound also for another merchant's or the other environment's.
func (s Settlements) Get(ctx context.Context, scope merchants.Scope, id string) (pay.Settlement, error) {
	batch, err := s.Any(ctx, id)
	if err == nil && (batch.Merchant != scope.Merchant || batch.Live != scope.Live) {
		return pay.Settlement{}, base.ErrNotFound
	}
	return batch, err
}

// Any reads a settlement of any tenant, for the loops and the operator.
func (s Settlements) Any(ctx context.Context, id string) (pay.Settlement, error) {
	return base.One(ctx, s.b, selectSettlement, Table.Scan(s.b.Personal), id)
}

// Open reads a merchant's open settlement. ErrNotFound until the merchant has earned something.
func (s Settlements) Open(ctx context.Context, scope merchants.Scope) (pay.Settlement, error) {
	return base.One(ctx, s.b, selectOpen, Table.Scan(s.b.Personal), scope.Merchant, scope.Live)
}

// List lists a merchant's settlements, newest first, and counts the filter's matches. The page has numbers
// less than below, or all if below is 0. There is about one settlement a day.
func (s Settlements) List(ctx context.Context, scope merchants.Scope, f lists.SettlementFilter, below int64) ([]pay.Settlement, int64, error) {
	from, to := base.Bounds(f.Span)
	args := []any{scope.Merchant, scope.Live, string(f.Status), from, to}
	total, err := base.One(ctx, s.b, countSettlements, base.ScanInt, args...)
	if err != nil {
		return nil, 0, err
	}
	list, err := base.Many(ctx, s.b, listSettlements, Table.Scan(s.b.Personal), append(args, cmp.Or(below, math.MaxInt64), f.Limit, f.Offset)...)
	return list, total, err
}

// All lists settlements of every tenant, newest first, after the one with an id, for the operator.
func (s Settlements) All(ctx context.Context, merchant string, status pay.SettlementStatus, after string, limit int) ([]pay.Settlement, error) {
	return base.Many(ctx, s.b, allSettlements, Table.Scan(s.b.Personal), merchant, string(status), after, limit)
}

// SettledBefore reads the newest settlement whose lines are all from at or before.
//
// Errors: ErrNotFound.
func (s Settlements) SettledBefore(ctx context.Context, scope merchants.Scope, at time.Time) (pay.Settlement, error) {
	return base.One(ctx, s.b, settledBefore, Table.Scan(s.b.Personal), scope.Merchant, scope.Live, table.Micros(at))
}

var selectLines = engine.Statement(`
SELECT ` + LinesTable.ListOf("l") + `, ` + taxedBy + `, coalesce(p.order_id, '')
FROM settlement_lines AS l LEFT JOIN payments AS p ON p.id = l.payment
WHERE l.settlement = $1 AND l.number > $2 AND l.number > 0 ORDER BY l.number LIMIT $3`)

// A shop may read its own lines of a settlement, and lines without a payment.
var (
	ofShop          = ` AND (p.shop = $2 OR l.payment = '')`
	selectShopLines = engine.Statement(`
SELECT ` + LinesTable.ListOf("l") + `, ` + taxedBy + `, coalesce(p.order_id, '')
FROM settlement_lines AS l LEFT JOIN payments AS p ON p.id = l.payment
WHERE l.settlement = $1 AND l.number > $3 AND l.number > 0` + ofShop + ` ORDER BY l.number LIMIT $4 OFFSET $5`)
	countShopLines = engine.Statement(`
SELECT count(*) FROM settlement_lines AS l LEFT JOIN payments AS p ON p.id = l.payment
WHERE l.settlement = $1 AND l.number > 0` + ofShop)
)

// ShopLines is Lines for a shop with siblings, without the siblings' lines. It skips offset lines.
func (s Settlements) ShopLines(ctx context.Context, settlement, shop string, after int64, limit, offset int) ([]pay.SettlementLine, error) {
	return base.Many(ctx, s.b, selectShopLines, scanLine(s.b), settlement, shop, after, limit, offset)
}

// CountShopLines counts the lines that ShopLines lists.
func (s Settlements) CountShopLines(ctx context.Context, settlement, shop string) (int64, error) {
	return base.One(ctx, s.b, countShopLines, base.ScanInt, settlement, shop)
}

// scanLine returns a reader of a line with the tax and the order of its payment.
func scanLine(b *base.Base) func(engine.Row) (pay.SettlementLine, error) {
	scan := LinesTable.Scan(b.Personal)
	return func(r engine.Row) (pay.SettlementLine, error) {
		var taxed merchants.TaxRate
		var order string
		l, err := scan(table.With(table.With(table.With(r, &order), &taxed.Bps), &taxed.Name))
		l.OrderID = order
		if l.Tax != 0 {
			l.Taxed = taxed
		}
		return l, err
	}
}

// Lines reads the listed lines of a settlement after a number. The caller has checked the settlement's
// scope.
func (s Settlements) Lines(ctx context.Context, settlement string, after int64, limit int) ([]pay.SettlementLine, error) {
	return base.Many(ctx, s.b, selectLines, scanLine(s.b), settlement, after, limit)
}

var selectSettled = engine.Statement(`
SELECT l.payment, s.status FROM {rows: id TEXT} AS r JOIN settlement_lines AS l ON l.id = r.id JOIN settlements AS s ON s.id = l.settlement`)

// SettledAs returns the settlements that collected the captures of payments, by payment. Payments without a
// settlement are missing.
func (s Settlements) SettledAs(ctx context.Context, payments []string) (map[string]pay.SettlementStatus, error) {
	ids := engine.NewRows(s.b.DB.Dialect(), engine.ParseColumns("id TEXT"), len(payments))
	for _, id := range payments {
		ids.Text(pay.CaptureID(id)).Next()
	}
	settled := map[string]pay.SettlementStatus{}
	err := s.b.Query(ctx, selectSettled, ids.Args(), func(r engine.Row) error {
		var payment string
		var status pay.SettlementStatus
		err := r.Scan(&payment, &status)
		settled[payment] = status
		return err
	})
	return settled, err
}

var (
	// Duty is the due settlements.
	Duty = base.NewDuty("settlements", "settlements", "d.status = 'open' AND d.due_at > 0", Table.List)
	// ReceiptDuty is the due settlement receipts.
	ReceiptDuty = base.NewDuty("settlement receipts", "settlements", "d.status <> 'open' AND d.due_at > 0", Table.List)
)

// Lease leases open settlements that are due.
func (s Settlements) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Settlement, error) {
	return base.Leased(ctx, s.b, Duty, Table.Scan(s.b.Personal), now, until, limit)
}

// LeaseReceipts leases settlements that are no longer open and wait for a step.
func (s Settlements) LeaseReceipts(ctx context.Context, now, until time.Time, limit int) ([]pay.Settlement, error) {
	return base.Leased(ctx, s.b, ReceiptDuty, Table.Scan(s.b.Personal), now, until, limit)
}

var (
	// A settlement that was marked as paid before withdrawals were linked to settlements is covered too: by what was paid of it.
	selectUncovered = engine.Statement(`
SELECT ` + Table.List + ` FROM settlements
WHERE merchant = $1 AND live = $2 AND status <> 'open' AND covered <> net ORDER BY number`)
	selectSettlementsByID = engine.Statement(`SELECT ` + Table.ListOf("s") + ` FROM {rows: id TEXT} AS r JOIN settlements AS s ON s.id = r.id`)
)

// Uncovered reads a merchant's closed settlements whose net is not covered in full, oldest first.
func (s Settlements) Uncovered(ctx context.Context, scope merchants.Scope) ([]pay.Settlement, error) {
	return base.Many(ctx, s.b, selectUncovered, Table.Scan(s.b.Personal), scope.Merchant, scope.Live)
}

// ByID reads settlements of any tenant, for the loops. Unknown ids are missing.
func (s Settlements) ByID(ctx context.Context, ids []string) ([]pay.Settlement, error) {
	return base.Many(ctx, s.b, selectSettlementsByID, Table.Scan(s.b.Personal), s.b.IDs(ids)...)
}

var selectReceipt = engine.Statement(`SELECT ` + ReceiptsTable.List + ` FROM documents WHERE id = $1 AND merchant = $2 AND live = $3`)

// Receipt reads a merchant's document.
func (s Settlements) Receipt(ctx context.Context, scope merchants.Scope, id string) (pay.Document, error) {
	return base.One(ctx, s.b, selectReceipt, ReceiptsTable.Scan(s.b.Personal), id, scope.Merchant, scope.Live)
}

// Settlements have lines and documents.
type Settlements struct{ b *base.Base }

// Settlements returns the database's Settlements.
func (o OfSettlements) Settlements() Settlements { return Settlements(o) }
