package payments

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// attempts returns the pattern of n attempts with the same outcome.
func attempts(n int, outcome, reason string) string {
	list := ""
	for order := 1; order <= n; order++ {
		list += fmt.Sprintf(`,{"order":%d,"outcome":%q,"reasonCode":%q,"retryable":true,"durationMs":"<number>"}`, order, outcome, reason)
	}
	return "[" + list[1:] + "]"
}

// The cents of a card payment are its ISO 8583 response code (SBX-10).
func TestCentsChooseTheCardsAnswer(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		made := 0
		for _, c := range []struct{ cents, status, code, decline, kind, more string }{
			{"05", "402", "card_declined", "do_not_honor", "card_error", ""},
			{"51", "402", "insufficient_funds", "insufficient_funds", "card_error", ""},
			{"54", "402", "expired_card", "expired_card", "card_error", ""},
			{"59", "402", "fraud_blocked", "fraud_suspected", "card_error", ""},
			{"91", "422", "cascade_exhausted", "", "routing_error",
				`,"reason":"all_providers_failed","attempts":` + attempts(3, "unavailable", "issuer_unavailable")},
		} {
			body := `{"amount":10.` + c.cents + `,"paymentMethodId":"sbx_card","merchantOrderId":"cents-` + c.cents + `"}`
			r := o.Post(t, "/payments", body)
			made++
			declineOfError, declineOfFailure := "", "null"
			if c.decline != "" {
				declineOfError, declineOfFailure = fmt.Sprintf(`,"decline_code":%q`, c.decline), fmt.Sprintf("%q", c.decline)
			}
			want := http.StatusPaymentRequired
			if c.status == "422" {
				want = http.StatusUnprocessableEntity
			}
			r.Is(t, want, fmt.Sprintf(`{"error":{"code":%q,"type":%q,"message":"<text>"%s,"requestId":"<req>","details":{"helpUrl":"<url>","transactionId":"<txn>"%s}}}`,
				c.code, c.kind, declineOfError, c.more))
			id := r.Want(t, want).Text(t, "error.details.transactionId")
			failed := fmt.Sprintf(`{"code":%q,"declineCode":%s,"message":"<text>"}`, c.code, declineOfFailure)
			for path, at := range map[string]string{"/payments/" + id: "", "/payments?merchantOrderId=cents-" + c.cents: "data.0."} {
				stored := o.Get(t, path).Want(t, http.StatusOK)
				failure, _ := stored.At(t, at+"failure")
				for _, difference := range harness.Compare("failure", harness.Decode(t, []byte(failed)), failure) {
					t.Errorf(".%s: %s: %s", c.cents, difference, stored)
				}
				if stored.Text(t, at+"id") != id || stored.Text(t, at+"status") != "failed" || stored.Text(t, at+"refundableAmountLocal") != "0" {
					t.Errorf(".%s: want %s failed: %s", c.cents, id, stored)
				}
				if _, ok := stored.At(t, at+"timestamps.failed"); !ok {
					t.Errorf(".%s: the payment lacks timestamps.failed: %s", c.cents, stored)
				}
			}
		}
		if n := o.Total(t, url.Values{"status": {"failed"}}); n != fmt.Sprint(made) {
			t.Errorf("%s failed payments are listed, want %d", n, made)
		}
		o.Get(t, "/me").Is(t, http.StatusOK, harness.Profile(o, `{"available":0,"pending":0,"frozen":0,"reserve":0}`))
	})
}

func TestChallengeIsShownAndEndsThePayment(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		challenged := func() string {
			r := o.Post(t, "/payments", `{"amount":10.65,"paymentMethodId":"sbx_card"}`)
			r.Is(t, http.StatusPaymentRequired, `{"error":{"code":"three_ds_required","type":"card_error","message":"<text>","requestId":"<req>",
				"details":{"helpUrl":"<url>","transactionId":"<txn>","redirectUrl":"<url>"}}}`)
			id := r.Want(t, http.StatusPaymentRequired).Text(t, "error.details.transactionId")
			if got := o.Status(t, id); got != "pending" {
				t.Errorf("a challenged payment is %s, want pending", got)
			}
			return id
		}
		passed := challenged()
		o.Simulate(t, passed, "paid").Is(t, http.StatusOK, fmt.Sprintf(`{"id":%q,"status":"completed","eventsFired":["payment.completed","payment.captured"]}`, passed))
		r := o.Get(t, "/payments/"+passed)
		if r.Text(t, "status") != "completed" || r.Text(t, "failure") != "<nil>" {
			t.Errorf("want the payment completed without a failure: %s", r)
		}
		missed := challenged()
		o.Simulate(t, missed, "failed").Is(t, http.StatusOK, fmt.Sprintf(`{"id":%q,"status":"failed","eventsFired":["payment.failed"]}`, missed))
		r = o.Get(t, "/payments/"+missed)
		if r.Text(t, "status") != "failed" || r.Text(t, "failure.code") != "three_ds_failed" {
			t.Errorf("want the payment failed with three_ds_failed: %s", r)
		}
		abandoned := challenged()
		s.Clock.Advance(31 * time.Minute)
		s.Sweep(t, "the abandoned challenge has ended", func() bool { return o.Status(t, abandoned) == "failed" })
		if code := o.Get(t, "/payments/"+abandoned).Text(t, "failure.code"); code != "abandoned" {
			t.Errorf("the abandoned challenge failed with %s, want abandoned", code)
		}
	})
}

