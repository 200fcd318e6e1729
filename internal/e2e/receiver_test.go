package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/webhook"
)

// Receiver is a shop's own endpoint. It keeps every delivery in the order of
// arrival.
type Receiver struct {
	*httptest.Server
	Instance *Instance

	mu     sync.Mutex // owns what follows
	answer http.HandlerFunc
	got    []Received
}

// Received is one request that an endpoint got.
type Received struct {
	Header http.Header
	Body   []byte
	Event  map[string]any
}

// text returns what the event has at a path.
func (d Received) Text(path string) string {
	v, _ := At(d.Event, path)
	return fmt.Sprint(v)
}

// Receive starts an endpoint that answers 204 until it is told otherwise.
func (s *Instance) Receive(t *testing.T) *Receiver {
	t.Helper()
	c := &Receiver{Instance: s, answer: Respond(http.StatusNoContent)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the service gave up
		}
		event, _ := Decode(t, body).(map[string]any)
		c.mu.Lock()
		c.got = append(c.got, Received{r.Header.Clone(), body, event})
		answer := c.answer
		c.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}))
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() { c.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(Patience): // a test that failed has let an answer wait for ever
			t.Errorf("the endpoint still holds an answer %s after the test", Patience)
		}
	})
	return c
}

func Respond(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// Answers changes what the endpoint answers.
func (c *Receiver) Answers(h http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = h
}

// holdTries lets every try wait until hold is closed, or until the service gives it up. By then
// another endpoint, which is quick, must have had the same event: nobody waits for this one.
func holdTries(t *testing.T, c *Receiver, hold chan struct{}, quick *Receiver) {
	c.Answers(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case <-hold:
		case <-r.Context().Done():
			event := Received{Event: Decode(t, body).(map[string]any)}.Text("id")
			if !slices.ContainsFunc(quick.Deliveries(), func(d Received) bool { return d.Text("id") == event }) {
				t.Errorf("event %s waited for a slow endpoint", event)
			}
		}
	})
}

// Deliveries returns what came so far.
func (c *Receiver) Deliveries() []Received {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

// Await returns what came once there are n deliveries, dispatching meanwhile.
func (c *Receiver) Await(t *testing.T, n int) []Received {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d deliveries have come", n), func() bool {
		_, err := c.Instance.App.Webhooks.Dispatch(ctx)
		Must(t, err)
		return len(c.Deliveries()) >= n
	})
	return c.Deliveries()
}

// About waits until everything is sent and returns the deliveries about one
// payment in the order of the events. Other than n is an error.
func (c *Receiver) About(t *testing.T, payment string, n int) []Received {
	t.Helper()
	find := func() (list []Received) {
		for _, d := range c.Deliveries() {
			if d.Text("data.object.id") == payment || d.Text("data.object.transactionId") == payment {
				list = append(list, d)
			}
		}
		return list
	}
	Eventually(t, fmt.Sprintf("%d events of %s have come and nothing waits to be sent", n, payment), func() bool {
		return len(find()) >= n && c.Instance.Due(t).IsZero()
	})
	list := find()
	slices.SortFunc(list, func(a, b Received) int {
		return cmp.Or(cmp.Compare(a.Text("createdAt"), b.Text("createdAt")),
			-cmp.Compare(a.Text("data.object.id"), b.Text("data.object.id")), // the payment's before the claim's
			cmp.Compare(a.Text("sequence"), b.Text("sequence")))
	})
	if len(list) != n {
		t.Errorf("%d events of %s have come, want %d: %v", len(list), payment, n, Types(list))
	}
	return list
}

// Types lists the events of deliveries.
func Types(list []Received) string {
	var names []string
	for _, d := range list {
		names = append(names, d.Text("type"))
	}
	return strings.Join(names, " ")
}

// Subscribe adds an endpoint to the shop and returns the reply. Where it is for all events,
// those are of the first set: most tests count what comes of a payment's outcome.
func (o Client) Subscribe(t *testing.T, url, events string) Reply {
	t.Helper()
	return o.Post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":[%s],"eventsVersion":%q}`, url, events, hook.FirstEvents)).Want(t, http.StatusCreated)
}

// Verify fails the test unless the delivery is signed and labelled as it
// has to be (HOOK-8, HOOK-9, HOOK-10).
func (d Received) Verify(t *testing.T, s *Instance, secret string) {
	t.Helper()
	if err := webhook.Verify(d.Header.Get("X-Service-Signature"), d.Body, secret, s.Clock.Now(), webhook.Tolerance); err != nil {
		t.Errorf("the signature %q does not hold: %v", d.Header.Get("X-Service-Signature"), err)
	}
	id, kind := d.Text("id"), d.Text("type")
	if got := d.Header.Get("X-Service-Event"); got != kind {
		t.Errorf("X-Service-Event is %q for %s", got, kind)
	}
	if got := d.Header.Get("X-Service-Delivery"); !strings.HasPrefix(got, "dlv_") {
		t.Errorf("X-Service-Delivery is %q, want dlv_…", got)
	}
	if got := d.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q", got)
	}
	if got := d.Header.Get("Webhook-Id"); got != id {
		t.Errorf("webhook-id is %q, want the event's, %s", got, id)
	}
	stamp := d.Header.Get("Webhook-Timestamp")
	if !strings.HasPrefix(d.Header.Get("X-Service-Signature"), "t="+stamp+",v1=") || !strings.HasPrefix(d.Header.Get("Webhook-Signature"), "v1,") {
		t.Errorf("the two signatures are of different times: %v", d.Header)
	}
	if found := upstream.Find(d.Body); found != nil {
		t.Errorf("the event tells of a provider (%s): %s", found, d.Body)
	}
	s.Spec.CheckEvent(t, kind, d.Body)
}
