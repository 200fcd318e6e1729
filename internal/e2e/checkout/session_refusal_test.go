package checkout

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// The shopper has the same names in a payment, in a session of either mode and in a choice, and the payment has what they say (CHK-29).
func TestCustomerHasTheSameNamesEverywhere(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const whole = `{"firstName":" Ana ","lastName":"Silva","email":"ana@example.com","phone":"+5511987654321","documentId":"52998224725"}`
		const eva = `{"firstName":"Eva","lastName":"Paz","email":"eva@example.com","phone":"+5511987654322"}`
		for where, open := range map[string]func(customer, more string) (r harness.Reply, id string){
			"a payment": func(c, more string) (harness.Reply, string) {
				return o.Post(t, "/payments", `{"amount":25.5,"paymentMethodId":"sbx_pix","customer":`+c+more+`}`), "transactionId"
			},
			"a one-shot session": func(c, more string) (harness.Reply, string) {
				return o.Post(t, "/checkout/sessions", `{"amount":25.5,"paymentMethodId":"sbx_pix","customer":`+c+more+`}`), "sessionId"
			},
			"a choice": func(c, _ string) (harness.Reply, string) {
				token := o.Session(t, `{"amount":25.5,"customer":`+eva+`}`)
				return o.Post(t, "/checkout/sessions/"+token+"/select", `{"paymentMethodId":"sbx_pix","customer":`+c+`}`), "transactionId"
			},
		} {
			r, id := open(whole, "")
			p := o.Get(t, "/payments/"+r.Want(t, http.StatusCreated).Text(t, id))
			phone, err := s.App.Privacy.ExportShopper(ctx, audit.Actor{}, privacy.Shopper{Payment: p.Text(t, "id")})
			harness.Must(t, err)
			if p.Text(t, "userEmail") != "ana@example.com" || p.Text(t, "userName") != "Ana Silva" || p.Text(t, "documentId") != "52998224725" || phone.Payments[0].Order.Buyer.Phone != "+5511987654321" {
				t.Errorf("of the customer of %s the payment has %s and the phone %s", where, p, phone.Payments[0].Order.Buyer.Phone)
			}
			if r, _ := open(`{"email":"ana","documentId":"52998224725"}`, ""); r.Text(t, "error.param") != "customer.email" {
				t.Errorf("a bad e-mail of %s returns %s, want param customer.email", where, r)
			}
			long := strings.Repeat("é", 60)
			r, id = open(`{"firstName":"`+long+`","lastName":"`+long+`","documentId":"52998224725"}`, "")
			if p = o.Get(t, "/payments/"+r.Want(t, http.StatusCreated).Text(t, id)); len([]rune(p.Text(t, "userName"))) != pay.MaxBuyerName {
				t.Errorf("the longest names of %s make %s", where, p)
			}
			if where == "a choice" {
				r, _ := open(`{"firstName":"Ana","documentId":"52998224725"}`, "")
				r.Refused(t, "400 invalid_request invalid_request_error param=customer.lastName issues=customer.lastName missing=customer.lastName")
				continue
			}
			r, id = open(whole, `,"userEmail":"eva@example.com"`)
			if p = o.Get(t, "/payments/"+r.Want(t, http.StatusCreated).Text(t, id)); p.Text(t, "userEmail") != "eva@example.com" {
				t.Errorf("userEmail of %s does not win over customer.email: %s", where, p)
			}
		}
	})
}

