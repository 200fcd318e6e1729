package store

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
)

const settlementSpec = "id TEXT!, merchant TEXT!, live BOOLEAN!, version BIGINT, number BIGINT!, status TEXT, " +
	"period_start BIGINT!, period_end BIGINT, last_at BIGINT, lines BIGINT, gross BIGINT, platform BIGINT, provider BIGINT, " +
	"network BIGINT, refunds BIGINT, chargebacks BIGINT, chargeback_fees BIGINT, held BIGINT, released BIGINT, adjustments BIGINT, " +
	"net BIGINT, pending BIGINT, moved BIGINT, carry BIGINT!, due_at BIGINT, created_at BIGINT!, updated_at BIGINT, doc TEXT"

var settlementColumns = columnNames(settlementSpec)

// columnNames is the list of a spec's names.
func columnNames(spec string) string {
	var names []string
	for _, c := range parseColumns(spec) {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

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

func settlementRow(r *rows, s *pay.Settlement) {
	doc := settlementDoc{s.Sums, s.At.Kind, micros(s.At.At), s.Sequence, micros(s.PDFAt), micros(s.ClosedAt), micros(s.PaidAt), s.Automatic, s.Payout, s.PayoutWhy}
	r.text(s.ID, s.Merchant).flag(s.Live).number(s.Version, s.Number).text(string(s.Status)).
		number(micros(s.PeriodStart), micros(s.PeriodEnd), micros(s.LastAt), s.Lines, s.Gross, s.Platform, s.Provider, s.Network,
			s.Refunds, s.Chargebacks, s.ChargebackFees, s.Held, s.Released, s.Adjustments, s.Net, s.Pending, s.Moved, s.Carry,
			micros(s.DueAt), micros(s.CreatedAt), micros(s.UpdatedAt)).text(encode(doc))
}

func scanSettlement(r row) (s pay.Settlement, err error) {
	var start, end, last, due, created, updated int64
	var text string
	err = r.Scan(&s.ID, &s.Merchant, &s.Live, &s.Version, &s.Number, &s.Status, &start, &end, &last, &s.Lines, &s.Gross,
		&s.Platform, &s.Provider, &s.Network, &s.Refunds, &s.Chargebacks, &s.ChargebackFees, &s.Held, &s.Released, &s.Adjustments,
		&s.Net, &s.Pending, &s.Moved, &s.Carry, &due, &created, &updated, &text)
	if err != nil {
		return s, err
	}
	var doc settlementDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return s, fmt.Errorf("settlement %s: %w", s.ID, err)
	}
	s.PeriodStart, s.PeriodEnd, s.LastAt, s.DueAt = fromMicros(start), fromMicros(end), fromMicros(last), fromMicros(due)
	s.CreatedAt, s.UpdatedAt = fromMicros(created), fromMicros(updated)
	s.Sums, s.At, s.Sequence = doc.Sums, pay.Cursor{Kind: doc.Kind, At: fromMicros(doc.At)}, doc.Sequence
	s.Automatic, s.Payout, s.PayoutWhy = doc.Automatic, doc.Payout, doc.PayoutWhy
	s.PDFAt, s.ClosedAt, s.PaidAt = fromMicros(doc.PDFAt), fromMicros(doc.ClosedAt), fromMicros(doc.PaidAt)
	return s, nil
}

const lineSpec = "id TEXT!, settlement TEXT!, merchant TEXT!, live BOOLEAN!, number BIGINT!, type TEXT!, payment TEXT!, claim TEXT!, " +
	"amount_local BIGINT!, currency_local TEXT!, at BIGINT!, day BIGINT!, gross BIGINT!, platform BIGINT!, provider BIGINT!, " +
	"network BIGINT!, refund BIGINT!, chargeback BIGINT!, chargeback_fee BIGINT!, reserve BIGINT!, adjustment BIGINT!, net BIGINT!, pending BIGINT!"

func lineRow(r *rows, l *pay.SettlementLine) {
	r.text(l.Transfer, l.Settlement, l.Merchant).flag(l.Live).number(l.Number).text(string(l.Type), l.Payment, l.Claim).
		number(l.Local.Minor).text(string(l.Local.Currency)).
		number(micros(l.At), micros(l.Day), l.Gross, l.Platform, l.Provider, l.Network, l.Refund, l.Chargeback, l.ChargebackFee,
			l.Reserve, l.Adjustment, l.Net, l.Pending)
}

func scanLine(r row) (l pay.SettlementLine, err error) {
	var at, day int64
	err = r.Scan(&l.Transfer, &l.Settlement, &l.Merchant, &l.Live, &l.Number, &l.Type, &l.Payment, &l.Claim,
		&l.Local.Minor, &l.Local.Currency, &at, &day, &l.Gross, &l.Platform, &l.Provider, &l.Network, &l.Refund, &l.Chargeback,
		&l.ChargebackFee, &l.Reserve, &l.Adjustment, &l.Net, &l.Pending, &l.OrderID)
	l.At, l.Day = fromMicros(at), fromMicros(day)
	return l, err
}

const selectUnopened = `
SELECT ` + merchantColumns + `, b.live FROM balances AS b JOIN merchants AS m ON m.id = b.merchant
WHERE NOT EXISTS (SELECT 1 FROM settlements AS s WHERE s.merchant = b.merchant AND s.live = b.live AND s.status = 'open')
LIMIT $1`

// Unopened is a merchant with a balance in an environment and no open
// settlement.
type Unopened struct {
	pay.Merchant
	Live bool
}

// Unopened lists merchants who have no open settlement yet.
func (s *Store) Unopened(ctx context.Context, limit int) ([]Unopened, error) {
	return many(ctx, s, selectUnopened, func(r row) (u Unopened, err error) {
		u.Merchant, err = scanMerchant(r, &u.Live)
		return u, err
	}, limit)
}

// claimed tells whether a settlement has claimed t.
const claimed = `EXISTS (SELECT 1 FROM settlement_lines AS l WHERE l.id = t.id)`

// firstUnsettled looks at each kind for its oldest transfer that is not
// claimed.
var firstUnsettled = func() string {
	var parts []string
	for _, kind := range pay.SettledKinds() {
		parts = append(parts, fmt.Sprintf(`SELECT at FROM (SELECT t.at FROM transfers AS t
  WHERE t.merchant = $1 AND t.live = $2 AND t.kind = '%[1]s' AND t.at >= $3 AND NOT `+claimed+`
  ORDER BY t.at LIMIT 1) AS of_%[1]s`, kind))
	}
	return "SELECT coalesce(min(at), 0) FROM (\n" + strings.Join(parts, "\nUNION ALL ") + ") AS oldest"
}()

// FirstUnsettled returns the time of the merchant's oldest transfer from since
// on that no settlement has claimed; zero where there is none.
func (s *Store) FirstUnsettled(ctx context.Context, scope pay.Scope, since time.Time) (time.Time, error) {
	var at int64
	err := s.db.walk(ctx, s.text(firstUnsettled), []any{scope.Merchant, scope.Live, micros(since)}, func(r row) error {
		return r.Scan(&at)
	})
	return fromMicros(at), err
}

// What is not claimed is read in the order of the index, so that a part of it
// costs no more than that part. What belongs to a payment comes with its
// capture or after it.
const (
	unsettledColumns        = `t.id, t.merchant, t.live, t.kind, t.payment, t.claim, t.amount_local, t.currency_local, t.at, t.postings`
	selectUnsettledCaptures = `
SELECT ` + unsettledColumns + `, t.at FROM transfers AS t
WHERE t.merchant = $1 AND t.live = $2 AND t.kind = $3 AND t.at >= $4 AND t.at <= $5 AND NOT ` + claimed + `
ORDER BY t.at LIMIT $6`
	selectUnsettled = `
SELECT ` + unsettledColumns + `, coalesce(c.at, 0)
FROM transfers AS t LEFT JOIN transfers AS c ON t.payment <> '' AND c.id = 'tr_' || substr(t.payment, 5) || '-capture'
WHERE t.merchant = $1 AND t.live = $2 AND t.kind = $3 AND t.at >= $4 AND coalesce(c.at, 0) <= $5 AND NOT ` + claimed + `
ORDER BY t.at LIMIT $6`
)

// Unsettled reads transfers that no settlement has claimed, of the kind of the
// cursor and from its time on, whose payment was captured by matured, oldest
// first.
func (s *Store) Unsettled(ctx context.Context, scope pay.Scope, from pay.Cursor, matured time.Time, limit int) ([]pay.Unsettled, error) {
	kind, text := pay.SettledKinds()[from.Kind], selectUnsettled
	if kind == ledger.Capture {
		text = selectUnsettledCaptures
	}
	var list []pay.Unsettled
	args := []any{scope.Merchant, scope.Live, string(kind), micros(from.At), micros(matured), limit}
	err := s.db.walk(ctx, s.text(text), args, func(r row) error {
		u, err := scanUnsettled(r)
		list = append(list, u)
		return err
	})
	return list, err
}

func scanUnsettled(r row) (u pay.Unsettled, err error) {
	var at, captured int64
	var text string
	err = r.Scan(&u.ID, &u.Merchant, &u.Live, &u.Kind, &u.Payment, &u.Claim, &u.Local.Minor, &u.Local.Currency, &at, &text, &captured)
	if err != nil {
		return u, err
	}
	u.At, u.Captured = fromMicros(at), fromMicros(captured)
	u.Postings, err = parsePostings(text)
	return u, err
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
	selectSettlement = `SELECT ` + settlementColumns + ` FROM settlements WHERE id = $1`
	selectOpen       = `SELECT ` + settlementColumns + ` FROM settlements WHERE merchant = $1 AND live = $2 AND status = 'open'`
	listSettlements  = `
SELECT ` + settlementColumns + ` FROM settlements
WHERE merchant = $1 AND live = $2 AND ($3 = '' OR status = $3) AND created_at >= $4 AND created_at < $5 AND number < $6
ORDER BY number DESC LIMIT $7 OFFSET $8`
	countSettlements = `
SELECT count(*) FROM settlements
WHERE merchant = $1 AND live = $2 AND ($3 = '' OR status = $3) AND created_at >= $4 AND created_at < $5`
	settledBefore = `
SELECT ` + settlementColumns + ` FROM settlements
WHERE merchant = $1 AND live = $2 AND status <> 'open' AND last_at <= $3 ORDER BY number DESC LIMIT 1`
	allSettlements = `
SELECT ` + settlementColumns + ` FROM settlements
WHERE ($1 = '' OR merchant = $1) AND ($2 = '' OR status = $2) ORDER BY created_at DESC, id DESC LIMIT $3`
)

// Settlement reads a merchant's settlement. ErrNotFound also where it is
// another's or of the other environment.
func (s *Store) Settlement(ctx context.Context, scope pay.Scope, id string) (pay.Settlement, error) {
	batch, err := s.AnySettlement(ctx, id)
	if err == nil && (batch.Merchant != scope.Merchant || batch.Live != scope.Live) {
		return pay.Settlement{}, ErrNotFound
	}
	return batch, err
}

// AnySettlement reads a settlement of any tenant, for the loops and the
// operator.
func (s *Store) AnySettlement(ctx context.Context, id string) (pay.Settlement, error) {
	return one(ctx, s, selectSettlement, scanSettlement, id)
}

// OpenSettlement reads a merchant's open settlement. ErrNotFound before the
// merchant has earned anything.
func (s *Store) OpenSettlement(ctx context.Context, scope pay.Scope) (pay.Settlement, error) {
	return one(ctx, s, selectOpen, scanSettlement, scope.Merchant, scope.Live)
}

// SettlementFilter selects settlements. Empty fields select all.
type SettlementFilter struct {
	Status   pay.SettlementStatus
	From, To time.Time // of CreatedAt; From is included, To is not
	Below    int64     // numbers below this one; 0: all
	Limit    int
	Offset   int
}

// Settlements lists a merchant's settlements, newest first, and counts what
// the filter selects. There is about one a day.
func (s *Store) Settlements(ctx context.Context, scope pay.Scope, f SettlementFilter) ([]pay.Settlement, int64, error) {
	to := int64(math.MaxInt64)
	if !f.To.IsZero() {
		to = micros(f.To)
	}
	args := []any{scope.Merchant, scope.Live, string(f.Status), micros(f.From), to}
	total, err := one(ctx, s, countSettlements, scanInt, args...)
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, listSettlements, scanSettlement, append(args, cmp.Or(f.Below, math.MaxInt64), f.Limit, f.Offset)...)
	return list, total, err
}

