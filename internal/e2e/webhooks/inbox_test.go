package webhooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// awaitInbox waits until the inbox has n deliveries, and returns the list.
func awaitInbox(t *testing.T, h harness.Subscribed, n int) harness.Reply {
	t.Helper()
	var r harness.Reply
	harness.Eventually(t, fmt.Sprintf("the inbox has %d deliveries", n), func() bool {
		r = h.Get(t, h.Path("/inbox")).Want(t, http.StatusOK)
		return r.Text(t, "pagination.total") == fmt.Sprint(n)
	})
	return r
}

// knock posts a delivery to a shop's inbox without credentials, as a stranger can.
func knock(t *testing.T, o harness.Client, slug, body string, header map[string]string) harness.Reply {
	t.Helper()
	r := harness.Request{Method: http.MethodPost, Path: "/inbox/" + slug, Body: body, Header: http.Header{"Content-Type": {"application/json"}}}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return o.Send(t, r)
}

func TestManagedInboxKeepsWhatWasSigned(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		h := harness.Inbox(t, o, `"*"`)
		some := harness.Inbox(t, o, `"payment.refunded"`)
		theirs := harness.Inbox(t, stranger, `"*"`)
		endpoint := s.Receive(t)
		own := o.Hook(t, endpoint.URL, `"*"`)
		id := o.Create(t, harness.Card)
		sent := endpoint.About(t, id, 1)[0]
		r := awaitInbox(t, h, 1)
		r.Is(t, http.StatusOK, fmt.Sprintf(`{"data":[{"id":"<inb>","deliveryId":"<wd>","eventId":%q,"event":"payment.completed","receivedAt":"<time>",
			"headers":{%q:"<text>","X-Service-Event":"payment.completed","X-Service-Delivery":"<text>",
			"webhook-id":%q,"webhook-timestamp":"<digits>","webhook-signature":"<text>"},"payload":%s}],
			"pagination":{"total":1,"limit":50,"offset":0,"pages":1,"nextCursor":null}}`, sent.Text("id"), sender.SignatureHeader, sent.Text("id"), sent.Body))
		// The inbox has the same bytes that the shop's own endpoint got, and their signature.
		if !strings.Contains(string(r.Body), string(sent.Body)) {
			t.Errorf("the inbox does not have the event as it was sent: %s, sent %s", r, sent.Body)
		}
		signature := r.Text(t, "data.0.headers."+sender.SignatureHeader)
		harness.Must(t, sender.Verify(signature, sent.Body, h.Secret, s.Clock.Now(), sender.Tolerance))
		d := h.Last(t, "delivered")
		if d.Text(t, "id") != r.Text(t, "data.0.deliveryId") || d.Text(t, "lastStatusCode") != "200" ||
			r.Text(t, "data.0.headers.X-Service-Delivery") != "dlv_"+strings.TrimPrefix(d.Text(t, "id"), "wd_") {
			t.Errorf("the inbox has %s, but the log has %s", r, d)
		}

		// The inbox's address is public. It accepts only what is signed with the subscription's secret
		// for this shop.
		genuine := map[string]string{}
		for _, name := range []string{sender.SignatureHeader, "X-Service-Event", "X-Service-Delivery"} {
			genuine[name] = r.Text(t, "data.0.headers."+name)
		}
		with := func(name, value string) map[string]string {
			m := map[string]string{}
			for n, v := range genuine {
				m[n] = v
			}
			m[name] = value
			return m
		}
		body := string(sent.Body)
		ownID := "dlv_" + strings.TrimPrefix(own.Last(t, "delivered").Text(t, "id"), "wd_")
		for name, c := range map[string]struct {
			slug, body string
			header     map[string]string
		}{
			"nothing signed":           {o.Shop.Slug, body, nil},
			"no delivery":              {o.Shop.Slug, body, map[string]string{sender.SignatureHeader: signature}},
			"an unknown delivery":      {o.Shop.Slug, body, with("X-Service-Delivery", "dlv_nobody")},
			"the row's id":             {o.Shop.Slug, body, with("X-Service-Delivery", d.Text(t, "id"))},
			"another body":             {o.Shop.Slug, body + " ", genuine},
			"another signature":        {o.Shop.Slug, body, with(sender.SignatureHeader, signature[:len(signature)-1]+"g")},
			"another's secret":         {o.Shop.Slug, body, with(sender.SignatureHeader, sender.Sign(s.Clock.Now(), sent.Body, theirs.Secret, ""))},
			"a signature of yesterday": {o.Shop.Slug, body, with(sender.SignatureHeader, sender.Sign(s.Clock.Now().Add(-24*time.Hour), sent.Body, h.Secret, ""))},
			"another shop's address":   {stranger.Shop.Slug, body, genuine},
			"nobody's address":         {"nobody", body, genuine},
			"an endpoint of its own": {o.Shop.Slug, body, map[string]string{
				"X-Service-Delivery": ownID, sender.SignatureHeader: sender.Sign(s.Clock.Now(), sent.Body, own.Secret, ""),
			}},
		} {
			if got := knock(t, o, c.slug, c.body, c.header).Problem(t); got != "401 invalid_token authentication_error" {
				t.Errorf("%s: the answer is %s, want 401", name, got)
			}
		}
		garbage := "no JSON"
		knock(t, o, o.Shop.Slug, garbage, with(sender.SignatureHeader, sender.Sign(s.Clock.Now(), []byte(garbage), h.Secret, ""))).
			Refused(t, "400 invalid_request invalid_request_error")
		knock(t, o, o.Shop.Slug, strings.Repeat(" ", 1<<20+1), genuine).Refused(t, "413 payload_too_large invalid_request_error")
		awaitInbox(t, h, 1)
		// A genuine delivery that comes over the network is accepted.
		knock(t, o, o.Shop.Slug, body, genuine).Is(t, http.StatusOK, `{"ok":true}`)
		awaitInbox(t, h, 2)

		o.Simulate(t, id, "refunded").Want(t, http.StatusOK)
		if r := awaitInbox(t, some, 1); r.Text(t, "data.0.event") != "payment.refunded" {
			t.Errorf("the inbox for refunds got %s, want payment.refunded", r)
		}
		r = awaitInbox(t, h, 3)
		if got := o.Get(t, h.Path("/inbox?limit=1&offset=2")); got.Text(t, "data.0.id") != r.Text(t, "data.2.id") || got.Text(t, "pagination.pages") != "3" {
			t.Errorf("the last page is %s, want the last delivery of %s", got, r)
		}
		awaitInbox(t, theirs, 0)
		o.As(o.Sandbox.Publishable).Get(t, h.Path("/inbox")).Refused(t, "403 key_kind_not_allowed permission_error")
	})
}

