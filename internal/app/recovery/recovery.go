// Package recovery is what follows when a database was put back from a copy: what the copy lacks is found at the
// providers before money moves again.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// CopyFile copies the database of a service into an empty file, while that runs. All that was
// committed by the moment at is in it.
//
// Errors: engine.ErrNotAFile.
func CopyFile(ctx context.Context, database, to string) (at time.Time, err error) {
	return engine.CopyFile(ctx, database, to)
}

// Sound reads all of a database file, and says what is damaged.
func Sound(ctx context.Context, path string) error { return engine.Sound(ctx, path) }

// DatabaseFile is where a database of one file is, OneFile whether there is such.
func DatabaseFile(database string) (path string, oneFile bool) {
	path, err := engine.FilePath(database)
	return path, err == nil
}

// MoveAside renames the database at a path, which nobody serves, and returns what it is called then; "" where
// there is none.
func MoveAside(path string, at time.Time) (string, error) { return engine.MoveAside(path, at) }

// Alone makes sure that no process serves a database of one file before release is called.
func Alone(database string) (release func(), err error) { return engine.Alone(database) }

// Restore is what follows when a database was put back from a copy: the service is closed, or open with care,
// until what the copy lacks is found at the providers.
type Restore struct {
	*base.Base
	refunds *claims.Refunds
	payouts *payouts.Payouts
}

// NewRestore returns it for a service.
func NewRestore(b *base.Base, refunds *claims.Refunds, po *payouts.Payouts) *Restore {
	return &Restore{b, refunds, po}
}

const (
	// RecoveryEvery is how soon a node learns that another one began or ended a recovery.
	RecoveryEvery = 5 * time.Second
	mostFound     = 10_000
)

// MarkCopy notes in a copy of the database that it is one, with all that was committed before a
// moment: whoever serves it is closed until what it lacks is found out.
func (rs *Restore) MarkCopy(ctx context.Context, at time.Time) error {
	r, err := rs.Store.Recoveries.Get(ctx)
	if err != nil || r.State == pay.RecoveryClosed { // a copy of one that is itself not open again
		return err
	}
	_, change, err := r.BeginRecovery(at, time.Time{}, rs.Self().ID, rs.Now())
	if err != nil {
		return err
	}
	return rs.Store.Commit(ctx, change)
}

// BeginRecovery closes the service, which was put back to a moment; what it did until the second
// one is not in its database. The zero time is now.
func (rs *Restore) BeginRecovery(ctx context.Context, from, to time.Time) (pay.Recovery, error) {
	return rs.recover(ctx, audit.RecoveryBegun, "", func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		return r.BeginRecovery(from.UTC().Truncate(time.Microsecond), to.UTC().Truncate(time.Microsecond), rs.Self().ID, rs.Now())
	})
}

// Restored notes that a copy is the database from now on: what was committed after it was made and
// until now is lost. false: it is no copy that says of when it is.
func (rs *Restore) Restored(ctx context.Context) (r pay.Recovery, marked bool, err error) {
	read, err := rs.Store.Recoveries.Get(ctx)
	if err != nil || read.State != pay.RecoveryClosed {
		return read, false, err
	}
	r, err = rs.recover(ctx, audit.RecoveryBegun, "", func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		return r.Restored(rs.Now())
	})
	return r, true, err
}

// recover decides about the recovery, and writes who did.
func (rs *Restore) recover(ctx context.Context, act audit.Act, note string, decide func(pay.Recovery) (pay.Recovery, pay.Change, error)) (pay.Recovery, error) {
	next, err := base.Decide(func() (pay.Recovery, error) {
		read, err := rs.Store.Recoveries.Get(ctx)
		if err != nil {
			return read, err
		}
		next, change, err := decide(read)
		if err != nil {
			return read, err
		}
		change.Audit = rs.Noted(rs.Self(), tenant.Scope{Live: true}, act, pay.RecoveryID, note, map[string]string{
			"from": next.From.Format(time.RFC3339), "to": next.To.Format(time.RFC3339),
		})
		return next, rs.Store.Commit(ctx, change)
	})
	if err == nil {
		rs.RecoveryState.Store(&next)
	}
	return next, err
}

// RecoveryStatus is how far a recovery is.
type RecoveryStatus struct {
	pay.Recovery
	Guarded   bool        // open, and with care
	Uncovered []string    // accounts of which nobody told what they did in the window
	Open      []pay.Found // what was found, stands for nothing and waits
}

// Recovery tells how far a recovery is; its State is empty where there never was one.
func (rs *Restore) Recovery(ctx context.Context) (s RecoveryStatus, err error) {
	if s.Recovery, err = rs.Store.Recoveries.Get(ctx); err != nil {
		return s, err
	}
	s.Guarded = s.State == pay.RecoveryGuarded && s.Active(rs.Now())
	accounts, err := rs.recoveryAccounts(ctx)
	if err != nil {
		return s, err
	}
	for _, account := range accounts {
		if s.Covered[account] == "" {
			s.Uncovered = append(s.Uncovered, account)
		}
	}
	s.Open, err = rs.Store.Recoveries.ListFound(ctx, false, mostFound)
	return s, err
}

// recoveryAccounts are those that may have moved money in the window.
func (rs *Restore) recoveryAccounts(ctx context.Context) (ids []string, err error) {
	list, err := rs.Store.Accounts.List(ctx)
	for _, account := range list {
		if account.Live && account.Status != acquirer.AccountRemoved {
			ids = append(ids, account.ID)
		}
	}
	return ids, err
}

// CoverAccount notes how it is known what an account did in the window.
func (rs *Restore) CoverAccount(ctx context.Context, account, how string) error {
	if how == "" {
		return errors.New("say how you know what it did in the window")
	}
	if _, err := rs.Store.Accounts.Get(ctx, account); err != nil {
		return fmt.Errorf("provider account %s: %w", account, err)
	}
	_, err := rs.recover(ctx, audit.RecoveryCovered, account+": "+how, func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		return r.Cover(account, how)
	})
	return err
}

// CloseFound notes what the operator did about something that was found.
func (rs *Restore) CloseFound(ctx context.Context, id, note string) error {
	return base.Again(func() error {
		f, err := rs.Store.Recoveries.FoundAt(ctx, id)
		if err != nil {
			return fmt.Errorf("found %s: %w", id, err)
		}
		_, change, err := f.Close(note)
		if err != nil {
			return err
		}
		change.Audit = rs.Noted(rs.Self(), tenant.Scope{Live: true}, audit.FoundClosed, id, note, nil)
		return rs.Store.Commit(ctx, change)
	})
}

// EndRecovery opens the service again. waiting says that refunds and payouts that nothing stands for may
// wait until their requests are repeated.
//
// Errors: that something is not known yet.
func (rs *Restore) EndRecovery(ctx context.Context, waiting bool, note string) (pay.Recovery, error) {
	return rs.recover(ctx, audit.RecoveryEnded, note, func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		accounts, err := rs.recoveryAccounts(ctx) // anew each time: who reads a list meanwhile finds more
		if err != nil {
			return r, pay.Change{}, err
		}
		open, err := rs.Store.Recoveries.ListFound(ctx, false, mostFound)
		if err != nil {
			return r, pay.Change{}, err
		}
		return r.End(accounts, open, waiting)
	})
}
