package payments

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// A strict sandbox refuses what production refuses. A lenient one accepts it.
func TestStrictSandboxRefusesWhatProductionRefuses(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const strict = "Sandbox-Strict: true"
		for _, c := range []struct{ name, body, want string }{
			{"another country", `{"amount":10,"paymentMethodId":"sbx_cash","country":"CO"}`, "400 unsupported_country invalid_request_error param=country"},
			{"a method that the country does not know", `{"amount":10,"paymentMethod":"spei","country":"BR","documentId":"GODE561231GR8"}`, "400 unsupported_country invalid_request_error param=country"},
			{"no country, which is the USA", `{"amount":10,"paymentMethod":"pix","documentId":"52998224725"}`, "400 unsupported_country invalid_request_error param=country"},
			{"a CPF with a wrong check digit", `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"52998224726"}`, "400 invalid_request invalid_request_error param=documentId issues=documentId"},
			{"a document that is none", `{"amount":10,"paymentMethodId":"sbx_spei","documentId":"X"}`, "400 invalid_request invalid_request_error param=documentId issues=documentId"},
			{"an address without a dot", `{"amount":10,"paymentMethodId":"sbx_cash","userEmail":"ana@localhost"}`, "400 invalid_request invalid_request_error param=userEmail issues=userEmail"},
			{"a quoted address", `{"amount":10,"paymentMethodId":"sbx_cash","userEmail":"ana..b@example.com"}`, "400 invalid_request invalid_request_error param=userEmail issues=userEmail"},
			{"a phone without a country", `{"amount":10,"paymentMethodId":"sbx_cash","userPhone":"11 98765 4321"}`, "400 invalid_request invalid_request_error param=userPhone issues=userPhone"},
			{"both", `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"1","userEmail":"ana@localhost"}`, "400 invalid_request invalid_request_error param=userEmail issues=userEmail,documentId"},
		} {
			t.Run(c.name, func(t *testing.T) {
				o.Post(t, "/payments", c.body, strict).Refused(t, c.want)
				if c.name != "a quoted address" { // a lenient sandbox refuses that one too
					o.Create(t, c.body)
					o.Create(t, c.body, "Sandbox-Strict: false")
				}
			})
		}
		good := `{"amount":10,"paymentMethodId":"sbx_pix","country":"BR","documentId":"529.982.247-25","userEmail":"ana@example.com"}`
		o.Create(t, good, strict)
		session := strings.ReplaceAll(harness.CheckoutBody, "+55 11 98765 4321", "11 98765 4321")
		o.Post(t, "/checkout/sessions", session, strict).Refused(t, "400 invalid_request invalid_request_error param=customer.phone issues=customer.phone")
		o.Session(t, session)

		// Without the header, the merchant's setting counts.
		o.Get(t, "/sandbox/settings").Is(t, http.StatusOK, `{"strict":false}`)
		o.Call(t, http.MethodPatch, "/sandbox/settings", `{"strict":true}`, harness.AsJSON).Is(t, http.StatusOK, `{"strict":true}`)
		o.Get(t, "/sandbox/settings").Is(t, http.StatusOK, `{"strict":true}`)
		o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_cash","country":"CO"}`).Refused(t, "400 unsupported_country invalid_request_error param=country")
		o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash","country":"CO"}`, "Sandbox-Strict: false")
		token := o.Session(t, strings.ReplaceAll(harness.CheckoutBody, "52998224725", "52998224726"))
		o.Post(t, "/checkout/sessions/"+token+"/select", `{"paymentMethodId":"sbx_pix"}`).Refused(t, "400 invalid_request invalid_request_error param=customer.documentId issues=customer.documentId")
		o.Post(t, "/checkout/sessions/"+token+"/select", `{"paymentMethodId":"sbx_pix","customer":{"documentId":"52998224725"}}`).Want(t, http.StatusCreated)
		stranger := s.NewShop(t)
		stranger.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash","country":"CO"}`)

		o.Post(t, "/payments", harness.Card, "Sandbox-Strict: yes").Refused(t, "400 invalid_request invalid_request_error param=Sandbox-Strict issues=Sandbox-Strict")
		live := o.Production()
		live.Post(t, "/payments", harness.Card, strict).Refused(t, "400 production_key_refused invalid_request_error param=Sandbox-Strict")
		live.Get(t, "/sandbox/settings").Refused(t, "400 production_key_refused invalid_request_error")
		live.Call(t, http.MethodPatch, "/sandbox/settings", `{"strict":true}`, harness.AsJSON).Refused(t, "400 production_key_refused invalid_request_error")
	})
}

