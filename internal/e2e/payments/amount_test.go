package payments

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// Every operation with an amount accepts the amount at a limit, and refuses an amount beyond it with
// the same code (PAY-14).
func TestAmountsAreRefusedAlikeByEveryEntry(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Fund(t, false, 100_000_00)
		o.Wallet(t)
		paid := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_card"}`)
		const ok = ""
		asks := map[string]string{ // in USD unless it has a currency; 540000 BRL are 100000 USD
			"0.01": ok, "100000": ok, `540000,"currency":"BRL"`: ok,
			"0": "amount_invalid", "-0.01": "amount_invalid", "0.001": "amount_invalid", `0,"currency":"BRL"`: "amount_invalid",
			"100000.01": "amount_above_maximum", "1e30": "amount_above_maximum", "1e400": "amount_above_maximum",
			`540000.06,"currency":"BRL"`: "amount_above_maximum", `1e30,"currency":"BRL"`: "amount_above_maximum",
		}
		for _, entry := range []struct {
			name, path, rest string
			cases            map[string]string
		}{
			{"a payment", "/payments", `,"paymentMethodId":"sbx_card"`, asks},
			{"a payment by its other name", "/transactions", `,"paymentMethodId":"sbx_card"`, asks},
			{"a session", "/checkout/sessions", "," + harness.Ana, asks},
			{"a payment link", "/checkout/sessions", `,"paymentMethodId":"sbx_card"`, asks},
			{"a refund", "/payments/" + paid + "/refund", "", map[string]string{
				"0": "amount_invalid", "-0.01": "amount_invalid", "0.001": "amount_invalid",
				"25.51": "amount_above_maximum", "1e30": "amount_above_maximum", "1e400": "amount_above_maximum",
			}},
			{"all of a refund", "/payments/" + paid + "/refund", "", map[string]string{"25.5": ok}},
			{"a withdrawal", "/withdrawals", "", map[string]string{
				"0": "amount_invalid", "-0.01": "amount_invalid", "0.001": "amount_invalid",
				"3": "amount_below_minimum", "3.01": ok, "1e30": "amount_above_maximum", "1e400": "amount_above_maximum",
			}},
		} {
			for amount, want := range entry.cases {
				r := o.Post(t, entry.path, `{"amount":`+amount+entry.rest+`}`)
				if want == ok && r.Status != http.StatusCreated && r.Status != http.StatusOK {
					t.Errorf("%s of %s is refused: %s", entry.name, amount, r)
				} else if want != ok && !strings.HasPrefix(r.Problem(t), "400 "+want+" invalid_request_error param=amount") {
					t.Errorf("%s of %s: want %s, got %s", entry.name, amount, want, r.Problem(t))
				}
			}
		}
	})
}
