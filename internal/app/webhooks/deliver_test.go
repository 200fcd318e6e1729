package webhooks_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/apptest"
	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// delays are the pauses between tries; each is changed by up to a fifth (HOOK-13).
var delays = []time.Duration{
	10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
	12 * time.Hour, 24 * time.Hour, 24 * time.Hour,
}

// A delivery is tried eleven times, with the same body under the same id, and each pause is that of the schedule with the jitter
// (HOOK-13, EVT-9).
func TestDeliveryIsTriedElevenTimes(t *testing.T) {
	for _, jitter := range []float64{0, 0.5, 1} {
		s := open(t, func(c *appwebhooks.Config) { c.Jitter = func() float64 { return jitter } })
		endpoint := receive(t)
		endpoint.answers(respond(http.StatusInternalServerError))
		made, err := s.hooks.Subscribe(t.Context(), s.By, s.Scope, appwebhooks.NewSubscription{URL: endpoint.URL, Events: []string{"payment.completed"}})
		must(t, err)
		s.card(t)
		for n, delay := range delays {
			d := s.awaits(t, made.ID, webhooks.DeliveryFailed, 1)[0]
			s.quiet(t, made.ID)
			if d = s.log(t, made.ID, "")[0]; d.Attempts != n+1 {
				t.Fatalf("the delivery is %+v, want %d tries", d, n+1)
			}
			if pause, want := d.DueAt.Sub(s.Clock.Now()), time.Duration(float64(delay)*(0.8+0.4*jitter)); pause.Round(time.Millisecond) != want {
				t.Errorf("after try %d with the jitter %g the pause is %s, want %s", n+1, jitter, pause, want)
			}
			s.Clock.Advance(d.DueAt.Sub(s.Clock.Now()) - time.Millisecond)
			if s.dispatch(t) > 0 {
				t.Errorf("try %d was made too early", n+2)
			}
			s.Clock.Advance(2 * time.Millisecond)
			s.await(t, endpoint, n+2)
		}
		s.awaits(t, made.ID, webhooks.DeadLetter, 1)
		s.Clock.Advance(30 * 24 * time.Hour)
		if n := s.dispatch(t); n != 0 {
			t.Errorf("%d dead letters were sent again, want none", n)
		}
		all := endpoint.deliveries()
		for _, d := range all {
			if id := sender.DeliveryHeader; d.body != all[0].body || d.header.Get(id) != all[0].header.Get(id) {
				t.Errorf("a retry differs from the first try: %v %s, want %v %s", d.header, d.body, all[0].header, all[0].body)
			}
			if err := sender.Verify(d.header.Get(sender.SignatureHeader), []byte(d.body), made.Secret, s.Clock.Now(), 60*24*time.Hour); err != nil {
				t.Errorf("a try is not signed: %v", err)
			}
		}
		if len(all) != len(delays)+1 {
			t.Errorf("the endpoint was called %d times, want %d", len(all), len(delays)+1)
		}
	}
}

// A delivery whose retry is accepted has ended.
func TestRetryThatIsTakenEndsTheDelivery(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	for n, answer := range []int{http.StatusInternalServerError, http.StatusTemporaryRedirect} {
		endpoint.answers(respond(answer))
		s.card(t)
		s.awaits(t, id, webhooks.DeliveryFailed, 1)
		endpoint.answers(respond(http.StatusOK))
		s.Clock.Advance(delays[0])
		s.awaits(t, id, webhooks.DeliveryDelivered, n+1)
		s.Clock.Advance(30 * 24 * time.Hour)
		if left := s.dispatch(t); left != 0 || endpoint.count() != 2*(n+1) {
			t.Errorf("after %d and its retry the endpoint was called %d times, and %d wait", answer, endpoint.count(), left)
		}
	}
}

// An endpoint that answers 410 is disabled together with its delivery, and called no more. Others are not touched (HOOK-12).
func TestGoneEndpointIsDisabled(t *testing.T) {
	s := open(t)
	gone, well := receive(t), receive(t)
	gone.answers(respond(http.StatusGone))
	id, other := s.subscribe(t, gone.URL, "payment.completed"), s.subscribe(t, well.URL, "payment.completed")
	s.card(t)
	s.awaits(t, other, webhooks.DeliveryDelivered, 1)
	s.awaits(t, id, webhooks.DeadLetter, 1)
	if sub := s.sub(t, id); sub.Status != webhooks.Disabled || sub.DisabledReason == "" {
		t.Errorf("the endpoint is %s, %q, want it disabled with a reason", sub.Status, sub.DisabledReason)
	}
	s.card(t)
	s.awaits(t, other, webhooks.DeliveryDelivered, 2)
	if n := gone.count(); n != 1 {
		t.Errorf("the endpoint that answers 410 was called %d times, want once", n)
	}
}

