package webhooks_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/apptest"
	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/provider"
)

const (
	laneWidth = 32  // deliveries on their way to an endpoint at a time
	share     = 256 // requests on their way to the endpoints of a merchant
)

// watch counts the deliveries that are on their way to an endpoint, and holds them.
type watch struct {
	mu      sync.Mutex     // guards the fields below
	open    map[string]int // deliveries on their way, by object
	doubled []string       // objects with two deliveries at a time
	held    chan struct{}  // when closed, no delivery is held
	fail    map[string]int // how many more deliveries to answer with 500, by event type
}

// watched makes an endpoint hold its deliveries until release, at the latest when the test ends.
func watched(t *testing.T, r *receiver) (w *watch, release func()) {
	w = &watch{open: map[string]int{}, held: make(chan struct{}), fail: map[string]int{}}
	release = sync.OnceFunc(func() { close(w.held) })
	t.Cleanup(release)
	r.answers(func(d received) int {
		w.mu.Lock()
		if w.open[d.object()]++; w.open[d.object()] > 1 {
			w.doubled = append(w.doubled, d.object())
		}
		status := http.StatusNoContent
		if w.fail[d.Type] > 0 {
			w.fail[d.Type]--
			status = http.StatusInternalServerError
		}
		w.mu.Unlock()
		<-w.held
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.open[d.object()]--; w.open[d.object()] == 0 {
			delete(w.open, d.object())
		}
		return status
	})
	return w, release
}

func (w *watch) fails(kind string, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail[kind] = times
}

func (w *watch) busy() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open)
}

// The events of an object are sent one after the other, and those of other objects beside them (EVT-13).
func TestEventsOfAnObjectComeOneAfterTheOther(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	w, release := watched(t, endpoint)
	id := s.subscribe(t, endpoint.URL, "*", "payment.created", "payment.pending")
	const made = 20
	var all []string
	for range made {
		all = append(all, s.Pending(t, "10").ID)
	}
	apptest.Eventually(t, "one event of each payment is on its way", func() bool { return w.busy() == made })
	if n := endpoint.count(); n != made {
		t.Errorf("%d events were sent while the first event of each payment was on its way, want %d", n, made)
	}
	release()
	s.await(t, endpoint, 2*made)
	s.quiet(t, id)
	for _, payment := range all {
		if got := endpoint.types(payment); got != "created pending" {
			t.Errorf("the events of a payment came as %q", got)
		}
	}
	if len(w.doubled) > 0 {
		t.Errorf("two events at a time were on their way of the payments %v", w.doubled)
	}
}

// A receiver that fails once still gets the events in order. If the retry fails too, the later events wait no longer (EVT-13).
func TestLaterEventsWaitForTheFirstRetryAlone(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	w, release := watched(t, endpoint)
	release()
	id := s.subscribe(t, endpoint.URL, "payment.created", "payment.pending")
	w.fails("payment.created", 1)
	first := s.Pending(t, "10").ID
	s.quiet(t, id)
	other := s.Pending(t, "10").ID // an event of another payment does not wait
	s.quiet(t, id)
	if got, beside := endpoint.types(first), endpoint.types(other); got != "created" || beside != "created pending" {
		t.Errorf("after a failure the endpoint has %q of the payment, and %q of another one", got, beside)
	}
	s.Clock.Advance(10 * time.Second)
	s.quiet(t, id)
	if got := endpoint.types(first); got != "created created pending" {
		t.Errorf("with one failure the endpoint got %q, want pending last", got)
	}

	w.fails("payment.created", 2)
	second := s.Pending(t, "10").ID
	s.quiet(t, id)
	s.Clock.Advance(10 * time.Second)
	apptest.Eventually(t, "the later event has come while the first one fails", func() bool {
		s.Clock.Advance(time.Second)
		s.quiet(t, id)
		return endpoint.types(second) == "created created pending"
	})
	s.quiet(t, id)
	s.Clock.Advance(time.Minute)
	s.quiet(t, id)
	if got := endpoint.types(second); got != "created created pending created" {
		t.Errorf("with two failures the endpoint got %q, want pending before the second retry", got)
	}
}

