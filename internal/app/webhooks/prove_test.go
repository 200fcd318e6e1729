package webhooks_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/base"
	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// standIns is a transport that stands in for the shops' endpoints. Each host answers by its handler.
type standIns map[string]http.HandlerFunc

func (e standIns) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	e[r.URL.Host](w, r)
	return w.Result(), nil
}

// Whoever adds a production endpoint shows that it is theirs: it answers a challenge (HOOK-21).
func TestProductionEndpointProvesWhoseItIs(t *testing.T) {
	var asked []string
	prove := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		must(t, err)
		var c struct{ Type, Challenge string }
		must(t, json.Unmarshal(body, &c))
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
	s := open(t, func(c *appwebhooks.Config) {
		c.ProveWebhooks, c.Sender = true, sender.New(sender.Config{Transport: hosts})
	})
	live := s.By
	live.Live = true
	all := []string{webhooks.AllEvents}
	subscribe := func(by base.Principal, url string) (webhooks.Subscription, error) {
		sub, err := s.hooks.Subscribe(t.Context(), by, by.Scope, appwebhooks.NewSubscription{URL: url, Events: all})
		return sub.Subscription, err
	}
	for _, foreign := range []string{"https://stranger.example/", "https://error.example/", "https://echo.example/"} {
		if _, err := subscribe(live, foreign); code(err) != problem.InvalidRequest {
			t.Errorf("subscribing %s, which does not answer the challenge: %v, want an error", foreign, err)
		}
	}
	if list, _, err := s.hooks.Subscriptions(t.Context(), live.Scope, lists.Page{Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("after only refused subscriptions the list has %v (%v), want none", list, err)
	}
	sub, err := subscribe(live, "https://ours.example/")
	must(t, err)
	if _, err := subscribe(s.By, "https://stranger.example/"); err != nil { // the sandbox sends no challenge
		t.Error(err)
	}
	edit := func(url string) error {
		_, err := s.hooks.EditSubscription(t.Context(), live, live.Scope, sub.ID, appwebhooks.SubscriptionEdit{SubscriptionEdit: webhooks.SubscriptionEdit{URL: &url}})
		return err
	}
	if err := edit("https://stranger.example/"); err == nil {
		t.Error("a webhook was moved to an endpoint that does not answer the challenge")
	}
	must(t, edit("https://moved.example/"))
	must(t, edit("https://moved.example/")) // no change, so no challenge
	if got := strings.Join(asked, " "); got != "error.example ours.example moved.example" {
		t.Errorf("the challenged hosts are %q, want error, ours and moved, once each", got)
	}
}
