package webhooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/apptest"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payments"
	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// service is a merchant's sandbox whose events are delivered. Between two calls of Dispatch only that goes on which was leased.
type service struct {
	*apptest.Service
	hooks   *appwebhooks.Webhooks
	replays *appwebhooks.Replays
}

// open opens a service whose pauses between tries are those of the schedule: its jitter is in the middle.
func open(t *testing.T, settings ...func(*appwebhooks.Config)) *service {
	t.Helper()
	s := &service{Service: apptest.Open(t)}
	c := appwebhooks.Config{
		InboxURL: "https://inbox.example", AllowPrivate: true, Sender: sender.New(sender.Config{AllowPrivate: true, Now: s.Clock.Now, Timeout: apptest.Patience}),
		Jitter: func() float64 { return 0.5 },
	}
	for _, set := range settings {
		set(&c)
	}
	s.hooks = appwebhooks.New(s.Base, c)
	s.replays = appwebhooks.NewReplays(s.hooks)
	s.Delivered = s.hooks.Written
	t.Cleanup(func() {
		s.hooks.Drain()
		c.Sender.Close()
	})
	return s
}

// receiver is a shop's endpoint. It keeps what it gets, in the order of arrival.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex // guards the fields below
	answer func(received) int
	got    []received
}

// received is one request that an endpoint got.
type received struct {
	ID     string `json:"id"` // of the event
	Type   string `json:"type"`
	At     string `json:"createdAt"`
	Data   struct{ Object struct{ ID string } }
	header http.Header
	path   string
	body   string
}

func (d received) object() string { return d.Data.Object.ID }

// receive starts an endpoint that accepts everything.
func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{answer: respond(http.StatusNoContent)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			return // the service gave up
		}
		d := received{header: in.Header.Clone(), path: in.URL.Path, body: string(body)}
		if err := json.Unmarshal(body, &d); err != nil {
			t.Errorf("the endpoint got %s: %v", body, err)
		}
		r.mu.Lock()
		r.got = append(r.got, d)
		answer := r.answer
		r.mu.Unlock()
		w.WriteHeader(answer(d))
	}))
	t.Cleanup(r.Close)
	return r
}

func respond(status int) func(received) int { return func(received) int { return status } }

// answers sets how the endpoint answers from now on.
func (r *receiver) answers(answer func(received) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// holds makes the endpoint answer with a status once release is called, at the latest when the test ends.
func (r *receiver) holds(t *testing.T, status int) (release func()) {
	t.Helper()
	held := make(chan struct{})
	release = sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	r.answers(func(received) int { <-held; return status })
	return release
}

func (r *receiver) deliveries() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *receiver) count() int { return len(r.deliveries()) }

// types are the types of what the endpoint got about an object, in the order of arrival.
func (r *receiver) types(object string) string {
	var list []string
	for _, d := range r.deliveries() {
		if d.object() == object {
			list = append(list, strings.TrimPrefix(d.Type, "payment."))
		}
	}
	return strings.Join(list, " ")
}

// subscribe adds an endpoint.
func (s *service) subscribe(t *testing.T, url string, events ...string) string {
	t.Helper()
	made, err := s.hooks.Subscribe(t.Context(), s.By, s.Scope, appwebhooks.NewSubscription{URL: url, Events: events})
	must(t, err)
	return made.ID
}

// sub reads an endpoint.
func (s *service) sub(t *testing.T, id string) webhooks.Subscription {
	t.Helper()
	sub, err := s.hooks.Subscription(t.Context(), s.Scope, id)
	must(t, err)
	return sub
}

// edit changes an endpoint.
func (s *service) edit(t *testing.T, id string, e webhooks.SubscriptionEdit) {
	t.Helper()
	_, err := s.hooks.EditSubscription(t.Context(), s.By, s.Scope, id, appwebhooks.SubscriptionEdit{SubscriptionEdit: e})
	must(t, err)
}

// status is an edit that enables or disables an endpoint.
func status(to webhooks.SubscriptionStatus) webhooks.SubscriptionEdit {
	return webhooks.SubscriptionEdit{Status: &to}
}

// log lists the deliveries to an endpoint in a status, newest first; "" selects all.
func (s *service) log(t *testing.T, id string, in webhooks.DeliveryStatus) []webhooks.Delivery {
	t.Helper()
	f := lists.DeliveryFilter{Page: lists.Page{Limit: 500}}
	f.Status = in
	log, err := s.hooks.Deliveries(t.Context(), s.Scope, id, f)
	must(t, err)
	return log.Deliveries
}

// awaits waits until n deliveries to an endpoint are in a status.
func (s *service) awaits(t *testing.T, id string, in webhooks.DeliveryStatus, n int) []webhooks.Delivery {
	t.Helper()
	apptest.Eventually(t, string(in)+" are as many deliveries as they should be", func() bool {
		s.dispatch(t)
		return len(s.log(t, id, in)) == n
	})
	return s.log(t, id, in)
}

// await dispatches until an endpoint got n deliveries or more.
func (s *service) await(t *testing.T, r *receiver, n int) []received {
	t.Helper()
	apptest.Eventually(t, "the endpoint was called as often as it should be", func() bool {
		s.dispatch(t)
		return r.count() >= n
	})
	return r.deliveries()
}

func (s *service) dispatch(t *testing.T) (leased int) {
	t.Helper()
	n, err := s.hooks.Dispatch(t.Context())
	must(t, err)
	return n
}

