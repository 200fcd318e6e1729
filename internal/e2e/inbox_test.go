package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/webhook"
)

// inbox makes a managed subscription.
func (o shop) inbox(t *testing.T, events string) subscribed {
	t.Helper()
	r := o.post(t, "/webhooks", `{"events":[`+events+`],"eventsVersion":"2026-11-21"}`).want(t, http.StatusCreated)
	return subscribed{o, r.text(t, "id"), r.text(t, "secret")}
}

// got waits until the inbox has n deliveries, and lists them.
func (h subscribed) got(t *testing.T, n int) reply {
	t.Helper()
	var r reply
	eventually(t, fmt.Sprintf("the inbox has %d deliveries", n), func() bool {
		r = h.get(t, h.path("/inbox")).want(t, http.StatusOK)
		return r.text(t, "pagination.total") == fmt.Sprint(n)
	})
	return r
}

// knock posts a delivery to a shop's inbox, as anybody may.
func (o shop) knock(t *testing.T, slug, body string, header map[string]string) reply {
	t.Helper()
	r := request{method: http.MethodPost, path: "/inbox/" + slug, body: body, header: http.Header{"Content-Type": {"application/json"}}}
	for name, value := range header {
		r.header.Set(name, value)
	}
	return o.send(t, r)
}

func TestManagedInboxKeepsWhatWasSigned(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		h := o.inbox(t, `"*"`)
		some := o.inbox(t, `"payment.refunded"`)
		theirs := stranger.inbox(t, `"*"`)
		endpoint := s.receive(t)
		own := o.hook(t, endpoint.URL, `"*"`)
		id := o.create(t, card)
		sent := endpoint.about(t, id, 1)[0]
		r := h.got(t, 1)
		r.is(t, http.StatusOK, fmt.Sprintf(`{"data":[{"id":"<inb>","deliveryId":"<wd>","eventId":%q,"event":"payment.completed","receivedAt":"<time>",
			"headers":{%q:"<text>","X-Service-Event":"payment.completed","X-Service-Delivery":"<text>",
			"webhook-id":%q,"webhook-timestamp":"<digits>","webhook-signature":"<text>"},"payload":%s}],
			"pagination":{"total":1,"limit":50,"offset":0,"pages":1,"nextCursor":null}}`, sent.text("id"), webhook.SignatureHeader, sent.text("id"), sent.body))
		// Signed as for an endpoint of the shop's own, over these bytes.
		if !strings.Contains(string(r.body), string(sent.body)) {
			t.Errorf("the inbox has another text than was sent: %s, sent %s", r, sent.body)
		}
		signature := r.text(t, "data.0.headers."+webhook.SignatureHeader)
		must(t, webhook.Verify(signature, sent.body, h.secret, s.clock.now(), webhook.Tolerance))
		d := h.last(t, "delivered")
		if d.text(t, "id") != r.text(t, "data.0.deliveryId") || d.text(t, "lastStatusCode") != "200" ||
			r.text(t, "data.0.headers.X-Service-Delivery") != "dlv_"+strings.TrimPrefix(d.text(t, "id"), "wd_") {
			t.Errorf("the inbox has %s, the log %s", r, d)
		}

		// An address is public. It takes what the subscription's secret has signed
		// for this shop, and nothing else.
		genuine := map[string]string{}
		for _, name := range []string{webhook.SignatureHeader, "X-Service-Event", "X-Service-Delivery"} {
			genuine[name] = r.text(t, "data.0.headers."+name)
		}
		with := func(name, value string) map[string]string {
			m := map[string]string{}
			for n, v := range genuine {
				m[n] = v
			}
			m[name] = value
			return m
		}
		body := string(sent.body)
		ownID := "dlv_" + strings.TrimPrefix(own.last(t, "delivered").text(t, "id"), "wd_")
		for name, c := range map[string]struct {
			slug, body string
			header     map[string]string
		}{
			"nothing signed":           {o.Shop.Slug, body, nil},
			"no delivery":              {o.Shop.Slug, body, map[string]string{webhook.SignatureHeader: signature}},
			"an unknown delivery":      {o.Shop.Slug, body, with("X-Service-Delivery", "dlv_nobody")},
			"the row's id":             {o.Shop.Slug, body, with("X-Service-Delivery", d.text(t, "id"))},
			"another body":             {o.Shop.Slug, body + " ", genuine},
			"another signature":        {o.Shop.Slug, body, with(webhook.SignatureHeader, signature[:len(signature)-1]+"g")},
			"another's secret":         {o.Shop.Slug, body, with(webhook.SignatureHeader, webhook.Sign(s.clock.now(), sent.body, theirs.secret, ""))},
			"a signature of yesterday": {o.Shop.Slug, body, with(webhook.SignatureHeader, webhook.Sign(s.clock.now().Add(-24*time.Hour), sent.body, h.secret, ""))},
			"another shop's address":   {stranger.Shop.Slug, body, genuine},
			"nobody's address":         {"nobody", body, genuine},
			"an endpoint of its own": {o.Shop.Slug, body, map[string]string{
				"X-Service-Delivery": ownID, webhook.SignatureHeader: webhook.Sign(s.clock.now(), sent.body, own.secret, ""),
			}},
		} {
			if got := o.knock(t, c.slug, c.body, c.header).problem(t); got != "401 invalid_token authentication_error" {
				t.Errorf("%s: %s", name, got)
			}
		}
		garbage := "no JSON"
		o.knock(t, o.Shop.Slug, garbage, with(webhook.SignatureHeader, webhook.Sign(s.clock.now(), []byte(garbage), h.secret, ""))).
			refused(t, "400 invalid_request invalid_request_error")
		o.knock(t, o.Shop.Slug, strings.Repeat(" ", 1<<20+1), genuine).refused(t, "413 payload_too_large invalid_request_error")
		h.got(t, 1)
		// What was sent over the network counts the same.
		o.knock(t, o.Shop.Slug, body, genuine).is(t, http.StatusOK, `{"ok":true}`)
		h.got(t, 2)

		o.simulate(t, id, "refunded").want(t, http.StatusOK)
		if r := some.got(t, 1); r.text(t, "data.0.event") != "payment.refunded" {
			t.Errorf("the inbox for refunds got %s", r)
		}
		r = h.got(t, 3)
		if got := o.get(t, h.path("/inbox?limit=1&offset=2")); got.text(t, "data.0.id") != r.text(t, "data.2.id") || got.text(t, "pagination.pages") != "3" {
			t.Errorf("the last page is %s of %s", got, r)
		}
		theirs.got(t, 0)
		o.as(o.Sandbox.Publishable).get(t, h.path("/inbox")).refused(t, "403 key_kind_not_allowed permission_error")
	})
}

