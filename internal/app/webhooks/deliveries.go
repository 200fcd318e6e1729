package webhooks

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
)

// DeliveryLog is a page of the deliveries to an endpoint.
type DeliveryLog struct {
	Subscription webhooks.Subscription
	Deliveries   []webhooks.Delivery
	Total        int64
}

// Deliveries lists an endpoint's deliveries, newest first, with the number that the filter selects.
// The page begins after the delivery with the id f.After, if that is not empty.
//
// Errors: webhook_not_found, invalid_request for an unknown cursor.
func (w *Webhooks) Deliveries(ctx context.Context, scope merchants.Scope, subscription string, f lists.DeliveryFilter) (log DeliveryLog, err error) {
	if log, err = w.DeliveryPage(ctx, scope, subscription, f); err != nil {
		return log, err
	}
	log.Total, err = w.Store.Deliveries().Count(ctx, subscription, f)
	return log, err
}

// DeliveryPage is Deliveries without the number: with a span of time, counting reads everything that the
// filter selects.
//
// Errors: as of Deliveries.
func (w *Webhooks) DeliveryPage(ctx context.Context, scope merchants.Scope, subscription string, f lists.DeliveryFilter) (log DeliveryLog, err error) {
	if log.Subscription, err = w.Subscription(ctx, scope, subscription); err != nil {
		return log, err
	}
	var after webhooks.Delivery
	if err := base.Behind(f.After, func() error {
		d, err := w.Store.Deliveries().Get(ctx, scope, log.Subscription.ID, storedID(f.After))
		after = d.Delivery
		return err
	}); err != nil {
		return log, err
	}
	log.Deliveries, err = w.Store.Deliveries().List(ctx, scope, subscription, f, after)
	return log, err
}

// RecentDeliveries is the number of deliveries that Recent covers.
const RecentDeliveries = 100

// Recent is how an endpoint's newest deliveries have ended so far.
type Recent struct{ Delivered, Failed, Waiting int }

// Tried is the number of deliveries that were tried.
func (r Recent) Tried() int { return r.Delivered + r.Failed }

// Recent summarizes the newest deliveries to an endpoint.
func (w *Webhooks) Recent(ctx context.Context, sub webhooks.Subscription) (Recent, error) {
	list, err := w.Store.Deliveries().List(ctx, sub.Scope, sub.ID, lists.DeliveryFilter{Page: lists.Page{Limit: RecentDeliveries}}, webhooks.Delivery{})
	return RecentOf(list), err
}

// RecentOf summarizes deliveries, newest first.
func RecentOf(list []webhooks.Delivery) (r Recent) {
	for _, d := range list[:min(len(list), RecentDeliveries)] {
		switch d.Status {
		case webhooks.DeliveryDelivered:
			r.Delivered++
		case webhooks.DeliveryPending:
			r.Waiting++
		default:
			r.Failed++
		}
	}
	return r
}

// Sent is an event's delivery to one of the shop's endpoints.
type Sent struct {
	Subscription webhooks.Subscription
	Delivery     webhooks.Delivery
}

// Of lists the deliveries of an event to the endpoints that the shop still has.
func (w *Webhooks) Of(ctx context.Context, scope merchants.Scope, event string) (list []Sent, err error) {
	subs, _, err := w.Subscriptions(ctx, scope, lists.Page{Limit: compared})
	if err != nil || len(subs) == 0 {
		return nil, err
	}
	var ids []string
	for _, sub := range subs {
		ids = append(ids, sub.Delivery(event))
	}
	found, err := w.Store.Deliveries().Named(ctx, ids)
	for i, sub := range subs {
		if d, known := found[ids[i]]; known {
			list = append(list, Sent{sub, d})
		}
	}
	return list, err
}

// Delivery reads one delivery, by either of its ids, with its body.
//
// Errors: webhook_not_found, webhook_delivery_not_found.
func (w *Webhooks) Delivery(ctx context.Context, scope merchants.Scope, subscription, id string) (webhooks.Subscription, store.Dispatch, error) {
	sub, err := w.Subscription(ctx, scope, subscription)
	if err != nil {
		return sub, store.Dispatch{}, err
	}
	d, err := base.Named(id, problem.New(problem.WebhookDeliveryNotFound, noDelivery.With(sub.ID)), func() (store.Dispatch, error) { return w.Store.Deliveries().Get(ctx, scope, sub.ID, storedID(id)) })
	return sub, d, err
}

// Replayed is the result of a replay.
type Replayed struct {
	Delivery string
	Previous webhooks.DeliveryStatus
	Status   webhooks.DeliveryStatus
	Next     time.Time
}

// Replay sends a failed or dead delivery again, at once, even if its endpoint's circuit is open.
//
// Errors: webhook_not_found, webhook_delivery_not_found, conflict_state for a delivery in another
// state and for a disabled endpoint.
func (w *Webhooks) Replay(ctx context.Context, by base.Principal, scope merchants.Scope, subscription, id string) (Replayed, error) {
	done, err := base.Decide(func() (Replayed, error) {
		sub, d, err := w.Delivery(ctx, scope, subscription, id)
		if err != nil {
			return Replayed{}, err
		}
		if sub.Status != webhooks.Enabled {
			return Replayed{}, &problem.Error{
				Code: problem.ConflictState, Reason: endpointDisabled,
				Details: problem.Details{Reason: "webhook_disabled", Action: "replay"},
			}
		}
		next, err := d.Delivery.Replay(w.TimeOf(scope))
		if err != nil {
			return Replayed{}, err
		}
		return Replayed{next.ID, d.Delivery.Status, next.Status, next.DueAt}, w.Store.Commit(ctx, pay.Change{
			Deliveries: []webhooks.Delivery{next},
			Audit:      w.Audited(by.Actor(), scope, audit.DeliveryReplayed, next.ID, map[string]string{"webhook": sub.ID}),
		})
	})
	if err == nil {
		w.deliver.wake()
	}
	return done, err
}
