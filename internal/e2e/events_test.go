package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

const asJSON = "Content-Type: application/json"

// told lists the types and numbers of what an endpoint got about an object, in the order of arrival.
func (c *receiver) told(object string) string {
	var list []string
	for _, d := range c.deliveries() {
		if d.text("data.object.id") == object {
			list = append(list, d.text("type")+" "+d.text("sequence"))
		}
	}
	return strings.Join(list, ", ")
}

func (c *receiver) isTold(t *testing.T, object, want string) {
	t.Helper()
	eventually(t, want+" has come", func() bool { return c.told(object) == want && c.service.due(t).IsZero() })
}

func TestNewTypesOfEventsGoToThoseWhoWantThem(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, other := s.shop(t), s.shop(t)
		old, all, some, theirs := s.receive(t), s.receive(t), s.receive(t), s.receive(t)
		first := o.hook(t, old.URL, `"*"`)
		made := o.post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["*"]}`, all.URL)).want(t, http.StatusCreated)
		if got := made.text(t, "eventsVersion"); got != string(hook.NewestEvents) {
			t.Errorf("a new webhook gets the events of %s, want the newest", got)
		}
		pending := o.subscribe(t, some.URL, `"payment.pending"`)
		other.subscribe(t, theirs.URL, `"*"`)

		waits := o.create(t, paidByShopper)
		all.isTold(t, waits, "payment.created 0, payment.pending 0")
		some.isTold(t, waits, "payment.pending 0")
		all.about(t, waits, 2)[0].verify(t, s, made.text(t, "secret"))
		some.about(t, waits, 1)[0].verify(t, s, pending.text(t, "secret"))
		if before := all.about(t, waits, 2)[0]; before.text("data.object.status") != "processing" || before.text("data.previous") != "map[]" || before.text("request.id") == "<nil>" {
			t.Errorf("payment.created is %s", before.body)
		}
		if after := some.about(t, waits, 1)[0]; after.text("data.object.status") != "pending" || after.text("data.previous.status") != "processing" {
			t.Errorf("payment.pending is %s", after.body)
		}
		if fired := o.simulate(t, waits, "paid").text(t, "eventsFired"); fired != "[payment.completed payment.captured]" {
			t.Errorf("simulate fired %s", fired)
		}
		all.isTold(t, waits, "payment.created 0, payment.pending 0, payment.completed 1, payment.captured 2")
		old.isTold(t, waits, "payment.completed 1, payment.captured 2")
		paid := o.create(t, card)
		all.isTold(t, paid, "payment.created 0, payment.completed 1")
		declined := o.post(t, "/payments", `{"amount":10.05,"paymentMethodId":"sbx_card"}`).text(t, "error.details.transactionId")
		all.isTold(t, declined, "payment.created 0, payment.failed 1")
		old.isTold(t, declined, "payment.failed 1")

		// Where nobody wants them they are not made.
		theirs.isTold(t, other.create(t, paidByShopper, "Sandbox-Simulate: paid"), "payment.completed 1, payment.captured 2")
		if total := other.get(t, "/events").text(t, "pagination.total"); total != "2" {
			t.Errorf("a shop that wants the first set alone has %s events, want 2", total)
		}

		// A webhook moves forward when its owner says so, and never back.
		o.call(t, http.MethodPatch, first.path(""), `{"eventsVersion":"2026-11-22"}`, asJSON).refused(t, "400 invalid_request invalid_request_error param=eventsVersion issues=eventsVersion")
		o.call(t, http.MethodPatch, first.path(""), `{"eventsVersion":"2026-11-24"}`, asJSON).want(t, http.StatusOK)
		o.call(t, http.MethodPatch, first.path(""), `{"eventsVersion":"2026-11-21"}`, asJSON).refused(t, "400 invalid_request invalid_request_error param=eventsVersion issues=eventsVersion")
		old.isTold(t, o.create(t, card), "payment.created 0, payment.completed 1")
	})
}

func TestCheckoutThatNobodyFinishedIsTold(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		secret := o.subscribe(t, endpoint.URL, `"checkout.session.expired"`).text(t, "secret")
		left := o.session(t, `{"amount":25.5,"merchantOrderId":"order-7",`+ana+`}`)
		chosen := o.session(t, checkout)
		o.post(t, "/checkout/sessions/"+chosen+"/select", `{"paymentMethodId":"sbx_cash"}`).want(t, http.StatusCreated)
		s.clock.advance(23 * time.Hour)
		endpoint.only(t, 0)
		s.clock.advance(time.Hour + time.Minute)
		got := endpoint.await(t, 1)[0]
		got.verify(t, s, secret)
		for path, want := range map[string]string{
			"type": "checkout.session.expired", "sequence": "1", "data.object.sessionId": left, "data.object.status": "expired",
			"data.object.merchantOrderId": "order-7", "data.previous.status": "awaiting_method",
		} {
			if got.text(path) != want {
				t.Errorf("%s is %s, want %s: %s", path, got.text(path), want, got.body)
			}
		}
		s.clock.advance(48 * time.Hour)
		endpoint.only(t, 1)
		if list := o.get(t, "/events?objectId="+left); list.text(t, "data.0.id") != got.text("id") || list.text(t, "pagination.total") != "1" {
			t.Errorf("the session's events are %s", list)
		}
	})
}

func TestEventsAreListedAsTheyAreSent(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		endpoint := s.receive(t)
		o.post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["*"]}`, endpoint.URL)).want(t, http.StatusCreated)
		payment := o.create(t, paidByShopper, "Sandbox-Simulate: paid")
		endpoint.isTold(t, payment, "payment.created 0, payment.pending 0, payment.completed 1, payment.captured 2")
		s.clock.advance(2 * time.Hour)
		later := s.clock.now()
		refunded := o.create(t, card)
		o.refund(t, refunded, `{"amount":1}`).want(t, http.StatusOK)
		eventually(t, "everything is sent", func() bool { return len(endpoint.deliveries()) == 9 })
		stranger.create(t, card)

		all := o.get(t, "/events").want(t, http.StatusOK)
		if total := all.text(t, "pagination.total"); total != "9" {
			t.Errorf("%s events are listed, want 9: %s", total, all)
		}
		for _, d := range endpoint.deliveries() {
			if got := o.get(t, "/events/"+d.text("id")).want(t, http.StatusOK); string(got.body) != string(d.body) && string(got.body) != string(d.body)+"\n" {
				t.Errorf("the event is %s, was sent as %s", got.body, d.body)
			}
			stranger.get(t, "/events/"+d.text("id")).refused(t, "404 event_not_found invalid_request_error")
			o.live().get(t, "/events/"+d.text("id")).refused(t, "404 event_not_found invalid_request_error")
		}
		for query, want := range map[string]int{
			"type=payment.completed": 2, "type=claim.opened": 1, "type=withdrawal.failed": 0, "objectId=" + payment: 4, "objectId=" + refunded: 3,
			"objectId=" + payment + "&type=payment.pending": 1, "objectId=TXN-x": 0, "objectId=cs_x": 0,
			"from=" + later.UTC().Format("2006-01-02T15:04:05Z"): 5, "to=" + later.UTC().Format("2006-01-02T15:04:05Z"): 4,
		} {
			r := o.get(t, "/events?"+query).want(t, http.StatusOK)
			if n := len(ids(t, r)); n != want || r.text(t, "pagination.total") != fmt.Sprint(want) {
				t.Errorf("%s selects %d of %s, want %d", query, n, r.text(t, "pagination.total"), want)
			}
		}
		var walked []string
		for query := "/events?limit=3"; query != ""; {
			r := o.get(t, query).want(t, http.StatusOK)
			walked = append(walked, ids(t, r)...)
			query = ""
			if next, ok := r.at(t, "pagination.nextCursor"); ok && next != nil {
				query = "/events?limit=3&starting_after=" + next.(string)
			}
		}
		if want := ids(t, all); !slices.Equal(walked, want) {
			t.Errorf("page by page there are %v, want %v", walked, want)
		}
		if byOffset := ids(t, o.get(t, "/events?limit=3&offset=6")); !slices.Equal(byOffset, walked[6:]) {
			t.Errorf("from 6 on there are %v, want %v", byOffset, walked[6:])
		}
		o.get(t, "/events?starting_after=evt_x").refused(t, "400 invalid_request invalid_request_error param=starting_after")
		o.get(t, "/events?type=payment.paid&from=x").refused(t, "400 invalid_request invalid_request_error param=type issues=type,from")
		o.as(o.Sandbox.Publishable).get(t, "/events").refused(t, "403 key_kind_not_allowed permission_error")
		writer := o.key(t, auth.NewKey{Kind: tenant.Restricted, Rights: []tenant.Right{tenant.RightWebhooks}})
		writer.get(t, "/events").refused(t, "403 forbidden permission_error")
	})
}

