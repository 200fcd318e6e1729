package app

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Notify takes a provider's notification. It is applied at most once; what it
// tells is decided by the same code as the sweep's answers.
//
// Errors: not_found for an account that does not exist, missing_credentials or
// invalid_token when it is not signed by the provider, invalid_request when it
// cannot be understood.
func (a *App) Notify(ctx context.Context, account string, header http.Header, body []byte) error {
	_, _, err := a.notify(ctx, account, header, body, view.Cause{})
	return err
}

func (a *App) notify(ctx context.Context, account string, header http.Header, body []byte, cause view.Cause) (p pay.Payment, events []pay.Event, err error) {
	upstream, ok := a.Providers[account]
	if !ok {
		return p, nil, pay.NewError(pay.CodeNotFound, "there is no such provider account")
	}
	notice, err := upstream.Notice(header, body)
	if errors.Is(err, provider.ErrUnsigned) {
		a.Log.Warn("a notification was refused", "account", account, "reason", err)
		return p, nil, &pay.Error{Code: pay.CodeInvalidToken, Message: "the notification's signature is missing or wrong", Cause: err}
	}
	if err != nil {
		a.Log.Warn("a notification was not understood", "account", account, "reason", err)
		return p, nil, &pay.Error{Code: pay.CodeInvalidRequest, Message: "the notification cannot be understood", Cause: err}
	}
	if !storable(notice.ID) {
		return p, nil, pay.NewError(pay.CodeInvalidRequest, "the notification cannot be understood")
	}
	// The receipt keeps what a database takes: money must not wait for a letter.
	notice.Body = bytes.ReplaceAll(bytes.ToValidUTF8(notice.Body, []byte("?")), []byte{0}, []byte("?"))
	id, _, ok := pay.ParseReference(notice.Reference)
	if !ok || !storable(id) {
		return p, nil, pay.NewError(pay.CodeTransactionNotFound, "the notification's reference is not ours")
	}
	routes := []pay.Route(nil)
	err = again(func() error {
		read, err := a.store.AnyPayment(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return pay.NewError(pay.CodeTransactionNotFound, "the notification's reference is not ours")
		}
		if err != nil {
			return err
		}
		now := a.now(read.Scope)
		routes = a.routes(read.Live)
		next, change, err := a.apply(ctx, read, notice, routes, now)
		if err != nil {
			return err
		}
		err = a.commit(ctx, change, cause)
		if errors.Is(err, store.ErrDuplicate) { // told before
			p = read
			return nil
		}
		p, events = next, change.Events
		if verdict := change.Receipts[0].Verdict; err == nil && (verdict == pay.Mismatched || verdict == pay.Late) {
			a.Log.Warn("a notification needs the operator", "account", account, "payment", read.ID, "verdict", verdict)
		}
		return err
	})
	if err != nil {
		return p, nil, err
	}
	// A soft decline opens the next attempt: make its call.
	p, err = a.drive(context.WithoutCancel(ctx), p, routes, cause)
	return p, events, err
}

// apply decides what a notice does: to the claim of an open dispute where it
// rules on that, else to the payment.
func (a *App) apply(ctx context.Context, p pay.Payment, n pay.Notice, routes []pay.Route, now time.Time) (pay.Payment, pay.Change, error) {
	if n.Ruling == "" || p.OpenDispute == "" {
		next, change := p.Confirm(n, routes, a.NewID(pay.ClaimPrefix, now), now)
		return next, change, nil
	}
	claim, err := a.store.AnyClaim(ctx, p.OpenDispute)
	if err != nil {
		return p, pay.Change{}, err
	}
	_, change := claim.Rule(p, n, now)
	if len(change.Payments) > 0 {
		p = change.Payments[0]
	}
	return p, change, nil
}
