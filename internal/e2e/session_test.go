package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

const (
	// ana is a customer with all that every method needs.
	ana = `"customer":{"firstName":"Ana","lastName":"Souza","email":"ana@b.example","phone":"+55 11 98765 4321","documentId":"52998224725"}`
	// checkout is the least that opens a session.
	checkout = `{"amount":25.5,` + ana + `}`
)

// session opens a checkout that must be accepted and returns its token.
func (o shop) session(t *testing.T, body string, header ...string) string {
	t.Helper()
	return o.post(t, "/checkout/sessions", body, header...).want(t, http.StatusCreated).text(t, "sessionId")
}

// shopper is who holds a session's token, and no credentials.
type shopper struct {
	*service
	token string
}

func (o shop) shopper(token string) shopper { return shopper{o.service, token} }

func (c shopper) read(t *testing.T, header ...string) reply {
	t.Helper()
	return shop{service: c.service}.call(t, http.MethodGet, "/checkout/sessions/"+c.token, "", header...)
}

func (c shopper) choose(t *testing.T, body string, header ...string) reply {
	t.Helper()
	return shop{service: c.service}.post(t, "/checkout/sessions/"+c.token+"/select", body, header...)
}

func choice(method string) string { return fmt.Sprintf(`{"paymentMethodId":%q}`, method) }

