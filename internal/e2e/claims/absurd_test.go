package claims

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// A provider's ids may be long: what it reports is booked, or kept for the operator.
func TestLongIDsOfAProvider(t *testing.T) {
	var text strings.Builder
	for x := uint32(1); text.Len() < 3000; {
		x = x*1664525 + 1013904223
		fmt.Fprintf(&text, "%08x", x)
	}
	long := text.String()
	for name, fields := range map[string]string{
		"of a refund":  `"status":"reversed","currency":"USD","amount":"1.00","refund":"` + long + `"`,
		"of a dispute": `"status":"disputed","currency":"USD","amount":"1.00","dispute":"` + long + `"`,
		"of money":     `"status":"paid","currency":"USD","amount":"7.00","money":"` + long + `"`,
		"of a notice":  `"status":"paid","currency":"USD","amount":"7.00","id":"` + long + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, func(t *testing.T, s *harness.Instance) {
				o := s.NewShop(t)
				payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
				if got := o.Notify(t, "sandbox-1", harness.NoticeBody(payment, fields)); got.Status != http.StatusOK {
					t.Errorf("it gets %d", got.Status)
				}
			})
		})
	}
}

// What a provider names by an id with U+0000 is booked or refused, and the books can be checked and settled afterwards.
func TestIDWithNULPoisonsNothing(t *testing.T) {
	for name, fields := range map[string]string{
		"of a refund":  `"status":"reversed","currency":"USD","amount":"1.00","refund":"r\u0000"`,
		"of a dispute": `"status":"disputed","currency":"USD","amount":"1.00","dispute":"d\u0000"`,
		"of money":     `"status":"paid","currency":"USD","amount":"7.00","money":"m\u0000"`,
		"of a stage":   `"status":"disputed","currency":"USD","amount":"1.00","dispute":"d","stage":"s\u0000","networkReasonCode":"c\u0000","reason":"r\u0000"`,
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, func(t *testing.T, s *harness.Instance) {
				o := s.NewShop(t)
				payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
				if got := o.Notify(t, "sandbox-1", harness.NoticeBody(payment, fields)); got.Status >= http.StatusInternalServerError {
					t.Errorf("it gets %d", got.Status)
				}
				if broken, err := s.App.Check(ctx); err != nil || len(broken) > 0 {
					t.Errorf("check: %v %v", broken, err)
				}
				for _, path := range []string{"/payments", "/payments/" + payment, "/claims", "/me/balance", "/events", "/payments?q=abc"} {
					if r := o.Get(t, path); r.Status >= http.StatusInternalServerError {
						t.Errorf("%s: %d", path, r.Status)
					}
				}
				harness.MoveTestClock(t, o, "50h")
				harness.ClosedSettlements(t, o, 1)
			})
		})
	}
}

// Money of an absurd amount is for the operator, and breaks no sum: the next money is still booked, and the books can be read.
func TestAbsurdAmountsBreakNoSum(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		first, second := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`), o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		for _, n := range []string{
			harness.NoticeBody(first, `"status":"paid","currency":"USD","amount":"92233720368547758.07","money":"m1"`),
			harness.NoticeBody(second, `"status":"paid","currency":"USD","amount":"92233720368547758.07","money":"m2"`),
			harness.NoticeBody(second, `"status":"paid","currency":"USD","amount":"7.00","money":"m3"`),
		} {
			if r := o.Notify(t, "sandbox-1", n); r.Status != http.StatusOK {
				t.Errorf("%s gets %d", n, r.Status)
			}
		}
		if broken, err := s.App.Check(ctx); err != nil || len(broken) > 0 {
			t.Errorf("check: %v, %v", broken, err)
		}
		o.Get(t, "/me/balance").Want(t, http.StatusOK)
	})
}
