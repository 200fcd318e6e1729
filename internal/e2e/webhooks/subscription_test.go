package webhooks

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

func TestSubscriptionShowsItsSecretOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		shown := func(url, events, managed, description, secret string) string {
			return fmt.Sprintf(`{"id":"<hook>","url":%q,"events":%s,"eventsVersion":"2026-11-28","managed":%s,"status":"enabled","disabledReason":null,"description":%s%s,
				"secretPreview":"<masked>","authentication":null,"previousSecretExpiresAt":null,"createdAt":"<time>","updatedAt":"<time>","lastDeliveryAt":null}`,
				url, events, managed, description, secret)
		}
		const secret = `,"secret":"<secret>"`
		first := o.Post(t, "/webhooks", `{"url":"https://shop.example/hooks?a=1","events":["payment.completed","claim.opened"],"description":"the shop's own"}`)
		first.Is(t, http.StatusCreated, shown("https://shop.example/hooks?a=1", `["payment.completed","claim.opened"]`, "false", `"the shop's own"`, secret))
		inbox := s.URL + "/inbox/" + o.Shop.Slug
		second := o.Post(t, "/webhooks", `{"events":["*"],"url":null}`)
		second.Is(t, http.StatusCreated, shown(inbox, `["*"]`, "true", "null", secret))
		o.Get(t, "/webhooks").Is(t, http.StatusOK, fmt.Sprintf(`{"data":[%s,%s],"pagination":{"total":2,"limit":50,"offset":0,"pages":1,"nextCursor":null}}`,
			shown(inbox, `["*"]`, "true", "null", ""),
			shown("https://shop.example/hooks?a=1", `["payment.completed","claim.opened"]`, "false", `"the shop's own"`, "")))
		a, b := first.Text(t, "secret"), second.Text(t, "secret")
		if a == b || !strings.HasSuffix(a, strings.TrimPrefix(first.Text(t, "secretPreview"), "whsec_…")) {
			t.Errorf("the secrets are %s and %s, want two different ones; the preview of the first is %s", a, b, first.Text(t, "secretPreview"))
		}

		// "*" includes every other name.
		o.Post(t, "/webhooks", `{"url":"https://shop.example","events":["payment.completed","*"]}`).Is(t, http.StatusCreated,
			shown("https://shop.example", `["*"]`, "false", "null", secret))
		// A webhook can name every event type.
		var names []string
		for _, e := range webhooks.EventTypes() {
			names = append(names, fmt.Sprintf("%q", e))
		}
		o.Subscribe(t, "https://shop.example/all", strings.Join(names, ","))
	})
}

// A repeat with the same key gets the same endpoint, with the secret that signs now, and adds none. Another body, or a repeat after the endpoint was
// deleted, is refused.
func TestARepeatOfASubscriptionAddsNone(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const body, key = `{"url":"https://shop.example/hooks","events":["payment.completed"]}`, "Idempotency-Key: hook-1"
		first := o.Post(t, "/webhooks", body, key).Want(t, http.StatusCreated)
		id := first.Text(t, "id")
		same := func(secret string) {
			t.Helper()
			again := o.Post(t, "/webhooks", body, key).Want(t, http.StatusCreated)
			if again.Text(t, "id") != id || again.Text(t, "secret") != secret || again.Header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("the repeat gets %s, want %s with the secret %s", again, id, secret)
			}
		}
		same(first.Text(t, "secret"))
		same(o.Post(t, "/webhooks/"+id+"/rotate-secret", "").Want(t, http.StatusOK).Text(t, "secret"))
		if got := o.Post(t, "/webhooks", `{"events":["*"]}`, key).Problem(t); got != "409 idempotency_conflict idempotency_error reason=body_differs" {
			t.Errorf("another body is answered %s", got)
		}
		o.Post(t, "/webhooks", body).Want(t, http.StatusConflict)
		s.NewShop(t).Post(t, "/webhooks", body, key).Want(t, http.StatusCreated)
		if total := o.Get(t, "/webhooks").Text(t, "pagination.total"); total != "1" {
			t.Errorf("the shop has %s webhooks", total)
		}
		o.Delete(t, "/webhooks/"+id).Want(t, http.StatusOK)
		o.Post(t, "/webhooks", body, key).Want(t, http.StatusNotFound)

		// Many at the same time add one.
		ids := make([]string, 8)
		var wait sync.WaitGroup
		for i := range ids {
			wait.Go(func() {
				ids[i] = o.Post(t, "/webhooks", body, "Idempotency-Key: hook-2").Want(t, http.StatusCreated).Text(t, "id")
			})
		}
		wait.Wait()
		if slices.ContainsFunc(ids, func(one string) bool { return one != ids[0] }) {
			t.Errorf("requests at the same time got %v", ids)
		}
	})
}

