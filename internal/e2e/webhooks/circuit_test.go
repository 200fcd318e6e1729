package webhooks

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

const openAfter = 10 // failures in a row

// broken makes an endpoint that answers with an error, and sends it events until its circuit is
// open.
func broken(t *testing.T, o harness.Client) (*harness.Receiver, harness.Subscribed) {
	t.Helper()
	endpoint := o.Receive(t)
	endpoint.Answers(harness.Respond(http.StatusServiceUnavailable))
	h := o.Hook(t, endpoint.URL, `"payment.completed"`)
	for range openAfter {
		o.Create(t, harness.Card)
	}
	harness.Eventually(t, "every try has failed", func() bool {
		return h.Log(t, "?status=failed").Text(t, "pagination.total") == fmt.Sprint(openAfter)
	})
	// The first delivery that is not tried shows that the circuit is open.
	harness.Eventually(t, "the circuit is open", func() bool {
		before := len(endpoint.Deliveries())
		o.Create(t, harness.Card)
		dispatchAll(t, o.Instance)
		return len(endpoint.Deliveries()) == before
	})
	return endpoint, h
}

// countTries returns the sum of the attempts of the deliveries that a query selects.
func countTries(t *testing.T, h harness.Subscribed, query string) (n int) {
	t.Helper()
	r := h.Log(t, query)
	list, _ := r.At(t, "data")
	for i := range list.([]any) {
		var tries int
		_, err := fmt.Sscan(r.Text(t, fmt.Sprintf("data.%d.attempts", i)), &tries)
		harness.Must(t, err)
		n += tries
	}
	return n
}

// awaitTries waits until the log counts as many tries as the endpoint got calls: the service
// writes a try only after its answer.
func awaitTries(t *testing.T, h harness.Subscribed, calls int) {
	t.Helper()
	tries := 0
	harness.Eventually(t, fmt.Sprintf("%d tries are counted", calls), func() bool {
		tries = countTries(t, h, "?limit=100")
		return tries >= calls
	})
	if tries != calls {
		t.Errorf("%d tries are counted, the endpoint was called %d times", tries, calls)
	}
}

func TestDeadEndpointIsProbedOnceAMinuteAndFlowsAtOnceWhenItIsWell(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint, h := broken(t, o)
		called := len(endpoint.Deliveries())
		const more = 20
		for range more {
			o.Create(t, harness.Card)
		}
		onlyOne(t, endpoint, called)
		waiting := h.Log(t, "?status=pending&limit=1")
		if waiting.Text(t, "data.0.attempts") != "0" || waiting.Text(t, "data.0.nextAttemptAt") == "<nil>" {
			t.Errorf("a waiting delivery has used up tries, or it has no next time: %s", waiting)
		}
		// Each minute one delivery is tried, and no other uses up a try. Failed deliveries become due
		// too, and wait.
		for n := 1; n <= 3; n++ {
			s.Clock.Advance(61 * time.Second)
			endpoint.Await(t, called+n)
			onlyOne(t, endpoint, called+n)
			awaitTries(t, h, called+n)
		}
		// The endpoint works again: the next probe finds that, and all other deliveries go at once.
		endpoint.Answers(harness.Respond(http.StatusOK))
		s.Clock.Advance(61 * time.Second)
		total := h.Log(t, "").Text(t, "pagination.total")
		harness.Eventually(t, "all deliveries are delivered", func() bool {
			dispatchAll(t, s)
			// The deliveries that failed first wait for their own retry.
			s.Clock.Advance(time.Minute)
			return h.Log(t, "?status=delivered").Text(t, "pagination.total") == total
		})
		awaitTries(t, h, len(endpoint.Deliveries()))
		before := len(endpoint.Deliveries())
		o.Create(t, harness.Card)
		endpoint.Await(t, before+1)
		onlyOne(t, endpoint, before+1)
	})
}

