package e2e

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

// A delivery is read if and only if the service's own check of signatures accepts it. A signed body
// that is not an event is reported as such.
func FuzzReceiver(f *testing.F) {
	const secret, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_b2xkIHNlY3JldCBvZiB0aGUgc2hvcA=="
	now := time.Date(2026, 10, 18, 0, 0, 0, 0, time.UTC)
	for _, body := range []string{
		`{"id":"evt_1","type":"payment.completed","data":{"object":{"id":"TXN-1","amount":12.50,"status":"completed"},"previous":{"status":"processing"}}}`,
		`{"id":"evt_1","type":"payment.completed","data":{"object":null}}`, `{"id":"evt_1","type":"of.the.future","data":{}}`, `{"id":"evt_1","type":"claim.opened","data":{"object":{"amount":"x"}}}`,
		`{"id":"","type":"ping"}`, `{"id":"evt_1","type":"payment.failed","data":{"object":{"amount":` + strings.Repeat("9", 400) + `}}}`, "", "null", "[]", "\xff",
	} {
		good := sender.Sign(now, []byte(body), secret, "")
		f.Add(good, []byte(body))
		f.Add(sender.Sign(now, []byte(body), other, secret), []byte(body))
		f.Add(good+",v1=00", []byte(body+" "))
		f.Add(sender.Sign(now.Add(-time.Hour), []byte(body), secret, ""), []byte(body))
	}
	f.Add("t=1,t=2,v1=00", []byte{})
	f.Add("t=99999999999999999999,v1=", []byte{})
	r := client.Receiver{Secrets: []string{secret}, Now: func() time.Time { return now }}
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		_, err := r.Read(http.Header{sender.SignatureHeader: {header}}, body)
		want := sender.Verify(header, body, secret, now, sender.Tolerance)
		if errors.Is(want, sender.ErrSignature) != errors.Is(err, client.ErrSignature) || errors.Is(want, sender.ErrStale) != errors.Is(err, client.ErrStale) {
			t.Errorf("%q over %q: %v, and the service says %v", header, body, err, want)
		}
		e, err := r.Read(http.Header{sender.SignatureHeader: {sender.Sign(now, body, secret, "")}}, body)
		switch {
		case err == nil && (e.ID == "" || e.Type == ""):
			t.Errorf("%q is read as %+v", body, e)
		case err != nil && (!errors.Is(err, client.ErrUnreadable) || e.ID != ""):
			t.Errorf("%q: %+v, %v", body, e, err)
		}
	})
}
