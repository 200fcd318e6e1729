package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// errRerun says that a change would lose a guard, or lost one after another of its guards had
// been written: nothing is written, and the batch runs again without it.
var errRerun = errors.New("a change lost a guard")

// write is one transaction of the group commit: the guards of all changes, then
// what they write.
type write struct {
	s     *core
	c     *committer
	mine  bool // the committer's row is as it left it
	batch []*waiting
	won   map[string]struct{} // ids whose guarded statement changed a row
	funds map[purse]ledger.Balances
	shut  map[string]struct{} // reserves whose release has begun, of those that changes draw on
	look  []engine.Step       // what finds lost guards beforehand
	// behind are the ids whose guard look found to be lost.
	behind map[string]struct{}

	kept []*waiting
	lost map[*waiting]error
	sent []Dispatch
	wide []*hook.FanOut // events whose deliveries are made later
}

// purse is whom a balance belongs to.
type purse struct {
	merchant string
	live     bool
}

func newWrite(c *committer, batch []*waiting) *write {
	return &write{
		s: c.s, c: c, batch: batch,
		won:    make(map[string]struct{}, 2*len(batch)),
		funds:  map[purse]ledger.Balances{},
		shut:   map[string]struct{}{},
		behind: map[string]struct{}{},
		lost:   map[*waiting]error{},
	}
}

// run writes the batch, in the belief that no guard is lost: it hardly ever is. If
// one was, or a floor has to hold, it looks before it writes.
func (w *write) run(ctx context.Context) error {
	guards := w.guards()
	if len(w.funds) == 0 {
		w.kept = w.batch
		err := w.s.db.Apply(ctx, w.look, slices.Concat([]engine.Step{w.c.note(nil)}, guards, w.steps()))
		if !errors.Is(err, engine.ErrLost) && !errors.Is(err, engine.ErrForeseen) {
			return err
		}
		w.s.stats.again.Add(1)
		w.kept, w.sent, w.wide = nil, nil, nil
		if errors.Is(err, engine.ErrForeseen) && w.dropForeseen() {
			return errRerun
		}
		w.kept = nil
	}
	note := w.c.note(func(engine.Row) error { w.mine = true; return nil })
	return w.s.db.Transact(ctx, slices.Concat([]engine.Step{note}, guards), w.decide)
}

// guardedIDs lists the rows whose guard a change needs to win.
func guardedIDs(c *pay.Change) []string {
	ids := make([]string, 0, 4)
	for _, k := range written {
		ids = k.guarded(c, ids)
	}
	return ids
}

// guards returns the statements that can be lost.
func (w *write) guards() []engine.Step {
	steps := make([]engine.Step, 0, 4)
	for _, k := range written {
		steps = k.guards(w, steps)
	}
	return w.lockFloors(steps)
}

func (w *write) win(r engine.Row) error {
	var id string
	err := r.Scan(&id)
	w.won[id] = struct{}{}
	return err
}

var selectBalancesForUpdate = engine.Statement(`
SELECT ` + balanceColumns + ` FROM balances AS b
JOIN {rows: merchant TEXT, live BOOLEAN} AS r ON b.merchant = r.merchant AND b.live = r.live AND {among b.merchant merchant}
ORDER BY b.merchant, b.live {for update}`)

// lockFloors reads the balances that a floor is about and keeps them from moving until the commit;
// with them all others that the batch moves. Two batches take what they share in one order: one that
// took a floor's first, and the others when it writes, would wait for one that began with another floor.
func (w *write) lockFloors(steps []engine.Step) []engine.Step {
	moved := map[purse]bool{}
	for _, c := range w.batch {
		for _, f := range c.change.Floors {
			w.funds[purse{f.Merchant, f.Live}], moved[purse{f.Merchant, f.Live}] = ledger.Balances{}, true
		}
		for _, t := range c.change.Transfers {
			moved[purse{t.Merchant, t.Live}] = true
		}
	}
	if len(w.funds) == 0 {
		return steps
	}
	rows := engine.NewRows(w.s.db.Dialect(), engine.ParseColumns("merchant TEXT, live BOOLEAN"), len(moved))
	for _, t := range slices.SortedFunc(maps.Keys(moved), purse.compare) {
		rows.Text(t.merchant).Flag(t.live).Next()
	}
	steps = append(steps, engine.Step{Text: w.s.text(selectBalancesForUpdate), Args: rows.Args(), Each: func(r engine.Row) error {
		t, b, err := scanBalances(r)
		if _, asked := w.funds[t]; asked {
			w.funds[t] = b
		}
		return err
	}})
	return w.lookAtDays(steps)
}

