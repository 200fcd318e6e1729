package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// subscribed is a subscription during a test.
type subscribed struct {
	shop
	id     string
	secret string
}

func (o shop) hook(t *testing.T, url, events string) subscribed {
	t.Helper()
	r := o.subscribe(t, url, events)
	return subscribed{o, r.text(t, "id"), r.text(t, "secret")}
}

func (h subscribed) path(rest string) string { return "/webhooks/" + h.id + rest }

// log lists the deliveries that a query selects.
func (h subscribed) log(t *testing.T, query string) reply {
	t.Helper()
	return h.get(t, h.path("/deliveries"+query)).want(t, http.StatusOK)
}

// last waits until the newest delivery has a status, and returns it in full.
func (h subscribed) last(t *testing.T, status string) reply {
	t.Helper()
	id := ""
	eventually(t, "the newest delivery is "+status, func() bool {
		r := h.log(t, "?limit=1")
		if n, ok := r.at(t, "data.0.id"); ok {
			id = fmt.Sprint(n)
			return r.text(t, "data.0.status") == status
		}
		return false
	})
	return h.get(t, h.path("/deliveries/"+id)).want(t, http.StatusOK)
}

// dead fails the newest delivery until it is a dead letter, and returns it. The
// endpoint answers with an error.
func (h subscribed) dead(t *testing.T) reply {
	t.Helper()
	for _, delay := range delays {
		h.last(t, "failed")
		h.awaitRetry(t, delay)
		h.rest(t)
	}
	return h.last(t, "dead_letter")
}

func TestDeliveryTellsItsPayloadAndEveryTry(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		endpoint := s.receive(t)
		endpoint.answers(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte(strings.Repeat("té ", 500)))
		})
		h := o.hook(t, endpoint.URL, `"*"`)
		o.create(t, card)
		got := endpoint.awaits(t, 1)[0]
		failed := h.last(t, "failed")
		long := strings.Repeat("té ", 256) // of four bytes each: 1 KB
		item := func(status, attempts, next, code, problem, snippet, delivered string) string {
			return fmt.Sprintf(`{"id":"<wd>","subscriptionId":%q,"eventId":%q,"event":"payment.completed","url":%q,"status":%q,
				"attempts":%s,"maxAttempts":11,"nextAttemptAt":%s,"lastAttemptAt":"<time>","lastStatusCode":%s,"lastError":%s,
				"lastResponseSnippet":%s,"lastDurationMs":"<number>","createdAt":%q,"deliveredAt":%s`,
				h.id, got.text("id"), endpoint.URL, status, attempts, next, code, problem, snippet, got.text("createdAt"), delivered)
		}
		first := fmt.Sprintf(`{"at":"<time>","statusCode":418,"error":"http_status","durationMs":"<number>","responseSnippet":%q}`, long)
		failed.is(t, http.StatusOK, item("failed", "1", `"<time>"`, "418", `"http_status"`, fmt.Sprintf("%q", long), "null")+
			fmt.Sprintf(`,"payload":%s,"attemptLog":[%s]}`, got.body, first))
		id := failed.text(t, "id")
		if sent := got.header.Get("X-Service-Delivery"); sent != "dlv_"+strings.TrimPrefix(id, "wd_") {
			t.Errorf("the header calls %s %s", id, sent)
		}
		// Byte for byte what was signed, so that it can be forwarded.
		if !strings.Contains(string(failed.body), string(got.body)) {
			t.Errorf("the payload is another text than was sent: %s, sent %s", failed, got.body)
		}

		endpoint.answers(respond(http.StatusNoContent))
		s.clock.advance(13 * time.Second)
		done := h.last(t, "delivered")
		cut := strings.Repeat("té ", 63) + "t"
		done.is(t, http.StatusOK, item("delivered", "2", "null", "204", "null", "null", `"<time>"`)+fmt.Sprintf(`,"payload":%s,"attemptLog":[
			{"at":"<time>","statusCode":418,"error":"http_status","durationMs":"<number>","responseSnippet":%q},
			{"at":"<time>","statusCode":204,"error":null,"durationMs":"<number>","responseSnippet":null}]}`, got.body, cut))
		h.log(t, "").is(t, http.StatusOK, fmt.Sprintf(`{"data":[%s}],"pagination":{"total":1,"limit":50,"offset":0,"pages":1,"nextCursor":null}}`,
			item("delivered", "2", "null", "204", "null", "null", `"<time>"`)))

		// Both names are one delivery; nobody else's exists.
		same := o.get(t, h.path("/deliveries/dlv_"+strings.TrimPrefix(id, "wd_"))).want(t, http.StatusOK)
		if string(same.body) != string(done.body) {
			t.Errorf("under its other name the delivery is %s, want %s", same, done)
		}
		other := o.hook(t, endpoint.URL+"/other", `"*"`)
		theirs := stranger.hook(t, endpoint.URL+"/theirs", `"*"`)
		for _, c := range []struct {
			who        shop
			path, want string
		}{
			{o, other.path("/deliveries/" + id), "404 webhook_delivery_not_found invalid_request_error"},
			{o, h.path("/deliveries/wd_nobody"), "404 webhook_delivery_not_found invalid_request_error"},
			{o, h.path("/deliveries/wd_%00"), "404 webhook_delivery_not_found invalid_request_error"},
			{o, h.path("/deliveries/wd_%ff"), "404 webhook_delivery_not_found invalid_request_error"},
			{stranger, h.path("/deliveries/" + id), "404 webhook_not_found invalid_request_error"},
			{stranger, theirs.path("/deliveries/" + id), "404 webhook_delivery_not_found invalid_request_error"},
			{o.live(), h.path("/deliveries/" + id), "404 webhook_not_found invalid_request_error"},
		} {
			c.who.get(t, c.path).refused(t, c.want)
			c.who.post(t, c.path+"/replay", "").refused(t, c.want)
		}
	})
}