func TestSelectorSessionGoesFromOpenToPaid(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"*"`)
		const back = "https://shop.example/thanks?order=1&lang=es"
		created := o.post(t, "/checkout/sessions", `{"amount":25.50,"country":"br","merchantOrderId":"order 7","returnUrl":"`+back+`",`+ana+`}`)
		created.is(t, http.StatusCreated, `{"sessionId":"<token>","checkoutUrl":"<url>","paymentMethodId":null,"status":"awaiting_method",
			"amount":25.5,"currency":"USD","country":"BRA","expiresAt":"<time>"}`)
		token := created.text(t, "sessionId")
		if got, want := created.text(t, "checkoutUrl"), s.URL+"/checkout/"+token; got != want {
			t.Errorf("checkoutUrl is %s, want %s", got, want)
		}
		c := o.shopper(token)
		seen := `{"token":"` + token + `","status":%q,"amount":25.5,"currency":"USD","country":"BRA",
			"customer":{"firstName":"Ana","lastName":"Souza","email":"ana@b.example","phone":"+55 11 98765 4321","documentId":"52998224725"},
			"customerIp":"127.0.0.1","returnUrl":"` + back + `","expiresAt":"` + created.text(t, "expiresAt") + `","completedTxId":%s}`
		c.read(t).is(t, http.StatusOK, fmt.Sprintf(seen, "awaiting_method", "null"))

		chosen := c.choose(t, choice("sbx_pix"))
		chosen.is(t, http.StatusCreated, `{"sessionId":"`+token+`","transactionId":"<txn>","checkoutUrl":"<url>","status":"pending","transactionStatus":"pending"}`)
		id := chosen.text(t, "transactionId")
		if got, want := chosen.text(t, "checkoutUrl"), s.URL+"/c/"+id+"?returnUrl="+url.QueryEscape(back); got != want {
			t.Errorf("checkoutUrl is %s, want %s", got, want)
		}
		c.read(t).is(t, http.StatusOK, fmt.Sprintf(seen, "pending", `"`+id+`","transactionStatus":"pending"`))
		c.choose(t, choice("sbx_card")).is(t, http.StatusConflict, `{"error":{"code":"checkout_session_already_completed","type":"conflict_error","message":"<text>",
			"requestId":"<req>","details":{"helpUrl":"<url>","existingTxId":"`+id+`"}}}`)

		o.simulate(t, id, "paid").want(t, http.StatusOK)
		p := o.get(t, "/payments/"+id).want(t, http.StatusOK)
		for field, want := range map[string]string{
			"status": "completed", "amount": "25.5", "amountLocal": "137.7", "currencyLocal": "BRL", "country": "BRA",
			"paymentMethodId": "sbx_pix", "merchantOrderId": "order 7",
		} {
			if got := p.text(t, field); got != want {
				t.Errorf("the transaction's %s is %s, want %s", field, got, want)
			}
		}
		if got := endpoint.about(t, id, 2)[0]; got.text("type") != "payment.completed" || got.text("data.object.merchantOrderId") != "order 7" {
			t.Errorf("the endpoint was told %s of order %s", got.text("type"), got.text("data.object.merchantOrderId"))
		}
		c.read(t).is(t, http.StatusOK, fmt.Sprintf(seen, "pending", `"`+id+`","transactionStatus":"completed"`))
	})
}

// One-shot mode is POST /payments with hostedCheckout (CHK-6).
func TestOneShotSessionIsAHostedPayment(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		const back = "https://shop.example/thanks?order=1&lang=es"
		for _, m := range sandboxMethods {
			body := fmt.Sprintf(`{"amount":25.50,"paymentMethodId":%q,"documentId":%q,"merchantOrderId":"order %[1]s","returnUrl":%[3]q,"currency":"USD"}`,
				m.id, m.document, back)
			r := o.post(t, "/checkout/sessions", body)
			r.is(t, http.StatusCreated, fmt.Sprintf(`{"sessionId":"<txn>","checkoutUrl":"<url>","paymentMethodId":%q,"status":"pending","transactionStatus":%q,
				"amount":25.5,"currency":"USD","country":%q,"amountLocal":%s,"currencyLocal":%q,"fxRate":%s,"expiresAt":"<time>"}`,
				m.id, m.status, m.country, m.local, m.currency, m.rate))
			id := r.text(t, "sessionId")
			if got, want := r.text(t, "checkoutUrl"), s.URL+"/c/"+id+"?returnUrl="+url.QueryEscape(back); got != want {
				t.Errorf("checkoutUrl is %s, want %s", got, want)
			}
			if p := o.get(t, "/payments/"+id); p.text(t, "status") != m.status || p.text(t, "merchantOrderId") != "order "+m.id {
				t.Errorf("the transaction is %s", p)
			}
			// Its id reads as the token of a completed session, which tells of no shopper.
			// It tells what the shop was told, and what has become of the transaction.
			told := func(status string) string {
				return fmt.Sprintf(`{"token":%q,"status":"pending","transactionStatus":%q,"amount":25.5,"currency":"USD","country":%q,"customer":null,
					"customerIp":null,"returnUrl":%q,"expiresAt":%q,"completedTxId":%[1]q}`, id, status, m.country, back, r.text(t, "expiresAt"))
			}
			o.shopper(id).read(t).is(t, http.StatusOK, told(m.status))
			if m.status == "pending" {
				o.simulate(t, id, "paid").want(t, http.StatusOK)
				o.shopper(id).read(t).is(t, http.StatusOK, told("completed"))
			}
			if r := o.shopper(id).choose(t, choice("sbx_card")); r.problem(t) != "409 checkout_session_already_completed conflict_error" {
				t.Errorf("choosing again: %s", r)
			}
		}
		if r := o.post(t, "/checkout/sessions", card, "Sandbox-Simulate: failed"); r.problem(t) != "402 card_declined card_error decline=do_not_honor" {
			t.Errorf("the simulation was not played: %s", r)
		}
		direct := o.create(t, card)
		o.shopper(direct).read(t).refused(t, "404 checkout_session_not_found invalid_request_error")
	})
}

// Pain 3 (saleor/saleor#19220, #14648, #12652): a checkout that is completed
// twice at once takes the money twice.
func TestCheckoutSelectIsSingleWinner(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for round, methods := range [][]string{{"sbx_card"}, {"sbx_pse", "sbx_card", "sbx_pix", "sbx_cash", "sbx_spei"}} {
			c := o.shopper(o.session(t, checkout))
			replies := make([]reply, 50)
			var all sync.WaitGroup
			for n := range replies {
				all.Go(func() {
					if n%5 == 0 { // who only looks from elsewhere moves the session's version
						c.read(t, fmt.Sprintf("X-Forwarded-For: 198.51.100.%d", n+1)).want(t, http.StatusOK)
					}
					replies[n] = c.choose(t, choice(methods[n%len(methods)]), fmt.Sprintf("X-Real-Ip: 203.0.113.%d", n+1))
				})
			}
			all.Wait()
			var winners []string
			for _, r := range replies {
				if r.status == http.StatusCreated {
					winners = append(winners, r.text(t, "transactionId"))
				}
			}
			if len(winners) != 1 {
				t.Fatalf("%d of 50 choices won: %v", len(winners), winners)
			}
			for _, r := range replies {
				if r.status != http.StatusCreated && (r.problem(t) != "409 checkout_session_already_completed conflict_error" ||
					r.text(t, "error.details.existingTxId") != winners[0]) {
					t.Errorf("a loser is told %s, want the conflict with %s", r, winners[0])
				}
			}
			if got := c.read(t).text(t, "completedTxId"); got != winners[0] {
				t.Errorf("the session is locked to %s, want %s", got, winners[0])
			}
			if n := o.total(t, nil); n != fmt.Sprint(round+1) {
				t.Errorf("there are %s transactions after %d sessions", n, round+1)
			}
			p, err := s.App.Cascade.Payment(ctx, o.scope(), winners[0])
			must(t, err)
			if len(p.Attempts) != 1 {
				t.Errorf("the winner was charged %d times: %s", len(p.Attempts), p)
			}
		}
	})
}

// scope is the shop's sandbox.
func (o shop) scope() tenant.Scope { return tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID} }

func TestSessionEndsAfter24Hours(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		waiting, chosen := o.shopper(o.session(t, checkout)), o.shopper(o.session(t, checkout))
		id := chosen.choose(t, choice("sbx_cash")).want(t, http.StatusCreated).text(t, "transactionId")
		shot := o.shopper(o.session(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`))
		o.post(t, "/sandbox/clock", `{"advance":"23h59m"}`).want(t, http.StatusOK)
		for _, c := range []shopper{waiting, chosen, shot} {
			c.read(t).want(t, http.StatusOK)
		}
		chosen.choose(t, choice("sbx_card")).refused(t, "409 checkout_session_already_completed conflict_error")
		o.post(t, "/sandbox/clock", `{"advance":"1m"}`).want(t, http.StatusOK)
		const gone = "404 checkout_session_not_found invalid_request_error"
		for _, c := range []shopper{waiting, chosen, shot} {
			c.read(t).refused(t, gone)
			c.choose(t, choice("sbx_card")).refused(t, gone)
		}
		if got := o.status(t, id); got != "pending" || o.total(t, nil) != "2" {
			t.Errorf("the transaction of an old session is %s and there are %s, want it pending and 2", got, o.total(t, nil))
		}
	})
}

