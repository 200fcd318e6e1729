// Package check proves the books: the invariants of every noun, the sums of balances and counters, and
// every row's seal. It reads bounded snapshots, of a live database or through its own reader.
//
// It writes nothing and fixes nothing.
package check

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Broken is a broken invariant.
type Broken struct {
	Invariant string
	ID        string // of the row, or the merchant
	Note      string
}

func (b Broken) String() string { return fmt.Sprintf("%s: %s: %s", b.Invariant, b.ID, b.Note) }

// invariant has a query for its violations: an id and a note.
type invariant struct{ name, text string }

// invariants registers their statements.
func invariants(list []invariant) []invariant {
	for _, r := range list {
		engine.Statement(r.text)
	}
	return list
}

// smallInvariants returns the invariants that look at everything at once: small tables, or an index of few rows.
func smallInvariants() []invariant {
	return slices.Concat(flightInvariants, heldInvariants, counterInvariants, rollupInvariants, payoutInvariants, rateInvariants, accountInvariants, driftInvariants, operatorInvariants, routingInvariants, planInvariants, mailInvariants, boundInvariants)
}

// Options say how much Check proves, and who receives its progress.
type Options struct {
	// Since is an earlier check's proof: what has not changed since is skipped. Nil: everything is checked.
	Since *Proof
	// Full checks everything anyway, and proves that the chains continue from the heads of Since.
	Full bool
	// Seals proves only the seals. There is no proof then.
	Seals bool
	// Parallel is how many parts of the database are read at the same time when everything is checked, each over a connection of
	// its own; 0 means 1.
	Parallel int
	// Progress is called now and then. It must not block.
	Progress func(Progress)
}

// Progress is a check's progress.
type Progress struct {
	Part        string // current part
	Done, Total int64  // rows, where known
	// PartDone and PartTotal are the rows of the current part; PartTotal is 0 where no count is known.
	PartDone, PartTotal int64
	Broken              []Broken // found so far; with Options.Parallel, before the parts
	Took                time.Duration
}

// Checked is a check's result.
type Checked struct {
	Broken []Broken
	Proof  *Proof // nil if something is broken
}

// checker runs a check in read-only snapshots. Each sees one moment of a bounded part of the database.
type checker struct {
	db    engine.Reads
	texts engine.Texts
	h     *seal.Hasher
	key   []byte
	now   time.Time // in the database's clock
	findings
	walked         walked
	unclaimedSince sinceWhen
	tallies        map[string]counts  // of a part's rows, by invariant
	resets         map[string]emptied // as the check began, by merchant
	since          *Proof             // nil: check everything
	kept           *Proof             // the proof whose heads the chains continue
	sealsOnly      bool
	parallel       int
	// rowsAtOnce is the current number of rows per snapshot: smaller after the server ended one.
	rowsAtOnce int
	pause      time.Duration // before a snapshot is retried
	stage
}

// Live proves the invariants of a live database and returns what is broken, at most a hundred per invariant. It
// only reads.
//
// The seals come first: they name the row whatever happened to it, while an invariant may fail on an invalid
// document. On an error it returns what it has found so far.
func Live(ctx context.Context, b *base.Base, key []byte) ([]Broken, error) {
	found, err := check(ctx, b.DB, b.Texts, key, Options{})
	return found.Broken, err
}

var selectNow = engine.Statement(`SELECT {now}`)

func check(ctx context.Context, db engine.Reads, texts engine.Texts, key []byte, o Options) (Checked, error) {
	return newChecker(db, texts, key, o).check(ctx)
}

func newChecker(db engine.Reads, texts engine.Texts, key []byte, o Options) *checker {
	c := &checker{db: db, texts: texts, h: seal.New(key), key: key, tallies: map[string]counts{}, unclaimedSince: sinceWhen{},
		rowsAtOnce: partRows, pause: engine.SnapshotPause, sealsOnly: o.Seals, parallel: o.Parallel}
	c.meter = &meter{tell: o.Progress, began: time.Now(), found: func() []Broken { return slices.Clip(c.broken) }}
	if c.since = o.Since; o.Full {
		c.since, c.kept = nil, o.Since
	}
	c.walked = newWalked(c.since)
	return c
}

