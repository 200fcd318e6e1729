package access

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
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
