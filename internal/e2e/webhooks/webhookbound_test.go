package webhooks

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

func endpointBody(n int) string {
	return fmt.Sprintf(`{"events":["payment.completed"],"url":"https://shop.example/%d"}`, n)
}

// Each event goes to all endpoints of a shop, so their number has a limit. Requests at the same time
// cannot exceed it.
func TestShopHasSoManyWebhooks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.WebhooksPerShop = 3 })
		o, other := s.NewShop(t), s.NewShop(t)
		var mu sync.Mutex
		var made []string
		var race sync.WaitGroup
		for i := range 12 {
			race.Go(func() {
				r := o.Post(t, "/webhooks", endpointBody(i))
				mu.Lock()
				defer mu.Unlock()
				if r.Status == http.StatusCreated {
					made = append(made, r.Text(t, "id"))
				} else {
					r.Refused(t, "409 conflict_state conflict_error")
				}
			})
		}
		race.Wait()
		if len(made) != 3 {
			t.Fatalf("of 12 requests at the same time %d made a webhook, want 3", len(made))
		}
		o.Post(t, "/webhooks", `{"events":["*"]}`).Refused(t, "409 conflict_state conflict_error") // inboxes count too
		o.Production().Post(t, "/webhooks", endpointBody(1)).Want(t, http.StatusCreated)           // production has its own limit
		other.Post(t, "/webhooks", endpointBody(1)).Want(t, http.StatusCreated)
		patch(t, o, "/webhooks/"+made[0], `{"status":"disabled"}`).Want(t, http.StatusOK)
		o.Post(t, "/webhooks", endpointBody(20)).Refused(t, "409 conflict_state conflict_error")
		patch(t, o, "/webhooks/"+made[0], `{"status":"enabled","url":"https://shop.example/new"}`).Want(t, http.StatusOK)
		o.Delete(t, "/webhooks/"+made[1]).Want(t, http.StatusOK)
		o.Post(t, "/webhooks", endpointBody(21)).Want(t, http.StatusCreated)
		o.Post(t, "/webhooks", endpointBody(22)).Refused(t, "409 conflict_state conflict_error")
	})
}

func TestTheSameWebhookTwiceIsRefused(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		const first = `{"events":["payment.completed","claim.opened"],"url":"https://shop.example/hook"}`
		id := o.Post(t, "/webhooks", first).Want(t, http.StatusCreated).Text(t, "id")
		const twice = "409 conflict_state conflict_error param=url"
		for _, same := range []string{first, `{"events":["claim.opened","payment.completed","claim.opened"],"url":"https://shop.example/hook"}`,
			`{"events":["payment.completed","claim.opened"],"url":"HTTPS://SHOP.example:443/hook#now"}`} {
			r := o.Post(t, "/webhooks", same)
			if r.Refused(t, twice); !strings.Contains(r.Text(t, "error.message"), id) {
				t.Errorf("the refusal does not name %s: %s", id, r)
			}
		}
		second := o.Post(t, "/webhooks", `{"events":["payment.completed"],"url":"https://shop.example/hook"}`).Want(t, http.StatusCreated).Text(t, "id")
		third := o.Post(t, "/webhooks", `{"events":["payment.completed"],"url":"https://shop.example/other"}`).Want(t, http.StatusCreated).Text(t, "id")
		patch(t, o, "/webhooks/"+second, `{"events":["claim.opened","payment.completed"]}`).Refused(t, twice)
		patch(t, o, "/webhooks/"+third, `{"url":"https://shop.example/hook"}`).Refused(t, twice)
		patch(t, o, "/webhooks/"+id, `{"events":["payment.completed","claim.opened"],"url":"https://shop.example/hook"}`).Want(t, http.StatusOK) // the webhook is not a duplicate of itself
		other.Post(t, "/webhooks", first).Want(t, http.StatusCreated)
		o.Production().Post(t, "/webhooks", first).Want(t, http.StatusCreated)

		// Of equal requests at the same time one makes a webhook.
		var race sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for range 8 {
			race.Go(func() {
				r := o.Post(t, "/webhooks", endpointBody(1))
				mu.Lock()
				defer mu.Unlock()
				if r.Status == http.StatusCreated {
					made++
				}
			})
		}
		race.Wait()
		if made != 1 {
			t.Errorf("of 8 equal requests at the same time %d made a webhook, want 1", made)
		}
		o.Delete(t, "/webhooks/"+id).Want(t, http.StatusOK)
		o.Post(t, "/webhooks", first).Want(t, http.StatusCreated)
	})
}

