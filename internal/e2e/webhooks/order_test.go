package webhooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// watch counts the deliveries that are on their way to an endpoint, and holds them.
type watch struct {
	mu      sync.Mutex     // guards the fields below
	open    map[string]int // deliveries on their way, by object
	most    int            // the largest number of objects at a time
	doubled []string       // objects with two deliveries at a time
	held    chan struct{}  // when closed, no delivery is held
	fail    map[string]int // how many more deliveries to answer with 500, by event type
}

// watched makes an endpoint hold its deliveries until release.
func watched(r *harness.Receiver) *watch {
	w := &watch{open: map[string]int{}, held: make(chan struct{}), fail: map[string]int{}}
	r.Answers(func(out http.ResponseWriter, in *http.Request) {
		got := r.Deliveries()
		i := slices.IndexFunc(got, func(d harness.Received) bool {
			return d.Header.Get("X-Service-Delivery") == in.Header.Get("X-Service-Delivery")
		})
		object, kind := got[i].Text("data.object.id"), got[i].Text("type")
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

// inOrder fails the test unless the events of each object came in the order of their sequence
// numbers, each once.
func inOrder(t *testing.T, r *harness.Receiver) {
	t.Helper()
	last := map[string]int64{}
	for _, d := range r.Deliveries() {
		object := d.Text("data.object.id")
		n, err := d.Event["sequence"].(json.Number).Int64()
		harness.Must(t, err)
		if n <= last[object] {
			t.Errorf("event %d of %s came after event %d", n, object, last[object])
		}
		last[object] = n
	}
}

func TestEventsOfAnObjectComeOneAfterTheOther(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		w := watched(endpoint)
		o.Subscribe(t, endpoint.URL, `"*"`)
		const payments = 20
		for range payments {
			o.Create(t, harness.PaidByShopper, "Sandbox-Simulate: paid")
		}
		harness.Eventually(t, "one event of each payment is on its way", func() bool { return w.busy() == payments })
		if n := len(endpoint.Deliveries()); n != payments {
			t.Errorf("%d events were sent while the first event of each payment was on its way, want %d", n, payments)
		}
		w.release()
		endpoint.Await(t, 2*payments)
		dispatchAll(t, s)
		inOrder(t, endpoint)
		if len(w.doubled) > 0 {
			t.Errorf("two events at a time were on their way of the payments %v", w.doubled)
		}
	})
}

// A receiver that fails once still gets the events in order. If the retry fails too, the later
// events wait no longer.
func TestLaterEventsWaitForTheFirstRetryAlone(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		w := watched(endpoint)
		w.release()
		o.Subscribe(t, endpoint.URL, `"*"`)
		w.fail["payment.completed"] = 1
		o.Create(t, harness.PaidByShopper, "Sandbox-Simulate: paid")
		endpoint.Await(t, 1)
		other := o.Create(t, harness.Card) // an event of another payment does not wait
		harness.Eventually(t, "another payment's event has come", func() bool {
			return slices.ContainsFunc(endpoint.Deliveries(), func(d harness.Received) bool { return d.Text("data.object.id") == other })
		})
		awaitRetry(t, s, delays[0])
		got := endpoint.Await(t, 4)
		if list := harness.Types(got); list != "payment.completed payment.completed payment.completed payment.captured" {
			t.Errorf("with one failure the endpoint got %s, want payment.captured last", list)
		}
		w.mu.Lock()
		w.fail["payment.completed"] = 2
		w.mu.Unlock()
		o.Create(t, harness.PaidByShopper, "Sandbox-Simulate: paid")
		endpoint.Await(t, 5)
		awaitRetry(t, s, delays[0])
		harness.Eventually(t, "payment.captured has come while payment.completed fails", func() bool {
			s.Clock.Advance(time.Second)
			got := endpoint.Deliveries()
			return got[len(got)-1].Text("type") == "payment.captured"
		})
		awaitRetry(t, s, delays[1])
		if list := harness.Types(endpoint.Await(t, 8)[4:]); list != "payment.completed payment.completed payment.captured payment.completed" {
			t.Errorf("with two failures the endpoint got %s, want payment.captured before the second retry", list)
		}
	})
}

