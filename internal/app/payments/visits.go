package payments

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// VisitSession reads a session for its customer and records the request's address (CHK-21).
//
// Errors: checkout_session_not_found.
func (ss *Sessions) VisitSession(ctx context.Context, token, ip string) (pay.Session, error) {
	read, err := ss.session(ctx, token)
	if err != nil {
		return read, err
	}
	s, change, news := read.Visit(ip, ss.TimeOf(read.Scope))
	if !news {
		return s, nil
	}
	err = ss.Commit(ctx, change, view.Cause{})
	if errors.Is(err, store.ErrStale) { // another visit, as recent as this one, or the choice
		return ss.session(ctx, token)
	}
	return s, err
}

// ReadSession is VisitSession with the session's payment; nil if no method was chosen yet.
//
// Errors: checkout_session_not_found.
func (ss *Sessions) ReadSession(ctx context.Context, token, ip string) (pay.Session, *pay.Payment, error) {
	s, err := ss.VisitSession(ctx, token, ip)
	if err != nil || s.Payment == "" {
		return s, nil, err
	}
	p, err := ss.Store.Payments().Any(ctx, s.Payment)
	return s, &p, err
}

// ExpireSession ends a shop's session in which no method was chosen (CHK-30), with the event: nobody pays through it any more. Ending one
// again changes nothing.
//
// Errors: checkout_session_not_found, also for another shop's; checkout_session_already_completed with the payment, which may be
// canceled.
func (ss *Sessions) ExpireSession(ctx context.Context, scope merchants.Scope, token string, cause view.Cause) (s pay.Session, err error) {
	err = base.Again(func() error {
		if s, err = ss.named(ctx, token); err != nil {
			return base.OrRefuse(err, pay.NoSession())
		}
		switch {
		case s.Scope != scope:
			return pay.NoSession()
		case s.Payment != "":
			return pay.Chosen(s.Payment)
		case s.Ended():
			return nil
		}
		change := s.Expire(ss.TimeOf(scope))
		if err := ss.Commit(ctx, change, cause); err != nil {
			return err
		}
		s = change.Sessions[0]
		return nil
	})
	return s, err
}
