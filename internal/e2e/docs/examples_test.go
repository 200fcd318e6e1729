package docs

import (
	"encoding/json"
	"fmt"
	stdhtml "html"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// prefixes are the beginnings of ids, by the field that has the id.
var prefixes = map[string]string{
	"transactionId": "TXN-", "existingTxId": "TXN-", "completedTxId": "TXN-", "merchantId": "mer_", "shopId": "shp_", "claimId": "CLM-", "refundId": "CLM-",
	"previousClaimId": "CLM-", "settlementId": "STL-", "walletId": "wal_", "withdrawalId": "wdr_", "verificationId": "kyc_", "subscriptionId": "wh_",
	"eventId": "evt_", "deliveryId": "wd_", "requestId": "req_",
}

// pairs are two times of one object, of which the first is earlier. They may be equal only if the
// mark is "<=".
var pairs = [][3]string{
	{"createdAt", "<", "expiresAt"}, {"createdAt", "<", "evidenceDueBy"}, {"updatedAt", "<", "expiresAt"}, {"periodStart", "<", "periodEnd"}, {"from", "<", "to"},
	{"created", "<=", "updated"}, {"created", "<=", "completed"}, {"created", "<=", "failed"}, {"completed", "<=", "updated"}, {"failed", "<=", "updated"},
	{"createdAt", "<=", "updatedAt"}, {"createdAt", "<=", "completedAt"}, {"createdAt", "<=", "failedAt"}, {"createdAt", "<=", "closedAt"}, {"closedAt", "<=", "paidAt"},
	{"createdAt", "<=", "resolvedAt"}, {"resolvedAt", "<=", "updatedAt"}, {"createdAt", "<=", "deliveredAt"}, {"createdAt", "<=", "lastAttemptAt"}, {"periodEnd", "<=", "closedAt"},
}

// impossible lists what in an example cannot happen. told is the time of the event that the example
// is in, or "".
func impossible(v any, told string) (wrong []string) {
	switch t := v.(type) {
	case map[string]any:
		text := func(name string) string { s, _ := t[name].(string); return s }
		for _, p := range pairs {
			a, b := text(p[0]), text(p[2])
			if a != "" && b != "" && (a > b || p[1] == "<" && a == b) {
				wrong = append(wrong, fmt.Sprintf("%s %s is not %s %s %s", p[0], a, p[1], p[2], b))
			}
		}
		if told != "" {
			for _, name := range []string{"createdAt", "updatedAt", "created", "updated", "completedAt", "failedAt", "closedAt", "resolvedAt"} {
				if text(name) > told {
					wrong = append(wrong, fmt.Sprintf("an event of %s has the later %s %s", told, name, text(name)))
				}
			}
		}
		for name, prefix := range prefixes {
			if id := text(name); id != "" && !strings.HasPrefix(id, prefix) {
				wrong = append(wrong, fmt.Sprintf("%s is %s, want %s…", name, id, prefix))
			}
		}
		if stamps, ok := t["timestamps"].(map[string]any); ok {
			ended := map[string]string{"completed": "completed", "refunded": "completed", "chargeback": "completed", "failed": "failed"}[text("status")]
			for _, name := range []string{"completed", "failed"} {
				if _, has := stamps[name]; has != (name == ended) {
					wrong = append(wrong, fmt.Sprintf("a payment that is %s has the timestamps %v", text("status"), stamps))
				}
			}
		}
		for status, name := range map[string]string{"paid": "paidAt", "closed": "closedAt"} {
			if _, settlement := t["periodEnd"]; settlement && text("status") == status && text(name) == "" {
				wrong = append(wrong, "a settlement that is "+status+" has no "+name)
			}
		}
		if _, claim := t["evidenceDueBy"]; claim && (text("resolvedAt") == "") != (text("outcome") == "") {
			wrong = append(wrong, "a claim has only one of outcome and resolvedAt")
		}
		if fees, ok := t["fees"].(map[string]any); ok && t["grossVolume"] != nil {
			sum := num(t, "grossVolume") - num(fees, "total") - num(t, "refunds") - num(t, "chargebacks") - num(t, "chargebackFees") - num(t, "reserveHeld") + num(t, "reserveReleased") + num(t, "adjustments")
			if got, want := fmt.Sprintf("%.2f", num(t, "netAmount")), fmt.Sprintf("%.2f", sum); got != want {
				wrong = append(wrong, "netAmount is "+got+", but the sum is "+want)
			}
		}
		if data, ok := t["data"].(map[string]any); ok && text("apiVersion") != "" {
			if object, _ := data["object"].(map[string]any); len(object) == 0 {
				wrong = append(wrong, "an event has no object")
			}
			told = text("createdAt")
		}
		for _, name := range slices.Sorted(maps.Keys(t)) {
			wrong = append(wrong, impossible(t[name], told)...)
		}
	case []any:
		for _, value := range t {
			wrong = append(wrong, impossible(value, told)...)
		}
	}
	return wrong
}

func num(t map[string]any, name string) float64 {
	switch n := t[name].(type) {
	case float64:
		return n
	case json.Number:
		f, _ := n.Float64()
		return f
	}
	return 0
}

// methodsIn lists the objects in an example that have a paymentMethodId.
func methodsIn(v any) (list []map[string]any) {
	switch t := v.(type) {
	case map[string]any:
		if id, ok := t["paymentMethodId"].(string); ok && id != "" {
			list = append(list, t)
		}
		for _, value := range t {
			list = append(list, methodsIn(value)...)
		}
	case []any:
		for _, value := range t {
			list = append(list, methodsIn(value)...)
		}
	}
	return list
}

// Every example can really happen: its times are in order, its ids have the right prefix, its sums
// are right, and its payment methods are the sandbox's.
func TestEveryExampleIsPossible(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		sold := map[string]map[string]any{}
		catalog, _ := s.NewShop(t).Get(t, "/payment-methods").Want(t, http.StatusOK).At(t, "methods")
		for _, m := range catalog.([]any) {
			sold[m.(map[string]any)["paymentMethodId"].(string)] = m.(map[string]any)
		}
		keys := map[any]string{}
		for _, m := range walkMedia(s.Spec.Tree, nil) {
			where := strings.Join(m.Place, " ")
			for name, example := range s.Spec.Examples(m) {
				for _, wrong := range impossible(example, "") {
					t.Errorf("the example %s at %s: %s", name, where, wrong)
				}
				for _, used := range methodsIn(example) {
					method := sold[used["paymentMethodId"].(string)]
					if method == nil {
						t.Errorf("the example %s at %s uses the method %v, which the sandbox does not have", name, where, used["paymentMethodId"])
						continue
					}
					for field, want := range map[string][]any{"country": {method["country"], method["countryIso3"]}, "paymentMethod": {method["method"]}, "method": {method["method"]}} {
						if got := used[field]; got != nil && !slices.Contains(want, got) {
							t.Errorf("the example %s at %s: %v has the %s %v, want %v", name, where, used["paymentMethodId"], field, got, want)
						}
					}
				}
			}
			if m.Node["name"] == "Idempotency-Key" {
				key := m.Node["example"]
				if other, again := keys[key]; again {
					t.Errorf("%s and %s show the same Idempotency-Key, %v", other, where, key)
				}
				keys[key] = where
			}
		}
		_, html := fetchPage(t, s, "/docs")
		shown := map[string]bool{}
		for _, m := range regexp.MustCompile(`Idempotency-Key: ([^&"]+)&#34;`).FindAllStringSubmatch(html, -1) {
			if shown[m[1]] {
				t.Errorf("the page shows the Idempotency-Key %s twice", m[1])
			}
			shown[m[1]] = true
		}
		if len(keys) < 4 || len(shown) < 4 {
			t.Errorf("found %d Idempotency-Keys in the document and %d on the page, want 4 each at least", len(keys), len(shown))
		}
	})
}

