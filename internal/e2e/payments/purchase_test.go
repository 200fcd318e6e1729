package payments

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

const purchase = `"description":"Two coffees\n& a <cup>","metadata":{"cart":"1001","ça va":"sí, 100%","claim\":":"","dispute":"\"erased\":1"},` +
	`"lineItems":[{"name":"Coffee","quantity":2,"unitAmount":12.5,"sku":"C-1"},{"name":"Off","quantity":1,"unitAmount":-3}]`

// purchaseTold returns the purchase in a reply as text. at is the path before its fields: "" or with
// a dot at its end.
func purchaseTold(t *testing.T, r harness.Reply, at string) string {
	t.Helper()
	parts := []string{}
	for _, field := range []string{"description", "metadata", "lineItems"} {
		v, _ := r.At(t, at+field)
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, " ")
}

// Every reply and event with a payment or session has the shop's description of the purchase. A
// session's payment has it too.
func TestPurchaseComesBackEverywhere(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		hook := harness.Inbox(t, o, `"payment.completed"`)
		made := o.Post(t, "/payments", `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725",`+purchase+`}`, "Idempotency-Key: one").Want(t, http.StatusCreated)
		want := purchaseTold(t, made, "")
		for _, part := range []string{"Two coffees\n& a <cup>", "cart:1001", "ça va:sí, 100%", `dispute:"erased":1`, "sku:C-1", "unitAmount:12.5", "unitAmount:-3"} {
			if !strings.Contains(want, part) {
				t.Errorf("the create reply has the purchase %q, without %q", want, part)
			}
		}
		id := made.Text(t, "transactionId")
		replayed := o.Post(t, "/payments", `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725",`+purchase+`}`, "Idempotency-Key: one")
		harness.Same(t, made, replayed)
		session := o.Post(t, "/checkout/sessions", `{"amount":10,`+purchase+`,`+harness.Ana+`}`).Want(t, http.StatusCreated)
		token := session.Text(t, "sessionId")
		seen := o.Shopper(token).Read(t)
		chosen := o.Shopper(token).Choose(t, harness.Choice("sbx_pix")).Want(t, http.StatusCreated).Text(t, "transactionId")
		shot := o.Post(t, "/checkout/sessions", `{"amount":10,"paymentMethodId":"sbx_card",`+purchase+`}`).Want(t, http.StatusCreated)
		for where, got := range map[string]string{
			"get": purchaseTold(t, o.Get(t, "/payments/"+id), ""), "list": purchaseTold(t, o.Get(t, "/payments?paymentMethodId=sbx_pix&limit=1&offset=1"), "data.0."),
			"the session": purchaseTold(t, session, ""), "its token": purchaseTold(t, seen, ""), "its payment": purchaseTold(t, o.Get(t, "/payments/"+chosen), ""),
			"a one-shot session": purchaseTold(t, shot, ""), "its payment, too": purchaseTold(t, o.Get(t, "/payments/"+shot.Text(t, "sessionId")), ""),
		} {
			if got != want {
				t.Errorf("%s has the purchase %q, want %q", where, got, want)
			}
		}
		if open := purchaseTold(t, o.Shopper(shot.Text(t, "sessionId")).Read(t), ""); strings.Contains(open, "coffee") {
			t.Errorf("anybody who knows the transaction's id can read the purchase %s", open)
		}
		o.Simulate(t, id, "paid").Want(t, http.StatusOK)
		inbox := hook.Path("/inbox")
		harness.Eventually(t, "the payment's event has the purchase", func() bool {
			r := o.Get(t, inbox)
			for i := range 5 {
				at := fmt.Sprintf("data.%d.payload.data.object.", i)
				if of, ok := r.At(t, at+"id"); ok && of == id {
					return purchaseTold(t, r, at) == want
				}
			}
			return false
		})
		plain := o.Get(t, "/payments/"+o.Create(t, harness.Card))
		for _, field := range []string{"description", "metadata", "lineItems", "amountRequested"} {
			if v, there := plain.At(t, field); there {
				t.Errorf("a payment without a purchase has %s %v", field, v)
			}
		}
	})
}

