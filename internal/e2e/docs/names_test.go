package docs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/getkin/kin-openapi/openapi3"
)

// spellings are a name's usual spellings: amount_total as amountTotal, amount_total, amount-total, AmountTotal and amount_totals.
func spellings(name string) []string {
	words := strings.Split(name, "_")
	pascal := ""
	for _, w := range words {
		pascal += strings.ToUpper(w[:1]) + w[1:]
	}
	return []string{strings.ToLower(pascal[:1]) + pascal[1:], name, strings.ReplaceAll(name, "_", "-"), pascal, strings.TrimSuffix(name, "s") + "s"}
}

// readNames reads testdata/names.txt: whether each name could mean money. Our own names are left out.
func readNames(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("testdata/names.txt")
	harness.Must(t, err)
	names, money := map[string]bool{}, false
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range strings.Fields(line) {
			if word == "money" || word == "own" {
				money = word == "money"
				continue
			}
			for _, spelling := range spellings(word) {
				names[spelling] = money
			}
		}
	}
	return names
}

// Every name that other APIs and other languages have for something that decides about money is refused where it would be ignored: on
// payments and sessions at the top and inside of other objects, elsewhere whatever it is. A shop's own fields change nothing, and the reply
// says that they were ignored (ERR-30).
func TestNothingThatCouldMeanMoneyIsIgnored(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Fund(t, false, 100_000_00)
		o.Wallet(t)
		names := readNames(t)
		if len(names) < 500 {
			t.Fatalf("%d names are listed, want 500", len(names))
		}
		paid := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`, "Sandbox-Simulate: paid")
		closed := map[string]string{
			"/payments/" + paid + "/refund": `{"reason":"x"}`, "/payments/" + paid + "/simulate": `{"action":"chargeback"}`, "/withdrawals": `{"amount":10}`,
			"/wallets": `{"type":"bank_account","currency":"MXN","destination":"` + harness.CLABE + `"}`, "/webhooks": `{"events":["*"]}`, "/withdrawals/x/cancel": `{"x":1}`,
		}
		bodies := map[string]string{
			"/payments":          `{"amount":10,"paymentMethodId":"sbx_cash"}`,
			"/checkout/sessions": `{"amount":10,"country":"BRA","customer":{"firstName":"Ana","lastName":"Silva","email":"ana@example.com","phone":"+5511987654321"}}`,
		}
		with := func(body, name, value string) string {
			return strings.Replace(body, "{", fmt.Sprintf("{%q:%s,", name, value), 1)
		}
		refused := func(path, body, name, field string) {
			t.Helper()
			r := o.Post(t, path, body)
			if r.Status != http.StatusBadRequest || r.Text(t, "error.code") != "invalid_request" || r.Text(t, "error.param") != field {
				t.Errorf("POST %s with %s gets %d %s, want that %s is refused", path, name, r.Status, r.Body, field)
			}
		}
		own := map[string]string{}
		for name, money := range names {
			for path, body := range closed {
				refused(path, with(body, name, `5`), name, name)
			}
			refused("/payments/"+paid+"/refund", fmt.Sprintf(`{"refund":{%q:5}}`, name), name, "refund")
			for path, body := range bodies {
				if !money {
					own[path] = with(cmp.Or(own[path], body), name, `5`)
					continue
				}
				refused(path, with(body, name, `5`), name, name)
				refused(path, with(body, "data", fmt.Sprintf(`[{"inner":{%q:5}}]`, name)), name, "data[].inner."+name)
			}
		}
		for path := range bodies { // so many fields of its own are no shop's
			if r := o.Post(t, path, own[path]); r.Status != http.StatusBadRequest || !strings.Contains(r.Text(t, "error.message"), "more than 200 fields") {
				t.Errorf("POST %s with all own names gets %d %s", path, r.Status, r.Body)
			}
		}
		mine := slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool { return names[name] })
		for path, body := range bodies {
			plain := o.Post(t, path, body).Want(t, http.StatusCreated)
			for part := range slices.Chunk(mine, 100) {
				sent := body
				for _, name := range part {
					sent = with(sent, name, `{"note":"x"}`)
				}
				r := o.Post(t, path, sent).Want(t, http.StatusCreated)
				want := strings.Join(part[:min(20, len(part))], ", ")
				if more := len(part) - 20; more > 0 {
					want = fmt.Sprintf("%s, %d more", want, more)
				}
				if ignored := r.Header.Get("Service-Ignored"); ignored != want {
					t.Errorf("POST %s: ignored are %q, want %q", path, ignored, want)
				}
				if got, want := withoutIDs(t, r), withoutIDs(t, plain); got != want {
					t.Errorf("POST %s: a shop's own fields make\n%s\nwant\n%s", path, got, want)
				}
			}
		}
		for body, field := range map[string]string{
			`{"amount":10,"paymentMethodId":"sbx_cash","installments":{"maximum":3}}`:                        "installments.maximum",
			`{"amount":10,"paymentMethodId":"sbx_cash","shop_id":"x"}`:                                       "shop_id",
			`{"amount":10,"paymentMethodId":"sbx_cash","order":{"shopId":"x"}}`:                              "order.shopId",
			`{"amount":10,"paymentMethodId":"sbx_cash","Amount":12}`:                                         "Amount",
			`{"amount":10,"paymentMethodId":"sbx_cash","cart":{"note":[[{"deep":{"currencyCode":"BRL"}}]]}}`: "cart.note[][].deep.currencyCode",
			`{"amount":10,"paymentMethodId":"sbx_cash","type":"AUTHORIZATION"}`:                              "type",
			`{"amount":10,"paymentMethodId":"sbx_cash","transaction":{"action":"Auth_Only"}}`:                "transaction.action",
			`{"amount":10,"paymentMethodId":"sbx_cash","options":{"submitForSettlement":false}}`:             "options.submitForSettlement",
			`{"amount":10,"paymentMethodId":"sbx_cash","test":true}`:                                         "test",
			`{"amount":10,"paymentMethodId":"sbx_cash","shipping":5}`:                                        "shipping",
			`{"amount":10,"paymentMethodId":"sbx_cash","shipping":{"address":{"city":"x"},"cost":5}}`:        "shipping.cost",
			`{"amount":10,"paymentMethodId":"sbx_cash","ｍｏｎｔｏ":5}`:                                           "ｍｏｎｔｏ",
		} {
			refused("/payments", body, body, field)
		}
		for _, own := range []string{`"test":false`, `"type":"AUTHORIZATION_AND_CAPTURE"`, `"shipping":{"name":"Ana","address":{"city":"x","country":"BRA"}}`} {
			o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_cash",`+own+`}`).Want(t, http.StatusCreated)
		}
		refused("/checkout/sessions", with(bodies["/checkout/sessions"], "paymentMethod", `"pix"`), "paymentMethod", "paymentMethod")
		named := with(with(with(bodies["/checkout/sessions"], "userEmail", `"b@example.com"`), "documentId", `"1"`), "note", "1")
		if r := o.Post(t, "/checkout/sessions", named).Want(t, http.StatusCreated); r.Header.Get("Service-Ignored") != "note, documentId, userEmail" {
			t.Errorf("a session that reads no userEmail says that it ignored %q", r.Header.Get("Service-Ignored"))
		}
		wide := bodies["/payments"]
		for i := range 100 {
			wide = with(wide, fmt.Sprint(i, strings.Repeat("ñ", 60)), "1")
		}
		if ignored := o.Post(t, "/payments", wide).Want(t, http.StatusCreated).Header.Get("Service-Ignored"); len(ignored) > 1300 || !strings.HasSuffix(ignored, ", 97 more") {
			t.Errorf("the header has %d bytes, too many for a proxy: %s", len(ignored), ignored)
		}
		token := o.Post(t, "/checkout/sessions", bodies["/checkout/sessions"]).Want(t, http.StatusCreated).Text(t, "sessionId")
		mends(t, o.Post(t, "/checkout/sessions/"+token+"/select", `{"paymentMethodId":"sbx_pix","amount":1}`),
			"400 invalid_request invalid_request_error param=amount issues=amount", "it could be meant as an amount: leave it out")
		long := strings.Repeat("long", 16)
		refused("/payments", `{"amount":10,"paymentMethodId":"sbx_cash","`+long+`":{"address":"x","monto":5}}`, "a long path", long[:60]+"…")
		line := `{"name":"a","quantity":1,"unitAmount":1,"id":1,"url":"u","image":"i"}`
		lines := `"lineItems":[` + strings.Repeat(line+",", 99) + line + `]`
		refused("/payments", `{"amount":10,"paymentMethodId":"sbx_cash",`+lines+`,"total":5}`, "more lines than names are looked at", "total")
		refused("/payments", `{"amount":10,"paymentMethodId":"sbx_cash",`+lines+`,"customer":{"document":{"monto":5}}}`, "more lines than names are looked at", "customer.document.monto")
		o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_cash",`+lines+`}`).Want(t, http.StatusCreated)
		o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_cash","metadata":{"total":"12","currency":"x"},"lineItems":[{"name":"a","quantity":1,"unitAmount":1,"price":2}]}`).Want(t, http.StatusCreated)
	})
}

