package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// CopyFile copies the database of a service into an empty file, while that runs. All that was
// committed by the moment at is in it.
//
// Errors: store.ErrNotAFile.
func CopyFile(ctx context.Context, database, to string) (at time.Time, err error) {
	return store.CopyFile(ctx, database, to)
}

// Sound reads all of a database file, and says what is damaged.
func Sound(ctx context.Context, path string) error { return store.Sound(ctx, path) }

// DatabaseFile is where a database of one file is, OneFile whether there is such.
func DatabaseFile(database string) (path string, oneFile bool) {
	path, err := store.FilePath(database)
	return path, err == nil
}

// MoveAside renames the database at a path, which nobody serves, and returns what it is called then; "" where
// there is none.
func MoveAside(path string, at time.Time) (string, error) { return store.MoveAside(path, at) }

// Alone makes sure that no process serves a database of one file before release is called.
func Alone(database string) (release func(), err error) { return store.Alone(database) }

const (
	recoveryEvery = 5 * time.Second
	mostFound     = 10_000
)

// errRecovering refuses what may have been done in the time that the database has lost.
var errRecovering error = &pay.Error{Code: pay.CodeServiceUnavailable, Details: pay.Details{Reason: pay.Recovering},
	Message: "the service is put back from a copy and finds out what the copy lacks; nothing was done: repeat the request later, with the same Idempotency-Key"}

// errDealtWith refuses a request that was carried out in the lost time, and ended by the operator since.
var errDealtWith error = &pay.Error{Code: pay.CodeConflictState, Details: pay.Details{Reason: pay.Recovering},
	Message: "this request was carried out before the service was put back from a copy, and the operator has dealt with it: ask him, and use a new Idempotency-Key for a new one"}

// readRecovery learns whether the service is to be careful.
func (a *App) readRecovery(ctx context.Context) error {
	r, err := a.store.Recovery(ctx)
	if err != nil {
		return fmt.Errorf("read whether the database was put back from a copy: %w", err)
	}
	before := a.recovery.Swap(&r)
	switch {
	case before == nil: // a command says so itself, and a service when it looks again
	case r.State == pay.RecoveryClosed:
		a.warnSometimes(ctx, "the service is closed: its database was put back from a copy, and what was done since is not known; cascada recover tells what to do", "recovery", "since", r.From)
	case before.State == pay.RecoveryClosed:
		a.Log.Info("the recovery is over, and the service is open", "guarded until", r.Until)
		a.wake()
	}
	return nil
}

// shut reports whether no money may move.
func (a *App) shut() bool { return a.recovery.Load().State == pay.RecoveryClosed }

// opened refuses what would move money while the service is shut.
//
// Errors: service_unavailable.
func (a *App) opened() error {
	if a.shut() {
		return errRecovering
	}
	return nil
}

// unlessShut is the work of a loop that moves money.
func unlessShut[F ~func(context.Context) (int, error)](a *App, do F) F {
	return func(ctx context.Context) (int, error) {
		if a.shut() {
			return 0, nil
		}
		return do(ctx)
	}
}

// MarkCopy notes in a copy of the database that it is one, with all that was committed before a
// moment: whoever serves it is closed until what it lacks is found out.
func (a *App) MarkCopy(ctx context.Context, at time.Time) error {
	r, err := a.store.Recovery(ctx)
	if err != nil || r.State == pay.RecoveryClosed { // a copy of one that is itself not open again
		return err
	}
	_, change, err := r.BeginRecovery(at, time.Time{}, a.Self().ID, a.Now())
	if err != nil {
		return err
	}
	return a.store.Commit(ctx, change)
}

// BeginRecovery closes the service, which was put back to a moment; what it did until the second
// one is not in its database. The zero time is now.
func (a *App) BeginRecovery(ctx context.Context, from, to time.Time) (pay.Recovery, error) {
	return a.recover(ctx, pay.RecoveryBegun, "", func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		return r.BeginRecovery(from.UTC().Truncate(time.Microsecond), to.UTC().Truncate(time.Microsecond), a.Self().ID, a.Now())
	})
}

// Restored notes that a copy is the database from now on: what was committed after it was made and
// until now is lost. false: it is no copy that says of when it is.
func (a *App) Restored(ctx context.Context) (r pay.Recovery, marked bool, err error) {
	read, err := a.store.Recovery(ctx)
	if err != nil || read.State != pay.RecoveryClosed {
		return read, false, err
	}
	r, err = a.recover(ctx, pay.RecoveryBegun, "", func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		return r.Restored(a.Now())
	})
	return r, true, err
}

