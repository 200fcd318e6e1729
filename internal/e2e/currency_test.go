package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A payment asked for in another currency than USD is worth what the kept rate says, and a
// shopper who pays in that currency pays what was asked, as a session's does.
func TestPaymentInTheShopsCurrency(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for _, c := range []struct{ amount, currency, method, usd, local, localCurrency, rate string }{
			// 100 BRL are 18.52 USD, and those 100.01 BRL.
			{"100", "BRL", "sbx_pix", "18.52", "100", "BRL", "5.4"},
			{"100", "brl", "sbx_spei", "18.52", "339.84", "MXN", "18.35"},
			{"100", "BRL", "sbx_card", "18.52", "18.52", "USD", "1"},
			{"50000", "CLP", "sbx_pse", "52.91", "218015.66", "COP", "4120.5"},
			{"25.5", "USD", "sbx_pix", "25.5", "137.7", "BRL", "5.4"},
			{"540000", "BRL", "sbx_card", "100000", "100000", "USD", "1"},
			{"10000", "MXN", "sbx_cash", "544.96", "10000", "MXN", "18.35"}, // the method's maximum, exactly
			{"10", "MXN", "sbx_cash", "0.54", "10", "MXN", "18.35"},         // and its minimum
		} {
			body := fmt.Sprintf(`{"amount":%s,"currency":%q,"paymentMethodId":%q,"documentId":"52998224725"}`, c.amount, c.currency, c.method)
			asked := strings.ToUpper(c.currency)
			made := o.post(t, "/payments", body).want(t, http.StatusCreated)
			shot := o.post(t, "/checkout/sessions", body).want(t, http.StatusCreated)
			if shot.text(t, "amount") != c.amount || shot.text(t, "currency") != asked || shot.text(t, "amountLocal") != c.local || shot.text(t, "fxRate") != c.rate {
				t.Errorf("a session of %s %s over %s: %s", c.amount, c.currency, c.method, shot)
			}
			id := shot.text(t, "sessionId")
			if seen := o.shopper(id).read(t); seen.text(t, "amount") != c.amount || seen.text(t, "currency") != asked {
				t.Errorf("a session of %s %s is shown as %s", c.amount, c.currency, seen)
			}
			for _, p := range []reply{made, o.get(t, "/payments/"+made.text(t, "transactionId")), o.get(t, "/payments/"+id), o.get(t, "/payments?limit=1")} {
				at := ""
				if _, list := p.at(t, "data"); list {
					at = "data.0."
				}
				if p.text(t, at+"amount") != c.usd || p.text(t, at+"currency") != "USD" || p.text(t, at+"amountLocal") != c.local ||
					p.text(t, at+"currencyLocal") != c.localCurrency || p.text(t, at+"fxRate") != c.rate {
					t.Errorf("%s %s over %s: want %s USD and %s %s at %s: %s", c.amount, c.currency, c.method, c.usd, c.local, c.localCurrency, c.rate, p)
				}
				requested, told := p.at(t, at+"amountRequested")
				switch {
				case told != (asked != "USD"):
					t.Errorf("amountRequested of %s is told: %t", asked, told)
				case told && (fmt.Sprint(requested) != c.amount || p.text(t, at+"currencyRequested") != asked):
					t.Errorf("want %s %s requested: %s", c.amount, asked, p)
				}
			}
			if made.text(t, "status") == "pending" {
				o.simulate(t, made.text(t, "transactionId"), "paid").want(t, http.StatusOK)
				o.refund(t, made.text(t, "transactionId"), `{}`).want(t, http.StatusOK)
			}
		}
	})
}

func TestCurrencyOfAPaymentIsChecked(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
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
				r := o.post(t, "/payments", `{"paymentMethodId":"sbx_card",`+c.fields+`}`)
				r.refused(t, c.want)
				if name == "half a cent" && !strings.Contains(r.text(t, "error.message"), "0.01 ARS are worth less than 0.01 USD: send more") {
					t.Errorf("who sent more than zero is told %s", r) // of what it is worth, for it is above zero
				}
			})
		}
		// The rail's limits are of what the shopper pays: a centavo more is too much.
		over := o.post(t, "/payments", `{"amount":10000.01,"currency":"MXN","paymentMethodId":"sbx_cash"}`).want(t, http.StatusUnprocessableEntity)
		if over.text(t, "error.code") != "amount_out_of_limits" || over.text(t, "error.details.boundViolated") != "max" {
			t.Errorf("a centavo above the method's maximum: %s", over)
		}
		// One key stands for one body.
		const conflict = "409 idempotency_conflict idempotency_error reason=body_differs"
		const body = `{"amount":100,"currency":"%s","paymentMethodId":"sbx_pix","documentId":"52998224725"}`
		for _, path := range []string{"/payments", "/checkout/sessions"} {
			first := o.post(t, path, fmt.Sprintf(body, "BRL"), "Idempotency-Key: one").want(t, http.StatusCreated)
			same(t, first, o.post(t, path, fmt.Sprintf(body, "BRL"), "Idempotency-Key: one"))
			o.post(t, path, fmt.Sprintf(body, "MXN"), "Idempotency-Key: one").refused(t, conflict)
			o.post(t, path, strings.Replace(fmt.Sprintf(body, "BRL"), `"currency":"BRL",`, "", 1), "Idempotency-Key: one").refused(t, conflict)
		}
	})
}

