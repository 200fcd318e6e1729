// Package check proves the books: the invariants of every noun, the sums of balances and counters, and that each row
// is sealed. It reads in bounded snapshots, of a live database or by a reader of its own.
//
// It writes nothing and mends nothing.
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

// Broken is an invariant that does not hold.
type Broken struct {
	Rule string
	ID   string // of the row, or the merchant
	Note string
}

func (b Broken) String() string { return fmt.Sprintf("%s: %s: %s", b.Rule, b.ID, b.Note) }

// rule is an invariant as a query that returns what breaks it: an id and a
// note.
type rule struct{ name, text string }

// invariants makes the rules' statements known.
func invariants(rules []rule) []rule {
	for _, r := range rules {
		engine.Statement(r.text)
	}
	return rules
}

// smallRules gathers the rules whose statement looks at all that there is: of tables that stay
// small, or by an index of few rows.
func smallRules() []rule {
	return slices.Concat(flightRules, heldRules, counterRules, payoutRules, rateRules, accountRules, driftRules, operatorRules, rulesRules, mailRules)
}

// Options say how much Check proves, and who hears how far it is.
type Options struct {
	// Since is what an earlier check has proved: what has not changed since is not looked at
	// again. Nil: everything is.
	Since *Proof
	// Full looks at everything all the same, and proves that the chains go on from the heads of Since.
	Full bool
	// Progress is told now and then. It must not block.
	Progress func(Progress)
}

// Progress is how far a check is.
type Progress struct {
	Part        string // what is looked at
	Done, Total int64  // rows, as far as they are known
	Took        time.Duration
}

// Checked is what came of a check.
type Checked struct {
	Broken []Broken
	Proof  *Proof // what was proved; nil where something is broken
}

// checker runs a check: in snapshots that each see one moment, of a bounded part of the
// database, and that can write nothing.
type checker struct {
	db    engine.Reads
	texts map[string]string
	h     *seal.Hasher
	now   time.Time // in the database's clock
	findings
	walked         walked
	unclaimedSince sinceWhen
	tallies        map[string]counts // of a part's rows, by rule
	since          *Proof            // nil: everything is looked at
	kept           *Proof            // whose heads the chains go on from
	// rowsAtOnce is how many rows a snapshot looks at now: fewer after one that others ended.
	rowsAtOnce int
	pause      time.Duration // before a snapshot is begun anew
	meter
}

// Live proves the invariants of a live database and returns what is broken,
// at most a hundred of each rule. It only reads.
//
// The seals come first, as they name the row whatever was done to it; a rule may
// fail on a document that is none any more. With an error what was found until
// then is returned.
func Live(ctx context.Context, b *base.Base, key []byte) ([]Broken, error) {
	found, err := check(ctx, b.DB, b.Texts, key, Options{})
	return found.Broken, err
}

var selectNow = engine.Statement(`SELECT {now}`)

func check(ctx context.Context, db engine.Reads, texts map[string]string, key []byte, o Options) (Checked, error) {
	return newChecker(db, texts, key, o).check(ctx)
}

func newChecker(db engine.Reads, texts map[string]string, key []byte, o Options) *checker {
	c := &checker{db: db, texts: texts, h: seal.New(key), tallies: map[string]counts{}, unclaimedSince: sinceWhen{},
		rowsAtOnce: partRows, pause: engine.SnapshotPause}
	c.tell, c.began = o.Progress, time.Now()
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
	if err := c.seals(ctx); err != nil {
		return nil, fmt.Errorf("check the seals: %w", err)
	}
	next.Chains = c.walked.proved
	if err := c.rules(ctx, quarantineRules); err != nil { // another rule may fail on such a row
		return nil, err
	}
	if c.since == nil {
		err = c.allParts(ctx)
	} else {
		err = c.partsSince(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := c.rules(ctx, smallRules()); err != nil {
		return nil, err
	}
	if c.since == nil {
		err = c.whole(ctx)
	}
	return next, err
}

// read reads a snapshot. Where it is ended by others it begins anew, so what it finds is kept by
// its caller when it returns nil.
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
				translated, ok := c.texts[text]
				if !ok {
					panic("store: a statement that is not listed in queries: " + text)
				}
				return ask(translated, args, each)
			})
		})
}

// rules runs statements that look at all that there is.
func (c *checker) rules(ctx context.Context, rules []rule) error {
	for _, r := range rules {
		c.at(r.name)
		if err := c.rule(ctx, r, engine.ByAnyPlan); err != nil {
			return err
		}
	}
	return nil
}

// rule runs the statement of a rule in a snapshot of its own.
func (c *checker) rule(ctx context.Context, r rule, how engine.Lookups, args ...any) error {
	var found []Broken
	err := c.read(ctx, how, func(ask engine.Asking) error {
		found = nil
		return breaks(ask, r, &found, args...)
	})
	c.addAll(found)
	return err
}

// breaks adds the rows that break a rule. What was found before an error is told, too.
func breaks(ask engine.Asking, r rule, found *[]Broken, args ...any) error {
	err := ask(r.text, args, func(line engine.Row) error {
		b := Broken{Rule: r.name}
		err := line.Scan(&b.ID, &b.Note)
		*found = append(*found, b)
		return err
	})
	if err != nil {
		return fmt.Errorf("check that %s: %w", r.name, err)
	}
	return nil
}

// findings are what is broken, at most a hundred of each rule.
type findings struct {
	broken []Broken
	count  map[string]int
}

func (f *findings) add(rule, id, note string) {
	if f.count == nil {
		f.count = map[string]int{}
	}
	if f.count[rule]++; f.count[rule] <= 100 {
		f.broken = append(f.broken, Broken{rule, id, note})
	}
}

func (f *findings) addAll(found []Broken) {
	for _, b := range found {
		f.add(b.Rule, b.ID, b.Note)
	}
}

// collect reads all rows of a statement of a snapshot.
func collect[T any](ask engine.Asking, text string, scan func(engine.Row) (T, error), args ...any) (list []T, err error) {
	err = ask(text, args, func(r engine.Row) error {
		got, err := scan(r)
		list = append(list, got)
		return err
	})
	return list, err
}
