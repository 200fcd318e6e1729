package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var settlementsTable = describe(table[pay.Settlement]{
	name:    "settlements",
	of:      func(c *pay.Change) []pay.Settlement { return c.Settlements },
	id:      func(v *pay.Settlement) string { return v.ID },
	version: func(v *pay.Settlement) int64 { return v.Version },
	fields: func(f *fields, v *pay.Settlement) {
		f.text("id!", &v.ID)
		f.text("merchant!", &v.Merchant)
		f.flag("live!", &v.Live)
		f.number("version", &v.Version)
		f.number("number!", &v.Number)
		word(f, "status", &v.Status)
		f.time("period_start!", &v.PeriodStart)
		f.time("period_end", &v.PeriodEnd)
		f.time("last_at", &v.LastAt)
		f.number("lines", &v.Lines)
		f.number("gross", &v.Gross)
		f.number("platform", &v.Platform)
		f.number("provider", &v.Provider)
		f.number("network", &v.Network)
		f.number("refunds", &v.Refunds)
		f.number("chargebacks", &v.Chargebacks)
		f.number("chargeback_fees", &v.ChargebackFees)
		f.number("held", &v.Held)
		f.number("released", &v.Released)
		f.number("adjustments", &v.Adjustments)
		f.number("net", &v.Net)
		f.number("pending", &v.Pending)
		f.number("moved", &v.Moved)
		f.number("carry!", &v.Carry)
		f.time("due_at", &v.DueAt)
		f.time("created_at!", &v.CreatedAt)
		f.time("updated_at", &v.UpdatedAt)
		document[settlementDoc](f, "doc", v)
	},
})

// settlementDoc is what no query asks for. Times in microseconds UTC.
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
}

func (d *settlementDoc) of(_ *fields, v *pay.Settlement) {
	*d = settlementDoc{v.Sums, v.At.Kind, micros(v.At.At), v.Sequence, micros(v.PDFAt), micros(v.ClosedAt), micros(v.PaidAt), v.Automatic, v.Payout, v.PayoutWhy}
}

func (d *settlementDoc) into(_ *fields, v *pay.Settlement) error {
	v.Sums, v.At, v.Sequence = d.Sums, pay.Cursor{Kind: d.Kind, At: fromMicros(d.At)}, d.Sequence
	v.Automatic, v.Payout, v.PayoutWhy = d.Automatic, d.Payout, d.PayoutWhy
	v.PDFAt, v.ClosedAt, v.PaidAt = fromMicros(d.PDFAt), fromMicros(d.ClosedAt), fromMicros(d.PaidAt)
	return nil
}

var linesTable = describe(table[pay.SettlementLine]{
	name: "settlement_lines",
	of:   func(c *pay.Change) []pay.SettlementLine { return c.Lines },
	id:   func(l *pay.SettlementLine) string { return l.Transfer },
	fields: func(f *fields, l *pay.SettlementLine) {
		f.text("id!", &l.Transfer)
		f.text("settlement!", &l.Settlement)
		f.text("merchant!", &l.Merchant)
		f.flag("live!", &l.Live)
		f.number("number!", &l.Number)
		word(f, "type!", &l.Type)
		f.text("payment!", &l.Payment)
		f.text("claim!", &l.Claim)
		f.number("amount_local!", &l.Local.Minor) // a memo: "" is its currency where there is none
		word(f, "currency_local!", &l.Local.Currency)
		f.time("at!", &l.At)
		f.time("day!", &l.Day)
		f.number("gross!", &l.Gross)
		f.number("platform!", &l.Platform)
		f.number("provider!", &l.Provider)
		f.number("network!", &l.Network)
		f.number("refund!", &l.Refund)
		f.number("chargeback!", &l.Chargeback)
		f.number("chargeback_fee!", &l.ChargebackFee)
		f.number("reserve!", &l.Reserve)
		f.number("adjustment!", &l.Adjustment)
		f.number("net!", &l.Net)
		f.number("pending!", &l.Pending)
	},
})

var documentsTable = describe(table[pay.Document]{
	name: "documents",
	of:   func(c *pay.Change) []pay.Document { return c.Documents },
	id:   func(d *pay.Document) string { return d.ID },
	fields: func(f *fields, d *pay.Document) {
		f.text("id!", &d.ID)
		f.text("merchant!", &d.Merchant)
		f.flag("live!", &d.Live)
		f.bytes("body!", &d.Body)
	},
})

var selectUnopened = engine.Statement(`
SELECT ` + merchantsTable.listOf("m") + `, b.live FROM balances AS b JOIN merchants AS m ON m.id = b.merchant
WHERE NOT EXISTS (SELECT 1 FROM settlements AS s WHERE s.merchant = b.merchant AND s.live = b.live AND s.status = 'open')
LIMIT $1`)

