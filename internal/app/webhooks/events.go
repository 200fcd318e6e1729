package webhooks

import (
	"context"
	"errors"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Events reads what happened at a shop.
type Events struct{ *base.Base }

// NewEvents returns the events of a service.
func NewEvents(b *base.Base) *Events { return &Events{b} }

// Get reads one of a shop's events.
//
// Errors: event_not_found, also for another shop's event.
func (ev *Events) Get(ctx context.Context, scope merchants.Scope, id string) (pay.ToldEvent, error) {
	return base.Named(id, problem.New(problem.EventNotFound, eventMissing), func() (pay.ToldEvent, error) { return ev.Store.Events().Get(ctx, scope, id) })
}

// List lists a shop's events, newest first, with the number that the filter selects. A checkout
// session is named by its token.
//
// Errors: invalid_request for an unknown cursor.
func (ev *Events) List(ctx context.Context, scope merchants.Scope, f lists.EventFilter) ([]pay.ToldEvent, int64, error) {
	f, list, err := ev.page(ctx, scope, f)
	if err != nil || f.Limit == 0 {
		return nil, 0, err
	}
	total, err := ev.Store.Events().Count(ctx, scope, f)
	return list, total, err
}

// Page is List without the number: counting reads everything that the filter selects.
//
// Errors: invalid_request for an unknown cursor.
func (ev *Events) Page(ctx context.Context, scope merchants.Scope, f lists.EventFilter) ([]pay.ToldEvent, error) {
	_, list, err := ev.page(ctx, scope, f)
	return list, err
}

// page reads a page, and returns the filter with the object's own id. Its limit is 0 if nothing can match.
func (ev *Events) page(ctx context.Context, scope merchants.Scope, f lists.EventFilter) (lists.EventFilter, []pay.ToldEvent, error) {
	if strings.HasPrefix(f.Object, pay.SessionTokenPrefix) {
		s, err := ev.Store.Sessions().ByHash(ctx, ev.Vault.Hash(f.Object))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return f, nil, err
		}
		if f.Object = s.ID; s.ID == "" {
			f.Limit = 0
			return f, nil, nil
		}
	}
	if !base.Storable(f.Object) { // an id that cannot be stored does not exist
		f.Limit = 0
		return f, nil, nil
	}
	if !base.Storable(f.After) {
		return f, nil, noEvent()
	}
	list, err := ev.Store.Events().List(ctx, scope, f)
	if errors.Is(err, store.ErrNotFound) {
		err = noEvent()
	}
	return f, list, err
}

func noEvent() error {
	return problem.Field(problem.InvalidRequest, lists.CursorParam,
		noEventToContinue.With(lists.CursorParam))
}