// A receiver lost what it was told: the events of a time come again, those that it had taken too,
// in their order, with a delivery where there never was one.
func TestEventsOfATimeAreSentAgain(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		endpoint, late := s.receive(t), s.receive(t)
		h := o.hook(t, endpoint.URL, `"*"`)
		before := o.create(t, card)
		endpoint.isTold(t, before, "payment.completed 1")
		s.clock.advance(time.Hour)
		from := s.clock.now()
		const payments = 60 // more than a step
		for range payments {
			o.create(t, card)
		}
		endpoint.await(t, payments+1)
		s.rest(t)
		s.clock.advance(time.Hour)
		to := s.clock.now()
		o.create(t, card)
		endpoint.await(t, payments+2)
		newcomer := o.hook(t, late.URL, `"payment.completed"`)

		span := fmt.Sprintf(`{"from":%q,"to":%q}`, from.UTC().Format(time.RFC3339Nano), to.UTC().Format(time.RFC3339Nano))
		for _, to := range []struct {
			subscribed
			r   *receiver
			had int
		}{{h, endpoint, payments + 2}, {newcomer, late, 0}} {
			begun := o.post(t, to.path("/replay"), span, "Idempotency-Key: again-"+to.id).want(t, http.StatusOK)
			if begun.text(t, "events") != fmt.Sprint(payments) {
				t.Errorf("the replay is %s, want %d events", begun, payments)
			}
			replay := to.path("/replays/" + begun.text(t, "id"))
			o.post(t, to.path("/replay"), span, "Idempotency-Key: met-"+to.id).want(t, http.StatusOK) // it runs
			eventually(t, "the replay is done", func() bool {
				s.clock.advance(time.Second)
				return o.get(t, replay).text(t, "status") == "done"
			})
			to.r.await(t, to.had+payments)
			s.rest(t)
			if n := len(to.r.deliveries()); n != to.had+payments {
				t.Errorf("%d deliveries came, want %d more than %d", n, payments, to.had)
			}
			done := o.get(t, replay)
			if done.text(t, "sent") != fmt.Sprint(payments) || done.text(t, "leftOut") != "0" {
				t.Errorf("the replay ended as %s", done)
			}
			// The same request is not another replay, however late it comes.
			for _, key := range []string{"again-", "met-"} {
				if again := o.post(t, to.path("/replay"), span, "Idempotency-Key: "+key+to.id).want(t, http.StatusOK); again.text(t, "id") != begun.text(t, "id") {
					t.Errorf("the repeat began another replay: %s", again)
				}
			}
			stranger.get(t, replay).refused(t, "404 webhook_not_found invalid_request_error")
			stranger.post(t, to.path("/replay"), span).refused(t, "404 webhook_not_found invalid_request_error")
		}
		seen := map[string]int{}
		for _, d := range endpoint.deliveries() {
			seen[d.text("id")]++
		}
		twice := 0
		for _, n := range seen {
			if n == 2 {
				twice++
			}
		}
		if twice != payments || len(seen) != payments+2 {
			t.Errorf("%d of %d events came twice, want %d of %d", twice, len(seen), payments, payments+2)
		}
		if log := h.log(t, "?status=delivered&limit=1"); log.text(t, "pagination.total") != fmt.Sprint(payments+2) {
			t.Errorf("the log has %s deliveries, want one for each event", log.text(t, "pagination.total"))
		}
	})
}

