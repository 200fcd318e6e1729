package delivery

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/hook"
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
// delays nobody else. In a lane the events of one object go one after the other
// (docs/decisions/order.md).
type dispatcher struct {
	app      *Webhooks
	workers  sync.WaitGroup
	outcomes chan struct{} // a slot for each outcome that is being written
	crowd    *crowd
	parked   atomic.Int64 // deliveries, since the start
	late     atomic.Int64 // those that were given back to wait for an earlier event

	mu      sync.Mutex // owns what follows
	lanes   map[string]*lane
	parking []store.Parking
	waiting []store.Postponement // for an earlier event; as many as parking at most
	closed  bool
}

// item is a delivery that is leased to this node.
type item struct {
	store.Dispatch
	probe bool // it was claimed as the try at an endpoint whose circuit is open
}

// line is what waits in a lane to tell of one object, in the order in which it
// happened.
type line struct {
	object string
	items  []*item
	busy   bool // one of it is under way: the others wait for it
}

// add puts a delivery where it belongs.
func (n *line) add(it *item) {
	place := it.Delivery.Place()
	at := len(n.items)
	for at > 0 && n.items[at-1].Delivery.Place() > place {
		at--
	}
	n.items = slices.Insert(n.items, at, it)
}

// lane is what waits for one endpoint.
type lane struct {
	subscription string
	queue        []*line // that have something to send, and nothing under way
	lines        map[string]*line
	waiting      int // deliveries in lines
	// held are objects whose first try failed, and when the next one is, until the outcome is written and
	// everybody sees it.
	held    map[string]time.Time
	items   map[string]*item // waiting, under way, or whose outcome is being written
	active  int              // workers
	failing bool
	pace    time.Duration // how long its tries take
	health  heartbeat
}

func newDispatcher(a *Webhooks) *dispatcher {
	return &dispatcher{
		app: a, lanes: map[string]*lane{}, outcomes: make(chan struct{}, outcomeLimit), crowd: newCrowd(),
	}
}

// look makes Dispatch look at once.
func (d *dispatcher) look() { d.app.Alarms[base.DeliveriesLoop].Set(time.Time{}.Add(1)) }

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
		l = &lane{subscription: next.Subscription, lines: map[string]*line{}, items: map[string]*item{}, held: map[string]time.Time{}}
	}
	// One that was replayed meanwhile is another version, and is sent again.
	if known := l.items[next.ID]; known != nil && known.Delivery.Version >= next.Version {
		known.Delivery.DueAt = next.DueAt // it was leased again
		return
	}
	wanted := it.probe || next.Urgent
	if d.closed {
		return
	}
	if l.waiting >= l.limit() && !wanted {
		d.park(next)
		return
	}
	l.items[next.ID] = it
	d.lanes[next.Subscription] = l
	l.join(it, wanted)
	d.staff(l)
}

// join puts a delivery in the line of its object; first: before all other lines. What
// a person asks for again has a line of its own: it waits for nobody.
func (l *lane) join(it *item, first bool) {
	object := it.Delivery.About()
	if it.Delivery.Urgent {
		object = it.Delivery.ID
	}
	n := l.lines[object]
	if n == nil {
		n = &line{object: object}
		l.lines[object] = n
	}
	n.add(it)
	l.waiting++
	switch {
	case n.busy:
	case first:
		if at := slices.Index(l.queue, n); at >= 0 {
			l.queue = slices.Delete(l.queue, at, at+1)
		}
		l.queue = slices.Insert(l.queue, 0, n)
	case len(n.items) == 1:
		l.queue = append(l.queue, n)
	}
}

// take takes the next delivery that may be sent, and its line, which is busy until
// it is let go.
func (l *lane) take() (*line, *item) {
	n := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	it := n.items[0]
	n.items = n.items[1:]
	n.busy = true
	l.waiting--
	return n, it
}

// letGo lets go of a line: what waited in it is next.
func (l *lane) letGo(n *line) {
	n.busy = false
	if len(n.items) == 0 {
		delete(l.lines, n.object)
		return
	}
	l.queue = slices.Insert(l.queue, 0, n)
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
func (d *dispatcher) park(next *hook.Delivery) {
	if len(d.parking) < parkingLimit {
		d.parked.Add(1)
		d.parking = append(d.parking, store.Parking{ID: next.ID, Version: next.Version})
		d.app.Alarms[base.DeliveriesLoop].Set(d.app.Now().Add(parkingPause))
	}
}

// postpone gives a delivery back until a time. The caller holds mu.
func (d *dispatcher) postpone(next *hook.Delivery, until time.Time) {
	if len(d.waiting) < parkingLimit {
		d.late.Add(1)
		d.waiting = append(d.waiting, store.Postponement{ID: next.ID, Leased: next.DueAt, Until: until})
		d.app.Alarms[base.DeliveriesLoop].Set(d.app.Now().Add(parkingPause))
	}
}

// holdBack lets what waits in a line come due together with one that is tried again
// then. The caller holds mu.
func (d *dispatcher) holdBack(l *lane, n *line, until time.Time) {
	n.items = slices.DeleteFunc(n.items, func(it *item) bool {
		if !it.Delivery.Waits(until) {
			return false
		}
		l.waiting--
		d.postpone(&it.Delivery, until)
		if l.items[it.Delivery.ID] == it {
			delete(l.items, it.Delivery.ID)
		}
		return true
	})
}

// has reports whether this node has a delivery in hand. An earlier one of an object that
// is being sent about was sent then: what waits in the same line is behind.
func (d *dispatcher) has(l *lane, id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return l.items[id] != nil
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
	return max(0, l.limit()-l.waiting)
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
		n, first := l.take()
		d.mu.Unlock()

		leave, _ := d.crowd.enter(context.Background(), first.Delivery.Scope) // it fails with its context alone
		d.mu.Lock()
		it, closed := *first, d.closed // its lease may have been renewed in the lane
		until, held := l.held[n.object]
		d.mu.Unlock()
		try, fate, now := outcome{}, dropped, d.app.TimeOf(it.Delivery.Scope)
		switch {
		case closed:
		case held && it.Delivery.Waits(until) && it.Delivery.Waits(now):
			if soon := now.Add(aheadPause); until.Before(soon) {
				until = soon // the outcome is still on its way
			}
			try, fate = outcome{at: until}, postponed
		default:
			try, fate = d.app.send(context.Background(), it, func(id string) bool { return d.has(l, id) })
		}
		leave()
		d.mu.Lock()
		if fate == tried && try.retries(it.Delivery) {
			again := try.at.Add(try.Again)
			l.held[it.Delivery.About()] = again
			d.holdBack(l, n, again)
		}
		l.letGo(n)
		if fate == tried {
			l.failing = try.Error != ""
			l.paced(try.Duration)
			l.health.known = max(l.health.known, try.failures)
			d.staff(l)
			d.mu.Unlock()
			d.note(l, first, it.Delivery, try)
			continue
		}
		switch fate {
		case parked:
			d.park(&it.Delivery)
		case postponed:
			d.postpone(&it.Delivery, try.at)
		}
		d.forget(l, first)
		d.mu.Unlock()
	}
}

// note writes the outcome of a try while the lane goes on.
func (d *dispatcher) note(l *lane, it *item, sent hook.Delivery, try outcome) {
	d.outcomes <- struct{}{}
	d.workers.Go(func() {
		defer func() { <-d.outcomes }()
		d.app.tried(d.app.Tracer.Within(context.Background(), try.trace), sent, try)
		d.mu.Lock()
		if try.retries(sent) {
			delete(l.held, sent.About())
		}
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
