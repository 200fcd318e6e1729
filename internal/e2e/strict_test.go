package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A strict sandbox refuses what production refuses; a lenient one takes it, as it always did.
func TestStrictSandboxRefusesWhatProductionRefuses(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		const strict = "Sandbox-Strict: true"
		for _, c := range []struct{ name, body, want string }{
			{"another country", `{"amount":10,"paymentMethodId":"sbx_cash","country":"CO"}`, "400 unsupported_country invalid_request_error param=country"},
			{"a method that the country does not know", `{"amount":10,"paymentMethod":"spei","country":"BR","documentId":"GODE561231GR8"}`, "400 unsupported_country invalid_request_error param=country"},
			{"no country, which is the USA", `{"amount":10,"paymentMethod":"pix","documentId":"52998224725"}`, "400 unsupported_country invalid_request_error param=country"},
			{"a CPF with a wrong check digit", `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"52998224726"}`, "400 invalid_request invalid_request_error param=documentId issues=documentId"},
			{"a document that is none", `{"amount":10,"paymentMethodId":"sbx_spei","documentId":"X"}`, "400 invalid_request invalid_request_error param=documentId issues=documentId"},
			{"an address without a dot", `{"amount":10,"paymentMethodId":"sbx_cash","userEmail":"ana@localhost"}`, "400 invalid_request invalid_request_error param=userEmail issues=userEmail"},
			{"a quoted address", `{"amount":10,"paymentMethodId":"sbx_cash","userEmail":"ana..b@example.com"}`, "400 invalid_request invalid_request_error param=userEmail issues=userEmail"},
			{"both", `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"1","userEmail":"ana@localhost"}`, "400 invalid_request invalid_request_error param=userEmail issues=userEmail,documentId"},
		} {
			t.Run(c.name, func(t *testing.T) {
				o.post(t, "/payments", c.body, strict).refused(t, c.want)
				if c.name != "a quoted address" { // which nobody takes
					o.create(t, c.body)
					o.create(t, c.body, "Sandbox-Strict: false")
				}
			})
		}
		good := `{"amount":10,"paymentMethodId":"sbx_pix","country":"BR","documentId":"529.982.247-25","userEmail":"ana@example.com"}`
		o.create(t, good, strict)
		session := strings.ReplaceAll(checkout, "+55 11 98765 4321", "11 98765 4321")
		o.post(t, "/checkout/sessions", session, strict).refused(t, "400 invalid_request invalid_request_error param=customer.phone issues=customer.phone")
		o.session(t, session)

		// The merchant's setting holds where the header says nothing.
		o.get(t, "/sandbox/settings").is(t, http.StatusOK, `{"strict":false}`)
		o.call(t, http.MethodPatch, "/sandbox/settings", `{"strict":true}`, asJSON).is(t, http.StatusOK, `{"strict":true}`)
		o.get(t, "/sandbox/settings").is(t, http.StatusOK, `{"strict":true}`)
		o.post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_cash","country":"CO"}`).refused(t, "400 unsupported_country invalid_request_error param=country")
		o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash","country":"CO"}`, "Sandbox-Strict: false")
		token := o.session(t, strings.ReplaceAll(checkout, "52998224725", "52998224726"))
		o.post(t, "/checkout/sessions/"+token+"/select", `{"paymentMethodId":"sbx_pix"}`).refused(t, "400 invalid_request invalid_request_error param=customer.documentId issues=customer.documentId")
		o.post(t, "/checkout/sessions/"+token+"/select", `{"paymentMethodId":"sbx_pix","customer":{"documentId":"52998224725"}}`).want(t, http.StatusCreated)
		stranger := s.shop(t)
		stranger.create(t, `{"amount":10,"paymentMethodId":"sbx_cash","country":"CO"}`)

		o.post(t, "/payments", card, "Sandbox-Strict: yes").refused(t, "400 invalid_request invalid_request_error param=Sandbox-Strict issues=Sandbox-Strict")
		live := o.live()
		live.post(t, "/payments", card, strict).refused(t, "400 production_key_refused invalid_request_error param=Sandbox-Strict")
		live.get(t, "/sandbox/settings").refused(t, "400 production_key_refused invalid_request_error")
		live.call(t, http.MethodPatch, "/sandbox/settings", `{"strict":true}`, asJSON).refused(t, "400 production_key_refused invalid_request_error")
	})
}