// The endpoint's old address answers 410 after the endpoint got a new one. The delivery is tried again at the new address. So a
// replay that left the delivery out, because it was on its way, misses nothing (HOOK-12, EVT-17).
func TestGoneOfTheAddressBeforeIsTriedAtTheNewOne(t *testing.T) {
	s := open(t)
	before, after := receive(t), receive(t)
	release := before.holds(t, http.StatusGone)
	id := s.subscribe(t, before.URL, "payment.completed")
	s.card(t)
	event := s.await(t, before, 1)[0].ID
	s.edit(t, id, webhooks.SubscriptionEdit{URL: &after.URL})
	s.Clock.Advance(time.Second)
	begun, err := s.replays.Begin(t.Context(), s.By, s.Scope, id, s.span(-time.Hour))
	must(t, err)
	s.steps(t, id, begun.ID, func(r webhooks.Replay) bool { return r.LeftOut == 1 })
	release()
	s.awaits(t, id, webhooks.DeliveryFailed, 1)
	s.Clock.Advance(delays[0])
	s.awaits(t, id, webhooks.DeliveryDelivered, 1)
	if got := after.deliveries(); len(got) != 1 || got[0].ID != event {
		t.Errorf("the new address got %+v, want %s", got, event)
	}
	s.steps(t, id, begun.ID, func(r webhooks.Replay) bool { return r.Status == webhooks.ReplayDone })
	if sub := s.sub(t, id); sub.Status != webhooks.Enabled {
		t.Errorf("the endpoint is %s after a 410 of its old address", sub.Status)
	}
}

// Two deliveries are on their way. The answer 410 to the first one disables the endpoint, and its owner enables it again. Then the
// second one is answered 410. The endpoint stays enabled: that answer is older than the owner's decision. The delivery is tried
// again (HOOK-12).
func TestGoneFromBeforeTheWebhookWasEnabledDoesNotDisableIt(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	early := endpoint.holds(t, http.StatusGone)
	s.card(t)
	s.await(t, endpoint, 1)
	late := endpoint.holds(t, http.StatusGone)
	s.card(t)
	event := s.await(t, endpoint, 2)[1].ID
	early()
	apptest.Eventually(t, "the endpoint is disabled", func() bool { return s.sub(t, id).Status == webhooks.Disabled })
	s.edit(t, id, status(webhooks.Enabled))
	endpoint.answers(respond(http.StatusNoContent))
	late()
	s.awaits(t, id, webhooks.DeliveryFailed, 1)
	if sub := s.sub(t, id); sub.Status != webhooks.Enabled {
		t.Fatalf("the endpoint is %s after a 410 from before it was enabled", sub.Status)
	}
	s.Clock.Advance(delays[0])
	if got := s.await(t, endpoint, 3)[2].ID; got != event {
		t.Errorf("the third call is about %s, want %s again", got, event)
	}
}

// A try is on its way when a shop replays its delivery. The replay is sent anyway, and the outcome of the try is not lost: a success
// ends the delivery, and a failure is one try more (HOOK-27).
func TestReplayWhileATryIsUnderWay(t *testing.T) {
	for name, c := range map[string]struct {
		answer int
		then   webhooks.DeliveryStatus // while the replay is on its way
		tries  int                     // in the end
	}{
		"that succeeds": {http.StatusOK, webhooks.DeliveryDelivered, 2}, "that fails": {http.StatusBadGateway, webhooks.DeliveryPending, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			endpoint := receive(t)
			endpoint.answers(respond(http.StatusInternalServerError))
			id := s.subscribe(t, endpoint.URL, "payment.completed")
			s.card(t)
			d := s.awaits(t, id, webhooks.DeliveryFailed, 1)[0]
			retried := endpoint.holds(t, c.answer)
			s.Clock.Advance(delays[0])
			s.await(t, endpoint, 2) // the retry hangs
			replayed := endpoint.holds(t, http.StatusOK)
			_, err := s.hooks.Replay(t.Context(), s.By, s.Scope, id, d.ID)
			must(t, err)
			s.await(t, endpoint, 3) // the replay does not wait for the retry
			retried()
			apptest.Eventually(t, "the try is in the log", func() bool { return s.log(t, id, "")[0].Attempts == 2 })
			if d = s.log(t, id, "")[0]; d.Status != c.then {
				t.Errorf("while the replay is on its way the delivery is %s, want %s", d.Status, c.then)
			}
			replayed()
			s.awaits(t, id, webhooks.DeliveryDelivered, 1)
			s.hooks.Drain()
			if d = s.log(t, id, "")[0]; endpoint.count() != 3 || d.Attempts != c.tries || d.Status != webhooks.DeliveryDelivered {
				t.Errorf("the endpoint was called %d times, and the delivery is %s after %d tries; want 3 and %d", endpoint.count(), d.Status, d.Attempts, c.tries)
			}
		})
	}
}

// Nothing is sent to a disabled endpoint, on nobody's request. What was given up can be sent once it is enabled again (HOOK-25).
func TestDeliveryOfADisabledWebhookIsNotReplayed(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	endpoint.answers(respond(http.StatusInternalServerError))
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	s.card(t)
	d := s.awaits(t, id, webhooks.DeliveryFailed, 1)[0]
	s.edit(t, id, status(webhooks.Disabled))
	if _, err := s.hooks.Replay(t.Context(), s.By, s.Scope, id, d.ID); code(err) != "conflict_state" {
		t.Errorf("a replay to a disabled endpoint gets %v, want a conflict", err)
	}
	s.Clock.Advance(delays[0])
	if letter := s.awaits(t, id, webhooks.DeadLetter, 1)[0]; letter.Attempts != 1 || letter.LastError != string(sender.HTTPStatus) || endpoint.count() != 1 {
		t.Errorf("the delivery is %+v after %d calls, want a dead letter after one", letter, endpoint.count())
	}
	endpoint.answers(respond(http.StatusOK))
	s.edit(t, id, status(webhooks.Enabled))
	_, err := s.hooks.Replay(t.Context(), s.By, s.Scope, id, d.ID)
	must(t, err)
	if done := s.awaits(t, id, webhooks.DeliveryDelivered, 1)[0]; done.Attempts != 2 {
		t.Errorf("the delivery is %+v, want two tries", done)
	}
}