// A choice that made a transaction locks the session, whatever became of it.
func TestFailedPaymentLocksTheSession(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		live := o.live()
		leaves := s.serves(t)
		unserved := live.session(t, `{"amount":10,`+ana+`}`)
		leaves()
		for _, c := range []struct {
			name, amount, method string
			by                   shop
			fault                sandbox.Fault
			want, status         string
		}{
			{"a declined card", "10.05", "sbx_card", o, "", "402 card_declined card_error decline=do_not_honor", "failed"},
			{"an exhausted cascade", "10.91", "sbx_card", o, "", "422 cascade_exhausted routing_error reason=all_providers_failed", "failed"},
			{"every provider down", "10", "sbx_cash", o, sandbox.Down, "422 cascade_exhausted routing_error reason=all_providers_failed", "failed"},
			{"no provider", "10", live.method(t, "BRA", "pix"), live, "", "422 cascade_exhausted routing_error reason=no_provider_for_method_region", "failed"},
			{"a provider that does not answer", "10", "sbx_cash", o, sandbox.Timeout, "201", "processing"},
			{"a challenge, to which the page leads", "10.65", "sbx_card", o, "", "201", "pending"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s.upstream(t, c.fault, c.fault, c.fault)
				defer s.upstream(t, "", "", "")
				token := unserved
				if c.name != "no provider" {
					token = c.by.session(t, `{"amount":`+c.amount+`,`+ana+`}`)
				}
				customer := o.shopper(token)
				r := customer.choose(t, choice(c.method))
				r.refused(t, c.want)
				at := "error.details.transactionId"
				if r.status == http.StatusCreated {
					at = "transactionId"
					if got := r.text(t, "transactionStatus"); got != c.status {
						t.Errorf("transactionStatus is %s, want %s", got, c.status)
					}
				}
				id := r.text(t, at)
				if got := c.by.status(t, id); got != c.status {
					t.Errorf("the transaction is %s, want %s", got, c.status)
				}
				if got := customer.read(t).text(t, "completedTxId"); got != id {
					t.Errorf("the session is locked to %s, want %s", got, id)
				}
				again := customer.choose(t, choice("sbx_pse"))
				again.refused(t, "409 checkout_session_already_completed conflict_error")
				if got := again.text(t, "error.details.existingTxId"); got != id {
					t.Errorf("existingTxId is %s, want %s", got, id)
				}
			})
		}
		// The provider that did not answer is asked, and the transaction goes on.
		s.clock.advance(31 * time.Second)
		s.sweep(t, "the provider was asked", func() bool { return o.total(t, url.Values{"status": {"processing"}}) == "0" })
	})
}

