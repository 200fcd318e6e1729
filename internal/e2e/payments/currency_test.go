package payments

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// A payment may be requested in a currency other than USD. Its value in USD follows the known rate.
// A shopper who pays in that currency pays exactly the requested amount, also in a session.
func TestPaymentInTheShopsCurrency(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for _, c := range []struct{ amount, currency, method, usd, local, localCurrency, rate string }{
			// 100 BRL are 18.51 USD, but 18.51 USD are 99.96 BRL.
			{"100", "BRL", "sbx_pix", "18.51", "100", "BRL", "5.4"},
			{"100", "brl", "sbx_spei", "18.51", "339.66", "MXN", "18.35"},
			{"101", "BRL", "sbx_card", "18.7", "18.7", "USD", "1"},
			{"50000", "CLP", "sbx_pse", "52.91", "218015.66", "COP", "4120.5"},
			{"25.5", "USD", "sbx_pix", "25.5", "137.7", "BRL", "5.4"},
			{"540000", "BRL", "sbx_card", "100000", "100000", "USD", "1"},
			{"10000", "MXN", "sbx_cash", "544.95", "10000", "MXN", "18.35"}, // the method's maximum, exactly
			{"10", "MXN", "sbx_cash", "0.54", "10", "MXN", "18.35"},         // the method's minimum, exactly
		} {
			body := fmt.Sprintf(`{"amount":%s,"currency":%q,"paymentMethodId":%q,"documentId":"52998224725"}`, c.amount, c.currency, c.method)
			asked := strings.ToUpper(c.currency)
			made := o.Post(t, "/payments", body).Want(t, http.StatusCreated)
			shot := o.Post(t, "/checkout/sessions", body).Want(t, http.StatusCreated)
			if shot.Text(t, "amount") != c.amount || shot.Text(t, "currency") != asked || shot.Text(t, "amountLocal") != c.local || shot.Text(t, "fxRate") != c.rate {
				t.Errorf("a session of %s %s over %s is %s", c.amount, c.currency, c.method, shot)
			}
			id := shot.Text(t, "sessionId")
			if seen := o.Shopper(id).Read(t); seen.Text(t, "amount") != c.amount || seen.Text(t, "currency") != asked {
				t.Errorf("the shopper sees a session of %s %s as %s", c.amount, c.currency, seen)
			}
			for _, p := range []harness.Reply{made, o.Get(t, "/payments/"+made.Text(t, "transactionId")), o.Get(t, "/payments/"+id), o.Get(t, "/payments?limit=1")} {
				at := ""
				if _, list := p.At(t, "data"); list {
					at = "data.0."
				}
				if p.Text(t, at+"amount") != c.usd || p.Text(t, at+"currency") != "USD" || p.Text(t, at+"amountLocal") != c.local ||
					p.Text(t, at+"currencyLocal") != c.localCurrency || p.Text(t, at+"fxRate") != c.rate {
					t.Errorf("%s %s over %s: want %s USD and %s %s at %s: %s", c.amount, c.currency, c.method, c.usd, c.local, c.localCurrency, c.rate, p)
				}
				requested, told := p.At(t, at+"amountRequested")
				switch {
				case told != (asked != "USD"):
					t.Errorf("a payment in %s has amountRequested: %t; want it only in other currencies than USD", asked, told)
				case told && (fmt.Sprint(requested) != c.amount || p.Text(t, at+"currencyRequested") != asked):
					t.Errorf("want %s %s requested: %s", c.amount, asked, p)
				}
			}
			if made.Text(t, "status") == "pending" {
				o.Simulate(t, made.Text(t, "transactionId"), "paid").Want(t, http.StatusOK)
				o.Refund(t, made.Text(t, "transactionId"), `{}`).Want(t, http.StatusOK)
			}
		}
	})
}

