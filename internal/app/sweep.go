package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

const (
	sweepBatch = 200
	sweepLanes = 16
	// sweepLease is longer than the slowest question to a provider.
	sweepLease = time.Minute
)

// Sweep looks at payments that are due: pending ones whose provider may know
// more, ones whose window has passed, and ones whose outcome is unknown. It
// returns how many it took; doing one twice is harmless.
func (a *App) Sweep(ctx context.Context) (int, error) {
	now := a.Now()
	due, err := a.store.LeasePayments(ctx, now, now.Add(sweepLease), sweepBatch)
	if err != nil {
		return 0, err
	}
	var lanes sync.WaitGroup
	slots := make(chan struct{}, sweepLanes)
	for _, p := range due {
		slots <- struct{}{}
		lanes.Go(func() {
			defer func() { <-slots }()
			if err := a.reconcile(ctx, p); err != nil {
				a.Log.Error("a due payment could not be looked at; it comes again", "payment", p.ID, "error", err)
			}
		})
	}
	lanes.Wait()
	return len(due), nil
}

// cancel ends the charge of a payment whose window is over, so that nobody pays
// it any more, where the provider can do that. The shopper may have been faster.
func (a *App) cancel(ctx context.Context, p pay.Payment, attempt pay.Attempt, standing pay.Outcome) pay.Outcome {
	upstream, _ := a.upstream(attempt.Provider)
	canceler, can := upstream.(provider.Canceler)
	if !can {
		return standing
	}
	ctx, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	return canceler.Cancel(ctx, a.request(p, attempt)).Asked()
}

// reconcile asks the provider what became of a payment and decides.
func (a *App) reconcile(ctx context.Context, p pay.Payment) error {
	attempt, ok := p.Current()
	if !ok {
		return nil
	}
	routes := a.routes(p)
	o := pay.Outcome{Kind: pay.Unknown, Decline: "not_configured"}
	if upstream, ok := a.upstream(attempt.Provider); ok {
		asking, cancel := context.WithTimeout(ctx, callTimeout)
		o = upstream.Query(asking, a.request(p, attempt)).Asked()
		cancel()
	}
	expired := p.Status == pay.Pending && !p.Times.Expires.IsZero() && !a.now(p.Scope).Before(p.Times.Expires)
	if expired && o.Kind == pay.Awaiting {
		o = a.cancel(ctx, p, attempt, o)
	}
	if expired && o.Kind != pay.Approved && o.Kind != pay.Declined {
		_, change := p.Expire(a.now(p.Scope))
		err := a.commit(ctx, change, view.Cause{})
		if errors.Is(err, store.ErrStale) { // it moved by itself meanwhile
			return nil
		}
		return err
	}
	p, err := a.settle(ctx, p, attempt, o, routes, view.Cause{})
	if err != nil {
		return err
	}
	_, err = a.drive(ctx, p, routes, view.Cause{})
	return err
}