// AllSettlements lists settlements of every tenant, newest first, for the
// operator.
func (s *Store) AllSettlements(ctx context.Context, merchant string, status pay.SettlementStatus, limit int) ([]pay.Settlement, error) {
	return many(ctx, s, allSettlements, scanSettlement, merchant, string(status), limit)
}

// SettledBefore reads the newest settlement whose lines are all from at or
// before. Errors: ErrNotFound.
func (s *Store) SettledBefore(ctx context.Context, scope pay.Scope, at time.Time) (pay.Settlement, error) {
	return one(ctx, s, settledBefore, scanSettlement, scope.Merchant, scope.Live, micros(at))
}

var selectLines = `
SELECT ` + prefixed("l", lineSpec) + `, coalesce(p.order_id, '')
FROM settlement_lines AS l LEFT JOIN payments AS p ON p.id = l.payment
WHERE l.settlement = $1 AND l.number > $2 AND l.number > 0 ORDER BY l.number LIMIT $3`

// What a shop may read of a settlement: its own lines, and those that are of no payment.
var (
	ofShop          = ` AND (p.shop = $2 OR l.payment = '')`
	selectShopLines = `
SELECT ` + prefixed("l", lineSpec) + `, coalesce(p.order_id, '')
FROM settlement_lines AS l LEFT JOIN payments AS p ON p.id = l.payment
WHERE l.settlement = $1 AND l.number > $3 AND l.number > 0` + ofShop + ` ORDER BY l.number LIMIT $4 OFFSET $5`
	countShopLines = `
SELECT count(*) FROM settlement_lines AS l LEFT JOIN payments AS p ON p.id = l.payment
WHERE l.settlement = $1 AND l.number > 0` + ofShop
)