func TestCurrencyOfAPaymentIsChecked(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for name, c := range map[string]struct{ fields, want string }{
			"without a rate":         {`"amount":25.5,"currency":"KWD"`, "400 unsupported_currency invalid_request_error param=currency"},
			"no currency":            {`"amount":25.5,"currency":"AAA"`, "400 invalid_request invalid_request_error param=currency issues=currency"},
			"decimals that it lacks": {`"amount":1000.5,"currency":"CLP"`, "400 amount_invalid invalid_request_error param=amount issues=amount"},
			"above the maximum":      {`"amount":540000.06,"currency":"BRL"`, "400 amount_above_maximum invalid_request_error param=amount"},
			"far above it":           {`"amount":1e30,"currency":"BRL"`, "400 amount_above_maximum invalid_request_error param=amount issues=amount"},
			"half a cent":            {`"amount":0.01,"currency":"ARS"`, "400 amount_invalid invalid_request_error param=amount"},
			"nothing":                {`"currency":"BRL"`, "400 missing_field invalid_request_error param=amount issues=amount missing=amount"},
		} {
			t.Run(name, func(t *testing.T) {
				r := o.Post(t, "/payments", `{"paymentMethodId":"sbx_card",`+c.fields+`}`)
				r.Refused(t, c.want)
				if name == "half a cent" && !strings.Contains(r.Text(t, "error.message"), "0.01 ARS are worth less than 0.01 USD: send more") {
					t.Errorf("want a message about the amount's value in USD, because the amount is above zero: %s", r)
				}
			})
		}
		// The rail's limits apply to what the shopper pays.
		over := o.Post(t, "/payments", `{"amount":10000.01,"currency":"MXN","paymentMethodId":"sbx_cash"}`).Want(t, http.StatusUnprocessableEntity)
		if over.Text(t, "error.code") != "amount_out_of_limits" || over.Text(t, "error.details.boundViolated") != "max" {
			t.Errorf("a centavo above the method's maximum returns %s", over)
		}
		// An Idempotency-Key belongs to one body.
		const conflict = "409 idempotency_conflict idempotency_error reason=body_differs"
		const body = `{"amount":100,"currency":"%s","paymentMethodId":"sbx_pix","documentId":"52998224725"}`
		for _, path := range []string{"/payments", "/checkout/sessions"} {
			first := o.Post(t, path, fmt.Sprintf(body, "BRL"), "Idempotency-Key: one").Want(t, http.StatusCreated)
			harness.Same(t, first, o.Post(t, path, fmt.Sprintf(body, "BRL"), "Idempotency-Key: one"))
			o.Post(t, path, fmt.Sprintf(body, "MXN"), "Idempotency-Key: one").Refused(t, conflict)
			o.Post(t, path, strings.Replace(fmt.Sprintf(body, "BRL"), `"currency":"BRL",`, "", 1), "Idempotency-Key: one").Refused(t, conflict)
		}
	})
}

// A shopper who tries again pays the amount that the shop requested in its currency, even if the rate
// has changed.
func TestRetryAsksInTheShopsCurrency(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		r := o.Post(t, "/payments", `{"amount":100,"currency":"BRL","paymentMethodId":"sbx_pix","documentId":"52998224725","hostedCheckout":true,"metadata":{"cart":"7"}}`)
		id := r.Want(t, http.StatusCreated).Text(t, "transactionId")
		o.Simulate(t, id, "failed").Want(t, http.StatusOK)
		s.Rate(t, "BRL 5")
		token, err := s.App.Sessions.RetryPayment(ctx, id)
		harness.Must(t, err)
		again := o.Shopper(token)
		seen := again.Read(t)
		if seen.Text(t, "amount") != "100" || seen.Text(t, "currency") != "BRL" {
			t.Errorf("the new session is %s, want 100 BRL", seen)
		}
		if _, told := seen.At(t, "metadata"); told {
			t.Errorf("the new session shows the metadata to anybody who knows the payment's id: %s", seen)
		}
		next := again.Choose(t, harness.Choice("sbx_pix")).Want(t, http.StatusCreated).Text(t, "transactionId")
		p := o.Get(t, "/payments/"+next)
		if p.Text(t, "amount") != "20" || p.Text(t, "amountLocal") != "100" || p.Text(t, "amountRequested") != "100" || p.Text(t, "metadata.cart") != "7" {
			t.Errorf("the second payment is %s", p)
		}
	})
}

// With expand, the reply to a new payment has what the shopper needs to pay.
func TestCreateExpandsPaymentData(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for _, m := range harness.SandboxMethods {
			for _, path := range []string{"/payments", "/transactions", "/checkout/sessions"} {
				body := fmt.Sprintf(`{"amount":25.50,"paymentMethodId":%q,"documentId":%q,"expand":["paymentData"]}`, m.Id, m.Document)
				key := "Idempotency-Key: " + m.Id + path
				r := o.Post(t, path, body, key).Want(t, http.StatusCreated)
				id := "transactionId"
				if path == "/checkout/sessions" {
					id = "sessionId"
				}
				got, _ := r.At(t, "paymentData")
				want, _ := o.Get(t, "/payments/"+r.Text(t, id)).At(t, "paymentData")
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s %s: the create reply has the paymentData %v, but a read has %v", path, m.Id, got, want)
				}
				harness.Same(t, r, o.Post(t, path, body, key))
			}
		}
		plain := o.Post(t, "/checkout/sessions", harness.Card).Want(t, http.StatusCreated)
		if _, told := plain.At(t, "paymentData"); told {
			t.Errorf("without expand the reply has paymentData: %s", plain)
		}
		for _, path := range []string{"/payments", "/checkout/sessions"} {
			r := o.Post(t, path, `{"amount":25.5,"paymentMethodId":"sbx_card","expand":["paymentData","fees"]}`)
			r.Refused(t, "400 invalid_request invalid_request_error param=expand issues=expand")
			if !strings.Contains(r.Text(t, "error.message"), "paymentData") {
				t.Errorf("the error does not name what can be expanded: %s", r)
			}
		}
		o.Post(t, "/checkout/sessions", `{"amount":10,"expand":["paymentData"],`+harness.Ana+`}`).Refused(t, "400 invalid_request invalid_request_error param=expand issues=expand")
	})
}