// A shopper who tries again pays what the shop asked, in its own currency, though the rate
// has moved.
func TestRetryAsksInTheShopsCurrency(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		r := o.post(t, "/payments", `{"amount":100,"currency":"BRL","paymentMethodId":"sbx_pix","documentId":"52998224725","hostedCheckout":true,"metadata":{"cart":"7"}}`)
		id := r.want(t, http.StatusCreated).text(t, "transactionId")
		o.simulate(t, id, "failed").want(t, http.StatusOK)
		s.rate(t, "BRL 5")
		token, err := s.App.Sessions.RetryPayment(ctx, id)
		must(t, err)
		again := o.shopper(token)
		seen := again.read(t)
		if seen.text(t, "amount") != "100" || seen.text(t, "currency") != "BRL" {
			t.Errorf("the shopper who tries again is asked for %s", seen)
		}
		if _, told := seen.at(t, "metadata"); told {
			t.Errorf("whoever has a payment's id sees its metadata: %s", seen)
		}
		next := again.choose(t, choice("sbx_pix")).want(t, http.StatusCreated).text(t, "transactionId")
		p := o.get(t, "/payments/"+next)
		if p.text(t, "amount") != "20" || p.text(t, "amountLocal") != "100" || p.text(t, "amountRequested") != "100" || p.text(t, "metadata.cart") != "7" {
			t.Errorf("the second payment is %s", p)
		}
	})
}

// Create replies with what the shopper needs to pay where it is asked for that.
func TestCreateExpandsPaymentData(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for _, m := range sandboxMethods {
			for _, path := range []string{"/payments", "/transactions", "/checkout/sessions"} {
				body := fmt.Sprintf(`{"amount":25.50,"paymentMethodId":%q,"documentId":%q,"expand":["paymentData"]}`, m.id, m.document)
				key := "Idempotency-Key: " + m.id + path
				r := o.post(t, path, body, key).want(t, http.StatusCreated)
				id := "transactionId"
				if path == "/checkout/sessions" {
					id = "sessionId"
				}
				got, _ := r.at(t, "paymentData")
				want, _ := o.get(t, "/payments/"+r.text(t, id)).at(t, "paymentData")
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s %s: create tells %v, and get %v", path, m.id, got, want)
				}
				same(t, r, o.post(t, path, body, key))
			}
		}
		plain := o.post(t, "/checkout/sessions", card).want(t, http.StatusCreated)
		if _, told := plain.at(t, "paymentData"); told {
			t.Errorf("nobody asked for %s", plain)
		}
		for _, path := range []string{"/payments", "/checkout/sessions"} {
			r := o.post(t, path, `{"amount":25.5,"paymentMethodId":"sbx_card","expand":["paymentData","fees"]}`)
			r.refused(t, "400 invalid_request invalid_request_error param=expand issues=expand")
			if !strings.Contains(r.text(t, "error.message"), "paymentData") {
				t.Errorf("the refusal does not name what may be expanded: %s", r)
			}
		}
		o.post(t, "/checkout/sessions", `{"amount":10,"expand":["paymentData"],`+ana+`}`).refused(t, "400 invalid_request invalid_request_error param=expand issues=expand")
	})
}

// A shop that looks at a payment sees what create told, and its own customer, and of a hosted
// one no address but ours.
func TestPaymentKeepsWhatCreateTold(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
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
				made := o.post(t, "/payments", fmt.Sprintf(`{"amount":25.5,"paymentMethodId":%q,%s%s}`, c.method, buyer, c.fields)).want(t, http.StatusCreated)
				id := made.text(t, "transactionId")
				read, list := o.get(t, "/payments/"+id), o.get(t, "/payments?limit=1")
				for _, field := range []string{"paymentFormUrl", "checkoutUrl", "expiresAt", "fxRate"} {
					want, _ := made.at(t, field)
					one, _ := read.at(t, field)
					row, _ := list.at(t, "data.0."+field)
					if fmt.Sprint(one) != fmt.Sprint(want) || fmt.Sprint(row) != fmt.Sprint(want) {
						t.Errorf("%s: create tells %v, get %v, list %v", field, want, one, row)
					}
				}
				for field, want := range map[string]string{"userName": "Ana Souza", "userEmail": "Ana@example.com", "documentId": "529.982.247-25"} {
					if read.text(t, field) != want || list.text(t, "data.0."+field) != want {
						t.Errorf("%s: want %s: %s", field, want, read)
					}
				}
				form, _ := made.at(t, "paymentFormUrl")
				if url := fmt.Sprint(form); c.hosted && form != nil && url != s.URL+"/pay/"+id {
					t.Errorf("the integrator of a hosted checkout sees %s", url)
				}
			})
		}
		// Who the shopper of a session says that he is counts.
		token := o.session(t, `{"amount":10,`+ana+`}`)
		id := o.shopper(token).choose(t, choice("sbx_pix")).want(t, http.StatusCreated).text(t, "transactionId")
		if p := o.get(t, "/payments/"+id); p.text(t, "userEmail") == "" || p.text(t, "checkoutUrl") != s.URL+"/c/"+id {
			t.Errorf("a session's payment is %s", p)
		}
	})
}