// A provider that charged and did not answer is queried. Nobody is charged twice (UNK-1).
func TestUnknownOutcomeIsFoundOut(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		body := `{"amount":100.96,"paymentMethodId":"sbx_card"}`
		r := o.Post(t, "/payments", body, "Idempotency-Key: unknown").Want(t, http.StatusCreated)
		id := r.Text(t, "transactionId")
		if r.Text(t, "status") != "processing" || o.Status(t, id) != "processing" || o.Total(t, url.Values{"status": {"processing"}}) != "1" {
			t.Fatalf("want the payment processing in the reply and in the list: %s", r)
		}
		s.Clock.Advance(31 * time.Second)
		s.Sweep(t, "a query completes the payment", func() bool { return o.Status(t, id) == "completed" })
		o.Get(t, "/me").Is(t, http.StatusOK, harness.Profile(o, `{"available":0,"pending":91.38,"frozen":0,"reserve":5.05}`))
		again := o.Post(t, "/payments", body, "Idempotency-Key: unknown")
		harness.Same(t, r, again)
	})
}

func TestCascadeTakesThePaymentToWhoCan(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const well = sandbox.NoFault
		for _, c := range []struct {
			name   string
			faults [3]sandbox.Fault
			method string
			want   string
			status string
		}{
			{"the first declines softly", [3]sandbox.Fault{sandbox.Decline, well, well}, "sbx_card", "201", "completed"},
			{"two cannot", [3]sandbox.Fault{sandbox.Error, sandbox.Down, well}, "sbx_card", "201", "completed"},
			{"the first is down for a voucher", [3]sandbox.Fault{sandbox.Down, well, well}, "sbx_cash", "201", "pending"},
			{"the first does not answer", [3]sandbox.Fault{sandbox.Timeout, well, well}, "sbx_card", "201", "processing"},
			{"the second does not answer", [3]sandbox.Fault{sandbox.Error, sandbox.Timeout, well}, "sbx_cash", "201", "processing"},
			{"all are down", [3]sandbox.Fault{sandbox.Down, sandbox.Down, sandbox.Down}, "sbx_cash", "422 cascade_exhausted routing_error reason=all_providers_failed", "failed"},
			{"all fail", [3]sandbox.Fault{sandbox.Error, sandbox.Error, sandbox.Error}, "sbx_card", "422 cascade_exhausted routing_error reason=all_providers_failed", "failed"},
			{"all decline", [3]sandbox.Fault{sandbox.Decline, sandbox.Decline, sandbox.Decline}, "sbx_cash", "422 cascade_exhausted routing_error reason=all_providers_failed", "failed"},
			{"all decline a card", [3]sandbox.Fault{sandbox.Decline, sandbox.Decline, sandbox.Decline}, "sbx_card", "422 cascade_exhausted routing_error reason=all_providers_failed", "failed"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s.Upstream(t, c.faults[:]...)
				defer s.Upstream(t, well, well, well)
				r := o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"`+c.method+`"}`)
				r.Refused(t, c.want)
				at := "transactionId"
				if r.Status >= 400 {
					at = "error.details.transactionId"
					if _, ok := r.At(t, "error.details.attempts.2"); !ok {
						t.Errorf("want three attempts: %s", r)
					}
				}
				id := r.Text(t, at)
				if got := o.Status(t, id); got != c.status {
					t.Errorf("the payment is %s, want %s", got, c.status)
				}
				if c.status == "pending" { // by the provider that accepted it
					o.Simulate(t, id, "paid").Want(t, http.StatusOK)
				}
			})
		}
		t.Run("a provider that had the charge after all", func(t *testing.T) {
			s.Clock.Advance(31 * time.Second)
			s.Sweep(t, "no payment is processing", func() bool { return o.Total(t, url.Values{"status": {"processing"}}) == "0" })
			if n := o.Total(t, url.Values{"status": {"failed"}}); n != "4" {
				t.Errorf("%s payments failed, want the 4 that no provider accepted", n)
			}
		})
	})
}
