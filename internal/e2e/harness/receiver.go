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

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// Due returns when the next delivery is due. It is zero if none waits.
func (s *Instance) Due(t *testing.T) time.Time {
	t.Helper()
	due, err := s.App.OldestDue(ctx)
	Must(t, err)
	return due["deliveries"]
}

// eventsOf lists the events of an object that the endpoint got, in the order of arrival: "type
// sequence, type sequence".
func (c *Receiver) eventsOf(object string) string {
	var list []string
	for _, d := range c.Deliveries() {
		if d.Text("data.object.id") == object {
			list = append(list, d.Text("type")+" "+d.Text("sequence"))
		}
	}
	return strings.Join(list, ", ")
}

// IsTold waits until the endpoint has exactly these events of an object, and no delivery waits.
// want is "type sequence, type sequence", in the order of arrival.
func (c *Receiver) IsTold(t *testing.T, object, want string) {
	t.Helper()
	Eventually(t, "the endpoint has exactly "+want, func() bool { return c.eventsOf(object) == want && c.Instance.Due(t).IsZero() })
}

// Receiver is a shop's own endpoint. It keeps every delivery, in the order of arrival.
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

// Text returns the event's value at a dotted path as text: "<nil>" if there is none.
func (d Received) Text(path string) string {
	v, _ := At(d.Event, path)
	return fmt.Sprint(v)
}

// Receive starts an endpoint that answers 204. Answers changes that.
func (s *Instance) Receive(t *testing.T) *Receiver {
	t.Helper()
	c := &Receiver{Instance: s, answer: Respond(http.StatusNoContent)}
	c.Server = providertest.StartServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		case <-time.After(Patience): // the test failed before it let a blocked handler go on
			t.Errorf("%s after the test, a handler of the endpoint still runs", Patience)
		}
	})
	return c
}

// Respond answers with a status and no body.
func Respond(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// Answers sets the handler that answers the next deliveries.
func (c *Receiver) Answers(h http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = h
}

// Deliveries returns the deliveries so far.
func (c *Receiver) Deliveries() []Received {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

// Await dispatches deliveries until the endpoint has n of them, or more. It returns all.
func (c *Receiver) Await(t *testing.T, n int) []Received {
	t.Helper()
	Eventually(t, fmt.Sprintf("the endpoint has %d deliveries", n), func() bool {
		_, err := c.Instance.App.Webhooks.Dispatch(ctx)
		Must(t, err)
		return len(c.Deliveries()) >= n
	})
	return c.Deliveries()
}

// About waits until no delivery waits, and returns the deliveries about a payment and its claims,
// in the order of the events. It fails the test unless there are exactly n.
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
	Eventually(t, fmt.Sprintf("the endpoint has %d events of %s and no delivery waits", n, payment), func() bool {
		return len(find()) >= n && c.Instance.Due(t).IsZero()
	})
	list := find()
	slices.SortFunc(list, func(a, b Received) int {
		return cmp.Or(cmp.Compare(a.Text("createdAt"), b.Text("createdAt")),
			-cmp.Compare(a.Text("data.object.id"), b.Text("data.object.id")), // the payment's before the claim's
			cmp.Compare(a.Text("sequence"), b.Text("sequence")))
	})
	if len(list) != n {
		t.Errorf("the endpoint has %d events of %s, want %d: %v", len(list), payment, n, Types(list))
	}
	return list
}

// Types lists the event types of deliveries, with spaces between them.
func Types(list []Received) string {
	var names []string
	for _, d := range list {
		names = append(names, d.Text("type"))
	}
	return strings.Join(names, " ")
}

// Subscribe adds an endpoint to the shop and returns the reply. events is a JSON list without
// brackets. "*" is all events of the first version of the set, because most tests count a
// payment's events.
func (o Client) Subscribe(t *testing.T, url, events string) Reply {
	t.Helper()
	return o.Post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":[%s],"eventsVersion":%q}`, url, events, webhooks.FirstEvents)).Want(t, http.StatusCreated)
}

// Verify fails the test unless the delivery's signatures, headers and event are right (HOOK-8,
// HOOK-9, HOOK-10).
func (d Received) Verify(t *testing.T, s *Instance, secret string) {
	t.Helper()
	if err := sender.Verify(d.Header.Get(sender.SignatureHeader), d.Body, secret, s.Clock.Now(), sender.Tolerance); err != nil {
		t.Errorf("the signature %q is not valid: %v", d.Header.Get(sender.SignatureHeader), err)
	}
	id, kind := d.Text("id"), d.Text("type")
	if got := d.Header.Get("X-Service-Event"); got != kind {
		t.Errorf("X-Service-Event is %q, want %s", got, kind)
	}
	if got := d.Header.Get("X-Service-Delivery"); !strings.HasPrefix(got, "dlv_") {
		t.Errorf("X-Service-Delivery is %q, want dlv_…", got)
	}
	if got := d.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q, want application/json", got)
	}
	if got := d.Header.Get("Webhook-Id"); got != id {
		t.Errorf("Webhook-Id is %q, want the event's id %s", got, id)
	}
	stamp := d.Header.Get("Webhook-Timestamp")
	if !strings.HasPrefix(d.Header.Get(sender.SignatureHeader), "t="+stamp+",v1=") || !strings.HasPrefix(d.Header.Get("Webhook-Signature"), "v1,") {
		t.Errorf("a signature has another time than Webhook-Timestamp, or another form: %v", d.Header)
	}
	if found := upstream.Find(d.Body); found != nil {
		t.Errorf("the event names a provider (%s): %s", found, d.Body)
	}
	s.Spec.CheckEvent(t, kind, d.Body)
}

// Awaits waits until the service's own loop has sent n deliveries, or more. It returns all.
func (c *Receiver) Awaits(t *testing.T, n int) []Received {
	t.Helper()
	Eventually(t, fmt.Sprintf("the endpoint has %d deliveries", n), func() bool { return len(c.Deliveries()) >= n })
	return c.Deliveries()
}

// Subscribed is a shop with one of its subscriptions.
type Subscribed struct {
	Client
	ID     string
	Secret string
}

// Hook is Subscribe, but returns the id and the secret with the shop.
func (o Client) Hook(t *testing.T, url, events string) Subscribed {
	t.Helper()
	r := o.Subscribe(t, url, events)
	return Subscribed{o, r.Text(t, "id"), r.Text(t, "secret")}
}

// Path returns the path of the subscription, with rest at its end.
func (h Subscribed) Path(rest string) string { return "/webhooks/" + h.ID + rest }

// Log returns the deliveries that a query such as "?limit=1" selects.
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

// Inbox makes a subscription with a managed inbox.
func Inbox(t *testing.T, o Client, events string) Subscribed {
	t.Helper()
	r := o.Post(t, "/webhooks", `{"events":[`+events+`],"eventsVersion":"2026-11-21"}`).Want(t, http.StatusCreated)
	return Subscribed{o, r.Text(t, "id"), r.Text(t, "secret")}
}
