package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// same fails the test unless the second reply repeats the first one and says
// so. The id of the request is its own.
func same(t *testing.T, first, second reply) {
	t.Helper()
	if first.header.Get("Idempotency-Replayed") != "" || second.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("Idempotency-Replayed is %q and then %q, want none and then true: %s",
			first.header.Get("Idempotency-Replayed"), second.header.Get("Idempotency-Replayed"), second)
	}
	normal := func(r reply) string {
		return strings.ReplaceAll(string(r.body), r.header.Get("X-Request-Id"), "req")
	}
	if first.status != second.status || normal(first) != normal(second) {
		t.Errorf("the replay differs from the first reply %s\nreplay: %s", first, second)
	}
}

func TestRepeatGetsTheFirstReply(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for i, c := range []struct {
			name, first, second, header string
			want                        int
		}{
			{"the same body", card, card, "", http.StatusCreated},
			{"reordered, with spaces", `{"amount":10,"paymentMethodId":"sbx_pse","userName":"a b"}`,
				" {\n\t\"userName\" : \"a b\", \"paymentMethodId\":\"sbx_pse\",\"amount\": 10 }\n", "", http.StatusCreated},
			{"escaped in another way", `{"amount":10,"paymentMethodId":"sbx_pse","userName":"ñ/"}`,
				`{"amount":10,"paymentMethodId":"sbx_pse","userName":"\u00f1\/"}`, "", http.StatusCreated},
			{"a declined card", `{"amount":10.05,"paymentMethodId":"sbx_card"}`, `{"paymentMethodId":"sbx_card","amount":10.05}`, "", http.StatusPaymentRequired},
			{"an exhausted cascade", `{"amount":10.91,"paymentMethodId":"sbx_card"}`, `{"amount":10.91,"paymentMethodId":"sbx_card"}`, "", http.StatusUnprocessableEntity},
			{"a challenge", `{"amount":10.65,"paymentMethodId":"sbx_card"}`, `{"amount":10.65,"paymentMethodId":"sbx_card"}`, "", http.StatusPaymentRequired},
			{"an unknown outcome", `{"amount":10.96,"paymentMethodId":"sbx_card"}`, `{"amount":10.96,"paymentMethodId":"sbx_card"}`, "", http.StatusCreated},
			{"a simulation", card, card, "Sandbox-Simulate: chargeback", http.StatusCreated},
			{"a simulated decline", card, card, "Sandbox-Simulate: failed", http.StatusPaymentRequired},
		} {
			t.Run(c.name, func(t *testing.T) {
				header := []string{fmt.Sprintf("Idempotency-Key: repeat %d", i)}
				if c.header != "" {
					header = append(header, c.header)
				}
				before := o.total(t, nil)
				first := o.post(t, "/payments", c.first, header...).want(t, c.want)
				after := o.total(t, nil)
				for _, alias := range []string{"/payments", "/transactions"} { // one route under two names
					same(t, first, o.post(t, alias, c.second, header...))
				}
				if n := o.total(t, nil); n != after || n == before {
					t.Errorf("there were %s payments, then %s, then %s after the replays", before, after, n)
				}
			})
		}
	})
}

func TestRepeatAfterThePaymentMovedOn(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for i, action := range []string{"paid", "failed", "expired"} {
			key := fmt.Sprintf("Idempotency-Key: moved-%d", i)
			first := o.post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_cash","hostedCheckout":true}`, key).want(t, http.StatusCreated)
			id := first.text(t, "transactionId")
			o.simulate(t, id, action).want(t, http.StatusOK)
			same(t, first, o.post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_cash","hostedCheckout":true}`, key))
			if action == "paid" {
				o.simulate(t, id, "refunded").want(t, http.StatusOK)
				same(t, first, o.post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_cash","hostedCheckout":true}`, key))
			}
		}
		challenge := o.post(t, "/payments", `{"amount":10.65,"paymentMethodId":"sbx_card"}`, "Idempotency-Key: 3ds").want(t, http.StatusPaymentRequired)
		o.simulate(t, challenge.text(t, "error.details.transactionId"), "paid").want(t, http.StatusOK)
		same(t, challenge, o.post(t, "/payments", `{"amount":10.65,"paymentMethodId":"sbx_card"}`, "Idempotency-Key: 3ds"))

		// A voucher whose provider did not answer gets its form later.
		s.upstream(t, sandbox.Timeout, sandbox.NoFault, sandbox.NoFault)
		unknown := o.post(t, "/payments", `{"amount":11,"paymentMethodId":"sbx_cash"}`, "Idempotency-Key: unknown").want(t, http.StatusCreated)
		s.upstream(t, sandbox.NoFault, sandbox.NoFault, sandbox.NoFault)
		id := unknown.text(t, "transactionId")
		s.clock.advance(31 * time.Second)
		s.sweep(t, "the provider was asked", func() bool { return o.status(t, id) == "pending" })
		same(t, unknown, o.post(t, "/payments", `{"amount":11,"paymentMethodId":"sbx_cash"}`, "Idempotency-Key: unknown"))
	})
}