// A shop has one address for its inboxes, of both environments.
func TestInboxesOfTwoEnvironmentsNeverMix(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		sandbox, live := o.inbox(t, `"*"`), o.live().inbox(t, `"*"`)
		o.create(t, card)
		r := sandbox.got(t, 1)
		live.got(t, 0)
		payload := []byte(`{"id":"forged"}`)
		header := map[string]string{
			"X-Service-Delivery":    r.text(t, "data.0.headers.X-Service-Delivery"),
			webhook.SignatureHeader: webhook.Sign(s.clock.now(), payload, live.secret, ""),
		}
		o.knock(t, o.Shop.Slug, string(payload), header).refused(t, "401 invalid_token authentication_error")
		live.got(t, 0)
		o.get(t, live.path("/inbox")).refused(t, "404 webhook_not_found invalid_request_error")
		o.live().get(t, sandbox.path("/inbox")).refused(t, "404 webhook_not_found invalid_request_error")
	})
}

func TestInboxTakesARotatedSecret(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		h := o.inbox(t, `"*"`)
		o.create(t, card)
		before := h.got(t, 1)
		next := o.post(t, h.path("/rotate-secret"), "").want(t, http.StatusOK).text(t, "secret")
		// What was signed before the rotation and comes after it is taken.
		header := map[string]string{}
		for _, name := range []string{webhook.SignatureHeader, "X-Service-Event", "X-Service-Delivery"} {
			header[name] = before.text(t, "data.0.headers."+name)
		}
		var list struct {
			Data []struct{ Payload json.RawMessage }
		}
		if err := json.Unmarshal(before.body, &list); err != nil {
			t.Fatal(err)
		}
		if r := o.knock(t, o.Shop.Slug, string(list.Data[0].Payload), header); r.status != http.StatusOK {
			t.Errorf("signed with the secret before: %d %s", r.status, r.body)
		}
		o.create(t, card)
		signature := h.got(t, 3).text(t, "data.0.headers."+webhook.SignatureHeader)
		if !strings.Contains(signature, ",v0=") || next == h.secret {
			t.Errorf("the signature after a rotation is %s", signature)
		}
	})
}

// A service refuses its own address to everybody's webhooks, unless it is a developer's.
// Its own inbox works all the same.
func TestInboxWorksWhereLoopbackIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := startWith(t, database, &clock{}, func(c *daemon.Config) { c.AllowPrivateWebhooks = false })
		o := s.shop(t)
		o.post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["*"]}`, s.URL)).refused(t, "400 invalid_request invalid_request_error param=url issues=url")
		h := o.inbox(t, `"*"`)
		o.create(t, card)
		h.got(t, 1)
	})
}

func TestInboxForgetsAfterThirtyDays(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		h := o.inbox(t, `"*"`)
		o.create(t, card)
		old := ids(t, h.got(t, 1))
		s.clock.advance(29 * 24 * time.Hour)
		o.create(t, card)
		trim := func() {
			t.Helper()
			_, err := s.App.Webhooks.TrimInboxes(ctx)
			must(t, err)
		}
		trim()
		h.got(t, 2)
		s.clock.advance(25 * time.Hour)
		trim()
		if now := ids(t, h.got(t, 1)); slices.Equal(now, old) {
			t.Errorf("the inbox kept %v, the older one", now)
		}
	})
}

// An event of a claim with much evidence is larger than the body of any request may be,
// and arrives all the same.
func TestEventLargerThanAnyRequestArrives(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		h, endpoint := o.inbox(t, `"claim.resolved"`), s.receive(t)
		o.hook(t, endpoint.URL, `"claim.resolved"`)
		payment, claim := o.dispute(t, false)
		text := strings.Repeat("\U0001F4DC", 20_000)
		const pieces = 14 // above 1 MiB
		for range pieces {
			_, err := s.App.Claims.SubmitEvidence(ctx, o.scope(), claim, claims.NewEvidence{Kind: "other", Text: text})
			must(t, err)
		}
		o.rule(t, payment, "won")
		sent := endpoint.about(t, claim, 1)[0]
		if len(sent.body) < pieces*len(text) {
			t.Errorf("the event has %d bytes, its claim's evidence %d", len(sent.body), pieces*len(text))
		}
		if r := h.got(t, 1); !strings.Contains(string(r.body), string(sent.body)) {
			t.Errorf("the inbox has %d bytes of the event's %d", len(r.body), len(sent.body))
		}
	})
}