func TestReplayOfATimeIsBounded(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		endpoint.answers(respond(http.StatusInternalServerError))
		h := o.hook(t, endpoint.URL, `"*"`)
		o.create(t, card)
		h.last(t, "failed")
		for _, c := range []struct{ body, want string }{
			{`{}`, "400 missing_field invalid_request_error param=from issues=from missing=from"},
			{`{"from":"yesterday"}`, "400 invalid_request invalid_request_error param=from issues=from"},
			{`{"from":"2020-01-01","types":["payment.paid"]}`, "400 invalid_request invalid_request_error param=types[0] issues=types[0]"},
			{`{"from":"2020-01-01","to":"2020-03-01"}`, "400 invalid_request invalid_request_error param=from"},
			{`{"from":"2020-01-02","to":"2020-01-01"}`, "400 invalid_request invalid_request_error param=from issues=from"},
			{`{"from":"2020-01-02","to":"2020-01-02"}`, "400 invalid_request invalid_request_error param=from"},
			{`{"from":"2120-01-02"}`, "400 invalid_request invalid_request_error param=from"},
		} {
			o.post(t, h.path("/replay"), c.body).refused(t, c.want)
		}
		reader := o.key(t, auth.NewKey{Kind: tenant.Restricted, Rights: []tenant.Right{tenant.RightRead}})
		today := s.clock.now().UTC().Format("2006-01-02")
		reader.post(t, h.path("/replay"), `{"from":"`+today+`"}`).refused(t, "403 forbidden permission_error")

		// A failed one begins anew; while a replay runs, the same request gets it and another one waits.
		begun := o.post(t, h.path("/replay"), `{"from":"`+today+`"}`).want(t, http.StatusOK)
		replay := h.path("/replays/" + begun.text(t, "id"))
		eventually(t, "the replay is done", func() bool {
			s.clock.advance(time.Second)
			return o.get(t, replay).text(t, "status") == "done"
		})
		if last := h.last(t, "failed"); last.text(t, "maxAttempts") == "11" {
			t.Errorf("the delivery has no fresh budget: %s", last)
		}
		o.call(t, http.MethodPatch, h.path(""), `{"status":"disabled"}`, asJSON).want(t, http.StatusOK)
		o.post(t, h.path("/replay"), `{"from":"`+today+`"}`).refused(t, "409 conflict_state conflict_error reason=webhook_disabled action=replay")
	})
}