// Who asks for the session is the shop's server; who reads it is the customer
// (CHK-21).
func TestCustomersAddressIsOfTheirOwnRequests(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		buyer := func(id string) pay.Buyer {
			t.Helper()
			p, err := s.App.Cascade.Payment(ctx, o.scope(), id)
			must(t, err)
			return p.Buyer
		}
		c := o.shopper(o.session(t, checkout, "X-Forwarded-For: 192.0.2.1"))
		for _, visit := range []struct{ forwarded, real, want string }{
			{"203.0.113.7, 10.0.0.1, 192.0.2.9", "192.0.2.2", "203.0.113.7"},
			{"", "203.0.113.8", "203.0.113.8"},
			{"unknown, 10.0.0.1", "203.0.113.9", "203.0.113.9"},
			{"2001:DB8::1", "", "2001:db8::1"},
			{"<script>", "<script>", "127.0.0.1"},
			{"", "", "127.0.0.1"},
		} {
			header := []string{"X-Forwarded-For: " + visit.forwarded, "X-Real-Ip: " + visit.real}
			if got := c.read(t, header...).text(t, "customerIp"); got != visit.want {
				t.Errorf("%v: customerIp is %s, want %s", header, got, visit.want)
			}
		}
		id := c.choose(t, choice("sbx_pse"), "X-Forwarded-For: 203.0.113.20").want(t, http.StatusCreated).text(t, "transactionId")
		want := pay.Buyer{Email: "ana@b.example", Name: "Ana Souza", Phone: "+55 11 98765 4321", IP: "203.0.113.20", Document: "52998224725"}
		if got := buyer(id); got != want {
			t.Errorf("the provider was told of %+v, want %+v", got, want)
		}
		// What the provider was told stays.
		if got := c.read(t, "X-Forwarded-For: 203.0.113.30").text(t, "customerIp"); got != "203.0.113.20" {
			t.Errorf("customerIp is %s after the choice, want 203.0.113.20", got)
		}
		for path, bodies := range map[string]map[string]string{
			"/checkout/sessions": {card: "", with(`"userIp":"203.0.113.40"`): "203.0.113.40"},
			"/payments": {with(`"hostedCheckout":true`): "", with(`"hostedCheckout":true,"userIp":"203.0.113.40"`): "203.0.113.40",
				card: "192.0.2.1", with(`"userIp":"203.0.113.40"`): "203.0.113.40"},
		} {
			for body, want := range bodies {
				r := o.post(t, path, body, "X-Forwarded-For: 192.0.2.1").want(t, http.StatusCreated)
				id, ok := r.at(t, "transactionId")
				if !ok {
					id = r.text(t, "sessionId")
				}
				if got := buyer(fmt.Sprint(id)).IP; got != want {
					t.Errorf("POST %s %s: the provider was told of %q, want %q", path, body, got, want)
				}
			}
		}
	})
}

func TestCheckoutURLHasTheCanonicalHost(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		evil := []string{"X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https", "Forwarded: host=evil.example", "X-Original-Host: evil.example"}
		post := func(credential, path, body string) reply {
			t.Helper()
			r := request{method: http.MethodPost, path: apiPath + path, body: body, host: "evil.example", header: http.Header{
				"Authorization": {"Bearer " + credential}, "Content-Type": {"application/json"},
			}}
			for _, line := range evil {
				name, value, _ := strings.Cut(line, ": ")
				r.header.Set(name, value)
			}
			return s.send(t, r).want(t, http.StatusCreated)
		}
		opened := post(o.credential, "/checkout/sessions", checkout)
		token := opened.text(t, "sessionId")
		for name, r := range map[string]reply{
			"selector": opened, "one-shot": post(o.credential, "/checkout/sessions", card), "payment": post(o.credential, "/payments", with(`"hostedCheckout":true`)),
			"select": post("", "/checkout/sessions/"+token+"/select", choice("sbx_cash")),
		} {
			if got := r.text(t, "checkoutUrl"); !strings.HasPrefix(got, s.URL+"/c") || strings.Contains(string(r.body), "evil") {
				t.Errorf("%s: checkoutUrl is %s, want it below %s", name, got, s.URL)
			}
		}
	})
}

