package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
)

// errRecovering refuses what may have been done in the time that the database has lost.
var errRecovering error = &pay.Error{Code: pay.CodeServiceUnavailable, Details: pay.Details{Reason: pay.Recovering},
	Message: "the service is put back from a copy and finds out what the copy lacks; nothing was done: repeat the request later, with the same Idempotency-Key"}

// errDealtWith refuses a request that was carried out in the lost time, and ended by the operator since.
var errDealtWith error = &pay.Error{Code: pay.CodeConflictState, Details: pay.Details{Reason: pay.Recovering},
	Message: "this request was carried out before the service was put back from a copy, and the operator has dealt with it: ask him, and use a new Idempotency-Key for a new one"}

// shut reports whether no money may move.
func (a *Base) shut() bool { return a.recovery.Load().State == pay.RecoveryClosed }

// opened refuses what would move money while the service is shut.
//
// Errors: service_unavailable.
func (a *Base) opened() error {
	if a.shut() {
		return errRecovering
	}
	return nil
}

// unlessShut is the work of a loop that moves money.
func unlessShut[F ~func(context.Context) (int, error)](a *Base, do F) F {
	return func(ctx context.Context) (int, error) {
		if a.shut() {
			return 0, nil
		}
		return do(ctx)
	}
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
func (a *Base) markedID(prefix string, now time.Time, mark string) string {
	made := a.NewID(prefix, now)
	if mark == "" {
		return made
	}
	return id.Marked(made, mark)
}

// foundOf returns what providers have of a request that nobody here knows: the last try of it.
// others are its tries before. Nothing where the service never was put back.
//
// Errors: conflict_state where the operator has dealt with it.
func (a *Base) foundOf(ctx context.Context, mark string, kind pay.FoundKind) (last pay.Found, others []pay.Found, found bool, err error) {
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

// readRecovery learns whether the service is to be careful.
func (a *Base) readRecovery(ctx context.Context) error {
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