// ShopLines is SettlementLines for a shop that has siblings, without theirs. It skips as many
// lines as offset says.
func (s *Store) ShopLines(ctx context.Context, settlement, shop string, after int64, limit, offset int) ([]pay.SettlementLine, error) {
	return many(ctx, s, selectShopLines, scanLine, settlement, shop, after, limit, offset)
}

// CountShopLines counts the lines that ShopLines lists.
func (s *Store) CountShopLines(ctx context.Context, settlement, shop string) (int64, error) {
	return one(ctx, s, countShopLines, scanInt, settlement, shop)
}

// prefixed is the list of a spec's names as columns of a table.
func prefixed(table, spec string) string {
	return table + "." + strings.ReplaceAll(columnNames(spec), ", ", ", "+table+".")
}

// SettlementLines reads the listed lines of a settlement after a number. The
// caller has read the settlement in its own scope.
func (s *Store) SettlementLines(ctx context.Context, settlement string, after int64, limit int) ([]pay.SettlementLine, error) {
	return many(ctx, s, selectLines, scanLine, settlement, after, limit)
}

const selectSettled = `
SELECT l.payment, s.status FROM {rows: id TEXT} AS r JOIN settlement_lines AS l ON l.id = r.id JOIN settlements AS s ON s.id = l.settlement`

