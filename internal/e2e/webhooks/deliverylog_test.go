package webhooks

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

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// dead retries the newest delivery until it is a dead letter, and returns it. The endpoint must
// answer with an error.
func dead(t *testing.T, h harness.Subscribed) harness.Reply {
	t.Helper()
	for _, delay := range delays {
		h.Last(t, "failed")
		awaitRetry(t, h.Client.Instance, delay)
		dispatchAll(t, h.Client.Instance)
	}
	return h.Last(t, "dead_letter")
}

func TestDeliveryTellsItsPayloadAndEveryTry(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		endpoint := s.Receive(t)
		endpoint.Answers(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte(strings.Repeat("té ", 500)))
		})
		h := o.Hook(t, endpoint.URL, `"*"`)
		o.Create(t, harness.Card)
		got := endpoint.Awaits(t, 1)[0]
		failed := h.Last(t, "failed")
		long := strings.Repeat("té ", 256) // 1 KiB: four bytes each
		item := func(status, attempts, next, code, problem, snippet, delivered string) string {
			return fmt.Sprintf(`{"id":"<wd>","subscriptionId":%q,"eventId":%q,"event":"payment.completed","url":%q,"status":%q,
				"attempts":%s,"maxAttempts":11,"nextAttemptAt":%s,"lastAttemptAt":"<time>","lastStatusCode":%s,"lastError":%s,
				"lastResponseSnippet":%s,"lastDurationMs":"<number>","createdAt":%q,"deliveredAt":%s`,
				h.ID, got.Text("id"), endpoint.URL, status, attempts, next, code, problem, snippet, got.Text("createdAt"), delivered)
		}
		first := fmt.Sprintf(`{"at":"<time>","statusCode":418,"error":"http_status","durationMs":"<number>","responseSnippet":%q}`, long)
		failed.Is(t, http.StatusOK, item("failed", "1", `"<time>"`, "418", `"http_status"`, fmt.Sprintf("%q", long), "null")+
			fmt.Sprintf(`,"payload":%s,"attemptLog":[%s]}`, got.Body, first))
		id := failed.Text(t, "id")
		if sent := got.Header.Get("X-Service-Delivery"); sent != "dlv_"+strings.TrimPrefix(id, "wd_") {
			t.Errorf("the delivery is %s, but its header says %s", id, sent)
		}
		// The payload equals the signed bytes, so that a shop can forward it.
		if !strings.Contains(string(failed.Body), string(got.Body)) {
			t.Errorf("the log does not have the payload as it was sent: %s, sent %s", failed, got.Body)
		}

		endpoint.Answers(harness.Respond(http.StatusNoContent))
		s.Clock.Advance(13 * time.Second)
		done := h.Last(t, "delivered")
		cut := strings.Repeat("té ", 63) + "t"
		done.Is(t, http.StatusOK, item("delivered", "2", "null", "204", "null", "null", `"<time>"`)+fmt.Sprintf(`,"payload":%s,"attemptLog":[
			{"at":"<time>","statusCode":418,"error":"http_status","durationMs":"<number>","responseSnippet":%q},
			{"at":"<time>","statusCode":204,"error":null,"durationMs":"<number>","responseSnippet":null}]}`, got.Body, cut))
		h.Log(t, "").Is(t, http.StatusOK, fmt.Sprintf(`{"data":[%s}],"pagination":{"total":1,"limit":50,"offset":0,"pages":1,"nextCursor":null}}`,
			item("delivered", "2", "null", "204", "null", "null", `"<time>"`)))

		// Both ids name one delivery. Other webhooks, shops and environments get 404.
		same := o.Get(t, h.Path("/deliveries/dlv_"+strings.TrimPrefix(id, "wd_"))).Want(t, http.StatusOK)
		if string(same.Body) != string(done.Body) {
			t.Errorf("under its other id the delivery is %s, want %s", same, done)
		}
		other := o.Hook(t, endpoint.URL+"/other", `"*"`)
		theirs := stranger.Hook(t, endpoint.URL+"/theirs", `"*"`)
		for _, c := range []struct {
			who        harness.Client
			path, want string
		}{
			{o, other.Path("/deliveries/" + id), "404 webhook_delivery_not_found invalid_request_error"},
			{o, h.Path("/deliveries/wd_nobody"), "404 webhook_delivery_not_found invalid_request_error"},
			{o, h.Path("/deliveries/wd_%00"), "404 webhook_delivery_not_found invalid_request_error"},
			{o, h.Path("/deliveries/wd_%ff"), "404 webhook_delivery_not_found invalid_request_error"},
			{stranger, h.Path("/deliveries/" + id), "404 webhook_not_found invalid_request_error"},
			{stranger, theirs.Path("/deliveries/" + id), "404 webhook_delivery_not_found invalid_request_error"},
			{o.Production(), h.Path("/deliveries/" + id), "404 webhook_not_found invalid_request_error"},
		} {
			c.who.Get(t, c.path).Refused(t, c.want)
			c.who.Post(t, c.path+"/replay", "").Refused(t, c.want)
		}
	})
}

func TestLastErrorIsOneOfSixWords(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		plain := httptest.NewServer(harness.Respond(http.StatusFound))
		t.Cleanup(plain.Close)
		closed, err := net.Listen("tcp", "127.0.0.1:0")
		harness.Must(t, err)
		harness.Must(t, closed.Close())
		hooks := map[string]harness.Subscribed{}
		for word, url := range map[string]string{
			"http_status": plain.URL, "refused": "http://" + closed.Addr().String(), "dns": "http://nowhere.invalid/",
			"tls": strings.Replace(plain.URL, "http://", "https://", 1),
		} {
			hooks[word] = o.Hook(t, url, `"*"`)
		}
		o.Create(t, harness.Card)
		for word, h := range hooks {
			d := h.Last(t, "failed")
			if d.Text(t, "lastError") != word || d.Text(t, "attemptLog.0.error") != word {
				t.Errorf("want the error %s: %s", word, d)
			}
			if answered := d.Text(t, "lastStatusCode") != "<nil>"; answered != (word == "http_status") {
				t.Errorf("after %s the status code is %s, want one only after http_status", word, d.Text(t, "lastStatusCode"))
			}
		}
	})
}

