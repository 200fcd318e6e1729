package payments

import (
	"context"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// Life is what happened to a payment, apart from what the payment itself shows. Lists are oldest first.
type Life struct {
	Claims     []pay.Claim
	Events     []pay.ToldEvent
	Deliveries []webhooks.Delivery
	Movements  []pay.Movement // of the merchant's balance; BalanceAfter is not set
}

// lifeEvents bounds the events, and the deliveries, that are read of a payment or a claim. Most have a handful.
const lifeEvents = 200

// Life reads what happened to a payment that was read in the scope: each part is found by its id, which is
// made from the payment's.
func (pa *Payments) Life(ctx context.Context, scope merchants.Scope, p pay.Payment) (l Life, err error) {
	if l.Claims, err = pa.Store.Claims().Of(ctx, []string{p.ID}); err != nil {
		return l, err
	}
	objects := []string{p.ID}
	for _, c := range l.Claims {
		objects = append(objects, c.ID)
	}
	for _, object := range objects {
		events, err := pa.Store.Events().List(ctx, scope, lists.EventFilter{Object: object, Page: lists.Page{Limit: lifeEvents}})
		if err != nil {
			return l, err
		}
		deliveries, err := pa.Store.Deliveries().About(ctx, scope, object, lifeEvents)
		if err != nil {
			return l, err
		}
		transfers, err := pa.Store.Books().About(ctx, scope, object)
		if err != nil {
			return l, err
		}
		l.Events, l.Deliveries = append(l.Events, events...), append(l.Deliveries, deliveries...)
		for _, t := range transfers {
			l.Movements = append(l.Movements, pay.Movements(t)...)
		}
	}
	byTime(l.Events, func(e pay.ToldEvent) time.Time { return e.At })
	byTime(l.Deliveries, func(d webhooks.Delivery) time.Time { return d.CreatedAt })
	byTime(l.Movements, func(m pay.Movement) time.Time { return m.At })
	return l, nil
}

func byTime[T any](list []T, at func(T) time.Time) {
	slices.SortStableFunc(list, func(a, b T) int { return at(a).Compare(at(b)) })
}
