package payments

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

func TestRepeatGetsTheFirstReply(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for i, c := range []struct {
			name, first, second, header string
			want                        int
		}{
			{"the same body", harness.Card, harness.Card, "", http.StatusCreated},
			{"reordered, with spaces", `{"amount":10,"paymentMethodId":"sbx_pse","userName":"a b"}`,
				" {\n\t\"userName\" : \"a b\", \"paymentMethodId\":\"sbx_pse\",\"amount\": 10 }\n", "", http.StatusCreated},
			{"escaped in another way", `{"amount":10,"paymentMethodId":"sbx_pse","userName":"ñ/"}`,
				`{"amount":10,"paymentMethodId":"sbx_pse","userName":"\u00f1\/"}`, "", http.StatusCreated},
			{"the same numbers, and null for what is absent", `{"amount":10,"paymentMethodId":"sbx_pse","lineItems":[{"name":"a","quantity":1,"unitAmount":10}]}`,
				`{"amount":10.00,"paymentMethodId":"sbx_pse","userName":null,"lineItems":[{"name":"a","quantity":1,"unitAmount":1e1,"sku":null}]}`, "", http.StatusCreated},
			{"a declined card", `{"amount":10.05,"paymentMethodId":"sbx_card"}`, `{"paymentMethodId":"sbx_card","amount":10.05}`, "", http.StatusPaymentRequired},
			{"an exhausted cascade", `{"amount":10.91,"paymentMethodId":"sbx_card"}`, `{"amount":10.91,"paymentMethodId":"sbx_card"}`, "", http.StatusUnprocessableEntity},
			{"a challenge", `{"amount":10.65,"paymentMethodId":"sbx_card"}`, `{"amount":10.65,"paymentMethodId":"sbx_card"}`, "", http.StatusPaymentRequired},
			{"an unknown outcome", `{"amount":10.96,"paymentMethodId":"sbx_card"}`, `{"amount":10.96,"paymentMethodId":"sbx_card"}`, "", http.StatusCreated},
			{"a simulation", harness.Card, harness.Card, "Sandbox-Simulate: chargeback", http.StatusCreated},
			{"a simulated decline", harness.Card, harness.Card, "Sandbox-Simulate: failed", http.StatusPaymentRequired},
		} {
			t.Run(c.name, func(t *testing.T) {
				header := []string{fmt.Sprintf("Idempotency-Key: repeat %d", i)}
				if c.header != "" {
					header = append(header, c.header)
				}
				before := o.Total(t, nil)
				first := o.Post(t, "/payments", c.first, header...).Want(t, c.want)
				after := o.Total(t, nil)
				for _, alias := range []string{"/payments", "/transactions"} { // the alias is the same route
					harness.Same(t, first, o.Post(t, alias, c.second, header...))
				}
				if n := o.Total(t, nil); n != after || n == before {
					t.Errorf("the number of payments was %s, then %s, and %s after the replays; want one more, and then no change", before, after, n)
				}
			})
		}
	})
}

func TestRepeatAfterThePaymentMovedOn(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for i, action := range []string{"paid", "failed", "expired"} {
			key := fmt.Sprintf("Idempotency-Key: moved-%d", i)
			first := o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_cash","hostedCheckout":true}`, key).Want(t, http.StatusCreated)
			id := first.Text(t, "transactionId")
			o.Simulate(t, id, action).Want(t, http.StatusOK)
			harness.Same(t, first, o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_cash","hostedCheckout":true}`, key))
			if action == "paid" {
				o.Simulate(t, id, "refunded").Want(t, http.StatusOK)
				harness.Same(t, first, o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_cash","hostedCheckout":true}`, key))
			}
		}
		challenge := o.Post(t, "/payments", `{"amount":10.65,"paymentMethodId":"sbx_card"}`, "Idempotency-Key: 3ds").Want(t, http.StatusPaymentRequired)
		o.Simulate(t, challenge.Text(t, "error.details.transactionId"), "paid").Want(t, http.StatusOK)
		harness.Same(t, challenge, o.Post(t, "/payments", `{"amount":10.65,"paymentMethodId":"sbx_card"}`, "Idempotency-Key: 3ds"))

		// If the provider does not answer, the first reply lacks the voucher. The replay lacks it too, even
		// after a query has found the voucher.
		s.Upstream(t, sandbox.Timeout, sandbox.NoFault, sandbox.NoFault)
		unknown := o.Post(t, "/payments", `{"amount":11,"paymentMethodId":"sbx_cash"}`, "Idempotency-Key: unknown").Want(t, http.StatusCreated)
		s.Upstream(t, sandbox.NoFault, sandbox.NoFault, sandbox.NoFault)
		id := unknown.Text(t, "transactionId")
		s.Clock.Advance(31 * time.Second)
		s.Sweep(t, "a query makes the payment pending", func() bool { return o.Status(t, id) == "pending" })
		harness.Same(t, unknown, o.Post(t, "/payments", `{"amount":11,"paymentMethodId":"sbx_cash"}`, "Idempotency-Key: unknown"))
	})
}