func (t purse) compare(o purse) int {
	return cmp.Or(strings.Compare(t.merchant, o.merchant), engine.Bit(t.live)-engine.Bit(o.live))
}

// decide drops the changes that lost a guard and returns what the others
// write.
func (w *write) decide() ([]engine.Step, error) {
	if !w.mine {
		return nil, errFenced
	}
	rerun := false
	for _, c := range w.batch {
		ids := c.guards
		held := 0
		for _, id := range ids {
			if _, ok := w.won[id]; ok {
				held++
			}
		}
		var err error
		switch {
		case held < len(ids):
			err = lostGuard(&c.change, func(id string) bool { _, won := w.won[id]; return !won })
		case w.closed(&c.change):
			err = ErrStale
		case !w.fund(&c.change):
			err = ErrInsufficient
		}
		if err == nil {
			w.kept = append(w.kept, c)
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

// fund books the change on the balances that floors are about, and reports
// whether its own floors hold. A change that breaks one books nothing.
func (w *write) fund(c *pay.Change) bool {
	if len(w.funds) == 0 {
		return true
	}
	book := func(sign int64) {
		for _, t := range c.Transfers {
			balances, watched := w.funds[purse{t.Merchant, t.Live}]
			if !watched {
				continue
			}
			for _, p := range t.Postings {
				balances[p.Account] += sign * p.Amount
			}
		}
	}
	book(1)
	for _, f := range c.Floors {
		if w.funds[purse{f.Merchant, f.Live}][f.Account] < f.Min {
			book(-1)
			return false
		}
	}
	return true
}

// steps returns the statements that cannot be lost: rows of all kinds, and what is made of them.
func (w *write) steps() []engine.Step {
	steps := make([]engine.Step, 0, 12)
	for _, k := range written {
		steps = k.inserts(w, steps)
	}
	if list := gather(w.kept, eventsTable.of, nil); len(list) > 0 {
		steps = w.fanOut(steps, list)
	}
	steps = w.step(steps)
	steps = w.erase(steps)
	steps = w.noteMisfits(steps)
	steps = w.addBalances(steps)
	steps = w.addDeliveryCounters(steps)
	steps = w.addCounters(steps)
	return w.mark(steps)
}

// addBalances books all transfers of the batch, one row per merchant and
// environment.
func (w *write) addBalances(steps []engine.Step) []engine.Step {
	deltas := map[purse]ledger.Balances{}
	movements := map[purse]int64{}
	for _, t := range gather(w.kept, transfersTable.of, nil) {
		key := purse{t.Merchant, t.Live}
		movements[key] += pay.MovementCount(*t)
		if deltas[key] == nil {
			deltas[key] = make(ledger.Balances, len(t.Postings))
		}
		for _, p := range t.Postings {
			deltas[key][p.Account] += p.Amount
		}
	}
	if len(deltas) == 0 {
		return steps
	}
	rows := engine.NewRows(w.s.db.Dialect(), balanceRows, len(deltas))
	for _, key := range slices.SortedFunc(maps.Keys(deltas), purse.compare) {
		rows.Text(key.merchant).Flag(key.live)
		for _, account := range ledger.Accounts() {
			rows.Number(deltas[key][account])
		}
		rows.Number(movements[key]).Next()
	}
	return append(steps, engine.Step{Text: w.s.text(upsertBalances), Args: rows.Args()})
}

// report answers the callers once the transaction is durable.
func (w *write) report() {
	for _, c := range w.kept {
		w.s.tell(&c.change)
		c.tell(nil)
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
		c.tell(err)
	}
}
