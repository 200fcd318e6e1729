package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// commit writes a change whose events tell of the cause.
func (a *Base) commit(ctx context.Context, change pay.Change, cause view.Cause) error {
	for i, e := range change.Events {
		if e.Type == pay.PaymentRefunded { // no other comes after the capture is settled
			one := []pay.Payment{e.Payment}
			if err := a.settledAs(ctx, one); err != nil {
				return fmt.Errorf("event %s: %w", e.ID, err)
			}
			e.Payment = one[0]
		}
		if e.Session != nil {
			cause.SessionToken = a.sessionToken(e.Session.ID)
		}
		payload, err := view.NewEvent(e, cause, a.CheckoutURL)
		if err != nil {
			return fmt.Errorf("event %s: %w", e.ID, err)
		}
		change.Events[i].Payload = payload
	}
	return a.store.Commit(ctx, change)
}

// decisions is how often a use case decides again when the rows it read
// changed meanwhile.
const decisions = 8

// decided is again for a decision that returns something: what was decided and not written
// is nowhere, so that the next try cannot take it for what is.
func decided[T any](decide func() (T, error)) (T, error) {
	var done T
	err := again(func() error {
		next, err := decide()
		if err == nil {
			done = next
		}
		return err
	})
	return done, err
}

// again runs a use case until its decision is not stale.
func again(try func() error) error {
	var err error
	for range decisions {
		if err = try(); !errors.Is(err, store.ErrStale) && !errors.Is(err, store.ErrInsufficient) {
			return err
		}
	}
	return &pay.Error{Code: pay.CodeServiceUnavailable, Message: "too many changes at once: retry", Cause: err}
}

// sessionToken is made from the session's id, so that a repeat of the request
// shows it again and nothing of it is kept but its hash. It is 32 bytes that
// nobody can tell from chance without the master key.
func (a *Base) sessionToken(session string) string {
	mac := hmac.New(sha256.New, a.Vault.Key("checkout session"))
	mac.Write([]byte(session))
	return pay.SessionTokenPrefix + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// errOthers says that somebody else has done the work meanwhile.
var errOthers = errors.New("done by somebody else")

func unlessStale(err error) error {
	if errors.Is(err, store.ErrStale) || errors.Is(err, errOthers) {
		return nil
	}
	return err
}