// quiet dispatches until no delivery to an endpoint is due or on its way. The lease of one that is on its way ends in half a minute.
func (s *service) quiet(t *testing.T, id string) {
	t.Helper()
	apptest.Eventually(t, "no delivery is due or on its way", func() bool {
		if s.dispatch(t) > 0 {
			return false
		}
		return !slices.ContainsFunc(append(s.log(t, id, webhooks.DeliveryPending), s.log(t, id, webhooks.DeliveryFailed)...), func(d webhooks.Delivery) bool {
			wait := d.DueAt.Sub(s.Clock.Now())
			return !d.Parked && (wait <= 0 || wait == webhooks.DeliveryLease)
		})
	})
}

// card creates a payment by a card that is paid at once: one event.
func (s *service) card(t *testing.T) string {
	t.Helper()
	p, _, err := s.Payments.Create(t.Context(), s.By, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_card"})
	must(t, err)
	if p.Status != pay.Completed {
		t.Fatalf("the payment is %s, want it paid", p.Status)
	}
	return p.ID
}

// another creates another merchant, and returns its sandbox and its key.
func (s *service) another(t *testing.T) *service {
	t.Helper()
	made, err := s.Onboarding.CreateMerchant(t.Context(), s.Operator, appmerchants.NewMerchant{Name: "Other", Email: "other@example.com"})
	must(t, err)
	beside, there := *s, *s.Service
	there.Scope.Merchant, there.Scope.Shop = made.Merchant.ID, made.Shop.ID
	there.By.Scope = there.Scope
	beside.Service = &there
	return &beside
}

// code is the code of an error that callers see.
func code(err error) problem.Code {
	if shown, ok := errors.AsType[*problem.Error](err); ok {
		return shown.Code
	}
	return ""
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A shop has no more endpoints than the operator lets it have. Requests at the same time cannot exceed it (HOOK-19).
func TestShopHasNoMoreWebhooksThanItMay(t *testing.T) {
	s := open(t, func(c *appwebhooks.Config) { c.MaxWebhooks = 3 })
	subscribe := func(by *service, url string) error {
		_, err := s.hooks.Subscribe(context.Background(), by.By, by.Scope, appwebhooks.NewSubscription{URL: url, Events: []string{"payment.completed"}})
		return err
	}
	var mu sync.Mutex // guards made
	made := 0
	var race sync.WaitGroup
	for i := range 12 {
		race.Go(func() {
			err := subscribe(s, "https://shop.example/"+string(rune('a'+i)))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made++
			} else if code(err) != problem.ConflictState {
				t.Errorf("a request beyond the limit gets %v, want a conflict", err)
			}
		})
	}
	race.Wait()
	list, total, err := s.hooks.Subscriptions(t.Context(), s.Scope, lists.Page{Limit: 10})
	must(t, err)
	if made != 3 || total != 3 {
		t.Fatalf("of 12 requests at the same time %d made an endpoint, and there are %d, want 3", made, total)
	}
	live := *s.Service
	live.Scope.Live, live.By.Live = true, true
	for who, c := range map[string]struct {
		by   *service
		url  string
		want problem.Code
	}{
		"an inbox, which counts too":     {s, "", problem.ConflictState},
		"production has its own limit":   {&service{Service: &live}, "https://shop.example/", ""},
		"another shop has its own limit": {s.another(t), "https://shop.example/", ""},
	} {
		if err := subscribe(c.by, c.url); code(err) != c.want {
			t.Errorf("%s: it gets %v", who, err)
		}
	}
	s.edit(t, list[0].ID, status(webhooks.Disabled)) // it may be enabled again
	if err := subscribe(s, "https://shop.example/more"); code(err) != problem.ConflictState {
		t.Errorf("beside a disabled endpoint another one gets %v, want a conflict", err)
	}
	must(t, s.hooks.Unsubscribe(t.Context(), s.Operator, s.Scope, list[1].ID))
	must(t, subscribe(s, "https://shop.example/more"))
}

// Nobody sees or changes an endpoint of another merchant (AUTH-19).
func TestEndpointIsItsShopsAlone(t *testing.T) {
	s := open(t)
	id := s.subscribe(t, "https://shop.example/", "*")
	stranger := s.another(t)
	_, read := s.hooks.Subscription(t.Context(), stranger.Scope, id)
	_, edited := s.hooks.EditSubscription(t.Context(), stranger.By, stranger.Scope, id, appwebhooks.SubscriptionEdit{SubscriptionEdit: status(webhooks.Disabled)})
	_, _, rotated := s.hooks.RotateSecret(t.Context(), stranger.By, stranger.Scope, id)
	_, begun := s.replays.Begin(t.Context(), stranger.By, stranger.Scope, id, appwebhooks.NewReplay{Replay: webhooks.Replay{From: s.Clock.Now().Add(-time.Hour)}})
	removed := s.hooks.Unsubscribe(t.Context(), stranger.Operator, stranger.Scope, id)
	for what, err := range map[string]error{"reads": read, "edits": edited, "rotates": rotated, "replays to": begun, "deletes": removed} {
		if code(err) != problem.WebhookNotFound {
			t.Errorf("another merchant %s the endpoint: %v", what, err)
		}
	}
	if sub := s.sub(t, id); sub.Version != 1 || sub.Status != webhooks.Enabled {
		t.Errorf("another merchant changed the endpoint to %+v", sub)
	}
}
