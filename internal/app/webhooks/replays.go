package webhooks

import (
	"context"
	"errors"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
)

// Replays sends the events of a span of time to an endpoint again (docs/decisions/replays.md).
type Replays struct {
	*base.Base
	hooks *Webhooks
}

// NewReplays returns the replays of a service.
func NewReplays(w *Webhooks) *Replays { return &Replays{w.Base, w} }

// NewReplay asks to send the events of a span of time again.
type NewReplay struct {
	webhooks.Replay // From, To and Types
	Idempotency     base.Idempotency
}

// Begin starts to send the events of a span of time to an endpoint again. While a replay runs,
// the same request returns it.
//
// Errors: webhook_not_found, invalid_request, conflict_state for a disabled endpoint, or if another
// replay to it runs.
func (rp *Replays) Begin(ctx context.Context, by base.Principal, scope merchants.Scope, subscription string, n NewReplay) (webhooks.Replay, error) {
	return base.Decide(func() (webhooks.Replay, error) {
		sub, err := rp.hooks.Subscription(ctx, scope, subscription)
		if err != nil {
			return webhooks.Replay{}, err
		}
		if object, found, err := rp.Earlier(ctx, scope, n.Idempotency); err != nil || found {
			if err != nil {
				return webhooks.Replay{}, err
			}
			return rp.Get(ctx, scope, subscription, object)
		}
		asked := n.Replay
		asked.Scope, asked.Subscription = scope, sub.ID
		running, err := rp.Store.Replays().Running(ctx, sub.ID)
		if err == nil && running.Same(asked, rp.TimeOf(scope)) {
			return running, rp.keepOnce(ctx, scope, n.Idempotency, running.ID)
		}
		if err == nil {
			return running, &problem.Error{
				Code: problem.ConflictState, Reason: replayRuns.With(running.ID, sub.ID),
				Details: problem.Details{Reason: "replay_running", Action: "replay", ReplayID: running.ID},
			}
		}
		if !errors.Is(err, store.ErrNotFound) {
			return running, err
		}
		if sub.Status != webhooks.Enabled {
			return running, &problem.Error{
				Code: problem.ConflictState, Reason: endpointDisabledForReplay,
				Details: problem.Details{Reason: "webhook_disabled", Action: "replay"},
			}
		}
		now := rp.TimeOf(scope)
		r, err := asked.Begin(now)
		if err != nil {
			return r, err
		}
		r.ID = rp.NewID(webhooks.ReplayPrefix, now)
		if types := r.Selects(sub); len(types) > 0 {
			if r.Events, err = rp.Store.Events().Count(ctx, scope, lists.EventFilter{Types: types, Span: lists.Span{From: r.From, To: r.To}}); err != nil {
				return r, err
			}
		}
		if err := r.Bound(); err != nil {
			return r, err
		}
		err = rp.Store.Commit(ctx, pay.Change{
			Once: n.Idempotency.Guard(scope, r.ID, now), Replays: []webhooks.Replay{r},
			Audit: rp.Audited(by.Actor(), scope, audit.EventsReplayed, sub.ID, map[string]string{
				"replay": r.ID, "from": r.From.Format(timeFormat), "to": r.To.Format(timeFormat), "types": strings.Join(eventNames(r.Types), ","),
			}),
		})
		if errors.Is(err, store.ErrDuplicate) {
			err = store.ErrStale // the same request, or another one, was first
		}
		return r, err
	})
}

// keepOnce binds a key to an object that exists already.
func (rp *Replays) keepOnce(ctx context.Context, scope merchants.Scope, i base.Idempotency, object string) error {
	once := i.Guard(scope, object, rp.TimeOf(scope))
	if once == nil {
		return nil
	}
	err := rp.Store.Commit(ctx, pay.Change{Once: once})
	if errors.Is(err, store.ErrDuplicate) {
		return store.ErrStale
	}
	return err
}

// timeFormat is the format of times in the audit log.
const timeFormat = "2006-01-02T15:04:05.000Z"

func eventNames(types []webhooks.EventType) (names []string) {
	for _, t := range types {
		names = append(names, string(t))
	}
	return names
}

// Get reads a replay to one of a shop's endpoints.
//
// Errors: webhook_not_found, not_found.
func (rp *Replays) Get(ctx context.Context, scope merchants.Scope, subscription, id string) (webhooks.Replay, error) {
	sub, err := rp.hooks.Subscription(ctx, scope, subscription)
	if err != nil {
		return webhooks.Replay{}, err
	}
	return base.Named(id, problem.New(problem.NotFound, noReplay), func() (webhooks.Replay, error) { return rp.Store.Replays().Get(ctx, scope, sub.ID, id) })
}

