package base

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/vault"
)

// errRecovering is the error for a request that may have been carried out in the lost window.
var errRecovering error = &problem.Error{Code: problem.ServiceUnavailable, Details: problem.Details{Reason: pay.Recovering},
	Reason: recovering}

// ErrDealtWith is the error for a request that was carried out in the lost window, and that the
// operator has dealt with.
var ErrDealtWith error = &problem.Error{Code: problem.ConflictState, Details: problem.Details{Reason: pay.Recovering},
	Reason: dealtWith}

// Shut reports whether no money may move.
func (b *Base) Shut() bool { return b.RecoveryState.Load().State == pay.RecoveryClosed }

// MayMoveMoney returns an error while the service is shut.
//
// Errors: service_unavailable.
func (b *Base) MayMoveMoney() error {
	if b.Shut() {
		return errRecovering
	}
	return nil
}

// UnlessShut wraps the work of a loop that moves money.
func UnlessShut[F ~func(context.Context) (int, error)](in *Base, do F) F {
	return func(ctx context.Context) (int, error) {
		if in.Shut() {
			return 0, nil
		}
		return do(ctx)
	}
}

// Mark is a part of the ids that a request makes, and so of our references at providers. A request
// that is repeated makes the same. "" is for a request without a key.
//
// It is keyed, so that nobody can compute a payment's id from a key that he guesses.
type Mark string

// Mark is the mark of a request with a key.
func (i Idempotency) Mark(v *vault.Vault, scope merchants.Scope) Mark {
	if i.Key == "" {
		return ""
	}
	return MarkAbout(v, i.KeyIn(scope))
}

// MarkAbout is the mark of a request that the service makes itself, by its name. Its key is made from the
// root, which is in every copy of the database and outlives the master keys: a repeat finds it after a restore too.
func MarkAbout(v *vault.Vault, name string) Mark {
	return Mark(id.Mark(v.MAC("mark", name)))
}

// MarkedID is an id with the mark of its request; a random id without a mark.
func (b *Base) MarkedID(prefix string, now time.Time, mark Mark) string {
	made := b.NewID(prefix, now)
	if mark == "" {
		return made
	}
	return id.Marked(made, string(mark))
}

// FoundOf returns the entries that providers have of a request that our books do not know: the last
// attempt, and the earlier ones in others. It returns nothing if there was no restore.
//
// Errors: conflict_state if the operator has dealt with it.
func (b *Base) FoundOf(ctx context.Context, mark Mark, kind pay.FoundKind) (last pay.Found, others []pay.Found, found bool, err error) {
	if mark == "" || !b.RecoveryState.Load().Active(b.Now()) {
		return last, nil, false, nil
	}
	list, err := b.Store.Recoveries().FoundBy(ctx, string(mark), kind)
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

// tryOf is the sort key for our references: by object, then by number.
func tryOf(f pay.Found) string {
	object, number, _ := strings.Cut(f.Reference, "-")
	return fmt.Sprintf("%s-%08s", object, number)
}

// ReadRecovery reads the state of the recovery.
func (b *Base) ReadRecovery(ctx context.Context) error {
	r, err := b.Store.Recoveries().Get(ctx)
	if err != nil {
		return fmt.Errorf("read the state of the recovery: %w", err)
	}
	before := b.RecoveryState.Swap(&r)
	switch {
	case before == nil: // a command says so itself, and a service at its next look
	case r.State == pay.RecoveryClosed:
		b.Quiet.WarnSometimes(ctx, "the service is closed: its database was restored from a copy, and later changes may be lost; cascada recover shows what to do", "recovery", "since", r.From)
	case before.State == pay.RecoveryClosed:
		b.Log.Info("the recovery is over, and the service is open", "guarded until", r.Until)
		b.wake()
	}
	return nil
}
