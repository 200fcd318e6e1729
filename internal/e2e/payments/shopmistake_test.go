package payments

import (
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// mistake is a line of the table of mistakes. See harness.Mistake.
type mistake harness.Mistake

// A shop's developer makes mistakes with currencies, lists in a body and filters. The reply names
// the place, and what is wrong with the value that was sent (ERR-17).
func TestShopsMistakesAreToldAsTheyAre(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		hook := o.Post(t, "/webhooks", `{"events":["*"]}`).Text(t, "id")
		pix := func(fields string) string {
			return `{"paymentMethodId":"sbx_pix","documentId":"52998224725",` + fields + `}`
		}
		session := func(fields string) string {
			return `{"customer":{"firstName":"Ana","lastName":"S","email":"a@b.co","phone":"+5511"},` + fields + `}`
		}
		for _, c := range []mistake{
			// The limits of an amount are in USD. The message applies them to the amount that was sent.
			{"too little of a currency", "", "/payments", pix(`"amount":0.01,"currency":"BRL"`), "", "400 amount_invalid amount", "0.01 BRL are worth less than 0.01 USD: send more"},
			{"ten pesos", "", "/payments", `{"paymentMethodId":"sbx_pse","amount":10,"currency":"COP"}`, "", "400 amount_invalid amount", "10.00 COP are worth less than 0.01 USD: send more"},
			{"too little of a session", "", "/checkout/sessions", session(`"amount":0.01,"currency":"BRL"`), "", "400 amount_invalid amount", "0.01 BRL are worth less than 0.01 USD: send more"},
			{"too much of a currency", "", "/payments", pix(`"amount":1000000,"currency":"BRL"`), "", "400 amount_above_maximum amount", "1000000.00 BRL are worth more than 100000 USD: send less; amount is in units of BRL, not in cents"},
			{"far too much of a currency", "", "/payments", pix(`"amount":1e30,"currency":"BRL"`), "", "400 amount_above_maximum amount", "in units of BRL, not in cents"},
			{"too many decimals of a currency", "", "/payments", pix(`"amount":1.555,"currency":"BRL"`), "", "400 amount_invalid amount", "at most two decimals, such as 49.90; you sent 1.555"},
			{"less than nothing of a currency", "", "/payments", pix(`"amount":-5,"currency":"BRL"`), "", "400 amount_invalid amount", "above 0, in BRL with at most two decimals, such as 49.90; you sent -5"},
			{"no amount", "", "/payments", pix(`"currency":"BRL"`), "", "400 missing_field amount", "(Major units of currency, worth at most 100000 USD)"},
			{"a currency by its name", "", "/payments", pix(`"amount":5,"currency":"real"`), "", "400 invalid_request currency", `must have at most 3 characters, such as "USD"; you sent 4`},
			{"a currency that is empty", "", "/payments", pix(`"amount":5,"currency":""`), "", "400 invalid_request currency", `currency must not be empty: send a text, such as "USD"`},
			{"an empty currency of a session", "", "/checkout/sessions", session(`"amount":5,"currency":""`), "", "400 invalid_request currency", `currency must not be empty: send a text, such as "USD"`},

			// Lines and metadata.
			{"no price", "", "/payments", pix(`"amount":5,"lineItems":[{"name":"a","quantity":1}]`), "", "400 missing_field lineItems[0].unitAmount", "(The price of one, in the currency of amount; negative for a discount)"},
			{"none of a thing", "", "/payments", pix(`"amount":5,"lineItems":[{"name":"a","quantity":0,"unitAmount":5}]`), "", "400 invalid_request lineItems[0].quantity", "lineItems[0].quantity must be a number above 0, and at most 1000000000; you sent 0"},
			{"more than there are", "", "/payments", pix(`"amount":5,"lineItems":[{"name":"a","quantity":2000000000,"unitAmount":5}]`), "", "400 invalid_request lineItems[0].quantity", "lineItems[0].quantity must be a number above 0, and at most 1000000000; you sent 2000000000"},
			{"a price that is a text", "", "/payments", pix(`"amount":5,"lineItems":[{"name":"a","quantity":1,"unitAmount":1},{"name":"b","quantity":1,"unitAmount":"5"}]`), "", "400 invalid_request lineItems[1].unitAmount", `lineItems[1].unitAmount must be a number of at most 30 characters, such as 49.90; you sent "5"`},
			{"a control character in a name", "", "/payments", pix(`"amount":5,"lineItems":[{"name":"a\u0001","quantity":1,"unitAmount":1}]`), "", "400 invalid_request lineItems[0].name", "lineItems[0].name must not contain control characters"},
			{"a name that is a number", "", "/payments", pix(`"amount":5,"lineItems":[{"name":5,"quantity":1,"unitAmount":1}]`), "", "400 invalid_request lineItems[0].name", "lineItems[0].name must be a text"},
			{"a name twice", "", "/payments", pix(`"amount":5,"lineItems":[{"name":"a","name":"b","quantity":1,"unitAmount":1}]`), "", "400 invalid_json", "the body has lineItems[0].name twice"},
			{"a number in metadata", "", "/payments", pix(`"amount":5,"metadata":{"cart":311}`), "", "400 invalid_request metadata.cart", "metadata.cart must be a text, such as \"311\""},
			{"metadata as a text", "", "/payments", pix(`"amount":5,"metadata":"311"`), "", "400 invalid_request metadata", `metadata must be an object of texts, such as {"cart":"c-311"}`},

			// Misspelt fields. Without them the request would do something else.
			{"events of a replay", "", "/webhooks/" + hook + "/replay", `{"from":"2026-01-01","events":["payment.failed"]}`, "", "400 invalid_request events", "there is no field events: did you mean types?"},
			{"a type that is none", "", "/webhooks/" + hook + "/replay", `{"from":"2026-01-01","types":["payment.failed","payment.complete"]}`, "", "400 invalid_request types[1]", "payment.complete is not an event: did you mean payment.completed?"},
			{"what others call it", "", "/webhooks", `{"events":["payment.paid"]}`, "", "400 invalid_request events[0]", "payment.paid is not an event: did you mean payment.completed?"},
			{"what Stripe calls it", "", "/webhooks", `{"events":["checkout.session.completed"]}`, "", "400 invalid_request events[0]", "did you mean payment.completed?"},
			{"a webhook's Url", "", "/webhooks", `{"events":["*"],"Url":"https://shop.example/hook"}`, "", "400 invalid_request Url", "there is no field Url: did you mean url?"},
			{"a webhook's uri", "", "/webhooks", `{"events":["*"],"uri":"https://shop.example/hook"}`, "", "400 invalid_request uri", "there is no field uri: did you mean url?"},
			{"a webhook's host alone", "", "/webhooks", `{"events":["*"],"url":"shop.example/hook"}`, "", "400 invalid_request url", "such as https://shop.example/hooks"},

			// Filters.
			{"a field of the rows as a filter", "", "/payments?userEmail=ana@example.com", "", "", "400 invalid_request userEmail", "there is no query parameter userEmail: did you mean email?"},
			{"an order by half its name", "", "/payments?order_id=1", "", "", "400 invalid_request order_id", "there is no query parameter order_id: did you mean merchantOrderId?"},
			{"two of one filter", "", "/payments?status=pending&status=failed", "", "", "400 invalid_request status", "status is sent 2 times: send it once"},
		} {
			t.Run(c.Name, func(t *testing.T) { harness.CheckMistake(t, o, harness.Mistake(c)) })
		}

		// Without a currency an amount is in USD. Unknown parameters that resemble no known one are ignored, but those of lists.
		paid := o.Create(t, pix(`"amount":5,"currency":null`))
		if ignored := o.Get(t, "/payments/"+paid+"?utm_source=mail&_=17&customer=x").Want(t, http.StatusOK).Header.Get("Service-Ignored"); ignored != "_, customer, utm_source" {
			t.Errorf("ignored are %q", ignored)
		}
	})
}

// An error about a missing field describes this field, and not another one of the same type (ERR-17).
func TestAmountsAreDescribedAsWhatTheyAre(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		harness.CheckMistake(t, o, harness.Mistake(mistake{"no amount to withdraw", "", "/withdrawals", `{}`, "", "400 missing_field amount", "(USD major units, two decimals, the fee included; more than the fee and at most the available balance. With currency it may be what arrives)"}))
	})
}
