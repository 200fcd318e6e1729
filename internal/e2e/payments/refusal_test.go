package payments

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func TestRefusedPaymentLeavesNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		long := func(n int) string { return strings.Repeat("é", n) }
		total := "0"
		for _, c := range []struct{ name, body, header, want string }{
			// The body as a whole.
			{"no content type", harness.Card, "Content-Type: ", "415 content_type_required invalid_request_error"},
			{"text", harness.Card, "Content-Type: text/plain", "415 content_type_required invalid_request_error"},
			{"a form", "amount=25.5", "Content-Type: application/x-www-form-urlencoded", "415 content_type_required invalid_request_error"},
			{"JSON lines", harness.Card, "Content-Type: application/jsonl", "415 content_type_required invalid_request_error"},
			{"half a content type", harness.Card, "Content-Type: application/json;", "201"},
			{"an empty body", "", "", "400 invalid_json invalid_request_error"},
			{"half a body", `{"amount":25.5`, "", "400 invalid_json invalid_request_error"},
			{"no JSON", `amount=25.5`, "", "400 invalid_json invalid_request_error"},
			{"a body after the body", harness.Card + harness.Card, "", "400 invalid_json invalid_request_error"},
			{"a letter after the body", harness.Card + " x", "", "400 invalid_json invalid_request_error"},
			{"not a number", `{"amount":NaN,"paymentMethodId":"sbx_card"}`, "", "400 invalid_json invalid_request_error"},
			{"a leading zero", `{"amount":01,"paymentMethodId":"sbx_card"}`, "", "400 invalid_json invalid_request_error"},
			{"an amount twice", `{"amount":1,"amount":25.5,"paymentMethodId":"sbx_card"}`, "", "400 invalid_json invalid_request_error"},
			{"an ignored member twice", harness.With(`"colour":{"red":1,"red":2}`), "", "400 invalid_json invalid_request_error"},
			{"a hundred thousand lists in each other", harness.With(`"colour":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), "", "400 invalid_json invalid_request_error"},
			{"no UTF-8", harness.With("\"merchantOrderId\":\"\xff\""), "", "400 invalid_json invalid_request_error"},
			{"half a character", harness.With(`"merchantOrderId":"\ud83d"`), "", "400 invalid_json invalid_request_error"},
			{"a field's name in another case", `{"Amount":25.5,"paymentMethodId":"sbx_card"}`, "", "400 missing_field invalid_request_error param=amount issues=amount missing=amount"},
			{"a field beside one in another case", harness.With(`"Amount":-1,"PAYMENTMETHODID":5`), "", "400 invalid_request invalid_request_error param=Amount issues=Amount,PAYMENTMETHODID"},
			{"a list", `[]`, "", "400 invalid_request invalid_request_error issues=,amount,paymentMethodId missing=amount,paymentMethodId"},
			{"a text", `"card"`, "", "400 invalid_request invalid_request_error issues=,amount,paymentMethodId missing=amount,paymentMethodId"},
			{"null", `null`, "", "400 invalid_request invalid_request_error issues=,amount,paymentMethodId missing=amount,paymentMethodId"},
			{"a body above 1 MiB", harness.OneMiB(harness.Card) + " ", "", "413 payload_too_large invalid_request_error"},
			{"NUL in a value", harness.With(`"userName":"a\u0000b"`), "", "400 invalid_request invalid_request_error param=userName issues=userName"},
			{"a terminal's escape", harness.With(`"userName":"a\u001b[2Kb"`), "", "400 invalid_request invalid_request_error param=userName issues=userName"},
			{"a terminal's escape in 8 bits", harness.With("\"merchantOrderId\":\"a\u009b2K\""), "", "400 invalid_request invalid_request_error param=merchantOrderId issues=merchantOrderId"},
			{"text that is turned", harness.With("\"merchantOrderId\":\"100\u202e001\""), "", "400 invalid_request invalid_request_error param=merchantOrderId issues=merchantOrderId"},
			{"text that is turned by an escape", harness.With(`"merchantOrderId":"100\u202e001"`), "", "400 invalid_request invalid_request_error param=merchantOrderId issues=merchantOrderId"},
			{"text that stands apart", harness.With(`"userName":"\u2066a"`), "", "400 invalid_request invalid_request_error param=userName issues=userName"},
			{"a mark of direction", harness.With(`"userName":"a\u200f"`), "", "400 invalid_request invalid_request_error param=userName issues=userName"},
			{"two lines", harness.With(`"merchantOrderId":"a\nstatus paid"`), "", "400 invalid_request invalid_request_error param=merchantOrderId issues=merchantOrderId"},
			{"two lines of Unicode", harness.With("\"merchantOrderId\":\"a\u2028b\""), "", "400 invalid_request invalid_request_error param=merchantOrderId issues=merchantOrderId"},
			{"a tab", harness.With(`"userName":"a\tb"`), "", "400 invalid_request invalid_request_error param=userName issues=userName"},
			{"other scripts", harness.With(`"userName":"José الاسم 李 \u00e9 \"x\" 😀"`), "", "201"},
			{"NUL in a field's name", harness.With(`"user\u0000Name":"a"`), "", "201"},
			{"NUL in an ignored field", harness.With(`"colour":["\u0000"]`), "", "201"},

			// The amount.
			{"no amount", `{"paymentMethodId":"sbx_card"}`, "", "400 missing_field invalid_request_error param=amount issues=amount missing=amount"},
			{"amount null", `{"amount":null,"paymentMethodId":"sbx_card"}`, "", "400 missing_field invalid_request_error param=amount issues=amount missing=amount"},
			{"amount 0", `{"amount":0,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"amount -0", `{"amount":-0,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"amount -1", `{"amount":-1,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"amount as text", `{"amount":"5","paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"amount as empty text", `{"amount":"","paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"amount true", `{"amount":true,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"amount a list", `{"amount":[5],"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"amount an object", `{"amount":{"value":5},"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"a tenth of a cent", `{"amount":0.001,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"three decimals", `{"amount":25.555,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"a cent above the maximum", `{"amount":100000.01,"paymentMethodId":"sbx_card"}`, "", "400 amount_above_maximum invalid_request_error param=amount issues=amount"},
			{"above every int64", `{"amount":1e30,"paymentMethodId":"sbx_card"}`, "", "400 amount_above_maximum invalid_request_error param=amount issues=amount"},
			{"above every float", `{"amount":1e400,"paymentMethodId":"sbx_card"}`, "", "400 amount_above_maximum invalid_request_error param=amount issues=amount"},
			{"below every float", `{"amount":-1e400,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"nearly nothing", `{"amount":1e-400,"paymentMethodId":"sbx_card"}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"below the rail's limit", `{"amount":0.54,"paymentMethodId":"sbx_cash"}`, "", "422 amount_out_of_limits invalid_request_error param=amount boundViolated=min"},
			{"above the rail's limit", `{"amount":544.96,"paymentMethodId":"sbx_cash"}`, "", "422 amount_out_of_limits invalid_request_error param=amount boundViolated=max"},

			// The method and the country.
			{"no method", `{"amount":25.5}`, "", "400 missing_field invalid_request_error param=paymentMethodId issues=paymentMethodId missing=paymentMethodId"},
			{"an empty method", `{"amount":25.5,"paymentMethodId":""}`, "", "400 missing_field invalid_request_error param=paymentMethodId issues=paymentMethodId missing=paymentMethodId"},
			{"an unknown method", `{"amount":25.5,"paymentMethodId":"9999"}`, "", "400 unsupported_method invalid_request_error param=paymentMethodId"},
			{"an unknown test method", `{"amount":25.5,"paymentMethodId":"sbx_gold"}`, "", "400 unsupported_method invalid_request_error param=paymentMethodId"},
			{"an unknown slug", `{"amount":25.5,"paymentMethod":"gold"}`, "", "400 unsupported_method invalid_request_error param=paymentMethod"},
			{"an unknown country", harness.With(`"country":"xx"`), "", "400 invalid_request invalid_request_error param=country issues=country"},
			{"a country's name", harness.With(`"country":"Brazil"`), "", "400 invalid_request invalid_request_error param=country issues=country"},
			{"pix without a document", `{"amount":25.5,"paymentMethodId":"sbx_pix"}`, "", "400 missing_field invalid_request_error param=documentId"},
			{"pix with a blank document", `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"  "}`, "", "400 missing_field invalid_request_error param=documentId"},
			{"spei without a document", `{"amount":25.5,"paymentMethodId":"sbx_spei"}`, "", "400 missing_field invalid_request_error param=documentId"},

			// Lengths and forms.
			{"an email of 255 characters", harness.With(`"userEmail":"` + strings.Repeat("a", 255-len("@b.example")) + `@b.example"`), "", "400 invalid_request invalid_request_error param=userEmail issues=userEmail"},
			{"no email address", harness.With(`"userEmail":"ana"`), "", "400 invalid_request invalid_request_error param=userEmail issues=userEmail"},
			{"an email address with a name", harness.With(`"userEmail":"Ana <ana@b.example>"`), "", "400 invalid_request invalid_request_error param=userEmail issues=userEmail"},
			{"a name of 121 characters", harness.With(`"userName":"` + long(121) + `"`), "", "400 invalid_request invalid_request_error param=userName issues=userName"},
			{"a phone of 41 characters", harness.With(`"userPhone":"` + long(41) + `"`), "", "400 invalid_request invalid_request_error param=userPhone issues=userPhone"},
			{"an order id of 121 characters", harness.With(`"merchantOrderId":"` + long(121) + `"`), "", "400 invalid_request invalid_request_error param=merchantOrderId issues=merchantOrderId"},
			{"a document of 41 characters", harness.With(`"documentId":"` + long(41) + `"`), "", "400 invalid_request invalid_request_error param=documentId issues=documentId"},
			{"no IP address", harness.With(`"userIp":"localhost"`), "", "400 invalid_request invalid_request_error param=userIp issues=userIp"},
			{"a script to return to", harness.With(`"returnUrl":"javascript:alert(1)"`), "", "400 invalid_request invalid_request_error param=returnUrl issues=returnUrl"},
			{"a path to return to", harness.With(`"returnUrl":"/thanks"`), "", "400 invalid_request invalid_request_error param=returnUrl issues=returnUrl"},

			// Wrong types.
			{"method as a number", `{"amount":1,"paymentMethodId":1001}`, "", "400 invalid_request invalid_request_error param=paymentMethodId issues=paymentMethodId"},
			{"slug as a number", harness.With(`"paymentMethod":5`), "", "400 invalid_request invalid_request_error param=paymentMethod issues=paymentMethod"},
			{"country as a number", harness.With(`"country":76`), "", "400 invalid_request invalid_request_error param=country issues=country"},
			{"email as a list", harness.With(`"userEmail":["a@b.example"]`), "", "400 invalid_request invalid_request_error param=userEmail issues=userEmail"},
			{"name as an object", harness.With(`"userName":{}`), "", "400 invalid_request invalid_request_error param=userName issues=userName"},
			{"IP with a zone, which is any text", harness.With(`"userIp":"fe80::1%\u001b[2K<script>"`), "", "400 invalid_request invalid_request_error param=userIp issues=userIp"},
			{"IP as a number", harness.With(`"userIp":127`), "", "400 invalid_request invalid_request_error param=userIp issues=userIp"},
			{"document as a number", harness.With(`"documentId":52998224725`), "", "400 invalid_request invalid_request_error param=documentId issues=documentId"},
			{"order id as a number", harness.With(`"merchantOrderId":7`), "", "400 invalid_request invalid_request_error param=merchantOrderId issues=merchantOrderId"},
			{"hostedCheckout as text", harness.With(`"hostedCheckout":"true"`), "", "400 invalid_request invalid_request_error param=hostedCheckout issues=hostedCheckout"},
			{"returnUrl as true", harness.With(`"returnUrl":true`), "", "400 invalid_request invalid_request_error param=returnUrl issues=returnUrl"},
			{"merchantId as a number", harness.With(`"merchantId":1`), "", "400 invalid_request invalid_request_error param=merchantId issues=merchantId"},
			{"shopId as a number", harness.With(`"shopId":1`), "", "400 invalid_request invalid_request_error param=shopId issues=shopId"},

			// Several at once.
			{"nothing", `{}`, "", "400 invalid_request invalid_request_error param=amount issues=amount,paymentMethodId missing=amount,paymentMethodId"},
			{"everything", `{"amount":-1,"country":"xx","userEmail":"ana","userIp":"x","returnUrl":"x","userName":"` + long(121) + `","shopId":5}`,
				"Sandbox-Simulate: gold", "400 invalid_request invalid_request_error param=shopId " +
					"issues=shopId,userName,Sandbox-Simulate,amount,paymentMethodId,country,userEmail,userIp,returnUrl missing=paymentMethodId"},

			// Permissions.
			{"another merchant's shop", harness.With(`"shopId":"` + stranger.Shop.ID + `"`), "", "403 forbidden permission_error param=shopId"},
			{"an unknown shop", harness.With(`"shopId":"shp_1"`), "", "403 forbidden permission_error param=shopId"},
			{"another merchant", harness.With(`"merchantId":"` + stranger.Merchant.ID + `"`), "", "403 forbidden permission_error param=merchantId"},

			// Headers.
			{"an unknown version", harness.Card, "Service-Version: 2020-01-01", "400 invalid_request invalid_request_error param=Service-Version"},
			{"an unknown simulation", harness.Card, "Sandbox-Simulate: refunded", "400 invalid_request invalid_request_error param=Sandbox-Simulate issues=Sandbox-Simulate"},
			{"a key of 256 characters", harness.Card, "Idempotency-Key: " + strings.Repeat("k", 256), "400 invalid_request invalid_request_error param=Idempotency-Key issues=Idempotency-Key"},
			{"a key with a tab", harness.Card, "Idempotency-Key: a\tb", "400 invalid_request invalid_request_error param=Idempotency-Key issues=Idempotency-Key"},
			{"a key beyond ASCII", harness.Card, "Idempotency-Key: ñ", "400 invalid_request invalid_request_error param=Idempotency-Key issues=Idempotency-Key"},
		} {
			t.Run(c.name, func(t *testing.T) {
				var header []string
				if c.header != "" {
					header = append(header, c.header)
				}
				r := o.Post(t, "/payments", c.body, header...)
				r.Refused(t, c.want)
				before := total
				if total = o.Total(t, nil); r.Status >= 400 && total != before {
					t.Errorf("after a refusal there are %s payments, want %s: %s", total, before, r)
				}
			})
		}
		if n := stranger.Total(t, nil); n != "0" {
			t.Errorf("the other merchant has %s payments, want none", n)
		}
	})
}

func TestLimitsAreTold(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for amount, bound := range map[string]string{"0.54": "min", "544.96": "max"} {
			r := o.Post(t, "/payments", `{"amount":`+amount+`,"paymentMethodId":"sbx_cash"}`)
			r.Is(t, http.StatusUnprocessableEntity, `{"error":{"code":"amount_out_of_limits","type":"invalid_request_error","message":"<text>","param":"amount",
				"requestId":"<req>","details":{"helpUrl":"<url>","limit":{"min":10,"max":10000,"currency":"MXN"},"boundViolated":"`+bound+`"}}}`)
		}
	})
}

func TestProductionRefusesTheSandbox(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		live := o.Production()
		pix := harness.Method(t, live, "BRA", "pix")
		for _, c := range []struct{ name, body, header, want string }{
			{"a test method", harness.Card, "", "400 unsupported_method invalid_request_error param=paymentMethodId"},
			{"a simulation", `{"amount":25.5,"paymentMethodId":"` + pix + `","documentId":"1"}`, "Sandbox-Simulate: paid",
				"400 production_key_refused invalid_request_error param=Sandbox-Simulate"},
			{"a country without the method", `{"amount":25.5,"paymentMethodId":"` + pix + `","documentId":"1","country":"MX"}`, "",
				"400 unsupported_country invalid_request_error param=country"},
			{"a slug in no country", `{"amount":25.5,"paymentMethod":"pix","documentId":"1"}`, "", "400 unsupported_country invalid_request_error param=country"},
		} {
			var header []string
			if c.header != "" {
				header = append(header, c.header)
			}
			live.Post(t, "/payments", c.body, header...).Refused(t, c.want)
			if n := live.Total(t, nil); n != "0" {
				t.Errorf("%s: there are %s payments, want none", c.name, n)
			}
		}
		// This service has no production account, so the payment fails.
		r := live.Post(t, "/payments", `{"amount":25.5,"paymentMethodId":"`+pix+`","documentId":"1"}`)
		r.Refused(t, "422 cascade_exhausted routing_error reason=no_provider_for_method_region")
		id := r.Text(t, "error.details.transactionId")
		if got := live.Status(t, id); got != "failed" {
			t.Errorf("the payment that no provider accepted is %s, want failed", got)
		}
		live.Simulate(t, id, "paid").Refused(t, "400 production_key_refused invalid_request_error")
		o.Simulate(t, id, "paid").Refused(t, "404 transaction_not_found invalid_request_error")
		o.Get(t, "/payments/"+id).Refused(t, "404 transaction_not_found invalid_request_error")
		if live.Total(t, nil) != "1" || o.Total(t, nil) != "0" {
			t.Errorf("production has %s payments and the sandbox %s, want 1 and 0", live.Total(t, nil), o.Total(t, nil))
		}
	})
}
