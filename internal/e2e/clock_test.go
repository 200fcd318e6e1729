package e2e

import (
	"net/http"
	"testing"
	"time"
)

// A merchant sees in seconds what takes days: a voucher expires, and the
// webhook that tells so is tried again.
func TestTheTestClockExpiresAPayment(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, other := s.shop(t), s.shop(t)
		payment := o.create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"12345678909"}`)
		kept := other.create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"12345678909"}`)

		before := o.get(t, "/sandbox/clock").want(t, http.StatusOK)
		if got := before.text(t, "advanceSeconds"); got != "0" {
			t.Errorf("a new clock is %s seconds ahead, want 0", got)
		}
		o.post(t, "/sandbox/clock", `{"advance":"7d"}`).want(t, http.StatusOK)
		moved := o.post(t, "/sandbox/clock", `{"advance":"1d12h"}`).want(t, http.StatusOK)
		if got := moved.text(t, "advanceSeconds"); got != "734400" {
			t.Errorf("after 7d and 1d12h the clock is %s seconds ahead, want 734400", got)
		}
		want := s.clock.now().Add(204 * time.Hour)
		if got, err := time.Parse(time.RFC3339, moved.text(t, "now")); err != nil || got.Sub(want).Abs() > time.Minute {
			t.Errorf("the clock shows %v, want %v (%v)", got, want, err)
		}

		s.sweep(t, "the payment expires", func() bool { return o.status(t, payment) == "expired" })
		if got := other.status(t, kept); got != "pending" {
			t.Errorf("another merchant's payment is %s, want pending", got)
		}
		expired := o.get(t, "/payments/"+payment).text(t, "timestamps.expired")
		if at, err := time.Parse(time.RFC3339, expired); err != nil || at.Before(want.Add(-36*time.Hour-time.Minute)) {
			t.Errorf("it expired at %s, before the first move of the clock to %v", expired, want)
		}
		// What is made now has the clock's time, and filters find it there.
		late := o.create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)
		r := o.get(t, "/payments?from="+want.Add(-time.Minute).Format("2006-01-02T15:04:05Z")).want(t, http.StatusOK)
		if got := r.text(t, "pagination.total"); got != "1" || r.text(t, "data.0.id") != late {
			t.Errorf("from the moved clock on there are %s payments, want %s alone: %s", got, late, r)
		}
		o.get(t, "/me").want(t, http.StatusOK) // credentials keep to the service's clock
	})
}

// A clock that was moved is moved after a restart and on another node.
func TestTheTestClockIsKept(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		done := make(chan string, 8)
		for range 8 {
			go func() {
				done <- o.post(t, "/sandbox/clock", `{"advance":"1h"}`).want(t, http.StatusOK).text(t, "advanceSeconds")
			}()
		}
		seen := map[string]bool{}
		for range 8 {
			seen[soon(t, "it to be done", done)] = true
		}
		if got := o.get(t, "/sandbox/clock").text(t, "advanceSeconds"); got != "28800" || len(seen) != 8 {
			t.Errorf("eight moves at once: %s seconds ahead, replies %v; want 28800 and eight different ones", got, seen)
		}
	})
}

func TestTheTestClockRefusesNonsense(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
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
			o.post(t, "/sandbox/clock", body).refused(t, want)
		}
		o.live().post(t, "/sandbox/clock", `{"advance":"1h"}`).refused(t, "400 production_key_refused invalid_request_error")
		o.live().get(t, "/sandbox/clock").refused(t, "400 production_key_refused invalid_request_error")
		o.as(o.Sandbox.Publishable).post(t, "/sandbox/clock", `{"advance":"1h"}`).refused(t, "403 key_kind_not_allowed permission_error")
		if got := o.get(t, "/sandbox/clock").text(t, "advanceSeconds"); got != "0" {
			t.Errorf("refused moves moved the clock by %s seconds", got)
		}
	})
}