func TestOneShotRefusesWhatAPaymentRefuses(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, live := s.NewShop(t), s.NewShop(t).Production()
		for name, c := range map[string]struct {
			by           harness.Client
			body, header string
		}{
			"no amount":               {o, `{"paymentMethodId":"sbx_card"}`, ""},
			"amount 0":                {o, `{"amount":0,"paymentMethodId":"sbx_card"}`, ""},
			"above the maximum":       {o, `{"amount":100000.01,"paymentMethodId":"sbx_card"}`, ""},
			"an unknown method":       {o, `{"amount":25.5,"paymentMethodId":"9999"}`, ""},
			"an unknown country":      {o, harness.With(`"country":"xx"`), ""},
			"no document":             {o, `{"amount":25.5,"paymentMethodId":"sbx_pix"}`, ""},
			"outside the limits":      {o, `{"amount":0.54,"paymentMethodId":"sbx_cash"}`, ""},
			"a long name":             {o, harness.With(`"userName":"` + strings.Repeat("é", 121) + `"`), ""},
			"a bad email":             {o, harness.With(`"userEmail":"ana"`), ""},
			"a NUL":                   {o, harness.With(`"userName":"a\u0000b"`), ""},
			"a script to return to":   {o, harness.With(`"returnUrl":"javascript:alert(1)"`), ""},
			"a foreign shop":          {o, harness.With(`"shopId":"` + live.Shop.ID + `"`), ""},
			"a declined card":         {o, `{"amount":10.05,"paymentMethodId":"sbx_card"}`, ""},
			"a challenge":             {o, `{"amount":10.65,"paymentMethodId":"sbx_card"}`, ""},
			"an exhausted cascade":    {o, `{"amount":10.91,"paymentMethodId":"sbx_card"}`, ""},
			"an unknown simulation":   {o, harness.Card, "Sandbox-Simulate: gold"},
			"a simulated production":  {live, harness.Card, "Sandbox-Simulate: paid"},
			"a test method live":      {live, harness.Card, ""},
			"no provider":             {live, `{"amount":25.5,"documentId":"1","paymentMethodId":"` + harness.Method(t, live, "BRA", "pix") + `"}`, ""},
			"several things at once":  {o, `{"amount":-1,"paymentMethodId":"sbx_card","country":"xx","userEmail":"ana"}`, ""},
			"a payment's own content": {o, harness.Card, "Content-Type: text/plain"},
			"a currency with no rate": {o, harness.With(`"currency":"KWD"`), ""},
			"no such currency":        {o, harness.With(`"currency":"AAA"`), ""},
			"half a cent":             {o, `{"amount":0.01,"currency":"ARS","paymentMethodId":"sbx_card"}`, ""},
			"too much in a currency":  {o, `{"amount":540000.06,"currency":"BRL","paymentMethodId":"sbx_card"}`, ""},
			"more decimals than CLP":  {o, `{"amount":1000.5,"currency":"CLP","paymentMethodId":"sbx_card"}`, ""},
			"an unknown expansion":    {o, harness.With(`"expand":["fees"]`), ""},
			"metadata that is a list": {o, harness.With(`"metadata":[1]`), ""},
		} {
			t.Run(name, func(t *testing.T) {
				var header []string
				if c.header != "" {
					header = append(header, c.header)
				}
				want := c.by.Post(t, "/payments", c.body, header...).Problem(t)
				if strings.HasPrefix(want, "2") {
					t.Fatalf("a payment is accepted, so the comparison proves nothing: %s", want)
				}
				c.by.Post(t, "/checkout/sessions", c.body, header...).Refused(t, want)
			})
		}
	})
}

