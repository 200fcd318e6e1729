package webhooks_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/apptest"
	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// span asks to replay the events from a time before now.
func (s *service) span(from time.Duration) appwebhooks.NewReplay {
	return appwebhooks.NewReplay{Replay: webhooks.Replay{From: s.Clock.Now().Add(from), To: s.Clock.Now()}}
}

// accepted creates payments whose events the endpoint accepts, and returns what replays exactly them.
func (s *service) accepted(t *testing.T, id string, made int) appwebhooks.NewReplay {
	t.Helper()
	had := len(s.log(t, id, webhooks.DeliveryDelivered))
	s.Clock.Advance(time.Hour)
	from := s.Clock.Now()
	for range made {
		s.card(t)
		s.Clock.Advance(2 * time.Millisecond)
	}
	s.awaits(t, id, webhooks.DeliveryDelivered, had+made)
	s.Clock.Advance(time.Hour)
	return appwebhooks.NewReplay{Replay: webhooks.Replay{From: from, To: s.Clock.Now()}}
}

// begin begins a replay.
func (s *service) begin(t *testing.T, id string, n appwebhooks.NewReplay) webhooks.Replay {
	t.Helper()
	r, err := s.replays.Begin(t.Context(), s.By, s.Scope, id, n)
	must(t, err)
	return r
}

// step moves the clock to the next step of replays, does it, and sends what is due.
func (s *service) step(t *testing.T) {
	t.Helper()
	_, err := s.replays.Step(t.Context())
	must(t, err)
	s.dispatch(t)
	s.Clock.Advance(webhooks.ReplayEvery)
}

// steps does steps until a replay is as it should be.
func (s *service) steps(t *testing.T, id, replay string, so func(webhooks.Replay) bool) (r webhooks.Replay) {
	t.Helper()
	apptest.Eventually(t, "the replay is as it should be", func() bool {
		s.step(t)
		var err error
		r, err = s.replays.Get(t.Context(), s.Scope, id, replay)
		must(t, err)
		return so(r)
	})
	return r
}

func ended(r webhooks.Replay) bool { return r.Status != webhooks.ReplayRunning }

// events are the different events that an endpoint got, but for the first of all.
func (r *receiver) events(but int) map[string]int {
	seen := map[string]int{}
	for _, d := range r.deliveries()[but:] {
		seen[d.ID]++
	}
	return seen
}

// A replay sends each event of its span once, also what was accepted before, and nothing from before or after it (EVT-15).
func TestReplaySendsEachEventOfItsSpanOnce(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	s.card(t)
	s.awaits(t, id, webhooks.DeliveryDelivered, 1)
	const made = 60 // more than one step sends
	span := s.accepted(t, id, made)
	s.card(t)
	had := len(s.await(t, endpoint, made+2))
	begun := s.begin(t, id, span)
	if again := s.begin(t, id, span); again.ID != begun.ID || begun.Events != made {
		t.Errorf("a replay of %d events begins, want %d; the repeated request gets %s, want %s", begun.Events, made, again.ID, begun.ID)
	}
	other := span
	other.From = other.From.Add(-time.Hour)
	if _, err := s.replays.Begin(t.Context(), s.By, s.Scope, id, other); code(err) != problem.ConflictState {
		t.Errorf("beside a running replay another one gets %v, want a conflict", err)
	}
	if done := s.steps(t, id, begun.ID, ended); done.Status != webhooks.ReplayDone || done.Sent != made || done.LeftOut != 0 {
		t.Errorf("the replay ended as %+v, want it done, with %d sent", done, made)
	}
	s.awaits(t, id, webhooks.DeliveryDelivered, made+2) // still one delivery for each event
	seen := endpoint.events(had)
	for event, n := range seen {
		if n != 1 {
			t.Errorf("the replay sent %s %d times", event, n)
		}
	}
	if len(seen) != made {
		t.Errorf("the replay sent %d events, want %d", len(seen), made)
	}
}

