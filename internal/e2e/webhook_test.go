package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/webhook"
)

func (o shop) patch(t *testing.T, path, body string) reply {
	t.Helper()
	return o.call(t, http.MethodPatch, path, body, "Content-Type: application/json")
}

// await waits for what the service does by itself at an endpoint.
func (c *receiver) awaits(t *testing.T, n int) []received {
	t.Helper()
	eventually(t, fmt.Sprintf("%d deliveries have come", n), func() bool { return len(c.deliveries()) >= n })
	return c.deliveries()
}

// only fails the test when there are other than n deliveries once nothing is
// due any more.
func (c *receiver) only(t *testing.T, n int) {
	t.Helper()
	c.service.rest(t)
	if got := len(c.deliveries()); got != n {
		t.Errorf("the endpoint was called %d times, want %d", got, n)
	}
}

// rest dispatches until there is nothing to do now. What is under way is
// leased for half a minute; no retry is due then.
func (s *service) rest(t *testing.T) {
	t.Helper()
	eventually(t, "there is nothing to do", func() bool {
		n, err := s.App.Webhooks.Dispatch(ctx)
		must(t, err)
		due := s.due(t)
		wait := due.Sub(s.clock.now())
		return n == 0 && (due.IsZero() || wait > 2*time.Second && wait < 13*time.Second || wait > 31*time.Second)
	})
}