// withoutIDs is a reply without what differs between two of the same request: ids, times, codes and addresses.
func withoutIDs(t *testing.T, r harness.Reply) string {
	t.Helper()
	var all map[string]any
	harness.Must(t, json.Unmarshal([]byte(r.Body), &all))
	kept := map[string]any{}
	for _, name := range []string{"amount", "amountLocal", "currency", "currencyLocal", "status", "method", "paymentMethodId", "country", "fees", "installments", "merchantOrderId"} {
		if value, there := all[name]; there {
			kept[name] = value
		}
	}
	text, err := json.Marshal(kept)
	harness.Must(t, err)
	return string(text)
}

// Every body is closed but those of the calls in which a shop may have fields of its own, and no list takes an unknown parameter (ERR-30).
func TestBodiesAreClosedButAShopsOwn(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		open := []string{"POST /payments", "POST /transactions", "POST /checkout/sessions", "POST /checkout/sessions/{token}/select"}
		doc, err := openapi3.NewLoader().LoadFromData(s.Spec.Text)
		harness.Must(t, err)
		found := 0
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				if op.RequestBody == nil || op.RequestBody.Value.Content["application/json"] == nil {
					continue
				}
				found++
				more := op.RequestBody.Value.Content["application/json"].Schema.Value.AdditionalProperties.Has
				closed, isOpen := more != nil && !*more, slices.Contains(open, method+" "+path)
				if closed == isOpen {
					t.Errorf("%s %s is closed: %t", method, path, closed)
				}
				for name, below := range op.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
					if below.Value.Items != nil { // a part of an open body that another body closed
						below = below.Value.Items
					}
					if more := below.Value.AdditionalProperties.Has; isOpen && more != nil && !*more {
						t.Errorf("%s of %s %s is closed", name, method, path)
					}
				}
			}
		}
		if found < 15 {
			t.Errorf("%d operations have bodies, want all", found)
		}
	})
}

