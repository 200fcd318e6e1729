package docs

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/getkin/kin-openapi/openapi3"
)

// mistake is a line of the table of mistakes. See harness.Mistake.
type mistake harness.Mistake

// The reply to a beginner's mistake says how to correct the request (ERR-17).
func TestMistakesSayHowToMendThem(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		stranger := s.NewShop(t)
		payment := o.Create(t, harness.Card)
		refunded := o.Create(t, harness.Card)
		o.Post(t, "/payments/"+refunded+"/refund", `{}`).Want(t, http.StatusOK)
		claim := o.Get(t, "/claims?transactionId="+refunded).Text(t, "data.0.id")
		hook := o.Post(t, "/webhooks", `{"events":["*"]}`).Want(t, http.StatusCreated).Text(t, "id")
		tokens := harness.Pair(t, o)
		whole := o.Whole(t, false)
		restricted := o.NewKey(t, auth.NewKey{Kind: merchants.Restricted, Rights: []merchants.Right{merchants.RightRead}})
		plain := "Authorization: Bearer " + o.Credential
		list := []mistake{
			// Credentials.
			{"no credentials", "", "/payments", "", "Authorization: ", "401 missing_credentials", "a secret key (sk_test_… or sk_live_…) or an access token of POST /auth/token"},
			{"Basic", "", "/payments", "", "Authorization: Basic c2s6", "401 missing_credentials", "Basic is not taken"},
			{"a key without Bearer", "", "/payments", "", "Authorization: " + o.Credential, "401 missing_credentials", "the word Bearer is missing"},
			{"Bearer and nothing", "", "/payments", "", "Authorization: Bearer", "401 missing_credentials", "nothing follows the word Bearer"},
			{"Token", "", "/payments", "", "Authorization: Token abc", "401 missing_credentials", "only Bearer is taken"},
			{"X-API-Key", "", "/payments", "", "Authorization: |X-API-Key: " + o.Credential, "401 missing_credentials", "the header X-Api-Key is not read"},
			{"a key that is cut off", "", "/payments", "", plain[:len(plain)-3], "401 invalid_api_key", "check that it is complete"},
			{"an invented key", "", "/payments", "", "Authorization: Bearer sk_test_123", "401 invalid_api_key", "cascada key list"},
			{"some token", "", "/payments", "", "Authorization: Bearer abc", "401 invalid_token", "a secret key works too"},
			{"the refresh token", "", "/payments", "", "Authorization: Bearer " + tokens.Text(t, "refreshToken"), "401 invalid_api_key", "send the access token"},
			{"a publishable key", "", "/payments", "", "Authorization: Bearer " + o.Sandbox.Publishable, "403 key_kind_not_allowed", "use a secret key here (sk_test_…"},
			{"a right too few", "", "/payments", harness.Card, "Authorization: Bearer " + restricted.Credential, "403 forbidden", "use one with the right payments"},
			{"a whole merchant's key", "", "/payments", "", "Authorization: Bearer " + whole.Credential, "401 shop_required", "?shopId=shp_…"},
			{"a whole merchant's key for methods", "", "/payment-methods", "", "Authorization: Bearer " + whole.Credential, "401 shop_required", "GET /shops lists them"},
			{"another merchant's shop", "", "/payments?shopId=" + stranger.Shop.ID, "", "", "403 forbidden shopId", "leave shopId out"},
			{"another merchant", "", "/payments", harness.With(`"merchantId":"` + stranger.Merchant.ID + `"`), "", "403 forbidden merchantId", "leave merchantId out"},
			{"swapped keys", "", "/auth/token", fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, o.Sandbox.Secret, o.Sandbox.Publishable), "", "401 invalid_api_key", "are swapped: send the publishable key (pk_test_… or pk_live_…) as apiKey"},
			{"the secret key twice", "", "/auth/token", fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, o.Sandbox.Secret, o.Sandbox.Secret), "", "401 invalid_api_key", "send the publishable key (pk_…) and the secret key (sk_…)"},
			{"keys of two environments", "", "/auth/token", fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, o.Sandbox.Publishable, o.Live.Secret), "", "401 invalid_api_key", "send pk_test_… with sk_test_…"},
			{"no secret key", "", "/auth/token", fmt.Sprintf(`{"apiKey":%q}`, o.Sandbox.Publishable), "", "400 missing_field secretKey", "secretKey is required: send a text"},
			{"api_key", "", "/auth/token", fmt.Sprintf(`{"api_key":%q,"secretKey":%q}`, o.Sandbox.Publishable, o.Sandbox.Secret), "", "400 missing_field apiKey", "did you mean apiKey?"},
			{"an old refresh token", "", "/auth/refresh", `{"refreshToken":"rt_x"}`, "", "401 invalid_token", "get a new one from POST /auth/token"},
			{"logout with a key", "", "/auth/logout", `{}`, "", "400 invalid_request", "send its access token"},

			// The address.
			{"a slash at the end", "", "/payments/", "", "", "404 not_found", "the path ends with a slash: the address is /api/v1/payments (GET, POST)"},
			{"a slash behind a longer path", "", "/me/balance/", "", "", "404 not_found", "the address is /api/v1/me/balance (GET)"},
			{"without v1", "GET", "//payments", "", "", "404 not_found", "all addresses begin with /api/v1: the address is /api/v1/payments"},
			{"without api", "GET", "///payments", "", "", "404 not_found", "the address is /api/v1/payments"},
			{"one payment", "", "/payment", harness.Card, "", "404 not_found", "did you mean GET, POST /api/v1/payments"},
			{"charges", "", "/charges", harness.Card, "", "404 not_found", "look it up in the API reference, GET /docs"},
			{"refunds", "", "/payments/" + payment + "/refunds", "{}", "", "404 not_found", "did you mean"},
			{"checkout session", "", "/checkout/session", "{}", "", "404 not_found", "did you mean POST /api/v1/checkout/sessions"},
			{"webhook", "", "/webhook", "", "", "404 not_found", "/api/v1/webhooks"},
			{"PUT", "PUT", "/payments", harness.Card, "Content-Type: application/json", "405 method_not_allowed", "it takes GET, HEAD, POST"},
			{"GET where there is POST alone", "", "/auth/token", "", "", "405 method_not_allowed", "it takes POST"},
			{"DELETE a payment", "DELETE", "/payments/" + payment, "", "", "405 method_not_allowed", "it takes GET"},

			// The body as a whole.
			{"no content type", "", "/payments", harness.Card, "Content-Type: ", "415 content_type_required", "Content-Type: application/json"},
			{"a form", "", "/payments", "amount=25.5", "Content-Type: application/x-www-form-urlencoded", "415 content_type_required", "must be JSON"},
			{"an empty body", "POST", "/payments", "", "", "400 invalid_json", "send a JSON object"},
			{"a trailing comma", "", "/payments", "{\n  \"amount\": 25.5,\n}", "", "400 invalid_json", "at line 2, column 17: take away the comma before }"},
			{"single quotes", "", "/payments", `{'amount':25.5}`, "", "400 invalid_json", "at line 1, column 2: put names and texts in double quotes"},
			{"no quotes", "", "/payments", "{\n amount: 25.5}", "", "400 invalid_json", `at line 2, column 2: put names and texts in double quotes, as in "amount"`},
			{"half a body", "", "/payments", `{"amount":25.5`, "", "400 invalid_json", "it ends too early"},
			{"a form as JSON", "", "/payments", `amount=25.5`, "", "400 invalid_json", "a JSON object begins with {"},
			{"True", "", "/payments", harness.With(`"hostedCheckout":True`), "", "400 invalid_json", "write true, false and null in lower case"},
			{"a comma for the decimals", "", "/payments", `{"amount":25,50}`, "", "400 invalid_json", "stand after a point"},
			{"a comment", "", "/payments", "{\"amount\":25.5, // USD\n\"paymentMethodId\":\"sbx_card\"}", "", "400 invalid_json", "JSON has none"},
			{"two bodies", "", "/payments", harness.Card + harness.Card, "", "400 invalid_json", "take away what follows"},
			{"a field twice", "", "/payments", harness.With(`"amount":1`), "", "400 invalid_json", "the body has amount twice: leave one"},
			{"a list", "", "/payments", `[` + harness.Card + `]`, "", "400 invalid_request", "the body must be a JSON object"},
			{"a line break in a text", "", "/payments", harness.With("\"userName\":\"a\nb\""), "", "400 invalid_json", `write a line break in a text as \n`},

			// Names of fields.
			{"paymentMethodID", "", "/payments", `{"amount":25.5,"paymentMethodID":"sbx_card"}`, "", "400 missing_field paymentMethodId", "did you mean paymentMethodId?"},
			{"payment_method_id", "", "/payments", `{"amount":25.5,"payment_method_id":"sbx_card"}`, "", "400 missing_field paymentMethodId", "you sent payment_method_id, which is ignored; did you mean paymentMethodId?"},
			{"payment_method", "", "/payments", `{"amount":25.5,"payment_method":"sbx_card"}`, "", "400 missing_field paymentMethodId", "you sent payment_method, which is ignored; did you mean paymentMethodId?"},
			{"payment-method", "", "/payments", `{"amount":25.5,"payment-method":"pix"}`, "", "400 missing_field paymentMethodId", "you sent payment-method, which is ignored; did you mean paymentMethodId?"},
			{"method", "", "/payments", `{"amount":25.5,"method":"pix"}`, "", "400 missing_field paymentMethodId", "did you mean paymentMethodId?"},
			{"ammount", "", "/payments", `{"ammount":25.5,"paymentMethodId":"sbx_card"}`, "", "400 missing_field amount", "did you mean amount?"},
			{"Amount", "", "/payments", `{"Amount":25.5,"paymentMethodId":"sbx_card"}`, "", "400 missing_field amount", "did you mean amount?"},
			{"amount in cents by name", "", "/payments", `{"amountInCents":2550,"paymentMethodId":"sbx_card"}`, "", "400 missing_field amount", "did you mean amount?"},
			{"merchantOrderID, strict", "", "/payments?strict=true", harness.With(`"merchantOrderID":"1"`), "", "400 invalid_request merchantOrderID", "did you mean merchantOrderId?"},
			{"order_id, strict", "", "/payments?strict=true", harness.With(`"order_id":"1"`), "", "400 invalid_request order_id", "did you mean merchantOrderId?"},
			{"success_url, strict", "", "/payments?strict=true", harness.With(`"success_url":"https://shop.example"`), "", "400 invalid_request success_url", "there is no field success_url: leave it out; the fields are "},
			{"card, strict", "", "/payments?strict=true", harness.With(`"card":{"number":"4"}`), "", "400 invalid_request card", "no card's data may come in here"},
			{"first_name, strict", "", "/checkout/sessions?strict=true", `{"amount":5,"customer":{"first_name":"Ana","lastName":"S","email":"a@b.co","phone":"+5511"}}`, "", "400 invalid_request customer.firstName", "you sent customer.first_name, which is ignored; did you mean customer.firstName?"},
			{"a refund's value", "", "/payments/TXN-06H2BWTVCV1ETA0Y4Q7PZ09GWG/refund", `{"value":5}`, "", "400 invalid_request value", "there is no field value: did you mean amount?"},
			{"a refund's moneda", "", "/payments/TXN-06H2BWTVCV1ETA0Y4Q7PZ09GWG/refund", `{"moneda":"COP"}`, "", "400 invalid_request moneda", "did you mean currency?"},
			{"event, singular", "", "/webhooks", `{"event":["*"]}`, "", "400 invalid_request event", "did you mean events?"},
			{"nothing", "", "/payments", `{}`, "", "400 invalid_request amount", "amount is required: send a number, such as 25.5"},
			{"no method", "", "/payments", `{"amount":25.5}`, "", "400 missing_field paymentMethodId", "paymentMethodId is required"},
			{"no customer", "", "/checkout/sessions", `{"amount":25.5}`, "", "400 invalid_request customer.firstName", "customer.firstName is required: send a text"},

			// Types and values.
			{"the amount as a text", "", "/payments", `{"amount":"49.90","paymentMethodId":"sbx_card"}`, "", "400 amount_invalid amount", `amount must be a number, such as 49.90, without quotes; you sent the text "49.90"`},
			{"the amount with a sign", "", "/payments", `{"amount":"$49.90","paymentMethodId":"sbx_card"}`, "", "400 amount_invalid amount", `you sent the text "$49.90"`},
			{"the amount as an object", "", "/payments", `{"amount":{"value":5},"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid amount", "you sent an object"},
			{"three decimals", "", "/payments", `{"amount":25.555,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid amount", "at most two decimals, such as 49.90; you sent 25.555"},
			{"nothing to pay", "", "/payments", `{"amount":0,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid amount", "above 0"},
			{"cents", "", "/payments", `{"amount":2550000,"paymentMethodId":"sbx_card"}`, "", "400 amount_above_maximum amount", "it is in dollars, not in cents"},
			{"the method as a number", "", "/payments", `{"amount":25.5,"paymentMethodId":1001}`, "", "400 invalid_request paymentMethodId", `paymentMethodId must be a text, such as "sbx_card"; you sent the number 1001`},
			{"the order as a number", "", "/payments", harness.With(`"merchantOrderId":100200300`), "", "400 invalid_request merchantOrderId", "must be a text; you sent the number 100200300"},
			{"hosted as a text", "", "/payments", harness.With(`"hostedCheckout":"true"`), "", "400 invalid_request hostedCheckout", `must be true or false, without quotes; you sent the text "true"`},
			{"events as a text", "", "/webhooks", `{"events":"payment.completed"}`, "", "400 invalid_request events", `events must be a list; you sent the text "payment.completed"`},
			{"the customer as a text", "", "/checkout/sessions", `{"amount":5,"customer":"Ana"}`, "", "400 invalid_request customer", `customer must be an object; you sent the text "Ana"`},
			{"Brazil", "", "/payments", harness.With(`"country":"Brazil"`), "", "400 invalid_request country", "ISO 3166 code of two or three letters, such as BR or BRA; Brazil is BR or BRA"},
			{"México", "", "/payments", harness.With(`"country":"México"`), "", "400 invalid_request country", "Mexico is MX or MEX"},
			{"Argentinia", "", "/payments", harness.With(`"country":"Argentinia"`), "", "400 invalid_request country", "Argentina is AR or ARG"},
			{"an e-mail without a domain", "", "/payments", harness.With(`"userEmail":"ana"`), "", "400 invalid_request userEmail", "such as ana@example.com"},
			{"an IP that is none", "", "/payments", harness.With(`"userIp":"localhost"`), "", "400 invalid_request userIp", "such as 203.0.113.7"},
			{"a relative return", "", "/payments", harness.With(`"returnUrl":"/thanks"`), "", "400 invalid_request returnUrl", "such as https://shop.example/thanks"},
			{"too long a name", "", "/payments", harness.With(`"userName":"` + strings.Repeat("x", 121) + `"`), "", "400 invalid_request userName", "at most 120 characters; you sent 121"},
			{"a method that is not there", "", "/payments", `{"amount":25.5,"paymentMethodId":"9999"}`, "", "400 unsupported_method paymentMethodId", "read it from GET /payment-methods"},
			{"sbx_crad", "", "/payments", `{"amount":25.5,"paymentMethodId":"sbx_crad"}`, "", "400 unsupported_method paymentMethodId", "did you mean sbx_card?"},
			{"a slug as the id", "", "/payments", `{"amount":25.5,"paymentMethodId":"pix"}`, "", "400 unsupported_method paymentMethodId", "read paymentMethodId from GET /payment-methods?method=pix"},
			{"an unknown slug", "", "/payments", `{"amount":25.5,"paymentMethod":"pixx"}`, "", "400 unsupported_method paymentMethod", "GET /payment-methods; did you mean pix?"},
			{"an id as the slug", "", "/payments", `{"amount":25.5,"paymentMethod":"sbx_card"}`, "", "400 unsupported_method paymentMethod", "send it as paymentMethodId"},
			{"pix without a document", "", "/payments", `{"amount":25.5,"paymentMethodId":"sbx_pix"}`, "", "400 missing_field documentId", "documentId is required"},
			{"a bad simulation", "", "/payments", harness.Card, "Sandbox-Simulate: success", "400 invalid_request Sandbox-Simulate", "must be one of paid, failed, expired, chargeback, slow_payment"},
			{"payment.succeeded", "", "/webhooks", `{"events":["payment.succeeded"]}`, "", "400 invalid_request events[0]", "payment.succeeded is not an event"},
			{"payment.complete", "", "/webhooks", `{"events":["payment.complete"]}`, "", "400 invalid_request events[0]", "did you mean payment.completed? There are "},
			{"a version of tomorrow", "", "/payments", harness.Card, "Service-Version: 2030-01-01", "400 invalid_request Service-Version", "send 2026-11-21, or leave the header out"},
			{"an action that is none", "", "/payments/" + payment + "/simulate", `{"action":"Paid"}`, "", "400 invalid_request action", "must be one of paid, failed, expired, refunded, chargeback; did you mean paid?"},
			{"a clock's words", "", "/sandbox/clock", `{"advance":"2 days"}`, "", "400 invalid_request advance", "such as 90s, 48h or 7d"},
			{"a wallet's type", "", "/wallets", `{"type":"bank","currency":"MXN","destination":"032180000118359719"}`, "", "400 invalid_request type", "bank_account or crypto"},

			// Ids.
			{"a claim on payments", "", "/payments/" + claim, "", "", "404 transaction_not_found", "is a claim, whose transactionId names the payment; read it with GET /claims/" + claim},
			{"a payment on claims", "", "/claims/" + payment, "", "", "404 claim_not_found", "is a payment; read it with GET /payments/" + payment},
			{"a webhook on wallets", "", "/wallets/" + hook, "", "", "404 wallet_not_found", "is a webhook; read it with GET /webhooks/" + hook},
			{"an order's id on payments", "", "/payments/order-1", "", "", "404 transaction_not_found", "in the sandbox: check the id, and the key: a test key sees nothing of production"},
			{"a test payment with a live key", "", "/payments/" + payment, "", "Authorization: Bearer " + o.Live.Secret, "404 transaction_not_found", "a live key sees nothing of the sandbox"},
			{"a delivery that is none", "", "/webhooks/" + hook + "/deliveries/wd_1", "", "", "404 webhook_delivery_not_found", "/deliveries lists them"},
			{"a session that is none", "", "/checkout/sessions/cs_1", "", "", "404 checkout_session_not_found", "open a new one with POST /checkout/sessions"},
			{"a simulation with a live key", "", "/payments/" + payment + "/simulate", `{"action":"paid"}`, "Authorization: Bearer " + o.Live.Secret, "400 production_key_refused", "use a test key (sk_test_…)"},
			{"a refund of too much", "", "/payments/" + payment + "/refund", `{"amount":1000}`, "", "400 amount_above_maximum amount", "at most what is left, 25.50 USD"},
			{"a second refund", "", "/payments/" + refunded + "/refund", `{}`, "", "409 conflict_state", "refundedAmountLocal"},
			{"a refund as a text", "", "/payments/" + payment + "/refund", `{"amount":"5"}`, "", "400 amount_invalid amount", `you sent the text "5"`},

			// Queries.
			{"a misspelt refund", "", "/payments/" + payment + "/refund", `{"amout":5}`, "", "400 invalid_request amout", "did you mean amount?"},
			{"a refund in cents", "", "/payments/" + payment + "/refund", `{"amount_cents":500}`, "", "400 invalid_request amount_cents", "did you mean amount?"},
			{"a refund's amount in the query", "POST", "/payments/" + payment + "/refund?amount=5", "", "", "400 invalid_request amount", "send it in the body"},
			{"no currency", "", "/payments", harness.With(`"currency":"XYZ"`), "", "400 invalid_request currency", "currency must be one of ARS, BOB, BRL, "},
			{"a currency in part", "", "/payments", harness.With(`"currency":"BR"`), "", "400 invalid_request currency", "did you mean BRL?"},
			{"a currency without a rate", "", "/payments", harness.With(`"currency":"KWD"`), "", "400 unsupported_currency currency", "there is no exchange rate for KWD: send one of ARS, BOB, BRL, "},
			{"a currency of a session", "", "/checkout/sessions", `{"amount":5,"currency":"XYZ","customer":{"firstName":"Ana","lastName":"S","email":"a@b.co","phone":"+5511"}}`, "", "400 invalid_request currency", "currency must be one of ARS, BOB, BRL, "},
			{"a misspelt currency", "", "/payments", harness.With(`"curency":"BRL"`), "", "400 invalid_request curency", "did you mean currency?"},
			{"misspelt types of a replay", "", "/webhooks/" + hook + "/replay", `{"from":"2026-01-01","tpyes":["payment.failed"]}`, "", "400 invalid_request tpyes", "did you mean types?"},
			{"no event", "", "/events?type=payment.complete", "", "", "400 invalid_request type", "did you mean payment.completed?"},
			{"an empty id", "POST", "/payments//cancel", "", "", "404 not_found", "the id between the slashes is empty: the address is /api/v1/payments/{id}/cancel (POST)"},
			{"stauts", "", "/payments?stauts=paid", "", "", "400 invalid_request stauts", "there is no query parameter stauts: did you mean status?"},
			{"merchantOrderID", "", "/payments?merchantOrderID=1", "", "", "400 invalid_request merchantOrderID", "did you mean merchantOrderId?"},
			{"page, strict", "", "/payments?page=2&strict=true", "", "", "400 invalid_request page", "there is no query parameter page"},
			{"a status that is none", "", "/payments?status=paid", "", "", "400 invalid_request status", "must be one of processing, pending, completed"},
			{"a status in upper case", "", "/payments?status=COMPLETED", "", "", "400 invalid_request status", "did you mean completed?"},
			{"no method to filter by", "", "/payments?method=piks", "", "", "400 invalid_request method", "method must be one of bank_transfer, boleto, card, cash, "},
			{"an id to filter by", "", "/payments?method=sbx_pix", "", "", "400 invalid_request method", "sbx_pix is a paymentMethodId"},
			{"a time that ends before it begins", "", "/payments?from=2026-11-02&to=2026-11-01", "", "", "400 invalid_request from", "send an earlier from, or a later to"},
			{"a currency without an amount", "", "/payments?currency=BRL", "", "", "400 invalid_request currency", "send amount too, or leave currency out"},
			{"an amount in no currency", "", "/payments?amount=5&currency=XYZ", "", "", "400 invalid_request currency", "currency must be one of ARS, BOB, BRL, "},
			{"a limit in words", "", "/payments?limit=ten", "", "", "400 invalid_request limit", "must be a whole number, such as 50"},
			{"a date of another order", "", "/payments?from=21/11/2026", "", "", "400 invalid_request from", "such as 2026-11-21 or 2026-11-21T13:00:00Z"},
			{"a country's name", "", "/payment-methods?country=Colombia", "", "", "400 invalid_request country", "Colombia is CO or COL"},
			{"a claim's status", "", "/claims?status=open", "", "", "400 invalid_request status", "must be one of pending, needs_evidence"},
			{"a channel", "", "/payment-methods?channel=card", "", "", "400 invalid_request channel", "did you mean CREDIT_CARD?"},
			{"strict=yes", "", "/payments?strict=yes", "", "", "400 invalid_request strict", "must be one of true, false"},
		}
		for _, c := range list {
			t.Run(c.Name, func(t *testing.T) { harness.CheckMistake(t, o, harness.Mistake(c)) })
		}
		if len(list) < 100 {
			t.Errorf("the table has %d mistakes, want 100 at least", len(list))
		}
	})
}

// However a beginner spells the name of a field, the hint names the right field. This is true of
// every field of every body in the document.
func TestEveryFieldIsSeenInOtherSpellings(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		doc, err := openapi3.NewLoader().LoadFromData(s.Spec.Text)
		harness.Must(t, err)
		o.Create(t, harness.Card, "Sandbox-Simulate: chargeback")
		claim := o.Get(t, "/claims").Text(t, "data.0.id") // evidence is checked only if the claim exists
		filled := strings.NewReplacer("/claims/{id}", "/claims/"+claim, "{", "", "}", "")
		capital := regexp.MustCompile(`[A-Z]+`)
		fields := 0
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				if op.RequestBody == nil {
					continue
				}
				for field := range op.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
					fields++
					snake := strings.ToLower(capital.ReplaceAllString(field, "_$0"))
					for _, spelling := range []string{snake, strings.ReplaceAll(snake, "_", "-"), strings.ToUpper(snake), strings.ToUpper(field[:1]) + field[1:], strings.ToLower(field)} {
						if spelling == field {
							continue
						}
						r := o.Send(t, harness.Request{
							Method: method, Path: harness.APIPath + filled.Replace(path) + "?strict=true", Body: fmt.Sprintf(`{%q:null}`, spelling),
							Header: http.Header{"Authorization": {"Bearer " + o.Credential}, "Content-Type": {"application/json"}},
						})
						issues, _ := r.At(t, "error.details.issues")
						if !strings.Contains(r.Text(t, "error.message")+fmt.Sprint(issues), "did you mean "+field+"?") {
							t.Errorf("the hint for %s does not name %s: %s", spelling, field, r)
						}
					}
				}
			}
		}
		if fields < 80 {
			t.Errorf("the bodies have %d fields, want 80 at least", fields)
		}
	})
}
