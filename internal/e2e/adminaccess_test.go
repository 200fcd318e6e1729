package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/getkin/kin-openapi/openapi3"
)

func TestAdminAPIIsForOperatorsAlone(t *testing.T) {
	operated(t, func(t *testing.T, op operator) {
		o := op.shop(t)
		access := o.pair(t).text(t, "accessToken")
		const nobody, wrong = "401 missing_credentials authentication_error", "401 invalid_token authentication_error"
		for _, c := range []struct{ header, want string }{
			{"Authorization: ", nobody}, {"Authorization: Bearer", nobody}, {"Authorization: Basic b3A6eA==", nobody},
			{"Authorization: Bearer op_" + strings.Repeat("A", 43), wrong},
			{"Authorization: Bearer " + op.token[:len(op.token)-1], wrong},
			{"Authorization: Bearer " + strings.ToUpper(op.token), wrong},
			{"Authorization: Bearer op_" + strings.Repeat("A", 5000), wrong},
			{"Authorization: Bearer " + o.Live.Secret, wrong}, {"Authorization: Bearer " + o.Live.Publishable, wrong},
			{"Authorization: Bearer " + access, wrong},
		} {
			for _, path := range []string{"/accounts", "/adapters", "/health", "/payments/TXN-1/explanation", "/accounts/bank"} {
				op.ask(t, http.MethodGet, path, "", c.header).refused(t, c.want)
			}
			op.ask(t, http.MethodPost, "/accounts/bank/enable", "", c.header).refused(t, c.want)
		}
		op.get(t, "/accounts").want(t, http.StatusOK)
		o.as(op.token).get(t, "/me").refused(t, wrong) // nor is an operator a merchant
		for _, path := range []string{"/admin/v1/accounts", "/admin/v1/openapi.json", "/admin"} {
			r := op.send(t, request{method: http.MethodGet, path: path, header: http.Header{"Authorization": {"Bearer " + op.token}}})
			if r.status != http.StatusNotFound {
				t.Errorf("the public listener has %s", r)
			}
		}
		must(t, op.App.Operators.Remove(ctx, op.App.Self(), "ana"))
		op.get(t, "/accounts").refused(t, wrong) // at once
		if text := op.log.String(); !strings.Contains(text, "the admin API refused a token") || strings.Contains(text, op.token) || strings.Contains(text, o.Live.Secret) {
			t.Errorf("the log should tell of refused tokens without them:\n%s", text)
		}
	})
}

