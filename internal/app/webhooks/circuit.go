package webhooks

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
)

// heartbeat is how an endpoint answers this node. Its circuit is in the subscription's row. The row
// is written when the circuit opens or closes, and, for a few failures, when the lane becomes idle.
// So an endpoint that fails now and then under load causes no extra writes.
type heartbeat struct {
	known     int       // failures in a row, according to the row
	success   bool      // since the last report
	failures  int       // since the last report and the last success
	at        time.Time // of the last answer
	reporting bool
}

// beat records an answer.
func (h *heartbeat) beat(success bool, at time.Time) {
	h.at = at
	if !success {
		h.failures++
		return
	}
	h.failures = 0
	h.success = h.success || h.known > 0
}

// due reports whether the row must be written. idle: no delivery follows soon.
func (h *heartbeat) due(idle bool) bool {
	if h.reporting {
		return false
	}
	return h.success || h.failures > 0 && (idle || h.known+h.failures >= webhooks.CircuitAfter)
}

// quiet reports whether nothing is left to report.
func (h *heartbeat) quiet() bool { return !h.reporting && !h.success && h.failures == 0 }

// report writes how an endpoint answered, if that is due. Only one report of a lane is written at a
// time; answers that come meanwhile go into the next one.
func (d *dispatcher) report(l *lane) {
	for {
		d.mu.Lock()
		if !l.health.due(d.idle(l)) {
			d.leave(l)
			d.mu.Unlock()
			return
		}
		success, failures, at := l.health.success, l.health.failures, l.health.at
		l.health.success, l.health.failures, l.health.reporting = false, 0, true
		d.mu.Unlock()

		known := d.courier.recordAnswers(context.Background(), l.subscription, success, failures, at)
		d.mu.Lock()
		l.health.known, l.health.reporting = known, false
		d.mu.Unlock()
	}
}

// recordAnswers writes the latest answers of an endpoint into its row, see courier.
func (w *Webhooks) recordAnswers(ctx context.Context, subscription string, success bool, failures int, at time.Time) int {
	var before, after webhooks.EndpointCircuit
	err := base.Again(func() error {
		sub, err := w.Store.Subscriptions().Any(ctx, subscription)
		if err != nil {
			return err
		}
		before, after = sub.Circuit, sub.Circuit
		next, changed := sub.Record(success, failures, at)
		if !changed || sub.Status != webhooks.Enabled {
			return nil
		}
		after = next.Circuit
		return w.Store.Commit(ctx, pay.Change{Subscriptions: []webhooks.Subscription{next}})
	})
	if err != nil {
		w.Log.ErrorContext(ctx, "an endpoint's answers were not written; its circuit is unchanged", "subscription", subscription, "error", err)
		return 0
	}
	w.subs.Forget(subscription)
	if before.Open != after.Open {
		w.Log.InfoContext(ctx, "an endpoint's circuit changed", "subscription", subscription, "open", after.Open, "failures", after.Failures)
		w.deliver.wake()
	}
	return after.Failures
}

// claim reserves the next try at an endpoint whose circuit is open. It returns false if it is too
// early, or if another node reserved it.
func (w *Webhooks) claim(ctx context.Context, subscription string) bool {
	sub, err := w.Store.Subscriptions().Any(ctx, subscription)
	if err == nil && !sub.Circuit.Open {
		w.subs.Forget(subscription)
		return true // the circuit closed meanwhile
	}
	if err == nil {
		next, ok := sub.Probe(w.TimeOf(sub.Scope))
		if !ok {
			return false
		}
		err = w.Store.Commit(ctx, pay.Change{Subscriptions: []webhooks.Subscription{next}})
	}
	if err != nil && !errors.Is(err, store.ErrStale) {
		w.Log.ErrorContext(ctx, "an endpoint cannot be probed; its deliveries wait", "subscription", subscription, "error", err)
	}
	w.subs.Forget(subscription)
	return err == nil
}

// disabling disables an endpoint, with a reason.
func (w *Webhooks) disabling(sub webhooks.Subscription, reason string) pay.Change {
	next := sub.Disable(reason, w.TimeOf(sub.Scope))
	if next.Version == sub.Version {
		return pay.Change{}
	}
	return pay.Change{
		Subscriptions: []webhooks.Subscription{next},
		Audit:         w.Audited(audit.Actor{Kind: audit.BySystem}, sub.Scope, audit.WebhookDisabled, sub.ID, map[string]string{"reason": reason}),
	}
}

