package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
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
func (a *Webhooks) Dispatch(ctx context.Context) (int, error) {
	if err := a.parkWaiting(ctx); err != nil {
		return 0, err
	}
	now := a.Now()
	due, err := a.Store.LeaseDeliveries(ctx, now, now.Add(base.DispatchLease), dispatchBatch)
	if err != nil {
		return 0, err
	}
	a.deliver.submit(due)
	unstalled, err := a.unstall(ctx)
	return len(due) + unstalled, err
}

// parkWaiting parks what lanes had no room for, and what waits for an endpoint
// whose circuit is open. It gives back what waits for an earlier event.
func (a *Webhooks) parkWaiting(ctx context.Context) error {
	a.deliver.mu.Lock()
	list, waiting := a.deliver.parking, a.deliver.waiting
	a.deliver.parking, a.deliver.waiting = nil, nil
	a.deliver.mu.Unlock()
	slices.SortFunc(list, func(x, y store.Parking) int { return strings.Compare(x.ID, y.ID) }) // whoever was first
	for part := range slices.Chunk(list, dispatchBatch) {
		if err := a.Store.Park(ctx, part); err != nil {
			return err // what is left comes due when its lease ends
		}
	}
	slices.SortFunc(waiting, func(x, y store.Postponement) int { return strings.Compare(x.ID, y.ID) })
	for part := range slices.Chunk(waiting, dispatchBatch) {
		if err := a.Store.Postpone(ctx, part); err != nil {
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
	pay.Try
	at       time.Time // it ended; of one that is postponed: until when
	gone     string    // the address that answered 410
	failures int       // in a row
	trace    trace.Ref // the try's span
}

// retries reports whether a delivery's first try failed, and a second one follows.
func (o outcome) retries(d pay.Delivery) bool {
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
func (a *Webhooks) ahead(ctx context.Context, d pay.Delivery, to pay.Subscription, has func(id string) bool) (until time.Time, err error) {
	now := a.TimeOf(d.Scope)
	if !d.Waits(now) {
		return time.Time{}, nil
	}
	before := slices.DeleteFunc(d.Before(to), has)
	if len(before) == 0 {
		return time.Time{}, nil
	}
	list, err := a.Store.DeliveriesAhead(ctx, before)
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
func (a *Webhooks) send(ctx context.Context, it item, has func(id string) bool) (outcome, fate) {
	d := it.Delivery
	if a.TimeOf(d.Scope).Add(leaseRest).After(d.DueAt) {
		return outcome{}, dropped // the lease is about to end
	}
	e, err := a.endpoint(ctx, d.Subscription)
	if err != nil {
		a.ComesAgain(ctx, "a delivery's endpoint cannot be read; it comes again", err, "delivery", d.ID)
		return outcome{}, dropped
	}
	if e.sub.Status != pay.Enabled {
		return outcome{}, parked // what is known here may be old: unstall gives up what it finds disabled itself
	}
	if e.sub.Circuit.Open && !it.probe && !d.Urgent && (a.TimeOf(d.Scope).Before(e.sub.Circuit.ProbeAt) || !a.claim(ctx, e.sub.ID)) {
		return outcome{}, parked
	}
	var until time.Time
	if !it.probe {
		until, err = a.ahead(ctx, d, e.sub, has)
	}
	if err != nil {
		a.ComesAgain(ctx, "what is to be delivered before a delivery cannot be read; it comes again", err, "delivery", d.ID)
		return outcome{}, dropped
	}
	if !until.IsZero() {
		return outcome{at: until}, postponed
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
	gone := ""
	if result.Gone() {
		gone = e.sub.URL
	}
	return outcome{try, a.TimeOf(d.Scope), gone, e.sub.Circuit.Failures, span.Ref()}, tried
}

// sentPrefix starts a delivery's id on the wire (HOOK-9).
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
func (a *Webhooks) post(ctx context.Context, e endpoint, live bool, m webhook.Message) webhook.Result {
	if e.sub.Managed {
		return a.postInbox(ctx, e.sub, m)
	}
	return a.Sender.Send(ctx, live, m)
}

// tried writes the outcome of a try. A stale one is dropped: whoever had the
// delivery meanwhile has written his. Only a replay leaves it something to say. What a
// 410 does to the endpoint is written with it: who enables the endpoint again finds
// nothing on its way that is given up already, and a replay leaves nothing out (EVT-17).
func (a *Webhooks) tried(ctx context.Context, d pay.Delivery, t outcome) {
	if t.gone != "" {
		defer a.Turns.Take(endpointTurn + d.Subscription)()
	}
	read := d
	err := base.Again(func() error {
		change, try := pay.Change{}, t.Try
		if t.gone != "" {
			var err error
			if change, err = a.goneFrom(ctx, d.Subscription, t.gone); err != nil {
				return err
			}
			try.GiveUp = try.GiveUp || len(change.Subscriptions) > 0
		}
		next, changed := read.Tried(try, t.at), true
		if read.Version != d.Version {
			next, changed = read.Overtaken(try, t.at)
		}
		if changed {
			change.Deliveries = []pay.Delivery{next}
		} else if t.gone == "" {
			return nil
		}
		err := a.Store.Commit(ctx, change)
		if errors.Is(err, store.ErrStale) {
			var lost error
			if read, lost = a.Store.AnyDelivery(ctx, d.ID); lost != nil {
				return lost
			}
		}
		return err
	})
	if err != nil {
		a.ComesAgain(ctx, "the outcome of a delivery is not written; it comes again", err, "delivery", d.ID)
	}
	if t.gone != "" {
		a.subs.Forget(d.Subscription)
		a.deliver.look()
	}
}

// goneFrom disables an endpoint whose address answered 410. Where it is disabled already it stays so until
// the change is written. A new address has not said so: then there is nothing to change.
func (a *Webhooks) goneFrom(ctx context.Context, subscription, address string) (pay.Change, error) {
	sub, err := a.Store.AnySubscription(ctx, subscription)
	if err != nil || sub.URL != address {
		return pay.Change{}, err
	}
	if sub.Status != pay.Enabled {
		return pay.Change{Subscriptions: []pay.Subscription{sub.Unchanged()}}, nil
	}
	return a.disabling(sub, "the endpoint answered 410 Gone"), nil
}

// nextDelivery tells when a delivery is due, or an endpoint that deliveries wait for.
func (a *Webhooks) nextDelivery(ctx context.Context) (time.Time, error) {
	due, err := a.Store.NextDue(ctx)
	if err != nil {
		return time.Time{}, err
	}
	next := due[base.DeliveriesLoop]
	stalled, err := a.Store.Stalled(ctx)
	for _, s := range stalled {
		at := a.Now()
		if s.Circuit.Open {
			at = s.Circuit.Since.Add(pay.HopelessAfter)
			if s.Parked && s.Circuit.ProbeAt.Before(at) {
				at = s.Circuit.ProbeAt
			}
			at = at.Add(-a.Advance(s.Scope))
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, err
}

// Loop sends what is due.
func (a *Webhooks) Loop() work.Loop {
	l := a.Woken(base.DeliveriesLoop, a.Dispatch)
	l.Next = a.nextDelivery
	return l
}
