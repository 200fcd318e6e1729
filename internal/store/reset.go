package store

import (
	"context"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store/empty"
	"github.com/cascadapay/cascada/internal/store/payments"
)

// Swept is what a pass over a sandbox did.
type Swept struct {
	Found    int64 // rows; nothing is left once a pass finds none
	Deleted  int64 // rows
	SealedTo int64 // the newest block of the sandbox's chain before anything was deleted; 0 for none
}

// EmptySandbox makes one pass over all tables and deletes what is in a merchant's sandbox, in short transactions. alive
// is called before each step and ends the pass with its error. now is the time of the blocks that the pass seals.
//
// Any number of nodes may do it at once, and it may end anywhere.
func (co *core) EmptySandbox(ctx context.Context, merchant string, now time.Time, alive func() error) (Swept, error) {
	pass := empty.New(co.b, merchant, alive)
	waits, err := co.sealed(ctx, pass, merchant, now)
	var to int64
	if err == nil {
		to, err = pass.SealedTo(ctx)
	}
	if err == nil && !waits {
		err = pass.Rows(ctx)
	}
	if err == nil && !waits {
		err = pass.Sums(ctx)
	}
	if err == nil && !waits {
		waits, err = co.countedUp(ctx, pass)
	}
	if err == nil && !waits {
		err = pass.Totals(ctx)
	}
	if waits {
		pass.Found++
	}
	return Swept{pass.Found, pass.Deleted, to}, err
}

// sealed puts the sandbox's rows into blocks before they go. It reports whether some still wait: another node may be
// about to do it.
func (co *core) sealed(ctx context.Context, pass *empty.Pass, merchant string, now time.Time) (waits bool, err error) {
	at, err := pass.Now(ctx)
	for more := true; more && err == nil; {
		more, err = co.Seal(ctx, now)
	}
	if err != nil {
		return false, fmt.Errorf("seal what a sandbox holds: %w", err)
	}
	n, err := pass.Unsealed(ctx, seal.Chain(merchant, false), at)
	return n > 0, err
}

// countedUp adds up the facts of payments that are gone, so that their totals can go. It reports whether some still
// wait.
func (co *core) countedUp(ctx context.Context, pass *empty.Pass) (waits bool, err error) {
	at, err := pass.Now(ctx)
	if err != nil {
		return false, err
	}
	n, err := pass.Uncounted(ctx, at)
	for more := true; more && err == nil && n > 0; {
		if more, err = payments.New(co.b).Rollups().AddUp(ctx); err == nil {
			n, err = pass.Uncounted(ctx, at)
		}
	}
	return n > 0, err
}