func TestSessionBelongsToItsShop(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		o.as(o.Sandbox.Publishable).post(t, "/checkout/sessions", checkout).refused(t, "403 key_kind_not_allowed permission_error")
		o.whole(t, false).post(t, "/checkout/sessions", checkout).refused(t, "401 shop_required authentication_error")
		named := strings.Replace(checkout, "{", `{"shopId":"`+o.Shop.ID+`","merchantId":"`+o.Merchant.ID+`",`, 1)
		c := o.shopper(o.whole(t, false).session(t, named))
		id := c.choose(t, choice("sbx_cash")).want(t, http.StatusCreated).text(t, "transactionId")
		o.get(t, "/payments/"+id).want(t, http.StatusOK)
		for name, other := range map[string]shop{"another merchant": stranger, "the other environment": o.live()} {
			if r := other.get(t, "/payments/"+id); r.problem(t) != "404 transaction_not_found invalid_request_error" {
				t.Errorf("%s reads the transaction: %s", name, r)
			}
		}
		// The environment is the key's, whoever chooses.
		live := o.live()
		live.post(t, "/checkout/sessions", checkout, "Sandbox-Simulate: paid").refused(t, "400 production_key_refused invalid_request_error param=Sandbox-Simulate")
		leaves := s.serves(t)
		session := o.shopper(live.session(t, `{"amount":25.5,"country":"BRA",`+ana+`}`))
		leaves()
		session.choose(t, choice("sbx_pix")).refused(t, "400 unsupported_method invalid_request_error param=paymentMethodId")
		session.choose(t, choice(live.method(t, "MEX", "spei"))).refused(t, "400 unsupported_country invalid_request_error param=country")
		session.choose(t, choice(live.method(t, "BRA", "pix"))).refused(t, "422 cascade_exhausted routing_error reason=no_provider_for_method_region")
		if live.total(t, nil) != "1" || o.total(t, nil) != "1" || stranger.total(t, nil) != "0" {
			t.Errorf("production has %s transactions, the sandbox %s, the stranger %s", live.total(t, nil), o.total(t, nil), stranger.total(t, nil))
		}
	})
}

func TestSessionRepeatShowsTheSameToken(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		const key, conflict = "Idempotency-Key: order-1", "409 idempotency_conflict idempotency_error reason=body_differs"
		replies := make([]reply, 20)
		var all sync.WaitGroup
		for n := range replies {
			all.Go(func() { replies[n] = o.post(t, "/checkout/sessions", checkout, key) })
		}
		all.Wait()
		first := 0
		for n, r := range replies {
			if r.header.Get("Idempotency-Replayed") == "" {
				first = n
			}
		}
		replies[first].want(t, http.StatusCreated)
		for n, r := range replies {
			if n != first {
				same(t, replies[first], r)
			}
		}
		spaced := strings.ReplaceAll(checkout, ",", " ,\n")
		same(t, replies[first], o.post(t, "/checkout/sessions", spaced, key))
		for _, body := range []string{strings.Replace(checkout, "25.5", "25.51", 1), card, strings.Replace(checkout, "{", `{"colour":1,`, 1)} {
			o.post(t, "/checkout/sessions", body, key).refused(t, conflict)
		}
		token := replies[first].text(t, "sessionId")
		s.serves(t)
		for _, other := range []shop{stranger, o.live()} {
			if r := other.post(t, "/checkout/sessions", checkout, key).want(t, http.StatusCreated); r.text(t, "sessionId") == token {
				t.Errorf("another shop got the session: %s", r)
			}
		}
		// What it shows does not change when the session does, or ends.
		o.shopper(token).choose(t, choice("sbx_cash")).want(t, http.StatusCreated)
		same(t, replies[first], o.post(t, "/checkout/sessions", checkout, key))
		o.post(t, "/sandbox/clock", `{"advance":"25h"}`).want(t, http.StatusOK)
		same(t, replies[first], o.post(t, "/checkout/sessions", checkout, key))

		shot := o.post(t, "/checkout/sessions", card, "Idempotency-Key: shot").want(t, http.StatusCreated)
		same(t, shot, o.post(t, "/checkout/sessions", card, "Idempotency-Key: shot"))
		o.post(t, "/checkout/sessions", checkout, "Idempotency-Key: shot").refused(t, conflict)
		declined := o.post(t, "/checkout/sessions", `{"amount":10.05,"paymentMethodId":"sbx_card"}`, "Idempotency-Key: no").want(t, http.StatusPaymentRequired)
		same(t, declined, o.post(t, "/checkout/sessions", `{"amount":10.05,"paymentMethodId":"sbx_card"}`, "Idempotency-Key: no"))
		// A payment's key is of another route.
		o.post(t, "/payments", card, key).want(t, http.StatusCreated)
	})
}

