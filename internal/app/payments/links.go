package payments

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Link is a payment link that somebody of the team made.
type Link struct {
	pay.Session
	URL     string      // where the shopper pays
	Payment pay.Payment // that its shopper made; zero before
	Over    bool        // its time is over
}

// Links lists a shop's payment links, newest first, as long as their sessions are kept.
//
// Errors: invalid_request for a cursor that is no link of the shop.
func (ss *Sessions) Links(ctx context.Context, scope merchants.Scope, page lists.Page) ([]Link, error) {
	err := base.Behind(page.After, func() error {
		_, err := ss.Store.Sessions().Get(ctx, scope, page.After)
		return err
	})
	if err != nil {
		return nil, err
	}
	sessions, err := ss.Store.Sessions().Links(ctx, scope, page.After, page.Limit)
	if err != nil {
		return nil, err
	}
	var chosen []string
	for _, s := range sessions {
		if s.Payment != "" {
			chosen = append(chosen, s.Payment)
		}
	}
	payments := map[string]pay.Payment{}
	if len(chosen) > 0 {
		list, err := ss.Store.Payments().ByID(ctx, chosen)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			payments[p.ID] = p
		}
	}
	now := ss.TimeOf(scope)
	links := make([]Link, 0, len(sessions))
	for _, s := range sessions {
		links = append(links, ss.link(s, payments[s.Payment], !now.Before(s.ExpiresAt())))
	}
	return links, nil
}

func (ss *Sessions) link(s pay.Session, p pay.Payment, over bool) Link {
	return Link{s, view.SessionURL(ss.CheckoutURL, ss.SessionToken(s.ID)), p, over}
}

// Link reads a shop's payment link, without its payment.
//
// Errors: checkout_session_not_found.
func (ss *Sessions) Link(ctx context.Context, scope merchants.Scope, id string) (Link, error) {
	if !base.Storable(id) {
		return Link{}, pay.NoSession()
	}
	s, err := ss.Store.Sessions().Get(ctx, scope, id)
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && !s.Link:
		return Link{}, pay.NoSession()
	case err != nil:
		return Link{}, err
	}
	return ss.link(s, pay.Payment{}, !ss.TimeOf(scope).Before(s.ExpiresAt())), nil
}

// CloseLink ends a payment link, so that nobody can pay with it. Closing it twice changes nothing.
//
// Errors: checkout_session_not_found once its time is over, checkout_session_already_completed once a method was
// chosen: then the payment can be canceled.
func (ss *Sessions) CloseLink(ctx context.Context, scope merchants.Scope, id string, by audit.Actor) error {
	return base.Again(func() error { // the shopper opened the page or chose a method meanwhile
		link, err := ss.Link(ctx, scope, id)
		if err != nil {
			return err
		}
		_, change, err := link.Close(ss.TimeOf(scope))
		if err != nil || len(change.Sessions) == 0 {
			return err
		}
		change.Audit = ss.Audited(by, scope, audit.CheckoutClosed, id, nil)
		return ss.Commit(ctx, change, view.Cause{RequestID: by.Request})
	})
}