// The inboxes of a shop's two environments share one address.
func TestInboxesOfTwoEnvironmentsNeverMix(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		sandbox, live := harness.Inbox(t, o, `"*"`), harness.Inbox(t, o.Production(), `"*"`)
		o.Create(t, harness.Card)
		r := awaitInbox(t, sandbox, 1)
		awaitInbox(t, live, 0)
		payload := []byte(`{"id":"forged"}`)
		header := map[string]string{
			"X-Service-Delivery":   r.Text(t, "data.0.headers.X-Service-Delivery"),
			sender.SignatureHeader: sender.Sign(s.Clock.Now(), payload, live.Secret, ""),
		}
		knock(t, o, o.Shop.Slug, string(payload), header).Refused(t, "401 invalid_token authentication_error")
		awaitInbox(t, live, 0)
		o.Get(t, live.Path("/inbox")).Refused(t, "404 webhook_not_found invalid_request_error")
		o.Production().Get(t, sandbox.Path("/inbox")).Refused(t, "404 webhook_not_found invalid_request_error")
	})
}

func TestInboxTakesARotatedSecret(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		h := harness.Inbox(t, o, `"*"`)
		o.Create(t, harness.Card)
		before := awaitInbox(t, h, 1)
		next := o.Post(t, h.Path("/rotate-secret"), "").Want(t, http.StatusOK).Text(t, "secret")
		// A delivery that was signed before the rotation and comes after it is accepted.
		header := map[string]string{}
		for _, name := range []string{sender.SignatureHeader, "X-Service-Event", "X-Service-Delivery"} {
			header[name] = before.Text(t, "data.0.headers."+name)
		}
		var list struct {
			Data []struct{ Payload json.RawMessage }
		}
		if err := json.Unmarshal(before.Body, &list); err != nil {
			t.Fatal(err)
		}
		if r := knock(t, o, o.Shop.Slug, string(list.Data[0].Payload), header); r.Status != http.StatusOK {
			t.Errorf("a delivery signed with the previous secret is answered %d %s, want 200", r.Status, r.Body)
		}
		o.Create(t, harness.Card)
		signature := awaitInbox(t, h, 3).Text(t, "data.0.headers."+sender.SignatureHeader)
		if !strings.Contains(signature, ",v0=") || next == h.Secret {
			t.Errorf("the signature after a rotation is %s, want one by each of two different secrets", signature)
		}
	})
}