// Unopened is a merchant with a balance in an environment and no open
// settlement.
type Unopened struct {
	tenant.Merchant
	Live bool
}

// Unopened lists merchants who have no open settlement yet.
func (s *Settlements) Unopened(ctx context.Context, limit int) ([]Unopened, error) {
	scan := merchantsTable.scan(s)
	return many(ctx, s, selectUnopened, func(r engine.Row) (u Unopened, err error) {
		u.Merchant, err = scan(rowWith{r, &u.Live})
		return u, err
	}, limit)
}

// claimed tells whether a settlement has claimed t.
const claimed = `EXISTS (SELECT 1 FROM settlement_lines AS l WHERE l.id = t.id)`

// firstUnsettled looks at each kind for its oldest transfer that is not
// claimed.
var firstUnsettled = engine.Statement(func() string {
	var parts []string
	for _, kind := range pay.SettledKinds() {
		parts = append(parts, fmt.Sprintf(`SELECT at FROM (SELECT t.at FROM transfers AS t
  WHERE t.merchant = $1 AND t.live = $2 AND t.kind = '%[1]s' AND t.at >= $3 AND NOT `+claimed+`
  ORDER BY t.at LIMIT 1) AS of_%[1]s`, kind))
	}
	return "SELECT coalesce(min(at), 0) FROM (\n" + strings.Join(parts, "\nUNION ALL ") + ") AS oldest"
}())

// FirstUnsettled returns the time of the merchant's oldest transfer from since
// on that no settlement has claimed; zero where there is none.
func (s *Settlements) FirstUnsettled(ctx context.Context, scope tenant.Scope, since time.Time) (time.Time, error) {
	var at int64
	err := s.db.Walk(ctx, s.text(firstUnsettled), []any{scope.Merchant, scope.Live, micros(since)}, func(r engine.Row) error {
		return r.Scan(&at)
	})
	return fromMicros(at), err
}

// What is not claimed is read in the order of the index, so that a part of it
// costs no more than that part. What belongs to a payment comes with its
// capture or after it.
var (
	selectUnsettledCaptures = engine.Statement(`
SELECT ` + transfersTable.listOf("t") + `, t.at FROM transfers AS t
WHERE t.merchant = $1 AND t.live = $2 AND t.kind = $3 AND t.at >= $4 AND t.at <= $5 AND NOT ` + claimed + `
ORDER BY t.at LIMIT $6`)
	selectUnsettled = engine.Statement(`
SELECT ` + transfersTable.listOf("t") + `, coalesce(c.at, 0)
FROM transfers AS t LEFT JOIN transfers AS c ON t.payment <> '' AND c.id = 'tr_' || substr(t.payment, 5) || '-capture'
WHERE t.merchant = $1 AND t.live = $2 AND t.kind = $3 AND t.at >= $4 AND coalesce(c.at, 0) <= $5 AND NOT ` + claimed + `
ORDER BY t.at LIMIT $6`)
)

// Unsettled reads transfers that no settlement has claimed, of the kind of the
// cursor and from its time on, whose payment was captured by matured, oldest
// first.
func (s *Settlements) Unsettled(ctx context.Context, scope tenant.Scope, from pay.Cursor, matured time.Time, limit int) ([]pay.Unsettled, error) {
	kind, text := pay.SettledKinds()[from.Kind], selectUnsettled
	if kind == ledger.Capture {
		text = selectUnsettledCaptures
	}
	var list []pay.Unsettled
	scan := s.scanUnsettled()
	args := []any{scope.Merchant, scope.Live, string(kind), micros(from.At), micros(matured), limit}
	err := s.db.Walk(ctx, s.text(text), args, func(r engine.Row) error {
		u, err := scan(r)
		list = append(list, u)
		return err
	})
	return list, err
}

// scanUnsettled returns what reads a transfer and when its payment was captured.
func (s *core) scanUnsettled() func(engine.Row) (pay.Unsettled, error) {
	scan := transfersTable.scan(s)
	return func(r engine.Row) (u pay.Unsettled, err error) {
		var captured int64
		u.Transfer, err = scan(rowWith{r, &captured})
		u.Captured = fromMicros(captured)
		return u, err
	}
}

// parsePostings reads the lines of a transfer in the order of the chart.
func parsePostings(text string) ([]ledger.Posting, error) {
	var amounts map[ledger.Account]int64
	if err := json.Unmarshal([]byte(text), &amounts); err != nil {
		return nil, fmt.Errorf("postings: %w", err)
	}
	list := make([]ledger.Posting, 0, len(amounts))
	for _, account := range ledger.Accounts() {
		if amount, ok := amounts[account]; ok {
			list = append(list, ledger.Posting{Account: account, Amount: amount})
		}
	}
	return list, nil
}

