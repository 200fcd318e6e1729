package webhooks

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/work"
)

const (
	// laneWidth is how many deliveries to one endpoint run at the same time; slowWidth while it
	// fails.
	laneWidth = 32
	slowWidth = 2
	// laneAhead is how much work for one endpoint waits in memory, at its recent pace. laneLimit is
	// the most deliveries. Further ones are parked: they wait in the database.
	laneAhead = 10 * time.Second
	laneLimit = 5000
	// unknownPace is the assumed pace of an endpoint that was not called lately: it may be dead.
	unknownPace = time.Second
	// parkingLimit is how many deliveries wait to be parked. Further ones come due again when their
	// lease ends.
	parkingLimit = 50_000
	// parkingPause is how long they are gathered: each look of the loop reads all endpoints with
	// parked deliveries.
	parkingPause = 100 * time.Millisecond
	// outcomeLimit is how many outcomes are written at the same time. The lane continues meanwhile:
	// if it waited for each commit, a busy shop would make payments faster than its lane could
	// deliver.
	outcomeLimit = 1024
	// crowdLimit is the most requests to the endpoints of an environment at the same time, and
	// crowdShare the most of one merchant. Each endpoint that answers slowly occupies a lane, and a
	// merchant may have many shops.
	crowdLimit = 2048
	crowdShare = 256
)

// crowd limits the requests to endpoints that are under way: one for the sandbox (false), one for production (true).
type crowd map[bool]*work.Turns

func newCrowd() crowd {
	return crowd{false: {Each: crowdShare, All: crowdLimit}, true: {Each: crowdShare, All: crowdLimit}}
}

// enter waits until a merchant may make one more request. The caller must call leave.
//
// Errors: the context's.
func (c crowd) enter(ctx context.Context, scope merchants.Scope) (leave func(), err error) {
	return c[scope.Live].Lock(ctx, scope.Merchant)
}

// dispatcher sends deliveries in a lane for each endpoint, so that a slow endpoint delays no other.
// In a lane the events of one object are sent one after the other (docs/decisions/order.md). Its
// courier tries deliveries, and writes the outcomes.
type dispatcher struct {
	*base.Base
	courier  courier
	crowd    crowd
	workers  sync.WaitGroup
	outcomes chan struct{} // a slot for each outcome that is being written

	mu      sync.Mutex // guards the fields below
	lanes   map[string]*lane
	parking []store.Parking
	waiting []store.Postponement // for an earlier event; at most as many as parking
	parked  int64                // deliveries, since the start
	late    int64                // deliveries that were given back to wait for an earlier event
	closed  bool
}

// courier is what a dispatcher needs to send deliveries. The dispatcher calls it without holding mu.
type courier interface {
	// send tries one delivery. has reports whether this node has a delivery to the same endpoint in hand.
	send(ctx context.Context, it item, has func(id string) bool) (outcome, fate)
	// tried writes the outcome of a try.
	tried(ctx context.Context, d webhooks.Delivery, t outcome)
	// recordAnswers writes the latest answers of an endpoint: whether one was a success, how many failures followed, and when the
	// last one came. It returns how many failures in a row the endpoint has now.
	recordAnswers(ctx context.Context, subscription string, success bool, failures int, at time.Time) int
}

// item is a delivery that is leased to this node.
type item struct {
	store.Dispatch
	probe bool // the delivery is the probe of an endpoint whose circuit is open
}

// line has the waiting deliveries about one object, in the order of their events.
type line struct {
	object string
	items  []*item
	busy   bool // one of its deliveries is under way: the others wait for it
}

// add puts a delivery in its place in the order.
func (li *line) add(it *item) {
	place := it.Delivery.Place()
	at := len(li.items)
	for at > 0 && li.items[at-1].Delivery.Place() > place {
		at--
	}
	li.items = slices.Insert(li.items, at, it)
}

// lane has the waiting deliveries to one endpoint.
type lane struct {
	subscription string
	queue        []*line // lines with something to send, and nothing under way
	lines        map[string]*line
	waiting      int // deliveries in lines
	// held are objects whose first try failed, with the time of the next try. They stay here until
	// the outcome is written.
	held    map[string]time.Time
	items   map[string]*item // waiting, under way, or with an outcome that is being written
	active  int              // workers
	failing bool
	pace    time.Duration // duration of its tries
	health  heartbeat
}

func newDispatcher(b *base.Base, c courier, limit crowd) *dispatcher {
	return &dispatcher{Base: b, courier: c, crowd: limit, lanes: map[string]*lane{}, outcomes: make(chan struct{}, outcomeLimit)}
}

// wake makes Dispatch check for work now.
func (d *dispatcher) wake() { d.Alarms[base.DeliveriesLoop].Set(base.AtOnce) }

// submit adds deliveries that are leased to this node, or were parked when they were made. It never
// blocks.
func (d *dispatcher) submit(list []store.Dispatch) { d.addAll(list, false) }

// probe adds the probe of an endpoint whose circuit is open. It never blocks.
func (d *dispatcher) probe(list []store.Dispatch) { d.addAll(list, true) }

func (d *dispatcher) addAll(list []store.Dispatch, probe bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, next := range list {
		if !next.Delivery.Parked {
			d.add(&item{next, probe})
		}
	}
}

// givenBack returns the deliveries that are to be parked, and those that wait for an earlier event, both oldest first. It
// returns each once.
func (d *dispatcher) givenBack() ([]store.Parking, []store.Postponement) {
	d.mu.Lock()
	parking, waiting := d.parking, d.waiting
	d.parking, d.waiting = nil, nil
	d.mu.Unlock()
	slices.SortFunc(parking, func(x, y store.Parking) int { return strings.Compare(x.ID, y.ID) })
	slices.SortFunc(waiting, func(x, y store.Postponement) int { return strings.Compare(x.ID, y.ID) })
	return parking, waiting
}