// SettledAs tells where the settlements stand that claimed the captures of
// payments, by payment; those of which no settlement has are left out.
func (s *Store) SettledAs(ctx context.Context, payments []string) (map[string]pay.SettlementStatus, error) {
	ids := newRows(s.db.dialect(), parseColumns("id TEXT"), len(payments))
	for _, id := range payments {
		ids.text("tr_" + strings.TrimPrefix(id, pay.PaymentPrefix) + "-capture").next()
	}
	settled := map[string]pay.SettlementStatus{}
	err := s.query(ctx, selectSettled, ids.args(), func(r row) error {
		var payment string
		var status pay.SettlementStatus
		err := r.Scan(&payment, &status)
		settled[payment] = status
		return err
	})
	return settled, err
}

var (
	settlementDuty = newDuty("settlements", "settlements", "d.status = 'open' AND d.due_at > 0", settlementColumns)
	receiptDuty    = newDuty("settlement receipts", "settlements", "d.status <> 'open' AND d.due_at > 0", settlementColumns)
)

// LeaseSettlements takes open settlements that are due.
func (s *Store) LeaseSettlements(ctx context.Context, now, until time.Time, limit int) ([]pay.Settlement, error) {
	return leased(ctx, s, settlementDuty, scanSettlement, now, until, limit)
}

