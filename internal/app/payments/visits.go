package payments

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/pay"
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
