package store

import (
	"maps"
	"slices"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// lookAtDays reads which reserves that changes draw on are closed. Closing a reserve and drawing on it both
// lock a floor of the merchant's: so once we hold the balance, what we read here is true until the commit.
func (w *write) lookAtDays(steps []engine.Step) []engine.Step {
	ids := engine.NewRows(w.Dialect, engine.ParseColumns("id TEXT"), 0)
	for _, c := range w.Changes {
		for _, id := range c.Days {
			ids.Text(id).Next()
		}
	}
	if ids.N == 0 {
		return steps
	}
	w.shut = map[string]struct{}{}
	return append(steps, engine.Step{Text: w.s.b.Text(selectClosed), Args: ids.Args(), Each: func(r engine.Row) error {
		var id string
		err := r.Scan(&id)
		w.shut[id] = struct{}{}
		return err
	}})
}

// closed reports whether a change draws on a reserve whose release has begun.
func (w *write) closed(c *pay.Change) bool {
	return slices.ContainsFunc(c.Days, func(id string) bool { _, shut := w.shut[id]; return shut })
}

var selectClosed = engine.Statement(`SELECT v.id FROM {rows: id TEXT} AS r JOIN reserves AS v ON v.id = r.id AND {among v.id id} WHERE v.closed_at > 0`)

// lockFloors reads the balances with a floor and locks them until the commit, together with all other
// balances that the batch moves. Two batches lock shared balances in one order: locking the floors first
// and the others on writing could deadlock with a batch that began with another floor.
func (w *write) lockFloors(steps []engine.Step) []engine.Step {
	moved := map[books.Purse]bool{}
	for _, c := range w.Changes {
		for _, f := range c.Floors {
			w.funds[books.Purse{Merchant: f.Merchant, Live: f.Live}], moved[books.Purse{Merchant: f.Merchant, Live: f.Live}] = ledger.Balances{}, true
		}
		for _, t := range c.Transfers {
			moved[books.Purse{Merchant: t.Merchant, Live: t.Live}] = true
		}
	}
	if len(w.funds) == 0 {
		return steps
	}
	rows := engine.NewRows(w.Dialect, engine.ParseColumns("merchant TEXT, live BOOLEAN"), len(moved))
	for _, t := range slices.SortedFunc(maps.Keys(moved), books.Purse.Compare) {
		rows.Text(t.Merchant).Flag(t.Live).Next()
	}
	steps = append(steps, engine.Step{Text: w.s.b.Text(selectBalancesForUpdate), Args: rows.Args(), Each: func(r engine.Row) error {
		t, b, err := books.ScanBalances(r)
		if _, asked := w.funds[t]; asked {
			w.funds[t] = b
		}
		return err
	}})
	return w.lookAtDays(steps)
}

// fund books the change on the balances with floors, and reports whether its own floors hold. A change that
// breaks one books nothing.
func (w *write) fund(c *pay.Change) bool {
	if len(w.funds) == 0 {
		return true
	}
	book := func(sign int64) {
		for _, t := range c.Transfers {
			balances, watched := w.funds[books.Purse{Merchant: t.Merchant, Live: t.Live}]
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
		if w.funds[books.Purse{Merchant: f.Merchant, Live: f.Live}][f.Account] < f.Min {
			book(-1)
			return false
		}
	}
	return true
}

var selectBalancesForUpdate = engine.Statement(`
SELECT ` + books.BalanceColumns + ` FROM balances AS b
JOIN {rows: merchant TEXT, live BOOLEAN} AS r ON b.merchant = r.merchant AND b.live = r.live AND {among b.merchant merchant}
ORDER BY b.merchant, b.live {for update}`)
