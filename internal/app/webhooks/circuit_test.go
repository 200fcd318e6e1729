package webhooks_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/apptest"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

const openAfter = 10 // failures in a row

// broken makes an endpoint fail until its circuit is open.
func (s *service) broken(t *testing.T) (*receiver, string) {
	t.Helper()
	endpoint := receive(t)
	endpoint.answers(respond(http.StatusServiceUnavailable))
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	for range openAfter {
		s.card(t)
	}
	apptest.Eventually(t, "the circuit is open", func() bool { s.dispatch(t); return s.sub(t, id).Circuit.Open })
	s.awaits(t, id, webhooks.DeliveryFailed, openAfter)
	return endpoint, id
}

// attempts is the sum of the tries of all deliveries to an endpoint.
func (s *service) attempts(t *testing.T, id string) (n int) {
	t.Helper()
	for _, d := range s.log(t, id, "") {
		n += d.Attempts
	}
	return n
}

// Once a minute one delivery is tried at an endpoint that fails. The others are parked and use up no try. When the endpoint works
// again, it gets all of them, each once (HOOK-15).
func TestDeadEndpointIsProbedOnceAMinuteAndFlowsAtOnceWhenItIsWell(t *testing.T) {
	s := open(t)
	endpoint, id := s.broken(t)
	const more = 20
	for range more {
		s.card(t)
	}
	s.quiet(t, id)
	if n := endpoint.count(); n != openAfter {
		t.Errorf("an endpoint whose circuit is open was called %d times, want %d", n, openAfter)
	}
	for n := 1; n <= 3; n++ {
		s.Clock.Advance(61 * time.Second)
		s.quiet(t, id)
		if calls, tries := endpoint.count(), s.attempts(t, id); calls != openAfter+n || tries != openAfter+n {
			t.Errorf("after %d minutes the endpoint was called %d times, and %d tries are counted, want %d", n, calls, tries, openAfter+n)
		}
	}
	endpoint.answers(respond(http.StatusOK))
	s.Clock.Advance(61 * time.Second)
	apptest.Eventually(t, "all deliveries are delivered", func() bool {
		s.quiet(t, id)
		s.Clock.Advance(time.Minute) // those that failed first wait for their own retry
		return len(s.log(t, id, webhooks.DeliveryDelivered)) == openAfter+more
	})
	if s.sub(t, id).Circuit.Open || endpoint.count() != s.attempts(t, id) || endpoint.count() != openAfter+3+openAfter+more {
		t.Errorf("in the end the endpoint was called %d times, and %d tries are counted, want %d", endpoint.count(), s.attempts(t, id), openAfter+3+openAfter+more)
	}
}

// Whoever enables an endpoint, or gives it another address, says that it works now: what waits is sent.
func TestEnablingOrANewURLClosesTheCircuit(t *testing.T) {
	s := open(t)
	for name, change := range map[string]func(*receiver) webhooks.SubscriptionEdit{
		"enabled": func(*receiver) webhooks.SubscriptionEdit { return status(webhooks.Enabled) },
		"a new URL": func(r *receiver) webhooks.SubscriptionEdit {
			url := r.URL + "/new"
			return webhooks.SubscriptionEdit{URL: &url}
		},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint, id := s.broken(t)
			s.card(t)
			s.quiet(t, id)
			if n := endpoint.count(); n != openAfter {
				t.Errorf("the endpoint was called %d times before the change, want %d", n, openAfter)
			}
			endpoint.answers(respond(http.StatusOK))
			s.edit(t, id, change(endpoint))
			s.awaits(t, id, webhooks.DeliveryDelivered, 1)
			must(t, s.hooks.Unsubscribe(t.Context(), s.Operator, s.Scope, id))
		})
	}
}

// What waits for an endpoint that is given up becomes dead letters: it is neither lost nor tried again (HOOK-16).
func TestEndpointWithoutASuccessForSevenDaysIsDisabled(t *testing.T) {
	s := open(t)
	endpoint, id := s.broken(t)
	s.card(t)
	s.quiet(t, id)
	s.Clock.Advance(7*24*time.Hour - 2*time.Minute)
	s.quiet(t, id)
	if sub := s.sub(t, id); sub.Status != webhooks.Enabled {
		t.Fatalf("the endpoint is %s before its seventh day is over", sub.Status)
	}
	s.Clock.Advance(3 * time.Minute)
	apptest.Eventually(t, "the endpoint is disabled", func() bool { s.dispatch(t); return s.sub(t, id).Status == webhooks.Disabled })
	s.quiet(t, id) // a probe may be on its way
	called := endpoint.count()
	if sub := s.sub(t, id); !strings.Contains(sub.DisabledReason, "seven days") {
		t.Errorf("the reason is %q, want one that names seven days", sub.DisabledReason)
	}
	apptest.Eventually(t, "what waits are dead letters", func() bool {
		s.dispatch(t)
		s.Clock.Advance(24 * time.Hour)
		return len(s.log(t, id, webhooks.DeadLetter)) == openAfter+1
	})
	if tries := s.attempts(t, id); tries != called || endpoint.count() != called {
		t.Errorf("%d tries are counted and the endpoint was called %d times, want %d of both", tries, endpoint.count(), called)
	}

	endpoint.answers(respond(http.StatusOK))
	s.edit(t, id, status(webhooks.Enabled))
	s.card(t)
	s.awaits(t, id, webhooks.DeliveryDelivered, 1)
	_, err := s.hooks.Replay(t.Context(), s.By, s.Scope, id, s.log(t, id, webhooks.DeadLetter)[0].ID)
	must(t, err)
	s.awaits(t, id, webhooks.DeliveryDelivered, 2)
	if n := endpoint.count(); n != called+2 {
		t.Errorf("once it was enabled the endpoint was called %d times, want twice", n-called)
	}
}

// A success between failures begins the count anew (HOOK-15).
func TestCircuitCountsFailuresInARow(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	for round := range 2 {
		endpoint.answers(respond(http.StatusBadGateway))
		for range openAfter - 1 {
			s.card(t)
		}
		s.awaits(t, id, webhooks.DeliveryFailed, (round+1)*(openAfter-1))
		endpoint.answers(respond(http.StatusOK))
		s.card(t)
		s.awaits(t, id, webhooks.DeliveryDelivered, round+1)
		apptest.Eventually(t, fmt.Sprintf("round %d: the success ends the count of failures", round), func() bool {
			c := s.sub(t, id).Circuit
			return !c.Open && c.Failures == 0
		})
	}
}