// A strict sandbox, by header or by setting, refuses the webhook addresses that production refuses.
func TestStrictSandboxRefusesWebhooksThatProductionRefuses(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const strict, lenient, wrong = "Sandbox-Strict: true", "Sandbox-Strict: false", "400 invalid_request invalid_request_error param=url issues=url"
		body := func(url string) string { return fmt.Sprintf(`{"events":["*"],"url":%q}`, url) }
		good := o.Post(t, "/webhooks", body("https://shop.example/strict"), strict).Want(t, http.StatusCreated).Text(t, "id")
		bad := []string{"http://shop.example/hook", "https://127.0.0.1/hook", "https://localhost/hook", "https://[::1]/hook"}
		for _, url := range bad {
			o.Post(t, "/webhooks", body(url), strict).Refused(t, wrong)
			o.Call(t, http.MethodPatch, "/webhooks/"+good, body(url), harness.AsJSON, strict).Refused(t, wrong)
		}
		o.Call(t, http.MethodPatch, "/sandbox/settings", `{"strict":true}`, harness.AsJSON).Want(t, http.StatusOK)
		for _, url := range bad {
			o.Post(t, "/webhooks", body(url)).Refused(t, wrong)
			o.Call(t, http.MethodPatch, "/webhooks/"+good, body(url), harness.AsJSON).Refused(t, wrong)
			id := o.Post(t, "/webhooks", body(url), lenient).Want(t, http.StatusCreated).Text(t, "id")
			o.Call(t, http.MethodPatch, "/webhooks/"+id, body(url+"/2"), harness.AsJSON, lenient).Want(t, http.StatusOK)
			// A change that is not about the address is accepted.
			o.Call(t, http.MethodPatch, "/webhooks/"+id, `{"status":"disabled"}`, harness.AsJSON).Want(t, http.StatusOK)
		}
		o.Post(t, "/webhooks", `{"events":["*"]}`).Want(t, http.StatusCreated) // an inbox
		o.Post(t, "/webhooks", body("https://shop.example/x"), "Sandbox-Strict: yes").Refused(t, "400 invalid_request invalid_request_error param=Sandbox-Strict issues=Sandbox-Strict")
		live := o.Production()
		live.Post(t, "/webhooks", body("https://shop.example/x"), strict).Refused(t, "400 production_key_refused invalid_request_error param=Sandbox-Strict")
		for _, url := range bad {
			live.Post(t, "/webhooks", body(url)).Refused(t, wrong)
		}
	})
}

