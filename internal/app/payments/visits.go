package payments

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
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

// ExpireSession ends what a shopper may still choose through a session of the shop, with the event (CHK-30): the session, or, if the
// payment that was chosen in it was not paid, the session in which the shopper tries again. Nobody chooses in it any more. Ending it
// again changes nothing.
//
// Errors: checkout_session_not_found, also for another shop's; checkout_session_already_completed with the payment that waits for the
// shopper or has money.
func (ss *Sessions) ExpireSession(ctx context.Context, scope merchants.Scope, token string, cause view.Cause) (pay.Session, error) {
	if err := ss.MayMoveMoney(); err != nil {
		return pay.Session{}, err
	}
	s, err := ss.named(ctx, token)
	if err != nil {
		return s, base.OrRefuse(err, pay.NoSession())
	}
	if s.Scope != scope {
		return s, pay.NoSession()
	}
	for range maxTries {
		if s.Payment == "" {
			if s, err = ss.endSession(ctx, s, cause); err != nil || s.Payment == "" {
				return s, err
			}
		}
		if s, err = ss.sessionAfter(ctx, s.Payment); err != nil {
			return s, err
		}
	}
	return s, pay.Chosen(s.Payment)
}

// endSession ends a session unless a method is chosen in it meanwhile, and returns it as it is then.
func (ss *Sessions) endSession(ctx context.Context, s pay.Session, cause view.Cause) (pay.Session, error) {
	err := base.Again(func() (err error) {
		if s, err = ss.Store.Sessions().Get(ctx, s.Scope, s.ID); err != nil {
			return base.OrRefuse(err, pay.NoSession())
		}
		if s.Payment != "" || s.Ended() {
			return nil
		}
		change := s.Expire(ss.TimeOf(s.Scope))
		if err = ss.Commit(ctx, change, cause); err == nil {
			s = change.Sessions[0]
		}
		return err
	})
	return s, err
}

// sessionAfter is the session in which the shopper of a payment tries again. It is opened if there is none yet, so that it can be
// ended.
//
// Errors: checkout_session_already_completed with the payment if there is nothing to try again, and those of RetryPayment.
func (ss *Sessions) sessionAfter(ctx context.Context, payment string) (pay.Session, error) {
	token, err := ss.RetryPayment(ctx, payment)
	if refused, ok := errors.AsType[*problem.Error](err); ok && refused.Code == problem.ConflictState {
		return pay.Session{}, pay.Chosen(payment)
	}
	if err != nil {
		return pay.Session{}, err
	}
	return ss.named(ctx, token)
}
