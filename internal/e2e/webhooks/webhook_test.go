package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

func patch(t *testing.T, o harness.Client, path, body string) harness.Reply {
	t.Helper()
	return o.Call(t, http.MethodPatch, path, body, "Content-Type: application/json")
}

// onlyOne dispatches until no delivery is due, and fails the test unless the endpoint has n
// deliveries.
func onlyOne(t *testing.T, c *harness.Receiver, n int) {
	t.Helper()
	dispatchAll(t, c.Instance)
	if got := len(c.Deliveries()); got != n {
		t.Errorf("the endpoint was called %d times, want %d", got, n)
	}
}

// dispatchAll dispatches until no delivery is due and none is on its way. The lease of a delivery on
// its way ends in about half a minute, and no retry is due then. So the time of the next work tells
// them apart.
func dispatchAll(t *testing.T, s *harness.Instance) {
	t.Helper()
	harness.Eventually(t, "no delivery is due or on its way", func() bool {
		n, err := s.App.Webhooks.Dispatch(ctx)
		harness.Must(t, err)
		due := s.Due(t)
		wait := due.Sub(s.Clock.Now())
		return n == 0 && (due.IsZero() || wait > 2*time.Second && wait < 13*time.Second || wait > 31*time.Second)
	})
}

func TestWebhookChangesWhatIsNamedAndKeepsItsSecret(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		first, second := s.Receive(t), s.Receive(t)
		made := o.Post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["payment.failed"],"eventsVersion":%q,"description":"one"}`, first.URL, webhooks.FirstEvents)).Want(t, http.StatusCreated)
		id, secret := made.Text(t, "id"), made.Text(t, "secret")
		path := "/webhooks/" + id
		shown := func(url, events, status, reason, description, last string) string {
			return fmt.Sprintf(`{"id":%q,"url":%q,"events":%s,"eventsVersion":%q,"managed":false,"status":%q,"disabledReason":%s,"description":%s,
				"secretPreview":%q,"authentication":null,"previousSecretExpiresAt":null,"createdAt":%q,"updatedAt":"<time>","lastDeliveryAt":%s}`,
				id, url, events, webhooks.FirstEvents, status, reason, description, made.Text(t, "secretPreview"), made.Text(t, "createdAt"), last)
		}
		o.Get(t, path).Is(t, http.StatusOK, shown(first.URL, `["payment.failed"]`, "enabled", "null", `"one"`, "null"))

		// Absent and null fields change nothing, and other fields only themselves.
		before := o.Get(t, path)
		patch(t, o, path, `{}`).Is(t, http.StatusOK, string(before.Body))
		patch(t, o, path, `{"url":null,"events":null,"description":null,"status":null}`).Is(t, http.StatusOK, string(before.Body))
		patch(t, o, path, `{"events":["payment.completed","*"]}`).Is(t, http.StatusOK, shown(first.URL, `["*"]`, "enabled", "null", `"one"`, "null"))
		patch(t, o, path, `{"description":""}`).Is(t, http.StatusOK, shown(first.URL, `["*"]`, "enabled", "null", "null", "null"))
		first.About(t, o.Create(t, harness.Card), 1)[0].Verify(t, s, secret)
		patch(t, o, path, fmt.Sprintf(`{"url":%q}`, second.URL)).Is(t, http.StatusOK, shown(second.URL, `["*"]`, "enabled", "null", "null", `"<time>"`))
		second.About(t, o.Create(t, harness.Card), 1)[0].Verify(t, s, secret)

		// A disabled webhook gets no events, and after it is enabled none of the time between.
		patch(t, o, path, `{"status":"disabled"}`).Is(t, http.StatusOK, shown(second.URL, `["*"]`, "disabled", `"<text>"`, "null", `"<time>"`))
		o.Create(t, harness.Card)
		patch(t, o, path, `{"status":"enabled"}`).Is(t, http.StatusOK, shown(second.URL, `["*"]`, "enabled", "null", "null", `"<time>"`))
		second.About(t, o.Create(t, harness.Card), 1)[0].Verify(t, s, secret)
		onlyOne(t, second, 2)
		onlyOne(t, first, 1)

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
			patch(t, o, path, c.body).Refused(t, c.want)
		}
		o.Get(t, path).Is(t, http.StatusOK, shown(second.URL, `["*"]`, "enabled", "null", "null", `"<time>"`))
		o.Call(t, http.MethodPatch, path, `{}`).Refused(t, "415 content_type_required invalid_request_error")

		// Another shop or environment gets 404.
		for _, who := range []harness.Client{stranger, o.Production()} {
			who.Get(t, path).Refused(t, "404 webhook_not_found invalid_request_error")
			patch(t, who, path, `{"status":"disabled"}`).Refused(t, "404 webhook_not_found invalid_request_error")
			who.Post(t, path+"/rotate-secret", "").Refused(t, "404 webhook_not_found invalid_request_error")
			who.Get(t, path+"/deliveries").Refused(t, "404 webhook_not_found invalid_request_error")
			who.Get(t, path+"/inbox").Refused(t, "404 webhook_not_found invalid_request_error")
		}
		o.As(o.Sandbox.Publishable).Get(t, path).Refused(t, "403 key_kind_not_allowed permission_error")
		for _, id := range []string{"wh_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", "wh_%00", "wh_%ff"} {
			o.Get(t, "/webhooks/"+id).Refused(t, "404 webhook_not_found invalid_request_error")
			patch(t, o, "/webhooks/"+id, `{}`).Refused(t, "404 webhook_not_found invalid_request_error")
		}
		o.Delete(t, path).Want(t, http.StatusOK)
		patch(t, o, path, `{"status":"enabled"}`).Refused(t, "404 webhook_not_found invalid_request_error")
	})
}

func TestManagedWebhookBecomesTheOwnersWithAURL(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		made := o.Post(t, "/webhooks", `{"events":["*"],"eventsVersion":"2026-11-21"}`).Want(t, http.StatusCreated)
		path := "/webhooks/" + made.Text(t, "id")
		if r := patch(t, o, path, fmt.Sprintf(`{"url":%q}`, made.Text(t, "url"))); r.Text(t, "managed") != "true" {
			t.Errorf("setting the inbox's own address ended the managed inbox: %s", r)
		}
		if r := patch(t, o, path, fmt.Sprintf(`{"url":%q}`, endpoint.URL)); r.Text(t, "managed") != "false" || r.Text(t, "url") != endpoint.URL {
			t.Errorf("want an unmanaged webhook at %s: %s", endpoint.URL, r)
		}
		endpoint.About(t, o.Create(t, harness.Card), 1)[0].Verify(t, s, made.Text(t, "secret"))
		if r := o.Get(t, path+"/inbox"); r.Text(t, "pagination.total") != "0" {
			t.Errorf("the inbox has an event that belongs to the owner's endpoint: %s", r)
		}
	})
}

// verifyStandard verifies a delivery as the Standard Webhooks libraries do: the secret is base64
// after whsec_, and one valid signature is enough.
func verifyStandard(t *testing.T, d harness.Received, secret string) bool {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 {
		t.Fatalf("%q is not a valid Standard Webhooks secret: %v", secret, err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", d.Header.Get("webhook-id"), d.Header.Get("webhook-timestamp"), d.Body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for signature := range strings.FieldsSeq(d.Header.Get("webhook-signature")) {
		if signature == want {
			return true
		}
	}
	return false
}

func TestRotatedSecretSignsBesideTheOneBeforeForADay(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		made := o.Subscribe(t, endpoint.URL, `"*"`)
		path := "/webhooks/" + made.Text(t, "id")
		secrets := []string{made.Text(t, "secret")}
		rotate := func() {
			t.Helper()
			at := s.Clock.Now()
			r := o.Post(t, path+"/rotate-secret", "")
			r.Is(t, http.StatusOK, fmt.Sprintf(`{"id":%q,"secret":"<secret>","previousSecretExpiresAt":"<time>"}`, made.Text(t, "id")))
			until, err := time.Parse(time.RFC3339, r.Text(t, "previousSecretExpiresAt"))
			harness.Must(t, err)
			if grace := until.Sub(at); grace < 24*time.Hour-time.Second || grace > 24*time.Hour+harness.Patience {
				t.Errorf("the previous secret signs for %s, want a day", grace)
			}
			now := o.Get(t, path)
			if now.Text(t, "previousSecretExpiresAt") != r.Text(t, "previousSecretExpiresAt") ||
				!strings.HasSuffix(r.Text(t, "secret"), strings.TrimPrefix(now.Text(t, "secretPreview"), "whsec_…")) {
				t.Errorf("after the rotation %s the webhook is %s, want the same expiry and a preview of the new secret", r, now)
			}
			if _, shown := now.At(t, "secret"); shown {
				t.Errorf("the webhook shows its secret again: %s", now)
			}
			secrets = append(secrets, r.Text(t, "secret"))
		}
		// signs fails the test unless exactly the secrets with the given indexes sign an event, in both
		// schemes.
		signs := func(want string) {
			t.Helper()
			d := endpoint.About(t, o.Create(t, harness.Card), 1)[0]
			header, got, standard := d.Header.Get(sender.SignatureHeader), "", ""
			for i, secret := range secrets {
				if sender.Verify(header, d.Body, secret, s.Clock.Now(), sender.Tolerance) == nil {
					got += fmt.Sprint(i)
				}
				if verifyStandard(t, d, secret) {
					standard += fmt.Sprint(i)
				}
			}
			if got != want || standard != want {
				t.Errorf("the secrets %q sign %s and the secrets %q sign %s, want %q for both", got, header, standard, d.Header.Get("webhook-signature"), want)
			}
			if strings.Contains(header, ",v0=") != (len(want) == 2) || strings.Count(header, "v1=") != 1 {
				t.Errorf("the signature is %q, want parts for %d secrets", header, len(want))
			}
		}
		signs("0")
		rotate()
		signs("01")
		rotate()
		signs("12")
		s.Clock.Advance(23 * time.Hour)
		signs("12")
		s.Clock.Advance(time.Hour)
		signs("2")
		if r := o.Get(t, path); r.Text(t, "previousSecretExpiresAt") != "<nil>" {
			t.Errorf("after a day the previous secret still has an expiry: %s", r)
		}
		rotate()
		signs("23")
		o.Post(t, "/webhooks/wh_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6/rotate-secret", "").Refused(t, "404 webhook_not_found invalid_request_error")
	})
}

func TestStandardWebhooksLibrariesVerifyWithTheSecret(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		secret := o.Subscribe(t, endpoint.URL, `"*"`).Text(t, "secret")
		if d := endpoint.About(t, o.Create(t, harness.Card), 1)[0]; !verifyStandard(t, d, secret) {
			t.Errorf("the delivery with the headers %v does not verify with %s", d.Header, secret)
		}
	})
}

func TestChangesRotationsAndReplaysAreInTheAuditLog(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		endpoint.Answers(harness.Respond(http.StatusInternalServerError))
		h := o.Hook(t, endpoint.URL+"/path?token=hush", `"*"`)
		o.Create(t, harness.Card)
		delivery := h.Last(t, "failed").Text(t, "id")

		patch(t, o, h.Path(""), `{}`).Want(t, http.StatusOK) // changes nothing
		patch(t, o, h.Path(""), `{"url":"/hooks"}`).Want(t, http.StatusBadRequest)
		changed := patch(t, o, h.Path(""), `{"description":"mine"}`).Want(t, http.StatusOK)
		e := harness.AuditEntry(t, o, audit.WebhookUpdated, h.ID)
		harness.AuditByRequest(t, o, e, changed)
		rotated := o.Post(t, h.Path("/rotate-secret"), "").Want(t, http.StatusOK)
		harness.AuditByRequest(t, o, harness.AuditEntry(t, o, audit.WebhookRotated, h.ID), rotated)
		replayed := o.Post(t, h.Path("/deliveries/"+delivery+"/replay"), "").Want(t, http.StatusOK)
		harness.AuditByRequest(t, o, harness.AuditEntry(t, o, audit.DeliveryReplayed, delivery), replayed)
		for _, e := range harness.AuditActs(t, o) {
			if told := fmt.Sprint(e.Details); strings.Contains(told, "hush") || strings.Contains(told, "whsec_") {
				t.Errorf("the audit log holds a secret: %+v", e)
			}
		}
	})
}