func TestSessionInTheShopsCurrency(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for _, c := range []struct{ amount, currency, method, usd, local, localCurrency string }{
			// 100 BRL are 18.52 USD, and those 100.01 BRL: the customer pays what was asked.
			{"100", "BRL", "sbx_pix", "18.52", "100", "BRL"},
			{"100", "brl", "sbx_spei", "18.52", "339.84", "MXN"},
			{"100", "BRL", "sbx_card", "18.52", "18.52", "USD"},
			{"50000", "CLP", "sbx_pse", "52.91", "218015.66", "COP"},
			{"25.5", "USD", "sbx_pix", "25.5", "137.7", "BRL"},
			{"540000", "BRL", "sbx_card", "100000", "100000", "USD"},
		} {
			r := o.post(t, "/checkout/sessions", fmt.Sprintf(`{"amount":%s,"currency":%q,%s}`, c.amount, c.currency, ana)).want(t, http.StatusCreated)
			customer := o.shopper(r.text(t, "sessionId"))
			for _, shown := range []reply{r, customer.read(t)} {
				if shown.text(t, "amount") != c.amount || shown.text(t, "currency") != strings.ToUpper(c.currency) {
					t.Errorf("want %s %s: %s", c.amount, c.currency, shown)
				}
			}
			id := customer.choose(t, choice(c.method)).want(t, http.StatusCreated).text(t, "transactionId")
			p := o.get(t, "/payments/"+id)
			if p.text(t, "amount") != c.usd || p.text(t, "currency") != "USD" || p.text(t, "amountLocal") != c.local || p.text(t, "currencyLocal") != c.localCurrency {
				t.Errorf("%s %s over %s: want %s USD and %s %s: %s", c.amount, c.currency, c.method, c.usd, c.local, c.localCurrency, p)
			}
			if p.text(t, "status") == "pending" {
				o.simulate(t, id, "paid").want(t, http.StatusOK)
				o.simulate(t, id, "refunded").want(t, http.StatusOK)
			}
		}
	})
}

func TestTokenIsNotKept(t *testing.T) {
	database := dbtest.SQLite(t)
	s := start(t, database, &clock{})
	o := s.shop(t)
	token := o.session(t, checkout, "Idempotency-Key: a")
	o.shopper(token).choose(t, choice("sbx_cash")).want(t, http.StatusCreated)
	s.end(t)
	text, err := os.ReadFile(strings.TrimPrefix(database, "sqlite:"))
	must(t, err)
	if bytes.Contains(text, []byte(token[3:])) {
		t.Error("the database holds the token")
	}
	if !bytes.Contains(text, []byte(s.vault.Hash(token))) {
		t.Error("the database does not hold the token's hash, so this test proves nothing")
	}
}

func TestOldSessionsAreDeleted(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		o.session(t, checkout, "Idempotency-Key: old")
		chosen := o.shopper(o.session(t, checkout))
		id := chosen.choose(t, choice("sbx_cash")).want(t, http.StatusCreated).text(t, "transactionId")
		s.clock.advance(29 * 24 * time.Hour)
		young := o.shopper(o.session(t, checkout))
		s.clock.advance(24*time.Hour + time.Minute)
		if n, err := s.App.Sessions.PurgeSessions(ctx); err != nil || n > 2 {
			t.Errorf("PurgeSessions deleted %d, %v, want 2 at most", n, err)
		}
		if n, err := s.App.Sessions.PurgeSessions(ctx); err != nil || n != 0 {
			t.Errorf("PurgeSessions deleted %d more, %v", n, err)
		}
		o.post(t, "/checkout/sessions", checkout, "Idempotency-Key: old").refused(t, "404 checkout_session_not_found invalid_request_error")
		o.get(t, "/payments/"+id).want(t, http.StatusOK)
		young.read(t).refused(t, "404 checkout_session_not_found invalid_request_error")
	})
}
