package store

import (
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// A request that comes again brings a once-key that is there, a notification that comes again
// a receipt, and who decided by an old row its old version. The first statements of a
// transaction look for them, before anything is written: where they find one, they say so in a
// setting that ends with the transaction, and every statement that follows in the same trip
// does nothing. So the commit commits nothing, and PostgreSQL logs no error, as it would were
// the trip ended by one.

var versionColumns = engine.ParseColumns("id TEXT, version BIGINT")

// foresee adds what finds rows that a statement of guards would not get. SQLite has no use for
// it: it logs nothing.
func (w *write) foresee(text string, args func() []any) {
	if w.s.DB.Dialect() == engine.SQLite {
		return
	}
	w.look = append(w.look, engine.Step{Text: w.s.Text(text), Args: args(), Each: func(r engine.Row) error {
		var id string
		err := r.Scan(&id)
		w.behind[id] = struct{}{}
		return err
	}})
}

// dropForeseen parts the batch by what look found, and reports whether a change is lost.
func (w *write) dropForeseen() bool {
	behind := func(id string) bool { _, found := w.behind[id]; return found }
	for _, c := range w.batch {
		if slices.ContainsFunc(c.guards, behind) {
			w.lost[c] = lostGuard(&c.change, behind)
		} else {
			w.kept = append(w.kept, c)
		}
	}
	return len(w.lost) > 0
}

// lostGuard says which kind of guard a change lost, of which some are missing.
func lostGuard(c *pay.Change, missing func(id string) bool) error {
	for _, k := range written {
		if k.lostToDuplicate(c, missing) {
			return base.ErrDuplicate
		}
	}
	return base.ErrStale
}