func TestKeyGuardsOneRequestOnly(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		const key, conflict = "Idempotency-Key: order-1", "409 idempotency_conflict idempotency_error reason=body_differs"
		// What was refused has not used the key.
		o.post(t, "/payments", `{"amount":0,"paymentMethodId":"sbx_card"}`, key).want(t, http.StatusBadRequest)
		o.post(t, "/payments", `{"amount":25.5,"paymentMethodId":"sbx_pix"}`, key).want(t, http.StatusBadRequest)
		o.post(t, "/payments", card, key, "Content-Type: text/plain").want(t, http.StatusUnsupportedMediaType)
		o.as("").post(t, "/payments", card, key).want(t, http.StatusUnauthorized)
		first := o.post(t, "/payments", card, key).want(t, http.StatusCreated)

		for name, body := range map[string]string{
			"another amount":               `{"amount":25.51,"paymentMethodId":"sbx_card"}`,
			"one field more":               with(`"merchantOrderId":"1"`),
			"an unknown field more":        with(`"colour":"red"`),
			"a method that does not exist": `{"amount":25.5,"paymentMethodId":"sbx_gold"}`,
			"an amount outside the limits": `{"amount":9999,"paymentMethodId":"sbx_cash"}`,
			"the document missing":         `{"amount":25.5,"paymentMethodId":"sbx_pix"}`,
		} {
			t.Run(name, func(t *testing.T) {
				r := o.post(t, "/payments", body, key)
				r.refused(t, conflict)
				if r.header.Get("Idempotency-Replayed") != "" {
					t.Errorf("a conflict is no replay: %v %s", r.header, r)
				}
			})
		}
		o.post(t, "/payments", card, key, "Sandbox-Simulate: paid").refused(t, "409 idempotency_conflict idempotency_error param=Sandbox-Simulate reason=header_differs")
		if n := o.total(t, nil); n != "1" {
			t.Errorf("the shop has %s payments, want 1", n)
		}

		// Another shop's key and another environment's are other keys.
		other := stranger.post(t, "/payments", card, key).want(t, http.StatusCreated)
		if other.text(t, "transactionId") == first.text(t, "transactionId") || other.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("another shop got the first one's payment: %s", other)
		}
		live := o.live()
		body := `{"amount":25.5,"paymentMethodId":"` + live.method(t, "BRA", "pix") + `","documentId":"1"}`
		exhausted := live.post(t, "/payments", body, key)
		exhausted.refused(t, "422 cascade_exhausted routing_error reason=no_provider_for_method_region")
		same(t, exhausted, live.post(t, "/payments", body, key))
		same(t, first, o.post(t, "/payments", card, key))
		// Upper and lower case differ, and a merchant's key shares its shop's.
		o.post(t, "/payments", with(`"userName":"b"`), "Idempotency-Key: ORDER-1").want(t, http.StatusCreated)
		named := with(`"shopId":"` + o.Shop.ID + `"`)
		once := o.whole(t, false).post(t, "/payments", named, "Idempotency-Key: order-2").want(t, http.StatusCreated)
		same(t, once, o.post(t, "/payments", named, "Idempotency-Key: order-2"))
	})
}