func TestSessionIsRefusedWithEveryIssueAtOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		who := func(fields string) string { return `{"amount":25.5,"customer":{` + fields + `}}` }
		full := `"firstName":"Ana","lastName":"Souza","email":"ana@b.example","phone":"1"`
		more := func(fields string) string { return `{"amount":25.5,` + harness.Ana + `,` + fields + `}` }
		long := func(n int) string { return strings.Repeat("é", n) }
		const bad, all = "400 invalid_request invalid_request_error ", "customer.firstName,customer.lastName,customer.email,customer.phone"
		for _, c := range []struct{ name, body, header, want string }{
			{"no customer", `{"amount":25.5}`, "", bad + "param=customer.firstName issues=" + all + " missing=" + all},
			{"customer null", `{"amount":25.5,"customer":null}`, "", bad + "param=customer.firstName issues=" + all + " missing=" + all},
			{"an empty customer", who(``), "", bad + "param=customer.firstName issues=" + all + " missing=" + all},
			{"customer as text", `{"amount":25.5,"customer":"Ana"}`, "", bad + "param=customer issues=customer," + all + " missing=" + all},
			{"nothing", `{}`, "", bad + "param=amount issues=amount," + all + " missing=amount," + all},
			{"one field missing", who(`"firstName":"Ana","lastName":"Souza","phone":"1"`), "", bad + "param=customer.email issues=customer.email missing=customer.email"},
			{"blank fields", who(`"firstName":" ","lastName":"\t","email":" ","phone":"\n"`), "", bad + "param=customer.firstName issues=" + all + " missing=" + all},
			{"null fields", who(`"firstName":null,"lastName":"S","email":"a@b.example","phone":"1"`), "", bad + "param=customer.firstName issues=customer.firstName missing=customer.firstName"},
			{"a bad email", strings.Replace(who(full), "ana@b.example", "ana", 1), "", bad + "param=customer.email issues=customer.email"},
			{"an email with a name", strings.Replace(who(full), "ana@b.example", "Ana <ana@b.example>", 1), "", bad + "param=customer.email issues=customer.email"},
			{"an email of 255 characters", strings.Replace(who(full), "ana@", strings.Repeat("a", 255-len("@b.example"))+"@", 1), "", bad + "param=customer.email issues=customer.email"},
			{"an email as a number", strings.Replace(who(full), `"ana@b.example"`, `5`, 1), "", bad + "param=customer.email issues=customer.email"},
			{"a first name of 61 characters", strings.Replace(who(full), "Ana", long(61), 1), "", bad + "param=customer.firstName issues=customer.firstName"},
			{"a last name of 61 characters", strings.Replace(who(full), "Souza", long(61), 1), "", bad + "param=customer.lastName issues=customer.lastName"},
			{"a phone of 41 characters", strings.Replace(who(full), `"1"`, `"`+long(41)+`"`, 1), "", bad + "param=customer.phone issues=customer.phone"},
			{"a document of 41 characters", who(full + `,"documentId":"` + long(41) + `"`), "", bad + "param=customer.documentId issues=customer.documentId"},
			{"a NUL in a name", strings.Replace(who(full), "Ana", `A\u0000`, 1), "", bad + "param=customer.firstName issues=customer.firstName"},
			{"a NUL in an order id", more(`"merchantOrderId":"a\u0000"`), "", bad + "param=merchantOrderId issues=merchantOrderId"},
			{"everything", `{"amount":-1,"country":"xx","returnUrl":"x","merchantOrderId":"` + long(121) + `","customer":{"firstName":"A","lastName":"B","phone":"1","email":"x"}}`,
				"Sandbox-Simulate: gold", bad + "param=merchantOrderId issues=merchantOrderId,Sandbox-Simulate,amount,country,returnUrl,customer.email"},

			{"no amount", `{` + harness.Ana + `}`, "", "400 missing_field invalid_request_error param=amount issues=amount missing=amount"},
			{"amount 0", `{"amount":0,` + harness.Ana + `}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"amount as text", `{"amount":"5",` + harness.Ana + `}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"a tenth of a cent", `{"amount":0.001,` + harness.Ana + `}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"above the maximum", `{"amount":100000.01,` + harness.Ana + `}`, "", "400 amount_above_maximum invalid_request_error param=amount issues=amount"},
			{"above every int64", `{"amount":1e30,` + harness.Ana + `}`, "", "400 amount_above_maximum invalid_request_error param=amount issues=amount"},
			{"half a cent in another currency", `{"amount":0.01,"currency":"ARS",` + harness.Ana + `}`, "", "400 amount_invalid invalid_request_error param=amount"},
			{"above the maximum in another currency", `{"amount":540000.06,"currency":"BRL",` + harness.Ana + `}`, "", "400 amount_above_maximum invalid_request_error param=amount"},
			{"far above it", `{"amount":1e30,"currency":"BRL",` + harness.Ana + `}`, "", "400 amount_above_maximum invalid_request_error param=amount issues=amount"},
			{"negative in another currency", `{"amount":-1e30,"currency":"BRL",` + harness.Ana + `}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"missing in another currency", `{"currency":"BRL",` + harness.Ana + `}`, "", "400 missing_field invalid_request_error param=amount issues=amount missing=amount"},
			{"decimals that the currency lacks", `{"amount":1000.5,"currency":"CLP",` + harness.Ana + `}`, "", "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"no such currency", more(`"currency":"AAA"`), "", bad + "param=currency issues=currency"},
			{"a currency's name", more(`"currency":"dollars"`), "", bad + "param=currency issues=currency"},
			{"a currency without a rate", more(`"currency":"KWD"`), "", "400 unsupported_currency invalid_request_error param=currency"},
			{"an unknown country", more(`"country":"xx"`), "", bad + "param=country issues=country"},
			{"an order id of 121 characters", more(`"merchantOrderId":"` + long(121) + `"`), "", bad + "param=merchantOrderId issues=merchantOrderId"},
			{"a script to return to", more(`"returnUrl":"javascript:alert(1)"`), "", bad + "param=returnUrl issues=returnUrl"},
			{"a path to return to", more(`"returnUrl":"/thanks"`), "", bad + "param=returnUrl issues=returnUrl"},
			{"another merchant's shop", more(`"shopId":"` + stranger.Shop.ID + `"`), "", "403 forbidden permission_error param=shopId"},
			{"another merchant", more(`"merchantId":"` + stranger.Merchant.ID + `"`), "", "403 forbidden permission_error param=merchantId"},
			{"text", harness.CheckoutBody, "Content-Type: text/plain", "415 content_type_required invalid_request_error"},
			{"a key with a tab", harness.CheckoutBody, "Idempotency-Key: a\tb", bad + "param=Idempotency-Key issues=Idempotency-Key"},
		} {
			t.Run(c.name, func(t *testing.T) {
				header := "Idempotency-Key: refused"
				if c.header != "" {
					header = c.header
				}
				r := o.Post(t, "/checkout/sessions", c.body, header)
				r.Refused(t, c.want)
				if help := r.Text(t, "error.details.helpUrl"); help != s.URL+"/docs#error-"+r.Text(t, "error.code") {
					t.Errorf("helpUrl is %s, want the error's part of the reference: %s", help, r)
				}
			})
		}
		// No refused request has used the key up.
		if r := o.Post(t, "/checkout/sessions", harness.CheckoutBody, "Idempotency-Key: refused").Want(t, http.StatusCreated); r.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("a refused request used the key: %s", r)
		}
	})
}