// A parameter that decides nothing is refused where something changes, and what is sent to a call that takes no body is, in whatever form:
// neither is an amount that was not read (ERR-30).
func TestNothingBesideTheBodyIsIgnored(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Fund(t, false, 100_00)
		o.Wallet(t)
		paid := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`, "Sandbox-Simulate: paid")
		pending := o.Create(t, harness.PaidByShopper)
		refused := func(r harness.Reply, field string) {
			t.Helper()
			if r.Status != http.StatusBadRequest || r.Text(t, "error.code") != "invalid_request" || field != "" && r.Text(t, "error.param") != field {
				t.Errorf("got %d %s, want that %s is refused", r.Status, r.Body, field)
			}
		}
		for _, name := range []string{"monto", "AMOUNT", "value", "data[amount]", "currency_code", "wallet_id", "idempotency_key", "dryRun", "foo", strings.Repeat("x", 61) + "amount", "a\tb"} {
			shown := strings.ReplaceAll(name, "\t", "?")
			if len(shown) > 60 {
				shown = shown[:60] + "…"
			}
			for path, body := range map[string]string{"/payments/" + paid + "/refund": "", "/withdrawals": `{"amount":10}`, "/payments/" + pending + "/cancel": ""} {
				refused(o.Post(t, path+"?"+url.Values{name: {"5"}}.Encode(), body), shown)
			}
			refused(o.Get(t, "/withdrawals/quote?amount=10&"+url.Values{name: {"5"}}.Encode()), shown)
		}
		for _, name := range []string{"monto", "cuotas", "currency_code", "idempotency_key", "destination", "PaymentMethod", "data[amount]"} {
			refused(o.Post(t, "/payments?"+url.Values{name: {"5"}}.Encode(), harness.PaidByShopper), name)
		}
		if r := o.Post(t, "/payments?utm_campaign=x&a%09b=1", harness.PaidByShopper).Want(t, http.StatusCreated); r.Header.Get("Service-Ignored") != "a%3Fb, utm_campaign" {
			t.Errorf("a shop's own parameter is listed as %q", r.Header.Get("Service-Ignored"))
		}
		var many strings.Builder
		for i := range 201 {
			fmt.Fprintf(&many, "p%d=1&", i)
		}
		refused(o.Post(t, "/payments?"+many.String(), harness.PaidByShopper), "")
		for _, body := range []string{`[{"amount":5}]`, `5`, `"5"`, "amount=5", "\ufeff{\"amount\":5}", "\x1f\x8b", `{"amount":5}{`} {
			refused(o.Post(t, "/payments/"+pending+"/cancel", body), "")
		}
		for _, body := range []string{" ", "{}", "null", "[]"} {
			o.Post(t, "/payments/"+pending+"/cancel", body).Want(t, http.StatusOK)
		}
	})
}

// Other names of the header Idempotency-Key protect a request too, and a name that only looks like one is refused (IDEM-12).
func TestKeysUnderOtherNamesProtect(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const body = `{"amount":5,"paymentMethodId":"sbx_cash"}`
		for i, name := range []string{"X-Idempotency-Key", "Idempotence-Key", "X-Idempotence-Key", "Cko-Idempotency-Key", "Idempotency_Key", "IdempotencyKey", "X-IdempotencyKey", "PayPal-Request-Id", "idempotency-key"} {
			header := fmt.Sprintf("%s: key %d", name, i)
			first, second := o.Post(t, "/payments", body, header).Want(t, http.StatusCreated), o.Post(t, "/payments", body, header).Want(t, http.StatusCreated)
			if first.Text(t, "transactionId") != second.Text(t, "transactionId") || second.Header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("a repeat with %s makes another payment", name)
			}
			if name != "idempotency-key" {
				mends(t, o.Post(t, "/payments", body, header, "Idempotency-Key: another"), "400 invalid_request invalid_request_error param=Idempotency-Key issues=Idempotency-Key", "two values")
			}
			o.Post(t, "/payments", body, header, fmt.Sprintf("Idempotency-Key: key %d", i)).Want(t, http.StatusCreated)
		}
		for _, name := range []string{"Idempotent-Token", "My-Idempotency-Key-2", "X-Idempotencia", "Idem-Key", "X-Dedup-Key"} {
			mends(t, o.Post(t, "/payments", body, name+": x"), "400 invalid_request invalid_request_error param="+http.CanonicalHeaderKey(name), "did you mean Idempotency-Key?")
		}
		mends(t, o.Post(t, "/payments", body, "Sandbox-Simulat: paid"), "400 invalid_request invalid_request_error param=Sandbox-Simulat", "the sandbox has Sandbox-Simulate")
		mends(t, o.Post(t, "/payments", body, "X-Sandbox-Simulate: paid"), "400 invalid_request invalid_request_error param=X-Sandbox-Simulate", "the sandbox has Sandbox-Simulate")
		for _, name := range []string{"Country", "country_code", "countryCode", "pais"} {
			mends(t, o.Post(t, "/payments", fmt.Sprintf(`{"amount":5,"paymentMethodId":"sbx_cash",%q:"BRA"}`, name)), "400 invalid_request invalid_request_error param="+name+" issues="+name, "did you mean country?")
		}
		o.Post(t, "/payments", `{"amount":5,"paymentMethodId":"sbx_cash","country":"MEX","country_code":"MX","billing":{"country_code":"MX"}}`).Want(t, http.StatusCreated)
	})
}

// A refund's currency is the payment's, and a withdrawal's means what it says: USD leave, or exactly so much arrives.
func TestCurrenciesMeanWhatTheySay(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		paid := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`, "Sandbox-Simulate: paid")
		for _, body := range []string{`{"amount":5,"currency":"USD"}`, `{"currency":"BRL"}`} {
			mends(t, o.Post(t, "/payments/"+paid+"/refund", body), "400 invalid_request invalid_request_error param=currency", "a refund is in COP, too")
		}
		o.Post(t, "/payments/"+paid+"/refund", `{"amount":5000,"currency":"cop"}`).Want(t, http.StatusOK)

		o.Fund(t, false, 100_000_00)
		o.Wallet(t)
		withdrawn := func(body string) (usd, arrives float64) {
			t.Helper()
			r := o.Post(t, "/withdrawals", body).Want(t, http.StatusCreated)
			var w struct {
				Amount, FeeUsd float64
				Payout         struct {
					Amount   float64
					Currency string
				}
			}
			harness.Must(t, json.Unmarshal([]byte(r.Body), &w))
			if w.Payout.Currency != "MXN" {
				t.Errorf("the payout of %s is in %s", body, w.Payout.Currency)
			}
			return w.Amount, w.Payout.Amount
		}
		usd, mxn := withdrawn(`{"amount":100}`)
		if again, same := withdrawn(`{"amount":100,"currency":"usd"}`); again != usd || same != mxn || usd != 100 {
			t.Errorf("100 USD are %v with %v MXN, and %v with %v", usd, mxn, again, same)
		}
		for _, want := range []float64{1234.56, 1500, 777.01} {
			took, arrives := withdrawn(fmt.Sprintf(`{"amount":%v,"currency":"MXN"}`, want))
			quote := o.Get(t, fmt.Sprintf("/withdrawals/quote?amount=%v&currency=mxn", want)).Want(t, http.StatusOK)
			if arrives != want || took > want/15 || took < want/20 || quote.Text(t, "amount") != fmt.Sprint(took) {
				t.Errorf("%v MXN take %v USD, of which %v MXN arrive; the quote says %s USD", want, took, arrives, quote.Text(t, "amount"))
			}
		}
		for body, want := range map[string][2]string{
			`{"amount":100,"currency":"BRL"}`:            {"400 invalid_request invalid_request_error param=currency", "paid in MXN"},
			`{"amount":100.001,"currency":"MXN"}`:        {"400 amount_invalid invalid_request_error param=amount", "2 decimals"},
			`{"amount":100,"walletId":""}`:               {"400 invalid_request invalid_request_error param=walletId issues=walletId", "walletId must not be empty"},
			`{"currency":"MXN"}`:                         {"400 missing_field invalid_request_error param=amount issues=amount missing=amount", "amount is required"},
			`{"amount":99999999999999,"currency":"MXN"}`: {"422 balance_insufficient balance_error param=amount", "more than the available balance"},
			`{"amount":0,"currency":"MXN"}`:              {"400 amount_invalid invalid_request_error param=amount", "above 0"},
		} {
			mends(t, o.Post(t, "/withdrawals", body), want[0], want[1])
		}
		for _, token := range []string{"BTC", "USDT"} {
			w := o.Wallet(t, map[string]string{"BTC": `{"type":"crypto","currency":"BTC","destination":"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"}`,
				"USDT": `{"type":"crypto","currency":"USDT","network":"tron","destination":"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}`}[token])
			mends(t, o.Post(t, "/withdrawals", `{"amount":10,"walletId":"`+w+`","currency":"`+token+`"}`), "400 invalid_request invalid_request_error param=currency", "send the amount in USD")
		}
		s.Clean(t)
	})
}
