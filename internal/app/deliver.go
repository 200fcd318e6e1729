package app

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/webhook"
)

const (
	// laneWidth is how many deliveries to one endpoint are under way at a time,
	// slowWidth how many while it fails.
	laneWidth = 32
	slowWidth = 2
	// laneLimit is how many wait for one endpoint in memory. Others wait in the
	// database, leased until their time comes again.
	laneLimit = 5000
	// outcomeLimit is how many outcomes of tries are being written at a time. A
	// lane goes on while they are: waiting for each commit would make an
	// endpoint's lane slower than the payments of a busy shop.
	outcomeLimit = 1024
	// leaseRest is what must be left of a delivery's lease to start a try: a
	// try takes at most ten seconds.
	leaseRest = 12 * time.Second

	dispatchBatch = 500
	dispatchLease = 30 * time.Second
)

// dispatcher sends deliveries, a lane for each endpoint, so that a slow one
// delays nobody else.
type dispatcher struct {
	app      *App
	workers  sync.WaitGroup
	outcomes chan struct{} // a slot for each outcome that is being written

	mu     sync.Mutex // owns what follows
	lanes  map[string]*lane
	closed bool
}

// lane is what waits for one endpoint.
type lane struct {
	queue   []store.Dispatch
	waiting map[string]bool // ids in queue or under way
	active  int
	failing bool
}

func newDispatcher(a *App) *dispatcher {
	return &dispatcher{app: a, lanes: map[string]*lane{}, outcomes: make(chan struct{}, outcomeLimit)}
}

// submit takes deliveries that are leased to this node. It never blocks: what
// has no room stays leased and comes due again.
func (d *dispatcher) submit(list []store.Dispatch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	for _, next := range list {
		l := d.lanes[next.Delivery.Subscription]
		if l == nil {
			l = &lane{waiting: map[string]bool{}}
			d.lanes[next.Delivery.Subscription] = l
		}
		if len(l.queue) >= laneLimit || l.waiting[next.Delivery.ID] {
			continue
		}
		l.waiting[next.Delivery.ID] = true
		l.queue = append(l.queue, next)
		if l.active < l.width() {
			l.active++
			d.workers.Go(func() { d.work(next.Delivery.Subscription, l) })
		}
	}
}

func (l *lane) width() int {
	if l.failing {
		return slowWidth
	}
	return laneWidth
}

// work sends what waits in a lane until nothing does.
func (d *dispatcher) work(subscription string, l *lane) {
	for {
		d.mu.Lock()
		if len(l.queue) == 0 || d.closed || l.active > l.width() {
			l.active--
			if l.active == 0 && len(l.queue) == 0 {
				delete(d.lanes, subscription)
			}
			d.mu.Unlock()
			return
		}
		next := l.queue[0]
		l.queue = l.queue[1:]
		d.mu.Unlock()

		try, tried := d.app.send(context.Background(), next)
		d.mu.Lock()
		l.failing = tried && try.Error != ""
		if !tried {
			delete(l.waiting, next.Delivery.ID)
		}
		d.mu.Unlock()
		if !tried {
			continue
		}
		d.outcomes <- struct{}{}
		d.workers.Go(func() {
			defer func() { <-d.outcomes }()
			d.app.tried(context.Background(), next.Delivery, try)
			d.mu.Lock()
			delete(l.waiting, next.Delivery.ID)
			d.mu.Unlock()
		})
	}
}

// drain ends the dispatcher after the tries that are under way. What waits
// stays in the database.
func (d *dispatcher) drain() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.workers.Wait()
}

// Dispatch leases deliveries that are due and sends them. It returns how many
// it took.
func (a *App) Dispatch(ctx context.Context) (int, error) {
	now := a.Now()
	due, err := a.store.LeaseDeliveries(ctx, now, now.Add(dispatchLease), dispatchBatch)
	if err != nil {
		return 0, err
	}
	a.deliver.submit(due)
	return len(due), nil
}

// send tries one delivery, whose outcome is to be written. It reports false
// where it did not try: the delivery comes due again.
func (a *App) send(ctx context.Context, d store.Dispatch) (pay.Try, bool) {
	if a.now(d.Delivery.Scope).Add(leaseRest).After(d.Delivery.DueAt) {
		return pay.Try{}, false // the lease is about to end
	}
	e, err := a.endpoint(ctx, d.Delivery.Subscription)
	if err != nil {
		a.Log.Error("a delivery's endpoint cannot be read; it comes again", "delivery", d.Delivery.ID, "error", err)
		return pay.Try{}, false
	}
	if e.sub.Status != pay.Enabled {
		return pay.Try{Error: "disabled", GiveUp: true}, true
	}
	result := a.Sender.Send(ctx, d.Delivery.Live, webhook.Message{
		URL: e.sub.URL, Secret: e.secret, PreviousSecret: e.previous, Event: string(d.Delivery.EventType),
		DeliveryID: "dlv_" + strings.TrimPrefix(d.Delivery.ID, pay.DeliveryPrefix), EventID: d.Delivery.Event, Body: d.Payload,
	})
	try := pay.Try{Code: result.StatusCode, Error: string(result.Err), Snippet: result.Snippet, Duration: result.Duration}
	if !result.Delivered() {
		// The budget grows with each replay; the schedule begins again then.
		tries := d.Delivery.Attempts + 1 - (d.Delivery.Budget - webhook.MaxTries)
		again, more := webhook.Backoff(max(1, tries), rand.Float64())
		try.Again, try.GiveUp = again, !more
	}
	if result.Gone() {
		try.GiveUp = true
		a.disable(ctx, e.sub, "the endpoint answered 410 Gone")
	}
	return try, true
}

// tried writes the outcome of a try. A stale one is dropped: whoever had the
// delivery meanwhile has written his.
func (a *App) tried(ctx context.Context, d pay.Delivery, t pay.Try) {
	err := a.store.Commit(ctx, pay.Change{Deliveries: []pay.Delivery{d.Tried(t, a.now(d.Scope))}})
	if err != nil && !errors.Is(err, store.ErrStale) {
		a.Log.Error("the outcome of a delivery is not written; it comes again", "delivery", d.ID, "error", err)
	}
}

// disable stops an endpoint that does not want to be called again.
func (a *App) disable(ctx context.Context, sub pay.Subscription, reason string) {
	err := a.store.Commit(ctx, pay.Change{
		Subscriptions: []pay.Subscription{sub.Disable(reason, a.now(sub.Scope))},
		Audit:         a.audit(pay.Actor{Kind: pay.BySystem}, sub.Scope, pay.WebhookDisabled, sub.ID, map[string]string{"reason": reason}),
	})
	if err != nil && !errors.Is(err, store.ErrStale) {
		a.Log.Error("an endpoint is not disabled", "subscription", sub.ID, "error", err)
	}
	a.subs.forget(sub.ID)
}
