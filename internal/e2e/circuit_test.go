package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

const openAfter = 10 // failures in a row

// broken makes an endpoint that answers with an error, and lets it fail until
// its circuit is open.
func (o shop) broken(t *testing.T) (*receiver, subscribed) {
	t.Helper()
	endpoint := o.receive(t)
	endpoint.answers(respond(http.StatusServiceUnavailable))
	h := o.hook(t, endpoint.URL, `"payment.completed"`)
	for range openAfter {
		o.create(t, card)
	}
	eventually(t, "every try has failed", func() bool {
		return h.log(t, "?status=failed").text(t, "pagination.total") == fmt.Sprint(openAfter)
	})
	// The first one that is not tried finds it open.
	eventually(t, "the circuit is open", func() bool {
		before := len(endpoint.deliveries())
		o.create(t, card)
		o.rest(t)
		return len(endpoint.deliveries()) == before
	})
	return endpoint, h
}

// tries adds up the attempts of the deliveries that a query selects.
func (h subscribed) tries(t *testing.T, query string) (n int) {
	t.Helper()
	r := h.log(t, query)
	list, _ := r.at(t, "data")
	for i := range list.([]any) {
		var tries int
		_, err := fmt.Sscan(r.text(t, fmt.Sprintf("data.%d.attempts", i)), &tries)
		must(t, err)
		n += tries
	}
	return n
}

// counts waits until the log counts as many tries as the endpoint saw calls: a
// try is written after its answer.
func (h subscribed) counts(t *testing.T, calls int) {
	t.Helper()
	tries := 0
	eventually(t, fmt.Sprintf("%d tries are counted", calls), func() bool {
		tries = h.tries(t, "?limit=100")
		return tries >= calls
	})
	if tries != calls {
		t.Errorf("%d tries are counted, the endpoint was called %d times", tries, calls)
	}
}

func TestDeadEndpointIsProbedOnceAMinuteAndFlowsAtOnceWhenItIsWell(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint, h := o.broken(t)
		called := len(endpoint.deliveries())
		const more = 20
		for range more {
			o.create(t, card)
		}
		endpoint.only(t, called)
		waiting := h.log(t, "?status=pending&limit=1")
		if waiting.text(t, "data.0.attempts") != "0" || waiting.text(t, "data.0.nextAttemptAt") == "<nil>" {
			t.Errorf("what waits has used up tries, or no time: %s", waiting)
		}
		// Each minute one delivery is tried, and no other uses up a try; failed ones
		// come due too and wait.
		for n := 1; n <= 3; n++ {
			s.clock.advance(61 * time.Second)
			endpoint.await(t, called+n)
			endpoint.only(t, called+n)
			h.counts(t, called+n)
		}
		// It is well: the next probe finds out, and all the rest goes at once.
		endpoint.answers(respond(http.StatusOK))
		s.clock.advance(61 * time.Second)
		total := h.log(t, "").text(t, "pagination.total")
		eventually(t, "everything is delivered", func() bool {
			s.rest(t)
			// The first to fail have their own time to wait.
			s.clock.advance(time.Minute)
			return h.log(t, "?status=delivered").text(t, "pagination.total") == total
		})
		h.counts(t, len(endpoint.deliveries()))
		before := len(endpoint.deliveries())
		o.create(t, card)
		endpoint.await(t, before+1)
		endpoint.only(t, before+1)
	})
}

func TestOpenCircuitSurvivesARestart(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		before := start(t, database, &clock{})
		o := before.shop(t)
		endpoint, h := o.broken(t)
		called := len(endpoint.deliveries())
		before.end(t)

		after := start(t, database, before.clock)
		o.service, endpoint.service, h.service = after, after, after
		o.create(t, card)
		endpoint.only(t, called)
		endpoint.answers(respond(http.StatusOK))
		after.clock.advance(61 * time.Second)
		total := h.log(t, "").text(t, "pagination.total")
		eventually(t, "everything is delivered", func() bool {
			after.rest(t)
			after.clock.advance(time.Minute)
			return h.log(t, "?status=delivered").text(t, "pagination.total") == total
		})
	})
}

func TestEnablingOrANewURLClosesTheCircuit(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for name, change := range map[string]func(*receiver) string{
			"enabled": func(*receiver) string { return `{"status":"enabled"}` },
			"a new URL": func(c *receiver) string {
				return fmt.Sprintf(`{"url":%q}`, c.URL+"/new")
			},
		} {
			t.Run(name, func(t *testing.T) {
				endpoint, h := o.broken(t)
				called := len(endpoint.deliveries())
				if waiting := h.log(t, "?status=pending").text(t, "pagination.total"); waiting == "0" {
					t.Error("nothing waits")
				}
				endpoint.answers(respond(http.StatusOK))
				o.patch(t, h.path(""), change(endpoint)).want(t, http.StatusOK)
				eventually(t, "what waited is delivered", func() bool {
					return h.log(t, "?status=pending").text(t, "pagination.total") == "0"
				})
				endpoint.awaits(t, called+1)
				o.delete(t, h.path("")).want(t, http.StatusOK)
			})
		}
	})
}