// many makes payments whose events the endpoint takes, and returns a body that asks for them again.
func (o shop) many(t *testing.T, s *service, endpoint *receiver, payments int) (span string) {
	t.Helper()
	s.clock.advance(time.Hour)
	from := s.clock.now()
	for range payments {
		o.create(t, card)
		s.clock.advance(2 * time.Millisecond)
	}
	endpoint.await(t, payments)
	s.rest(t)
	s.clock.advance(time.Hour)
	return fmt.Sprintf(`{"from":%q,"to":%q}`, from.UTC().Format(time.RFC3339Nano), s.clock.now().UTC().Format(time.RFC3339Nano))
}

// A replay that runs is found, named by who meets it, and stopped. What it had begun still comes, and
// another one goes on where it was.
func TestReplayIsFoundAndStopped(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		endpoint := s.receive(t)
		h := o.hook(t, endpoint.URL, `"payment.completed"`)
		const payments = 60 // more than a step
		span := o.many(t, s, endpoint, payments)
		first := slices.MinFunc(endpoint.deliveries(), func(a, b received) int { return strings.Compare(a.text("createdAt"), b.text("createdAt")) }).text("createdAt")
		o.get(t, h.path("/replays")).is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)

		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		endpoint.answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusNoContent) })
		begun := o.post(t, h.path("/replay"), span).want(t, http.StatusOK)
		id := begun.text(t, "id")
		replay := h.path("/replays/" + id)
		eventually(t, "a step is begun", func() bool { return o.get(t, replay).text(t, "sent") == "50" })
		shown := func(status, reason, resume string) string {
			return fmt.Sprintf(`{"id":%q,"subscriptionId":%q,"status":%q,"stopReason":%s,"resumeFrom":%s,"from":"<time>","to":"<time>","types":[],
				"events":60,"sent":50,"leftOut":0,"createdAt":"<time>","updatedAt":"<time>"}`, id, h.id, status, reason, resume)
		}
		met := o.post(t, h.path("/replay"), `{"from":"2020-01-01","to":"2020-01-02"}`)
		met.refused(t, "409 conflict_state conflict_error reason=replay_running action=replay")
		if met.text(t, "error.details.replayId") != id || !strings.Contains(met.text(t, "error.message"), "stop it with POST "+replay+"/stop") {
			t.Errorf("who meets the replay is told %s", met)
		}
		o.get(t, replay).is(t, http.StatusOK, shown("running", "null", "null"))

		stopped := shown("stopped", `"requested"`, fmt.Sprintf("%q", first)) // nothing of it was taken yet
		for range 2 {
			o.post(t, replay+"/stop", "").is(t, http.StatusOK, stopped)
		}
		release()
		reader := o.key(t, auth.NewKey{Kind: tenant.Restricted, Rights: []tenant.Right{tenant.RightRead}})
		reader.post(t, replay+"/stop", "").refused(t, "403 forbidden permission_error")
		stranger.post(t, replay+"/stop", "").refused(t, "404 webhook_not_found invalid_request_error")
		stranger.get(t, h.path("/replays")).refused(t, "404 webhook_not_found invalid_request_error")
		o.post(t, h.path("/replays/rpl_1/stop"), "").refused(t, "404 not_found invalid_request_error")
		reader.get(t, h.path("/replays")).is(t, http.StatusOK, `{"data":[`+stopped+`],"pagination":{"total":1,"limit":50,"offset":0,"pages":1,"nextCursor":null}}`)
		endpoint.await(t, payments+50)
		eventually(t, "their answers are written", func() bool {
			return o.get(t, h.path("/deliveries?status=delivered&limit=1")).text(t, "pagination.total") == fmt.Sprint(payments)
		})
		s.clock.advance(time.Minute)
		s.rest(t)
		if n := len(endpoint.deliveries()); n != payments+50 {
			t.Errorf("%d deliveries came, want %d: a stopped replay begins none", n, payments+50)
		}

		next := o.post(t, h.path("/replay"), fmt.Sprintf(`{"from":%q,"to":%q}`, first, begun.text(t, "to"))).want(t, http.StatusOK)
		eventually(t, "the next replay is done", func() bool {
			s.clock.advance(time.Second)
			return o.get(t, h.path("/replays/"+next.text(t, "id"))).text(t, "status") == "done"
		})
		o.post(t, h.path("/replays/"+next.text(t, "id")+"/stop"), "").refused(t, "409 conflict_state conflict_error from=done action=stop")
		page := o.get(t, h.path("/replays?limit=1"))
		if page.text(t, "data.0.id") != next.text(t, "id") || page.text(t, "pagination.total") != "2" {
			t.Errorf("the first page is %s", page)
		}
		o.get(t, h.path("/replays?limit=1&startingAfter="+page.text(t, "pagination.nextCursor"))).
			is(t, http.StatusOK, `{"data":[`+stopped+`],"pagination":{"total":2,"limit":1,"offset":0,"pages":2,"nextCursor":null}}`)
		o.get(t, h.path("/replays?startingAfter=rpl_1")).refused(t, "400 invalid_request invalid_request_error param=startingAfter")
	})
}