func TestDeliveriesAreFilteredAndPaged(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		h := o.Hook(t, endpoint.URL, `"payment.completed","payment.failed"`)
		var all []string // newest first
		var moments []time.Time
		for i := range 6 {
			moments = append(moments, s.Clock.Now())
			amount := "10"
			if i%3 == 2 {
				amount = "10.05" // declined
			}
			o.Post(t, "/payments", `{"amount":`+amount+`,"paymentMethodId":"sbx_card"}`)
			endpoint.Awaits(t, i+1)
			all = append([]string{h.Last(t, "delivered").Text(t, "id")}, all...)
			s.Clock.Advance(time.Hour)
		}
		endpoint.Answers(harness.Respond(http.StatusInternalServerError))
		o.Create(t, harness.Card)
		all = append([]string{h.Last(t, "failed").Text(t, "id")}, all...)
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
			r := h.Log(t, c.query)
			if got := harness.IDs(t, r); !slices.Equal(got, c.want) || r.Text(t, "pagination.total") != fmt.Sprint(c.total) {
				t.Errorf("%s: got %v of %s, want %v of %d", c.query, got, r.Text(t, "pagination.total"), c.want, c.total)
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
			o.Get(t, h.Path("/deliveries"+query)).Refused(t, "400 invalid_request invalid_request_error "+want)
		}
		if r := o.Get(t, h.Path("")); r.Text(t, "lastDeliveryAt") != h.Last(t, "failed").Text(t, "lastAttemptAt") {
			t.Errorf("the webhook does not show the time of its last try: %s", r)
		}
	})
}

func TestDeadLetterIsReplayedInTheSameRowWithAFreshBudget(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		endpoint.Answers(harness.Respond(http.StatusInternalServerError))
		h := o.Hook(t, endpoint.URL, `"payment.completed"`)
		o.Create(t, harness.Card)
		letter := dead(t, h)
		id := letter.Text(t, "id")
		if letter.Text(t, "attempts") != "11" || letter.Text(t, "nextAttemptAt") != "<nil>" || len(endpoint.Deliveries()) != 11 {
			t.Fatalf("the endpoint was called %d times, want 11 and a dead letter: %s", len(endpoint.Deliveries()), letter)
		}
		replay := func(id, previous string) {
			t.Helper()
			now := s.Clock.Now()
			r := o.Post(t, h.Path("/deliveries/"+id+"/replay"), "")
			r.Is(t, http.StatusOK, fmt.Sprintf(`{"ok":true,"deliveryId":%q,"previousStatus":%q,"newStatus":"pending","nextAttemptAt":"<time>","note":"<text>"}`,
				letter.Text(t, "id"), previous))
			next, err := time.Parse(time.RFC3339, r.Text(t, "nextAttemptAt"))
			harness.Must(t, err)
			if next.Sub(now) < -time.Second || next.Sub(now) > harness.Patience {
				t.Errorf("the next try is at %s, want it at once after the replay at %s", next, now)
			}
		}
		// The circuit is open after ten failures in a row. A replay that a person requests is sent
		// anyway, at once.
		replay("dlv_"+strings.TrimPrefix(id, "wd_"), "dead_letter")
		endpoint.Awaits(t, 12)
		again := h.Last(t, "failed")
		if again.Text(t, "attempts") != "12" || again.Text(t, "maxAttempts") != "22" || again.Text(t, "id") != id {
			t.Errorf("want the same delivery with 12 tries and a fresh budget: %s", again)
		}
		replay(id, "failed")
		endpoint.Awaits(t, 13)
		h.Last(t, "failed")
		endpoint.Answers(harness.Respond(http.StatusOK))
		replay(id, "failed")
		done := h.Last(t, "delivered")
		if done.Text(t, "attempts") != "14" {
			t.Errorf("want 14 tries: %s", done)
		}
		if r := h.Log(t, ""); r.Text(t, "pagination.total") != "1" {
			t.Errorf("want one delivery: a replay makes no second one: %s", r)
		}
		list := endpoint.Deliveries()
		last := list[len(list)-1]
		last.Verify(t, s, h.Secret)
		if last.Header.Get("X-Service-Delivery") != list[0].Header.Get("X-Service-Delivery") || string(last.Body) != string(list[0].Body) {
			t.Errorf("the replay differs from the first try: %v %s", last.Header, last.Body)
		}
		if log, _ := done.At(t, "attemptLog"); len(log.([]any)) != 14 {
			t.Errorf("want 14 tries in the log: %s", done)
		}

		// A delivery that is delivered or on its way cannot be replayed.
		o.Post(t, h.Path("/deliveries/"+id+"/replay"), "").Refused(t, "409 conflict_state conflict_error from=delivered action=replay")
		hold := make(chan struct{})
		endpoint.Answers(func(http.ResponseWriter, *http.Request) { <-hold })
		defer close(hold)
		o.Create(t, harness.Card)
		waiting := h.Last(t, "pending")
		o.Post(t, h.Path("/deliveries/"+waiting.Text(t, "id")+"/replay"), "").Refused(t, "409 conflict_state conflict_error from=pending action=replay")
	})
}
