package checkout

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
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

func TestSelectorSessionGoesFromOpenToPaid(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		const back = "https://shop.example/thanks?order=1&lang=es"
		created := o.Post(t, "/checkout/sessions", `{"amount":25.50,"country":"br","merchantOrderId":"order 7","returnUrl":"`+back+`",`+harness.Ana+`}`)
		created.Is(t, http.StatusCreated, `{"sessionId":"<token>","checkoutUrl":"<url>","paymentMethodId":null,"status":"awaiting_method",
			"amount":25.5,"currency":"USD","country":"BRA","expiresAt":"<time>"}`)
		token := created.Text(t, "sessionId")
		if got, want := created.Text(t, "checkoutUrl"), s.URL+"/checkout/"+token; got != want {
			t.Errorf("checkoutUrl is %s, want %s", got, want)
		}
		c := o.Shopper(token)
		seen := `{"token":"` + token + `","status":%q,"amount":25.5,"currency":"USD","country":"BRA",
			"customer":{"firstName":"Ana","lastName":"Souza","email":"ana@b.example","phone":"+55 11 98765 4321","documentId":"52998224725"},
			"customerIp":"127.0.0.1","returnUrl":"` + back + `","expiresAt":"` + created.Text(t, "expiresAt") + `","completedTxId":%s}`
		c.Read(t).Is(t, http.StatusOK, fmt.Sprintf(seen, "awaiting_method", `null,"methods":"<list>"`))

		chosen := c.Choose(t, harness.Choice("sbx_pix"))
		chosen.Is(t, http.StatusCreated, `{"sessionId":"`+token+`","transactionId":"<txn>","checkoutUrl":"<url>","status":"pending","transactionStatus":"pending"}`)
		id := chosen.Text(t, "transactionId")
		if got, want := chosen.Text(t, "checkoutUrl"), s.Keyed(s.URL+"/c/"+id+"?returnUrl="+url.QueryEscape(back), id); got != want {
			t.Errorf("checkoutUrl is %s, want %s", got, want)
		}
		c.Read(t).Is(t, http.StatusOK, fmt.Sprintf(seen, "pending", `"`+id+`","transactionStatus":"pending"`))
		c.Choose(t, harness.Choice("sbx_card")).Is(t, http.StatusConflict, `{"error":{"code":"checkout_session_already_completed","type":"conflict_error","message":"<text>",
			"requestId":"<req>","details":{"helpUrl":"<url>","existingTxId":"`+id+`"}}}`)

		o.Simulate(t, id, "paid").Want(t, http.StatusOK)
		p := o.Get(t, "/payments/"+id).Want(t, http.StatusOK)
		for field, want := range map[string]string{
			"status": "completed", "amount": "25.5", "amountLocal": "137.7", "currencyLocal": "BRL", "country": "BRA",
			"paymentMethodId": "sbx_pix", "merchantOrderId": "order 7",
		} {
			if got := p.Text(t, field); got != want {
				t.Errorf("the transaction's %s is %s, want %s", field, got, want)
			}
		}
		if got := endpoint.About(t, id, 2)[0]; got.Text("type") != "payment.completed" || got.Text("data.object.merchantOrderId") != "order 7" {
			t.Errorf("the endpoint got %s of order %s, want payment.completed of order 7", got.Text("type"), got.Text("data.object.merchantOrderId"))
		}
		c.Read(t).Is(t, http.StatusOK, fmt.Sprintf(seen, "pending", `"`+id+`","transactionStatus":"completed"`))
	})
}