func (c *checker) check(ctx context.Context) (Checked, error) {
	ctx, cancel := base.Long(ctx)
	defer cancel()
	proof, err := c.run(ctx)
	if err != nil || len(c.broken) > 0 {
		return Checked{Broken: c.broken}, err
	}
	return Checked{Proof: proof}, nil
}

func (c *checker) run(ctx context.Context) (*Proof, error) {
	next, err := c.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin the check: %w", err)
	}
	if c.sealsOnly {
		return nil, c.sealed(ctx) // nothing else was proved
	}
	// Parts are read after the seals, so that they see everything up to the heads that are proved: a later check reads only what is sealed after those.
	if err := c.sealed(ctx); err != nil {
		return nil, err
	}
	next.Chains = c.walked.proved
	if err := c.invariants(ctx, quarantineInvariants); err != nil { // other invariants may fail on such a row
		return nil, err
	}
	if c.since == nil {
		err = c.atOnce(ctx, allParts())
	} else {
		err = c.partsSince(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := c.invariants(ctx, smallInvariants()); err != nil {
		return nil, err
	}
	if c.since == nil {
		err = c.whole(ctx)
	}
	return next, err
}

// read reads a snapshot. If the server ends the snapshot, read runs again; so the caller keeps the findings
// only when read returns nil.
func (c *checker) read(ctx context.Context, how engine.Lookups, read func(ask engine.Asking) error) error {
	return engine.Persistently(ctx, c.pause, func(read func(engine.Asking) error) error {
		err := c.db.Snapshot(ctx, how, read)
		if err != nil {
			c.rowsAtOnce = max(fewestRows, c.rowsAtOnce/2)
		} else {
			c.rowsAtOnce = min(partRows, c.rowsAtOnce+c.rowsAtOnce/8)
		}
		return err
	},
		func(ask engine.Asking) error {
			return read(func(text string, args []any, each func(engine.Row) error) error {
				return ask(c.texts.Of(text), args, each)
			})
		})
}

// invariants runs statements that look at everything at once.
func (c *checker) invariants(ctx context.Context, invariants []invariant) error {
	for _, r := range invariants {
		c.at(r.name)
		if err := c.invariant(ctx, r, engine.ByAnyPlan); err != nil {
			return err
		}
	}
	return nil
}

// invariant runs an invariant's statement in its own snapshot.
func (c *checker) invariant(ctx context.Context, r invariant, how engine.Lookups, args ...any) error {
	var found []Broken
	err := c.read(ctx, how, func(ask engine.Asking) error {
		found = nil
		return breaks(ask, r, &found, args...)
	})
	c.addAll(found)
	return err
}

// breaks adds an invariant's violations. It reports those found before an error too.
func breaks(ask engine.Asking, r invariant, found *[]Broken, args ...any) error {
	err := ask(r.text, args, func(line engine.Row) error {
		b := Broken{Invariant: r.name}
		err := line.Scan(&b.ID, &b.Note)
		*found = append(*found, b)
		return err
	})
	if err != nil {
		return fmt.Errorf("check that %s: %w", r.name, err)
	}
	return nil
}

// findings are what is broken, at most a hundred per invariant.
type findings struct {
	broken []Broken
	count  map[string]int
}

func (f *findings) add(invariant, id, note string) {
	if f.count == nil {
		f.count = map[string]int{}
	}
	if f.count[invariant]++; f.count[invariant] <= 100 {
		f.broken = append(f.broken, Broken{invariant, id, note})
	}
}

func (f *findings) addAll(found []Broken) {
	for _, b := range found {
		f.add(b.Invariant, b.ID, b.Note)
	}
}

// collect reads all rows of a statement in a snapshot.
func collect[T any](ask engine.Asking, text string, scan func(engine.Row) (T, error), args ...any) (list []T, err error) {
	err = ask(text, args, func(r engine.Row) error {
		got, err := scan(r)
		list = append(list, got)
		return err
	})
	return list, err
}