// standIns is a transport that stands in for the shops' endpoints. Each host answers by its handler.
type standIns map[string]http.HandlerFunc

func (e standIns) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	e[r.URL.Host](w, r)
	return w.Result(), nil
}

func TestProductionEndpointProvesWhoseItIs(t *testing.T) {
	var asked []string
	prove := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		harness.Must(t, err)
		var c struct{ Type, Challenge string }
		harness.Must(t, json.Unmarshal(body, &c))
		if c.Type != "webhook.challenge" || r.Header.Get(sender.EventHeader) != c.Type || len(c.Challenge) < 20 {
			t.Errorf("the challenge is %s %v", body, r.Header)
		}
		asked = append(asked, r.URL.Host)
		fmt.Fprintf(w, `{"answer":"%x"}`, sha256.Sum256([]byte(c.Challenge)))
	}
	hosts := standIns{
		"ours.example": prove, "moved.example": prove,
		"echo.example":     func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) },
		"stranger.example": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") },
		"error.example": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			prove(w, r)
		},
	}
	a := harness.NodeOf(t, dbtest.SQLite(t), &harness.Clock{}, &harness.Faults{}, func(c *app.Config) {
		c.ProveWebhooks, c.Sender = true, sender.New(sender.Config{Transport: hosts})
	})
	test := harness.Acme(t, a)
	live := test
	live.Live = true
	all := []string{webhooks.AllEvents}
	subscribe := func(by base.Principal, url string) (webhooks.Subscription, error) {
		sub, err := a.Webhooks.Subscribe(ctx, by, by.Scope, appwebhooks.NewSubscription{URL: url, Events: all})
		return sub.Subscription, err
	}
	for _, foreign := range []string{"https://stranger.example/", "https://error.example/", "https://echo.example/"} {
		if _, err := subscribe(live, foreign); err == nil || !strings.Contains(message.Sentence(err), "challenge") {
			t.Errorf("subscribing %s, which does not answer the challenge: %v, want an error that says so", foreign, err)
		}
	}
	if list, _, err := a.Webhooks.Subscriptions(ctx, live.Scope, lists.Page{Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("after only refused subscriptions the list has %v (%v), want none", list, err)
	}
	sub, err := subscribe(live, "https://ours.example/")
	harness.Must(t, err)
	if _, err := subscribe(test, "https://stranger.example/"); err != nil { // the sandbox sends no challenge
		t.Error(err)
	}
	edit := func(url string) error {
		_, err := a.Webhooks.EditSubscription(ctx, live, live.Scope, sub.ID, appwebhooks.SubscriptionEdit{SubscriptionEdit: webhooks.SubscriptionEdit{URL: &url}})
		return err
	}
	if err := edit("https://stranger.example/"); err == nil {
		t.Error("a webhook was moved to an endpoint that does not answer the challenge")
	}
	harness.Must(t, edit("https://moved.example/"))
	harness.Must(t, edit("https://moved.example/")) // no change, so no challenge
	if got := strings.Join(asked, " "); got != "error.example ours.example moved.example" {
		t.Errorf("the challenged hosts are %q, want error, ours and moved, once each", got)
	}
}

// A merchant whose endpoints hang can use only its share of the connections.
func TestAMerchantsEndpointsTakeTheirShareAlone(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		const lanes, width, share = 10, 32, 256
		var mu sync.Mutex
		now, most := 0, 0
		release := make(chan struct{})
		slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			<-release
		}))
		t.Cleanup(slow.Close)
		let := sync.OnceFunc(func() { close(release) })
		t.Cleanup(let)
		o, other := s.NewShop(t), s.NewShop(t)
		for i := range lanes {
			o.Post(t, "/webhooks", fmt.Sprintf(`{"events":["payment.completed"],"url":"%s/%d"}`, slow.URL, i)).Want(t, http.StatusCreated)
		}
		endpoint := s.Receive(t)
		other.Subscribe(t, endpoint.URL, `"payment.completed"`)
		for range width {
			o.Create(t, harness.Card)
		}
		harness.Eventually(t, "the share is used up", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return now >= share
		})
		other.Create(t, harness.Card)
		endpoint.Await(t, 1)
		mu.Lock()
		if most != share {
			t.Errorf("%d requests to one merchant's endpoints were on their way at a time, want %d of %d", most, share, lanes*width)
		}
		mu.Unlock()
		let()
	})
}