// The secret is rotated twice while a delivery is between its signing and the inbox. The inbox checks the delivery
// with the secret that signed it.
func TestInboxChecksWithTheSecretThatSigned(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		clock := &harness.Clock{}
		var between atomic.Pointer[func()]
		s := harness.StartWith(t, database, clock, func(c *daemon.Config) {
			c.Now = func() time.Time {
				if harness.CalledBy(".(*Sender).Header") { // the delivery is being signed
					if do := between.Swap(nil); do != nil {
						(*do)()
					}
				}
				return clock.Now()
			}
		})
		o := s.NewShop(t)
		h := harness.Inbox(t, o, `"*"`)
		rotated := make(chan struct{})
		rotate := func() {
			defer close(rotated)
			for range 2 {
				o.Post(t, h.Path("/rotate-secret"), "").Want(t, http.StatusOK)
			}
		}
		between.Store(&rotate)
		o.Create(t, harness.Card)
		harness.Soon(t, "the two rotations", rotated)
		if attempts := h.Last(t, "delivered").Text(t, "attempts"); attempts != "1" {
			t.Errorf("the inbox has the delivery after %s attempts, want 1", attempts)
		}
		awaitInbox(t, h, 1)
	})
}

// Except on a developer's machine, the service refuses webhooks at loopback addresses. Its own
// inbox still works.
func TestInboxWorksWhereLoopbackIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.AllowPrivateWebhooks = false })
		o := s.NewShop(t)
		o.Post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["*"]}`, s.URL)).Refused(t, "400 invalid_request invalid_request_error param=url issues=url")
		h := harness.Inbox(t, o, `"*"`)
		o.Create(t, harness.Card)
		awaitInbox(t, h, 1)
	})
}

func TestInboxForgetsAfterThirtyDays(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		h := harness.Inbox(t, o, `"*"`)
		o.Create(t, harness.Card)
		old := harness.IDs(t, awaitInbox(t, h, 1))
		s.Clock.Advance(29 * 24 * time.Hour)
		o.Create(t, harness.Card)
		trim := func() {
			t.Helper()
			_, err := s.App.Webhooks.TrimInboxes(ctx)
			harness.Must(t, err)
		}
		trim()
		awaitInbox(t, h, 2)
		s.Clock.Advance(25 * time.Hour)
		trim()
		if now := harness.IDs(t, awaitInbox(t, h, 1)); slices.Equal(now, old) {
			t.Errorf("the inbox kept %v: the older delivery", now)
		}
	})
}

// An event of a claim with much evidence is larger than the limit of a request's body. It still
// arrives.
func TestEventLargerThanAnyRequestArrives(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		h, endpoint := harness.Inbox(t, o, `"claim.resolved"`), s.Receive(t)
		o.Hook(t, endpoint.URL, `"claim.resolved"`)
		payment, claim := o.Dispute(t, false)
		text := strings.Repeat("\U0001F4DC", 20_000)
		const pieces = 14 // above 1 MiB
		for range pieces {
			_, err := s.App.Claims.SubmitEvidence(ctx, harness.SandboxScope(o), claim, claims.NewEvidence{Kind: "other", Text: text})
			harness.Must(t, err)
		}
		harness.RuleClaim(t, o, payment, "won")
		sent := endpoint.About(t, claim, 1)[0]
		if len(sent.Body) < pieces*len(text) {
			t.Errorf("the event has %d bytes, but its claim's evidence has %d", len(sent.Body), pieces*len(text))
		}
		if r := awaitInbox(t, h, 1); !strings.Contains(string(r.Body), string(sent.Body)) {
			t.Errorf("the inbox's answer of %d bytes does not contain the event of %d bytes", len(r.Body), len(sent.Body))
		}
	})
}
