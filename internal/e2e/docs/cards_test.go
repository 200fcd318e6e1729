package docs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dashboard"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// cardSent is a card's number as it is sent; no text of ours has it.
const cardSent, cardDigits = "4000 0566 5566 5556", "4000056655665556"

// ownFormat are the fields that hold a number with a format of its own, which is checked there: a bank account may have the digits
// of a card.
var ownFormat = []string{"POST /wallets destination"}

// numberOnly are the fields that hold another number, and are refused only if all of it is a card's.
var numberOnly = []string{"phone", "userPhone", "documentId", "holderDocument", "bankCode", "branchCode"}

// field is a place of a text or a number in a body.
type field struct {
	path string
	body func(value string) string
}

// textFields lists the fields of a body that can hold a text or a number, also in objects and lists.
func textFields(s *harness.Spec, schema map[string]any) (all []field) {
	schema = resolved(s, schema)
	for _, of := range []string{"oneOf", "anyOf", "allOf"} {
		list, _ := schema[of].([]any)
		for _, one := range list {
			all = append(all, textFields(s, one.(map[string]any))...)
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		for _, f := range textFields(s, items) {
			all = append(all, field{"[0]" + dotted(f.path), func(v string) string { return "[" + f.body(v) + "]" }})
		}
		return all
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, below := range properties {
		for _, f := range textFields(s, below.(map[string]any)) {
			all = append(all, field{name + dotted(f.path), func(v string) string { return fmt.Sprintf(`{%q:%s}`, name, f.body(v)) }})
		}
	}
	if more, ok := schema["additionalProperties"].(map[string]any); ok {
		for _, f := range textFields(s, more) {
			all = append(all, field{"own" + dotted(f.path), func(v string) string { return `{"own":` + f.body(v) + `}` }})
		}
		all = append(all, field{"", func(v string) string { return `{` + v + `:"x"}` }})
	}
	if len(properties) == 0 && schema["additionalProperties"] == nil && fmt.Sprint(schema["type"]) != "boolean" {
		all = append(all, field{"", func(v string) string { return v }})
	}
	return all
}

// dotted is a path that follows a name.
func dotted(path string) string {
	if path == "" || path[0] == '[' {
		return path
	}
	return "." + path
}

// refusesCards fails the test unless a request is refused for the card's number at path, without repeating it.
func refusesCards(t *testing.T, what, path string, status int, body string) {
	t.Helper()
	var refused struct {
		Error struct {
			Code, Type, Message, Param string
			Details                    struct {
				Issues []struct{ Path, Message string }
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &refused); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	e := refused.Error
	if status != http.StatusBadRequest || e.Code != "invalid_request" || e.Type != "invalid_request_error" || e.Param != path ||
		!strings.Contains(e.Message, "checkout") || len(e.Details.Issues) != 1 || e.Details.Issues[0].Path != path {
		t.Errorf("%s is answered with %d %s, want a refusal of %s that leads to the checkout", what, status, body, path)
	}
	if strings.Contains(body, cardDigits) || strings.Contains(body, cardSent) {
		t.Errorf("%s: the answer repeats the number: %s", what, body)
	}
}

// Every text of every operation, of merchants and of operators, is refused if it holds a card's number (CARD-1): in bodies, in
// parameters of queries, in paths and in the key. Nothing of it is logged or stored.
func TestNoCardsNumberComesIn(t *testing.T) {
	t.Parallel()
	log := &harness.Diary{}
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		c.Admin, c.Log = "127.0.0.1:0", slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	s.Rate(t, "BRL 5.4", "MXN 18.35")
	harness.PublishedForOperators.Do(func() { harness.PublishedForOperators.Spec = harness.ReadOperatorsDocument(t, s) })
	o, op := s.NewShop(t), s.Operator(t, "ana", log)
	o.Create(t, harness.Card, "Sandbox-Simulate: chargeback")
	claim := o.Get(t, "/claims").Text(t, "data.0.id") // evidence is read only if the claim exists
	send := map[string]func(method, path, body string, header ...string) (int, string){
		harness.APIPath: func(method, path, body string, header ...string) (int, string) {
			h := http.Header{"Authorization": {"Bearer " + o.Credential}, "Content-Type": {"application/json"}, "X-Request-Id": {cardDigits}}
			for i := 0; i+1 < len(header); i += 2 {
				h.Set(header[i], header[i+1])
			}
			r := o.Send(t, harness.Request{Method: method, Path: harness.APIPath + path, Body: body, Header: h})
			return r.Status, string(r.Body)
		},
		"/admin/v1": func(method, path, body string, header ...string) (int, string) {
			r := op.Ask(t, method, path, body)
			return r.Status, string(r.Body)
		},
	}
	fields, exempt := 0, []string{}
	for base, spec := range map[string]*harness.Spec{harness.APIPath: harness.ReadDocument(t, s), "/admin/v1": harness.ReadOperatorsDocument(t, s)} {
		ask := send[base]
		for _, operation := range bodied(spec) {
			path := strings.Replace(operation.path, "/claims/id", "/claims/"+claim, 1)
			for _, f := range textFields(spec, operation.schema) {
				where := operation.method + " " + operation.path + " " + f.path
				if base == harness.APIPath && slices.Contains(ownFormat, where) {
					exempt = append(exempt, where)
					continue
				}
				fields++
				want, text := f.path, "paid with "+cardSent+", thanks"
				if want == "" {
					want = "body"
				}
				if slices.Contains(numberOnly, f.path[strings.LastIndexByte(f.path, '.')+1:]) {
					text = cardSent
				}
				for _, value := range []string{fmt.Sprintf("%q", text), cardDigits} {
					if value == cardDigits && strings.Contains(f.body("\x00"), "{\x00") {
						continue // a name is a text
					}
					status, reply := ask(operation.method, path, f.body(value))
					refusesCards(t, where, want, status, reply)
				}
			}
			status, reply := ask(operation.method, path, `{"notOurs":{"deep":["`+cardSent+`"]}}`)
			refusesCards(t, operation.method+" "+operation.path, "notOurs.deep[0]", status, reply)
		}
		for path, item := range spec.Paths {
			for method, of := range item.(map[string]any) {
				parameters, _ := of.(map[string]any)["parameters"].([]any)
				for _, p := range parameters {
					p := resolved(spec, p.(map[string]any))
					name, at := p["name"].(string), strings.NewReplacer("{", "", "}", "").Replace(path)
					switch p["in"] {
					case "query":
						fields++
						status, reply := ask(strings.ToUpper(method), at+"?"+url.Values{name: {"a " + cardSent}}.Encode(), "")
						refusesCards(t, method+" "+path+"?"+name, name, status, reply)
					case "path":
						fields++
						status, reply := ask(strings.ToUpper(method), strings.Replace(path, "{"+name+"}", cardDigits, 1), "")
						refusesCards(t, method+" "+path, name, status, reply)
					}
				}
			}
		}
	}
	if !slices.Equal(exempt, ownFormat) || fields < 300 {
		t.Errorf("%d fields were tried, and passed over are %v, want all and %v", fields, exempt, ownFormat)
	}
	ask := send[harness.APIPath]
	status, reply := ask(http.MethodPost, "/payments", harness.Card, "Idempotency-Key", "key-"+cardDigits)
	refusesCards(t, "a key", "Idempotency-Key", status, reply)
	file := base64.StdEncoding.EncodeToString([]byte("Receipt for " + cardSent))
	status, reply = ask(http.MethodPost, "/claims/"+claim+"/evidence", `{"kind":"receipt","file":{"name":"a.txt","contentType":"text/plain","content":"`+file+`"}}`)
	refusesCards(t, "a file of text", "file.content", status, reply)
	keepsNoCard(t, s, log)
}

// keepsNoCard fails the test if the log or the files of the database have the card's number.
func keepsNoCard(t *testing.T, s *harness.Instance, log *harness.Diary) {
	t.Helper()
	files, err := filepath.Glob(strings.TrimPrefix(s.Database, "sqlite:") + "*")
	harness.Must(t, err)
	if len(files) == 0 {
		t.Fatal("the database has no file")
	}
	kept := map[string][]byte{"the log": []byte(log.String())}
	for _, name := range files {
		kept[filepath.Base(name)], err = os.ReadFile(name)
		harness.Must(t, err)
	}
	for name, content := range kept {
		if bytes.Contains(content, []byte(cardDigits)) || bytes.Contains(content, []byte(cardSent)) || bytes.Contains(content, []byte(url.QueryEscape(cardSent))) {
			t.Errorf("%s has the card's number", name)
		}
	}
}

// A card in an object, under whatever name, is refused and leads to the checkout. A shop's own words are not.
func TestCardObjectsAreRefused(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		session := strings.TrimSuffix(harness.CheckoutBody, "}")
		for body, param := range map[string]string{
			harness.With(`"card":{"number":"` + cardDigits + `","cvc":"123"}`):               "card.number",
			harness.With(`"card":{"token":"tok_1"}`):                                         "card",
			harness.With(`"cardNumber":"x"`):                                                 "cardNumber",
			harness.With(`"card_number":"x"`):                                                "card_number",
			harness.With(`"pan":"x"`):                                                        "pan",
			harness.With(`"cvv":"123"`):                                                      "cvv",
			harness.With(`"CVC":123`):                                                        "CVC",
			harness.With(`"securityCode":"123"`):                                             "securityCode",
			harness.With(`"tarjeta":{"numero":1}`):                                           "tarjeta",
			harness.With(`"cartão":{"numero":1}`):                                            "cartão",
			harness.With(`"payment":{"credit_card":{"holder":"Ana"}}`):                       "payment.credit_card",
			harness.With(`"lineItems":[{"name":"a","quantity":1,"unitAmount":1,"card":{}}]`): "lineItems[0].card",
			harness.With(`"metadata":{"cvv":"123"}`):                                         "metadata.cvv",
		} {
			r := o.Post(t, "/payments", body)
			if r.Status != http.StatusBadRequest || r.Text(t, "error.param") != param || !strings.Contains(r.Text(t, "error.message"), "checkout") {
				t.Errorf("%s is answered with %s", body, r)
			}
		}
		for path, body := range map[string]string{"/checkout/sessions": session + `,"card":{"number":"4"}}`, "/webhooks": `{"endpoint":"https://a.example","cvv":"1"}`} {
			if r := o.Post(t, path, body); r.Status != http.StatusBadRequest || !strings.Contains(r.Text(t, "error.message"), "no card's data may come in here") {
				t.Errorf("%s: %s is answered with %s", path, body, r)
			}
		}
		for _, body := range []string{
			harness.With(`"metadata":{"card":"gift card","pan":"integral","cvv":"see below"}`),
			harness.With(`"merchantOrderId":"1700000000000004","description":"Boleto 34191.79001 01043.510047 91020.150008 5 84410026000"`),
			harness.With(`"description":"CPF 529.982.247-25, CNPJ 11.222.333/0001-81, +57 300 123 4567"`),
		} {
			o.Post(t, "/payments", body).Want(t, http.StatusCreated)
		}
	})
}

// Every page and action of the dashboard and the console, and every form of the checkout, refuses a card's number: in the query,
// in forms, and in forms with files.
func TestNoFormTakesACardsNumber(t *testing.T) {
	t.Parallel()
	log := &harness.Diary{}
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		c.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	s.Rate(t, "BRL 5.4")
	o := s.NewShop(t)
	owner, operator := o.Staff(t, people.Owner), harness.OperatorUser(t, o)
	site, err := dashboard.New(dashboard.Config{App: s.App, Gate: gate.New(nil, nil, s.App.Access, slog.New(slog.DiscardHandler), s.Clock.Now), Log: slog.New(slog.DiscardHandler), Now: s.Clock.Now, URL: s.URL})
	harness.Must(t, err)
	var parts bytes.Buffer
	w := multipart.NewWriter(&parts)
	harness.Must(t, w.WriteField("anything", cardSent))
	harness.Must(t, w.Close())
	for _, r := range site.Routes() {
		u, path := owner, frame.Base+r.Path
		switch r.Kind {
		case frame.OfShop:
			path = owner.At(r.Path)
		case frame.OfOperator:
			u = operator
		}
		path = strings.TrimSuffix(regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "x"), "/")
		refused := func(a harness.Answer, how string) {
			t.Helper()
			if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "number of a payment card") || strings.Contains(a.Body, cardSent) || strings.Contains(a.Body, cardDigits) {
				t.Errorf("%s %s: a card's number in %s is answered with %d", r.Method, r.Path, how, a.Status)
			}
		}
		if refused(u.Send(t, r.Method, path+"?"+url.Values{"q": {cardSent}}.Encode(), "", nil), "the query"); r.Method == http.MethodGet {
			continue
		}
		refused(u.Send(t, r.Method, path, "application/x-www-form-urlencoded", []byte(url.Values{"anything": {cardSent}}.Encode())), "a form")
		refused(u.Send(t, r.Method, path, w.FormDataContentType(), parts.Bytes()), "a form with files")
	}
	payment, token := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse","hostedCheckout":true}`), o.Session(t, harness.CheckoutBody)
	for _, path := range []string{"/checkout/" + token, "/pay/" + payment + "/change", "/pay/" + payment + "/again", "/pay/" + payment + "/retry", "/sandbox/bank/" + payment} {
		for _, name := range []string{"document-sbx_pse", "anything"} {
			status, page, _ := s.Browse(t, http.MethodPost, path, url.Values{name: {cardSent}}.Encode())
			if status != http.StatusBadRequest || !strings.Contains(page, "card") || strings.Contains(page, cardSent) {
				t.Errorf("POST %s: a card's number in %s is answered with %d", path, name, status)
			}
		}
	}
	keepsNoCard(t, s, log)
}