// What production refuses of a webhook's address, a strict sandbox refuses: with the header, or as it is set.
func TestStrictSandboxRefusesWebhooksThatProductionRefuses(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		const strict, lenient, wrong = "Sandbox-Strict: true", "Sandbox-Strict: false", "400 invalid_request invalid_request_error param=url issues=url"
		body := func(url string) string { return fmt.Sprintf(`{"events":["*"],"url":%q}`, url) }
		good := o.post(t, "/webhooks", body("https://shop.example/strict"), strict).want(t, http.StatusCreated).text(t, "id")
		bad := []string{"http://shop.example/hook", "https://127.0.0.1/hook", "https://localhost/hook", "https://[::1]/hook"}
		for _, url := range bad {
			o.post(t, "/webhooks", body(url), strict).refused(t, wrong)
			o.call(t, http.MethodPatch, "/webhooks/"+good, body(url), asJSON, strict).refused(t, wrong)
		}
		o.call(t, http.MethodPatch, "/sandbox/settings", `{"strict":true}`, asJSON).want(t, http.StatusOK)
		for _, url := range bad {
			o.post(t, "/webhooks", body(url)).refused(t, wrong)
			o.call(t, http.MethodPatch, "/webhooks/"+good, body(url), asJSON).refused(t, wrong)
			id := o.post(t, "/webhooks", body(url), lenient).want(t, http.StatusCreated).text(t, "id")
			o.call(t, http.MethodPatch, "/webhooks/"+id, body(url+"/2"), asJSON, lenient).want(t, http.StatusOK)
			// What is not about its address may change.
			o.call(t, http.MethodPatch, "/webhooks/"+id, `{"status":"disabled"}`, asJSON).want(t, http.StatusOK)
		}
		o.post(t, "/webhooks", `{"events":["*"]}`).want(t, http.StatusCreated) // an inbox
		o.post(t, "/webhooks", body("https://shop.example/x"), "Sandbox-Strict: yes").refused(t, "400 invalid_request invalid_request_error param=Sandbox-Strict issues=Sandbox-Strict")
		live := o.live()
		live.post(t, "/webhooks", body("https://shop.example/x"), strict).refused(t, "400 production_key_refused invalid_request_error param=Sandbox-Strict")
		for _, url := range bad {
			live.post(t, "/webhooks", body(url)).refused(t, wrong)
		}
	})
}

// A card in a strict sandbox goes through a page, pending and a webhook, as production's do. In a
// lenient one it is approved at once.
func TestStrictSandboxSendsTheCardsShopperToAPage(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"payment.pending","payment.completed","payment.failed"`)
		made := o.post(t, "/payments", card, "Sandbox-Strict: true", "Idempotency-Key: strict").want(t, http.StatusCreated)
		payment := made.text(t, "transactionId")
		if made.text(t, "status") != "pending" || !strings.HasPrefix(made.text(t, "paymentFormUrl"), "http") {
			t.Errorf("the card's payment is %s", made)
		}
		o.post(t, "/payments", card, "Idempotency-Key: strict").refused(t, "409 idempotency_conflict idempotency_error param=Sandbox-Strict reason=header_differs")
		o.post(t, "/payments", card, "Idempotency-Key: strict", "Sandbox-Strict: false").refused(t, "409 idempotency_conflict idempotency_error param=Sandbox-Strict reason=header_differs")
		both := o.post(t, "/payments", card, "Idempotency-Key: strict", "Sandbox-Simulate: paid")
		both.refused(t, "409 idempotency_conflict idempotency_error param=Sandbox-Simulate reason=header_differs")
		if message := both.text(t, "error.message"); !strings.Contains(message, "another Sandbox-Simulate and Sandbox-Strict: send") {
			t.Errorf("of two headers that differ it says %s", message)
		}
		o.post(t, "/payments", with(`"userName":"Ana"`), "Idempotency-Key: strict", "Sandbox-Strict: true").refused(t, "409 idempotency_conflict idempotency_error reason=body_differs")
		endpoint.isTold(t, payment, "payment.pending 0")
		s.sweep(t, "nothing", func() bool { return true })
		if got := o.status(t, payment); got != "pending" {
			t.Errorf("before the shopper has paid it is %s", got)
		}
		o.simulate(t, payment, "paid")
		endpoint.isTold(t, payment, "payment.pending 0, payment.completed 1")
		declined := o.create(t, `{"amount":10.05,"paymentMethodId":"sbx_card"}`, "Sandbox-Strict: true")
		o.simulate(t, declined, "failed")
		if code := o.get(t, "/payments/"+declined).text(t, "failure.code"); code != "card_declined" {
			t.Errorf("the declined card's payment failed with %s", code)
		}
		left := o.create(t, card, "Sandbox-Strict: true")
		s.clock.advance(31 * time.Minute)
		eventually(t, "the page's time is over", func() bool { return o.status(t, left) == "expired" })
		if got := o.status(t, o.create(t, card)); got != "completed" {
			t.Errorf("a card in a lenient sandbox is %s", got)
		}
	})
}
