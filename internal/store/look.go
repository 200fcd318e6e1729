package store

import (
	"context"
	"errors"
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
)

// A request that comes again brings a once-key that is there, a notification that comes again
// a receipt, and who decided by an old row its old version. The first statements of a
// transaction look for them, before anything is written: where they find one, they say so in a
// setting that ends with the transaction, and every statement that follows in the same trip
// does nothing. So the commit commits nothing, and PostgreSQL logs no error, as it would were
// the trip ended by one.

// errForeseen says that apply found a step of look to have a row, and wrote nothing.
var errForeseen = errors.New("a guard would be lost")

const (
	// unlessForeseen is asked by every statement of a batch, once and before a row is looked at.
	unlessForeseen = `current_setting('cascada.lost', TRUE) IS DISTINCT FROM 'yes'`

	lookForKeys     = `SELECT {lost once.id} FROM once WHERE {given once.id}`
	lookForReceipts = `SELECT {lost receipts.id} FROM receipts WHERE {given receipts.id}`

	// guardLost is what PostgreSQL says where a guard was lost that nobody could foresee: as a
	// value that is no number. People read it, and commit knows it by it.
	guardLost = "a row was changed by somebody else first; this is no fault: Cascada runs the transaction again"
)

var versionColumns = parseColumns("id TEXT, version BIGINT")

func lookQueries() []string {
	return []string{lookForKeys, lookForReceipts,
		processingTable.look, paymentsTable.look, claimsTable.look, subscriptionsTable.look, deliveriesTable.look, sessionsTable.look,
		merchantsTable.look, shopsTable.look, keysTable.look, loginsTable.look, clocksTable.look, ratesTable.look, accountsTable.look,
		operatorsTable.look, secretsTable.look, keyUsesTable.look, retentionTable.look, walletsTable.look, mailsTable.look,
		withdrawalsTable.look, controlsTable.look, batchesTable.look, verificationsTable.look, settlementsTable.look,
		reservesTable.look, driftsTable.look, fanOutsTable.look, replaysTable.look, recoveriesTable.look, foundTable.look}
}

// foresee adds what finds rows that a statement of guards would not get. SQLite has no use for
// it: it logs nothing.
func (w *write) foresee(text string, args func() []any) {
	if w.s.db.dialect() == sqlite {
		return
	}
	w.look = append(w.look, step{text: w.s.text(text), args: args(), each: func(r row) error {
		var id string
		err := r.Scan(&id)
		w.behind[id] = struct{}{}
		return err
	}})
}

// foreseeTaken is foresee for rows that may be there already.
func foreseeTaken[T any](w *write, t table[T], text string, items []*T) {
	if len(items) == 0 {
		return
	}
	w.foresee(text, func() []any {
		ids := make([]string, len(items))
		for i, item := range items {
			ids[i] = t.id(item)
		}
		return w.s.ids(ids)
	})
}

// foreseeMoved is foresee for rows whose version may be another one than the one before.
func foreseeMoved[T any](w *write, t table[T], items []*T) {
	if len(items) == 0 {
		return
	}
	w.foresee(t.look, func() []any {
		rows := newRows(w.s.db.dialect(), versionColumns, len(items))
		for _, item := range items {
			rows.text(t.id(item)).number(t.version(item)).next()
		}
		return rows.args()
	})
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

// applySlowly is apply for what several nodes do by themselves, where nobody waits for a second
// trip: it looks at what the steps got before it commits, so that the later of two leaves no error
// in PostgreSQL's log.
//
// Errors: those of apply.
func applySlowly(ctx context.Context, db engine, steps []step) error {
	steps, got := slices.Clone(steps), make([]int, len(steps))
	for i := range steps {
		if steps[i].want > 0 {
			steps[i].each = func(row) error { got[i]++; return nil }
		}
	}
	return db.transact(ctx, steps, func() ([]step, error) {
		for i, s := range steps {
			if got[i] != s.want {
				return nil, errLost
			}
		}
		return nil, nil
	})
}