// played makes the object that an example of a request is about, if the fixture of its path has the
// wrong state.
var played = map[string]func(t *testing.T, o harness.Client) string{
	"POST /payments/{id}/refund": func(t *testing.T, o harness.Client) string {
		o.Fund(t, false, 1_000_00)
		return o.Create(t, `{"amount":100,"currency":"BRL","paymentMethodId":"sbx_pix","documentId":"52998224725"}`, "Sandbox-Simulate: paid")
	},
	"POST /settlements/{id}/simulate": func(t *testing.T, o harness.Client) string {
		o.Create(t, harness.Card)
		o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"002010077777777771"}`)
		harness.MoveTestClock(t, o, "49h")
		return harness.ClosedSettlements(t, o, 1).Text(t, "data.0.id")
	},
	"POST /checkout/sessions/{token}/select": func(t *testing.T, o harness.Client) string { return o.Session(t, harness.CheckoutBody) },
	"POST /webhooks/{id}/replay": func(t *testing.T, o harness.Client) string {
		return o.Post(t, "/webhooks", `{"events":["payment.completed"]}`).Want(t, http.StatusCreated).Text(t, "id")
	},
}

// Every example of a request is accepted.
func TestEveryExampleOfARequestIsAccepted(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		sent := 0
		for path, item := range s.Spec.Paths {
			for method, operation := range item.(map[string]any) {
				content, ok := harness.At(operation, "requestBody.content")
				if !ok {
					continue
				}
				m := harness.Media{Node: content.(map[string]any)["application/json"].(map[string]any)}
				for name, example := range s.Spec.Examples(m) {
					sent++
					where := strings.ToUpper(method) + " " + harness.Canonical(path)
					t.Run(strings.ToUpper(method)+path+" "+name, func(t *testing.T) {
						o := s.NewShop(t)
						o.Credential = harness.Pair(t, o).Text(t, "accessToken")
						to, ids := harness.Canonical(path), map[string]string{}
						for _, at := range harness.PathParam.FindAllStringIndex(to, -1) {
							id := ""
							if make := played[where]; make != nil {
								id = make(t, o)
							} else {
								id = harness.Fixtures[to[:at[1]]].Make(t, o, ids)
							}
							ids[to[:at[1]]] = id
							to = to[:at[0]] + id + to[at[1]:]
						}
						text, err := json.Marshal(example)
						harness.Must(t, err)
						body := string(text)
						for placeholder, own := range map[string]func() string{
							"pk_test_example-not-a-real-key": func() string { return o.Sandbox.Publishable },
							"sk_test_example-not-a-real-key": func() string { return o.Sandbox.Secret },
							"rt_example-not-a-real-token":    func() string { return harness.Pair(t, o.As(o.Sandbox.Secret)).Text(t, "refreshToken") },
							"wal_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6": func() string { o.Fund(t, false, 1_000_00); return o.Wallet(t) },
						} {
							if strings.Contains(body, placeholder) {
								body = strings.ReplaceAll(body, placeholder, own())
							}
						}
						if r := o.Call(t, strings.ToUpper(method), to, body, "Content-Type: application/json"); r.Status >= 300 {
							t.Errorf("%s is refused: %s", body, r)
						}
					})
				}
			}
		}
		if sent < 25 {
			t.Errorf("the document has %d examples of requests, want 25 at least", sent)
		}
	})
}

// Every error links to the entry of its code in the reference.
func TestErrorsLinkToTheirEntry(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		_, html := fetchPage(t, s, "/docs")
		listed := map[string]bool{} // the codes that some endpoint lists
		for _, item := range s.Spec.Paths {
			for _, operation := range item.(map[string]any) {
				responses, _ := harness.At(operation, "responses")
				for _, response := range responses.(map[string]any) {
					node := response.(map[string]any)
					if ref, ok := node["$ref"].(string); ok {
						node, _ = s.Spec.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
					}
					codes, _ := node["x-error-codes"].([]any)
					for _, code := range codes {
						listed[code.(string)] = true
					}
				}
			}
		}
		for _, entry := range s.Spec.Tree["x-error-codes"].([]any) {
			e := entry.(map[string]any)
			code := e["code"].(string)
			_, row, found := strings.Cut(html, `<tr id="error-`+code+`">`)
			row, _, _ = strings.Cut(row, "</tr>")
			if !found {
				t.Errorf("the page has no entry for %s", code)
			}
			note, _ := e["note"].(string)
			if e["returned"] != listed[code] || listed[code] == (note != "") {
				t.Errorf("some endpoint lists %s: %v, but its entry says returned %v with the note %q", code, listed[code], e["returned"], note)
			}
			if !strings.Contains(stdhtml.UnescapeString(row), note) || strings.Contains(row, `class="by"`) != listed[code] {
				t.Errorf("the page's entry of %s does not say who returns it: %s", code, row)
			}
			if sample, ok := harness.At(s.Spec.Tree, "components.examples."+code+".value.error.details.helpUrl"); listed[code] && code != "kyc_required" && (!ok || sample != "https://pay.example.com/docs#error-"+code) {
				t.Errorf("the example of %s links to %v", code, sample)
			}
		}
		o := s.NewShop(t)
		for _, r := range []harness.Reply{
			o.Get(t, "/payments/TXN-0"), o.As("").Get(t, "/me"), o.Post(t, "/payments", `{`), o.Post(t, "/payments", `{}`), o.Get(t, "/nothing"),
			o.Delete(t, "/payments"), o.Post(t, "/checkout/sessions", `{"amount":25.5}`), o.As(o.Sandbox.Publishable).Get(t, "/me"),
			o.Post(t, "/payments", `{"amount":10.05,"paymentMethodId":"sbx_card"}`), o.Get(t, "/payments?limit=x"),
			o.Post(t, "/checkout/sessions/cs_none/select", `{"paymentMethodId":"sbx_pix"}`),
		} {
			if got, want := r.Text(t, "error.details.helpUrl"), s.URL+"/docs#error-"+r.Text(t, "error.code"); r.Status < 400 || got != want {
				t.Errorf("helpUrl is %s, want %s: %s", got, want, r)
			}
		}
	})
}

// The reference shows the body of every operation that has one. It shows null, not <nil>.
func TestReferenceShowsEveryBody(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		_, html := fetchPage(t, s, "/docs")
		for path, item := range s.Spec.Paths {
			for method, operation := range item.(map[string]any) {
				schema, ok := harness.At(operation, "requestBody.content")
				deprecated, _ := harness.At(operation, "deprecated")
				if !ok || deprecated == true {
					continue
				}
				node := schema.(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)
				if ref, ok := node["$ref"].(string); ok {
					node, _ = s.Spec.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
				}
				id, _ := harness.At(operation, "operationId")
				_, entry, _ := strings.Cut(html, `<article class="op" id="`+id.(string)+`"`)
				entry, _, _ = strings.Cut(entry, "</article>")
				_, body, found := strings.Cut(entry, "<h4>Body</h4>")
				body, _, _ = strings.Cut(body, "<h4>")
				properties, _ := node["properties"].(map[string]any)
				for name := range properties {
					if !found || !strings.Contains(body, "<code>"+name+"</code>") {
						t.Errorf("the reference of %s %s does not show the body's %s", method, path, name)
					}
				}
			}
		}
		if strings.Contains(html, "&lt;nil&gt;") {
			t.Error("the reference shows <nil>")
		}
	})
}

// The document and the reference do not use these unclear or wrong phrases.
func TestDocumentIsInPlainEnglish(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		_, html := fetchPage(t, s, "/docs")
		text := string(s.Spec.Text) + html
		for _, phrase := range []string{
			"is called so", "Tell it to support", "Show who you are", "ives in to", "what came of it", "what comes of it", "slip of the pen", "is no login",
			"any more", "will do.", "Plays the", "cancelled", "of the rate of now", "the rate was so", "wants to see it again",
		} {
			if strings.Contains(text, phrase) {
				at := strings.Index(text, phrase)
				t.Errorf("the document says %q: …%s…", phrase, text[max(0, at-60):min(len(text), at+80)])
			}
		}
		for place, want := range map[string]string{
			"components.headers.RateLimit-Limit.description":                             "Requests that may be sent at once: the burst. Absent if limits are off.",
			"components.schemas.CheckoutSessionRequest.properties.returnUrl.description": "Where the shopper is sent back to: a page on the web, or an app whose scheme the shop registered",
			"components.schemas.MethodFee.properties.percent.description":                "Percent of each payment, the provider's part included, and the margin if the shopper pays in another currency than USD. A publishable key reads the list price",
		} {
			if got, _ := harness.At(s.Spec.Tree, place); got != want {
				t.Errorf("%s is %v, want %s", place, got, want)
			}
		}
	})
}