// An event that is written right after a failure waits for the retry too, even while the failure is not in the database yet (EVT-13).
func TestAnEventRightAfterAFailureWaitsForTheRetry(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	w, release := watched(t, endpoint)
	release()
	id := s.subscribe(t, endpoint.URL, "payment.created", "payment.pending")
	w.fails("payment.created", 1)
	reached, written := make(chan struct{}), make(chan struct{})
	write := sync.OnceFunc(func() { close(written) })
	t.Cleanup(write)
	begin := sync.OnceFunc(func() { close(reached) })
	s.Store.Around = func(_ context.Context, change *pay.Change, commit func() error) error {
		if len(change.Deliveries) > 0 { // the outcome of a try
			begin()
			<-written
		}
		return commit()
	}
	s.Till.OnCharge = func(r provider.Request) pay.Outcome { // the shopper waits once the first event has failed
		<-reached
		return s.Till.Provider.Charge(context.Background(), r)
	}
	payment := s.Pending(t, "10").ID
	apptest.Eventually(t, "the later event is given back", func() bool { return s.hooks.Postponed() > 0 })
	write()
	s.quiet(t, id)
	if got := endpoint.types(payment); got != "created" {
		t.Errorf("before the retry the endpoint has %q", got)
	}
	for range 5 {
		s.Clock.Advance(2 * time.Second)
		s.quiet(t, id)
	}
	if got := endpoint.types(payment); got != "created created pending" {
		t.Errorf("the events came as %q, want pending after the retry of created", got)
	}
}

// A replay that a person requests does not wait for other events of the object (HOOK-30).
func TestReplayOfOneDeliveryWaitsForNoOther(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	endpoint.answers(respond(http.StatusInternalServerError))
	id := s.subscribe(t, endpoint.URL, "payment.created", "payment.pending")
	s.Pending(t, "10")
	apptest.Eventually(t, "both events have failed", func() bool {
		s.Clock.Advance(5 * time.Second)
		s.quiet(t, id)
		return len(s.log(t, id, webhooks.DeliveryFailed)) == 2
	})
	w, release := watched(t, endpoint)
	before := endpoint.count()
	for i, d := range s.log(t, id, webhooks.DeliveryFailed) {
		_, err := s.hooks.Replay(t.Context(), s.By, s.Scope, id, d.ID)
		must(t, err)
		s.await(t, endpoint, before+i+1) // the other one is held
	}
	release()
	s.awaits(t, id, webhooks.DeliveryDelivered, 2)
	if len(w.doubled) != 1 {
		t.Errorf("%d deliveries went beside another one of their object, want 1", len(w.doubled))
	}
}

// An endpoint that does not answer holds back no other, and no more than a lane is on its way to it (HOOK-14).
func TestSlowEndpointDelaysNobodyElse(t *testing.T) {
	s := open(t)
	slow, quick := receive(t), receive(t)
	release := slow.holds(t, http.StatusOK)
	held := s.subscribe(t, slow.URL, "payment.completed")
	s.subscribe(t, quick.URL, "payment.completed")
	const made = 40
	for range made {
		s.card(t)
	}
	apptest.Eventually(t, "the quick endpoint has all events, and the slow one a lane full", func() bool { return quick.count() == made && slow.count() == laneWidth })
	release()
	s.awaits(t, held, webhooks.DeliveryDelivered, made)
	if n := slow.count(); n != made {
		t.Errorf("the slow endpoint was called %d times, want %d", n, made)
	}
}

// Other endpoints get their events at once, however many endpoints are dead and however much waits for them (HOOK-14).
func TestDeadEndpointsDelayNobodyElse(t *testing.T) {
	s := open(t)
	quick := receive(t)
	var slow []*receiver
	for i := range 5 {
		r := receive(t)
		r.holds(t, http.StatusOK)
		s.subscribe(t, r.URL, "payment.completed")
		s.subscribe(t, fmt.Sprint("http://127.0.0.1:1/refused/", i), "payment.completed")
		slow = append(slow, r)
	}
	s.subscribe(t, quick.URL, "payment.completed")
	const made = 40
	for range made {
		s.card(t)
	}
	apptest.Eventually(t, "the quick endpoint has all events", func() bool { s.dispatch(t); return quick.count() == made })
	for _, r := range slow {
		if n := r.count(); n > laneWidth {
			t.Errorf("%d deliveries are on their way to a slow endpoint, want at most %d", n, laneWidth)
		}
	}
}

