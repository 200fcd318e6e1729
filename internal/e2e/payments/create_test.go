package payments

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func TestPaymentLooksTheSameOnEveryEndpoint(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for _, m := range harness.SandboxMethods {
			body := fmt.Sprintf(`{"amount":25.50,"paymentMethodId":%q,"documentId":%q,"merchantOrderId":"order %s","userName":"Ana Souza","userEmail":"ana@example.com"}`, m.Id, m.Document, m.Id)
			common := fmt.Sprintf(`"status":%q,"amount":25.5,"currency":"USD","amountLocal":%s,"currencyLocal":%q,
				"paymentMethodId":%q,"paymentMethod":%q,"country":%q,"merchantOrderId":"order %s",
				"fees":{"platform":%s,"provider":%s,"network":0,"total":%s}`,
				m.Status, m.Local, m.Currency, m.Id, m.Method, m.Country, m.Id, m.Platform, m.Provider, m.Total)
			created := fmt.Sprintf(`{"transactionId":"<txn>",%s,"fxRate":%s,
				"settlement":{"type":"delayed","delay":"48h","status":"pending","reserve":%s},
				"paymentFormUrl":"<url>","paymentData":{},"expiresAt":"<time>","timestamps":{"created":"<time>","updated":"<time>"}}`,
				common, m.Rate, m.Held)
			refundable, completed := "0", ""
			if m.Status == "completed" {
				refundable, completed = m.Local, `,"completed":"<time>"`
			}
			document := ""
			if m.Document != "" {
				document = fmt.Sprintf(`,"documentId":%q`, m.Document)
			}
			row := fmt.Sprintf(`"id":"<txn>",%s,"settlement":{"type":"delayed","delay":"48h","status":"pending"},
				"refundedAmountLocal":0,"refundableAmountLocal":%s,"failure":null,"attention":null,"installments":null,
				"timestamps":{"created":"<time>","updated":"<time>"%s},
				"fxRate":%s,"paymentFormUrl":"<url>","expiresAt":"<time>","userName":"Ana Souza","userEmail":"ana@example.com"%s`,
				common, refundable, completed, m.Rate, document)
			for _, alias := range []string{"/payments", "/transactions"} {
				r := o.Post(t, alias, body)
				r.Is(t, http.StatusCreated, created)
				id := r.Want(t, http.StatusCreated).Text(t, "transactionId")
				for _, read := range []string{"/payments", "/transactions"} {
					o.Get(t, read+"/"+id).Is(t, http.StatusOK, fmt.Sprintf(`{%s,"paymentData":%s}`, row, m.Data))
					o.Get(t, read+"?limit=1").Is(t, http.StatusOK, fmt.Sprintf(`{"data":[{%s}],"pagination":{"total":%s,"limit":1,"offset":0,"pages":%[2]s,"nextCursor":%[3]s}}`,
						row, o.Total(t, nil), harness.Cursor([]string{id}, harness.IDs(t, o.Get(t, read)))))
				}
			}
		}
	})
}

func TestHostedCheckoutAddsOurOwnURL(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const back = "https://shop.example/thanks?order=1&lang=es"
		for _, c := range []struct{ name, fields, query string }{
			{"with a return URL", `,"hostedCheckout":true,"returnUrl":"` + back + `"`, "?returnUrl=" + url.QueryEscape(back)},
			{"without", `,"hostedCheckout":true`, ""},
		} {
			r := o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_pse"`+c.fields+`}`).Want(t, http.StatusCreated)
			want := s.Keyed(s.URL+"/c/"+r.Text(t, "transactionId")+c.query, r.Text(t, "transactionId"))
			if got := r.Text(t, "checkoutUrl"); got != want {
				t.Errorf("%s: checkoutUrl is %s, want %s", c.name, got, want)
			}
		}
		r := o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_pse","hostedCheckout":false,"returnUrl":"`+back+`"}`)
		if _, ok := r.Want(t, http.StatusCreated).At(t, "checkoutUrl"); ok {
			t.Errorf("a direct charge has a checkoutUrl: %s", r)
		}
	})
}

