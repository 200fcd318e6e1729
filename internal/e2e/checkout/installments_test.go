package checkout

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// grant gives a merchant terms of installments.
func grant(t *testing.T, o harness.Client, terms string) {
	t.Helper()
	_, err := o.App.Onboarding.Agree(t.Context(), o.App.Self(), o.Merchant.ID, merchants.Agreement{Installments: &terms})
	harness.Must(t, err)
}

// card is the body of a payment in pesos by card, with some terms of installments.
func card(pesos int, installments string) string {
	return fmt.Sprintf(`{"amount":%d,"currency":"MXN","country":"MX","paymentMethodId":"sbx_card","installments":%s}`, pesos, installments)
}

// What a request asks is bound by the merchant's terms, what the catalog says follows from them, and the plain sandbox plays the
// most that is offered (PAY-43, PAY-44, SBX-17).
func TestInstallmentsAreWithinTheMerchantsTerms(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, dsn string) {
		s := harness.Start(t, dsn, &harness.Clock{})
		o := s.NewShop(t)
		paid := func(body, want string) {
			t.Helper()
			p := o.Get(t, "/payments/"+o.Create(t, body)).Want(t, http.StatusOK)
			got := "once"
			if _, some := p.At(t, "installments.count"); some {
				got = strings.Join([]string{p.Text(t, "installments.count"), p.Text(t, "installments.amountLocal"), p.Text(t, "installments.totalLocal"), p.Text(t, "installments.paidBy")}, " ")
			}
			if got != want || p.Text(t, "status") != "completed" || p.Text(t, "amountLocal") != "1200" {
				t.Errorf("%s: got %s, want %s: %s", body, got, want, p.Body)
			}
		}
		// In the sandbox a merchant without terms may try them; who does not ask gets none.
		paid(card(1200, `null`), "once")
		paid(card(1200, `{"max":6,"interestFree":6}`), "6 200 1200 merchant")
		grant(t, o, "card.*:3/3,card.MEX:6/0,card.MEX:12/6@MXN:1000")
		paid(card(1200, `null`), "once") // it answers at once: there is no page to choose on
		paid(card(1200, `{}`), "once")
		paid(card(1200, `{"min":1}`), "12 124 1488 shopper")
		paid(card(1200, `{"max":1}`), "once")
		paid(card(1200, `{"max":6}`), "6 200 1200 merchant")
		paid(card(1200, `{"max":6,"interestFree":0}`), "6 224 1344 shopper")
		paid(card(1200, `{"min":250.5}`), "4 300 1200 merchant")
		paid(card(1200, `{"min":601}`), "once")
		for body, want := range map[string]string{
			card(1200, `{"max":18}`):                  "installments.max must be at most 12",
			card(1200, `{"max":12,"interestFree":7}`): "installments.interestFree must be at most 6",
			card(900, `{"max":12}`):                   "installments.max must be at most 6",
			card(900, `{"interestFree":3}`):           "grant no installments without interest",
			card(1200, `{"max":3,"interestFree":4}`):  "installments.interestFree must be at most installments.max, which is 3",
			card(1200, `{"max":0}`):                   "installments.max",
			card(1200, `{"min":"50"}`):                "installments.min must be a number above 0",
			`{"amount":900,"currency":"MXN","paymentMethodId":"sbx_spei","documentId":"XEXX010101000","installments":{"max":3}}`: "grant no installments for this payment method",
		} {
			r := o.Post(t, "/payments", body).Want(t, http.StatusBadRequest)
			if r.Text(t, "error.code") != "invalid_request" || !strings.Contains(r.Text(t, "error.message"), want) || !strings.HasPrefix(r.Text(t, "error.param"), "installments") {
				t.Errorf("%s: got %s, want %s", body, r.Body, want)
			}
		}
		methods := o.Get(t, "/payment-methods").Want(t, http.StatusOK)
		// The catalog says from which amount on: a shop can know before it asks for too many (card.MEX:12/6@MXN:1000).
		var steps []string
		for i := range 3 {
			at := fmt.Sprintf("methods.3.installments.steps.%d.", i)
			from, _ := methods.At(t, at+"from")
			steps = append(steps, fmt.Sprint(from, " ", methods.Text(t, at+"currency"), " ", methods.Text(t, at+"max")))
		}
		if got := strings.Join(steps, ", "); got != "<nil> <nil> 3, <nil> <nil> 6, 1000 MXN 12" {
			t.Errorf("the catalog's steps are %s: %s", got, methods.Body)
		}
		for i := range 5 {
			at := fmt.Sprintf("methods.%d.", i)
			most, _ := methods.At(t, at+"installments.max")
			if id := methods.Text(t, at+"paymentMethodId"); (id == "sbx_card") != (fmt.Sprint(most) == "12") {
				t.Errorf("%s: at most %v installments: %s", id, most, methods.Body)
			}
		}
	})
}

