package webhooks

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

func TestNewTypesOfEventsGoToThoseWhoWantThem(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		old, all, some, theirs := s.Receive(t), s.Receive(t), s.Receive(t), s.Receive(t)
		first := o.Hook(t, old.URL, `"*"`)
		made := o.Post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["*"]}`, all.URL)).Want(t, http.StatusCreated)
		if got := made.Text(t, "eventsVersion"); got != string(webhooks.NewestEvents) {
			t.Errorf("a new webhook has the events version %s, want %s", got, webhooks.NewestEvents)
		}
		pending := o.Subscribe(t, some.URL, `"payment.pending"`)
		other.Subscribe(t, theirs.URL, `"*"`)

		waits := o.Create(t, harness.PaidByShopper)
		all.IsTold(t, waits, "payment.created 0, payment.pending 0")
		some.IsTold(t, waits, "payment.pending 0")
		all.About(t, waits, 2)[0].Verify(t, s, made.Text(t, "secret"))
		some.About(t, waits, 1)[0].Verify(t, s, pending.Text(t, "secret"))
		if before := all.About(t, waits, 2)[0]; before.Text("data.object.status") != "processing" || before.Text("data.previous") != "map[]" || before.Text("request.id") == "<nil>" {
			t.Errorf("payment.created is %s", before.Body)
		}
		if after := some.About(t, waits, 1)[0]; after.Text("data.object.status") != "pending" || after.Text("data.previous.status") != "processing" {
			t.Errorf("payment.pending is %s", after.Body)
		}
		if fired := o.Simulate(t, waits, "paid").Text(t, "eventsFired"); fired != "[payment.completed payment.captured]" {
			t.Errorf("simulate fired %s", fired)
		}
		all.IsTold(t, waits, "payment.created 0, payment.pending 0, payment.completed 1, payment.captured 2")
		old.IsTold(t, waits, "payment.completed 1, payment.captured 2")
		paid := o.Create(t, harness.Card)
		all.IsTold(t, paid, "payment.created 0, payment.completed 1")
		declined := o.Post(t, "/payments", `{"amount":10.05,"paymentMethodId":"sbx_card"}`).Text(t, "error.details.transactionId")
		all.IsTold(t, declined, "payment.created 0, payment.failed 1")
		old.IsTold(t, declined, "payment.failed 1")

		// Events of a type that no webhook of the shop wants are not made.
		theirs.IsTold(t, other.Create(t, harness.PaidByShopper, "Sandbox-Simulate: paid"), "payment.completed 1, payment.captured 2")
		if total := other.Get(t, "/events").Text(t, "pagination.total"); total != "2" {
			t.Errorf("a shop that wants only the first version's events has %s, want 2", total)
		}

		// A webhook moves to a newer version when its owner says so, and never back.
		o.Call(t, http.MethodPatch, first.Path(""), `{"eventsVersion":"2026-11-22"}`, harness.AsJSON).Refused(t, "400 invalid_request invalid_request_error param=eventsVersion issues=eventsVersion")
		o.Call(t, http.MethodPatch, first.Path(""), `{"eventsVersion":"2026-11-24"}`, harness.AsJSON).Want(t, http.StatusOK)
		o.Call(t, http.MethodPatch, first.Path(""), `{"eventsVersion":"2026-11-21"}`, harness.AsJSON).Refused(t, "400 invalid_request invalid_request_error param=eventsVersion issues=eventsVersion")
		old.IsTold(t, o.Create(t, harness.Card), "payment.created 0, payment.completed 1")
	})
}

func TestCheckoutThatNobodyFinishedIsTold(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		secret := o.Subscribe(t, endpoint.URL, `"checkout.session.expired"`).Text(t, "secret")
		left := o.Session(t, `{"amount":25.5,"merchantOrderId":"order-7",`+harness.Ana+`}`)
		chosen := o.Session(t, harness.CheckoutBody)
		o.Post(t, "/checkout/sessions/"+chosen+"/select", `{"paymentMethodId":"sbx_cash"}`).Want(t, http.StatusCreated)
		s.Clock.Advance(23 * time.Hour)
		onlyOne(t, endpoint, 0)
		s.Clock.Advance(time.Hour + time.Minute)
		got := endpoint.Await(t, 1)[0]
		got.Verify(t, s, secret)
		for path, want := range map[string]string{
			"type": "checkout.session.expired", "sequence": "1", "data.object.sessionId": left, "data.object.status": "expired",
			"data.object.merchantOrderId": "order-7", "data.previous.status": "awaiting_method",
		} {
			if got.Text(path) != want {
				t.Errorf("the event's %s is %s, want %s: %s", path, got.Text(path), want, got.Body)
			}
		}
		s.Clock.Advance(48 * time.Hour)
		onlyOne(t, endpoint, 1)
		if list := o.Get(t, "/events?objectId="+left); list.Text(t, "data.0.id") != got.Text("id") || list.Text(t, "pagination.total") != "1" {
			t.Errorf("the session's events are %s, want only %s", list, got.Text("id"))
		}
	})
}

func TestEventsAreListedAsTheyAreSent(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		endpoint := s.Receive(t)
		o.Post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["*"]}`, endpoint.URL)).Want(t, http.StatusCreated)
		payment := o.Create(t, harness.PaidByShopper, "Sandbox-Simulate: paid")
		endpoint.IsTold(t, payment, "payment.created 0, payment.pending 0, payment.completed 1, payment.captured 2")
		s.Clock.Advance(2 * time.Hour)
		later := s.Clock.Now()
		refunded := o.Create(t, harness.Card)
		o.Refund(t, refunded, `{"amount":1}`).Want(t, http.StatusOK)
		harness.Eventually(t, "the endpoint has 9 events", func() bool { return len(endpoint.Deliveries()) == 9 })
		stranger.Create(t, harness.Card)

		all := o.Get(t, "/events").Want(t, http.StatusOK)
		if total := all.Text(t, "pagination.total"); total != "9" {
			t.Errorf("the list has %s events, want 9: %s", total, all)
		}
		for _, d := range endpoint.Deliveries() {
			if got := o.Get(t, "/events/"+d.Text("id")).Want(t, http.StatusOK); string(got.Body) != string(d.Body) && string(got.Body) != string(d.Body)+"\n" {
				t.Errorf("the event is shown as %s, but was sent as %s", got.Body, d.Body)
			}
			stranger.Get(t, "/events/"+d.Text("id")).Refused(t, "404 event_not_found invalid_request_error")
			o.Production().Get(t, "/events/"+d.Text("id")).Refused(t, "404 event_not_found invalid_request_error")
		}
		for query, want := range map[string]int{
			"type=payment.completed": 2, "type=claim.opened": 1, "type=withdrawal.failed": 0, "objectId=" + payment: 4, "objectId=" + refunded: 3,
			"objectId=" + payment + "&type=payment.pending": 1, "objectId=TXN-x": 0, "objectId=cs_x": 0,
			"from=" + later.UTC().Format("2006-01-02T15:04:05Z"): 5, "to=" + later.UTC().Format("2006-01-02T15:04:05Z"): 4,
		} {
			r := o.Get(t, "/events?"+query).Want(t, http.StatusOK)
			if n := len(harness.IDs(t, r)); n != want || r.Text(t, "pagination.total") != fmt.Sprint(want) {
				t.Errorf("%s selects %d events with a total of %s, want %d", query, n, r.Text(t, "pagination.total"), want)
			}
		}
		var walked []string
		for query := "/events?limit=3"; query != ""; {
			r := o.Get(t, query).Want(t, http.StatusOK)
			walked = append(walked, harness.IDs(t, r)...)
			query = ""
			if next, ok := r.At(t, "pagination.nextCursor"); ok && next != nil {
				query = "/events?limit=3&starting_after=" + next.(string)
			}
		}
		if want := harness.IDs(t, all); !slices.Equal(walked, want) {
			t.Errorf("the pages have %v, want %v", walked, want)
		}
		if byOffset := harness.IDs(t, o.Get(t, "/events?limit=3&offset=6")); !slices.Equal(byOffset, walked[6:]) {
			t.Errorf("the page at offset 6 has %v, want %v", byOffset, walked[6:])
		}
		o.Get(t, "/events?starting_after=evt_x").Refused(t, "400 invalid_request invalid_request_error param=starting_after")
		o.Get(t, "/events?type=payment.paid&from=x").Refused(t, "400 invalid_request invalid_request_error param=type issues=type,from")
		o.As(o.Sandbox.Publishable).Get(t, "/events").Refused(t, "403 key_kind_not_allowed permission_error")
		writer := o.NewKey(t, auth.NewKey{Kind: merchants.Restricted, Rights: []merchants.Right{merchants.RightWebhooks}})
		writer.Get(t, "/events").Refused(t, "403 forbidden permission_error")
	})
}

