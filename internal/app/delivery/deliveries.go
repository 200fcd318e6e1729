package delivery

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store"
)

// DeliveryLog is a page of the deliveries to an endpoint.
type DeliveryLog struct {
	Subscription hook.Subscription
	Deliveries   []hook.Delivery
	Total        int64
}

// Deliveries lists an endpoint's deliveries, newest first, with the number that the filter selects.
// The page begins behind the delivery with the id after, if that is not empty.
//
// Errors: webhook_not_found, invalid_request for an unknown cursor.
func (w *Webhooks) Deliveries(ctx context.Context, scope tenant.Scope, subscription string, f pay.DeliveryFilter) (log DeliveryLog, err error) {
	if log.Subscription, err = w.Subscription(ctx, scope, subscription); err != nil {
		return log, err
	}
	var after hook.Delivery
	if err := base.Behind(f.After, func() error {
		d, err := w.Store.Deliveries.Get(ctx, scope, log.Subscription.ID, storedID(f.After))
		after = d.Delivery
		return err
	}); err != nil {
		return log, err
	}
	if log.Deliveries, err = w.Store.Deliveries.List(ctx, scope, subscription, f, after); err != nil {
		return log, err
	}
	log.Total, err = w.Store.Deliveries.Count(ctx, subscription, f)
	return log, err
}

// Delivery reads one delivery, by either of its ids, with its body.
//
// Errors: webhook_not_found, webhook_delivery_not_found.
func (w *Webhooks) Delivery(ctx context.Context, scope tenant.Scope, subscription, id string) (hook.Subscription, store.Dispatch, error) {
	sub, err := w.Subscription(ctx, scope, subscription)
	if err != nil {
		return sub, store.Dispatch{}, err
	}
	d, err := base.Named(id, problem.New(problem.WebhookDeliveryNotFound, "there is no such delivery to this webhook: GET /webhooks/"+sub.ID+"/deliveries lists them"), func() (store.Dispatch, error) { return w.Store.Deliveries.Get(ctx, scope, sub.ID, storedID(id)) })
	return sub, d, err
}

// Replayed is the result of a replay.
type Replayed struct {
	Delivery string
	Previous hook.DeliveryStatus
	Status   hook.DeliveryStatus
	Next     time.Time
}

// Replay sends a failed or dead delivery again, at once, even if its endpoint's circuit is open.
//
// Errors: webhook_not_found, webhook_delivery_not_found, conflict_state for a delivery in another
// state and for a disabled endpoint.
func (w *Webhooks) Replay(ctx context.Context, by base.Principal, scope tenant.Scope, subscription, id string) (Replayed, error) {
	done, err := base.Decide(func() (Replayed, error) {
		sub, d, err := w.Delivery(ctx, scope, subscription, id)
		if err != nil {
			return Replayed{}, err
		}
		if sub.Status != hook.Enabled {
			return Replayed{}, &problem.Error{
				Code: problem.ConflictState, Message: "the webhook is disabled: enable it first, with PATCH and status enabled",
				Details: problem.Details{Reason: "webhook_disabled", Action: "replay"},
			}
		}
		next, err := d.Delivery.Replay(w.TimeOf(scope))
		if err != nil {
			return Replayed{}, err
		}
		return Replayed{next.ID, d.Delivery.Status, next.Status, next.DueAt}, w.Store.Commit(ctx, pay.Change{
			Deliveries: []hook.Delivery{next},
			Audit:      w.Audited(by.Actor(), scope, audit.DeliveryReplayed, next.ID, map[string]string{"webhook": sub.ID}),
		})
	})
	if err == nil {
		w.deliver.look()
	}
	return done, err
}
