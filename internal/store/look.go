package store

import (
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
)

// A repeated request brings a once-key that exists, a repeated notification brings an existing receipt, and
// a decision on an old row brings an old version. A transaction's first statements look for these before
// anything is written. If they find one, they set a setting that ends with the transaction, and every later
// statement of the same round trip does nothing. So the commit commits nothing, and PostgreSQL logs no
// error, as it would if an error ended the round trip.

// dropForeseen splits the batch by the findings of Look, and reports whether a change is lost.
func (w *write) dropForeseen() bool {
	behind := func(id string) bool { _, found := w.Behind[id]; return found }
	for _, c := range w.batch {
		if slices.ContainsFunc(c.guards, behind) {
			w.lost[c] = lostGuard(c.change, behind)
		} else {
			w.keep(c)
		}
	}
	return len(w.lost) > 0
}

// lostGuard returns which kind of guard a change lost, given the missing ids.
func lostGuard(c *pay.Change, missing func(id string) bool) error {
	for _, k := range written {
		if k.LostToDuplicate(c, missing) {
			return base.ErrDuplicate
		}
	}
	return base.ErrStale
}