func TestSubscriptionIsChecked(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for _, c := range []struct{ name, body, want string }{
			{"no events", `{"url":"https://shop.example"}`, "400 missing_field invalid_request_error param=events issues=events missing=events"},
			{"events null", `{"events":null}`, "400 missing_field invalid_request_error param=events issues=events missing=events"},
			{"empty events", `{"events":[]}`, "400 missing_field invalid_request_error param=events issues=events missing=events"},
			{"an unknown event", `{"events":["payment.completed","payment.paid"]}`, "400 invalid_request invalid_request_error param=events[1] issues=events[1]"},
			{"an event's old name", `{"events":["refund.succeeded"]}`, "400 invalid_request invalid_request_error param=events[0] issues=events[0]"},
			{"a pattern", `{"events":["payment.*"]}`, "400 invalid_request invalid_request_error param=events[0] issues=events[0]"},
			{"events as text", `{"events":"*"}`, "400 invalid_request invalid_request_error param=events issues=events"},
			{"events as numbers", `{"events":[1]}`, "400 invalid_request invalid_request_error param=events[0] issues=events[0]"},
			{"51 events", `{"events":["*"` + strings.Repeat(`,"*"`, 50) + `]}`, "400 invalid_request invalid_request_error param=events issues=events"},
			{"no absolute URL", `{"events":["*"],"url":"/hooks"}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{"another scheme", `{"events":["*"],"url":"ftp://shop.example"}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{"no host", `{"events":["*"],"url":"https://"}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{"credentials", `{"events":["*"],"url":"https://a:b@shop.example"}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{"a private network", `{"events":["*"],"url":"http://10.0.0.1/"}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{"the cloud's metadata", `{"events":["*"],"url":"http://169.254.169.254/latest"}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{"the metadata in disguise", `{"events":["*"],"url":"http://2852039166/"}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{"a long URL", `{"events":["*"],"url":"https://shop.example/` + strings.Repeat("a", 2048) + `"}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{"a URL as a number", `{"events":["*"],"url":5}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{"a URL with NUL", `{"events":["*"],"url":"https://shop.example/\u0000"}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{"a long description", `{"events":["*"],"description":"` + strings.Repeat("ñ", 201) + `"}`, "400 invalid_request invalid_request_error param=description issues=description"},
			{"a description with NUL", `{"events":["*"],"description":"\u0000"}`, "400 invalid_request invalid_request_error param=description issues=description"},
			{"all at once", `{"events":["a","*","b"],"url":"hooks"}`, "400 invalid_request invalid_request_error param=events[0] issues=events[0],events[2],url"},
			{"no events and a bad URL", `{"url":"hooks"}`, "400 invalid_request invalid_request_error param=events issues=events,url missing=events"},
			{"no JSON", `{"events":`, "400 invalid_json invalid_request_error"},
			{"no object", `["*"]`, "400 invalid_request invalid_request_error issues="},
		} {
			t.Run(c.name, func(t *testing.T) { o.Post(t, "/webhooks", c.body).Refused(t, c.want) })
		}
		o.Post(t, "/webhooks", `{"events":["*"]}`, "Content-Type: text/plain").Refused(t, "415 content_type_required invalid_request_error")
		o.Post(t, "/webhooks", harness.OneMiB(`{"events":["*"]}`)+" ").Refused(t, "413 payload_too_large invalid_request_error")
		live := o.Production()
		for _, url := range []string{"http://shop.example", "https://127.0.0.1/", "https://localhost/", "https://[::1]/", "https://192.168.1.1/"} {
			live.Post(t, "/webhooks", fmt.Sprintf(`{"events":["*"],"url":%q}`, url)).Refused(t, "400 invalid_request invalid_request_error param=url issues=url")
		}
		live.Post(t, "/webhooks", `{"events":["*"],"url":"https://shop.example"}`).Want(t, http.StatusCreated)
		o.Get(t, "/webhooks").Is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
	})
}

func TestSubscriptionsArePaged(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		var all []string // newest first
		for i := range 5 {
			all = append([]string{o.Subscribe(t, fmt.Sprintf("https://shop.example/%d", i), `"*"`).Text(t, "id")}, all...)
			s.Clock.Advance(2_000_000)
		}
		for _, c := range []struct {
			query                string
			limit, offset, pages int
			want                 []string
		}{
			{"", 50, 0, 1, all},
			{"?limit=2", 2, 0, 3, all[:2]},
			{"?limit=2&offset=4", 2, 4, 3, all[4:]},
			{"?offset=5", 50, 5, 1, []string{}},
			{"?limit=0", 1, 0, 5, all[:1]},
			{"?limit=-5", 1, 0, 5, all[:1]},
			{"?limit=1000", 100, 0, 1, all},
			{"?offset=-5", 50, 0, 1, all},
		} {
			r := o.Get(t, "/webhooks"+c.query)
			if got := harness.IDs(t, r); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", c.query, got, c.want)
			}
			want := fmt.Sprintf(`{"total":5,"limit":%d,"offset":%d,"pages":%d,"nextCursor":%s}`, c.limit, c.offset, c.pages, harness.Cursor(c.want, all))
			for _, difference := range harness.Compare("pagination", harness.Decode(t, []byte(want)), harness.Pagination(t, r)) {
				t.Errorf("%s: %s", c.query, difference)
			}
		}
		o.Get(t, "/webhooks?limit=abc").Refused(t, "400 invalid_request invalid_request_error param=limit issues=limit")
		o.Get(t, "/webhooks?offset=1.5&limit=x").Refused(t, "400 invalid_request invalid_request_error param=limit issues=limit,offset")

		o.Delete(t, "/webhooks/"+all[2]).Is(t, http.StatusOK, fmt.Sprintf(`{"id":%q,"deleted":true}`, all[2]))
		for _, id := range []string{all[2], "wh_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", "x", strings.Repeat("w", 300), "wh_%00", "wh_%ff"} {
			o.Delete(t, "/webhooks/"+id).Refused(t, "404 webhook_not_found invalid_request_error")
		}
		if got := harness.IDs(t, o.Get(t, "/webhooks")); !slices.Equal(got, slices.Delete(slices.Clone(all), 2, 3)) {
			t.Errorf("after the deletion the list has %v, want all but %s", got, all[2])
		}
	})
}