// One-shot mode is POST /payments with hostedCheckout (CHK-6).
func TestOneShotSessionIsAHostedPayment(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const back = "https://shop.example/thanks?order=1&lang=es"
		for _, m := range harness.SandboxMethods {
			body := fmt.Sprintf(`{"amount":25.50,"paymentMethodId":%q,"documentId":%q,"merchantOrderId":"order %[1]s","returnUrl":%[3]q,"currency":"USD"}`,
				m.Id, m.Document, back)
			r := o.Post(t, "/checkout/sessions", body)
			r.Is(t, http.StatusCreated, fmt.Sprintf(`{"sessionId":"<txn>","checkoutUrl":"<url>","paymentMethodId":%q,"status":"pending","transactionStatus":%q,
				"amount":25.5,"currency":"USD","country":%q,"amountLocal":%s,"currencyLocal":%q,"fxRate":%s,"expiresAt":"<time>"}`,
				m.Id, m.Status, m.Country, m.Local, m.Currency, m.Rate))
			id := r.Text(t, "sessionId")
			if got, want := r.Text(t, "checkoutUrl"), s.Keyed(s.URL+"/c/"+id+"?returnUrl="+url.QueryEscape(back), id); got != want {
				t.Errorf("checkoutUrl is %s, want %s", got, want)
			}
			if p := o.Get(t, "/payments/"+id); p.Text(t, "status") != m.Status || p.Text(t, "merchantOrderId") != "order "+m.Id {
				t.Errorf("the transaction is %s", p)
			}
			// The payment's id works as the token of a session that is already completed. The session
			// shows the payment's present status, and no data of the shopper.
			told := func(status string) string {
				return fmt.Sprintf(`{"token":%q,"status":"pending","transactionStatus":%q,"amount":25.5,"currency":"USD","country":%q,"customer":null,
					"customerIp":null,"returnUrl":%q,"expiresAt":%q,"completedTxId":%[1]q}`, id, status, m.Country, back, r.Text(t, "expiresAt"))
			}
			o.Shopper(id).Read(t).Is(t, http.StatusOK, told(m.Status))
			if m.Status == "pending" {
				o.Simulate(t, id, "paid").Want(t, http.StatusOK)
				o.Shopper(id).Read(t).Is(t, http.StatusOK, told("completed"))
			}
			if r := o.Shopper(id).Choose(t, harness.Choice("sbx_card")); r.Problem(t) != "409 checkout_session_already_completed conflict_error" {
				t.Errorf("a second choice returns %s", r)
			}
		}
		if r := o.Post(t, "/checkout/sessions", harness.Card, "Sandbox-Simulate: failed"); r.Problem(t) != "402 card_declined card_error decline=do_not_honor" {
			t.Errorf("the simulated action was not run: %s", r)
		}
		direct := o.Create(t, harness.Card)
		o.Shopper(direct).Read(t).Refused(t, "404 checkout_session_not_found invalid_request_error")
	})
}

// Of many choices at once, exactly one wins and makes a payment. Other services charged twice here
// (saleor/saleor#19220, #14648, #12652).
func TestCheckoutSelectIsSingleWinner(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for round, methods := range [][]string{{"sbx_card"}, {"sbx_pse", "sbx_card", "sbx_pix", "sbx_cash", "sbx_spei"}} {
			c := o.Shopper(o.Session(t, harness.CheckoutBody))
			replies := make([]harness.Reply, 50)
			var all sync.WaitGroup
			for n := range replies {
				all.Go(func() {
					if n%5 == 0 { // a read from another address changes the session's version
						c.Read(t, fmt.Sprintf("X-Forwarded-For: 198.51.100.%d", n+1)).Want(t, http.StatusOK)
					}
					replies[n] = c.Choose(t, harness.Choice(methods[n%len(methods)]), fmt.Sprintf("X-Real-Ip: 203.0.113.%d", n+1))
				})
			}
			all.Wait()
			var winners []string
			for _, r := range replies {
				if r.Status == http.StatusCreated {
					winners = append(winners, r.Text(t, "transactionId"))
				}
			}
			if len(winners) != 1 {
				t.Fatalf("%d of 50 choices won, want 1: %v", len(winners), winners)
			}
			for _, r := range replies {
				if r.Status != http.StatusCreated && (r.Problem(t) != "409 checkout_session_already_completed conflict_error" ||
					r.Text(t, "error.details.existingTxId") != winners[0]) {
					t.Errorf("a loser gets %s, want the conflict with %s", r, winners[0])
				}
			}
			if got := c.Read(t).Text(t, "completedTxId"); got != winners[0] {
				t.Errorf("the session is locked to %s, want %s", got, winners[0])
			}
			if n := o.Total(t, nil); n != fmt.Sprint(round+1) {
				t.Errorf("there are %s transactions after %d sessions, want one for each", n, round+1)
			}
			p, err := s.App.Cascade.Payment(ctx, harness.SandboxScope(o), winners[0])
			harness.Must(t, err)
			if len(p.Attempts) != 1 {
				t.Errorf("the winner has %d attempts, want 1: %s", len(p.Attempts), p)
			}
		}
	})
}

