package webhooks

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// Disabling a webhook stops its replay, even if the webhook is enabled again before the replay
// looks. Deliveries that become due in between are dead letters, so a replay that goes on would miss
// them (EVT-17).
func TestReplayStopsWhereItsWebhookWasDisabledForAMoment(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		h := o.Hook(t, endpoint.URL, `"payment.completed"`)
		const payments = 60 // more than one step (50), and a step is more than goes at a time (32)
		span := manyPayments(t, o, s, endpoint, payments)
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		took := map[string]bool{}
		var mu sync.Mutex // guards took
		endpoint.Answers(func(w http.ResponseWriter, r *http.Request) {
			<-held
			mu.Lock()
			took[r.Header.Get("webhook-id")] = true
			mu.Unlock()
			w.WriteHeader(http.StatusNoContent)
		})
		s.Clock.Freeze() // so that the replay does not look at the webhook
		begun := o.Post(t, h.Path("/replay"), span).Want(t, http.StatusOK)
		replay := h.Path("/replays/" + begun.Text(t, "id"))
		harness.Eventually(t, "the replay's first step is sent", func() bool { return o.Get(t, replay).Text(t, "sent") == "50" })
		s.Clock.Advance(999 * time.Millisecond) // now the whole step is due
		endpoint.Await(t, payments+32)
		o.Call(t, http.MethodPatch, h.Path(""), `{"status":"disabled"}`, harness.AsJSON).Want(t, http.StatusOK)
		release()
		harness.Eventually(t, "the other 18 deliveries are dead letters", func() bool {
			_, err := s.App.Webhooks.Dispatch(ctx)
			harness.Must(t, err)
			return h.Log(t, "?status=dead_letter&limit=1").Text(t, "pagination.total") == "18" && h.Log(t, "?status=pending&limit=1").Text(t, "pagination.total") == "0"
		})
		o.Call(t, http.MethodPatch, h.Path(""), `{"status":"enabled"}`, harness.AsJSON).Want(t, http.StatusOK)

		wait := func(replay string) (ended harness.Reply) {
			harness.Eventually(t, "the replay has ended", func() bool {
				s.Clock.Advance(time.Second)
				ended = o.Get(t, replay)
				return ended.Text(t, "status") != "running"
			})
			return ended
		}
		ended := wait(replay)
		if ended.Text(t, "status") != "stopped" || ended.Text(t, "stopReason") != "webhook_disabled" {
			t.Fatalf("18 events were never tried, but the replay is %s, want stopped by webhook_disabled", ended)
		}
		next := o.Post(t, h.Path("/replay"), fmt.Sprintf(`{"from":%q,"to":%q}`, ended.Text(t, "resumeFrom"), begun.Text(t, "to"))).Want(t, http.StatusOK)
		if ended := wait(h.Path("/replays/" + next.Text(t, "id"))); ended.Text(t, "status") != "done" {
			t.Errorf("the next replay ended as %s, want done", ended)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(took) != payments {
			t.Errorf("the endpoint accepted %d events, want %d", len(took), payments)
		}
	})
}

// A replay with an end in the future covers the period until now. Repeating the request returns the
// same replay.
func TestReplayUntilAMomentToComeIsBegunOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		h := o.Hook(t, endpoint.URL, `"payment.completed"`)
		manyPayments(t, o, s, endpoint, 3)
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		endpoint.Answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusNoContent) })
		span := fmt.Sprintf(`{"from":%q,"to":"2120-01-01"}`, s.Clock.Now().Add(-24*time.Hour).UTC().Format(time.RFC3339))
		begun := o.Post(t, h.Path("/replay"), span).Want(t, http.StatusOK)
		if again := o.Post(t, h.Path("/replay"), span).Want(t, http.StatusOK); again.Text(t, "id") != begun.Text(t, "id") {
			t.Errorf("the repeated request returns another replay: %s", again)
		}
		release()
		harness.Eventually(t, "the replay is done", func() bool {
			s.Clock.Advance(time.Second)
			return o.Get(t, h.Path("/replays/"+begun.Text(t, "id"))).Text(t, "status") == "done"
		})
	})
}

// A replay sends each delivery to the webhook's address of that moment, whatever the old address did
// with its deliveries.
func TestReplayFollowsItsWebhookToAnotherAddress(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		for name, answer := range map[string]http.HandlerFunc{
			"refuses": harness.Respond(http.StatusConflict), "fails": harness.Respond(http.StatusInternalServerError), "hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		} {
			o := s.NewShop(t)
			before, after := s.Receive(t), s.Receive(t)
			h := o.Hook(t, before.URL, `"payment.completed"`)
			const payments = 60
			span := manyPayments(t, o, s, before, payments)
			before.Answers(answer)
			begun := o.Post(t, h.Path("/replay"), span).Want(t, http.StatusOK)
			replay := h.Path("/replays/" + begun.Text(t, "id"))
			before.Await(t, payments+2)
			o.Call(t, http.MethodPatch, h.Path(""), fmt.Sprintf(`{"url":%q}`, after.URL), harness.AsJSON).Want(t, http.StatusOK)
			before.CloseClientConnections()
			harness.Eventually(t, "the replay is done", func() bool {
				s.Clock.Advance(time.Second)
				_, err := s.App.Webhooks.Dispatch(ctx)
				harness.Must(t, err)
				return o.Get(t, replay).Text(t, "status") == "done"
			})
			harness.Eventually(t, "all events are delivered", func() bool {
				s.Clock.Advance(time.Second)
				return h.Log(t, "?status=delivered&limit=1").Text(t, "pagination.total") == fmt.Sprint(payments)
			})
			if ended := o.Get(t, replay); ended.Text(t, "sent") != fmt.Sprint(payments) {
				t.Errorf("when the old address %s the replay ends as %s, want %d sent", name, ended, payments)
			}
		}
	})
}

