package delivery

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/webhook"
	"github.com/cascadapay/cascada/internal/work"
)

const (
	// leaseRest is what must be left of a delivery's lease to start a try: a
	// try takes at most ten seconds.
	leaseRest = 12 * time.Second

	dispatchBatch = 500
)

// Dispatch parks deliveries that have no room, leases those that are due and
// sends them. It returns how many it took.
func (w *Webhooks) Dispatch(ctx context.Context) (int, error) {
	if err := w.parkWaiting(ctx); err != nil {
		return 0, err
	}
	now := w.Now()
	due, err := w.Store.Deliveries.Lease(ctx, now, now.Add(hook.DeliveryLease), dispatchBatch)
	if err != nil {
		return 0, err
	}
	w.deliver.submit(due)
	unstalled, err := w.unstall(ctx)
	return len(due) + unstalled, err
}

// parkWaiting parks what lanes had no room for, and what waits for an endpoint
// whose circuit is open. It gives back what waits for an earlier event.
func (w *Webhooks) parkWaiting(ctx context.Context) error {
	w.deliver.mu.Lock()
	list, waiting := w.deliver.parking, w.deliver.waiting
	w.deliver.parking, w.deliver.waiting = nil, nil
	w.deliver.mu.Unlock()
	slices.SortFunc(list, func(x, y store.Parking) int { return strings.Compare(x.ID, y.ID) }) // whoever was first
	for part := range slices.Chunk(list, dispatchBatch) {
		if err := w.Store.Deliveries.Park(ctx, part); err != nil {
			return err // what is left comes due when its lease ends
		}
	}
	slices.SortFunc(waiting, func(x, y store.Postponement) int { return strings.Compare(x.ID, y.ID) })
	for part := range slices.Chunk(waiting, dispatchBatch) {
		if err := w.Store.Deliveries.Postpone(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// fate is what became of a delivery that was taken from its lane.
type fate int

const (
	tried     fate = iota // its outcome is to be written
	dropped               // it comes due again, or is done with
	parked                // it is to wait for its endpoint
	postponed             // it is to wait for an earlier event of its object
)

// outcome is a try with what was known of the endpoint before.
type outcome struct {
	hook.Try
	at       time.Time // it ended; of one that is postponed: until when
	gone     string    // the address that answered 410
	failures int       // in a row
	trace    trace.Ref // the try's span
}

// retries reports whether a delivery's first try failed, and a second one follows.
func (o outcome) retries(d hook.Delivery) bool {
	return d.Attempts == 0 && o.Error != "" && !o.GiveUp && o.gone == ""
}

// The pauses of a delivery that waits for an earlier one, which another node sends, or
// which is to be tried again.
const (
	aheadPause = 250 * time.Millisecond
	aheadLong  = 2 * time.Second
)

// ahead is until when a delivery waits for earlier ones of the same object; zero: it may
// go. has tells what this node has in hand, and so has sent.
func (w *Webhooks) ahead(ctx context.Context, d hook.Delivery, to hook.Subscription, has func(id string) bool) (until time.Time, err error) {
	now := w.TimeOf(d.Scope)
	if !d.Waits(now) {
		return time.Time{}, nil
	}
	before := slices.DeleteFunc(d.Before(to), has)
	if len(before) == 0 {
		return time.Time{}, nil
	}
	list, err := w.Store.Deliveries.Ahead(ctx, before)
	for _, earlier := range list {
		pause := aheadPause
		if earlier.Attempts > 0 {
			pause = min(max(earlier.DueAt.Sub(now), aheadPause), aheadLong)
		}
		if next := now.Add(pause); next.After(until) {
			until = next
		}
	}
	return until, err
}

// send tries one delivery. has tells what this node has in hand for the same endpoint.
func (w *Webhooks) send(ctx context.Context, it item, has func(id string) bool) (outcome, fate) {
	d := it.Delivery
	if w.TimeOf(d.Scope).Add(leaseRest).After(d.DueAt) {
		return outcome{}, dropped // the lease is about to end
	}
	e, err := w.endpoint(ctx, d.Subscription)
	if err != nil {
		w.ComesAgain(ctx, "a delivery's endpoint cannot be read; it comes again", err, "delivery", d.ID)
		return outcome{}, dropped
	}
	if e.sub.Status != hook.Enabled {
		return outcome{}, parked // what is known here may be old: unstall gives up what it finds disabled itself
	}
	if e.sub.Circuit.Open && !it.probe && !d.Urgent && (w.TimeOf(d.Scope).Before(e.sub.Circuit.ProbeAt) || !w.claim(ctx, e.sub.ID)) {
		return outcome{}, parked
	}
	var until time.Time
	if !it.probe {
		until, err = w.ahead(ctx, d, e.sub, has)
	}
	if err != nil {
		w.ComesAgain(ctx, "what is to be delivered before a delivery cannot be read; it comes again", err, "delivery", d.ID)
		return outcome{}, dropped
	}
	if !until.IsZero() {
		return outcome{at: until}, postponed
	}
	ctx, span := w.delivering(ctx, it, e.sub.URL)
	result := w.post(ctx, e, d.Live, webhook.Message{
		URL: e.sub.URL, Secret: e.secret, PreviousSecret: e.previous, Event: string(d.EventType),
		DeliveryID: sentID(d.ID), EventID: d.Event, Body: it.Payload,
	})
	w.attempted(ctx, span, d, result)
	try := hook.Try{Code: result.StatusCode, Error: string(result.Err), Snippet: result.Snippet, Duration: result.Duration}
	if !result.Delivered() {
		// The budget grows with each replay; the schedule begins again then.
		tries := d.Attempts + 1 - (d.Budget - hook.DeliveryTries)
		again, more := webhook.Backoff(max(1, tries), w.Jitter())
		try.Again, try.GiveUp = again, !more
	}
	gone := ""
	if result.Gone() {
		gone = e.sub.URL
	}
	return outcome{try, w.TimeOf(d.Scope), gone, e.sub.Circuit.Failures, span.Ref()}, tried
}

// sentPrefix starts a delivery's id on the wire (HOOK-9).
const sentPrefix = "dlv_"

func sentID(id string) string { return sentPrefix + strings.TrimPrefix(id, hook.DeliveryPrefix) }

// storedID is the way back; an id that is stored already stays.
func storedID(id string) string {
	if suffix, ok := strings.CutPrefix(id, sentPrefix); ok {
		return hook.DeliveryPrefix + suffix
	}
	return id
}

// post hands a delivery over: to our own inbox within the process, whatever
// address the service has, to all others over the network.
func (w *Webhooks) post(ctx context.Context, e endpoint, live bool, m webhook.Message) webhook.Result {
	if e.sub.Managed {
		return w.postInbox(ctx, e.sub, m)
	}
	return w.Sender.Send(ctx, live, m)
}

// tried writes the outcome of a try. A stale one is dropped: whoever had the
// delivery meanwhile has written his. Only a replay leaves it something to say. What a
// 410 does to the endpoint is written with it: who enables the endpoint again finds
// nothing on its way that is given up already, and a replay leaves nothing out (EVT-17).
func (w *Webhooks) tried(ctx context.Context, d hook.Delivery, t outcome) {
	if t.gone != "" {
		defer w.Turns.Take(endpointTurn + d.Subscription)()
	}
	read := d
	err := base.Again(func() error {
		change, try := pay.Change{}, t.Try
		if t.gone != "" {
			var err error
			if change, err = w.goneFrom(ctx, d.Subscription, t.gone); err != nil {
				return err
			}
			try.GiveUp = try.GiveUp || len(change.Subscriptions) > 0
		}
		next, changed := read.Tried(try, t.at), true
		if read.Version != d.Version {
			next, changed = read.Overtaken(try, t.at)
		}
		if changed {
			change.Deliveries = []hook.Delivery{next}
		} else if t.gone == "" {
			return nil
		}
		err := w.Store.Commit(ctx, change)
		if errors.Is(err, store.ErrStale) {
			var lost error
			if read, lost = w.Store.Deliveries.Any(ctx, d.ID); lost != nil {
				return lost
			}
		}
		return err
	})
	if err != nil {
		w.ComesAgain(ctx, "the outcome of a delivery is not written; it comes again", err, "delivery", d.ID)
	}
	if t.gone != "" {
		w.subs.Forget(d.Subscription)
		w.deliver.look()
	}
}

// goneFrom disables an endpoint whose address answered 410. Where it is disabled already it stays so until
// the change is written. A new address has not said so: then there is nothing to change.
func (w *Webhooks) goneFrom(ctx context.Context, subscription, address string) (pay.Change, error) {
	sub, err := w.Store.Subscriptions.Any(ctx, subscription)
	if err != nil || sub.URL != address {
		return pay.Change{}, err
	}
	if sub.Status != hook.Enabled {
		return pay.Change{Subscriptions: []hook.Subscription{sub.Unchanged()}}, nil
	}
	return w.disabling(sub, "the endpoint answered 410 Gone"), nil
}

// nextDelivery tells when a delivery is due, or an endpoint that deliveries wait for.
func (w *Webhooks) nextDelivery(ctx context.Context) (time.Time, error) {
	due, err := w.Store.NextDue(ctx)
	if err != nil {
		return time.Time{}, err
	}
	next := due[base.DeliveriesLoop]
	stalled, err := w.Store.Subscriptions.Stalled(ctx)
	for _, s := range stalled {
		at := w.Now()
		if s.Circuit.Open {
			at = s.Circuit.Since.Add(hook.HopelessAfter)
			if s.Parked && s.Circuit.ProbeAt.Before(at) {
				at = s.Circuit.ProbeAt
			}
			at = at.Add(-w.Advance(s.Scope))
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, err
}

// Loop sends what is due.
func (w *Webhooks) Loop() work.Loop {
	l := w.Woken(base.DeliveriesLoop, w.Dispatch)
	l.Next = w.nextDelivery
	return l
}