// In production without terms there are none, and the terms of a merchant are shown and changed by operators.
func TestOperatorGrantsInstallments(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		path := "/merchants/" + o.Merchant.ID
		r := op.Patch(t, path, `{"installments":["card.MEX:12/6@MXN:3000"," card.BRA:6/0 "]}`).Want(t, http.StatusOK)
		if r.Text(t, "installments.0") != "card.MEX:12/6@MXN:3000" || r.Text(t, "installments.1") != "card.BRA:6/0" {
			t.Errorf("granted: %s", r.Body)
		}
		for _, wrong := range []string{"card.MEX", "card.MEX:12", "card.MEX:1/0", "card.MEX:6/7", "card.MEX:99/1", "card.MEX:6/3@3000", "card.MEX:6/3@MXN:0", "card.MEX:6/3\",\"card.MEX:3/3", "pix:2/2"} {
			if r := op.Patch(t, path, `{"installments":["`+wrong+`"]}`).Want(t, http.StatusBadRequest); r.Text(t, "error.param") != "installments" {
				t.Errorf("%s: %s", wrong, r.Body)
			}
		}
		if r := op.Patch(t, path, `{"tier":"premium"}`).Want(t, http.StatusOK); r.Text(t, "installments.1") != "card.BRA:6/0" {
			t.Errorf("another change drops them: %s", r.Body)
		}
		if r := op.Patch(t, path, `{"installments":[]}`).Want(t, http.StatusOK); !strings.Contains(string(r.Body), `"installments":[]`) {
			t.Errorf("they cannot be withdrawn: %s", r.Body)
		}
	})
}

// A shopper reads how many installments, how much each and the total before choosing, chooses at the bank, and reads it again
// (CHK-26).
func TestShopperChoosesInstallments(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, dsn string) {
		s := harness.Start(t, dsn, &harness.Clock{})
		o := s.NewShop(t)
		grant(t, o, "*:12/6")
		token := o.Session(t, `{"amount":600,"country":"US",`+harness.Ana+`,"installments":{"max":9}}`)
		shows(t, s, "/checkout/"+token+"?lang=en", []string{"Up to 6 × US$\u00a0100.00 without interest. Total: US$\u00a0600.00.", "Up to 9 installments with your card’s interest"})
		shows(t, s, "/checkout/"+token+"?lang=pt", []string{"Até 6x de", "sem juros"})
		// Six installments do not make 136.85: the page does not say that they do, and says the exact total.
		uneven := o.Session(t, `{"amount":136.85,"country":"US",`+harness.Ana+`}`)
		for lang, want := range map[string]string{
			"en": "Up to 6 × about US$\u00a022.81 without interest. Total: US$\u00a0136.85.", "es": "Hasta 6 cuotas de aprox. US$\u00a022.81 sin intereses. Total: US$\u00a0136.85.",
			"pt": "Até 6x de cerca de US$\u00a022.81 sem juros. Total: US$\u00a0136.85.",
		} {
			shows(t, s, "/checkout/"+uneven+"?lang="+lang, []string{want})
		}
		o.Post(t, "/checkout/sessions", `{"amount":600,"country":"US",`+harness.Ana+`,"installments":{"max":18}}`).
			Refused(t, "400 invalid_request invalid_request_error param=installments.max")

		id := o.Post(t, "/payments", `{"amount":1200,"country":"US","paymentMethodId":"sbx_card","hostedCheckout":true}`,
			"Sandbox-Strict: true").Want(t, http.StatusCreated).Text(t, "transactionId")
		shows(t, s, "/pay/"+id+"?lang=es", []string{"Hasta 6 cuotas de US$\u00a0200.00 sin intereses"})
		shows(t, s, "/sandbox/bank/"+id+"?lang=es", []string{"<option value=\"3\">3 cuotas de US$\u00a0400.00 sin intereses. Total: US$\u00a01,200.00</option>", `<option value="12">`})
		if status, _, _ := s.Browse(t, http.MethodPost, "/sandbox/bank/"+id, "action=pay&installments=13"); status != http.StatusBadRequest || o.Status(t, id) != "pending" {
			t.Errorf("installments that are not offered: %d, %s", status, o.Status(t, id))
		}
		s.Browse(t, http.MethodPost, "/sandbox/bank/"+id, "action=pay&installments=3")
		p := o.Get(t, "/payments/"+id).Want(t, http.StatusOK)
		if p.Text(t, "status") != "completed" || p.Text(t, "installments.count") != "3" || p.Text(t, "installments.totalLocal") != "1200" || p.Text(t, "installments.paidBy") != "merchant" {
			t.Errorf("paid in 3: %s", p.Body)
		}
		shows(t, s, "/pay/"+id+"?lang=es", []string{"3 cuotas de US$\u00a0400.00 sin intereses"})
	})
}