// Disabling an endpoint stops its replay, even if the endpoint is enabled again before the replay's next step. Deliveries that become
// due in between are dead letters, so a replay that goes on would miss them (EVT-17).
func TestReplayStopsWhereItsWebhookWasDisabledForAMoment(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	const made = 60 // more than one step, and a step is more than a lane
	span := s.accepted(t, id, made)
	release := endpoint.holds(t, http.StatusNoContent)
	begun := s.begin(t, id, span)
	_, err := s.replays.Step(t.Context())
	must(t, err)
	s.Clock.Advance(webhooks.ReplayEvery - time.Millisecond) // now the whole step is due
	s.await(t, endpoint, made+laneWidth)
	s.edit(t, id, status(webhooks.Disabled))
	release()
	s.awaits(t, id, webhooks.DeadLetter, webhooks.ReplayStep-laneWidth)
	s.awaits(t, id, webhooks.DeliveryPending, 0)
	s.edit(t, id, status(webhooks.Enabled))
	stopped := s.steps(t, id, begun.ID, ended)
	if stopped.Status != webhooks.ReplayStopped || stopped.Why != webhooks.StopDisabled {
		t.Fatalf("events were never tried, but the replay is %+v, want it stopped", stopped)
	}
	span.From = stopped.ResumeFrom
	if next := s.steps(t, id, s.begin(t, id, span).ID, ended); next.Status != webhooks.ReplayDone {
		t.Errorf("the next replay is %+v, want it done", next)
	}
	s.awaits(t, id, webhooks.DeliveryDelivered, made)
	if seen := endpoint.events(made); len(seen) != made {
		t.Errorf("the endpoint accepted %d events again, want %d", len(seen), made)
	}
}

// A replay with an end in the future covers the period until now. Repeating the request returns the same replay.
func TestReplayUntilAMomentToComeIsBegunOnce(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	span := s.accepted(t, id, 3)
	span.To = s.Clock.Now().Add(24 * time.Hour)
	begun := s.begin(t, id, span)
	s.Clock.Advance(time.Second)
	if again := s.begin(t, id, span); again.ID != begun.ID || begun.Events != 3 {
		t.Errorf("the repeated request returns another replay: %+v, want %+v", again, begun)
	}
	if done := s.steps(t, id, begun.ID, ended); done.Status != webhooks.ReplayDone || done.Sent != 3 {
		t.Errorf("the replay ended as %+v", done)
	}
}

// A replay sends each delivery to the endpoint's address of that moment, whatever the old address did with its deliveries.
func TestReplayFollowsItsWebhookToAnotherAddress(t *testing.T) {
	for name, answer := range map[string]int{"refuses": http.StatusConflict, "fails": http.StatusInternalServerError, "hangs": http.StatusGatewayTimeout} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			before, after := receive(t), receive(t)
			id := s.subscribe(t, before.URL, "payment.completed")
			const made = 52 // more than one step sends
			span := s.accepted(t, id, made)
			before.answers(respond(answer))
			release := func() {}
			if name == "hangs" {
				release = before.holds(t, answer)
			}
			begun := s.begin(t, id, span)
			s.step(t)
			s.await(t, before, made+2)
			s.edit(t, id, webhooks.SubscriptionEdit{URL: &after.URL})
			release()
			done := s.steps(t, id, begun.ID, ended)
			apptest.Eventually(t, "all events are delivered", func() bool {
				s.dispatch(t)
				s.Clock.Advance(time.Second)
				return len(s.log(t, id, webhooks.DeliveryDelivered)) == made
			})
			if done.Status != webhooks.ReplayDone || done.Sent != made {
				t.Errorf("when the old address %s the replay ends as %+v, want %d sent", name, done, made)
			}
		})
	}
}