// A receiver lost its events, so it replays a period. All events of the period come again, also
// those it had accepted. A webhook that is newer than the events gets deliveries of them.
func TestEventsOfATimeAreSentAgain(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		endpoint, late := s.Receive(t), s.Receive(t)
		h := o.Hook(t, endpoint.URL, `"*"`)
		before := o.Create(t, harness.Card)
		endpoint.IsTold(t, before, "payment.completed 1")
		s.Clock.Advance(time.Hour)
		from := s.Clock.Now()
		const payments = 60 // more than one step of a replay sends
		for range payments {
			o.Create(t, harness.Card)
		}
		endpoint.Await(t, payments+1)
		dispatchAll(t, s)
		s.Clock.Advance(time.Hour)
		to := s.Clock.Now()
		o.Create(t, harness.Card)
		endpoint.Await(t, payments+2)
		newcomer := o.Hook(t, late.URL, `"payment.completed"`)

		span := fmt.Sprintf(`{"from":%q,"to":%q}`, from.UTC().Format(time.RFC3339Nano), to.UTC().Format(time.RFC3339Nano))
		for _, to := range []struct {
			harness.Subscribed
			r   *harness.Receiver
			had int
		}{{h, endpoint, payments + 2}, {newcomer, late, 0}} {
			begun := o.Post(t, to.Path("/replay"), span, "Idempotency-Key: again-"+to.ID).Want(t, http.StatusOK)
			if begun.Text(t, "events") != fmt.Sprint(payments) {
				t.Errorf("the replay is %s, want %d events", begun, payments)
			}
			replay := to.Path("/replays/" + begun.Text(t, "id"))
			o.Post(t, to.Path("/replay"), span, "Idempotency-Key: met-"+to.ID).Want(t, http.StatusOK) // while the replay runs
			harness.Eventually(t, "the replay is done", func() bool {
				s.Clock.Advance(time.Second)
				return o.Get(t, replay).Text(t, "status") == "done"
			})
			to.r.Await(t, to.had+payments)
			dispatchAll(t, s)
			if n := len(to.r.Deliveries()); n != to.had+payments {
				t.Errorf("the endpoint got %d deliveries, want %d more than %d", n, payments, to.had)
			}
			done := o.Get(t, replay)
			if done.Text(t, "sent") != fmt.Sprint(payments) || done.Text(t, "leftOut") != "0" {
				t.Errorf("the replay ended as %s, want %d sent and 0 left out", done, payments)
			}
			// A repeated request begins no second replay, however late it comes.
			for _, key := range []string{"again-", "met-"} {
				if again := o.Post(t, to.Path("/replay"), span, "Idempotency-Key: "+key+to.ID).Want(t, http.StatusOK); again.Text(t, "id") != begun.Text(t, "id") {
					t.Errorf("the repeated request began another replay: %s", again)
				}
			}
			stranger.Get(t, replay).Refused(t, "404 webhook_not_found invalid_request_error")
			stranger.Post(t, to.Path("/replay"), span).Refused(t, "404 webhook_not_found invalid_request_error")
		}
		seen := map[string]int{}
		for _, d := range endpoint.Deliveries() {
			seen[d.Text("id")]++
		}
		twice := 0
		for _, n := range seen {
			if n == 2 {
				twice++
			}
		}
		if twice != payments || len(seen) != payments+2 {
			t.Errorf("the endpoint got %d of %d events twice, want %d of %d", twice, len(seen), payments, payments+2)
		}
		if log := h.Log(t, "?status=delivered&limit=1"); log.Text(t, "pagination.total") != fmt.Sprint(payments+2) {
			t.Errorf("the log has %s deliveries, want %d: one for each event", log.Text(t, "pagination.total"), payments+2)
		}
	})
}

