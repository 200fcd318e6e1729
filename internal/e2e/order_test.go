package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// paidByShopper is a payment of two events: payment.completed, and its alias of the
// simulator.
const paidByShopper = `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`

// watch looks at what is under way at an endpoint, and holds it there.
type watch struct {
	mu      sync.Mutex // owns what follows
	open    map[string]int
	most    int // objects at a time
	doubled []string
	held    chan struct{} // closed: nothing is held
	fail    map[string]int
}

// watched makes an endpoint that holds what it gets until it is released.
func watched(r *receiver) *watch {
	w := &watch{open: map[string]int{}, held: make(chan struct{}), fail: map[string]int{}}
	r.answers(func(out http.ResponseWriter, in *http.Request) {
		got := r.deliveries()
		i := slices.IndexFunc(got, func(d received) bool {
			return d.header.Get("X-Service-Delivery") == in.Header.Get("X-Service-Delivery")
		})
		object, kind := got[i].text("data.object.id"), got[i].text("type")
		w.mu.Lock()
		w.open[object]++
		if w.open[object] > 1 {
			w.doubled = append(w.doubled, object)
		}
		w.most = max(w.most, len(w.open))
		status := http.StatusNoContent
		if w.fail[kind] > 0 {
			w.fail[kind]--
			status = http.StatusInternalServerError
		}
		held := w.held
		w.mu.Unlock()
		select {
		case <-held:
		case <-in.Context().Done():
		}
		w.mu.Lock()
		if w.open[object]--; w.open[object] == 0 {
			delete(w.open, object)
		}
		w.mu.Unlock()
		out.WriteHeader(status)
	})
	return w
}

func (w *watch) release() { close(w.held) }

func (w *watch) busy() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open)
}

// inOrder fails the test unless the events of each object came by their numbers, each once.
func (r *receiver) inOrder(t *testing.T) {
	t.Helper()
	last := map[string]int64{}
	for _, d := range r.deliveries() {
		object := d.text("data.object.id")
		n, err := d.event["sequence"].(json.Number).Int64()
		must(t, err)
		if n <= last[object] {
			t.Errorf("event %d of %s came after event %d", n, object, last[object])
		}
		last[object] = n
	}
}

func TestEventsOfAnObjectComeOneAfterTheOther(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		w := watched(endpoint)
		o.subscribe(t, endpoint.URL, `"*"`)
		const payments = 20
		for range payments {
			o.create(t, paidByShopper, "Sandbox-Simulate: paid")
		}
		eventually(t, "one event of each payment is under way", func() bool { return w.busy() == payments })
		if n := len(endpoint.deliveries()); n != payments {
			t.Errorf("%d events were sent while the first of each object were under way, want %d", n, payments)
		}
		w.release()
		endpoint.await(t, 2*payments)
		s.rest(t)
		endpoint.inOrder(t)
		if len(w.doubled) > 0 {
			t.Errorf("two events at a time were under way of %v", w.doubled)
		}
	})
}

// A receiver that stumbles once is told in the order of the events; one that goes on to fail
// is told what it can take.
func TestLaterEventsWaitForTheFirstRetryAlone(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		w := watched(endpoint)
		w.release()
		o.subscribe(t, endpoint.URL, `"*"`)
		w.fail["payment.completed"] = 1
		o.create(t, paidByShopper, "Sandbox-Simulate: paid")
		endpoint.await(t, 1)
		other := o.create(t, card) // nobody else waits
		eventually(t, "another payment's event has come", func() bool {
			return slices.ContainsFunc(endpoint.deliveries(), func(d received) bool { return d.text("data.object.id") == other })
		})
		s.awaitRetry(t, delays[0])
		got := endpoint.await(t, 4)
		if list := types(got); list != "payment.completed payment.completed payment.completed payment.captured" {
			t.Errorf("after one failure there came %s", list)
		}
		w.mu.Lock()
		w.fail["payment.completed"] = 2
		w.mu.Unlock()
		o.create(t, paidByShopper, "Sandbox-Simulate: paid")
		endpoint.await(t, 5)
		s.awaitRetry(t, delays[0])
		eventually(t, "the alias has come while payment.completed fails", func() bool {
			s.clock.advance(time.Second)
			got := endpoint.deliveries()
			return got[len(got)-1].text("type") == "payment.captured"
		})
		s.awaitRetry(t, delays[1])
		if list := types(endpoint.await(t, 8)[4:]); list != "payment.completed payment.completed payment.captured payment.completed" {
			t.Errorf("after two failures there came %s", list)
		}
	})
}