// A replay that is stopped and resumed from its place again and again misses no event (EVT-17).
func TestReplayThatIsStoppedAndResumedLeavesNothingOut(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	const made = 120
	span := s.accepted(t, id, made)
	begun := s.begin(t, id, span)
	for round := range 5 {
		s.step(t)
		if round > 1 {
			s.step(t)
		}
		stopped, err := s.replays.Stop(t.Context(), s.By, s.Scope, id, begun.ID)
		must(t, err)
		if again, err := s.replays.Stop(t.Context(), s.By, s.Scope, id, begun.ID); err != nil || again.Version != stopped.Version {
			t.Errorf("a stopped replay that is stopped again is %+v, %v", again, err)
		}
		span.From = stopped.ResumeFrom
		begun = s.begin(t, id, span)
	}
	s.steps(t, id, begun.ID, ended)
	if _, err := s.replays.Stop(t.Context(), s.By, s.Scope, id, begun.ID); code(err) != problem.ConflictState {
		t.Errorf("a stop of a replay that is done gets %v, want a conflict", err)
	}
	s.awaits(t, id, webhooks.DeliveryDelivered, made)
	if seen := endpoint.events(made); len(seen) != made {
		t.Errorf("the replays sent %d different events, want %d", len(seen), made)
	}
}

// Deleting an endpoint ends its replay.
func TestReplayEndsWithItsWebhook(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	span := s.accepted(t, id, 60)
	begun := s.begin(t, id, span)
	_, err := s.replays.Step(t.Context())
	must(t, err)
	must(t, s.hooks.Unsubscribe(t.Context(), s.Operator, s.Scope, id))
	for range 5 {
		s.step(t)
	}
	if _, err := s.replays.Get(t.Context(), s.Scope, id, begun.ID); code(err) != problem.WebhookNotFound {
		t.Errorf("the replay of a deleted endpoint is read: %v", err)
	}
	stored, err := s.Store.Replays().Get(t.Context(), s.Scope, id, begun.ID)
	must(t, err)
	if stored.Status != webhooks.ReplayStopped || stored.Why != webhooks.StopDeleted || stored.Sent != webhooks.ReplayStep {
		t.Errorf("the replay is %+v, want it stopped after one step", stored)
	}
}

// An endpoint that answers 410 is disabled, and its replay stops. The replay keeps its place, and another one from there misses no
// event (EVT-17).
func TestReplayRemembersWhereItWasGone(t *testing.T) {
	s := open(t)
	endpoint := receive(t)
	id := s.subscribe(t, endpoint.URL, "payment.completed")
	const made, taken = 5, 2
	span := s.accepted(t, id, made)
	sent := endpoint.deliveries()
	slices.SortFunc(sent, func(a, b received) int { return mustTime(t, a.At).Compare(mustTime(t, b.At)) })
	from := mustTime(t, sent[taken].At)
	var mu sync.Mutex // guards accepted
	accepted := map[string]bool{}
	gone := make(chan struct{})
	leave := sync.OnceFunc(func() { close(gone) })
	t.Cleanup(leave)
	endpoint.answers(func(d received) int {
		if !mustTime(t, d.At).Before(from) {
			<-gone
			return http.StatusGone
		}
		mu.Lock()
		defer mu.Unlock()
		accepted[d.ID] = true
		return http.StatusNoContent
	})
	begun := s.begin(t, id, span)
	s.step(t)
	s.awaits(t, id, webhooks.DeliveryDelivered, taken)
	leave()
	stopped := s.steps(t, id, begun.ID, ended)
	if stopped.Status != webhooks.ReplayStopped || stopped.Why != webhooks.StopDisabled || !stopped.ResumeFrom.Equal(from) {
		t.Errorf("the replay is %+v, want it to resume from %s", stopped, from)
	}

	s.edit(t, id, status(webhooks.Enabled))
	endpoint.answers(func(d received) int {
		mu.Lock()
		defer mu.Unlock()
		accepted[d.ID] = true
		return http.StatusNoContent
	})
	span.From = stopped.ResumeFrom
	next := s.begin(t, id, span)
	if next.Events != made-taken {
		t.Errorf("the next replay has %d events, want the %d that are missing", next.Events, made-taken)
	}
	s.steps(t, id, next.ID, ended)
	s.awaits(t, id, webhooks.DeliveryDelivered, made)
	mu.Lock()
	defer mu.Unlock()
	if len(accepted) != made {
		t.Errorf("%d events were accepted, want %d", len(accepted), made)
	}
}

func mustTime(t *testing.T, text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Error(err)
	}
	return at
}