func TestReplayOfATimeIsBounded(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		endpoint.Answers(harness.Respond(http.StatusInternalServerError))
		h := o.Hook(t, endpoint.URL, `"*"`)
		o.Create(t, harness.Card)
		h.Last(t, "failed")
		for _, c := range []struct{ body, want string }{
			{`{}`, "400 missing_field invalid_request_error param=from issues=from missing=from"},
			{`{"from":"yesterday"}`, "400 invalid_request invalid_request_error param=from issues=from"},
			{`{"from":"2020-01-01","types":["payment.paid"]}`, "400 invalid_request invalid_request_error param=types[0] issues=types[0]"},
			{`{"from":"2020-01-01","to":"2020-03-01"}`, "400 invalid_request invalid_request_error param=from"},
			{`{"from":"2020-01-02","to":"2020-01-01"}`, "400 invalid_request invalid_request_error param=from issues=from"},
			{`{"from":"2020-01-02","to":"2020-01-02"}`, "400 invalid_request invalid_request_error param=from"},
			{`{"from":"2120-01-02"}`, "400 invalid_request invalid_request_error param=from"},
		} {
			o.Post(t, h.Path("/replay"), c.body).Refused(t, c.want)
		}
		reader := o.NewKey(t, auth.NewKey{Kind: merchants.Restricted, Rights: []merchants.Right{merchants.RightRead}})
		today := s.Clock.Now().UTC().Format("2006-01-02")
		reader.Post(t, h.Path("/replay"), `{"from":"`+today+`"}`).Refused(t, "403 forbidden permission_error")

		// A replay gives a failed delivery a fresh budget of tries.
		begun := o.Post(t, h.Path("/replay"), `{"from":"`+today+`"}`).Want(t, http.StatusOK)
		replay := h.Path("/replays/" + begun.Text(t, "id"))
		harness.Eventually(t, "the replay is done", func() bool {
			s.Clock.Advance(time.Second)
			return o.Get(t, replay).Text(t, "status") == "done"
		})
		if last := h.Last(t, "failed"); last.Text(t, "maxAttempts") == "11" {
			t.Errorf("the delivery has no fresh budget: %s", last)
		}
		o.Call(t, http.MethodPatch, h.Path(""), `{"status":"disabled"}`, harness.AsJSON).Want(t, http.StatusOK)
		o.Post(t, h.Path("/replay"), `{"from":"`+today+`"}`).Refused(t, "409 conflict_state conflict_error reason=webhook_disabled action=replay")
	})
}

