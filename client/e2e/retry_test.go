package e2e

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
)

// liar passes requests on. It loses replies, or answers by itself.
type liar struct {
	mu   sync.Mutex
	lose int                                // replies that are lost from now on
	says func(*http.Request) *http.Response // nil: passes on
	seen []string                           // method, path and key of each request
}

func (l *liar) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Idempotency-Key"))
	if l.says != nil {
		return l.says(r), nil
	}
	reply, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && l.lose > 0 {
		l.lose--
		reply.Body.Close()
		return nil, errors.New("the connection broke off")
	}
	return reply, err
}

func fixed(status int, text string, header ...string) func(*http.Request) *http.Response {
	return func(r *http.Request) *http.Response {
		reply := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}
		for i := 0; i+1 < len(header); i += 2 {
			reply.Header.Set(header[i], header[i+1])
		}
		return reply
	}
}

// A reply that is lost pays once: the client repeats with a key of its own. What cannot be repeated safely is not, and what was not sent
// says so.
func TestALostReplyPaysOnce(t *testing.T) {
	s, keys := service(t, nil)
	between := &liar{}
	api := newClient(t, client.Config{URL: s.URL, SecretKey: keys.Secret, HTTP: &http.Client{Transport: between}, RetryDelay: time.Millisecond})
	ctx := t.Context()
	between.lose = 2
	p, err := api.CreatePayment(ctx, client.NewPayment{Amount: "25.5", PaymentMethodID: "sbx_pix", DocumentID: "52998224725"})
	if err != nil || !p.Replayed || len(between.seen) != 3 || between.seen[0] != between.seen[2] || strings.HasSuffix(between.seen[0], " ") {
		t.Errorf("after two lost replies the payment is %+v, %v; sent was %q", p, err, between.seen)
	}
	list, err := api.Payments(ctx, client.PaymentFilter{})
	if err != nil || list.Pagination.Total != 1 {
		t.Errorf("%d payments were made: %v", list.Pagination.Total, err)
	}
	for what, c := range map[string]struct {
		says  func(*http.Request) *http.Response
		lose  int
		call  func() error
		tries int
	}{
		"a read":                       {nil, 1, func() error { _, err := api.Me(ctx); return err }, 2},
		"a cancel whose reply is lost": {nil, 1, func() error { _, err := api.CancelPayment(ctx, p.ID); return err }, 1},
		"too many requests":            {fixed(429, `{"error":{"code":"rate_limited"}}`), 0, func() error { _, err := api.CancelPayment(ctx, p.ID); return err }, 4},
		"a pause of an hour":           {fixed(429, `{"error":{"code":"rate_limited"}}`, "Retry-After", "3600"), 0, func() error { _, err := api.Me(ctx); return err }, 1},
		"a proxy's 502":                {fixed(502, "<html>"), 0, func() error { _, err := api.Refund(ctx, p.ID, client.NewRefund{}); return err }, 4},
		"a decline":                    {fixed(402, `{"error":{"code":"card_declined"}}`), 0, func() error { _, err := api.Refund(ctx, p.ID, client.NewRefund{}); return err }, 1},
		"a file that breaks off":       {nil, 1, func() error { return api.ExportPayments(ctx, client.PaymentFilter{}, &bytes.Buffer{}) }, 1},
		"what cannot be written": {nil, 0, func() error {
			_, err := api.CreatePayment(ctx, client.NewPayment{Amount: "12,50", PaymentMethodID: "sbx_card"})
			if !errors.Is(err, client.ErrNotSent) {
				t.Errorf("an amount that is no number ends with %v", err)
			}
			return err
		}, 0},
	} {
		between.seen, between.says, between.lose = nil, c.says, c.lose
		if err := c.call(); (err == nil) != (what == "a read") || len(between.seen) != c.tries {
			t.Errorf("%s ends with %v after %d tries, want %d", what, err, len(between.seen), c.tries)
		}
	}
}