func TestCustomerIsTrimmedBeforeItIsChecked(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		wide := strings.Repeat("é", 60)
		token := o.Session(t, fmt.Sprintf(`{"amount":1,"customer":{"firstName":"  %s  ","lastName":"\t%[1]s","email":" ana@b.example ","phone":" %s\n","documentId":"  "}}`,
			wide, strings.Repeat("1", 40)))
		r := o.Shopper(token).Read(t).Want(t, http.StatusOK)
		got, _ := r.At(t, "customer")
		want := harness.Decode(t, fmt.Appendf(nil, `{"firstName":%q,"lastName":%[1]q,"email":"ana@b.example","phone":%q}`, wide, strings.Repeat("1", 40)))
		for _, difference := range harness.Compare("customer", want, got) {
			t.Error(difference)
		}
		// Numbers from the clipboard lose their marks of direction, wide spaces and dashes, in a session and in a payment.
		const phone, number = `\u202a+55\u00a011 98765\u20134321\u202c`, `\u200b529.982.247\u201125\u2069`
		token = o.Session(t, `{"amount":25.5,"customer":{"firstName":"Ana","lastName":"Souza","email":"ana@b.example","phone":"`+phone+`","documentId":"`+number+`"}}`)
		if r := o.Shopper(token).Read(t); r.Text(t, "customer.phone") != "+55 11 98765-4321" {
			t.Errorf("the session has %s", r)
		}
		made := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","userPhone":"`+phone+`","documentId":"`+number+`"}`)
		p, err := s.App.Cascade.Payment(ctx, harness.SandboxScope(o), made)
		harness.Must(t, err)
		if b := p.Order.Buyer; b.Phone != "+55 11 98765-4321" || b.Document != "529.982.247-25" {
			t.Errorf("the payment has the buyer %+v", b)
		}
	})
}