var (
	selectSettlement = engine.Statement(`SELECT ` + settlementsTable.list + ` FROM settlements WHERE id = $1`)
	selectOpen       = engine.Statement(`SELECT ` + settlementsTable.list + ` FROM settlements WHERE merchant = $1 AND live = $2 AND status = 'open'`)
	listSettlements  = engine.Statement(`
SELECT ` + settlementsTable.list + ` FROM settlements
WHERE merchant = $1 AND live = $2 AND ($3 = '' OR status = $3) AND created_at >= $4 AND created_at < $5 AND number < $6
ORDER BY number DESC LIMIT $7 OFFSET $8`)
	countSettlements = engine.Statement(`
SELECT count(*) FROM settlements
WHERE merchant = $1 AND live = $2 AND ($3 = '' OR status = $3) AND created_at >= $4 AND created_at < $5`)
	settledBefore = engine.Statement(`
SELECT ` + settlementsTable.list + ` FROM settlements
WHERE merchant = $1 AND live = $2 AND status <> 'open' AND last_at <= $3 ORDER BY number DESC LIMIT 1`)
	allSettlements = engine.Statement(`
SELECT ` + settlementsTable.list + ` FROM settlements
WHERE ($1 = '' OR merchant = $1) AND ($2 = '' OR status = $2) ORDER BY created_at DESC, id DESC LIMIT $3`)
)

// Get reads a merchant's settlement. ErrNotFound also where it is
// another's or of the other environment.
func (s *Settlements) Get(ctx context.Context, scope tenant.Scope, id string) (pay.Settlement, error) {
	batch, err := s.Any(ctx, id)
	if err == nil && (batch.Merchant != scope.Merchant || batch.Live != scope.Live) {
		return pay.Settlement{}, ErrNotFound
	}
	return batch, err
}

// Any reads a settlement of any tenant, for the loops and the
// operator.
func (s *Settlements) Any(ctx context.Context, id string) (pay.Settlement, error) {
	return one(ctx, s, selectSettlement, settlementsTable.scan(s), id)
}

// Open reads a merchant's open settlement. ErrNotFound before the
// merchant has earned anything.
func (s *Settlements) Open(ctx context.Context, scope tenant.Scope) (pay.Settlement, error) {
	return one(ctx, s, selectOpen, settlementsTable.scan(s), scope.Merchant, scope.Live)
}

// SettlementFilter selects settlements. Empty fields select all.
type SettlementFilter struct {
	Status   pay.SettlementStatus
	From, To time.Time // of CreatedAt; From is included, To is not
	Below    int64     // numbers below this one; 0: all
	Limit    int
	Offset   int
}

// List lists a merchant's settlements, newest first, and counts what
// the filter selects. There is about one a day.
func (s *Settlements) List(ctx context.Context, scope tenant.Scope, f SettlementFilter) ([]pay.Settlement, int64, error) {
	to := int64(math.MaxInt64)
	if !f.To.IsZero() {
		to = micros(f.To)
	}
	args := []any{scope.Merchant, scope.Live, string(f.Status), micros(f.From), to}
	total, err := one(ctx, s, countSettlements, scanInt, args...)
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, listSettlements, settlementsTable.scan(s), append(args, cmp.Or(f.Below, math.MaxInt64), f.Limit, f.Offset)...)
	return list, total, err
}

// All lists settlements of every tenant, newest first, for the
// operator.
func (s *Settlements) All(ctx context.Context, merchant string, status pay.SettlementStatus, limit int) ([]pay.Settlement, error) {
	return many(ctx, s, allSettlements, settlementsTable.scan(s), merchant, string(status), limit)
}

// SettledBefore reads the newest settlement whose lines are all from at or
// before. Errors: ErrNotFound.
func (s *Settlements) SettledBefore(ctx context.Context, scope tenant.Scope, at time.Time) (pay.Settlement, error) {
	return one(ctx, s, settledBefore, settlementsTable.scan(s), scope.Merchant, scope.Live, micros(at))
}

var selectLines = engine.Statement(`
SELECT ` + linesTable.listOf("l") + `, coalesce(p.order_id, '')
FROM settlement_lines AS l LEFT JOIN payments AS p ON p.id = l.payment
WHERE l.settlement = $1 AND l.number > $2 AND l.number > 0 ORDER BY l.number LIMIT $3`)