func TestLastErrorIsOneOfSixWords(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		plain := httptest.NewServer(respond(http.StatusFound))
		t.Cleanup(plain.Close)
		closed, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		must(t, closed.Close())
		hooks := map[string]subscribed{}
		for word, url := range map[string]string{
			"http_status": plain.URL, "refused": "http://" + closed.Addr().String(), "dns": "http://nowhere.invalid/",
			"tls": strings.Replace(plain.URL, "http://", "https://", 1),
		} {
			hooks[word] = o.hook(t, url, `"*"`)
		}
		o.create(t, card)
		for word, h := range hooks {
			d := h.last(t, "failed")
			if d.text(t, "lastError") != word || d.text(t, "attemptLog.0.error") != word {
				t.Errorf("want %s: %s", word, d)
			}
			if answered := d.text(t, "lastStatusCode") != "<nil>"; answered != (word == "http_status") {
				t.Errorf("%s has the status %s", word, d.text(t, "lastStatusCode"))
			}
		}
	})
}

func TestDeliveriesAreFilteredAndPaged(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		h := o.hook(t, endpoint.URL, `"payment.completed","payment.failed"`)
		var all []string // newest first
		var moments []time.Time
		for i := range 6 {
			moments = append(moments, s.clock.now())
			amount := "10"
			if i%3 == 2 {
				amount = "10.05" // declined
			}
			o.post(t, "/payments", `{"amount":`+amount+`,"paymentMethodId":"sbx_card"}`)
			endpoint.awaits(t, i+1)
			all = append([]string{h.last(t, "delivered").text(t, "id")}, all...)
			s.clock.advance(time.Hour)
		}
		endpoint.answers(respond(http.StatusInternalServerError))
		o.create(t, card)
		all = append([]string{h.last(t, "failed").text(t, "id")}, all...)
		pick := func(numbers ...int) (list []string) {
			for _, n := range numbers {
				list = append(list, all[n])
			}
			return list
		}
		at := func(i int) string { return url.QueryEscape(moments[i].UTC().Format(time.RFC3339Nano)) }
		for _, c := range []struct {
			query string
			total int
			want  []string
		}{
			{"", 7, all},
			{"?status=delivered", 6, all[1:]},
			{"?status=failed", 1, all[:1]},
			{"?status=pending", 0, nil},
			{"?status=dead_letter", 0, nil},
			{"?event=payment.failed", 2, pick(1, 4)},
			{"?event=payment.completed", 5, pick(0, 2, 3, 5, 6)},
			{"?event=payment.completed&status=delivered", 4, pick(2, 3, 5, 6)},
			{"?event=claim.opened", 0, nil},
			{"?limit=3", 7, all[:3]},
			{"?limit=3&offset=5", 7, all[5:]},
			{"?offset=7", 7, nil},
			{"?status=delivered&limit=2&offset=1", 6, all[2:4]},
			{"?from=" + at(3), 4, all[:4]},
			{"?to=" + at(3), 3, all[4:]},
			{"?from=" + at(1) + "&to=" + at(3), 2, all[4:6]},
			{"?from=" + at(1) + "&to=" + at(3) + "&event=payment.failed&status=delivered", 1, pick(4)},
			{"?from=" + at(3) + "&to=" + at(3), 0, nil},
		} {
			r := h.log(t, c.query)
			if got := ids(t, r); !slices.Equal(got, c.want) || r.text(t, "pagination.total") != fmt.Sprint(c.total) {
				t.Errorf("%s: got %v of %s, want %v of %d", c.query, got, r.text(t, "pagination.total"), c.want, c.total)
			}
		}
		for query, want := range map[string]string{
			"?status=done":              "param=status issues=status",
			"?event=*":                  "param=event issues=event",
			"?from=yesterday":           "param=from issues=from",
			"?status=x&to=1.1.2026":     "param=status issues=status,to",
			"?limit=a":                  "param=limit issues=limit",
			"?event=payment.completed,": "param=event issues=event",
		} {
			o.get(t, h.path("/deliveries"+query)).refused(t, "400 invalid_request invalid_request_error "+want)
		}
		if r := o.get(t, h.path("")); r.text(t, "lastDeliveryAt") != h.last(t, "failed").text(t, "lastAttemptAt") {
			t.Errorf("the webhook does not tell its last try: %s", r)
		}
	})
}