// manyPayments makes payments and waits until the endpoint has accepted their events. It returns
// the body of a request that replays exactly these events.
func manyPayments(t *testing.T, o harness.Client, s *harness.Instance, endpoint *harness.Receiver, payments int) (span string) {
	t.Helper()
	s.Clock.Advance(time.Hour)
	from := s.Clock.Now()
	for range payments {
		o.Create(t, harness.Card)
		s.Clock.Advance(2 * time.Millisecond)
	}
	endpoint.Await(t, payments)
	dispatchAll(t, s)
	s.Clock.Advance(time.Hour)
	return fmt.Sprintf(`{"from":%q,"to":%q}`, from.UTC().Format(time.RFC3339Nano), s.Clock.Now().UTC().Format(time.RFC3339Nano))
}

// A running replay can be listed and stopped, and a second replay is refused with its id. The
// deliveries it had begun still come, and another replay continues from the same place.
func TestReplayIsFoundAndStopped(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		endpoint := s.Receive(t)
		h := o.Hook(t, endpoint.URL, `"payment.completed"`)
		const payments = 60 // more than one step of a replay sends
		span := manyPayments(t, o, s, endpoint, payments)
		first := slices.MinFunc(endpoint.Deliveries(), func(a, b harness.Received) int { return strings.Compare(a.Text("createdAt"), b.Text("createdAt")) }).Text("createdAt")
		o.Get(t, h.Path("/replays")).Is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)

		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		endpoint.Answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusNoContent) })
		begun := o.Post(t, h.Path("/replay"), span).Want(t, http.StatusOK)
		id := begun.Text(t, "id")
		replay := h.Path("/replays/" + id)
		harness.Eventually(t, "the replay's first step is sent", func() bool { return o.Get(t, replay).Text(t, "sent") == "50" })
		shown := func(status, reason, resume string) string {
			return fmt.Sprintf(`{"id":%q,"subscriptionId":%q,"status":%q,"stopReason":%s,"resumeFrom":%s,"from":"<time>","to":"<time>","types":[],
				"events":60,"sent":50,"leftOut":0,"createdAt":"<time>","updatedAt":"<time>"}`, id, h.ID, status, reason, resume)
		}
		met := o.Post(t, h.Path("/replay"), `{"from":"2020-01-01","to":"2020-01-02"}`)
		met.Refused(t, "409 conflict_state conflict_error reason=replay_running action=replay")
		if met.Text(t, "error.details.replayId") != id || !strings.Contains(met.Text(t, "error.message"), "stop it with POST "+replay+"/stop") {
			t.Errorf("the refusal of a second replay does not say how to stop the first one: %s", met)
		}
		o.Get(t, replay).Is(t, http.StatusOK, shown("running", "null", "null"))

		stopped := shown("stopped", `"requested"`, fmt.Sprintf("%q", first)) // no delivery was accepted yet
		for range 2 {
			o.Post(t, replay+"/stop", "").Is(t, http.StatusOK, stopped)
		}
		release()
		reader := o.NewKey(t, auth.NewKey{Kind: merchants.Restricted, Rights: []merchants.Right{merchants.RightRead}})
		reader.Post(t, replay+"/stop", "").Refused(t, "403 forbidden permission_error")
		stranger.Post(t, replay+"/stop", "").Refused(t, "404 webhook_not_found invalid_request_error")
		stranger.Get(t, h.Path("/replays")).Refused(t, "404 webhook_not_found invalid_request_error")
		o.Post(t, h.Path("/replays/rpl_1/stop"), "").Refused(t, "404 not_found invalid_request_error")
		reader.Get(t, h.Path("/replays")).Is(t, http.StatusOK, `{"data":[`+stopped+`],"pagination":{"total":1,"limit":50,"offset":0,"pages":1,"nextCursor":null}}`)
		endpoint.Await(t, payments+50)
		harness.Eventually(t, "the answers are in the log", func() bool {
			return o.Get(t, h.Path("/deliveries?status=delivered&limit=1")).Text(t, "pagination.total") == fmt.Sprint(payments)
		})
		s.Clock.Advance(time.Minute)
		dispatchAll(t, s)
		if n := len(endpoint.Deliveries()); n != payments+50 {
			t.Errorf("the endpoint got %d deliveries, want %d: a stopped replay begins no more", n, payments+50)
		}

		next := o.Post(t, h.Path("/replay"), fmt.Sprintf(`{"from":%q,"to":%q}`, first, begun.Text(t, "to"))).Want(t, http.StatusOK)
		harness.Eventually(t, "the next replay is done", func() bool {
			s.Clock.Advance(time.Second)
			return o.Get(t, h.Path("/replays/"+next.Text(t, "id"))).Text(t, "status") == "done"
		})
		o.Post(t, h.Path("/replays/"+next.Text(t, "id")+"/stop"), "").Refused(t, "409 conflict_state conflict_error from=done action=stop")
		page := o.Get(t, h.Path("/replays?limit=1"))
		if page.Text(t, "data.0.id") != next.Text(t, "id") || page.Text(t, "pagination.total") != "2" {
			t.Errorf("the first page is %s, want %s and a total of 2", page, next.Text(t, "id"))
		}
		o.Get(t, h.Path("/replays?limit=1&startingAfter="+page.Text(t, "pagination.nextCursor"))).
			Is(t, http.StatusOK, `{"data":[`+stopped+`],"pagination":{"total":2,"limit":1,"offset":0,"pages":2,"nextCursor":null}}`)
		o.Get(t, h.Path("/replays?startingAfter=rpl_1")).Refused(t, "400 invalid_request invalid_request_error param=startingAfter")
	})
}