// counts returns how many deliveries were parked since the start, and how many given back to wait for an earlier event.
func (d *dispatcher) counts() (parked, late int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.parked, d.late
}

// add puts a delivery in its lane. The caller holds mu.
func (d *dispatcher) add(it *item) {
	next := &it.Delivery
	l := d.lanes[next.Subscription]
	if l == nil {
		l = &lane{subscription: next.Subscription, lines: map[string]*line{}, items: map[string]*item{}, held: map[string]time.Time{}}
	}
	// A delivery that was replayed meanwhile has a newer version and is sent again.
	if known := l.items[next.ID]; known != nil && known.Delivery.Version >= next.Version {
		known.Delivery.DueAt = next.DueAt // the delivery was leased again
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

// join puts a delivery in the line of its object. first: ahead of all other lines. A delivery that
// a person requested has a line of its own and does not wait.
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

// next takes the next delivery that may be sent, and its line, which is busy until letGo.
func (l *lane) next() (*line, *item) {
	n := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	it := n.items[0]
	n.items = n.items[1:]
	n.busy = true
	l.waiting--
	return n, it
}

// letGo releases a line: its next delivery may be sent.
func (l *lane) letGo(n *line) {
	n.busy = false
	if len(n.items) == 0 {
		delete(l.lines, n.object)
		return
	}
	l.queue = slices.Insert(l.queue, 0, n)
}

// staff starts as many workers as the lane needs and may have. The caller holds mu.
func (d *dispatcher) staff(l *lane) {
	for range min(l.width()-l.active, len(l.queue)) {
		l.active++
		d.workers.Go(func() { d.work(l) })
	}
}

// park leaves a delivery to wait in the database. The caller holds mu.
func (d *dispatcher) park(next *webhooks.Delivery) {
	if len(d.parking) < parkingLimit {
		d.parked++
		d.parking = append(d.parking, store.Parking{ID: next.ID, Version: next.Version})
		d.Alarms[base.DeliveriesLoop].Set(d.Now().Add(parkingPause))
	}
}

// postpone gives a delivery back until a time. The caller holds mu.
func (d *dispatcher) postpone(next *webhooks.Delivery, until time.Time) {
	if len(d.waiting) < parkingLimit {
		d.late++
		d.waiting = append(d.waiting, store.Postponement{ID: next.ID, Leased: next.DueAt, Until: until})
		d.Alarms[base.DeliveriesLoop].Set(d.Now().Add(parkingPause))
	}
}

// holdBack makes the waiting deliveries of a line due together with the one that is tried again
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

// has reports whether this node has a delivery in hand. An earlier delivery of the same object was
// sent already, because the ones in the same line wait behind it.
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

// paced records how long a try took.
func (l *lane) paced(took time.Duration) {
	if l.pace == 0 {
		l.pace = took
	}
	l.pace = (7*l.pace + took) / 8
}

// free is how many more deliveries fit into an endpoint's lane.
func (d *dispatcher) free(subscription string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[subscription]
	if l == nil {
		return laneLimit
	}
	return max(0, l.limit()-l.waiting)
}

// work sends the deliveries of a lane until it is empty.
func (d *dispatcher) work(l *lane) {
	for {
		d.mu.Lock()
		if len(l.queue) == 0 || d.closed || l.active > l.width() {
			l.active--
			d.leave(l)
			d.mu.Unlock()
			return
		}
		n, first := l.next()
		d.mu.Unlock()

		leave, _ := d.crowd.enter(context.Background(), first.Delivery.Scope) // enter fails only when its context ends, and this one does not end
		d.mu.Lock()
		it, closed := *first, d.closed // its lease may have been renewed in the lane
		until, held := l.held[n.object]
		d.mu.Unlock()
		try, fate, now := outcome{}, dropped, d.TimeOf(it.Delivery.Scope)
		switch {
		case closed:
		case held && it.Delivery.Waits(until) && it.Delivery.Waits(now):
			if soon := now.Add(aheadPause); until.Before(soon) {
				until = soon // the outcome is still being written
			}
			try, fate = outcome{at: until}, postponed
		default:
			try, fate = d.courier.send(context.Background(), it, func(id string) bool { return d.has(l, id) })
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
			d.recordTry(l, first, it.Delivery, try)
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

// recordTry writes the outcome of a try while the lane continues.
func (d *dispatcher) recordTry(l *lane, it *item, sent webhooks.Delivery, try outcome) {
	d.outcomes <- struct{}{}
	d.workers.Go(func() {
		defer func() { <-d.outcomes }()
		d.courier.tried(d.Tracer.Within(context.Background(), try.trace), sent, try)
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

// forget removes a delivery from its lane. The caller holds mu.
func (d *dispatcher) forget(l *lane, it *item) {
	if l.items[it.Delivery.ID] == it { // not if the lane has a later version of it
		delete(l.items, it.Delivery.ID)
	}
	d.leave(l)
}

// leave removes a lane that has nothing left to do. The caller holds mu.
func (d *dispatcher) leave(l *lane) {
	if l.active == 0 && len(l.items) == 0 && l.health.quiet() {
		delete(d.lanes, l.subscription)
	}
}

// idle reports whether nothing is being sent. The caller holds mu.
func (d *dispatcher) idle(l *lane) bool { return l.active == 0 || len(l.items) == 0 || d.closed }

// drain stops the dispatcher after the tries that are under way. Waiting deliveries stay in the
// database.
func (d *dispatcher) drain() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.workers.Wait()
}