// In a strict sandbox a card payment is pending until the shopper pays on a page, and has a webhook,
// as in production. In a lenient one it is approved at once.
func TestStrictSandboxSendsTheCardsShopperToAPage(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"payment.pending","payment.completed","payment.failed"`)
		made := o.Post(t, "/payments", harness.Card, "Sandbox-Strict: true", "Idempotency-Key: strict").Want(t, http.StatusCreated)
		payment := made.Text(t, "transactionId")
		if made.Text(t, "status") != "pending" || !strings.HasPrefix(made.Text(t, "paymentFormUrl"), "http") {
			t.Errorf("the card payment is %s, want pending with a page", made)
		}
		o.Post(t, "/payments", harness.Card, "Idempotency-Key: strict").Refused(t, "409 idempotency_conflict idempotency_error param=Sandbox-Strict reason=header_differs")
		o.Post(t, "/payments", harness.Card, "Idempotency-Key: strict", "Sandbox-Strict: false").Refused(t, "409 idempotency_conflict idempotency_error param=Sandbox-Strict reason=header_differs")
		both := o.Post(t, "/payments", harness.Card, "Idempotency-Key: strict", "Sandbox-Simulate: paid")
		both.Refused(t, "409 idempotency_conflict idempotency_error param=Sandbox-Simulate reason=header_differs")
		if message := both.Text(t, "error.message"); !strings.Contains(message, "another Sandbox-Simulate and Sandbox-Strict: send") {
			t.Errorf("the message about two headers that differ is %s", message)
		}
		o.Post(t, "/payments", harness.With(`"userName":"Ana"`), "Idempotency-Key: strict", "Sandbox-Strict: true").Refused(t, "409 idempotency_conflict idempotency_error reason=body_differs")
		endpoint.IsTold(t, payment, "payment.pending 0")
		s.Sweep(t, "the sweep has run", func() bool { return true })
		if got := o.Status(t, payment); got != "pending" {
			t.Errorf("before the shopper pays the payment is %s, want pending", got)
		}
		o.Simulate(t, payment, "paid")
		endpoint.IsTold(t, payment, "payment.pending 0, payment.completed 1")
		declined := o.Create(t, `{"amount":10.05,"paymentMethodId":"sbx_card"}`, "Sandbox-Strict: true")
		o.Simulate(t, declined, "failed")
		if code := o.Get(t, "/payments/"+declined).Text(t, "failure.code"); code != "card_declined" {
			t.Errorf("the payment with the declined card failed with %s, want card_declined", code)
		}
		left := o.Create(t, harness.Card, "Sandbox-Strict: true")
		s.Clock.Advance(31 * time.Minute)
		s.Sweep(t, "the page has ended", func() bool { return o.Status(t, left) == "failed" })
		if code := o.Get(t, "/payments/"+left).Text(t, "failure.code"); code != "abandoned" {
			t.Errorf("the payment whose page nobody used failed with %s, want abandoned", code)
		}
		endpoint.IsTold(t, left, "payment.pending 0, payment.failed 1")
		if got := o.Status(t, o.Create(t, harness.Card)); got != "completed" {
			t.Errorf("a card payment in a lenient sandbox is %s, want completed", got)
		}
	})
}

// In a strict sandbox the cents decide what the card's page answers to the first try, as they decide the answer of a lenient one. A
// second try is another card, and pays (SBX-17).
func TestTestAmountsWorkOnACardsPage(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		page := func(amount string) string {
			r := o.Post(t, "/payments", `{"amount":`+amount+`,"paymentMethodId":"sbx_card","returnUrl":"https://shop.example/thanks"}`, "Sandbox-Strict: true").Want(t, http.StatusCreated)
			if r.Text(t, "status") != "pending" {
				t.Errorf("%s USD: %s", amount, r)
			}
			return r.Text(t, "transactionId")
		}
		for amount, want := range map[string]string{
			"10.05": "card_declined do_not_honor declined", "10.51": "insufficient_funds insufficient_funds declined", "10.54": "expired_card expired_card declined",
			"10.59": "fraud_blocked fraud_suspected blocked", "10.91": "card_declined issuer_unavailable error",
		} {
			ended := page(amount)
			o.Simulate(t, ended, "failed").Want(t, http.StatusOK)
			code, rest, _ := strings.Cut(want, " ")
			if r := o.Get(t, "/payments/"+ended); r.Text(t, "failure.code") != code || !strings.HasPrefix(rest, r.Text(t, "failure.declineCode")) {
				t.Errorf("%s USD, simulated as failed, ends as %s, want %s", amount, r, want)
			}
			id := page(amount)
			s.AtBank(t, id, "pay")
			r := o.Get(t, "/payments/"+id)
			if got := r.Text(t, "tries.0.code") + " " + r.Text(t, "tries.0.declineCode") + " " + r.Text(t, "tries.0.outcome"); got != want || r.Text(t, "status") != "pending" {
				t.Errorf("%s USD is refused as %s, want %s: %s", amount, got, want, r)
			}
			s.AtBank(t, id, "pay")
			if got := o.Status(t, id); got != "completed" {
				t.Errorf("%s USD with another card is %s", amount, got)
			}
		}
		passed, missed := page("10.65"), page("10.65")
		for _, id := range []string{passed, missed} {
			if _, _, h := s.Browse(t, http.MethodPost, "/sandbox/bank/"+id, "action=pay"); !strings.HasSuffix(h.Get("Location"), "?challenge=yes") || o.Status(t, id) != "pending" {
				t.Errorf("the challenge is at %q, and the payment is %s", h.Get("Location"), o.Status(t, id))
			}
		}
		if _, html, _ := s.Browse(t, http.MethodGet, "/sandbox/bank/"+passed+"?challenge=yes&lang=en", ""); !strings.Contains(html, "3-D Secure: is it you who pays?") || strings.Contains(html, "decline:do_not_honor") {
			t.Errorf("the challenge is %s", html)
		}
		s.AtBank(t, passed, "confirm")
		s.AtBank(t, missed, "decline:authentication_failed")
		if got := o.Status(t, passed) + " " + o.Get(t, "/payments/"+missed).Text(t, "tries.0.code"); got != "completed three_ds_failed" {
			t.Errorf("after the challenge the payments are %s", got)
		}
		// Whoever leaves at the challenge has tried, whether the time runs out or the shopper gives up (SBX-17).
		waits, gives := page("10.65"), page("10.65")
		s.AtBank(t, waits, "pay")
		s.AtBank(t, gives, "pay")
		s.AtBank(t, gives, "timeout")
		s.Clock.Advance(31 * time.Minute)
		for _, id := range []string{waits, gives} {
			s.Sweep(t, "the page has ended", func() bool { return o.Status(t, id) == "failed" })
			r := o.Get(t, "/payments/"+id)
			if got := r.Text(t, "failure.code") + " " + r.Text(t, "failure.declineCode") + " " + r.Text(t, "tries.0.outcome"); got != "abandoned abandoned abandoned" {
				t.Errorf("a shopper who leaves at the challenge ends the payment as %s: %s", got, r)
			}
		}
		if tries := o.Get(t, "/payments/"+missed).Text(t, "tries.0.outcome"); o.Status(t, missed) != "failed" || tries != "authentication_failed" {
			t.Errorf("a challenge that was failed ends as %s", tries)
		}
		// The provider opened the page and did not answer: it is found out, and the shopper can pay.
		lost := o.Post(t, "/payments", `{"amount":10.96,"paymentMethodId":"sbx_card"}`, "Sandbox-Strict: true").Want(t, http.StatusCreated)
		id := lost.Text(t, "transactionId")
		s.Clock.Advance(time.Minute)
		s.Sweep(t, "the page is found", func() bool { return o.Status(t, id) == "pending" })
		s.AtBank(t, id, "pay")
		if lost.Text(t, "status") != "processing" || o.Status(t, id) != "completed" {
			t.Errorf("the payment whose page was opened without an answer began as %s, and is %s", lost, o.Status(t, id))
		}
	})
}