func TestEndpointWithoutASuccessForSevenDaysIsDisabled(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint, h := o.broken(t)
		s.clock.advance(7*24*time.Hour - 2*time.Minute)
		s.rest(t)
		if status := o.get(t, h.path("")).text(t, "status"); status != "enabled" {
			t.Fatalf("the webhook is %s before its seventh day is over", status)
		}
		s.clock.advance(5 * time.Minute)
		var r reply
		eventually(t, "the webhook is disabled", func() bool {
			_, err := s.App.Webhooks.Dispatch(ctx)
			must(t, err)
			r = o.get(t, h.path(""))
			return r.text(t, "status") == "disabled"
		})
		if reason := r.text(t, "disabledReason"); !strings.Contains(reason, "seven days") {
			t.Errorf("the reason is %q", reason)
		}
		// What waited is dead letters, not lost and with no try more. A probe may
		// have been under way.
		s.rest(t)
		called := len(endpoint.deliveries())
		total := h.log(t, "").text(t, "pagination.total")
		eventually(t, "what waited is dead letters", func() bool {
			s.clock.advance(24 * time.Hour)
			s.rest(t)
			return h.log(t, "?status=dead_letter").text(t, "pagination.total") == total
		})
		if tries := h.tries(t, "?limit=100"); tries != called || len(endpoint.deliveries()) != called {
			t.Errorf("%d tries are counted, the endpoint was called %d times and %d before", tries, len(endpoint.deliveries()), called)
		}

		endpoint.answers(respond(http.StatusOK))
		o.patch(t, h.path(""), `{"status":"enabled"}`).want(t, http.StatusOK)
		o.create(t, card)
		endpoint.await(t, called+1)
		letter := h.log(t, "?status=dead_letter&limit=1").text(t, "data.0.id")
		o.post(t, h.path("/deliveries/"+letter+"/replay"), "").want(t, http.StatusOK)
		endpoint.await(t, called+2)
		endpoint.only(t, called+2)
	})
}

// A success between failures begins the count anew.
func TestCircuitCountsFailuresInARow(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		h := o.hook(t, endpoint.URL, `"*"`)
		for round := range 2 {
			var calls atomic.Int64
			endpoint.answers(func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) < openAfter {
					w.WriteHeader(http.StatusBadGateway)
				}
			})
			for range openAfter - 1 {
				o.create(t, card)
			}
			eventually(t, "nine tries have failed", func() bool { return calls.Load() >= openAfter-1 })
			o.create(t, card)
			if d := h.last(t, "delivered"); d.text(t, "attempts") != "1" {
				t.Errorf("round %d: the tenth was not taken at once: %s", round, d)
			}
		}
	})
}

// However many dead endpoints there are and however much waits for them, the
// others are told at once.
func TestDeadEndpointsDelayNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		quick := s.receive(t)
		hold := make(chan struct{})
		defer close(hold)
		var slow []*receiver
		for i := range 5 {
			c := s.receive(t)
			c.holds(t, hold, quick)
			o.subscribe(t, c.URL, `"*"`)
			slow = append(slow, c)
			o.subscribe(t, fmt.Sprint("http://127.0.0.1:1/refused/", i), `"*"`)
		}
		o.subscribe(t, quick.URL, `"*"`)
		const payments = 60
		for range payments {
			o.create(t, card)
		}
		eventually(t, "the quick endpoint has them all", func() bool { return len(quick.deliveries()) == payments })
		for _, c := range slow {
			if n := len(c.deliveries()); n == 0 || n > 32 {
				t.Errorf("a slow endpoint has %d deliveries under way, want 1 to 32", n)
			}
		}
	})
}

// More waits for a slow endpoint than memory holds. Each is sent once all the
// same, and as soon as the endpoint is quick again.
func TestWhatASlowEndpointHasNoRoomForIsSentOnce(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		h := o.hook(t, endpoint.URL, `"payment.completed"`)
		hold := func() (release func()) {
			held := make(chan struct{})
			endpoint.answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusOK) })
			return sync.OnceFunc(func() { close(held) })
		}
		release := hold()
		o.create(t, card)
		endpoint.await(t, 1)
		s.clock.advance(9 * time.Second) // which the first try takes
		release()
		h.last(t, "delivered")

		release = hold()
		defer release()
		const payments = 100 // 32 are under way at a time, about as many wait in memory
		for range payments {
			o.create(t, card)
		}
		endpoint.await(t, 1+32)
		endpoint.answers(respond(http.StatusOK))
		release()
		eventually(t, "everything is delivered", func() bool {
			return h.log(t, "?status=delivered").text(t, "pagination.total") == fmt.Sprint(1+payments)
		})
		if n := len(endpoint.deliveries()); n != 1+payments {
			t.Errorf("the endpoint was called %d times for %d events", n, 1+payments)
		}
	})
}
