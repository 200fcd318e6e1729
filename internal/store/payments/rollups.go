package payments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/analytics"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Rollups are the totals of analytics (docs/decisions/analytics.md). A commit writes its facts in one row, which
// nobody waits for. AddUp moves them into the totals.
type Rollups struct{ b *base.Base }

// InsertFacts is the statement for the arguments of Facts.
var InsertFacts = engine.Statement(`INSERT INTO facts (at, id, doc) SELECT {now}, $1, $2 WHERE {unless lost}`)

// Facts returns the arguments of InsertFacts for what a commit writes. It returns nil if there is nothing to count.
// A fact is a line: the id of its payment, or of its session with the step, then its amount, fees and class.
func Facts(payments []*pay.Payment, sessions []*pay.Session) []any {
	var first string
	var lines []byte
	add := func(id string, f analytics.Fact) {
		if first == "" || id < first {
			first = id
		}
		if len(lines) > 0 {
			lines = append(lines, '\n')
		}
		lines = strconv.AppendInt(append(append(lines, id...), ' '), f.Amount, 10)
		lines = strconv.AppendInt(append(lines, ' '), f.Fees, 10)
		lines = f.AppendText(append(lines, ' '))
	}
	for _, p := range payments {
		if f, ends := analytics.OfPayment(p); ends {
			add(p.ID, f)
		}
	}
	for _, s := range sessions {
		if f, reaches := analytics.OfSession(s); reaches {
			add(s.ID+"/"+string(f.Step), f)
		}
	}
	if first == "" {
		return nil
	}
	// A payment ends once, and a session reaches a step once: so one of their facts names the row.
	return []any{first, string(lines)}
}

// factRow is a row of facts.
type factRow struct {
	at  int64
	id  string
	doc string
}

const (
	// factRows is how many rows of facts one step adds up.
	factRows = 200
	// backfillPage is how many payments from before one step counts.
	backfillPage = 2000
)

var (
	selectFacts = engine.Statement(`SELECT at, id, doc FROM facts ORDER BY at, id LIMIT $1`)
	takeFacts   = engine.Standalone(`
DELETE FROM facts
WHERE {among at at} AND (at, id) IN (SELECT r.at, r.id FROM {rows: at BIGINT, id TEXT} AS r)
RETURNING id`)
	factColumns = engine.ParseColumns("at BIGINT, id TEXT")

	selectBackfill = engine.Statement(`SELECT version, next FROM backfills WHERE id = 'rollups'`)
	// moveBackfill serializes the steps of all nodes: each changes the row that it read before.
	moveBackfill = engine.Standalone(`UPDATE backfills SET version = version + 1, next = $2 WHERE id = 'rollups' AND version = $1 RETURNING version`)

	rollupKey     = "shop, live, dimension, day, value, outcome"
	rollupSpec    = "shop TEXT, live BOOLEAN, dimension TEXT, day BIGINT, value TEXT, outcome TEXT, n BIGINT, amount BIGINT, fees BIGINT"
	rollupColumns = engine.ParseColumns(rollupSpec)
	addRollups    = engine.Standalone(`
INSERT INTO rollups (` + rollupKey + `, n, amount, fees)
SELECT ` + rollupKey + `, n, amount, fees FROM {rows: ` + rollupSpec + `} AS r
WHERE TRUE
ON CONFLICT (` + rollupKey + `) DO UPDATE SET n = rollups.n + excluded.n, amount = rollups.amount + excluded.amount, fees = rollups.fees + excluded.fees
RETURNING n`)

	backfillFrom = engine.Statement(`SELECT id FROM payments WHERE id < $1 ORDER BY id DESC LIMIT 1 OFFSET $2`)
	selectEnded  = engine.Statement(`
SELECT ` + PaymentsTable.List + ` FROM payments
WHERE id >= $1 AND id < $2 AND status NOT IN ('pending', 'processing') ORDER BY id`)
)

// backfill is how far payments from before are counted.
type backfill struct {
	version int64
	next    string // payments with an id below it are not counted yet; their facts are dropped
}

func (r *Rollups) backfill(ctx context.Context) (backfill, error) {
	return base.One(ctx, r.b, selectBackfill, func(row engine.Row) (f backfill, err error) {
		err = row.Scan(&f.version, &f.next)
		return f, err
	})
}

