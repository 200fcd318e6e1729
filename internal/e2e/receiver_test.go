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

// receiver is a shop's own endpoint. It keeps every delivery in the order of
// arrival.
type receiver struct {
	*httptest.Server
	service *service

	mu     sync.Mutex // owns what follows
	answer http.HandlerFunc
	got    []received
}

// received is one request that an endpoint got.
type received struct {
	header http.Header
	body   []byte
	event  map[string]any
}

// text returns what the event has at a path.
func (d received) text(path string) string {
	v, _ := at(d.event, path)
	return fmt.Sprint(v)
}

// receive starts an endpoint that answers 204 until it is told otherwise.
func (s *service) receive(t *testing.T) *receiver {
	t.Helper()
	c := &receiver{service: s, answer: respond(http.StatusNoContent)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the service gave up
		}
		event, _ := decode(t, body).(map[string]any)
		c.mu.Lock()
		c.got = append(c.got, received{r.Header.Clone(), body, event})
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
		case <-time.After(patience): // a test that failed has let an answer wait for ever
			t.Errorf("the endpoint still holds an answer %s after the test", patience)
		}
	})
	return c
}

func respond(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// answers changes what the endpoint answers.
func (c *receiver) answers(h http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = h
}

// holds lets every try wait until hold is closed, or until the service gives it up. By then
// another endpoint, which is quick, must have had the same event: nobody waits for this one.
func (c *receiver) holds(t *testing.T, hold chan struct{}, quick *receiver) {
	c.answers(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case <-hold:
		case <-r.Context().Done():
			event := received{event: decode(t, body).(map[string]any)}.text("id")
			if !slices.ContainsFunc(quick.deliveries(), func(d received) bool { return d.text("id") == event }) {
				t.Errorf("event %s waited for a slow endpoint", event)
			}
		}
	})
}

// deliveries returns what came so far.
func (c *receiver) deliveries() []received {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

// await returns what came once there are n deliveries, dispatching meanwhile.
func (c *receiver) await(t *testing.T, n int) []received {
	t.Helper()
	eventually(t, fmt.Sprintf("%d deliveries have come", n), func() bool {
		_, err := c.service.App.Webhooks.Dispatch(ctx)
		must(t, err)
		return len(c.deliveries()) >= n
	})
	return c.deliveries()
}

// about waits until everything is sent and returns the deliveries about one
// payment in the order of the events. Other than n is an error.
func (c *receiver) about(t *testing.T, payment string, n int) []received {
	t.Helper()
	find := func() (list []received) {
		for _, d := range c.deliveries() {
			if d.text("data.object.id") == payment || d.text("data.object.transactionId") == payment {
				list = append(list, d)
			}
		}
		return list
	}
	eventually(t, fmt.Sprintf("%d events of %s have come and nothing waits to be sent", n, payment), func() bool {
		return len(find()) >= n && c.service.due(t).IsZero()
	})
	list := find()
	slices.SortFunc(list, func(a, b received) int {
		return cmp.Or(cmp.Compare(a.text("createdAt"), b.text("createdAt")),
			-cmp.Compare(a.text("data.object.id"), b.text("data.object.id")), // the payment's before the claim's
			cmp.Compare(a.text("sequence"), b.text("sequence")))
	})
	if len(list) != n {
		t.Errorf("%d events of %s have come, want %d: %v", len(list), payment, n, types(list))
	}
	return list
}

// types lists the events of deliveries.
func types(list []received) string {
	var names []string
	for _, d := range list {
		names = append(names, d.text("type"))
	}
	return strings.Join(names, " ")
}

// subscribe adds an endpoint to the shop and returns the reply. Where it is for all events,
// those are of the first set: most tests count what comes of a payment's outcome.
func (o shop) subscribe(t *testing.T, url, events string) reply {
	t.Helper()
	return o.post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":[%s],"eventsVersion":%q}`, url, events, hook.FirstEvents)).want(t, http.StatusCreated)
}

// verify fails the test unless the delivery is signed and labelled as it
// has to be (HOOK-8, HOOK-9, HOOK-10).
func (d received) verify(t *testing.T, s *service, secret string) {
	t.Helper()
	if err := webhook.Verify(d.header.Get(webhook.SignatureHeader), d.body, secret, s.clock.now(), webhook.Tolerance); err != nil {
		t.Errorf("the signature %q does not hold: %v", d.header.Get(webhook.SignatureHeader), err)
	}
	id, kind := d.text("id"), d.text("type")
	if got := d.header.Get("X-Service-Event"); got != kind {
		t.Errorf("X-Service-Event is %q for %s", got, kind)
	}
	if got := d.header.Get("X-Service-Delivery"); !strings.HasPrefix(got, "dlv_") {
		t.Errorf("X-Service-Delivery is %q, want dlv_…", got)
	}
	if got := d.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q", got)
	}
	if got := d.header.Get("Webhook-Id"); got != id {
		t.Errorf("webhook-id is %q, want the event's, %s", got, id)
	}
	stamp := d.header.Get("Webhook-Timestamp")
	if !strings.HasPrefix(d.header.Get(webhook.SignatureHeader), "t="+stamp+",v1=") || !strings.HasPrefix(d.header.Get("Webhook-Signature"), "v1,") {
		t.Errorf("the two signatures are of different times: %v", d.header)
	}
	if found := upstream.Find(d.body); found != nil {
		t.Errorf("the event tells of a provider (%s): %s", found, d.body)
	}
	s.spec.checkEvent(t, kind, d.body)
}