// What is written right after a failure waits too, also while the outcome is on its way to the
// database.
func TestAnEventRightAfterAFailureWaitsForTheRetry(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		const payments = 5 // more failures would open the circuit
		o := s.shop(t)
		endpoint := s.receive(t)
		w := watched(endpoint)
		w.release()
		o.post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["payment.created","payment.pending"]}`, endpoint.URL)).want(t, http.StatusCreated)
		w.fail["payment.created"] = payments
		var all sync.WaitGroup
		for range payments {
			all.Go(func() { o.post(t, "/payments", paidByShopper) })
		}
		all.Wait()
		eventually(t, "all have come", func() bool {
			s.clock.advance(50 * time.Millisecond) // what waits does so for a minute at most
			return len(endpoint.deliveries()) >= 3*payments
		})
		of := map[string][]string{}
		for _, d := range endpoint.deliveries() {
			id := d.text("data.object.id")
			of[id] = append(of[id], d.text("type"))
		}
		for id, got := range of {
			if slices.Index(got, "payment.pending") < slices.Index(got[1:], "payment.created")+1 {
				t.Errorf("%s: %v", id, got)
			}
		}
	})
}

// A person's replay waits for nobody.
func TestReplayOfOneDeliveryWaitsForNoOther(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		endpoint.answers(respond(http.StatusInternalServerError))
		h := o.hook(t, endpoint.URL, `"*"`)
		o.create(t, paidByShopper, "Sandbox-Simulate: paid")
		eventually(t, "both events have failed", func() bool {
			s.clock.advance(5 * time.Second)
			return h.log(t, "?status=failed").text(t, "pagination.total") == "2"
		})
		w := watched(endpoint)
		defer w.release()
		for _, kind := range []string{"payment.completed", "payment.captured"} {
			before := len(endpoint.deliveries())
			id := h.log(t, "?event="+kind).text(t, "data.0.id")
			o.post(t, h.path("/deliveries/"+id+"/replay"), "").want(t, http.StatusOK)
			endpoint.await(t, before+1)
		}
	})
}

// Another node wrote the later event: it waits until the earlier one was taken.
func TestEventsOfAnObjectComeInOrderFromTwoNodes(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	c := &clock{}
	a := start(t, database, c)
	b := start(t, database, c)
	o := a.shop(t)
	there := o
	there.service = b
	endpoint := a.receive(t)
	w := watched(endpoint)
	o.subscribe(t, endpoint.URL, `"payment.completed","payment.refunded"`)
	const payments = 5
	for range payments {
		payment := o.create(t, card)
		eventually(t, "payment.completed is under way", func() bool {
			got := endpoint.deliveries()
			return len(got) > 0 && got[len(got)-1].text("data.object.id") == payment
		})
		there.refund(t, payment, `{"amount":1}`)
	}
	eventually(t, "the other node has looked at what it wrote", func() bool {
		for _, e := range []*service{a, b} {
			_, err := e.App.Webhooks.Dispatch(ctx)
			must(t, err)
		}
		return b.App.Webhooks.Postponed() >= payments
	})
	if n := len(endpoint.deliveries()); n != payments {
		t.Errorf("%d events were sent while the first of each payment was under way, want %d: %s", n, payments, types(endpoint.deliveries()))
	}
	w.release()
	endpoint.await(t, 2*payments)
	a.rest(t)
	endpoint.inOrder(t)
	if len(w.doubled) > 0 {
		t.Errorf("two events at a time were under way of %v", w.doubled)
	}
}
