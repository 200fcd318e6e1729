package harness

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

// Due is when the next delivery comes due, zero when none waits.
func (s *Instance) Due(t *testing.T) time.Time {
	t.Helper()
	due, err := s.App.OldestDue(ctx)
	Must(t, err)
	return due["deliveries"]
}

// told lists the types and numbers of what an endpoint got about an object, in the order of arrival.
func (c *Receiver) told(object string) string {
	var list []string
	for _, d := range c.Deliveries() {
		if d.Text("data.object.id") == object {
			list = append(list, d.Text("type")+" "+d.Text("sequence"))
		}
	}
	return strings.Join(list, ", ")
}

// IsTold waits until the events of an object are these.
func (c *Receiver) IsTold(t *testing.T, object, want string) {
	t.Helper()
	Eventually(t, want+" has come", func() bool { return c.told(object) == want && c.Instance.Due(t).IsZero() })
}

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

// Text returns what the event has at a path.
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

// Respond answers with a status and no body.
func Respond(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// Answers changes what the endpoint answers.
func (c *Receiver) Answers(h http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = h
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
	if err := webhook.Verify(d.Header.Get(webhook.SignatureHeader), d.Body, secret, s.Clock.Now(), webhook.Tolerance); err != nil {
		t.Errorf("the signature %q does not hold: %v", d.Header.Get(webhook.SignatureHeader), err)
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
	if !strings.HasPrefix(d.Header.Get(webhook.SignatureHeader), "t="+stamp+",v1=") || !strings.HasPrefix(d.Header.Get("Webhook-Signature"), "v1,") {
		t.Errorf("the two signatures are of different times: %v", d.Header)
	}
	if found := upstream.Find(d.Body); found != nil {
		t.Errorf("the event tells of a provider (%s): %s", found, d.Body)
	}
	s.Spec.CheckEvent(t, kind, d.Body)
}

// Awaits waits for what the service does by itself at an endpoint.
func (c *Receiver) Awaits(t *testing.T, n int) []Received {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d deliveries have come", n), func() bool { return len(c.Deliveries()) >= n })
	return c.Deliveries()
}

// Subscribed is a subscription during a test.
type Subscribed struct {
	Client
	ID     string
	Secret string
}

// Hook subscribes, and keeps the id and the secret.
func (o Client) Hook(t *testing.T, url, events string) Subscribed {
	t.Helper()
	r := o.Subscribe(t, url, events)
	return Subscribed{o, r.Text(t, "id"), r.Text(t, "secret")}
}

// Path is the webhook's, with more behind it.
func (h Subscribed) Path(rest string) string { return "/webhooks/" + h.ID + rest }

// Log lists the deliveries that a query selects.
func (h Subscribed) Log(t *testing.T, query string) Reply {
	t.Helper()
	return h.Get(t, h.Path("/deliveries"+query)).Want(t, http.StatusOK)
}

// Last waits until the newest delivery has a status, and returns it in full.
func (h Subscribed) Last(t *testing.T, status string) Reply {
	t.Helper()
	id := ""
	Eventually(t, "the newest delivery is "+status, func() bool {
		r := h.Log(t, "?limit=1")
		if n, ok := r.At(t, "data.0.id"); ok {
			id = fmt.Sprint(n)
			return r.Text(t, "data.0.status") == status
		}
		return false
	})
	return h.Get(t, h.Path("/deliveries/"+id)).Want(t, http.StatusOK)
}

// Inbox makes a managed subscription.
func Inbox(t *testing.T, o Client, events string) Subscribed {
	t.Helper()
	r := o.Post(t, "/webhooks", `{"events":[`+events+`],"eventsVersion":"2026-11-21"}`).Want(t, http.StatusCreated)
	return Subscribed{o, r.Text(t, "id"), r.Text(t, "secret")}
}