func TestDeadLetterIsReplayedInTheSameRowWithAFreshBudget(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		endpoint.answers(respond(http.StatusInternalServerError))
		h := o.hook(t, endpoint.URL, `"payment.completed"`)
		o.create(t, card)
		letter := h.dead(t)
		id := letter.text(t, "id")
		if letter.text(t, "attempts") != "11" || letter.text(t, "nextAttemptAt") != "<nil>" || len(endpoint.deliveries()) != 11 {
			t.Fatalf("want a dead letter after 11 tries, got %d: %s", len(endpoint.deliveries()), letter)
		}
		replay := func(id, previous string) {
			t.Helper()
			now := s.clock.now()
			r := o.post(t, h.path("/deliveries/"+id+"/replay"), "")
			r.is(t, http.StatusOK, fmt.Sprintf(`{"ok":true,"deliveryId":%q,"previousStatus":%q,"newStatus":"pending","nextAttemptAt":"<time>","note":"<text>"}`,
				letter.text(t, "id"), previous))
			next, err := time.Parse(time.RFC3339, r.text(t, "nextAttemptAt"))
			must(t, err)
			if next.Sub(now) < -time.Second || next.Sub(now) > patience {
				t.Errorf("the next try is at %s, replayed at %s", next, now)
			}
		}
		// The circuit is open: ten failures in a row. A person's replay goes all the
		// same, at once and by itself.
		replay("dlv_"+strings.TrimPrefix(id, "wd_"), "dead_letter")
		endpoint.awaits(t, 12)
		again := h.last(t, "failed")
		if again.text(t, "attempts") != "12" || again.text(t, "maxAttempts") != "22" || again.text(t, "id") != id {
			t.Errorf("want the same delivery, its counter going on with a fresh budget: %s", again)
		}
		replay(id, "failed")
		endpoint.awaits(t, 13)
		h.last(t, "failed")
		endpoint.answers(respond(http.StatusOK))
		replay(id, "failed")
		done := h.last(t, "delivered")
		if done.text(t, "attempts") != "14" {
			t.Errorf("want 14 tries: %s", done)
		}
		if r := h.log(t, ""); r.text(t, "pagination.total") != "1" {
			t.Errorf("a replay made another delivery: %s", r)
		}
		list := endpoint.deliveries()
		last := list[len(list)-1]
		last.verify(t, s, h.secret)
		if last.header.Get("X-Service-Delivery") != list[0].header.Get("X-Service-Delivery") || string(last.body) != string(list[0].body) {
			t.Errorf("the replay is another delivery: %v %s", last.header, last.body)
		}
		if log, _ := done.at(t, "attemptLog"); len(log.([]any)) != 14 {
			t.Errorf("want every try in the log: %s", done)
		}

		// What is done or under way is not replayed.
		o.post(t, h.path("/deliveries/"+id+"/replay"), "").refused(t, "409 conflict_state conflict_error from=delivered action=replay")
		hold := make(chan struct{})
		endpoint.answers(func(http.ResponseWriter, *http.Request) { <-hold })
		defer close(hold)
		o.create(t, card)
		waiting := h.last(t, "pending")
		o.post(t, h.path("/deliveries/"+waiting.text(t, "id")+"/replay"), "").refused(t, "409 conflict_state conflict_error from=pending action=replay")
	})
}

