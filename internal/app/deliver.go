package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/webhook"
)

const (
	// leaseRest is what must be left of a delivery's lease to start a try: a
	// try takes at most ten seconds.
	leaseRest = 12 * time.Second

	dispatchBatch = 500
	dispatchLease = 30 * time.Second
)

// Dispatch parks deliveries that have no room, leases those that are due and
// sends them. It returns how many it took.
func (a *App) Dispatch(ctx context.Context) (int, error) {
	if err := a.parkWaiting(ctx); err != nil {
		return 0, err
	}
	now := a.Now()
	due, err := a.store.LeaseDeliveries(ctx, now, now.Add(dispatchLease), dispatchBatch)
	if err != nil {
		return 0, err
	}
	a.deliver.submit(due)
	unstalled, err := a.unstall(ctx)
	return len(due) + unstalled, err
}

// parkWaiting parks what lanes had no room for, and what waits for an endpoint
// whose circuit is open.
func (a *App) parkWaiting(ctx context.Context) error {
	a.deliver.mu.Lock()
	list := a.deliver.parking
	a.deliver.parking = nil
	a.deliver.mu.Unlock()
	slices.SortFunc(list, func(x, y store.Parking) int { return strings.Compare(x.ID, y.ID) }) // whoever was first
	for len(list) > 0 {
		n := min(len(list), dispatchBatch)
		if err := a.store.Park(ctx, list[:n]); err != nil {
			return err // what is left comes due when its lease ends
		}
		list = list[n:]
	}
	return nil
}

// fate is what became of a delivery that was taken from its lane.
type fate int

const (
	tried   fate = iota // its outcome is to be written
	dropped             // it comes due again, or is done with
	parked              // it is to wait for its endpoint
)

// outcome is a try with what was known of the endpoint before.
type outcome struct {
	pay.Try
	at       time.Time // it ended
	failures int       // in a row
	trace    trace.Ref // the try's span
}

// send tries one delivery.
func (a *App) send(ctx context.Context, it item) (outcome, fate) {
	d := it.Delivery
	if a.now(d.Scope).Add(leaseRest).After(d.DueAt) {
		return outcome{}, dropped // the lease is about to end
	}
	e, err := a.endpoint(ctx, d.Subscription)
	if err != nil {
		a.comesAgain(ctx, "a delivery's endpoint cannot be read; it comes again", err, "delivery", d.ID)
		return outcome{}, dropped
	}
	if e.sub.Status != pay.Enabled {
		if err := a.abandon(ctx, []store.Dispatch{it.Dispatch}); err != nil {
			a.comesAgain(ctx, "a delivery to a disabled endpoint is not ended; it comes again", err, "delivery", d.ID)
		}
		return outcome{}, dropped
	}
	if e.sub.Circuit.Open && !it.probe && !d.Urgent && (a.now(d.Scope).Before(e.sub.Circuit.ProbeAt) || !a.claim(ctx, e.sub.ID)) {
		return outcome{}, parked
	}
	ctx, span := a.delivering(ctx, it, e.sub.URL)
	result := a.post(ctx, e, d.Live, webhook.Message{
		URL: e.sub.URL, Secret: e.secret, PreviousSecret: e.previous, Event: string(d.EventType),
		DeliveryID: sentID(d.ID), EventID: d.Event, Body: it.Payload,
	})
	a.attempted(ctx, span, d, result)
	try := pay.Try{Code: result.StatusCode, Error: string(result.Err), Snippet: result.Snippet, Duration: result.Duration}
	if !result.Delivered() {
		// The budget grows with each replay; the schedule begins again then.
		tries := d.Attempts + 1 - (d.Budget - pay.DeliveryTries)
		again, more := webhook.Backoff(max(1, tries), a.Jitter())
		try.Again, try.GiveUp = again, !more
	}
	if result.Gone() {
		try.GiveUp = true
		a.disable(ctx, e.sub.ID, e.sub.URL, "the endpoint answered 410 Gone")
	}
	return outcome{try, a.now(d.Scope), e.sub.Circuit.Failures, span.Ref()}, tried
}

// sentPrefix starts a delivery's id on the wire (gaps: Contradictions, 1).
const sentPrefix = "dlv_"

func sentID(id string) string { return sentPrefix + strings.TrimPrefix(id, pay.DeliveryPrefix) }

// storedID is the way back; an id that is stored already stays.
func storedID(id string) string {
	if suffix, ok := strings.CutPrefix(id, sentPrefix); ok {
		return pay.DeliveryPrefix + suffix
	}
	return id
}

// post hands a delivery over: to our own inbox within the process, whatever
// address the service has, to all others over the network.
func (a *App) post(ctx context.Context, e endpoint, live bool, m webhook.Message) webhook.Result {
	if e.sub.Managed {
		return a.postInbox(ctx, e.sub, m)
	}
	return a.Sender.Send(ctx, live, m)
}

// tried writes the outcome of a try. A stale one is dropped: whoever had the
// delivery meanwhile has written his. Only a replay leaves it something to say.
func (a *App) tried(ctx context.Context, d pay.Delivery, t outcome) {
	err := a.store.Commit(ctx, pay.Change{Deliveries: []pay.Delivery{d.Tried(t.Try, t.at)}})
	if errors.Is(err, store.ErrStale) {
		err = again(func() error {
			read, err := a.store.AnyDelivery(ctx, d.ID)
			if err != nil {
				return err
			}
			next, changed := read.Overtaken(t.Try, t.at)
			if !changed {
				return nil
			}
			return a.store.Commit(ctx, pay.Change{Deliveries: []pay.Delivery{next}})
		})
	}
	if err != nil {
		a.comesAgain(ctx, "the outcome of a delivery is not written; it comes again", err, "delivery", d.ID)
	}
}