// recover decides about the recovery, and writes who did.
func (a *App) recover(ctx context.Context, act pay.Act, note string, decide func(pay.Recovery) (pay.Recovery, pay.Change, error)) (pay.Recovery, error) {
	next, err := decided(func() (pay.Recovery, error) {
		read, err := a.store.Recovery(ctx)
		if err != nil {
			return read, err
		}
		next, change, err := decide(read)
		if err != nil {
			return read, err
		}
		change.Audit = a.noted(a.Self(), pay.Scope{Live: true}, act, pay.RecoveryID, note, map[string]string{
			"from": next.From.Format(time.RFC3339), "to": next.To.Format(time.RFC3339),
		})
		return next, a.store.Commit(ctx, change)
	})
	if err == nil {
		a.recovery.Store(&next)
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
func (a *App) Recovery(ctx context.Context) (s RecoveryStatus, err error) {
	if s.Recovery, err = a.store.Recovery(ctx); err != nil {
		return s, err
	}
	s.Guarded = s.State == pay.RecoveryGuarded && s.Active(a.Now())
	accounts, err := a.recoveryAccounts(ctx)
	if err != nil {
		return s, err
	}
	for _, account := range accounts {
		if s.Covered[account] == "" {
			s.Uncovered = append(s.Uncovered, account)
		}
	}
	s.Open, err = a.store.FoundList(ctx, false, mostFound)
	return s, err
}

// recoveryAccounts are those that may have moved money in the window.
func (a *App) recoveryAccounts(ctx context.Context) (ids []string, err error) {
	list, err := a.store.Accounts(ctx)
	for _, account := range list {
		if account.Live && account.Status != pay.AccountRemoved {
			ids = append(ids, account.ID)
		}
	}
	return ids, err
}

// CoverAccount notes how it is known what an account did in the window.
func (a *App) CoverAccount(ctx context.Context, account, how string) error {
	if how == "" {
		return errors.New("say how you know what it did in the window")
	}
	if _, err := a.store.Account(ctx, account); err != nil {
		return fmt.Errorf("provider account %s: %w", account, err)
	}
	_, err := a.recover(ctx, pay.RecoveryCovered, account+": "+how, func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		return r.Cover(account, how)
	})
	return err
}

// CloseFound notes what the operator did about something that was found.
func (a *App) CloseFound(ctx context.Context, id, note string) error {
	return again(func() error {
		f, err := a.store.FoundAt(ctx, id)
		if err != nil {
			return fmt.Errorf("found %s: %w", id, err)
		}
		_, change, err := f.Close(note)
		if err != nil {
			return err
		}
		change.Audit = a.noted(a.Self(), pay.Scope{Live: true}, pay.FoundClosed, id, note, nil)
		return a.store.Commit(ctx, change)
	})
}

// EndRecovery opens the service again. waiting says that refunds and payouts that nothing stands for may
// wait until their requests are repeated.
//
// Errors: that something is not known yet.
func (a *App) EndRecovery(ctx context.Context, waiting bool, note string) (pay.Recovery, error) {
	return a.recover(ctx, pay.RecoveryEnded, note, func(r pay.Recovery) (pay.Recovery, pay.Change, error) {
		accounts, err := a.recoveryAccounts(ctx) // anew each time: who reads a list meanwhile finds more
		if err != nil {
			return r, pay.Change{}, err
		}
		open, err := a.store.FoundList(ctx, false, mostFound)
		if err != nil {
			return r, pay.Change{}, err
		}
		return r.End(accounts, open, waiting)
	})
}

// mark is what the ids of what a request makes have of it, and by that our references at
// providers: "" without a key.
func (i Idempotency) mark(scope pay.Scope) string {
	if i.Key == "" {
		return ""
	}
	return id.Mark(i.in(scope))
}

// markedID is an id that has the mark of its request; without a mark it is made by chance.
func (a *App) markedID(prefix string, now time.Time, mark string) string {
	made := a.NewID(prefix, now)
	if mark == "" {
		return made
	}
	return id.Marked(made, mark)
}

// chosenMark is the mark of the payment that a session's customer makes, which follows from the
// session's: the same request for a session leads to the same mark.
func chosenMark(s pay.Session) string {
	mark, ok := id.MarkOf(s.ID)
	if !ok {
		return ""
	}
	return id.Mark("chosen|" + mark)
}

// foundOf returns what providers have of a request that nobody here knows: the last try of it.
// others are its tries before. Nothing where the service never was put back.
//
// Errors: conflict_state where the operator has dealt with it.
func (a *App) foundOf(ctx context.Context, mark string, kind pay.FoundKind) (last pay.Found, others []pay.Found, found bool, err error) {
	if mark == "" || !a.recovery.Load().Active(a.Now()) {
		return last, nil, false, nil
	}
	list, err := a.store.FoundBy(ctx, mark, kind)
	if err != nil || len(list) == 0 {
		return last, nil, false, err
	}
	slices.SortFunc(list, func(a, b pay.Found) int { return strings.Compare(tryOf(b), tryOf(a)) })
	for _, f := range list {
		if f.Closed != "" {
			return last, nil, false, errDealtWith
		}
	}
	return list[0], list[1:], true, nil
}

// tryOf sorts our references by the object that they are of, and by their number.
func tryOf(f pay.Found) string {
	object, number, _ := strings.Cut(f.Reference, "-")
	return fmt.Sprintf("%s-%08s", object, number)
}

// nearly reports whether two amounts may be the same, at rates of two moments.
// A dollar has one rate.
func nearly(a, b money.Amount) bool {
	if a.Currency != b.Currency || a.Currency == money.USD {
		return a == b
	}
	return 5*max(a.Minor-b.Minor, b.Minor-a.Minor) <= max(a.Minor, b.Minor)
}