func TestKeyGuardsOneRequestOnly(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		const key, conflict = "Idempotency-Key: order-1", "409 idempotency_conflict idempotency_error reason=body_differs"
		// Refused requests have not used the key up.
		o.Post(t, "/payments", `{"amount":0,"paymentMethodId":"sbx_card"}`, key).Want(t, http.StatusBadRequest)
		o.Post(t, "/payments", `{"amount":25.5,"paymentMethodId":"sbx_pix"}`, key).Want(t, http.StatusBadRequest)
		o.Post(t, "/payments", harness.Card, key, "Content-Type: text/plain").Want(t, http.StatusUnsupportedMediaType)
		o.As("").Post(t, "/payments", harness.Card, key).Want(t, http.StatusUnauthorized)
		first := o.Post(t, "/payments", harness.Card, key).Want(t, http.StatusCreated)

		for name, body := range map[string]string{
			"another amount":               `{"amount":25.51,"paymentMethodId":"sbx_card"}`,
			"one field more":               harness.With(`"merchantOrderId":"1"`),
			"an unknown field more":        harness.With(`"colour":"red"`),
			"a method that does not exist": `{"amount":25.5,"paymentMethodId":"sbx_gold"}`,
			"an amount outside the limits": `{"amount":9999,"paymentMethodId":"sbx_cash"}`,
			"the document missing":         `{"amount":25.5,"paymentMethodId":"sbx_pix"}`,
		} {
			t.Run(name, func(t *testing.T) {
				r := o.Post(t, "/payments", body, key)
				r.Refused(t, conflict)
				if r.Header.Get("Idempotency-Replayed") != "" {
					t.Errorf("a conflict is marked as a replay: %v %s", r.Header, r)
				}
			})
		}
		o.Post(t, "/payments", harness.Card, key, "Sandbox-Simulate: paid").Refused(t, "409 idempotency_conflict idempotency_error param=Sandbox-Simulate reason=header_differs")
		if n := o.Total(t, nil); n != "1" {
			t.Errorf("the shop has %s payments, want 1", n)
		}

		// The same key in another shop or another environment is another key.
		other := stranger.Post(t, "/payments", harness.Card, key).Want(t, http.StatusCreated)
		if other.Text(t, "transactionId") == first.Text(t, "transactionId") || other.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("another shop got the first one's payment: %s", other)
		}
		live := o.Production()
		body := `{"amount":25.5,"paymentMethodId":"` + harness.Method(t, live, "BRA", "pix") + `","documentId":"1"}`
		exhausted := live.Post(t, "/payments", body, key)
		exhausted.Refused(t, "422 cascade_exhausted routing_error reason=no_provider_for_method_region")
		harness.Same(t, exhausted, live.Post(t, "/payments", body, key))
		harness.Same(t, first, o.Post(t, "/payments", harness.Card, key))
		// Keys in upper and lower case differ. A request with the merchant's credentials for a shop shares
		// the shop's keys.
		o.Post(t, "/payments", harness.With(`"userName":"b"`), "Idempotency-Key: ORDER-1").Want(t, http.StatusCreated)
		named := harness.With(`"shopId":"` + o.Shop.ID + `"`)
		once := o.Whole(t, false).Post(t, "/payments", named, "Idempotency-Key: order-2").Want(t, http.StatusCreated)
		harness.Same(t, once, o.Post(t, "/payments", named, "Idempotency-Key: order-2"))
	})
}

// A request that is refused before anything is written does not use the key up.
func TestRefusalKeepsTheKeyFree(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for i, c := range []struct {
			body, header, want string
		}{
			{`{"amount":0,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid"},
			{`{"amount":10,"paymentMethodId":"none"}`, "", "400 unsupported_method"},
			{`{"amount":`, "", "400 invalid_json"},
			{harness.Card, "Authorization: Bearer nonsense", "401 invalid_token"},
			{harness.Card, "Authorization: Bearer " + o.Sandbox.Publishable, "403 key_kind_not_allowed"},
			{harness.Card, "Content-Type: text/plain", "415 content_type_required"},
			{harness.Card, "Sandbox-Simulate: nonsense", "400 invalid_request"},
		} {
			key := fmt.Sprintf("Idempotency-Key: refused %d", i)
			header := []string{key}
			if c.header != "" {
				header = append(header, c.header)
			}
			refused := o.Post(t, "/payments", c.body, header...)
			if got := fmt.Sprintf("%d %s", refused.Status, refused.Text(t, "error.code")); got != c.want {
				t.Errorf("want %s: %s", c.want, refused)
			}
			made := o.Post(t, "/payments", harness.Card, key).Want(t, http.StatusCreated)
			if made.Header.Get("Idempotency-Replayed") != "" {
				t.Errorf("a refused request used the key up: %s", made)
			}
		}
	})
}

// hanging is a provider whose charge closes asked and then waits for let.
type hanging struct {
	provider.Provider
	asked, let chan struct{}
}

func (h hanging) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	close(h.asked)
	<-h.let
	return h.Provider.Charge(ctx, r)
}

func TestRepeatOfARequestThatHangs(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		h := hanging{s.App.Config.Providers["sandbox-1"], make(chan struct{}), make(chan struct{})}
		s.App.Config.Providers["sandbox-1"] = h
		const key = "Idempotency-Key: slow"
		first := make(chan harness.Reply)
		go func() { first <- o.Post(t, "/payments", harness.Card, key) }()
		harness.Soon(t, "the provider to be called", h.asked)
		o.Post(t, "/payments", harness.Card, key).Refused(t, "409 idempotency_conflict idempotency_error reason=request_in_progress")
		close(h.let)
		harness.Same(t, harness.Soon(t, "the first reply", first).Want(t, http.StatusCreated), o.Post(t, "/payments", harness.Card, key))
	})
}
