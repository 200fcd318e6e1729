package access

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// The access log has one line for each request, with the request's id. It has no path, query, body
// or credential, because these may be secrets.
func TestAccessLogTellsOfEachRequestAndOfNoSecret(t *testing.T) {
	t.Parallel()
	access := &harness.Diary{}
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.Access = slog.New(slog.NewJSONHandler(access, nil))
	})
	o := s.NewShop(t)
	made := o.Post(t, "/payments?note=s3cr3t", `{"amount":25.5,"paymentMethodId":"sbx_card","merchantOrderId":"order-hush"}`, "X-Request-Id: theirs-1").Want(t, http.StatusCreated)
	s.Visit(t, "/checkout/cs_no-such-token")
	o.Get(t, "/no/such/endpoint").Want(t, http.StatusNotFound)
	o.As("sk_test_wrong").Get(t, "/me").Want(t, http.StatusUnauthorized)
	type line struct {
		Method, Route, Request, Address, Merchant string
		Caller                                    string `json:"caller_request"`
		Status, Bytes                             int
		Seconds                                   float64
	}
	told := map[string]line{}
	harness.Eventually(t, "the requests are in the access log", func() bool {
		for text := range bytes.Lines([]byte(access.String())) {
			var l line
			harness.Must(t, json.Unmarshal(text, &l))
			told[l.Method+" "+l.Route] = l
		}
		return told["GET /api/v1/me"].Status != 0
	})
	l := told["POST /api/v1/payments"]
	if l.Status != http.StatusCreated || l.Bytes != len(made.Body) || l.Request != made.Header.Get("X-Request-Id") || l.Caller != "theirs-1" ||
		l.Merchant != o.Merchant.ID || l.Address != "127.0.0.1" || l.Seconds <= 0 {
		t.Errorf("the line of the payment's request is %+v", l)
	}
	if l := told["GET /checkout/{token}"]; l.Status != http.StatusNotFound || l.Request == "" || l.Merchant != "" {
		t.Errorf("the line of the page's request is %+v", l)
	}
	if l := told["GET other"]; l.Status != http.StatusNotFound {
		t.Errorf("the line of the request without a route is %+v", l)
	}
	if l := told["GET /api/v1/me"]; l.Status != http.StatusUnauthorized || l.Merchant != "" {
		t.Errorf("the line of the refused request is %+v", l)
	}
	for _, secret := range []string{"s3cr3t", "order-hush", "cs_no-such-token", "sk_test", o.Credential, "no/such"} {
		if strings.Contains(access.String(), secret) {
			t.Errorf("the access log has %q", secret)
		}
	}
}

// A line that a request causes in the log has the id that the reply has in X-Request-Id.
func TestLinesOfTheLogHaveTheRequestsID(t *testing.T) {
	t.Parallel()
	log := &harness.Diary{}
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) })
	r := s.NewShop(t).As("sk_test_wrong").Get(t, "/me").Want(t, http.StatusUnauthorized)
	found := false
	for text := range strings.Lines(log.String()) {
		if strings.Contains(text, "credentials were refused") {
			found = strings.Contains(text, " request="+r.Header.Get("X-Request-Id"))
		}
	}
	if !found {
		t.Errorf("the line about the refusal lacks the request's id:\n%s", log)
	}
}

// A key that may read sees the last requests of its shop and its environment, without what was sent and without its own questions. The list
// is read like all lists (LIST-1).
func TestKeysSeeTheLogOfRequests(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Get(t, "/ping").Want(t, http.StatusOK)
		refused := o.Post(t, "/payments", `{"amount":25.5,"paymentMethodId":"sbx_nothing","userEmail":"ana.secret@example.com"}`)
		o.Get(t, "/payments/TXN-none").Want(t, http.StatusNotFound)
		all := o.Get(t, "/requests").Want(t, http.StatusOK)
		if got := all.Text(t, "pagination.total"); got != "3" {
			t.Errorf("the log has %s requests, want 3: %s", got, all)
		}
		o.Get(t, "/requests?limit=1").Want(t, http.StatusOK)
		if again := o.Get(t, "/requests").Text(t, "pagination.total"); again != "3" {
			t.Errorf("looks at the log are in it: %s", again)
		}
		if text := string(all.Body); strings.Contains(text, "ana.secret") || strings.Contains(text, o.Credential) || strings.Contains(text, "sbx_nothing") {
			t.Errorf("the log has what was sent: %s", text)
		}
		if got := all.Text(t, "data.1.id"); got != refused.Header.Get("X-Request-Id") {
			t.Errorf("the second request is %s", got)
		}
		first := all.Text(t, "data.0.id")
		if next := o.Get(t, "/requests?limit=1&startingAfter="+first).Text(t, "data.0.id"); next != all.Text(t, "data.1.id") {
			t.Errorf("the page after %s begins with %s", first, next)
		}
		if got := o.Get(t, "/requests?outcome=failed&code=transaction_not_found").Text(t, "pagination.total"); got != "1" {
			t.Errorf("%s requests found no payment", got)
		}
		for _, polls := range []int{0, 1} {
			o.Call(t, "GET", "/events", "", "User-Agent: cascada-listen/1").Want(t, http.StatusOK)
			if got := o.Get(t, "/requests").Text(t, "pagination.total"); got != "3" {
				t.Errorf("after %d polls of listen the log has %s requests", polls+1, got)
			}
		}
		o.Get(t, "/events").Want(t, http.StatusOK)
		o.Call(t, "GET", "/events?limit=many", "", "User-Agent: cascada-listen/1").Want(t, http.StatusBadRequest)
		if got := o.Get(t, "/requests").Text(t, "pagination.total"); got != "5" {
			t.Errorf("other reads of events are left out: %s", got)
		}
		second := harness.Sibling(t, o)
		for name, who := range map[string]harness.Client{
			"another merchant": s.NewShop(t), "another shop": second.As(second.Sandbox.Secret), "production": o.As(o.Live.Secret),
		} {
			if got := who.Get(t, "/requests").Want(t, http.StatusOK).Text(t, "pagination.total"); got != "0" {
				t.Errorf("%s sees %s requests", name, got)
			}
			who.Get(t, "/requests?startingAfter="+first).Refused(t, "400 invalid_request invalid_request_error param=startingAfter")
		}
		o.Whole(t, false).Get(t, "/requests").Refused(t, "401 shop_required authentication_error")
		o.As(o.Sandbox.Publishable).Get(t, "/requests").Refused(t, "403 key_kind_not_allowed permission_error")
		o.NewKey(t, auth.NewKey{Kind: merchants.Restricted, Rights: []merchants.Right{merchants.RightPayments}}).Get(t, "/requests").Refused(t, "403 forbidden permission_error")
	})
}