// AddUp adds a step's worth of facts to the totals, or, when few wait, counts payments from before this version's
// schema. It reports whether there is more to do. Every node may call it at any time: a step counts only if no other
// one came between.
func (r *Rollups) AddUp(ctx context.Context) (more bool, err error) {
	at, err := r.backfill(ctx)
	if err != nil {
		return false, fmt.Errorf("add up facts: %w", err)
	}
	step := newAdded(at.next)
	counted := false
	if at.next != "" {
		// The payments first, then the facts: one that ends between the two is among the facts alone.
		if counted, err = r.countPage(ctx, at.next, &step); err != nil {
			return false, fmt.Errorf("count payments from before: %w", err)
		}
	}
	rows, err := base.Many(ctx, r.b, selectFacts, func(row engine.Row) (f factRow, err error) {
		err = row.Scan(&f.at, &f.id, &f.doc)
		return f, err
	}, factRows)
	if err != nil {
		return false, fmt.Errorf("add up facts: %w", err)
	}
	if counted && len(rows) == factRows {
		// More facts may wait than were read, some of them of the page's payments. First those.
		step, counted = newAdded(at.next), false
	}
	if len(rows) == 0 && !counted {
		return false, nil
	}
	all := len(rows) < factRows
	if rows = step.take(r.b, rows); len(rows) == 0 && !counted {
		return false, nil
	}
	err = r.write(ctx, at, step, rows)
	switch {
	case errors.Is(err, engine.ErrLost):
		return false, nil // another node was faster, and does the rest too
	case errors.Is(err, engine.ErrUnknown):
		return true, nil // the next step reads what became of this one
	case err != nil:
		return false, fmt.Errorf("add up %d rows of facts: %w", len(rows), err)
	}
	return counted && step.next != "" || !all, nil
}

// added is what one step adds.
type added struct {
	classes map[string]*classTotal // by the class's text: most payments of a step are of few classes
	known   map[string]bool        // payments from before that this step counted
	next    string                 // of the backfill, after the step
}

type classTotal struct {
	analytics.Class
	analytics.Total
}

func newAdded(next string) added {
	return added{classes: map[string]*classTotal{}, known: map[string]bool{}, next: next}
}

// of returns the total of a class.
func (s *added) of(class string) (*classTotal, error) {
	if t, known := s.classes[class]; known {
		return t, nil
	}
	c, err := analytics.ParseClass(class)
	if err != nil {
		return nil, err
	}
	t := &classTotal{Class: c}
	s.classes[class] = t
	return t, nil
}

// totals adds everything up along each dimension.
func (s *added) totals() analytics.Totals {
	totals := analytics.Totals{}
	for _, t := range s.classes {
		if t.N > 0 {
			totals.Add(t.Class, t.Total)
		}
	}
	return totals
}

// countPage counts the newest payments from before.
func (r *Rollups) countPage(ctx context.Context, below string, into *added) (bool, error) {
	from, err := base.One(ctx, r.b, backfillFrom, base.ScanID, below, backfillPage-1)
	if err != nil && !errors.Is(err, base.ErrNotFound) {
		return false, err
	}
	scan := PaymentsTable.Scan(r.b.Personal)
	ended, err := base.Many(ctx, r.b, selectEnded, func(row engine.Row) (pay.Payment, error) {
		p, err := scan(row)
		if err != nil {
			r.b.Log.Error("a payment that cannot be read is missing in analytics", "payment", p.ID, "error", err)
			return pay.Payment{Status: pay.Pending}, nil
		}
		return p, nil
	}, from, below)
	if err != nil {
		return false, err
	}
	for i := range ended {
		p := &ended[i]
		p.Stored = "" // its status is the end that its fact tells, or came after it
		if f, ends := analytics.OfPayment(p); ends {
			t, err := into.of(string(f.AppendText(nil)))
			if err != nil {
				return false, err
			}
			t.Total = t.Plus(analytics.Total{N: 1, Amount: f.Amount, Fees: f.Fees})
			into.known[p.ID] = true
		}
	}
	into.next = from
	return true, nil
}

// take counts facts, except of payments that the backfill counts. It returns the rows that it could read.
func (s *added) take(b *base.Base, rows []factRow) (read []factRow) {
	var facts []factLine
	for _, row := range rows {
		var err error
		if facts, err = s.read(facts[:0], row.doc); err != nil {
			b.Log.Error("facts that cannot be read are missing in analytics", "facts", row.id, "error", err)
			continue
		}
		read = append(read, row)
		for _, f := range facts {
			if payment := f.of.Outcome != ""; payment && (f.id < s.next || s.known[f.id]) {
				continue
			}
			f.of.Total = f.of.Plus(f.one)
		}
	}
	return read
}

// factLine is a fact as read.
type factLine struct {
	id  string
	one analytics.Total
	of  *classTotal
}