func TestUnknownTokensAreNotFound(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		token := o.Session(t, harness.CheckoutBody)
		other := "A"
		if strings.HasSuffix(token, other) {
			other = "B"
		}
		for _, token := range []string{
			"x", "cs_", "cs_" + strings.Repeat("A", 43), token[:len(token)-1] + other, token + "A", strings.ToUpper(token), token[3:], "%00", "cs_%00", "TXN-%00",
			"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", "ses_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", strings.Repeat("x", 8000), "%F0%28", "cs_'%20OR%201=1",
		} {
			c := o.Shopper(token)
			c.Read(t).Refused(t, "404 checkout_session_not_found invalid_request_error")
			c.Choose(t, harness.Choice("sbx_card")).Refused(t, "404 checkout_session_not_found invalid_request_error")
		}
		if n := o.Total(t, nil); n != "0" {
			t.Errorf("there are %s transactions, want none", n)
		}
	})
}

func TestRefusedChoiceLeavesTheSessionOpen(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		c := o.Shopper(o.Session(t, `{"amount":0.54,"customer":{"firstName":"Ana","lastName":"Souza","email":"ana@b.example","phone":"1"}}`))
		long := strings.Repeat("é", 121)
		for _, choice := range []struct{ name, body, header, want string }{
			{"outside the limits", harness.Choice("sbx_cash"), "", "422 amount_out_of_limits invalid_request_error param=amount boundViolated=min"},
			{"no method", `{}`, "", "400 missing_field invalid_request_error param=paymentMethodId issues=paymentMethodId missing=paymentMethodId"},
			{"an unknown method", harness.Choice("sbx_gold"), "", "400 unsupported_method invalid_request_error param=paymentMethodId"},
			{"a number as the method", `{"paymentMethodId":1001}`, "", "400 invalid_request invalid_request_error param=paymentMethodId issues=paymentMethodId"},
			{"no document", harness.Choice("sbx_pix"), "", "400 invalid_request invalid_request_error param=customer.documentId issues=customer.documentId missing=customer.documentId"},
			{"a bad email", `{"paymentMethodId":"sbx_card","customer":{"email":"ana"}}`, "", "400 invalid_request invalid_request_error param=customer.email issues=customer.email"},
			{"a long name", `{"paymentMethodId":"sbx_card","customer":{"fullName":"` + long + `"}}`, "", "400 invalid_request invalid_request_error param=customer.fullName issues=customer.fullName"},
			{"a long document", `{"paymentMethodId":"sbx_pix","customer":{"documentId":"` + long + `"}}`, "", "400 invalid_request invalid_request_error param=customer.documentId issues=customer.documentId"},
			{"a NUL", `{"paymentMethodId":"sbx_pix","customer":{"documentId":"1\u0000"}}`, "", "400 invalid_request invalid_request_error param=customer.documentId issues=customer.documentId"},
			{"no JSON", `method=sbx_card`, "", "400 invalid_json invalid_request_error"},
			{"a form", `paymentMethodId=sbx_card`, "Content-Type: application/x-www-form-urlencoded", "415 content_type_required invalid_request_error"},
		} {
			t.Run(choice.name, func(t *testing.T) {
				var header []string
				if choice.header != "" {
					header = append(header, choice.header)
				}
				c.Choose(t, choice.body, header...).Refused(t, choice.want)
				if r := c.Read(t); r.Text(t, "status") != "awaiting_method" || o.Total(t, nil) != "0" {
					t.Errorf("there are %s transactions and the session is %s, want none and awaiting_method", o.Total(t, nil), r)
				}
			})
		}
		r := c.Choose(t, `{"paymentMethodId":"sbx_pix","customer":{"email":" eva@b.example ","fullName":" Eva Lima ","documentId":" 529 "}}`)
		p, err := s.App.Cascade.Payment(ctx, harness.SandboxScope(o), r.Want(t, http.StatusCreated).Text(t, "transactionId"))
		harness.Must(t, err)
		if want := (pay.Buyer{Email: "eva@b.example", Name: "Eva Lima", Phone: "1", IP: "127.0.0.1", Document: "529"}); p.Order.Buyer != want {
			t.Errorf("the payment has the buyer %+v, want %+v", p.Order.Buyer, want)
		}
	})
}