// Two nodes get requests for replays at the same time. One replay begins, and the refusals of the
// others name it. A stop at both nodes is one stop.
func TestReplayIsBegunAndStoppedOnceByTwoNodes(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	c := &harness.Clock{}
	nodes := []*harness.Instance{harness.Start(t, database, c), harness.Start(t, database, c)}
	o := nodes[0].NewShop(t)
	endpoint := nodes[0].Receive(t)
	h := o.Hook(t, endpoint.URL, `"payment.completed"`)
	manyPayments(t, o, nodes[0], endpoint, 5)
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	endpoint.Answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusNoContent) })
	for round := range 5 {
		const each = 4
		replies := make([]harness.Reply, 2*each)
		var all sync.WaitGroup
		for i := range replies {
			there := o
			there.Instance = nodes[i%2]
			all.Go(func() {
				span := fmt.Sprintf(`{"from":%q}`, c.Now().Add(-time.Duration(i/2+1)*time.Hour).UTC().Format("2006-01-02T15:00:00Z"))
				replies[i] = there.Post(t, h.Path("/replay"), span, fmt.Sprintf("Idempotency-Key: two-%d-%d", round, i))
			})
		}
		all.Wait()
		ids := map[string]bool{}
		for _, r := range replies {
			switch r.Status {
			case http.StatusOK:
				ids[r.Text(t, "id")] = true
			case http.StatusConflict:
				ids[r.Text(t, "error.details.replayId")] = true
			default:
				t.Errorf("a node answers %s, want 200 or 409", r)
			}
		}
		if len(ids) != 1 {
			t.Fatalf("%d replays began or were named, want 1: %v", len(ids), ids)
		}
		for id := range ids {
			stops := make([]harness.Reply, 4)
			for i := range stops {
				there := o
				there.Instance = nodes[i%2]
				all.Go(func() { stops[i] = there.Post(t, h.Path("/replays/"+id+"/stop"), "") })
			}
			all.Wait()
			for _, r := range stops {
				if r.Status != http.StatusOK || r.Text(t, "status") != "stopped" || r.Text(t, "updatedAt") != stops[0].Text(t, "updatedAt") {
					t.Errorf("two stops answer %s and %s, want the same stopped replay", r, stops[0])
				}
			}
		}
	}
	release()
}

// A replay that is stopped and resumed from its place again and again misses no event.
func TestReplayThatIsStoppedAndResumedLeavesNothingOut(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		h := o.Hook(t, endpoint.URL, `"*"`)
		const payments = 120
		span := manyPayments(t, o, s, endpoint, payments)
		had := len(endpoint.Deliveries())
		begun := o.Post(t, h.Path("/replay"), span).Want(t, http.StatusOK)
		id, to := begun.Text(t, "id"), begun.Text(t, "to")
		for round := 0; ; round++ {
			if round > 50 {
				t.Fatal("the replay does not end")
			}
			path := h.Path("/replays/" + id)
			for range 3 {
				s.Clock.Advance(400 * time.Millisecond)
				_, err := s.App.Replays.Step(ctx)
				harness.Must(t, err)
			}
			r := o.Post(t, path+"/stop", "")
			if r.Status == http.StatusConflict {
				break
			}
			id = o.Post(t, h.Path("/replay"), fmt.Sprintf(`{"from":%q,"to":%q}`, r.Text(t, "resumeFrom"), to)).Want(t, http.StatusOK).Text(t, "id")
			if round > 5 { // then let it run to its end
				harness.Eventually(t, "the replay is done", func() bool {
					s.Clock.Advance(time.Second)
					return o.Get(t, h.Path("/replays/"+id)).Text(t, "status") == "done"
				})
			}
		}
		seen := map[string]bool{}
		for _, d := range endpoint.Deliveries()[had:] {
			seen[d.Text("id")] = true
		}
		if len(seen) != payments {
			t.Errorf("the replays sent %d different events, want %d", len(seen), payments)
		}
	})
}

// Deleting a webhook ends its replay.
func TestReplayEndsWithItsWebhook(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		h := o.Hook(t, endpoint.URL, `"payment.completed"`)
		span := manyPayments(t, o, s, endpoint, 60)
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		endpoint.Answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusNoContent) })
		begun := o.Post(t, h.Path("/replay"), span).Want(t, http.StatusOK)
		replay := h.Path("/replays/" + begun.Text(t, "id"))
		harness.Eventually(t, "the replay's first step is sent", func() bool { return o.Get(t, replay).Text(t, "sent") == "50" })
		o.Call(t, http.MethodDelete, h.Path(""), "").Want(t, http.StatusOK)
		release()
		for range 5 {
			s.Clock.Advance(time.Second)
			_, err := s.App.Replays.Step(ctx)
			harness.Must(t, err)
		}
		dispatchAll(t, s)
		o.Get(t, replay).Refused(t, "404 webhook_not_found invalid_request_error")
		o.Post(t, replay+"/stop", "").Refused(t, "404 webhook_not_found invalid_request_error")
		if n := len(endpoint.Deliveries()); n > 60+50 {
			t.Errorf("%d deliveries were begun after the webhook was deleted, want 0", n-60-50)
		}
	})
}
