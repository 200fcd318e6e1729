package payments

import (
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// With the test clock a merchant sees at once what takes days: a payment expires. Other merchants'
// payments do not.
func TestTheTestClockExpiresAPayment(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		payment := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"12345678909"}`)
		kept := other.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"12345678909"}`)

		before := o.Get(t, "/sandbox/clock").Want(t, http.StatusOK)
		if got := before.Text(t, "advanceSeconds"); got != "0" {
			t.Errorf("a new clock is %s seconds ahead, want 0", got)
		}
		o.Post(t, "/sandbox/clock", `{"advance":"7d"}`).Want(t, http.StatusOK)
		moved := o.Post(t, "/sandbox/clock", `{"advance":"1d12h"}`).Want(t, http.StatusOK)
		if got := moved.Text(t, "advanceSeconds"); got != "734400" {
			t.Errorf("after 7d and 1d12h the clock is %s seconds ahead, want 734400", got)
		}
		want := s.Clock.Now().Add(204 * time.Hour)
		if got, err := time.Parse(time.RFC3339, moved.Text(t, "now")); err != nil || got.Sub(want).Abs() > time.Minute {
			t.Errorf("the clock shows %v, want %v (%v)", got, want, err)
		}

		s.Sweep(t, "the payment is expired", func() bool { return o.Status(t, payment) == "expired" })
		if got := other.Status(t, kept); got != "pending" {
			t.Errorf("another merchant's payment is %s, want pending", got)
		}
		expired := o.Get(t, "/payments/"+payment).Text(t, "timestamps.expired")
		if at, err := time.Parse(time.RFC3339, expired); err != nil || at.Before(want.Add(-36*time.Hour-time.Minute)) {
			t.Errorf("the payment expired at %s, before the clock's first move; the clock shows %v", expired, want)
		}
		// New payments have the clock's time, and filters find them by it.
		late := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)
		r := o.Get(t, "/payments?from="+want.Add(-time.Minute).Format("2006-01-02T15:04:05Z")).Want(t, http.StatusOK)
		if got := r.Text(t, "pagination.total"); got != "1" || r.Text(t, "data.0.id") != late {
			t.Errorf("from the clock's time on there are %s payments, want only %s: %s", got, late, r)
		}
		o.Get(t, "/me").Want(t, http.StatusOK) // credentials use the service's clock
	})
}

// Eight moves of the test clock at once all count, and each reply has its own time.
func TestTheTestClockIsKept(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		done := make(chan string, 8)
		for range 8 {
			go func() {
				done <- o.Post(t, "/sandbox/clock", `{"advance":"1h"}`).Want(t, http.StatusOK).Text(t, "advanceSeconds")
			}()
		}
		seen := map[string]bool{}
		for range 8 {
			seen[harness.Soon(t, "a move of the clock to be answered", done)] = true
		}
		if got := o.Get(t, "/sandbox/clock").Text(t, "advanceSeconds"); got != "28800" || len(seen) != 8 {
			t.Errorf("after eight moves at once the clock is %s seconds ahead, with the replies %v; want 28800 and eight different replies", got, seen)
		}
	})
}

func TestTheTestClockRefusesNonsense(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for body, want := range map[string]string{
			`{}`:                   "400 missing_field invalid_request_error param=advance issues=advance missing=advance",
			`{"advance":""}`:       "400 missing_field invalid_request_error param=advance issues=advance missing=advance",
			`{"advance":"soon"}`:   "400 invalid_request invalid_request_error param=advance issues=advance",
			`{"advance":"-1h"}`:    "400 invalid_request invalid_request_error param=advance",
			`{"advance":"0s"}`:     "400 invalid_request invalid_request_error param=advance",
			`{"advance":"9999d"}`:  "400 invalid_request invalid_request_error param=advance",
			`{"advance":48}`:       "400 invalid_request invalid_request_error param=advance issues=advance",
			`{"advance":"1d1d1h"}`: "400 invalid_request invalid_request_error param=advance issues=advance",
			`{"advance":"99999d"}`: "400 invalid_request invalid_request_error param=advance issues=advance",
		} {
			o.Post(t, "/sandbox/clock", body).Refused(t, want)
		}
		o.Production().Post(t, "/sandbox/clock", `{"advance":"1h"}`).Refused(t, "400 production_key_refused invalid_request_error")
		o.Production().Get(t, "/sandbox/clock").Refused(t, "400 production_key_refused invalid_request_error")
		o.As(o.Sandbox.Publishable).Post(t, "/sandbox/clock", `{"advance":"1h"}`).Refused(t, "403 key_kind_not_allowed permission_error")
		if got := o.Get(t, "/sandbox/clock").Text(t, "advanceSeconds"); got != "0" {
			t.Errorf("refused requests moved the clock by %s seconds", got)
		}
	})
}