// read appends the facts of a row.
func (s *added) read(facts []factLine, doc string) ([]factLine, error) {
	for line := range strings.SplitSeq(doc, "\n") {
		id, rest, _ := strings.Cut(line, " ")
		amount, rest, _ := strings.Cut(rest, " ")
		fees, class, _ := strings.Cut(rest, " ")
		f := factLine{id: id, one: analytics.Total{N: 1}}
		var err error
		if f.one.Amount, err = strconv.ParseInt(amount, 10, 64); err != nil {
			return nil, fmt.Errorf("amount of %q: %w", line, err)
		}
		if f.one.Fees, err = strconv.ParseInt(fees, 10, 64); err != nil {
			return nil, fmt.Errorf("fees of %q: %w", line, err)
		}
		if f.of, err = s.of(class); err != nil {
			return nil, err
		}
		facts = append(facts, f)
	}
	return facts, nil
}

func (r *Rollups) write(ctx context.Context, at backfill, s added, rows []factRow) error {
	d := r.b.DB.Dialect()
	steps := []engine.Step{{Text: r.b.Text(moveBackfill), Args: []any{at.version, s.next}, Want: 1}}
	if len(rows) > 0 {
		taken := engine.NewRows(d, factColumns, len(rows))
		for _, row := range rows {
			taken.Number(row.at).Text(row.id).Next()
		}
		steps = append(steps, engine.Step{Text: r.b.Text(takeFacts), Args: taken.Args(), Want: len(rows)})
	}
	if sums := s.totals(); len(sums) > 0 {
		totals := engine.NewRows(d, rollupColumns, len(sums))
		for _, k := range slices.SortedFunc(maps.Keys(sums), compareKeys) {
			t := sums[k]
			totals.Text(k.Shop).Flag(k.Live).Text(string(k.Dimension)).Number(k.Day).Text(k.Value, string(k.Outcome)).Number(t.N, t.Amount, t.Fees).Next()
		}
		steps = append(steps, engine.Step{Text: r.b.Text(addRollups), Args: totals.Args(), Want: len(sums)})
	}
	return base.ApplySlowly(ctx, r.b.DB, steps)
}

func compareKeys(a, b analytics.Key) int {
	return cmp.Or(strings.Compare(a.Shop, b.Shop), engine.Bit(a.Live)-engine.Bit(b.Live), strings.Compare(string(a.Dimension), string(b.Dimension)),
		cmp.Compare(a.Day, b.Day), strings.Compare(a.Value, b.Value), strings.Compare(string(a.Outcome), string(b.Outcome)))
}

var (
	// LockBackfill keeps everybody else from adding up.
	LockBackfill = engine.Standalone(`UPDATE backfills SET version = version + 1 WHERE id = 'rollups' RETURNING version`)
	// newBackfill is read after the lock: then no step adds up a payment that it does not see.
	newBackfill = engine.Standalone(`
UPDATE backfills SET next = (
  SELECT coalesce(max(id) || '~', '') FROM (SELECT max(id) AS id FROM payments UNION ALL SELECT max(id) FROM processing) AS newest)
WHERE id = 'rollups' RETURNING version`)
	// Only the last step of a checkout is of a payment.
	dropRollups = engine.Standalone(`DELETE FROM rollups WHERE dimension <> 'step' OR value = 'paid'`)
)

// Recount drops the totals of payments, and has the next steps of AddUp count all payments again.
func (r *Rollups) Recount(ctx context.Context) error {
	err := base.ApplySlowly(ctx, r.b.DB, []engine.Step{
		{Text: r.b.Text(LockBackfill), Want: 1}, {Text: r.b.Text(newBackfill), Want: 1}, {Text: r.b.Text(dropRollups)},
	})
	if err != nil {
		return fmt.Errorf("count analytics again: %w", err)
	}
	return nil
}

// Lowering takes totals that are deleted from those of all shops.
type Lowering struct {
	b    *base.Base
	rows map[analytics.Key]analytics.Total
}

// NewLowering returns one that takes nothing.
func NewLowering(b *base.Base) *Lowering { return &Lowering{b, map[analytics.Key]analytics.Total{}} }

// Scan adds a sandbox's deleted row: dimension, day, value, outcome, n, amount, fees.
func (l *Lowering) Scan(r engine.Row) error {
	k := analytics.Key{Shop: analytics.Everyone}
	var t analytics.Total
	if err := r.Scan(&k.Dimension, &k.Day, &k.Value, &k.Outcome, &t.N, &t.Amount, &t.Fees); err != nil {
		return err
	}
	l.rows[k] = l.rows[k].Plus(t)
	return nil
}

// Step is the statement that takes them.
func (l *Lowering) Step() engine.Step {
	totals := engine.NewRows(l.b.DB.Dialect(), rollupColumns, len(l.rows))
	for _, k := range slices.SortedFunc(maps.Keys(l.rows), compareKeys) {
		t := l.rows[k]
		totals.Text(k.Shop).Flag(k.Live).Text(string(k.Dimension)).Number(k.Day).Text(k.Value, string(k.Outcome)).Number(-t.N, -t.Amount, -t.Fees).Next()
	}
	return engine.Step{Text: l.b.Text(addRollups), Args: totals.Args()}
}