func TestPurchaseIsChecked(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		pairs := func(n int) string {
			list := []string{}
			for i := range n {
				list = append(list, fmt.Sprintf(`"k%d":"v"`, i))
			}
			return "{" + strings.Join(list, ",") + "}"
		}
		items := func(n int) string {
			return "[" + strings.TrimSuffix(strings.Repeat(`{"name":"a","quantity":1,"unitAmount":1},`, n), ",") + "]"
		}
		key, value := strings.Repeat("é", 40), strings.Repeat("é", 500)
		for name, field := range map[string]string{
			"50 keys": `"metadata":` + pairs(50), "the longest key and value": `"metadata":{"` + key + `":"` + value + `"}`, "none": `"metadata":{}`,
			"null": `"metadata":null,"description":null,"lineItems":null,"expand":null,"currency":null`, "an empty value": `"metadata":{"a":""}`,
			"lines": `"metadata":{"a":"b\nc"},"description":"a\nb"`, "a description of 500": `"description":"` + value + `"`, "100 items": `"lineItems":` + items(100),
			"no items": `"lineItems":[]`, "a free item": `"lineItems":[{"name":"a","quantity":1,"unitAmount":0}]`,
			"half of a thing": `"lineItems":[{"name":"queso, kg","quantity":0.5,"unitAmount":10}]`, "a third decimal": `"lineItems":[{"name":"a","quantity":700,"unitAmount":1.102}]`,
			"a whole number with a point": `"lineItems":[{"name":"a","quantity":1.0,"unitAmount":1}]`, "a name of two lines": `"lineItems":[{"name":"Camisa\nTalla M","quantity":1,"unitAmount":1}]`,
		} {
			for _, path := range []string{"/payments", "/checkout/sessions"} {
				if r := o.Post(t, path, `{"amount":25.5,"paymentMethodId":"sbx_card",`+field+`}`); r.Status != http.StatusCreated {
					t.Errorf("%s is refused: %s", name, r)
				}
			}
			if r := o.Post(t, "/checkout/sessions", `{"amount":25.5,`+field+`,`+harness.Ana+`}`); r.Status != http.StatusCreated {
				t.Errorf("%s is refused in a session: %s", name, r)
			}
		}
		const bad = "400 invalid_request invalid_request_error "
		for name, c := range map[string]struct{ field, want string }{
			"51 keys":             {`"metadata":` + pairs(51), bad + "param=metadata issues=metadata"},
			"a long key":          {`"metadata":{"` + key + `é":"v"}`, bad + "param=metadata issues=metadata"},
			"an empty key":        {`"metadata":{"":"v"}`, bad + "param=metadata issues=metadata"},
			"a long value":        {`"metadata":{"a":"` + value + `é"}`, bad + "param=metadata.a issues=metadata.a"},
			"values of all kinds": {`"metadata":{"a":1,"b":{"c":"d"},"c":null,"d":"good","e":true}`, bad + "param=metadata.a issues=metadata.a,metadata.b,metadata.c,metadata.e"},
			"a list":              {`"metadata":["a"]`, bad + "param=metadata issues=metadata"},
			"a text":              {`"metadata":"a"`, bad + "param=metadata issues=metadata"},
			"a NUL in a value":    {`"metadata":{"a":"b\u0000"}`, bad + "param=metadata issues=metadata"},
			"a NUL in a key":      {`"metadata":{"a\u0000":"b"}`, bad + "param=metadata issues=metadata"},
			"a long description":  {`"description":"` + value + `é"`, bad + "param=description issues=description"},
			"101 items":           {`"lineItems":` + items(101), bad + "param=lineItems issues=lineItems"},
			"no name":             {`"lineItems":[{"quantity":1,"unitAmount":1}]`, "400 missing_field invalid_request_error param=lineItems[0].name issues=lineItems[0].name missing=lineItems[0].name"},
			"none of it":          {`"lineItems":[{"name":"a","quantity":0,"unitAmount":1}]`, bad + "param=lineItems[0].quantity issues=lineItems[0].quantity"},
			"a price in text":     {`"lineItems":[{"name":"a","quantity":1,"unitAmount":"1"}]`, bad + "param=lineItems[0].unitAmount issues=lineItems[0].unitAmount"},
			"no price":            {`"lineItems":[{"name":"a","quantity":1,"unitAmount":null}]`, bad + "param=lineItems[0].unitAmount issues=lineItems[0].unitAmount"},
		} {
			t.Run(name, func(t *testing.T) {
				o.Post(t, "/payments", `{"amount":25,"paymentMethodId":"sbx_card",`+c.field+`}`).Refused(t, c.want)
				o.Post(t, "/checkout/sessions", `{"amount":25,`+c.field+`,`+harness.Ana+`}`).Refused(t, c.want)
			})
		}
	})
}
