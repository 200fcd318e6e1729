package app

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

const (
	// laneWidth is how many deliveries to one endpoint are under way at a time,
	// slowWidth how many while it fails.
	laneWidth = 32
	slowWidth = 2
	// laneAhead is how much work waits for one endpoint in memory, by the pace
	// at which it answered of late, and laneLimit how many deliveries that is at
	// most. Others are parked: they wait in the database.
	laneAhead = 10 * time.Second
	laneLimit = 5000
	// unknownPace is that of an endpoint that was not called lately: it may be dead.
	unknownPace = time.Second
	// parkingLimit is how many deliveries wait to be parked. What is beyond it
	// comes due again when its lease ends.
	parkingLimit = 50_000
	// parkingPause is how long they are gathered: each look of the loop reads all endpoints
	// that deliveries wait for.
	parkingPause = 100 * time.Millisecond
	// outcomeLimit is how many outcomes of tries are being written at a time. A
	// lane goes on while they are: waiting for each commit would make an
	// endpoint's lane slower than the payments of a busy shop.
	outcomeLimit = 1024
)

// dispatcher sends deliveries, a lane for each endpoint, so that a slow one
// delays nobody else.
type dispatcher struct {
	app      *App
	workers  sync.WaitGroup
	outcomes chan struct{} // a slot for each outcome that is being written
	crowd    *crowd
	parked   atomic.Int64 // deliveries, since the start

	mu      sync.Mutex // owns what follows
	lanes   map[string]*lane
	parking []store.Parking
	closed  bool
}

// item is a delivery that is leased to this node.
type item struct {
	store.Dispatch
	probe bool // it was claimed as the try at an endpoint whose circuit is open
}

// lane is what waits for one endpoint.
type lane struct {
	subscription string
	queue        []*item
	items        map[string]*item // in queue, under way, or whose outcome is being written
	active       int              // workers
	failing      bool
	pace         time.Duration // how long its tries take
	health       heartbeat
}

func newDispatcher(a *App) *dispatcher {
	return &dispatcher{
		app: a, lanes: map[string]*lane{}, outcomes: make(chan struct{}, outcomeLimit), crowd: newCrowd(),
	}
}

// look makes Dispatch look at once.
func (d *dispatcher) look() { d.app.alarms[deliveriesLoop].Set(time.Time{}.Add(1)) }

// submit takes deliveries that are leased to this node, or were parked when
// they were made. It never blocks.
func (d *dispatcher) submit(list []store.Dispatch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, next := range list {
		if !next.Delivery.Parked {
			d.add(&item{Dispatch: next})
		}
	}
}

// add puts a delivery in its lane. The caller holds mu.
func (d *dispatcher) add(it *item) {
	next := &it.Delivery
	l := d.lanes[next.Subscription]
	if l == nil {
		l = &lane{subscription: next.Subscription, items: map[string]*item{}}
	}
	// One that was replayed meanwhile is another version, and is sent again.
	if known := l.items[next.ID]; known != nil && known.Delivery.Version >= next.Version {
		known.Delivery.DueAt = next.DueAt // it was leased again
		return
	}
	wanted := it.probe || next.Urgent
	switch {
	case d.closed:
		return
	case len(l.queue) >= l.limit() && !wanted:
		d.park(next)
		return
	case wanted:
		l.queue = slices.Insert(l.queue, 0, it)
	default:
		l.queue = append(l.queue, it)
	}
	l.items[next.ID] = it
	d.lanes[next.Subscription] = l
	d.staff(l)
}

// staff starts as many workers as the lane may have and needs. The caller
// holds mu.
func (d *dispatcher) staff(l *lane) {
	for range min(l.width()-l.active, len(l.queue)) {
		l.active++
		d.workers.Go(func() { d.work(l) })
	}
}

// park lets a delivery wait in the database. The caller holds mu.
func (d *dispatcher) park(next *pay.Delivery) {
	if len(d.parking) < parkingLimit {
		d.parked.Add(1)
		d.parking = append(d.parking, store.Parking{ID: next.ID, Version: next.Version})
		d.app.alarms[deliveriesLoop].Set(d.app.Now().Add(parkingPause))
	}
}

func (l *lane) width() int {
	if l.failing {
		return slowWidth
	}
	return laneWidth
}

// limit is how many deliveries may wait in memory.
func (l *lane) limit() int {
	pace := l.pace
	if pace == 0 {
		pace = unknownPace
	}
	return min(max(l.width()*int(laneAhead/max(pace, time.Millisecond)), laneWidth), laneLimit)
}

// paced notes how long a try took.
func (l *lane) paced(took time.Duration) {
	if l.pace == 0 {
		l.pace = took
	}
	l.pace = (7*l.pace + took) / 8
}

// room is how many more deliveries an endpoint's lane takes.
func (d *dispatcher) room(subscription string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[subscription]
	if l == nil {
		return laneLimit
	}
	return max(0, l.limit()-len(l.queue))
}

// work sends what waits in a lane until nothing does.
func (d *dispatcher) work(l *lane) {
	for {
		d.mu.Lock()
		if len(l.queue) == 0 || d.closed || l.active > l.width() {
			l.active--
			d.leave(l)
			d.mu.Unlock()
			return
		}
		first := l.queue[0]
		l.queue[0] = nil
		l.queue = l.queue[1:]
		d.mu.Unlock()

		leave, _ := d.crowd.enter(context.Background(), first.Delivery.Scope) // it fails with its context alone
		d.mu.Lock()
		it, closed := *first, d.closed // its lease may have been renewed in the lane
		d.mu.Unlock()
		try, fate := outcome{}, dropped
		if !closed {
			try, fate = d.app.send(context.Background(), it)
		}
		leave()
		d.mu.Lock()
		if fate == tried {
			l.failing = try.Error != ""
			l.paced(try.Duration)
			l.health.known = max(l.health.known, try.failures)
			d.staff(l)
			d.mu.Unlock()
			d.note(l, first, it.Delivery, try)
			continue
		}
		if fate == parked {
			d.park(&it.Delivery)
		}
		d.forget(l, first)
		d.mu.Unlock()
	}
}

// note writes the outcome of a try while the lane goes on.
func (d *dispatcher) note(l *lane, it *item, sent pay.Delivery, try outcome) {
	d.outcomes <- struct{}{}
	d.workers.Go(func() {
		defer func() { <-d.outcomes }()
		d.app.tried(d.app.Tracer.Within(context.Background(), try.trace), sent, try)
		d.mu.Lock()
		l.health.beat(try.Error == "", try.at)
		d.forget(l, it)
		d.mu.Unlock()
		d.report(l)
	})
}

// forget takes a delivery out of its lane. The caller holds mu.
func (d *dispatcher) forget(l *lane, it *item) {
	if l.items[it.Delivery.ID] == it { // and not a later version of it
		delete(l.items, it.Delivery.ID)
	}
	d.leave(l)
}

// leave gives up a lane that has nothing left to do. The caller holds mu.
func (d *dispatcher) leave(l *lane) {
	if l.active == 0 && len(l.items) == 0 && l.health.quiet() {
		delete(d.lanes, l.subscription)
	}
}

// idle reports whether nobody is sending. The caller holds mu.
func (d *dispatcher) idle(l *lane) bool { return l.active == 0 || len(l.items) == 0 || d.closed }

// drain ends the dispatcher after the tries that are under way. What waits
// stays in the database.
func (d *dispatcher) drain() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.workers.Wait()
}