// disable disables an endpoint that failed for too long. at is the URL that failed: if the endpoint
// has a new URL, it stays enabled.
func (w *Webhooks) disable(ctx context.Context, subscription, at, reason string) {
	err := base.Again(func() error {
		sub, err := w.Store.Subscriptions().Any(ctx, subscription)
		if err != nil || sub.URL != at {
			return err
		}
		change := w.disabling(sub, reason)
		if len(change.Subscriptions) == 0 {
			return nil
		}
		return w.Store.Commit(ctx, change)
	})
	if err != nil {
		w.Log.ErrorContext(ctx, "an endpoint is not disabled", "subscription", subscription, "error", err)
	}
	w.subs.Forget(subscription)
	w.deliver.wake()
}

// unstall continues with endpoints whose deliveries are parked: it disables the hopeless ones,
// probes those whose time has come, and sends the deliveries to one that works again. It returns
// how many deliveries it leased.
func (w *Webhooks) unstall(ctx context.Context) (int, error) {
	stalled, err := w.Store.Subscriptions().Stalled(ctx)
	if err != nil {
		return 0, err
	}
	freed := 0
	var failed error // of one endpoint; the others continue
	for _, s := range stalled {
		now := w.TimeOf(s.Scope)
		var list []store.Dispatch
		var err error
		switch {
		case s.Hopeless(now):
			w.disable(ctx, s.ID, s.URL, webhooks.HopelessText)
		case !s.Parked:
		case s.Status != webhooks.Enabled:
			if list, err = w.Store.Deliveries().Unpark(ctx, s.ID, now.Add(webhooks.DeliveryLease), dispatchBatch); err == nil {
				err = w.abandon(ctx, s.ID, list)
			}
		case s.Circuit.Open:
			list, err = w.probe(ctx, s.Subscription, now)
		default:
			w.subs.Forget(s.ID) // the cached circuit may still be open: deliveries leased now would be parked again
			if room := min(w.deliver.free(s.ID), dispatchBatch); room > 0 {
				list, err = w.Store.Deliveries().Unpark(ctx, s.ID, now.Add(webhooks.DeliveryLease), room)
				w.deliver.submit(list)
			}
		}
		failed = errors.Join(failed, err)
		freed += len(list)
	}
	return freed, failed
}

// probe tries one of the deliveries that wait for an endpoint whose circuit is open, if it is time.
func (w *Webhooks) probe(ctx context.Context, sub webhooks.Subscription, now time.Time) ([]store.Dispatch, error) {
	if now.Before(sub.Circuit.ProbeAt) || !w.claim(ctx, sub.ID) {
		return nil, nil
	}
	list, err := w.Store.Deliveries().Unpark(ctx, sub.ID, now.Add(webhooks.DeliveryLease), 1)
	w.deliver.probe(list)
	return list, err
}

// abandon makes deliveries dead letters while their endpoint is disabled or deleted. If it was
// enabled meanwhile, they are sent. A delivery that has changed meanwhile is left to the node that
// changed it.
func (w *Webhooks) abandon(ctx context.Context, subscription string, list []store.Dispatch) error {
	if len(list) == 0 {
		return nil
	}
	sub, err := w.Store.Subscriptions().Any(ctx, subscription)
	if err != nil {
		return err
	}
	if sub.Status == webhooks.Enabled {
		w.subs.Forget(subscription)
		w.deliver.submit(list)
		return nil
	}
	change := pay.Change{Subscriptions: []webhooks.Subscription{sub.Unchanged()}}
	for _, next := range list {
		change.Deliveries = append(change.Deliveries, next.Delivery.Abandon())
	}
	err = w.Store.Commit(ctx, change)
	switch half := len(list) / 2; {
	case !errors.Is(err, store.ErrStale):
		return err
	case half == 0:
		return nil // if it still exists, it comes due when its lease ends
	default:
		return errors.Join(w.abandon(ctx, subscription, list[:half]), w.abandon(ctx, subscription, list[half:]))
	}
}
