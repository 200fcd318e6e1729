package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// A webhook that is disabled stops its replay at once, also where it is enabled again before the
// replay looks: what came due meanwhile is a dead letter, and would be missed (EVT-17).
func TestReplayStopsWhereItsWebhookWasDisabledForAMoment(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		h := o.hook(t, endpoint.URL, `"payment.completed"`)
		const payments = 60 // more than a step, and a step is more than goes at a time
		span := o.many(t, s, endpoint, payments)
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		took := map[string]bool{}
		var mu sync.Mutex // owns took
		endpoint.answers(func(w http.ResponseWriter, r *http.Request) {
			<-held
			mu.Lock()
			took[r.Header.Get("webhook-id")] = true
			mu.Unlock()
			w.WriteHeader(http.StatusNoContent)
		})
		s.clock.freeze() // the replay does not look
		begun := o.post(t, h.path("/replay"), span).want(t, http.StatusOK)
		replay := h.path("/replays/" + begun.text(t, "id"))
		eventually(t, "a step is begun", func() bool { return o.get(t, replay).text(t, "sent") == "50" })
		s.clock.advance(999 * time.Millisecond) // all of it is due
		endpoint.await(t, payments+32)
		o.call(t, http.MethodPatch, h.path(""), `{"status":"disabled"}`, asJSON).want(t, http.StatusOK)
		release()
		eventually(t, "what was not under way is given up", func() bool {
			_, err := s.App.Webhooks.Dispatch(ctx)
			must(t, err)
			return h.log(t, "?status=dead_letter&limit=1").text(t, "pagination.total") == "18" && h.log(t, "?status=pending&limit=1").text(t, "pagination.total") == "0"
		})
		o.call(t, http.MethodPatch, h.path(""), `{"status":"enabled"}`, asJSON).want(t, http.StatusOK)

		wait := func(replay string) (ended reply) {
			eventually(t, "the replay has ended", func() bool {
				s.clock.advance(time.Second)
				ended = o.get(t, replay)
				return ended.text(t, "status") != "running"
			})
			return ended
		}
		ended := wait(replay)
		if ended.text(t, "status") != "stopped" || ended.text(t, "stopReason") != "webhook_disabled" {
			t.Fatalf("18 of its events were never tried, and the replay is %s", ended)
		}
		next := o.post(t, h.path("/replay"), fmt.Sprintf(`{"from":%q,"to":%q}`, ended.text(t, "resumeFrom"), begun.text(t, "to"))).want(t, http.StatusOK)
		if ended := wait(h.path("/replays/" + next.text(t, "id"))); ended.text(t, "status") != "done" {
			t.Errorf("the next replay is %s", ended)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(took) != payments {
			t.Errorf("%d events were taken, want %d", len(took), payments)
		}
	})
}

// A replay whose end is to come ends now, and the same request gets it.
func TestReplayUntilAMomentToComeIsBegunOnce(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		h := o.hook(t, endpoint.URL, `"payment.completed"`)
		o.many(t, s, endpoint, 3)
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		endpoint.answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusNoContent) })
		span := fmt.Sprintf(`{"from":%q,"to":"2120-01-01"}`, s.clock.now().Add(-24*time.Hour).UTC().Format(time.RFC3339))
		begun := o.post(t, h.path("/replay"), span).want(t, http.StatusOK)
		if again := o.post(t, h.path("/replay"), span).want(t, http.StatusOK); again.text(t, "id") != begun.text(t, "id") {
			t.Errorf("the same request got another replay: %s", again)
		}
		release()
		eventually(t, "the replay is done", func() bool {
			s.clock.advance(time.Second)
			return o.get(t, h.path("/replays/"+begun.text(t, "id"))).text(t, "status") == "done"
		})
	})
}

// A replay goes to where the webhook leads when each of its deliveries leaves, whatever the address
// before did with what it had.
func TestReplayFollowsItsWebhookToAnotherAddress(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for name, answer := range map[string]http.HandlerFunc{
			"refuses": respond(http.StatusConflict), "fails": respond(http.StatusInternalServerError), "hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		} {
			o := s.shop(t)
			before, after := s.receive(t), s.receive(t)
			h := o.hook(t, before.URL, `"payment.completed"`)
			const payments = 60
			span := o.many(t, s, before, payments)
			before.answers(answer)
			begun := o.post(t, h.path("/replay"), span).want(t, http.StatusOK)
			replay := h.path("/replays/" + begun.text(t, "id"))
			before.await(t, payments+2)
			o.call(t, http.MethodPatch, h.path(""), fmt.Sprintf(`{"url":%q}`, after.URL), asJSON).want(t, http.StatusOK)
			before.CloseClientConnections()
			eventually(t, "the replay is done", func() bool {
				s.clock.advance(time.Second)
				_, err := s.App.Webhooks.Dispatch(ctx)
				must(t, err)
				return o.get(t, replay).text(t, "status") == "done"
			})
			eventually(t, "all is taken", func() bool {
				s.clock.advance(time.Second)
				return h.log(t, "?status=delivered&limit=1").text(t, "pagination.total") == fmt.Sprint(payments)
			})
			if ended := o.get(t, replay); ended.text(t, "sent") != fmt.Sprint(payments) {
				t.Errorf("where the first address %s the replay is %s", name, ended)
			}
		}
	})
}