// BackfillEnd is the id from which payments are counted: "" once all are.
func (r *Rollups) BackfillEnd(ctx context.Context) (string, error) {
	at, err := r.backfill(ctx)
	return at.next, err
}

// OldestFacts is a gauge among the due work: how long facts have waited to be added up.
const OldestFacts = `SELECT '` + FactsWork + `', coalesce(min(at), 0) FROM facts`

// FactsWork is the gauge's name for it.
const FactsWork = "facts"

// DayTotal is a total of a day.
type DayTotal struct {
	Day     time.Time
	Outcome analytics.Outcome
	analytics.Total
}

// ValueTotal is the total of a value in a span.
type ValueTotal struct {
	Value   string
	Outcome analytics.Outcome
	Before  bool // of the days before the middle
	analytics.Total
}

var (
	// Each also reads the oldest facts that are not added up yet, in the same snapshot: while few payments end, what a
	// shop sees is never late.
	selectDayTotals = engine.Statement(`
SELECT day, outcome, n, amount, fees, '' AS doc FROM rollups
WHERE shop = $1 AND live = $2 AND dimension = 'all' AND day >= $3 AND day < $4
UNION ALL SELECT 0, '', 0, 0, 0, doc FROM (SELECT doc FROM facts ORDER BY at, id LIMIT $5) AS waiting`)
	selectValueTotals = engine.Statement(`
SELECT value, outcome, day < $5, CAST(sum(n) AS BIGINT), CAST(sum(amount) AS BIGINT), CAST(sum(fees) AS BIGINT), '' AS doc FROM rollups
WHERE shop = $1 AND live = $2 AND dimension = $3 AND day >= $4 AND day < $6 GROUP BY value, outcome, day < $5
UNION ALL SELECT '', '', FALSE, 0, 0, 0, doc FROM (SELECT doc FROM facts ORDER BY at, id LIMIT $7) AS waiting`)
)

// freshFacts is how many rows of facts a page reads that are not added up yet.
const freshFacts = 20

// Days returns the totals of each day, which may come twice, from the first one on and before the last one. Days are UTC. The shop
// analytics.Everyone has the totals of all.
func (r *Rollups) Days(ctx context.Context, shop string, live bool, from, to time.Time) ([]DayTotal, error) {
	first, last := from.UnixMicro()/base.DayMicros, to.UnixMicro()/base.DayMicros
	fresh := newAdded("")
	var list []DayTotal
	err := r.b.Query(ctx, selectDayTotals, []any{shop, live, first, last, freshFacts}, func(row engine.Row) error {
		var t DayTotal
		var day int64
		var doc string
		if err := row.Scan(&day, &t.Outcome, &t.N, &t.Amount, &t.Fees, &doc); err != nil {
			return err
		}
		if doc != "" {
			fresh.take(r.b, []factRow{{doc: doc}})
			return nil
		}
		t.Day = dayAt(day)
		list = append(list, t)
		return nil
	})
	for k, t := range fresh.totals() {
		if k.Shop == shop && k.Live == live && k.Dimension == analytics.ByAll && k.Day >= first && k.Day < last {
			list = append(list, DayTotal{dayAt(k.Day), k.Outcome, t})
		}
	}
	return list, err
}

func dayAt(day int64) time.Time { return time.UnixMicro(day * base.DayMicros).UTC() }

// Values returns the totals of each value of a dimension in the days from one on and before another, apart for the
// days before the middle and the others. A value may come twice: add them up.
func (r *Rollups) Values(ctx context.Context, shop string, live bool, d analytics.Dimension, from, middle, to time.Time) ([]ValueTotal, error) {
	first, mid, last := from.UnixMicro()/base.DayMicros, middle.UnixMicro()/base.DayMicros, to.UnixMicro()/base.DayMicros
	fresh := newAdded("")
	var list []ValueTotal
	err := r.b.Query(ctx, selectValueTotals, []any{shop, live, string(d), first, mid, last, freshFacts}, func(row engine.Row) error {
		var t ValueTotal
		var doc string
		if err := row.Scan(&t.Value, &t.Outcome, &t.Before, &t.N, &t.Amount, &t.Fees, &doc); err != nil {
			return err
		}
		if doc != "" {
			fresh.take(r.b, []factRow{{doc: doc}})
			return nil
		}
		list = append(list, t)
		return nil
	})
	for k, t := range fresh.totals() {
		if k.Shop == shop && k.Live == live && k.Dimension == d && k.Day >= first && k.Day < last {
			list = append(list, ValueTotal{k.Value, k.Outcome, k.Day < mid, t})
		}
	}
	return list, err
}