func TestOnceUnderManyAtATime(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for i, c := range []struct {
			body string
			want int
		}{
			{card, http.StatusCreated},
			{`{"amount":10,"paymentMethodId":"sbx_pse"}`, http.StatusCreated},
			{`{"amount":10.91,"paymentMethodId":"sbx_card"}`, http.StatusUnprocessableEntity},
		} {
			replies := make([]reply, 20)
			var all sync.WaitGroup
			for n := range replies {
				all.Go(func() { replies[n] = o.post(t, "/payments", c.body, fmt.Sprintf("Idempotency-Key: race-%d", i)) })
			}
			all.Wait()
			first := 0
			for n, r := range replies {
				if r.header.Get("Idempotency-Replayed") == "" {
					first = n
				}
			}
			replies[first].want(t, c.want)
			for n, r := range replies {
				if n != first {
					same(t, replies[first], r)
				}
			}
			if n := o.total(t, nil); n != fmt.Sprint(i+1) {
				t.Errorf("after 20 requests with one key the shop has %s payments, want %d", n, i+1)
			}
		}
	})
}

func TestOfTwoBodiesOneWins(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		bodies := []string{card, `{"amount":25.51,"paymentMethodId":"sbx_pse"}`}
		replies := make([]reply, 16)
		var all sync.WaitGroup
		for n := range replies {
			all.Go(func() { replies[n] = o.post(t, "/payments", bodies[n%2], "Idempotency-Key: two") })
		}
		all.Wait()
		made := map[string]int{}
		for _, r := range replies {
			if r.status == http.StatusCreated {
				made[r.text(t, "transactionId")]++
				continue
			}
			r.refused(t, "409 idempotency_conflict idempotency_error reason=body_differs")
		}
		if n := o.total(t, nil); n != "1" || len(made) != 1 {
			t.Errorf("there are %s payments, in the replies %v, want 1", n, made)
		}
		for id, n := range made {
			if n != len(replies)/2 {
				t.Errorf("%d replies show %s, want the %d of one body", n, id, len(replies)/2)
			}
		}
	})
}

func TestKeyIsKeptForSevenDays(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		const key = "Idempotency-Key: weekly"
		forget := func() {
			t.Helper()
			must(t, s.App.PurgeKeys(ctx))
		}
		first := o.post(t, "/payments", card, key).want(t, http.StatusCreated)
		s.clock.advance(7*24*time.Hour - time.Minute)
		forget()
		same(t, first, o.post(t, "/payments", card, key))
		s.clock.advance(2 * time.Minute)
		forget()
		again := o.post(t, "/payments", `{"amount":11,"paymentMethodId":"sbx_card"}`, key).want(t, http.StatusCreated)
		if again.text(t, "transactionId") == first.text(t, "transactionId") {
			t.Errorf("the key is remembered for longer: %s", again)
		}
	})
}

// A refusal before anything was written leaves the key free.
func TestRefusalKeepsTheKeyFree(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for i, c := range []struct {
			body, header, want string
		}{
			{`{"amount":0,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid"},
			{`{"amount":10,"paymentMethodId":"none"}`, "", "400 unsupported_method"},
			{`{"amount":`, "", "400 invalid_json"},
			{card, "Authorization: Bearer nonsense", "401 invalid_token"},
			{card, "Authorization: Bearer " + o.Sandbox.Publishable, "403 key_kind_not_allowed"},
			{card, "Content-Type: text/plain", "415 content_type_required"},
			{card, "Sandbox-Simulate: nonsense", "400 invalid_request"},
		} {
			key := fmt.Sprintf("Idempotency-Key: refused %d", i)
			header := []string{key}
			if c.header != "" {
				header = append(header, c.header)
			}
			refused := o.post(t, "/payments", c.body, header...)
			if got := fmt.Sprintf("%d %s", refused.status, refused.text(t, "error.code")); got != c.want {
				t.Errorf("want %s: %s", c.want, refused)
			}
			made := o.post(t, "/payments", card, key).want(t, http.StatusCreated)
			if made.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("after a refusal the key is used: %s", made)
			}
		}
	})
}

// hanging answers a charge when it is let go.
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
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		h := hanging{s.App.Config.Providers["sandbox-1"], make(chan struct{}), make(chan struct{})}
		s.App.Config.Providers["sandbox-1"] = h
		const key = "Idempotency-Key: slow"
		first := make(chan reply)
		go func() { first <- o.post(t, "/payments", card, key) }()
		soon(t, "the provider to be asked", h.asked)
		o.post(t, "/payments", card, key).refused(t, "409 idempotency_conflict idempotency_error reason=request_in_progress")
		close(h.let)
		same(t, soon(t, "the first reply", first).want(t, http.StatusCreated), o.post(t, "/payments", card, key))
	})
}