// Two nodes are asked at once: one replay begins, and whoever asked for another one is told which;
// a stop on both is one stop.
func TestReplayIsBegunAndStoppedOnceByTwoNodes(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	c := &clock{}
	nodes := []*service{start(t, database, c), start(t, database, c)}
	o := nodes[0].shop(t)
	endpoint := nodes[0].receive(t)
	h := o.hook(t, endpoint.URL, `"payment.completed"`)
	o.many(t, nodes[0], endpoint, 5)
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	endpoint.answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusNoContent) })
	for round := range 5 {
		const each = 4
		replies := make([]reply, 2*each)
		var all sync.WaitGroup
		for i := range replies {
			there := o
			there.service = nodes[i%2]
			all.Go(func() {
				span := fmt.Sprintf(`{"from":%q}`, c.now().Add(-time.Duration(i/2+1)*time.Hour).UTC().Format("2006-01-02T15:00:00Z"))
				replies[i] = there.post(t, h.path("/replay"), span, fmt.Sprintf("Idempotency-Key: two-%d-%d", round, i))
			})
		}
		all.Wait()
		ids := map[string]bool{}
		for _, r := range replies {
			switch r.status {
			case http.StatusOK:
				ids[r.text(t, "id")] = true
			case http.StatusConflict:
				ids[r.text(t, "error.details.replayId")] = true
			default:
				t.Errorf("of two nodes one says %s", r)
			}
		}
		if len(ids) != 1 {
			t.Fatalf("%d replays began or were named: %v", len(ids), ids)
		}
		for id := range ids {
			stops := make([]reply, 4)
			for i := range stops {
				there := o
				there.service = nodes[i%2]
				all.Go(func() { stops[i] = there.post(t, h.path("/replays/"+id+"/stop"), "") })
			}
			all.Wait()
			for _, r := range stops {
				if r.status != http.StatusOK || r.text(t, "status") != "stopped" || r.text(t, "updatedAt") != stops[0].text(t, "updatedAt") {
					t.Errorf("the stop says %s and %s", r, stops[0])
				}
			}
		}
	}
	release()
}

// A replay that is stopped while it runs and begun anew from where it was, again and again, leaves
// nothing out.
func TestReplayThatIsStoppedAndResumedLeavesNothingOut(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		h := o.hook(t, endpoint.URL, `"*"`)
		const payments = 120
		span := o.many(t, s, endpoint, payments)
		had := len(endpoint.deliveries())
		begun := o.post(t, h.path("/replay"), span).want(t, http.StatusOK)
		id, to := begun.text(t, "id"), begun.text(t, "to")
		for round := 0; ; round++ {
			if round > 50 {
				t.Fatal("the replay does not end")
			}
			path := h.path("/replays/" + id)
			for range 3 {
				s.clock.advance(400 * time.Millisecond)
				_, err := s.App.Replays.Step(ctx)
				must(t, err)
			}
			r := o.post(t, path+"/stop", "")
			if r.status == http.StatusConflict {
				break
			}
			id = o.post(t, h.path("/replay"), fmt.Sprintf(`{"from":%q,"to":%q}`, r.text(t, "resumeFrom"), to)).want(t, http.StatusOK).text(t, "id")
			if round > 5 { // and then it is let go
				eventually(t, "the replay is done", func() bool {
					s.clock.advance(time.Second)
					return o.get(t, h.path("/replays/"+id)).text(t, "status") == "done"
				})
			}
		}
		seen := map[string]bool{}
		for _, d := range endpoint.deliveries()[had:] {
			seen[d.text("id")] = true
		}
		if len(seen) != payments {
			t.Errorf("%d events came again, want %d", len(seen), payments)
		}
	})
}

// A deleted webhook takes its replay with it.
func TestReplayEndsWithItsWebhook(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		h := o.hook(t, endpoint.URL, `"payment.completed"`)
		span := o.many(t, s, endpoint, 60)
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		endpoint.answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusNoContent) })
		begun := o.post(t, h.path("/replay"), span).want(t, http.StatusOK)
		replay := h.path("/replays/" + begun.text(t, "id"))
		eventually(t, "a step is begun", func() bool { return o.get(t, replay).text(t, "sent") == "50" })
		o.call(t, http.MethodDelete, h.path(""), "").want(t, http.StatusOK)
		release()
		for range 5 {
			s.clock.advance(time.Second)
			_, err := s.App.Replays.Step(ctx)
			must(t, err)
		}
		s.rest(t)
		o.get(t, replay).refused(t, "404 webhook_not_found invalid_request_error")
		o.post(t, replay+"/stop", "").refused(t, "404 webhook_not_found invalid_request_error")
		if n := len(endpoint.deliveries()); n > 60+50 {
			t.Errorf("%d deliveries came to a deleted webhook", n-60-50)
		}
	})
}