// A read of a payment has the same fields as the create reply, and the customer. A hosted payment
// has only addresses of the service.
func TestPaymentKeepsWhatCreateTold(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const buyer = `"userName":"Ana Souza","userEmail":"Ana@example.com","documentId":"529.982.247-25"`
		for name, c := range map[string]struct {
			method, fields string
			hosted         bool
		}{
			"direct":                    {"sbx_pix", "", false},
			"hosted":                    {"sbx_pix", `,"hostedCheckout":true,"returnUrl":"https://shop.example/thanks"`, true},
			"hosted, at the provider's": {"sbx_pse", `,"hostedCheckout":true`, true},
		} {
			t.Run(name, func(t *testing.T) {
				made := o.Post(t, "/payments", fmt.Sprintf(`{"amount":25.5,"paymentMethodId":%q,%s%s}`, c.method, buyer, c.fields)).Want(t, http.StatusCreated)
				id := made.Text(t, "transactionId")
				read, list := o.Get(t, "/payments/"+id), o.Get(t, "/payments?limit=1")
				for _, field := range []string{"paymentFormUrl", "checkoutUrl", "expiresAt", "fxRate"} {
					want, _ := made.At(t, field)
					if text, ok := want.(string); ok { // only who created it gets the key of its page
						want = harness.Keyless(text)
					}
					one, _ := read.At(t, field)
					row, _ := list.At(t, "data.0."+field)
					if fmt.Sprint(one) != fmt.Sprint(want) || fmt.Sprint(row) != fmt.Sprint(want) {
						t.Errorf("%s: the create reply has %v, the read %v, the list %v", field, want, one, row)
					}
				}
				for field, want := range map[string]string{"userName": "Ana Souza", "userEmail": "Ana@example.com", "documentId": "529.982.247-25"} {
					if read.Text(t, field) != want || list.Text(t, "data.0."+field) != want {
						t.Errorf("%s: want %s: %s", field, want, read)
					}
				}
				form, _ := made.At(t, "paymentFormUrl")
				if url := fmt.Sprint(form); c.hosted && form != nil && url != s.PageOf(id) {
					t.Errorf("paymentFormUrl of a hosted payment is %s, want our own page", url)
				}
			})
		}
		// A session's payment has the session's customer.
		token := o.Session(t, `{"amount":10,`+harness.Ana+`}`)
		id := o.Shopper(token).Choose(t, harness.Choice("sbx_pix")).Want(t, http.StatusCreated).Text(t, "transactionId")
		if p := o.Get(t, "/payments/"+id); p.Text(t, "userEmail") == "" || p.Text(t, "checkoutUrl") != s.URL+"/c/"+id {
			t.Errorf("a session's payment lacks the customer or the checkoutUrl: %s", p)
		}
	})
}

// Many small payments in the shop's currency are credited with no more than they are worth, and each costs its fees: 20
// times 1.00 BRL at 5.4 are worth 3.70 USD, each of them 0.18 (PAY-36).
func TestSmallPaymentsBringNoMoreThanTheyAreWorth(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for range 20 {
			id := o.Create(t, `{"amount":1,"currency":"BRL","paymentMethodId":"sbx_pix","documentId":"52998224725"}`)
			o.Simulate(t, id, "paid").Want(t, http.StatusOK)
		}
		b := o.Get(t, "/me/balance")
		if gross, fees := b.Text(t, "feeSummary.grossVolume"), b.Text(t, "feeSummary.totalFees"); gross != "3.6" || fees != "0.4" {
			t.Errorf("20 payments of 1 BRL are %s USD with fees of %s, want 3.6 with 0.4: %s", gross, fees, b)
		}
		have, err := s.App.Store.Books().Balances(ctx, merchants.Scope{Merchant: o.Merchant.ID})
		harness.Must(t, err)
		if have[ledger.Receivable] != -380 || have[ledger.Rounding] != 20 {
			t.Errorf("the provider owes %d cents, of which %d are rounding; want 20 times 0.19, and 20 times 0.01", -have[ledger.Receivable], have[ledger.Rounding])
		}
	})
}