func TestDeliveryOfADisabledWebhookIsNotReplayed(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		endpoint.answers(respond(http.StatusInternalServerError))
		h := o.hook(t, endpoint.URL, `"*"`)
		o.create(t, card)
		id := h.last(t, "failed").text(t, "id")
		o.patch(t, h.path(""), `{"status":"disabled"}`).want(t, http.StatusOK)
		o.post(t, h.path("/deliveries/"+id+"/replay"), "").refused(t, "409 conflict_state conflict_error reason=webhook_disabled action=replay")
		// Its time comes while nobody wants it: a dead letter, and not a try.
		s.clock.advance(time.Minute)
		letter := h.last(t, "dead_letter")
		if letter.text(t, "attempts") != "1" || letter.text(t, "lastError") != "http_status" || len(endpoint.deliveries()) != 1 {
			t.Errorf("want a dead letter after one try: %s", letter)
		}
		endpoint.answers(respond(http.StatusOK))
		o.patch(t, h.path(""), `{"status":"enabled"}`).want(t, http.StatusOK)
		o.post(t, h.path("/deliveries/"+id+"/replay"), "").want(t, http.StatusOK)
		if done := h.last(t, "delivered"); done.text(t, "attempts") != "2" {
			t.Errorf("want two tries: %s", done)
		}
	})
}

// A try is under way when somebody replays its delivery. What the try finds
// out is not lost, and the replay is sent all the same.
func TestReplayWhileATryIsUnderWay(t *testing.T) {
	for name, answer := range map[string]int{"that succeeds": http.StatusOK, "that fails": http.StatusBadGateway} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *service) {
				o := s.shop(t)
				endpoint := s.receive(t)
				endpoint.answers(respond(http.StatusInternalServerError))
				h := o.hook(t, endpoint.URL, `"*"`)
				o.create(t, card)
				id := h.last(t, "failed").text(t, "id")
				hold := make(chan struct{})
				endpoint.answers(func(w http.ResponseWriter, _ *http.Request) { <-hold; w.WriteHeader(answer) })
				s.clock.advance(13 * time.Second)
				endpoint.await(t, 2) // the retry hangs
				endpoint.answers(respond(http.StatusOK))
				o.post(t, h.path("/deliveries/"+id+"/replay"), "").want(t, http.StatusOK)
				endpoint.awaits(t, 3) // the replay does not wait for it
				close(hold)
				s.rest(t)
				done := h.last(t, "delivered")
				if n := len(endpoint.deliveries()); n != 3 {
					t.Errorf("the endpoint was called %d times, want 3", n)
				}
				if got := done.text(t, "attempts"); got != "2" && got != "3" {
					t.Errorf("want two or three tries counted: %s", done)
				}
				if r := h.log(t, "?status=delivered"); r.text(t, "pagination.total") != "1" {
					t.Errorf("want one delivered: %s", r)
				}
			})
		})
	}
}
