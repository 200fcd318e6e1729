package base

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Commit writes a change, and reads nothing. Its events contain the cause. It logs notices that need the operator.
//
// What an event shows beside its object is in the change: the payment of payment.refunded has its settlement (SettledAs), and a
// settlement hides what its shop does not see (AudienceOf).
func (b *Base) Commit(ctx context.Context, change pay.Change, cause view.Cause) error {
	for i := range change.Events {
		e := &change.Events[i]
		if e.Type.Optional() && store.Unwanted(b.Store.Store, e.Scope) {
			e.Write = b.payloadOf(e, cause)
			continue
		}
		var err error
		if e.Payload, err = b.payload(e, cause); err != nil {
			return fmt.Errorf("event %s: %w", e.ID, err)
		}
	}
	err := b.Store.Commit(ctx, change)
	if err != nil {
		return err
	}
	b.flagNotices(ctx, change)
	for i := range change.Payments {
		if b.Ended != nil && pay.Ends(&change.Payments[i]) {
			b.Ended(change.Payments[i])
		}
	}
	return nil
}

// payloadOf makes the payload of an event when it is asked for.
func (b *Base) payloadOf(e *pay.Event, cause view.Cause) func() ([]byte, error) {
	return func() ([]byte, error) { return b.payload(e, cause) }
}

// payload makes an event's payload from its own snapshot.
func (b *Base) payload(e *pay.Event, cause view.Cause) ([]byte, error) {
	if e.Session != nil {
		cause.SessionToken = b.SessionToken(e.Session.ID)
	}
	return view.NewEvent(e, cause, b.CheckoutURL)
}

// patientFrom is the try from which a use case waits a little, twice as long each time: a loop that works on the same row is otherwise
// faster again and again. All pauses together are half a second: on a slow disk each write of such a loop takes tens of milliseconds.
const patientFrom = 3

// Decisions is how often a use case decides again if the rows that it read have changed.
const Decisions = 12

// Decide is Again for a decision with a result. A result that was not written is dropped, so that
// the next try cannot use it.
func Decide[T any](decide func() (T, error)) (T, error) {
	var done T
	err := Again(func() error {
		next, err := decide()
		if err == nil {
			done = next
		}
		return err
	})
	return done, err
}

// Again repeats a use case until its decision is not stale, at most Decisions times.
func Again(try func() error) error {
	var err error
	for n := range Decisions {
		if n >= patientFrom {
			time.Sleep(time.Millisecond << (n - patientFrom))
		}
		if err = try(); !errors.Is(err, store.ErrStale) && !errors.Is(err, store.ErrInsufficient) {
			return err
		}
	}
	return &problem.Error{Code: problem.ServiceUnavailable, Reason: tooManyChanges, Cause: err}
}

// SessionToken is derived from the session's id, so that a repeated request returns it again and
// only its hash is stored. Its 32 bytes cannot be guessed without the master key.
func (b *Base) SessionToken(session string) string {
	sum := b.Vault.MAC("checkout session", session)
	return pay.SessionTokenPrefix + base64.RawURLEncoding.EncodeToString(sum[:])
}

// ErrDoneByOthers says that another node has done the work meanwhile.
var ErrDoneByOthers = errors.New("done by somebody else")

// UnlessStale returns nil if another node has done the work meanwhile, else the error.
func UnlessStale(err error) error {
	if errors.Is(err, store.ErrStale) || errors.Is(err, ErrDoneByOthers) {
		return nil
	}
	return err
}