func TestOpenCircuitSurvivesARestart(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		before := harness.Start(t, database, &harness.Clock{})
		o := before.NewShop(t)
		endpoint, h := broken(t, o)
		called := len(endpoint.Deliveries())
		before.End(t)

		after := harness.Start(t, database, before.Clock)
		o.Instance, endpoint.Instance, h.Instance = after, after, after
		o.Create(t, harness.Card)
		onlyOne(t, endpoint, called)
		endpoint.Answers(harness.Respond(http.StatusOK))
		after.Clock.Advance(61 * time.Second)
		total := h.Log(t, "").Text(t, "pagination.total")
		harness.Eventually(t, "all deliveries are delivered", func() bool {
			dispatchAll(t, after)
			after.Clock.Advance(time.Minute)
			return h.Log(t, "?status=delivered").Text(t, "pagination.total") == total
		})
	})
}

func TestEnablingOrANewURLClosesTheCircuit(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for name, change := range map[string]func(*harness.Receiver) string{
			"enabled": func(*harness.Receiver) string { return `{"status":"enabled"}` },
			"a new URL": func(c *harness.Receiver) string {
				return fmt.Sprintf(`{"url":%q}`, c.URL+"/new")
			},
		} {
			t.Run(name, func(t *testing.T) {
				endpoint, h := broken(t, o)
				called := len(endpoint.Deliveries())
				if waiting := h.Log(t, "?status=pending").Text(t, "pagination.total"); waiting == "0" {
					t.Error("no delivery waits")
				}
				endpoint.Answers(harness.Respond(http.StatusOK))
				patch(t, o, h.Path(""), change(endpoint)).Want(t, http.StatusOK)
				harness.Eventually(t, "the waiting deliveries are delivered", func() bool {
					return h.Log(t, "?status=pending").Text(t, "pagination.total") == "0"
				})
				endpoint.Awaits(t, called+1)
				o.Delete(t, h.Path("")).Want(t, http.StatusOK)
			})
		}
	})
}

func TestEndpointWithoutASuccessForSevenDaysIsDisabled(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint, h := broken(t, o)
		s.Clock.Advance(7*24*time.Hour - 2*time.Minute)
		dispatchAll(t, s)
		if status := o.Get(t, h.Path("")).Text(t, "status"); status != "enabled" {
			t.Fatalf("the webhook is %s before its seventh day is over", status)
		}
		s.Clock.Advance(5 * time.Minute)
		var r harness.Reply
		harness.Eventually(t, "the webhook is disabled", func() bool {
			_, err := s.App.Webhooks.Dispatch(ctx)
			harness.Must(t, err)
			r = o.Get(t, h.Path(""))
			return r.Text(t, "status") == "disabled"
		})
		if reason := r.Text(t, "disabledReason"); !strings.Contains(reason, "seven days") {
			t.Errorf("the reason is %q, want one that names seven days", reason)
		}
		// The waiting deliveries become dead letters: they are not lost, and not tried again. A probe
		// may be on its way.
		dispatchAll(t, s)
		called := len(endpoint.Deliveries())
		total := h.Log(t, "").Text(t, "pagination.total")
		harness.Eventually(t, "the waiting deliveries are dead letters", func() bool {
			s.Clock.Advance(24 * time.Hour)
			dispatchAll(t, s)
			return h.Log(t, "?status=dead_letter").Text(t, "pagination.total") == total
		})
		if tries := countTries(t, h, "?limit=100"); tries != called || len(endpoint.Deliveries()) != called {
			t.Errorf("%d tries are counted and the endpoint was called %d times, want %d of both", tries, len(endpoint.Deliveries()), called)
		}

		endpoint.Answers(harness.Respond(http.StatusOK))
		patch(t, o, h.Path(""), `{"status":"enabled"}`).Want(t, http.StatusOK)
		o.Create(t, harness.Card)
		endpoint.Await(t, called+1)
		letter := h.Log(t, "?status=dead_letter&limit=1").Text(t, "data.0.id")
		o.Post(t, h.Path("/deliveries/"+letter+"/replay"), "").Want(t, http.StatusOK)
		endpoint.Await(t, called+2)
		onlyOne(t, endpoint, called+2)
	})
}