func TestSessionEndsAfter24Hours(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		waiting, chosen := o.Shopper(o.Session(t, harness.CheckoutBody)), o.Shopper(o.Session(t, harness.CheckoutBody))
		id := chosen.Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated).Text(t, "transactionId")
		shot := o.Shopper(o.Session(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`))
		o.Post(t, "/sandbox/clock", `{"advance":"23h59m"}`).Want(t, http.StatusOK)
		for _, c := range []harness.Shopper{waiting, chosen, shot} {
			c.Read(t).Want(t, http.StatusOK)
		}
		chosen.Choose(t, harness.Choice("sbx_card")).Refused(t, "409 checkout_session_already_completed conflict_error")
		o.Post(t, "/sandbox/clock", `{"advance":"1m"}`).Want(t, http.StatusOK)
		const gone = "404 checkout_session_not_found invalid_request_error"
		for _, c := range []harness.Shopper{waiting, chosen, shot} {
			c.Read(t).Refused(t, gone)
			c.Choose(t, harness.Choice("sbx_card")).Refused(t, gone)
		}
		if got := o.Status(t, id); got != "pending" || o.Total(t, nil) != "2" {
			t.Errorf("the transaction of an expired session is %s of %s transactions, want pending of 2", got, o.Total(t, nil))
		}
	})
}

// A choice that made a transaction locks the session, whatever the transaction's outcome is.
func TestFailedPaymentLocksTheSession(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		live := o.Production()
		leaves := harness.OpenPixAndSPEI(t, s)
		unserved := live.Session(t, `{"amount":10,`+harness.Ana+`}`)
		leaves()
		for _, c := range []struct {
			name, amount, method string
			by                   harness.Client
			fault                sandbox.Fault
			want, status         string
		}{
			{"a declined card", "10.05", "sbx_card", o, "", "402 card_declined card_error decline=do_not_honor", "failed"},
			{"an exhausted cascade", "10.91", "sbx_card", o, "", "422 cascade_exhausted routing_error reason=all_providers_failed", "failed"},
			{"every provider down", "10", "sbx_cash", o, sandbox.Down, "422 cascade_exhausted routing_error reason=all_providers_failed", "failed"},
			{"no provider", "10", harness.Method(t, live, "BRA", "pix"), live, "", "422 cascade_exhausted routing_error reason=no_provider_for_method_region", "failed"},
			{"a provider that does not answer", "10", "sbx_cash", o, sandbox.Timeout, "201", "processing"},
			{"a challenge, to which the page leads", "10.65", "sbx_card", o, "", "201", "pending"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s.Upstream(t, c.fault, c.fault, c.fault)
				defer s.Upstream(t, "", "", "")
				token := unserved
				if c.name != "no provider" {
					token = c.by.Session(t, `{"amount":`+c.amount+`,`+harness.Ana+`}`)
				}
				customer := o.Shopper(token)
				r := customer.Choose(t, harness.Choice(c.method))
				r.Refused(t, c.want)
				at := "error.details.transactionId"
				if r.Status == http.StatusCreated {
					at = "transactionId"
					if got := r.Text(t, "transactionStatus"); got != c.status {
						t.Errorf("transactionStatus is %s, want %s", got, c.status)
					}
				}
				id := r.Text(t, at)
				if got := c.by.Status(t, id); got != c.status {
					t.Errorf("the transaction is %s, want %s", got, c.status)
				}
				if got := customer.Read(t).Text(t, "completedTxId"); got != id {
					t.Errorf("the session is locked to %s, want %s", got, id)
				}
				again := customer.Choose(t, harness.Choice("sbx_pse"))
				again.Refused(t, "409 checkout_session_already_completed conflict_error")
				if got := again.Text(t, "error.details.existingTxId"); got != id {
					t.Errorf("existingTxId is %s, want %s", got, id)
				}
			})
		}
		// A query settles the outcome of the provider that did not answer.
		s.Clock.Advance(31 * time.Second)
		s.Sweep(t, "no transaction is processing", func() bool { return o.Total(t, url.Values{"status": {"processing"}}) == "0" })
	})
}

// The customer's address comes from the requests that read the session or choose in it, not from the
// request that makes it: that one is of the shop's server (CHK-21).
func TestCustomersAddressIsOfTheirOwnRequests(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		buyer := func(id string) pay.Buyer {
			t.Helper()
			p, err := s.App.Cascade.Payment(ctx, harness.SandboxScope(o), id)
			harness.Must(t, err)
			return p.Order.Buyer
		}
		c := o.Shopper(o.Session(t, harness.CheckoutBody, "X-Forwarded-For: 192.0.2.1"))
		for _, visit := range []struct{ forwarded, real, want string }{
			{"203.0.113.7, 10.0.0.1, 192.0.2.9", "192.0.2.2", "203.0.113.7"},
			{"", "203.0.113.8", "203.0.113.8"},
			{"unknown, 10.0.0.1", "203.0.113.9", "203.0.113.9"},
			{"2001:DB8::1", "", "2001:db8::1"},
			{"<script>", "<script>", "127.0.0.1"},
			{"", "", "127.0.0.1"},
		} {
			header := []string{"X-Forwarded-For: " + visit.forwarded, "X-Real-Ip: " + visit.real}
			if got := c.Read(t, header...).Text(t, "customerIp"); got != visit.want {
				t.Errorf("%v: customerIp is %s, want %s", header, got, visit.want)
			}
		}
		id := c.Choose(t, harness.Choice("sbx_pse"), "X-Forwarded-For: 203.0.113.20").Want(t, http.StatusCreated).Text(t, "transactionId")
		want := pay.Buyer{Email: "ana@b.example", Name: "Ana Souza", Phone: "+55 11 98765 4321", IP: "203.0.113.20", Document: "52998224725"}
		if got := buyer(id); got != want {
			t.Errorf("the payment has the buyer %+v, want %+v", got, want)
		}
		// The address that the provider got does not change later.
		if got := c.Read(t, "X-Forwarded-For: 203.0.113.30").Text(t, "customerIp"); got != "203.0.113.20" {
			t.Errorf("customerIp is %s after the choice, want 203.0.113.20", got)
		}
		for path, bodies := range map[string]map[string]string{
			"/checkout/sessions": {harness.Card: "", harness.With(`"userIp":"203.0.113.40"`): "203.0.113.40"},
			"/payments": {harness.With(`"hostedCheckout":true`): "", harness.With(`"hostedCheckout":true,"userIp":"203.0.113.40"`): "203.0.113.40",
				harness.Card: "192.0.2.1", harness.With(`"userIp":"203.0.113.40"`): "203.0.113.40"},
		} {
			for body, want := range bodies {
				r := o.Post(t, path, body, "X-Forwarded-For: 192.0.2.1").Want(t, http.StatusCreated)
				id, ok := r.At(t, "transactionId")
				if !ok {
					id = r.Text(t, "sessionId")
				}
				if got := buyer(fmt.Sprint(id)).IP; got != want {
					t.Errorf("POST %s %s: the payment has the address %q, want %q", path, body, got, want)
				}
			}
		}
	})
}

func TestCheckoutURLHasTheCanonicalHost(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		evil := []string{"X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https", "Forwarded: host=evil.example", "X-Original-Host: evil.example"}
		post := func(credential, path, body string) harness.Reply {
			t.Helper()
			r := harness.Request{Method: http.MethodPost, Path: harness.APIPath + path, Body: body, Host: "evil.example", Header: http.Header{
				"Authorization": {"Bearer " + credential}, "Content-Type": {"application/json"},
			}}
			for _, line := range evil {
				name, value, _ := strings.Cut(line, ": ")
				r.Header.Set(name, value)
			}
			return s.Send(t, r).Want(t, http.StatusCreated)
		}
		opened := post(o.Credential, "/checkout/sessions", harness.CheckoutBody)
		token := opened.Text(t, "sessionId")
		for name, r := range map[string]harness.Reply{
			"selector": opened, "one-shot": post(o.Credential, "/checkout/sessions", harness.Card), "payment": post(o.Credential, "/payments", harness.With(`"hostedCheckout":true`)),
			"select": post("", "/checkout/sessions/"+token+"/select", harness.Choice("sbx_cash")),
		} {
			if got := r.Text(t, "checkoutUrl"); !strings.HasPrefix(got, s.URL+"/c") || strings.Contains(string(r.Body), "evil") {
				t.Errorf("%s: checkoutUrl is %s, want it to begin with %s", name, got, s.URL)
			}
		}
	})
}

func TestSessionBelongsToItsShop(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		o.As(o.Sandbox.Publishable).Post(t, "/checkout/sessions", harness.CheckoutBody).Refused(t, "403 key_kind_not_allowed permission_error")
		o.Whole(t, false).Post(t, "/checkout/sessions", harness.CheckoutBody).Refused(t, "401 shop_required authentication_error")
		named := strings.Replace(harness.CheckoutBody, "{", `{"shopId":"`+o.Shop.ID+`","merchantId":"`+o.Merchant.ID+`",`, 1)
		c := o.Shopper(o.Whole(t, false).Session(t, named))
		id := c.Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated).Text(t, "transactionId")
		o.Get(t, "/payments/"+id).Want(t, http.StatusOK)
		for name, other := range map[string]harness.Client{"another merchant": stranger, "the other environment": o.Production()} {
			if r := other.Get(t, "/payments/"+id); r.Problem(t) != "404 transaction_not_found invalid_request_error" {
				t.Errorf("%s can read the transaction: %s", name, r)
			}
		}
		// The session's environment is that of the key that made it.
		live := o.Production()
		live.Post(t, "/checkout/sessions", harness.CheckoutBody, "Sandbox-Simulate: paid").Refused(t, "400 production_key_refused invalid_request_error param=Sandbox-Simulate")
		leaves := harness.OpenPixAndSPEI(t, s)
		session := o.Shopper(live.Session(t, `{"amount":25.5,"country":"BRA",`+harness.Ana+`}`))
		leaves()
		session.Choose(t, harness.Choice("sbx_pix")).Refused(t, "400 unsupported_method invalid_request_error param=paymentMethodId")
		session.Choose(t, harness.Choice(harness.Method(t, live, "MEX", "spei"))).Refused(t, "400 unsupported_country invalid_request_error param=country")
		session.Choose(t, harness.Choice(harness.Method(t, live, "BRA", "pix"))).Refused(t, "422 cascade_exhausted routing_error reason=no_provider_for_method_region")
		if live.Total(t, nil) != "1" || o.Total(t, nil) != "1" || stranger.Total(t, nil) != "0" {
			t.Errorf("production has %s transactions, the sandbox %s, the stranger %s; want 1, 1 and 0", live.Total(t, nil), o.Total(t, nil), stranger.Total(t, nil))
		}
	})
}

func TestSessionRepeatShowsTheSameToken(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		const key, conflict = "Idempotency-Key: order-1", "409 idempotency_conflict idempotency_error reason=body_differs"
		replies := make([]harness.Reply, 20)
		var all sync.WaitGroup
		for n := range replies {
			all.Go(func() { replies[n] = o.Post(t, "/checkout/sessions", harness.CheckoutBody, key) })
		}
		all.Wait()
		first := 0
		for n, r := range replies {
			if r.Header.Get("Idempotency-Replayed") == "" {
				first = n
			}
		}
		replies[first].Want(t, http.StatusCreated)
		for n, r := range replies {
			if n != first {
				harness.Same(t, replies[first], r)
			}
		}
		spaced := strings.ReplaceAll(harness.CheckoutBody, ",", " ,\n")
		harness.Same(t, replies[first], o.Post(t, "/checkout/sessions", spaced, key))
		for _, body := range []string{strings.Replace(harness.CheckoutBody, "25.5", "25.51", 1), harness.Card, strings.Replace(harness.CheckoutBody, "{", `{"colour":1,`, 1)} {
			o.Post(t, "/checkout/sessions", body, key).Refused(t, conflict)
		}
		token := replies[first].Text(t, "sessionId")
		harness.OpenPixAndSPEI(t, s)
		for _, other := range []harness.Client{stranger, o.Production()} {
			if r := other.Post(t, "/checkout/sessions", harness.CheckoutBody, key).Want(t, http.StatusCreated); r.Text(t, "sessionId") == token {
				t.Errorf("another shop got the session: %s", r)
			}
		}
		// The replay stays the same when the session changes or expires.
		o.Shopper(token).Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated)
		harness.Same(t, replies[first], o.Post(t, "/checkout/sessions", harness.CheckoutBody, key))
		o.Post(t, "/sandbox/clock", `{"advance":"25h"}`).Want(t, http.StatusOK)
		harness.Same(t, replies[first], o.Post(t, "/checkout/sessions", harness.CheckoutBody, key))

		shot := o.Post(t, "/checkout/sessions", harness.Card, "Idempotency-Key: shot").Want(t, http.StatusCreated)
		harness.Same(t, shot, o.Post(t, "/checkout/sessions", harness.Card, "Idempotency-Key: shot"))
		o.Post(t, "/checkout/sessions", harness.CheckoutBody, "Idempotency-Key: shot").Refused(t, conflict)
		declined := o.Post(t, "/checkout/sessions", `{"amount":10.05,"paymentMethodId":"sbx_card"}`, "Idempotency-Key: no").Want(t, http.StatusPaymentRequired)
		harness.Same(t, declined, o.Post(t, "/checkout/sessions", `{"amount":10.05,"paymentMethodId":"sbx_card"}`, "Idempotency-Key: no"))
		// The same key on another route is another key.
		o.Post(t, "/payments", harness.Card, key).Want(t, http.StatusCreated)
	})
}

func TestSessionInTheShopsCurrency(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for _, c := range []struct{ amount, currency, method, usd, local, localCurrency string }{
			// 100 BRL are 18.51 USD, but 18.51 USD are 99.96 BRL. The customer pays the shop's 100 BRL.
			{"100", "BRL", "sbx_pix", "18.51", "100", "BRL"},
			{"100", "brl", "sbx_spei", "18.51", "339.66", "MXN"},
			{"101", "BRL", "sbx_card", "18.7", "18.7", "USD"},
			{"50000", "CLP", "sbx_pse", "52.91", "218015.66", "COP"},
			{"25.5", "USD", "sbx_pix", "25.5", "137.7", "BRL"},
			{"540000", "BRL", "sbx_card", "100000", "100000", "USD"},
		} {
			r := o.Post(t, "/checkout/sessions", fmt.Sprintf(`{"amount":%s,"currency":%q,%s}`, c.amount, c.currency, harness.Ana)).Want(t, http.StatusCreated)
			customer := o.Shopper(r.Text(t, "sessionId"))
			for _, shown := range []harness.Reply{r, customer.Read(t)} {
				if shown.Text(t, "amount") != c.amount || shown.Text(t, "currency") != strings.ToUpper(c.currency) {
					t.Errorf("want %s %s: %s", c.amount, c.currency, shown)
				}
			}
			id := customer.Choose(t, harness.Choice(c.method)).Want(t, http.StatusCreated).Text(t, "transactionId")
			p := o.Get(t, "/payments/"+id)
			if p.Text(t, "amount") != c.usd || p.Text(t, "currency") != "USD" || p.Text(t, "amountLocal") != c.local || p.Text(t, "currencyLocal") != c.localCurrency {
				t.Errorf("%s %s over %s: want %s USD and %s %s: %s", c.amount, c.currency, c.method, c.usd, c.local, c.localCurrency, p)
			}
			if p.Text(t, "status") == "pending" {
				o.Simulate(t, id, "paid").Want(t, http.StatusOK)
				o.Simulate(t, id, "refunded").Want(t, http.StatusOK)
			}
		}
	})
}

func TestTokenIsNotKept(t *testing.T) {
	database := dbtest.SQLite(t)
	s := harness.Start(t, database, &harness.Clock{})
	o := s.NewShop(t)
	token := o.Session(t, harness.CheckoutBody, "Idempotency-Key: a")
	o.Shopper(token).Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated)
	s.End(t)
	text, err := os.ReadFile(strings.TrimPrefix(database, "sqlite:"))
	harness.Must(t, err)
	if bytes.Contains(text, []byte(token[3:])) {
		t.Error("the database has the token in plain text")
	}
	if !bytes.Contains(text, []byte(s.Vault.Hash(token))) {
		t.Error("the database does not have the token's hash, so this test proves nothing")
	}
}

func TestOldSessionsAreDeleted(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Session(t, harness.CheckoutBody, "Idempotency-Key: old")
		chosen := o.Shopper(o.Session(t, harness.CheckoutBody))
		id := chosen.Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated).Text(t, "transactionId")
		s.Clock.Advance(29 * 24 * time.Hour)
		young := o.Shopper(o.Session(t, harness.CheckoutBody))
		s.Clock.Advance(24*time.Hour + time.Minute)
		if n, err := s.App.Sessions.PurgeSessions(ctx); err != nil || n > 2 {
			t.Errorf("PurgeSessions deleted %d sessions with the error %v, want 2 at most", n, err)
		}
		if n, err := s.App.Sessions.PurgeSessions(ctx); err != nil || n != 0 {
			t.Errorf("a second PurgeSessions deleted %d sessions with the error %v, want none", n, err)
		}
		o.Post(t, "/checkout/sessions", harness.CheckoutBody, "Idempotency-Key: old").Refused(t, "404 checkout_session_not_found invalid_request_error")
		o.Get(t, "/payments/"+id).Want(t, http.StatusOK)
		young.Read(t).Refused(t, "404 checkout_session_not_found invalid_request_error")
	})
}