// LeaseReceipts takes settlements that are not open any more and wait for a
// step.
func (s *Store) LeaseReceipts(ctx context.Context, now, until time.Time, limit int) ([]pay.Settlement, error) {
	return leased(ctx, s, receiptDuty, scanSettlement, now, until, limit)
}

// selectUnpaid is what is closed, not paid, and to be paid out by itself.
var selectUnpaid = `
SELECT ` + settlementColumns + ` FROM settlements WHERE merchant = $1 AND live = $2 AND status = 'closed' AND doc LIKE '%"automatic":true%' ORDER BY number DESC`

// UnpaidSettlements reads the settlements of a merchant that are closed, not paid, and to be paid out by
// themselves, the newest first.
func (s *Store) UnpaidSettlements(ctx context.Context, scope pay.Scope) ([]pay.Settlement, error) {
	return many(ctx, s, selectUnpaid, scanSettlement, scope.Merchant, scope.Live)
}

func documentRow(r *rows, d *pay.Document) {
	r.text(d.ID, d.Merchant).flag(d.Live).text(base64.StdEncoding.EncodeToString(d.Body))
}

const selectDocument = `SELECT id, merchant, live, body FROM documents WHERE id = $1 AND merchant = $2 AND live = $3`

// Document reads a merchant's document.
func (s *Store) Document(ctx context.Context, scope pay.Scope, id string) (pay.Document, error) {
	return one(ctx, s, selectDocument, func(r row) (d pay.Document, err error) {
		var text string
		if err := r.Scan(&d.ID, &d.Merchant, &d.Live, &text); err != nil {
			return d, err
		}
		d.Body, err = base64.StdEncoding.DecodeString(text)
		return d, err
	}, id, scope.Merchant, scope.Live)
}

// settlementQueries are the statements of this file.
func settlementQueries() []string {
	return []string{
		settlementsTable.insert, settlementsTable.update, linesTable.insert, reservesTable.insert, reservesTable.update, documentsTable.insert,
		selectUnopened, firstUnsettled, selectUnsettledCaptures, selectUnsettled, selectSettlement, selectOpen, listSettlements, countSettlements, settledBefore, allSettlements,
		selectUnpaid, selectLines, selectShopLines, countShopLines, selectSettled, selectDocument,
		selectReserves, selectClosed, listReserves, unsettledReserve, unsettledCaptures, givenBack, selectMovements, selectShopMovements, selectOthersWithdrawals, countMovements,
	}
}