// An event that is written right after a failure waits for the retry too, even while the failure is
// not in the database yet.
func TestAnEventRightAfterAFailureWaitsForTheRetry(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		const payments = 5 // more failures would open the circuit
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		w := watched(endpoint)
		w.release()
		o.Post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["payment.created","payment.pending"]}`, endpoint.URL)).Want(t, http.StatusCreated)
		w.fail["payment.created"] = payments
		var all sync.WaitGroup
		for range payments {
			all.Go(func() { o.Post(t, "/payments", harness.PaidByShopper) })
		}
		all.Wait()
		harness.Eventually(t, "all events have come", func() bool {
			s.Clock.Advance(50 * time.Millisecond) // slowly: an event waits at most a minute
			return len(endpoint.Deliveries()) >= 3*payments
		})
		of := map[string][]string{}
		for _, d := range endpoint.Deliveries() {
			id := d.Text("data.object.id")
			of[id] = append(of[id], d.Text("type"))
		}
		for id, got := range of {
			if slices.Index(got, "payment.pending") < slices.Index(got[1:], "payment.created")+1 {
				t.Errorf("payment %s: the events came as %v, want payment.pending after the retry of payment.created", id, got)
			}
		}
	})
}

// A replay that a person requests does not wait for other events of the object.
func TestReplayOfOneDeliveryWaitsForNoOther(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		endpoint.Answers(harness.Respond(http.StatusInternalServerError))
		h := o.Hook(t, endpoint.URL, `"*"`)
		o.Create(t, harness.PaidByShopper, "Sandbox-Simulate: paid")
		harness.Eventually(t, "both events have failed", func() bool {
			s.Clock.Advance(5 * time.Second)
			return h.Log(t, "?status=failed").Text(t, "pagination.total") == "2"
		})
		w := watched(endpoint)
		defer w.release()
		for _, kind := range []string{"payment.completed", "payment.captured"} {
			before := len(endpoint.Deliveries())
			id := h.Log(t, "?event="+kind).Text(t, "data.0.id")
			o.Post(t, h.Path("/deliveries/"+id+"/replay"), "").Want(t, http.StatusOK)
			endpoint.Await(t, before+1)
		}
	})
}

// A later event that another node wrote waits until the earlier one is accepted.
func TestEventsOfAnObjectComeInOrderFromTwoNodes(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	c := &harness.Clock{}
	a := harness.Start(t, database, c)
	b := harness.Start(t, database, c)
	o := a.NewShop(t)
	there := o
	there.Instance = b
	endpoint := a.Receive(t)
	w := watched(endpoint)
	o.Subscribe(t, endpoint.URL, `"payment.completed","payment.refunded"`)
	const payments = 5
	for range payments {
		payment := o.Create(t, harness.Card)
		harness.Eventually(t, "payment.completed is on its way", func() bool {
			got := endpoint.Deliveries()
			return len(got) > 0 && got[len(got)-1].Text("data.object.id") == payment
		})
		there.Refund(t, payment, `{"amount":1}`)
	}
	harness.Eventually(t, "the other node has postponed its events", func() bool {
		for _, e := range []*harness.Instance{a, b} {
			_, err := e.App.Webhooks.Dispatch(ctx)
			harness.Must(t, err)
		}
		return b.App.Webhooks.Postponed() >= payments
	})
	if n := len(endpoint.Deliveries()); n != payments {
		t.Errorf("%d events were sent while the first event of each payment was on its way, want %d: %s", n, payments, harness.Types(endpoint.Deliveries()))
	}
	w.release()
	endpoint.Await(t, 2*payments)
	dispatchAll(t, a)
	inOrder(t, endpoint)
	if len(w.doubled) > 0 {
		t.Errorf("two events at a time were on their way of the payments %v", w.doubled)
	}
}
