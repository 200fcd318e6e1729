package webhooks

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/work"
)

const (
	// leaseRest is how much of a delivery's lease must be left to start a try: the longest try, and time to begin it.
	leaseRest = sender.DefaultTimeout + 2*time.Second

	dispatchBatch = 500
)

// Dispatch parks deliveries without room, leases those that are due and sends them. It returns how
// many it leased.
func (w *Webhooks) Dispatch(ctx context.Context) (int, error) {
	if err := w.parkWaiting(ctx); err != nil {
		return 0, err
	}
	now := w.Now()
	due, err := w.Store.Deliveries().Lease(ctx, now, now.Add(webhooks.DeliveryLease), dispatchBatch)
	if err != nil {
		return 0, err
	}
	w.deliver.submit(due)
	unstalled, err := w.unstall(ctx)
	return len(due) + unstalled, err
}

// parkWaiting parks deliveries for which lanes had no room, and those whose endpoint's circuit is
// open. It gives back deliveries that wait for an earlier event.
func (w *Webhooks) parkWaiting(ctx context.Context) error {
	parking, waiting := w.deliver.givenBack()
	for part := range slices.Chunk(parking, dispatchBatch) {
		if err := w.Store.Deliveries().Park(ctx, part); err != nil {
			return err // the others come due when their lease ends
		}
	}
	for part := range slices.Chunk(waiting, dispatchBatch) {
		if err := w.Store.Deliveries().Postpone(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// fate is what happens to a delivery that was taken from its lane.
type fate int

const (
	tried     fate = iota // its outcome must be written
	dropped               // the delivery comes due again, or is finished
	parked                // the delivery waits for its endpoint
	postponed             // the delivery waits for an earlier event of its object
)

// outcome is a try with the endpoint's state before it.
type outcome struct {
	webhooks.Try
	at       time.Time              // when it ended; if postponed, until when
	gone     *webhooks.Subscription // that answered 410, as it was when the request was made; nil: none did
	failures int                    // in a row
	trace    trace.Ref              // the span of the try
}

// retries reports whether a delivery's first try failed and another one follows.
func (o outcome) retries(d webhooks.Delivery) bool {
	return d.Attempts == 0 && o.Error != "" && !o.GiveUp && o.gone == nil
}

// Pauses of a delivery that waits for an earlier one, which another node sends or which will be
// tried again.
const (
	aheadPause = 250 * time.Millisecond
	aheadLong  = 2 * time.Second
)

// ahead is the time until which a delivery waits for earlier ones of the same object; zero: it may
// be sent. has reports whether this node has a delivery in hand, and so sends it in order.
func (w *Webhooks) ahead(ctx context.Context, d webhooks.Delivery, to webhooks.Subscription, has func(id string) bool) (until time.Time, err error) {
	now := w.TimeOf(d.Scope)
	if !d.Waits(now) {
		return time.Time{}, nil
	}
	before := slices.DeleteFunc(d.Before(to), has)
	if len(before) == 0 {
		return time.Time{}, nil
	}
	list, err := w.Store.Deliveries().Ahead(ctx, before)
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

// send tries one delivery. has reports whether this node has a delivery to the same endpoint in
// hand.
func (w *Webhooks) send(ctx context.Context, it item, has func(id string) bool) (outcome, fate) {
	d := it.Delivery
	if w.TimeOf(d.Scope).Add(leaseRest).After(d.DueAt) {
		return outcome{}, dropped // the lease ends soon
	}
	e, err := w.endpoint(ctx, d.Subscription)
	if err != nil {
		w.Quiet.ComesAgain(ctx, d.Live, "a delivery's endpoint cannot be read; the delivery is retried later", err, "delivery", d.ID)
		return outcome{}, dropped
	}
	if e.sub.Status != webhooks.Enabled {
		return outcome{}, parked // the cached subscription may be old: unstall reads it again and abandons the deliveries of a disabled one
	}
	if e.sub.Circuit.Open && !it.probe && !d.Urgent && (w.TimeOf(d.Scope).Before(e.sub.Circuit.ProbeAt) || !w.claim(ctx, e.sub.ID)) {
		return outcome{}, parked
	}
	var until time.Time
	if !it.probe {
		until, err = w.ahead(ctx, d, e.sub, has)
	}
	if err != nil {
		w.Quiet.ComesAgain(ctx, d.Live, "earlier deliveries cannot be read; the delivery is retried later", err, "delivery", d.ID)
		return outcome{}, dropped
	}
	if !until.IsZero() {
		return outcome{at: until}, postponed
	}
	ctx, span := w.delivering(ctx, it, e.sub.URL)
	result := w.post(ctx, e, d, sender.Message{
		URL: e.sub.URL, Secret: e.secret, PreviousSecret: e.previous, Event: string(d.EventType),
		DeliveryID: sentID(d.ID), EventID: d.Event, Credentials: e.credentials, Body: it.Payload,
	})
	w.attempted(ctx, span, d, result)
	try := webhooks.Try{Code: result.StatusCode, Error: string(result.Err), Snippet: result.Snippet, Duration: result.Duration}
	if !result.Delivered() {
		again, more := d.PauseAsked(w.Jitter(), result.Wait)
		try.Again, try.GiveUp = again, !more
	}
	var gone *webhooks.Subscription
	if result.Gone() {
		gone = &e.sub
	}
	return outcome{try, w.TimeOf(d.Scope), gone, e.sub.Circuit.Failures, span.Ref()}, tried
}

// sentPrefix begins the id of a delivery in requests to endpoints (HOOK-9).
const sentPrefix = "dlv_"

func sentID(id string) string { return sentPrefix + strings.TrimPrefix(id, webhooks.DeliveryPrefix) }

// storedID is the stored form of a sent id. A stored id stays as it is.
func storedID(id string) string {
	if suffix, ok := strings.CutPrefix(id, sentPrefix); ok {
		return webhooks.DeliveryPrefix + suffix
	}
	return id
}

// post delivers to our own inbox within the process, whatever the service's address is, and to all
// other endpoints over the network.
func (w *Webhooks) post(ctx context.Context, e endpoint, d webhooks.Delivery, m sender.Message) sender.Result {
	if e.sub.Managed {
		return w.postInbox(ctx, e, d, m)
	}
	return w.Sender.Send(ctx, d.Live, m)
}

// tried writes the outcome of a try. If the delivery has changed meanwhile, the outcome is dropped,
// unless the change was a replay. The effect of a 410 on the endpoint is written in the same
// commit. So whoever enables the endpoint again finds no delivery under way that was given up
// already, and a replay misses nothing (EVT-17).
func (w *Webhooks) tried(ctx context.Context, d webhooks.Delivery, t outcome) {
	if t.gone != nil {
		done, _ := w.endpoints.Lock(context.WithoutCancel(ctx), d.Subscription) // Lock fails only when its context ends, and this one does not end
		defer done()
	}
	read := d
	err := base.Again(func() error {
		change, try := pay.Change{}, t.Try
		if t.gone != nil {
			var err error
			if change, err = w.goneFrom(ctx, *t.gone); err != nil {
				return err
			}
			try.GiveUp = try.GiveUp || len(change.Subscriptions) > 0
		}
		next, changed := read.Tried(try, t.at), true
		if read.Version != d.Version {
			next, changed = read.Overtaken(try, t.at)
		}
		if changed {
			change.Deliveries = []webhooks.Delivery{next}
		} else if t.gone == nil {
			return nil
		}
		err := w.Store.Commit(ctx, change)
		if errors.Is(err, store.ErrStale) {
			var lost error
			if read, lost = w.Store.Deliveries().Any(ctx, d.ID); lost != nil {
				return lost
			}
		}
		return err
	})
	if err != nil {
		w.Quiet.ComesAgain(ctx, d.Live, "the outcome of a delivery was not written; the delivery is retried later", err, "delivery", d.ID)
	}
	if t.gone != nil {
		w.subs.Forget(d.Subscription)
		w.deliver.wake()
	}
}

// goneFrom disables an endpoint that answered 410. If it is disabled already, the change keeps it
// disabled. If it was written since the request was made, nothing changes: it may have a new address,
// or its owner may have enabled it again. The next try asks the endpoint as it is now.
func (w *Webhooks) goneFrom(ctx context.Context, asked webhooks.Subscription) (pay.Change, error) {
	sub, err := w.Store.Subscriptions().Any(ctx, asked.ID)
	if err != nil || sub.URL != asked.URL {
		return pay.Change{}, err
	}
	if sub.Status != webhooks.Enabled {
		return pay.Change{Subscriptions: []webhooks.Subscription{sub.Unchanged()}}, nil
	}
	if sub.Version != asked.Version {
		return pay.Change{}, nil
	}
	return w.disabling(sub, "the endpoint answered 410 Gone"), nil
}

// nextDelivery is when the next delivery is due, or the next endpoint with waiting deliveries.
func (w *Webhooks) nextDelivery(ctx context.Context) (time.Time, error) {
	due, err := w.Store.NextDue(ctx)
	if err != nil {
		return time.Time{}, err
	}
	next := due[base.DeliveriesLoop]
	stalled, err := w.Store.Subscriptions().Stalled(ctx)
	for _, s := range stalled {
		at := w.Now()
		if s.Circuit.Open {
			at = s.Circuit.Since.Add(webhooks.HopelessAfter)
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

// Loop sends due deliveries.
func (w *Webhooks) Loop() work.Loop {
	l := w.Woken(base.DeliveriesLoop, w.Dispatch)
	l.Next = w.nextDelivery
	return l
}
