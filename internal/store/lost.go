package store

import "github.com/cascadapay/cascada/internal/pay"

// lostGuard says which kind of guard a change lost.
func (w *write) lostGuard(c *pay.Change) error {
	missing := func(id string) bool { _, ok := w.won[id]; return !ok }
	if c.Once != nil && missing(c.Once.Key) {
		return ErrDuplicate
	}
	for _, r := range c.Receipts {
		if missing(r.ID) {
			return ErrDuplicate
		}
	}
	for _, v := range c.Replays {
		if replaysTable.isNew(&v) && missing(v.ID) {
			return ErrDuplicate
		}
	}
	for _, v := range c.Wallets {
		if walletsTable.isNew(&v) && missing(v.ID) {
			return ErrDuplicate
		}
	}
	for _, v := range c.Verifications {
		if verificationsTable.isNew(&v) && missing(v.ID) {
			return ErrDuplicate
		}
	}
	return ErrStale
}