// More deliveries wait for a slow endpoint than memory holds. Still each is sent once, as soon as the endpoint is quick again.
func TestWhatASlowEndpointHasNoRoomForIsSentOnce(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	first := endpoint.holds(t, http.StatusOK)
	s.card(t)
	s.await(t, endpoint, 1)
	release := endpoint.holds(t, http.StatusOK)
	s.card(t) // while it is on its way, the lane remembers how slow the first one was
	s.await(t, endpoint, 2)
	s.Clock.Advance(9 * time.Second)
	first()
	s.awaits(t, id, webhooks.DeliveryDelivered, 1)

	const made = 80 // a lane full is on its way, as many wait in memory
	for range made {
		s.card(t)
	}
	s.await(t, endpoint, 1+laneWidth)
	// While the first answer is being written, a delivery may stay in the database without passing through the lane.
	if n, most := s.hooks.Parked(), int64(1+made-2*laneWidth); n == 0 || n > most {
		t.Errorf("%d deliveries were parked, want some, and at most %d", n, most)
	}
	release()
	s.awaits(t, id, webhooks.DeliveryDelivered, 2+made)
	calls := map[string]int{} // by event
	for _, d := range endpoint.deliveries() {
		if calls[d.ID]++; calls[d.ID] > 1 {
			t.Errorf("the endpoint was called twice for %s", d.ID)
		}
	}
	if len(calls) != 2+made {
		t.Errorf("the endpoint has %d events, want %d", len(calls), 2+made)
	}
}

// A merchant whose endpoints hang can use only its share of the connections (HOOK-20).
func TestAMerchantsEndpointsTakeTheirShareAlone(t *testing.T) {
	s := open(t)
	slow, quick := receive(t), receive(t)
	release := slow.holds(t, http.StatusOK)
	const lanes = 10
	for i := range lanes {
		s.subscribe(t, fmt.Sprintf("%s/%d", slow.URL, i), "payment.completed")
	}
	other := s.another(t)
	other.subscribe(t, quick.URL, "payment.completed")
	for range laneWidth {
		s.card(t)
	}
	apptest.Eventually(t, "the share is used up", func() bool { return slow.count() == share })
	other.card(t)
	s.await(t, quick, 1)
	if n := slow.count(); n != share {
		t.Errorf("%d requests to one merchant's endpoints were on their way at a time, want %d of %d", n, share, lanes*laneWidth)
	}
	release()
}

// A delivery belongs to the node that wrote or leased it. When its lease ends, one of the others sends it.
func TestDeliveryIsLeasedOnce(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	s.Delivered = nil // the node that writes the deliveries does not send them
	var nodes []*appwebhooks.Webhooks
	for range 3 {
		w := appwebhooks.New(s.Base, appwebhooks.Config{Sender: sender.New(sender.Config{AllowPrivate: true, Now: s.Clock.Now, Timeout: apptest.Patience})})
		t.Cleanup(w.Drain)
		nodes = append(nodes, w)
	}
	const made = 40
	for range made {
		s.card(t)
	}
	lease := func() (leased int) {
		var mu sync.Mutex // guards leased
		var all sync.WaitGroup
		for _, w := range nodes {
			all.Go(func() {
				n, err := w.Dispatch(context.Background())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				leased += n
			})
		}
		all.Wait()
		return leased
	}
	if n := lease(); n != 0 {
		t.Errorf("other nodes leased %d deliveries that belong to the one that wrote them", n)
	}
	s.Clock.Advance(webhooks.DeliveryLease)
	if n := lease(); n != made {
		t.Errorf("three nodes at once leased %d deliveries, want each of %d once", n, made)
	}
	s.awaits(t, id, webhooks.DeliveryDelivered, made)
	if n := endpoint.count(); n != made {
		t.Errorf("the endpoint was called %d times, want %d", n, made)
	}
}
