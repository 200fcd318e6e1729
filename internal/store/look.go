package store

import (
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// A repeated request brings a once-key that exists, a repeated notification brings an existing receipt, and
// a decision on an old row brings an old version. A transaction's first statements look for these before
// anything is written. If they find one, they set a setting that ends with the transaction, and every later
// statement of the same round trip does nothing. So the commit commits nothing, and PostgreSQL logs no
// error, as it would if an error ended the round trip.

var versionColumns = engine.ParseColumns("id TEXT, version BIGINT")

// foresee adds a query for rows whose guard would be lost. SQLite does not need it: it logs nothing.
func (w *write) foresee(text string, args func() []any) {
	if w.s.b.DB.Dialect() == engine.SQLite {
		return
	}
	w.look = append(w.look, engine.Step{Text: w.s.b.Text(text), Args: args(), Each: func(r engine.Row) error {
		var id string
		err := r.Scan(&id)
		w.behind[id] = struct{}{}
		return err
	}})
}

// dropForeseen splits the batch by the findings of look, and reports whether a change is lost.
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

// lostGuard returns which kind of guard a change lost, given the missing ids.
func lostGuard(c *pay.Change, missing func(id string) bool) error {
	for _, k := range written {
		if k.lostToDuplicate(c, missing) {
			return base.ErrDuplicate
		}
	}
	return base.ErrStale
}
