// Package recovery handles a database that was restored from a copy: what the copy lacks is found
// at the providers before money moves again.
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
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// CopyFile copies the database of a running service into an empty file. It contains everything that
// was committed by the time at.
//
// Errors: engine.ErrNotAFile.
func CopyFile(ctx context.Context, database, to string) (at time.Time, err error) {
	return engine.CopyFile(ctx, database, to)
}

// Sound reads all of a database file, and returns an error that says what is damaged.
func Sound(ctx context.Context, path string) error { return engine.Sound(ctx, path) }

// DatabaseFile returns the path of a database that is one file; oneFile is false for others.
func DatabaseFile(database string) (path string, oneFile bool) {
	path, err := engine.FilePath(database)
	return path, err == nil
}

// MoveAside renames the database file at a path, which no process may serve, and returns its new
// name; "" if there is none.
func MoveAside(path string, at time.Time) (string, error) { return engine.MoveAside(path, at) }

// Alone makes sure that no process serves a database file until release is called.
func Alone(database string) (release func(), err error) { return engine.Alone(database) }

// Recovery handles a database that was restored from a copy: the service is closed, or guarded,
// until what the copy lacks is found at the providers.
type Recovery struct {
	*base.Base
	refunds *claims.Claims
	payouts *payouts.Payouts
}

// New returns the Recovery of a service.
func New(b *base.Base, refunds *claims.Claims, po *payouts.Payouts) *Recovery {
	return &Recovery{b, refunds, po}
}

const (
	// Every is how soon a node learns that a recovery was begun or ended elsewhere.
	Every     = 5 * time.Second
	mostFound = 10_000
)

// MarkCopy records in a copy of the database that it is one, with everything that was committed
// before a time. A service that uses it is closed until what it lacks is found.
func (re *Recovery) MarkCopy(ctx context.Context, at time.Time) error {
	r, err := re.Store.Recoveries().Get(ctx)
	if err != nil || r.State == pay.RecoveryClosed { // a copy of a database that is itself closed
		return err
	}
	_, change, err := r.BeginRecovery(at, time.Time{}, re.Self().ID, re.Now())
	if err != nil {
		return err
	}
	return re.Store.Commit(ctx, change)
}

// BeginRecovery closes the service, whose database was restored to the time from; its commits until
// the time to may be lost. A zero to means now.
func (re *Recovery) BeginRecovery(ctx context.Context, from, to time.Time) (pay.Recovery, error) {
	return re.recover(ctx, audit.RecoveryBegun, "", func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		return r.BeginRecovery(from.UTC().Truncate(time.Microsecond), to.UTC().Truncate(time.Microsecond), re.Self().ID, re.Now())
	})
}

// Restored records that a copy is the database from now on: commits between the copy and now are
// lost. marked is false if the database is not a marked copy.
func (re *Recovery) Restored(ctx context.Context) (r pay.Recovery, marked bool, err error) {
	read, err := re.Store.Recoveries().Get(ctx)
	if err != nil || read.State != pay.RecoveryClosed {
		return read, false, err
	}
	r, err = re.recover(ctx, audit.RecoveryBegun, "", func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		return r.Restored(re.Now())
	})
	return r, true, err
}

// recover decides about the recovery, and writes the decision with its actor.
func (re *Recovery) recover(ctx context.Context, act audit.Act, note string, decide func(pay.Recovery) (pay.Recovery, pay.Change, error)) (pay.Recovery, error) {
	if err := pay.FitNote(note); err != nil {
		return pay.Recovery{}, err
	}
	next, err := base.Decide(func() (pay.Recovery, error) {
		read, err := re.Store.Recoveries().Get(ctx)
		if err != nil {
			return read, err
		}
		next, change, err := decide(read)
		if err != nil {
			return read, err
		}
		change.Audit = re.Noted(re.Self(), merchants.Scope{Live: true}, act, pay.RecoveryID, note, map[string]string{
			"from": next.From.Format(time.RFC3339), "to": next.To.Format(time.RFC3339),
		})
		return next, re.Store.Commit(ctx, change)
	})
	if err == nil {
		re.RecoveryState.Store(&next)
	}
	return next, err
}

// Status is the progress of a recovery.
type Status struct {
	pay.Recovery
	Guarded   bool        // the service is open, and guarded
	Uncovered []string    // accounts whose activity in the window is not known
	Open      []pay.Found // found entries that have no object and wait
}

// Recovery returns the progress of a recovery; its State is empty if there was none.
func (re *Recovery) Recovery(ctx context.Context) (s Status, err error) {
	if s.Recovery, err = re.Store.Recoveries().Get(ctx); err != nil {
		return s, err
	}
	s.Guarded = s.State == pay.RecoveryGuarded && s.Active(re.Now())
	accounts, err := re.recoveryAccounts(ctx)
	if err != nil {
		return s, err
	}
	for _, account := range accounts {
		if s.Covered[account] == "" {
			s.Uncovered = append(s.Uncovered, account)
		}
	}
	s.Open, err = re.Store.Recoveries().ListFound(ctx, false, mostFound)
	return s, err
}

// recoveryAccounts are the accounts that may have moved money in the window.
func (re *Recovery) recoveryAccounts(ctx context.Context) (ids []string, err error) {
	list, err := re.Store.Accounts().List(ctx)
	for _, account := range list {
		if account.Live && account.Status != accounts.Removed {
			ids = append(ids, account.ID)
		}
	}
	return ids, err
}

// CoverAccount records how an account's activity in the window is known.
func (re *Recovery) CoverAccount(ctx context.Context, account, how string) error {
	if how == "" {
		return errors.New("say how you know the account's activity in the window")
	}
	if _, err := re.Store.Accounts().Get(ctx, account); err != nil {
		return fmt.Errorf("provider account %s: %w", account, err)
	}
	_, err := re.recover(ctx, audit.RecoveryCovered, account+": "+how, func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		return r.Cover(account, how)
	})
	return err
}

// CloseFound records what the operator did about a found entry.
func (re *Recovery) CloseFound(ctx context.Context, id, note string) error {
	if err := pay.FitNote(note); err != nil {
		return err
	}
	return base.Again(func() error {
		f, err := re.Store.Recoveries().FoundAt(ctx, id)
		if err != nil {
			return fmt.Errorf("found %s: %w", id, err)
		}
		_, change, err := f.Close(note)
		if err != nil {
			return err
		}
		change.Audit = re.Noted(re.Self(), merchants.Scope{Live: true}, audit.FoundClosed, id, note, nil)
		return re.Store.Commit(ctx, change)
	})
}

// EndRecovery opens the service again. With waiting, refunds and payouts without an object may wait
// until their requests are repeated.
//
// It returns an error if something is not known yet.
func (re *Recovery) EndRecovery(ctx context.Context, waiting bool, note string) (pay.Recovery, error) {
	return re.recover(ctx, audit.RecoveryEnded, note, func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		accounts, err := re.recoveryAccounts(ctx) // read in each try: a list that is read meanwhile finds more
		if err != nil {
			return r, pay.Change{}, err
		}
		open, err := re.Store.Recoveries().ListFound(ctx, false, mostFound)
		if err != nil {
			return r, pay.Change{}, err
		}
		return r.End(accounts, open, waiting)
	})
}