// What a shop may read of a settlement: its own lines, and those that are of no payment.
var (
	ofShop          = ` AND (p.shop = $2 OR l.payment = '')`
	selectShopLines = engine.Statement(`
SELECT ` + linesTable.listOf("l") + `, coalesce(p.order_id, '')
FROM settlement_lines AS l LEFT JOIN payments AS p ON p.id = l.payment
WHERE l.settlement = $1 AND l.number > $3 AND l.number > 0` + ofShop + ` ORDER BY l.number LIMIT $4 OFFSET $5`)
	countShopLines = engine.Statement(`
SELECT count(*) FROM settlement_lines AS l LEFT JOIN payments AS p ON p.id = l.payment
WHERE l.settlement = $1 AND l.number > 0` + ofShop)
)

// ShopLines is SettlementLines for a shop that has siblings, without theirs. It skips as many
// lines as offset says.
func (s *Settlements) ShopLines(ctx context.Context, settlement, shop string, after int64, limit, offset int) ([]pay.SettlementLine, error) {
	return many(ctx, s, selectShopLines, scanAnd(s, linesTable, withOrder), settlement, shop, after, limit, offset)
}

// CountShopLines counts the lines that ShopLines lists.
func (s *Settlements) CountShopLines(ctx context.Context, settlement, shop string) (int64, error) {
	return one(ctx, s, countShopLines, scanInt, settlement, shop)
}

func withOrder(l *pay.SettlementLine, order string) { l.OrderID = order }

// Lines reads the listed lines of a settlement after a number. The
// caller has read the settlement in its own scope.
func (s *Settlements) Lines(ctx context.Context, settlement string, after int64, limit int) ([]pay.SettlementLine, error) {
	return many(ctx, s, selectLines, scanAnd(s, linesTable, withOrder), settlement, after, limit)
}

var selectSettled = engine.Statement(`
SELECT l.payment, s.status FROM {rows: id TEXT} AS r JOIN settlement_lines AS l ON l.id = r.id JOIN settlements AS s ON s.id = l.settlement`)

// SettledAs tells where the settlements stand that claimed the captures of
// payments, by payment; those of which no settlement has are left out.
func (s *Settlements) SettledAs(ctx context.Context, payments []string) (map[string]pay.SettlementStatus, error) {
	ids := engine.NewRows(s.db.Dialect(), engine.ParseColumns("id TEXT"), len(payments))
	for _, id := range payments {
		ids.Text("tr_" + strings.TrimPrefix(id, pay.PaymentPrefix) + "-capture").Next()
	}
	settled := map[string]pay.SettlementStatus{}
	err := s.query(ctx, selectSettled, ids.Args(), func(r engine.Row) error {
		var payment string
		var status pay.SettlementStatus
		err := r.Scan(&payment, &status)
		settled[payment] = status
		return err
	})
	return settled, err
}

var (
	settlementDuty = newDuty("settlements", "settlements", "d.status = 'open' AND d.due_at > 0", settlementsTable.list)
	receiptDuty    = newDuty("settlement receipts", "settlements", "d.status <> 'open' AND d.due_at > 0", settlementsTable.list)
)

// Lease takes open settlements that are due.
func (s *Settlements) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Settlement, error) {
	return leased(ctx, s, settlementDuty, settlementsTable.scan(s), now, until, limit)
}

// LeaseReceipts takes settlements that are not open any more and wait for a
// step.
func (s *Settlements) LeaseReceipts(ctx context.Context, now, until time.Time, limit int) ([]pay.Settlement, error) {
	return leased(ctx, s, receiptDuty, settlementsTable.scan(s), now, until, limit)
}

// selectUnpaid is what is closed, not paid, and to be paid out by itself.
var selectUnpaid = engine.Statement(`
SELECT ` + settlementsTable.list + ` FROM settlements WHERE merchant = $1 AND live = $2 AND status = 'closed' AND doc LIKE '%"automatic":true%' ORDER BY number DESC`)

// Unpaid reads the settlements of a merchant that are closed, not paid, and to be paid out by
// themselves, the newest first.
func (s *Settlements) Unpaid(ctx context.Context, scope tenant.Scope) ([]pay.Settlement, error) {
	return many(ctx, s, selectUnpaid, settlementsTable.scan(s), scope.Merchant, scope.Live)
}

var selectDocument = engine.Statement(`SELECT ` + documentsTable.list + ` FROM documents WHERE id = $1 AND merchant = $2 AND live = $3`)

// Document reads a merchant's document.
func (s *Settlements) Document(ctx context.Context, scope tenant.Scope, id string) (pay.Document, error) {
	return one(ctx, s, selectDocument, documentsTable.scan(s), id, scope.Merchant, scope.Live)
}
