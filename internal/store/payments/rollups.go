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
	"sync"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/analytics"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Rollups are the totals of analytics (docs/decisions/analytics.md). A commit writes its facts in one row, which
// nobody waits for. AddUp moves them into the totals.
type Rollups struct {
	b          *base.Base
	unreadable sync.Map // ids of rows of facts that the log has
}

// Rollups returns the database's Rollups.
func (o OfPayments) Rollups() *Rollups { return o.rollups }

// RollupKey is the key of rollups.
const RollupKey = "shop, live, dimension, day, value, outcome"

// InsertFacts is the statement for the arguments of Facts.
var InsertFacts = engine.Statement(`INSERT INTO facts (at, id, doc) SELECT {now}, $1, $2 WHERE {unless lost}`)

// Facts returns the arguments of InsertFacts for what a commit writes. It returns nil if there is nothing to count.
// A fact is a line: the id of its payment or session, with a slash and the step if it is about a step only; then its
// amount, fees and class.
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
		if f, bought := analytics.BoughtEarlier(p); bought {
			add(p.ID+"/"+string(f.Step), f)
		}
	}
	for _, s := range sessions {
		for _, f := range analytics.OfSession(s) {
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
	// recountPage is how many payments one step counts again.
	recountPage = 2000
)

var (
	selectFacts = engine.Statement(`SELECT at, id, doc FROM facts WHERE (at, id) > ($2, $3) ORDER BY at, id LIMIT $1`)
	deleteFacts = engine.Standalone(`
DELETE FROM facts
WHERE {among at at} AND (at, id) IN (SELECT r.at, r.id FROM {rows: at BIGINT, id TEXT} AS r)
RETURNING id`)
	factColumns = engine.ParseColumns("at BIGINT, id TEXT")

	selectRecount = engine.Statement(`SELECT version, next FROM recounts WHERE id = 'rollups'`)
	// moveRecount serializes the steps of all nodes: each changes the row that it read before.
	moveRecount = engine.Standalone(`UPDATE recounts SET version = version + 1, next = $2 WHERE id = 'rollups' AND version = $1 RETURNING version`)

	rollupSpec    = "shop TEXT, live BOOLEAN, dimension TEXT, day BIGINT, value TEXT, outcome TEXT, n BIGINT, amount BIGINT, fees BIGINT"
	rollupColumns = engine.ParseColumns(rollupSpec)
	addRollups    = engine.Standalone(`
INSERT INTO rollups (` + RollupKey + `, n, amount, fees)
SELECT ` + RollupKey + `, n, amount, fees FROM {rows: ` + rollupSpec + `} AS r
WHERE TRUE
ON CONFLICT (` + RollupKey + `) DO UPDATE SET n = rollups.n + excluded.n, amount = rollups.amount + excluded.amount, fees = rollups.fees + excluded.fees
RETURNING n`)

	recountFrom = engine.Statement(`SELECT id FROM payments WHERE id < $1 ORDER BY id DESC LIMIT 1 OFFSET $2`)
	selectEnded = engine.Statement(`
SELECT ` + Table.List + ` FROM payments
WHERE id >= $1 AND id < $2 AND status NOT IN ('pending', 'processing') ORDER BY id`)
)

// recount is how far payments have been counted again.
type recount struct {
	version int64
	next    string // payments with an id below it are not counted again yet; their facts are dropped. "": there is no recount
}

func (r *Rollups) recount(ctx context.Context) (recount, error) {
	return base.One(ctx, r.b, selectRecount, func(row engine.Row) (f recount, err error) {
		err = row.Scan(&f.version, &f.next)
		return f, err
	})
}

// AddUp adds a step's worth of facts to the totals, and during a recount counts a page of payments again. It reports whether there is more to do. Every node may call it at any time: a step counts only if no other
// one came between.
func (r *Rollups) AddUp(ctx context.Context) (more bool, err error) {
	at, err := r.recount(ctx)
	if err != nil {
		return false, fmt.Errorf("add up facts: %w", err)
	}
	step := newAdded(at.next)
	counted := false
	if at.next != "" {
		// The payments first, then the facts: one that ends between the two is only among the facts.
		if counted, err = r.countPage(ctx, at.next, &step); err != nil {
			return false, fmt.Errorf("count payments again: %w", err)
		}
	}
	rows, all, err := r.oldest(ctx, &step)
	if err != nil {
		return false, fmt.Errorf("add up facts: %w", err)
	}
	if counted && !all {
		// More facts may wait than were read, some of them of the page's payments. Those are counted first.
		step, counted = newAdded(at.next), false
		step.addRows(rows, r.unread)
	}
	if len(rows) == 0 && !counted {
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

// oldest counts the oldest facts that can be read. It returns their rows, and whether no more of them wait. Facts that cannot
// be read, such as those of a newer version of the service during an update, stay, and delay no others.
func (r *Rollups) oldest(ctx context.Context, into *added) (rows []factRow, all bool, err error) {
	var last factRow
	for len(rows) == 0 && !all {
		page, err := base.Many(ctx, r.b, selectFacts, func(row engine.Row) (f factRow, err error) {
			err = row.Scan(&f.at, &f.id, &f.doc)
			return f, err
		}, factRows, last.at, last.id)
		if err != nil {
			return nil, false, err
		}
		if all = len(page) < factRows; len(page) > 0 {
			last = page[len(page)-1]
		}
		rows = into.addRows(page, r.unread)
	}
	return rows, all, nil
}

// unread logs a row of facts that cannot be read, once.
func (r *Rollups) unread(row factRow, err error) {
	if _, known := r.unreadable.LoadOrStore(row.id, true); !known {
		r.b.Log.Error("facts that cannot be read are missing in analytics", "facts", row.id, "error", err)
	}
}

// added is what one step adds.
type added struct {
	classes map[string]*classTotal // by the class's text: most payments of a step are of few classes
	known   map[string]bool        // payments that this step counted again
	next    string                 // of the recount, after the step
}

type classTotal struct {
	analytics.Class
	analytics.Total
}

func newAdded(next string) added {
	return added{classes: map[string]*classTotal{}, known: map[string]bool{}, next: next}
}

// of returns the total of a class.
func (a *added) of(class string) (*classTotal, error) {
	if t, known := a.classes[class]; known {
		return t, nil
	}
	c, err := analytics.ParseClass(class)
	if err != nil {
		return nil, err
	}
	t := &classTotal{Class: c}
	a.classes[class] = t
	return t, nil
}

// count adds one fact.
func (a *added) count(f analytics.Fact) error {
	t, err := a.of(string(f.AppendText(nil)))
	if err == nil {
		t.Total = t.Plus(analytics.Total{N: 1, Amount: f.Amount, Fees: f.Fees})
	}
	return err
}

// totals adds everything up along each dimension.
func (a *added) totals() analytics.Totals {
	totals := analytics.Totals{}
	for _, t := range a.classes {
		if t.N > 0 {
			totals.Add(t.Class, t.Total)
		}
	}
	return totals
}

// countPage counts the newest payments that the recount has not reached.
func (r *Rollups) countPage(ctx context.Context, below string, into *added) (bool, error) {
	from, err := base.One(ctx, r.b, recountFrom, base.ScanID, below, recountPage-1)
	if err != nil && !errors.Is(err, base.ErrNotFound) {
		return false, err
	}
	scan := Table.Scan(r.b.Personal)
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
		p.Stored = "" // its status is the end that its fact reports, or a later one
		if f, ends := analytics.OfPayment(p); ends {
			into.known[p.ID] = true
			if err := into.count(f); err != nil {
				return false, err
			}
		}
		if f, bought := analytics.BoughtEarlier(p); bought {
			if err := into.count(f); err != nil {
				return false, err
			}
		}
	}
	into.next = from
	return true, nil
}

// addRows counts facts, except of payments that the recount counts. It returns the rows that it could read.
func (a *added) addRows(rows []factRow, unread func(factRow, error)) (read []factRow) {
	var facts []factLine
	for _, row := range rows {
		var err error
		if facts, err = a.read(facts[:0], row.doc); err != nil {
			unread(row, err)
			continue
		}
		read = append(read, row)
		for _, f := range facts {
			payment := f.of.Outcome != "" || f.of.Step == analytics.Bought
			if id, _, _ := strings.Cut(f.id, "/"); payment && (id < a.next || a.known[id]) {
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
func (a *added) read(facts []factLine, doc string) ([]factLine, error) {
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
		if f.of, err = a.of(class); err != nil {
			return nil, err
		}
		facts = append(facts, f)
	}
	return facts, nil
}

func (r *Rollups) write(ctx context.Context, at recount, s added, rows []factRow) error {
	d := r.b.DB.Dialect()
	steps := []engine.Step{{Text: r.b.Text(moveRecount), Args: []any{at.version, s.next}, Want: 1}}
	if len(rows) > 0 {
		counted := engine.NewRows(d, factColumns, len(rows))
		for _, row := range rows {
			counted.Number(row.at).Text(row.id).Next()
		}
		steps = append(steps, engine.Step{Text: r.b.Text(deleteFacts), Args: counted.Args(), Want: len(rows)})
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
	// LockTotals keeps everybody else from adding up.
	LockTotals = engine.Standalone(`UPDATE recounts SET version = version + 1 WHERE id = 'rollups' RETURNING version`)
	// beginRecount is read after the lock: then no step adds up a payment that it does not see.
	beginRecount = engine.Standalone(`
UPDATE recounts SET next = (
  SELECT coalesce(max(id) || '~', '') FROM (SELECT max(id) AS id FROM payments UNION ALL SELECT max(id) FROM processing) AS newest)
WHERE id = 'rollups' RETURNING version`)
	// Only the last step of a checkout is of a payment.
	dropRollups = engine.Standalone(`DELETE FROM rollups WHERE dimension <> 'step' OR value = 'paid'`)
)

// Recount drops the totals of payments, and has the next steps of AddUp count all payments again.
func (r *Rollups) Recount(ctx context.Context) error {
	err := base.ApplySlowly(ctx, r.b.DB, []engine.Step{
		{Text: r.b.Text(LockTotals), Want: 1}, {Text: r.b.Text(beginRecount), Want: 1}, {Text: r.b.Text(dropRollups)},
	})
	if err != nil {
		return fmt.Errorf("count analytics again: %w", err)
	}
	return nil
}

// Lowering subtracts deleted totals from those of all shops.
type Lowering struct {
	b    *base.Base
	rows map[analytics.Key]analytics.Total
}

// NewLowering returns one that subtracts nothing yet.
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

// Step is the statement that subtracts them.
func (l *Lowering) Step() engine.Step {
	totals := engine.NewRows(l.b.DB.Dialect(), rollupColumns, len(l.rows))
	for _, k := range slices.SortedFunc(maps.Keys(l.rows), compareKeys) {
		t := l.rows[k]
		totals.Text(k.Shop).Flag(k.Live).Text(string(k.Dimension)).Number(k.Day).Text(k.Value, string(k.Outcome)).Number(-t.N, -t.Amount, -t.Fees).Next()
	}
	return engine.Step{Text: l.b.Text(addRollups), Args: totals.Args()}
}

// RecountEnd is the id from which payments are counted again: "" once all are.
func (r *Rollups) RecountEnd(ctx context.Context) (string, error) {
	at, err := r.recount(ctx)
	return at.next, err
}

// OldestFacts is a gauge among the due work: how long facts have waited to be added up.
const OldestFacts = `SELECT '` + FactsWork + `', coalesce(min(at), 0) FROM facts`

// FactsWork is this kind of due work.
const FactsWork = "facts"