func TestWebhookChangesWhatIsNamedAndKeepsItsSecret(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		first, second := s.receive(t), s.receive(t)
		made := o.post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["payment.failed"],"eventsVersion":%q,"description":"one"}`, first.URL, hook.FirstEvents)).want(t, http.StatusCreated)
		id, secret := made.text(t, "id"), made.text(t, "secret")
		path := "/webhooks/" + id
		shown := func(url, events, status, reason, description, last string) string {
			return fmt.Sprintf(`{"id":%q,"url":%q,"events":%s,"eventsVersion":%q,"managed":false,"status":%q,"disabledReason":%s,"description":%s,
				"secretPreview":%q,"previousSecretExpiresAt":null,"createdAt":%q,"updatedAt":"<time>","lastDeliveryAt":%s}`,
				id, url, events, hook.FirstEvents, status, reason, description, made.text(t, "secretPreview"), made.text(t, "createdAt"), last)
		}
		o.get(t, path).is(t, http.StatusOK, shown(first.URL, `["payment.failed"]`, "enabled", "null", `"one"`, "null"))

		// Absent and null say nothing; what is named changes alone.
		before := o.get(t, path)
		o.patch(t, path, `{}`).is(t, http.StatusOK, string(before.body))
		o.patch(t, path, `{"url":null,"events":null,"description":null,"status":null,"secret":"whsec_mine"}`).is(t, http.StatusOK, string(before.body))
		o.patch(t, path, `{"events":["payment.completed","*"]}`).is(t, http.StatusOK, shown(first.URL, `["*"]`, "enabled", "null", `"one"`, "null"))
		o.patch(t, path, `{"description":""}`).is(t, http.StatusOK, shown(first.URL, `["*"]`, "enabled", "null", "null", "null"))
		first.about(t, o.create(t, card), 1)[0].verify(t, s, secret)
		o.patch(t, path, fmt.Sprintf(`{"url":%q}`, second.URL)).is(t, http.StatusOK, shown(second.URL, `["*"]`, "enabled", "null", "null", `"<time>"`))
		second.about(t, o.create(t, card), 1)[0].verify(t, s, secret)

		// A disabled one is told nothing, also of what happened meanwhile.
		o.patch(t, path, `{"status":"disabled"}`).is(t, http.StatusOK, shown(second.URL, `["*"]`, "disabled", `"<text>"`, "null", `"<time>"`))
		o.create(t, card)
		o.patch(t, path, `{"status":"enabled"}`).is(t, http.StatusOK, shown(second.URL, `["*"]`, "enabled", "null", "null", `"<time>"`))
		second.about(t, o.create(t, card), 1)[0].verify(t, s, secret)
		second.only(t, 2)
		first.only(t, 1)

		for _, c := range []struct{ body, want string }{
			{`{"events":[]}`, "400 missing_field invalid_request_error param=events issues=events missing=events"},
			{`{"events":["payment.paid"]}`, "400 invalid_request invalid_request_error param=events[0] issues=events[0]"},
			{`{"url":""}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{`{"url":"ftp://shop.example"}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{`{"url":"http://10.0.0.1/"}`, "400 invalid_request invalid_request_error param=url issues=url"},
			{`{"url":"hooks","events":["a"]}`, "400 invalid_request invalid_request_error param=events[0] issues=events[0],url"},
			{`{"status":"deleted"}`, "400 invalid_request invalid_request_error param=status issues=status"},
			{`{"description":"\u0000"}`, "400 invalid_request invalid_request_error param=description issues=description"},
			{`{"description":"` + strings.Repeat("ñ", 201) + `"}`, "400 invalid_request invalid_request_error param=description issues=description"},
			{`[`, "400 invalid_json invalid_request_error"},
		} {
			o.patch(t, path, c.body).refused(t, c.want)
		}
		o.get(t, path).is(t, http.StatusOK, shown(second.URL, `["*"]`, "enabled", "null", "null", `"<time>"`))
		o.call(t, http.MethodPatch, path, `{}`).refused(t, "415 content_type_required invalid_request_error")

		// Nobody else's exists.
		for _, who := range []shop{stranger, o.live()} {
			who.get(t, path).refused(t, "404 webhook_not_found invalid_request_error")
			who.patch(t, path, `{"status":"disabled"}`).refused(t, "404 webhook_not_found invalid_request_error")
			who.post(t, path+"/rotate-secret", "").refused(t, "404 webhook_not_found invalid_request_error")
			who.get(t, path+"/deliveries").refused(t, "404 webhook_not_found invalid_request_error")
			who.get(t, path+"/inbox").refused(t, "404 webhook_not_found invalid_request_error")
		}
		o.as(o.Sandbox.Publishable).get(t, path).refused(t, "403 key_kind_not_allowed permission_error")
		for _, id := range []string{"wh_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", "wh_%00", "wh_%ff"} {
			o.get(t, "/webhooks/"+id).refused(t, "404 webhook_not_found invalid_request_error")
			o.patch(t, "/webhooks/"+id, `{}`).refused(t, "404 webhook_not_found invalid_request_error")
		}
		o.delete(t, path).want(t, http.StatusOK)
		o.patch(t, path, `{"status":"enabled"}`).refused(t, "404 webhook_not_found invalid_request_error")
	})
}

func TestManagedWebhookBecomesTheOwnersWithAURL(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		made := o.post(t, "/webhooks", `{"events":["*"],"eventsVersion":"2026-11-21"}`).want(t, http.StatusCreated)
		path := "/webhooks/" + made.text(t, "id")
		if r := o.patch(t, path, fmt.Sprintf(`{"url":%q}`, made.text(t, "url"))); r.text(t, "managed") != "true" {
			t.Errorf("its own address made it the owner's: %s", r)
		}
		if r := o.patch(t, path, fmt.Sprintf(`{"url":%q}`, endpoint.URL)); r.text(t, "managed") != "false" || r.text(t, "url") != endpoint.URL {
			t.Errorf("want the owner's endpoint: %s", r)
		}
		endpoint.about(t, o.create(t, card), 1)[0].verify(t, s, made.text(t, "secret"))
		if r := o.get(t, path+"/inbox"); r.text(t, "pagination.total") != "0" {
			t.Errorf("the inbox got what went to the owner's endpoint: %s", r)
		}
	})
}

// standard does what the Standard Webhooks libraries do: the secret is base64
// after whsec_, and any one of the signatures will do.
func (d received) standard(t *testing.T, secret string) bool {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 {
		t.Fatalf("%q is no secret of Standard Webhooks: %v", secret, err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", d.header.Get("webhook-id"), d.header.Get("webhook-timestamp"), d.body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for signature := range strings.FieldsSeq(d.header.Get("webhook-signature")) {
		if signature == want {
			return true
		}
	}
	return false
}

func TestRotatedSecretSignsBesideTheOneBeforeForADay(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		made := o.subscribe(t, endpoint.URL, `"*"`)
		path := "/webhooks/" + made.text(t, "id")
		secrets := []string{made.text(t, "secret")}
		rotate := func() {
			t.Helper()
			at := s.clock.now()
			r := o.post(t, path+"/rotate-secret", "")
			r.is(t, http.StatusOK, fmt.Sprintf(`{"id":%q,"secret":"<secret>","previousSecretExpiresAt":"<time>"}`, made.text(t, "id")))
			until, err := time.Parse(time.RFC3339, r.text(t, "previousSecretExpiresAt"))
			must(t, err)
			if grace := until.Sub(at); grace < 24*time.Hour-time.Second || grace > 24*time.Hour+patience {
				t.Errorf("the previous secret signs for %s, want a day", grace)
			}
			now := o.get(t, path)
			if now.text(t, "previousSecretExpiresAt") != r.text(t, "previousSecretExpiresAt") ||
				!strings.HasSuffix(r.text(t, "secret"), strings.TrimPrefix(now.text(t, "secretPreview"), "whsec_…")) {
				t.Errorf("after %s the webhook is %s", r, now)
			}
			if _, shown := now.at(t, "secret"); shown {
				t.Errorf("a secret is shown again: %s", now)
			}
			secrets = append(secrets, r.text(t, "secret"))
		}
		// signs says which of the secrets sign, in both schemes.
		signs := func(want string) {
			t.Helper()
			d := endpoint.about(t, o.create(t, card), 1)[0]
			header, got, standard := d.header.Get(webhook.SignatureHeader), "", ""
			for i, secret := range secrets {
				if webhook.Verify(header, d.body, secret, s.clock.now(), webhook.Tolerance) == nil {
					got += fmt.Sprint(i)
				}
				if d.standard(t, secret) {
					standard += fmt.Sprint(i)
				}
			}
			if got != want || standard != want {
				t.Errorf("the secrets %s sign %q and %s sign %q, want %s", got, header, standard, d.header.Get("webhook-signature"), want)
			}
			if strings.Contains(header, ",v0=") != (len(want) == 2) || strings.Count(header, "v1=") != 1 {
				t.Errorf("the signature is %q with %d secrets", header, len(want))
			}
		}
		signs("0")
		rotate()
		signs("01")
		rotate()
		signs("12")
		s.clock.advance(23 * time.Hour)
		signs("12")
		s.clock.advance(time.Hour)
		signs("2")
		if r := o.get(t, path); r.text(t, "previousSecretExpiresAt") != "<nil>" {
			t.Errorf("the grace goes on: %s", r)
		}
		rotate()
		signs("23")
		o.post(t, "/webhooks/wh_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6/rotate-secret", "").refused(t, "404 webhook_not_found invalid_request_error")
	})
}

func TestStandardWebhooksLibrariesVerifyWithTheSecret(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		secret := o.subscribe(t, endpoint.URL, `"*"`).text(t, "secret")
		if d := endpoint.about(t, o.create(t, card), 1)[0]; !d.standard(t, secret) {
			t.Errorf("%v does not verify with %s", d.header, secret)
		}
	})
}

func TestChangesRotationsAndReplaysAreInTheAuditLog(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		endpoint.answers(respond(http.StatusInternalServerError))
		h := o.hook(t, endpoint.URL+"/path?token=hush", `"*"`)
		o.create(t, card)
		delivery := h.last(t, "failed").text(t, "id")

		o.patch(t, h.path(""), `{}`).want(t, http.StatusOK) // changes nothing
		o.patch(t, h.path(""), `{"url":"/hooks"}`).want(t, http.StatusBadRequest)
		changed := o.patch(t, h.path(""), `{"description":"mine"}`).want(t, http.StatusOK)
		e := o.act(t, audit.WebhookUpdated, h.id)
		o.byRequest(t, e, changed)
		rotated := o.post(t, h.path("/rotate-secret"), "").want(t, http.StatusOK)
		o.byRequest(t, o.act(t, audit.WebhookRotated, h.id), rotated)
		replayed := o.post(t, h.path("/deliveries/"+delivery+"/replay"), "").want(t, http.StatusOK)
		o.byRequest(t, o.act(t, audit.DeliveryReplayed, delivery), replayed)
		for _, e := range o.acts(t) {
			if told := fmt.Sprint(e.Details); strings.Contains(told, "hush") || strings.Contains(told, "whsec_") {
				t.Errorf("the audit log tells a secret: %+v", e)
			}
		}
	})
}
