package webhooks

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// watch counts the deliveries that are on their way to an endpoint, and holds them.
type watch struct {
	mu      sync.Mutex     // guards the fields below
	open    map[string]int // deliveries on their way, by object
	doubled []string       // objects with two deliveries at a time
	held    chan struct{}  // when closed, no delivery is held
}

// watched makes an endpoint hold its deliveries until release.
func watched(r *harness.Receiver) *watch {
	w := &watch{open: map[string]int{}, held: make(chan struct{})}
	r.Answers(func(out http.ResponseWriter, in *http.Request) {
		got := r.Deliveries()
		i := slices.IndexFunc(got, func(d harness.Received) bool {
			return d.Header.Get("X-Service-Delivery") == in.Header.Get("X-Service-Delivery")
		})
		object := got[i].Text("data.object.id")
		w.mu.Lock()
		w.open[object]++
		if w.open[object] > 1 {
			w.doubled = append(w.doubled, object)
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
		out.WriteHeader(http.StatusNoContent)
	})
	return w
}

func (w *watch) release() { close(w.held) }

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