// An endpoint that answers 410 is disabled, and the replay to it stops. It remembers where it was:
// another one from there on leaves nothing out.
func TestReplayRemembersWhereItWasGone(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		h := o.hook(t, endpoint.URL, `"payment.completed"`)
		const payments, taken = 5, 2
		span := o.many(t, s, endpoint, payments)
		at := map[string]string{} // when an event happened
		var order []string
		for _, d := range endpoint.deliveries() {
			at[d.text("id")] = d.text("createdAt")
			order = append(order, d.text("createdAt"))
		}
		slices.Sort(order)
		gone, mine := make(chan struct{}), order[taken]
		leave := sync.OnceFunc(func() { close(gone) })
		t.Cleanup(leave)
		took := map[string]bool{}
		var mu sync.Mutex // owns took
		endpoint.answers(func(w http.ResponseWriter, r *http.Request) {
			event := r.Header.Get("webhook-id")
			if at[event] >= mine {
				<-gone
				w.WriteHeader(http.StatusGone)
				return
			}
			mu.Lock()
			took[event] = true
			mu.Unlock()
			w.WriteHeader(http.StatusNoContent)
		})
		begun := o.post(t, h.path("/replay"), span).want(t, http.StatusOK)
		replay := h.path("/replays/" + begun.text(t, "id"))
		eventually(t, "a part is taken", func() bool {
			return h.log(t, "?status=delivered&limit=1").text(t, "pagination.total") == fmt.Sprint(taken)
		})
		leave()
		eventually(t, "the replay is stopped", func() bool {
			s.clock.advance(time.Second)
			return o.get(t, replay).text(t, "status") == "stopped"
		})
		stopped := o.get(t, replay)
		if stopped.text(t, "stopReason") != "webhook_disabled" || stopped.text(t, "resumeFrom") != mine {
			t.Errorf("the replay was to remember %s: %s", mine, stopped)
		}

		o.call(t, http.MethodPatch, h.path(""), `{"status":"enabled"}`, asJSON).want(t, http.StatusOK)
		endpoint.answers(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			took[r.Header.Get("webhook-id")] = true
			mu.Unlock()
			w.WriteHeader(http.StatusNoContent)
		})
		next := o.post(t, h.path("/replay"), fmt.Sprintf(`{"from":%q,"to":%q}`, stopped.text(t, "resumeFrom"), begun.text(t, "to"))).want(t, http.StatusOK)
		if next.text(t, "events") != fmt.Sprint(payments-taken) {
			t.Errorf("the next replay is %s, want the %d events that are left", next, payments-taken)
		}
		eventually(t, "all is taken", func() bool {
			s.clock.advance(time.Second)
			mu.Lock()
			defer mu.Unlock()
			return len(took) == payments
		})
	})
}