// A success between failures resets the count.
func TestCircuitCountsFailuresInARow(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		h := o.Hook(t, endpoint.URL, `"*"`)
		for round := range 2 {
			var calls atomic.Int64
			endpoint.Answers(func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) < openAfter {
					w.WriteHeader(http.StatusBadGateway)
				}
			})
			for range openAfter - 1 {
				o.Create(t, harness.Card)
			}
			harness.Eventually(t, "nine tries have failed", func() bool { return calls.Load() >= openAfter-1 })
			o.Create(t, harness.Card)
			if d := h.Last(t, "delivered"); d.Text(t, "attempts") != "1" {
				t.Errorf("round %d: the tenth event was not delivered by the first try: %s", round, d)
			}
		}
	})
}

// Other endpoints get their events at once, however many endpoints are dead and however much
// waits for them.
func TestDeadEndpointsDelayNobodyElse(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		quick := s.Receive(t)
		hold := make(chan struct{})
		defer close(hold)
		var slow []*harness.Receiver
		for i := range 5 {
			c := s.Receive(t)
			holdTries(t, c, hold, quick)
			o.Subscribe(t, c.URL, `"*"`)
			slow = append(slow, c)
			o.Subscribe(t, fmt.Sprint("http://127.0.0.1:1/refused/", i), `"*"`)
		}
		o.Subscribe(t, quick.URL, `"*"`)
		const payments = 60
		for range payments {
			o.Create(t, harness.Card)
		}
		harness.Eventually(t, "the quick endpoint has all events", func() bool { return len(quick.Deliveries()) == payments })
		for _, c := range slow {
			if n := len(c.Deliveries()); n == 0 || n > 32 {
				t.Errorf("%d deliveries are on their way to a slow endpoint, want 1 to 32", n)
			}
		}
	})
}

// More deliveries wait for a slow endpoint than memory holds. Still each is sent once, as soon as
// the endpoint is quick again.
func TestWhatASlowEndpointHasNoRoomForIsSentOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		h := o.Hook(t, endpoint.URL, `"payment.completed"`)
		hold := func() (release func()) {
			held := make(chan struct{})
			endpoint.Answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusOK) })
			return sync.OnceFunc(func() { close(held) })
		}
		release := hold()
		o.Create(t, harness.Card)
		endpoint.Await(t, 1)
		s.Clock.Advance(9 * time.Second) // the first try takes so long
		release()
		h.Last(t, "delivered")

		release = hold()
		defer release()
		const payments = 99 // 32 are on their way at a time, and about 32 wait in memory
		for range payments {
			o.Create(t, harness.Card)
		}
		endpoint.Await(t, 1+32)
		held := map[string]bool{} // by event
		for _, d := range endpoint.Deliveries() {
			held[d.Text("id")] = true
		}
		endpoint.Answers(harness.Respond(http.StatusOK))
		release()
		harness.Eventually(t, "all deliveries are delivered", func() bool {
			return h.Log(t, "?status=delivered").Text(t, "pagination.total") == fmt.Sprint(1+payments)
		})
		calls := map[string]int{} // by event
		for _, d := range endpoint.Deliveries() {
			calls[d.Text("id")]++
		}
		waited := 0
		for event, n := range calls {
			if held[event] { // on a busy machine a call is held for more than ten seconds, and is made again
				continue
			}
			if waited++; n != 1 {
				t.Errorf("the endpoint was called %d times for %s, which waited", n, event)
			}
		}
		if len(calls) != 1+payments || waited == 0 {
			t.Errorf("the endpoint was called for %d events, of which %d waited, want %d", len(calls), waited, 1+payments)
		}
		awaitTries(t, h, len(endpoint.Deliveries())) // each call again is a try that failed
	})
}

// holdTries makes every try at c wait until hold is closed, or until the service gives the try up.
// By then the quick endpoint must have the same event: it does not wait for c.
func holdTries(t *testing.T, c *harness.Receiver, hold chan struct{}, quick *harness.Receiver) {
	c.Answers(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case <-hold:
		case <-r.Context().Done():
			event := harness.Received{Event: harness.Decode(t, body).(map[string]any)}.Text("id")
			if !slices.ContainsFunc(quick.Deliveries(), func(d harness.Received) bool { return d.Text("id") == event }) {
				t.Errorf("event %s waited for a slow endpoint", event)
			}
		}
	})
}