func TestAdminAPINamesWhatIsWrong(t *testing.T) {
	operated(t, func(t *testing.T, op operator) {
		u := providertest.NewUpstream(t, "key-1")
		op.post(t, "/accounts", plainAccount("bank", u, "")).want(t, http.StatusCreated)
		const bad = "400 invalid_request invalid_request_error param="
		with := func(old, replaced string) string {
			return strings.Replace(plainAccount("next", u, `,"priority":1`), old, replaced, 1)
		}
		for body, want := range map[string]string{
			with(`"next"`, `"n"`):                                                         bad + "id issues=id",
			with(`"next"`, `"../x"`):                                                      bad + "id issues=id",
			with(`"next"`, `"sandbox-1"`):                                                 bad + "id issues=id",
			with(`"plain"`, `"bank"`):                                                     bad + "adapter issues=adapter",
			with(`"production"`, `"live"`):                                                bad + "environment issues=environment",
			with(`"priority":1`, `"priority":-1`):                                         bad + "priority issues=priority",
			with(`"priority":1`, `"priority":"1"`):                                        bad + "priority issues=priority",
			with(`"priority"`, `"prioritiy"`):                                             bad + "prioritiy issues=prioritiy",
			with(`"priority":1`, `"rails":["pix.BRA","card.BRA"]`):                        bad + "rails[1] issues=rails[1]",
			with(`"priority":1`, `"merchantId":"mer_1"`):                                  bad + "merchantId issues=merchantId",
			with(`"priority":1`, `"terms":[{"price":"2"},{}]`):                            bad + "terms[1] issues=terms[1]",
			with(`"priority":1`, `"terms":[{"price":"x"}]`):                               bad + "terms[0].price issues=terms[0].price",
			with(`"priority":1`, `"terms":[{"limits":["BRL:9-1"]}]`):                      bad + "terms[0].limits[0] issues=terms[0].limits[0]",
			with(`"priority":1`, `"terms":[{"price":"1%","a":1}]`):                        bad + "terms[0].a issues=terms[0].a",
			with(`"priority":1`, `"terms":[{"price":"1%"},{"price":"2%"}],"priority":-1`): bad + "priority issues=priority,terms[1].rail",
			with(`"apiKey":"key-1",`, ``):                                                 bad + "credentials.apiKey issues=credentials.apiKey",
			with(`"apiKey":"key-1",`, `"apiKey":"x",`):                                    bad + "credentials.apiKey issues=credentials.apiKey",
			with(`"apiKey"`, `"pin":"1","apiKey"`):                                        bad + "credentials.pin issues=credentials.pin",
			with(`"apiKey":"key-1"`, `"apiKey":["key-1"]`):                                bad + "credentials.apiKey issues=credentials.apiKey",
			with(u.URL, "http://bank.example"):                                            bad + "baseUrl issues=baseUrl",
			with(u.URL, "https://user:pw@bank.example"):                                   bad + "baseUrl issues=baseUrl",
			with(`"adapter":"plain",`, ``):                                                "400 missing_field invalid_request_error param=adapter issues=adapter missing=adapter",
			`{"id":`:                                                                      "400 invalid_json invalid_request_error",
			"{}" + strings.Repeat(" ", 256<<10):                                           "413 payload_too_large invalid_request_error",
		} {
			op.post(t, "/accounts", body).refused(t, want)
		}
		op.ask(t, http.MethodPost, "/accounts", with("", ""), "Content-Type: text/plain").refused(t, "415 content_type_required invalid_request_error")
		for body, want := range map[string]string{
			`{"priority":1}`: "400 missing_field invalid_request_error param=version issues=version missing=version",
			`{"version":1,"baseUrl":"https://elsewhere.example"}`:      bad + "baseUrl issues=baseUrl",   // where the credentials would go
			`{"version":1,"priority":1e30}`:                            bad + "priority issues=priority", // no int can hold it
			`{"version":1,"adapter":"plain"}`:                          bad + "adapter issues=adapter",
			`{"version":1,"terms":[{"rail":"card.BRA","price":"1%"}]}`: bad + "terms[0].rail issues=terms[0].rail",
		} {
			op.patch(t, "/accounts/bank", body).refused(t, want)
		}
		op.post(t, "/accounts/bank/credentials", `{"credentials":{}}`).refused(t, bad+"credentials issues=credentials")
		op.post(t, "/accounts/bank/credentials", `{"credentials":{"apiKey":"hush"}}`).refused(t, bad+"credentials.apiKey issues=credentials.apiKey")
		op.get(t, "/accounts?al=true").refused(t, bad+"al issues=al")
		op.get(t, "/accounts?all=perhaps").refused(t, bad+"all issues=all")
		op.get(t, "/accounts/%00").refused(t, bad+"id issues=id")
		op.get(t, "/payments/%00/explanation").refused(t, bad+"id issues=id")
		if r := op.get(t, "/accounts").want(t, http.StatusOK); strings.Count(string(r.body), `"id"`) != 1 || r.text(t, "data.0.version") != "1" {
			t.Errorf("what was refused was done: %s", r)
		}

		const missing = "404 not_found invalid_request_error"
		op.get(t, "/accounts/nobody").refused(t, missing)
		op.patch(t, "/accounts/nobody", `{"version":1}`).refused(t, missing)
		op.remove(t, "/accounts/nobody").refused(t, missing)
		op.post(t, "/accounts/nobody/credentials", `{"credentials":{"apiKey":"key-1"}}`).refused(t, missing)
		for _, act := range []string{"enable", "disable", "check"} {
			op.post(t, "/accounts/nobody/"+act, "").refused(t, missing)
		}
		op.get(t, "/payments/TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6/explanation").refused(t, "404 transaction_not_found invalid_request_error")
		op.get(t, "/nothing").refused(t, missing)
		r := op.ask(t, http.MethodPut, "/accounts/bank", "{}")
		if r.refused(t, "405 method_not_allowed invalid_request_error"); r.header.Get("Allow") != "GET, HEAD, PATCH, DELETE" {
			t.Errorf("Allow is %q", r.header.Get("Allow"))
		}
		list, err := op.App.Audit(ctx, "", "", op.clock.now().Add(-century), 1000)
		must(t, err)
		if n := len(slices.DeleteFunc(list, func(e audit.Entry) bool { return !strings.HasPrefix(string(e.Act), "provider.") })); n != 1 {
			t.Errorf("%d entries of provider accounts, and one act was done", n)
		}
	})
}

func TestAdminDocumentListsEveryEndpoint(t *testing.T) {
	operated(t, func(t *testing.T, op operator) {
		doc, err := openapi3.NewLoader().LoadFromData(publishedForOperators.text)
		must(t, err)
		if err := doc.Validate(ctx); err != nil || doc.OpenAPI != "3.1.0" {
			t.Errorf("the document is OpenAPI %s, and not valid: %v", doc.OpenAPI, err)
		}
		var endpoints []string
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				endpoints = append(endpoints, method+" "+path)
				if operation.Security == nil || len(*operation.Security) != 1 {
					t.Errorf("%s %s asks for no token", method, path)
				}
			}
		}
		slices.Sort(endpoints)
		if got := strings.Join(endpoints, "\n"); got != `DELETE /accounts/{id}
GET /accounts
GET /accounts/{id}
GET /adapters
GET /health
GET /merchants/{id}
GET /payments/unsure
GET /payments/{id}/explanation
PATCH /accounts/{id}
PATCH /merchants/{id}
POST /accounts
POST /accounts/{id}/check
POST /accounts/{id}/credentials
POST /accounts/{id}/disable
POST /accounts/{id}/enable
POST /claims/{id}/resolution
POST /payments/{id}/resolution
POST /withdrawals/{id}/resolution` {
			t.Errorf("the document has\n%s", got)
		}
	})
}
