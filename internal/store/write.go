package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
	storewebhooks "github.com/cascadapay/cascada/internal/store/webhooks"
)

// errRerun: a change would lose a guard, or lost one after others of its guards were written. Nothing is
// written, and the batch runs again without it.
var errRerun = errors.New("a change lost a guard")

// written is what Commit writes, in every transaction's lock order.
var written = table.Kinds()

// write is one transaction of the group commit: first the guards of all changes, then their other writes.
type write struct {
	table.Batch
	s     *core
	c     *committer
	kinds table.KindSet // that the batch has rows of
	mine  bool          // the committer's row is as the committer left it
	batch []*waiting    // who waits for Changes, in the same order
	funds map[books.Purse]ledger.Balances
	shut  map[string]struct{} // reserves that changes draw on and whose release has begun

	kept []*waiting // who waits for Kept, in the same order
	lost map[*waiting]error
	sent []storewebhooks.Dispatch
	wide []*webhooks.FanOut // events whose deliveries are made later
}

func newWrite(c *committer, batch []*waiting) *write {
	w := &write{
		s: c.s, c: c, batch: batch,
		Batch: table.Batch{
			Dialect: c.s.b.DB.Dialect(), Texts: c.s.b.Texts, Personal: c.s.b.Personal,
			Changes: make([]*pay.Change, len(batch)), Won: make(map[string]struct{}, 2*len(batch)), Behind: map[string]struct{}{},
		},
		funds: map[books.Purse]ledger.Balances{},
		lost:  map[*waiting]error{},
	}
	for i, one := range batch {
		w.Changes[i] = one.change
		w.kinds |= one.kinds
	}
	return w
}

// run writes the batch on the assumption that no guard is lost, which is rarely wrong. If a guard was lost,
// or a floor must hold, it reads before it writes.
func (w *write) run(ctx context.Context) error {
	guards := w.guards()
	if len(w.funds) == 0 {
		wanted := false
		guards := w.askWanted(guards, &wanted)
		w.kept, w.Kept = w.batch, w.Changes
		steps := slices.Concat([]engine.Step{w.c.firstStatement(nil)}, guards, w.steps())
		err := w.s.b.DB.Apply(ctx, w.Look, steps)
		if err == nil {
			engine.Free(steps)
		}
		if wanted {
			w.sent, w.wide, w.kept = nil, nil, w.writeEvents()
			return errRerun
		}
		if !errors.Is(err, engine.ErrLost) && !errors.Is(err, engine.ErrForeseen) {
			return err
		}
		w.s.stats.again.Add(1)
		w.kept = nil
		w.Kept = nil
		w.sent = nil
		w.wide = nil
		if errors.Is(err, engine.ErrForeseen) && w.dropForeseen() {
			return errRerun
		}
		w.kept, w.Kept = nil, nil
	}
	if len(w.unwritten()) > 0 {
		w.kept = w.writeEvents()
		return errRerun
	}
	note := w.c.firstStatement(func(engine.Row) error { w.mine = true; return nil })
	err := w.s.b.DB.Transact(ctx, slices.Concat([]engine.Step{note}, guards), w.decide)
	if errors.Is(err, engine.ErrLost) { // its rows are locked: only a deadlock with a transaction of another program loses them
		err = fmt.Errorf("%w: %w", engine.ErrBusy, err)
	}
	return err
}

// guardedIDs lists the rows whose guard a change must win. kinds are those that it has rows of.
func guardedIDs(c *pay.Change, kinds table.KindSet) []string {
	ids := make([]string, 0, 4)
	for i, k := range written {
		if kinds.Has(i) {
			ids = k.Guarded(c, ids)
		}
	}
	return ids
}

// guards returns the statements that can be lost.
func (w *write) guards() []engine.Step {
	steps := make([]engine.Step, 0, 4)
	for i, k := range written {
		if w.kinds.Has(i) {
			steps = k.Guards(&w.Batch, steps)
		}
	}
	return w.lockFloors(steps)
}

// keep adds a change that lost no guard to those that are written.
func (w *write) keep(c *waiting) { w.kept, w.Kept = append(w.kept, c), append(w.Kept, c.change) }

// decide drops the changes that lost a guard, and returns the writes of the others.
func (w *write) decide() ([]engine.Step, error) {
	if !w.mine {
		return nil, errFenced
	}
	rerun := false
	for _, c := range w.batch {
		ids := c.guards
		held := 0
		for _, id := range ids {
			if _, ok := w.Won[id]; ok {
				held++
			}
		}
		var err error
		switch {
		case held < len(ids):
			err = lostGuard(c.change, func(id string) bool { _, won := w.Won[id]; return !won })
		case w.closed(c.change):
			err = base.ErrStale
		case !w.fund(c.change):
			err = base.ErrInsufficient
		}
		if err == nil {
			w.keep(c)
			continue
		}
		w.lost[c] = err
		rerun = rerun || held > 0
	}
	if rerun {
		return nil, errRerun
	}
	return w.steps(), nil
}

// steps returns the statements that cannot be lost: rows of all kinds, and rows derived from them.
func (w *write) steps() []engine.Step {
	steps := make([]engine.Step, 0, 12)
	for i, k := range written {
		if w.kinds.Has(i) {
			steps = k.Inserts(&w.Batch, steps)
		}
	}
	if list := storewebhooks.EventsTable.In(w.Kept, storewebhooks.Written); len(list) > 0 {
		steps = w.fanOut(steps, list)
	}
	steps = w.step(steps)
	steps = w.erase(steps)
	steps = w.noteMisfits(steps)
	steps = w.addBalances(steps)
	steps = w.addDeliveryCounters(steps)
	steps = w.addCounters(steps)
	steps = w.addFacts(steps)
	return w.mark(steps)
}

// report answers the callers once the transaction is durable.
func (w *write) report() {
	for _, c := range w.kept {
		w.s.publish(c.change)
		c.answer(nil)
	}
	w.reportLost()
	w.s.widths.learn(w.kept, w.sent)
	if len(w.sent) > 0 && w.s.delivered != nil {
		w.s.delivered(w.sent)
	}
	if len(w.wide) > 0 && w.s.widened != nil {
		w.s.widened()
	}
}

func (w *write) reportLost() {
	for c, err := range w.lost {
		c.answer(err)
	}
}