// List lists the replays to one of a shop's endpoints, newest first, with their number.
//
// Errors: webhook_not_found, invalid_request for an unknown cursor.
func (rp *Replays) List(ctx context.Context, scope merchants.Scope, subscription string, page lists.Page) ([]webhooks.Replay, int64, error) {
	sub, err := rp.hooks.Subscription(ctx, scope, subscription)
	if err != nil {
		return nil, 0, err
	}
	if err := base.Behind(page.After, func() error {
		_, err := rp.Store.Replays().Get(ctx, scope, sub.ID, page.After)
		return err
	}); err != nil {
		return nil, 0, err
	}
	return rp.Store.Replays().List(ctx, scope, sub.ID, page)
}

// Stop stops a replay. Deliveries that it has begun continue. A stopped replay does not
// change.
//
// Errors: webhook_not_found, not_found, conflict_state for one that is done.
func (rp *Replays) Stop(ctx context.Context, by base.Principal, scope merchants.Scope, subscription, id string) (webhooks.Replay, error) {
	return base.Decide(func() (webhooks.Replay, error) {
		r, err := rp.Get(ctx, scope, subscription, id)
		if err != nil {
			return r, err
		}
		untaken, err := rp.Store.Replays().Untaken(ctx, r)
		if err != nil {
			return r, err
		}
		next, err := r.Stop(webhooks.StopAsked, untaken, rp.TimeOf(scope))
		if err != nil || next.Version == r.Version {
			return next, err
		}
		return next, rp.Store.Commit(ctx, pay.Change{
			Replays: []webhooks.Replay{next}, Audit: rp.Audited(by.Actor(), scope, audit.ReplayCutShort, r.Subscription, map[string]string{"replay": r.ID}),
		})
	})
}

// stillReplaying stops the replay that runs to an endpoint which is about to be enabled. The replay
// has not checked since the endpoint was disabled, so it does not know that its due deliveries were
// given up (EVT-17).
func (w *Webhooks) stillReplaying(ctx context.Context, subscription string) ([]webhooks.Replay, error) {
	r, err := w.Store.Replays().Running(ctx, subscription)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if r, err = w.stopFor(ctx, r, webhooks.StopDisabled); err != nil {
		return nil, err
	}
	return []webhooks.Replay{r}, nil
}

// stopFor stops a running replay.
func (w *Webhooks) stopFor(ctx context.Context, r webhooks.Replay, why webhooks.StopReason) (webhooks.Replay, error) {
	untaken, err := w.Store.Replays().Untaken(ctx, r)
	if err != nil {
		return r, err
	}
	return r.Stop(why, untaken, w.TimeOf(r.Scope))
}

// Step takes the next step of due replays. It returns how many it leased. Taking a step
// twice is harmless: it is written whole or not at all.
func (rp *Replays) Step(ctx context.Context) (int, error) {
	now := rp.Now()
	due, err := rp.Store.Replays().Lease(ctx, now, now.Add(pay.SweepLease), base.SweepBatch)
	if err != nil {
		return 0, err
	}
	var failed error // of one replay; the others continue
	for _, r := range due {
		if err := rp.step(ctx, r); err != nil && !errors.Is(err, store.ErrStale) {
			failed = errors.Join(failed, err)
		}
	}
	return len(due), failed
}

func (rp *Replays) step(ctx context.Context, r webhooks.Replay) error {
	sub, err := rp.Store.Subscriptions().Any(ctx, r.Subscription)
	if err != nil {
		return err
	}
	now := rp.TimeOf(r.Scope)
	if why := sub.StopFor(); why != "" {
		if r, err = rp.hooks.stopFor(ctx, r, why); err != nil {
			return err
		}
		return rp.moved(ctx, r)
	}
	untried, err := rp.Store.Replays().CountUntried(ctx, sub.ID)
	if err != nil {
		return err
	}
	if sub.Circuit.Open || untried >= webhooks.ReplayStep {
		return rp.moved(ctx, r.Wait(sub.Circuit.Open, now))
	}
	var list []pay.ToldEvent
	if types := r.Selects(sub); len(types) > 0 {
		if list, err = rp.Store.Events().After(ctx, r.Scope, types, r.AfterAt, r.AfterID, r.To, webhooks.ReplayStep); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		untried, err := rp.Store.Replays().Untried(ctx, r)
		if err != nil {
			return err
		}
		if !untried.IsZero() {
			return rp.moved(ctx, r.Wait(false, now))
		}
		return rp.moved(ctx, r.End(now))
	}
	next := make([]webhooks.Replayed, 0, len(list))
	ids := make([]string, 0, len(list))
	for _, e := range list {
		next = append(next, webhooks.Replayed{Event: e.ID, Type: e.Type, At: e.At})
		ids = append(ids, sub.Delivery(e.ID))
	}
	found, err := rp.Store.Deliveries().Named(ctx, ids)
	if err != nil {
		return err
	}
	for i := range next {
		next[i].Delivery = found[ids[i]]
	}
	r, begun := r.Send(next, now)
	return rp.moved(ctx, r, begun...)
}

// moved writes a replay's next step, with the deliveries that it begins.
func (rp *Replays) moved(ctx context.Context, r webhooks.Replay, begun ...webhooks.Delivery) error {
	return rp.Store.Commit(ctx, pay.Change{Replays: []webhooks.Replay{r}, Deliveries: begun})
}