func TestPaymentIsAcceptedAtEveryLimit(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		email := strings.Repeat("a", 254-len("@b.example")) + "@b.example"
		for _, c := range []struct{ name, body, field, want string }{
			{"an exponent", `{"amount":1e2,"paymentMethodId":"sbx_card"}`, "amount", "100"},
			{"trailing zeros", `{"amount":25.500,"paymentMethodId":"sbx_card"}`, "amount", "25.5"},
			{"the smallest amount", `{"amount":0.01,"paymentMethodId":"sbx_card"}`, "amount", "0.01"},
			{"the largest amount", `{"amount":100000,"paymentMethodId":"sbx_card"}`, "amount", "100000"},
			{"a cent more than a float can say", `{"amount":90071.99,"paymentMethodId":"sbx_card"}`, "amount", "90071.99"},
			{"the smallest cash amount", `{"amount":0.55,"paymentMethodId":"sbx_cash"}`, "amountLocal", "10.1"},
			{"the largest cash amount", `{"amount":544.95,"paymentMethodId":"sbx_cash"}`, "amountLocal", "9999.84"},
			{"country in lower case", `{"amount":10,"paymentMethodId":"sbx_pse","country":"br"}`, "country", "BRA"},
			{"country of two letters", `{"amount":10,"paymentMethodId":"sbx_pse","country":"BR"}`, "currencyLocal", "BRL"},
			{"country of three letters", `{"amount":10,"paymentMethodId":"sbx_pse","country":"BRA"}`, "amountLocal", "54"},
			{"country of the method", `{"amount":10,"paymentMethodId":"sbx_pse"}`, "country", "COL"},
			{"a legacy slug", `{"amount":10,"paymentMethod":"bank_transfer"}`, "paymentMethodId", "sbx_pse"},
			{"a legacy slug beside an id", `{"amount":10,"paymentMethod":"pix","paymentMethodId":"sbx_card"}`, "paymentMethod", "card"},
			{"a production method with a test key", `{"amount":10,"paymentMethod":"oxxo","country":"MX"}`, "status", "pending"},
			{"an email of 254 characters", `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"` + email + `"}`, "status", "completed"},
			{"a name of 120 characters", `{"amount":10,"paymentMethodId":"sbx_card","userName":"` + strings.Repeat("ñ", 120) + `"}`, "status", "completed"},
			{"a phone of 40 characters", `{"amount":10,"paymentMethodId":"sbx_card","userPhone":"` + strings.Repeat("5", 40) + `"}`, "status", "completed"},
			{"an order id of 120 characters", `{"amount":10,"paymentMethodId":"sbx_card","merchantOrderId":"` + strings.Repeat("ñ", 120) + `"}`,
				"merchantOrderId", strings.Repeat("ñ", 120)},
			{"unknown fields", `{"amount":10,"paymentMethodId":"sbx_card","colour":{"red":[1,null]},"transactionId":"TXN-1"}`, "status", "completed"},
			{"null for what may be absent", `{"amount":10,"paymentMethodId":"sbx_card","country":null,"userEmail":null,"userName":null,"userIp":null,` +
				`"documentId":null,"merchantOrderId":null,"hostedCheckout":null,"returnUrl":null,"merchantId":null,"shopId":null,"paymentMethod":null}`, "country", "USA"},
			{"its own shop and merchant", `{"amount":10,"paymentMethodId":"sbx_card","shopId":"` + o.Shop.ID + `","merchantId":"` + o.Merchant.ID + `"}`, "status", "completed"},
			{"a body of 1 MiB", harness.OneMiB(`{"amount":10,"paymentMethodId":"sbx_card"}`), "status", "completed"},
			{"an escape that is no NUL", `{"amount":10,"paymentMethodId":"sbx_card","userName":"a \\u0000 b"}`, "status", "completed"},
		} {
			r := o.Post(t, "/payments", c.body)
			if r.Status != http.StatusCreated || r.Text(t, c.field) != c.want {
				t.Errorf("%s: want 201 with %s %q, got %s", c.name, c.field, c.want, r)
			}
		}
		o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_card"}`, "Content-Type: Application/JSON; charset=utf-8").Want(t, http.StatusCreated)
		o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_card"}`, "Service-Version: 2026-11-21").Want(t, http.StatusCreated)
		o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_card"}`, "Idempotency-Key: "+strings.Repeat("k", 255)).Want(t, http.StatusCreated)
	})
}

// Some providers take no payment without a phone: it reaches them from a payment, and from a session with a method.
func TestProviderGetsThePhone(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const phone = "+55 11 98765 4321"
		for _, c := range []struct{ path, body, id string }{
			{"/payments", `{"amount":10,"paymentMethodId":"sbx_cash","userPhone":" ` + phone + ` "}`, "transactionId"},
			{"/checkout/sessions", `{"amount":10,"paymentMethodId":"sbx_cash",` + harness.Ana + `}`, "sessionId"},
		} {
			id := o.Post(t, c.path, c.body).Want(t, http.StatusCreated).Text(t, c.id)
			p, err := s.App.Store.Payments().Any(t.Context(), id)
			harness.Must(t, err)
			if p.Order.Buyer.Phone != phone {
				t.Errorf("%s: the payment's phone is %q", c.path, p.Order.Buyer.Phone)
			}
		}
	})
}
