package base

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// errRecovering refuses what may have been done in the time that the database has lost.
var errRecovering error = &problem.Error{Code: problem.ServiceUnavailable, Details: problem.Details{Reason: pay.Recovering},
	Message: "the service is put back from a copy and finds out what the copy lacks; nothing was done: repeat the request later, with the same Idempotency-Key"}

// ErrDealtWith refuses a request that was carried out in the lost time, and ended by the operator since.
var ErrDealtWith error = &problem.Error{Code: problem.ConflictState, Details: problem.Details{Reason: pay.Recovering},
	Message: "this request was carried out before the service was put back from a copy, and the operator has dealt with it: ask him, and use a new Idempotency-Key for a new one"}

// Shut reports whether no money may move.
func (b *Base) Shut() bool { return b.RecoveryState.Load().State == pay.RecoveryClosed }

// MayMoveMoney refuses what would move money while the service is shut.
//
// Errors: service_unavailable.
func (b *Base) MayMoveMoney() error {
	if b.Shut() {
		return errRecovering
	}
	return nil
}

// UnlessShut is the work of a loop that moves money.
func UnlessShut[F ~func(context.Context) (int, error)](in *Base, do F) F {
	return func(ctx context.Context) (int, error) {
		if in.Shut() {
			return 0, nil
		}
		return do(ctx)
	}
}

// Mark is what the ids of what a request makes have of it, and by that our references at
// providers: "" without a key.
func (i Idempotency) Mark(scope tenant.Scope) string {
	if i.Key == "" {
		return ""
	}
	return id.Mark(i.KeyIn(scope))
}

// MarkedID is an id that has the mark of its request; without a mark it is made by chance.
func (b *Base) MarkedID(prefix string, now time.Time, mark string) string {
	made := b.NewID(prefix, now)
	if mark == "" {
		return made
	}
	return id.Marked(made, mark)
}

// FoundOf returns what providers have of a request that nobody here knows: the last try of it.
// others are its tries before. Nothing where the service never was put back.
//
// Errors: conflict_state where the operator has dealt with it.
func (b *Base) FoundOf(ctx context.Context, mark string, kind pay.FoundKind) (last pay.Found, others []pay.Found, found bool, err error) {
	if mark == "" || !b.RecoveryState.Load().Active(b.Now()) {
		return last, nil, false, nil
	}
	list, err := b.Store.Recoveries.FoundBy(ctx, mark, kind)
	if err != nil || len(list) == 0 {
		return last, nil, false, err
	}
	slices.SortFunc(list, func(x, y pay.Found) int { return strings.Compare(tryOf(y), tryOf(x)) })
	for _, f := range list {
		if f.Closed != "" {
			return last, nil, false, ErrDealtWith
		}
	}
	return list[0], list[1:], true, nil
}

// tryOf sorts our references by the object that they are of, and by their number.
func tryOf(f pay.Found) string {
	object, number, _ := strings.Cut(f.Reference, "-")
	return fmt.Sprintf("%s-%08s", object, number)
}

// ReadRecovery learns whether the service is to be careful.
func (b *Base) ReadRecovery(ctx context.Context) error {
	r, err := b.Store.Recoveries.Get(ctx)
	if err != nil {
		return fmt.Errorf("read whether the database was put back from a copy: %w", err)
	}
	before := b.RecoveryState.Swap(&r)
	switch {
	case before == nil: // a command says so itself, and a service when it looks again
	case r.State == pay.RecoveryClosed:
		b.WarnSometimes(ctx, "the service is closed: its database was put back from a copy, and what was done since is not known; cascada recover tells what to do", "recovery", "since", r.From)
	case before.State == pay.RecoveryClosed:
		b.Log.Info("the recovery is over, and the service is open", "guarded until", r.Until)
		b.wake()
	}
	return nil
}
