package access

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/getkin/kin-openapi/openapi3"
)

func TestAdminAPIIsForOperatorsAlone(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		access := harness.Pair(t, o).Text(t, "accessToken")
		op.Clock.Freeze()
		const nobody, wrong = "401 missing_credentials authentication_error", "401 invalid_token authentication_error"
		for _, c := range []struct{ header, want string }{
			{"Authorization: ", nobody}, {"Authorization: Bearer", nobody}, {"Authorization: Basic b3A6eA==", nobody},
			{"Authorization: Bearer op_" + strings.Repeat("A", 43), wrong},
			{"Authorization: Bearer " + op.Token[:len(op.Token)-1], wrong},
			{"Authorization: Bearer " + strings.ToUpper(op.Token), wrong},
			{"Authorization: Bearer op_" + strings.Repeat("A", 5000), wrong},
			{"Authorization: Bearer " + o.Live.Secret, wrong}, {"Authorization: Bearer " + o.Live.Publishable, wrong},
			{"Authorization: Bearer " + access, wrong},
		} {
			for _, path := range []string{"/accounts", "/adapters", "/health", "/payments/TXN-1/explanation", "/accounts/bank", "/adjustments"} {
				op.Ask(t, http.MethodGet, path, "", c.header).Refused(t, c.want)
			}
			for _, path := range []string{"/accounts/bank/enable", "/adjustments", "/adjustments/adj_1/approve", "/payments/TXN-1/refunds"} {
				op.Ask(t, http.MethodPost, path, "", c.header).Refused(t, c.want)
			}
		}
		op.Get(t, "/accounts").Want(t, http.StatusOK)
		o.As(op.Token).Get(t, "/me").Refused(t, wrong) // an operator's token is no merchant's either
		for _, path := range []string{"/admin/v1/accounts", "/admin/v1/openapi.json", "/admin"} {
			r := op.Send(t, harness.Request{Method: http.MethodGet, Path: path, Header: http.Header{"Authorization": {"Bearer " + op.Token}}})
			if r.Status != http.StatusNotFound {
				t.Errorf("the public listener serves the admin API: %s", r)
			}
		}
		harness.Must(t, op.App.Operators.Remove(ctx, op.App.Self(), "ana"))
		op.Get(t, "/accounts").Refused(t, wrong) // at once
		const line = "the admin API refused a token"
		if n := strings.Count(op.Log.String(), line); n != 1 {
			t.Errorf("many refused tokens at once made %d lines in the log, want one", n)
		}
		op.Clock.Advance(time.Second)
		op.Get(t, "/accounts").Refused(t, wrong)
		if text := op.Log.String(); strings.Count(text, line) != 2 || !strings.Contains(text, "more_of_them=") || strings.Contains(text, op.Token) || strings.Contains(text, o.Live.Secret) {
			t.Errorf("want lines about refused tokens, without the tokens:\n%s", text)
		}
	})
}

// Each operation needs the right that the document names, and no other (OPR-1).
func TestAdminAPIFollowsTheRole(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		hole := regexp.MustCompile(`\{[^}]*\}`)
		walked := 0
		doc, err := openapi3.NewLoader().LoadFromData(harness.PublishedForOperators.Text)
		harness.Must(t, err)
		for _, role := range operators.Roles() {
			by := harness.OperatorToken(t, op.Instance, auth.Newcomer{Name: "as-" + string(role), Role: role}, op.Log)
			for path, item := range doc.Paths.Map() {
				for method, o := range item.Operations() {
					right, _ := o.Extensions["x-right"].(string)
					if right == "" {
						t.Fatalf("%s %s names no right", method, path)
					}
					if role.May(operators.Right(right)) && method != http.MethodGet {
						continue // it would be done
					}
					body := ""
					if o.RequestBody != nil {
						body = "{}"
					}
					r := by.Ask(t, method, hole.ReplaceAllString(path, "none"), body)
					refused := r.Status == http.StatusForbidden && r.Text(t, "error.details.reason") == "role" && r.Text(t, "error.details.right") == right
					if walked++; refused == role.May(operators.Right(right)) {
						t.Errorf("%s asks %s %s, which needs %s: %s", role, method, path, right, r)
					}
				}
			}
		}
		if walked < 60 {
			t.Errorf("%d requests were made", walked)
		}
		ana := harness.OperatorWithRole(t, op.NewShop(t), operators.Risk)
		token, _, err := op.App.Operators.Add(ctx, ana.App.Self(), auth.Newcomer{Name: "ana-laptop", Role: operators.Admin, Person: ana.User.ID})
		harness.Must(t, err)
		laptop := harness.Operator{Instance: op.Instance, Name: "ana-laptop", Token: token, Log: op.Log}
		laptop.Ask(t, http.MethodPatch, "/merchants/none", `{"tier":"premium"}`).Refused(t, "403 forbidden permission_error reason=role") // not hers
		laptop.Get(t, "/accounts").Want(t, http.StatusOK)
		harness.Must(t, op.App.Team.SetOperator(ctx, op.App.Self(), ana.User.Email, operators.Finance))
		laptop.Ask(t, http.MethodPatch, "/merchants/none", `{"tier":"premium"}`).Refused(t, "404 not_found invalid_request_error")
		harness.Must(t, op.App.Team.Remove(ctx, op.App.Self(), ana.User.Email))
		laptop.Get(t, "/accounts").Refused(t, "401 invalid_token authentication_error")
	})
}

func TestAdminAPINamesWhatIsWrong(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		u := providertest.NewUpstream(t, "key-1")
		op.Post(t, "/accounts", harness.PlainAccount("bank", u, "")).Want(t, http.StatusCreated)
		const bad = "400 invalid_request invalid_request_error param="
		with := func(old, replaced string) string {
			return strings.Replace(harness.PlainAccount("next", u, `,"priority":1`), old, replaced, 1)
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
			op.Post(t, "/accounts", body).Refused(t, want)
		}
		op.Ask(t, http.MethodPost, "/accounts", with("", ""), "Content-Type: text/plain").Refused(t, "415 content_type_required invalid_request_error")
		for body, want := range map[string]string{
			`{"priority":1}`: "400 missing_field invalid_request_error param=version issues=version missing=version",
			`{"version":1,"baseUrl":"https://elsewhere.example"}`:      bad + "baseUrl issues=baseUrl",   // where the credentials would go
			`{"version":1,"priority":1e30}`:                            bad + "priority issues=priority", // larger than an int
			`{"version":1,"adapter":"plain"}`:                          bad + "adapter issues=adapter",
			`{"version":1,"terms":[{"rail":"card.BRA","price":"1%"}]}`: bad + "terms[0].rail issues=terms[0].rail",
		} {
			op.Patch(t, "/accounts/bank", body).Refused(t, want)
		}
		op.Post(t, "/accounts/bank/credentials", `{"credentials":{}}`).Refused(t, bad+"credentials issues=credentials")
		op.Post(t, "/accounts/bank/credentials", `{"credentials":{"apiKey":"hush"}}`).Refused(t, bad+"credentials.apiKey issues=credentials.apiKey")
		for _, body := range []string{`{"amount":5}`, `[{"amount":5}]`, "amount=5"} { // a call that takes no body reads none of it
			if r := op.Post(t, "/adjustments/adj_1/approve", body); !strings.HasPrefix(r.Problem(t), "400 invalid_request") || !strings.Contains(r.Text(t, "error.message"), "this call takes no body") {
				t.Errorf("an approval with %s gets %s", body, r)
			}
		}
		if r := op.Post(t, "/adjustments/adj_1/reject", `{"note":"x","foo":1}`); !strings.Contains(r.Text(t, "error.message"), "there is no field foo: leave it out; the fields are note") {
			t.Errorf("an unknown field of an operator's call gets %s", r)
		}
		op.Get(t, "/accounts?al=true").Refused(t, bad+"al issues=al")
		op.Get(t, "/accounts?all=perhaps").Refused(t, bad+"all issues=all")
		op.Get(t, "/accounts/%00").Refused(t, bad+"id issues=id")
		op.Get(t, "/payments/%00/explanation").Refused(t, bad+"id issues=id")
		if r := op.Get(t, "/accounts").Want(t, http.StatusOK); strings.Count(string(r.Body), `"id"`) != 1 || r.Text(t, "data.0.version") != "1" {
			t.Errorf("a refused request changed the accounts: %s", r)
		}

		const missing = "404 not_found invalid_request_error"
		op.Get(t, "/accounts/nobody").Refused(t, missing)
		op.Patch(t, "/accounts/nobody", `{"version":1}`).Refused(t, missing)
		op.Remove(t, "/accounts/nobody").Refused(t, missing)
		op.Post(t, "/accounts/nobody/credentials", `{"credentials":{"apiKey":"key-1"}}`).Refused(t, missing)
		for _, act := range []string{"enable", "disable", "check"} {
			op.Post(t, "/accounts/nobody/"+act, "").Refused(t, missing)
		}
		op.Get(t, "/payments/TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6/explanation").Refused(t, "404 transaction_not_found invalid_request_error")
		op.Get(t, "/nothing").Refused(t, missing)
		r := op.Ask(t, http.MethodPut, "/accounts/bank", "{}")
		if r.Refused(t, "405 method_not_allowed invalid_request_error"); r.Header.Get("Allow") != "GET, HEAD, PATCH, DELETE" {
			t.Errorf("Allow is %q", r.Header.Get("Allow"))
		}
		list, err := op.App.Audit(ctx, "", "", op.Clock.Now().Add(-harness.Century), 1000)
		harness.Must(t, err)
		if n := len(slices.DeleteFunc(list, func(e audit.Entry) bool { return !strings.HasPrefix(string(e.Act), "provider.") })); n != 1 {
			t.Errorf("the audit log has %d entries of provider accounts, want 1", n)
		}
	})
}

func TestAdminDocumentListsEveryEndpoint(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		doc, err := openapi3.NewLoader().LoadFromData(harness.PublishedForOperators.Text)
		harness.Must(t, err)
		if err := doc.Validate(ctx); err != nil || doc.OpenAPI != "3.1.0" {
			t.Errorf("the document is OpenAPI %s with the error %v, want a valid 3.1.0", doc.OpenAPI, err)
		}
		var endpoints []string
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				endpoints = append(endpoints, method+" "+path)
				if operation.Security == nil || len(*operation.Security) != 1 {
					t.Errorf("%s %s requires no token", method, path)
				}
			}
		}
		slices.Sort(endpoints)
		if got := strings.Join(endpoints, "\n"); got != `DELETE /accounts/{id}
DELETE /books-check
DELETE /invitations/{id}
DELETE /keys/{id}
DELETE /operators/{name}
DELETE /routing-rules
DELETE /users/{id}
GET /accounts
GET /accounts/{id}
GET /adapters
GET /adjustments
GET /adjustments/{id}
GET /audit
GET /batches
GET /batches/{id}
GET /books-check
GET /claims
GET /claims/{id}
GET /dual-controls
GET /floats
GET /health
GET /invitations
GET /invitations/{id}
GET /keys/{id}
GET /merchants
GET /merchants/leaving
GET /merchants/{id}
GET /merchants/{id}/export
GET /merchants/{id}/keys
GET /merchants/{id}/leaving
GET /merchants/{id}/sandbox/reset
GET /merchants/{id}/shops
GET /notifications
GET /notifications/{id}
GET /operators
GET /operators/{name}
GET /payments/unsure
GET /payments/{id}/explanation
GET /payout-limits
GET /payout-limits/{environment}
GET /plans
GET /plans/{name}
GET /plans/{name}/versions
GET /proposals
GET /proposals/{id}
GET /rates
GET /rates/{currency}
GET /rates/{currency}/readings
GET /reconciliations
GET /routing-rules
GET /routing-rules/versions
GET /seals/heads
GET /settlements
GET /settlements/{id}
GET /settlements/{id}/lines
GET /shops/{id}
GET /stories/{id}
GET /users
GET /users/{id}
GET /verifications
GET /verifications/{id}
GET /withdrawals/sent
GET /withdrawals/waiting
GET /withdrawals/{id}
GET /withdrawals/{id}/explanation
PATCH /accounts/{id}
PATCH /merchants/{id}
PATCH /merchants/{id}/contact
PATCH /operators/{name}
PATCH /payout-limits/{environment}
PATCH /shops/{id}
POST /accounts
POST /accounts/{id}/answers
POST /accounts/{id}/check
POST /accounts/{id}/credentials
POST /accounts/{id}/disable
POST /accounts/{id}/enable
POST /accounts/{id}/reconciliations
POST /adjustments
POST /adjustments/{id}/approve
POST /adjustments/{id}/reject
POST /adjustments/{id}/reverse
POST /batches
POST /batches/{id}/approve
POST /batches/{id}/dissolve
POST /batches/{id}/export
POST /books-check
POST /claims/{id}/ask
POST /claims/{id}/carried
POST /claims/{id}/resolution
POST /floats
POST /invitations
POST /key-revocations
POST /keys/{id}/rotate
POST /login-revocations
POST /merchants
POST /merchants/{id}/close
POST /merchants/{id}/keys
POST /merchants/{id}/pause
POST /merchants/{id}/reopen
POST /merchants/{id}/resume
POST /merchants/{id}/sandbox/reset
POST /merchants/{id}/shops
POST /notifications/{id}/close
POST /operators
POST /payments/{id}/refunds
POST /payments/{id}/resolution
POST /payout-limits/{environment}/resume
POST /payout-limits/{environment}/stop
POST /plan-replays
POST /proposals/{id}/approve
POST /proposals/{id}/reject
POST /rate-imports
POST /routing-replays
POST /seals/comparisons
POST /settlements/{id}/payments
POST /shopper-erasures
POST /shopper-exports
POST /users/{id}/links
POST /users/{id}/sign-out
POST /users/{id}/unlock
POST /verifications/{id}/decision
POST /withdrawals/{id}/approve
POST /withdrawals/{id}/resolution
PUT /dual-controls/{right}
PUT /merchants/{id}/sandbox
PUT /plans/{name}
PUT /rates/{currency}
PUT /routing-rules
PUT /users/{id}/operator-role
PUT /users/{id}/role` {
			t.Errorf("the document has other endpoints:\n%s", got)
		}
	})
}

// pageOf reads a page of a list: a member of each row, and the cursor of the next page, "" on the last one.
func pageOf(t *testing.T, op harness.Operator, list, member string, limit int, after string) (rows []string, next string) {
	t.Helper()
	separator := "?"
	if strings.Contains(list, "?") {
		separator = "&"
	}
	r := op.Get(t, fmt.Sprintf("%s%slimit=%d&startingAfter=%s", list, separator, limit, url.QueryEscape(after))).Want(t, http.StatusOK)
	var page struct {
		Data       []map[string]any
		Pagination struct{ NextCursor string }
	}
	harness.Must(t, json.Unmarshal(r.Body, &page))
	for _, row := range page.Data {
		rows = append(rows, fmt.Sprint(row[member]))
	}
	return rows, page.Pagination.NextCursor
}

// restOf reads all pages of a list behind a cursor.
func restOf(t *testing.T, op harness.Operator, list, member, after string) (rows []string) {
	t.Helper()
	for after != "" {
		var page []string
		page, after = pageOf(t, op, list, member, 2, after)
		rows = append(rows, page...)
	}
	return rows
}

// The next page of a list is right although rows of it went away meanwhile: one of the page before, its last one, and one that is to come.
func TestPagesOfListsWhoseRowsGoAway(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		u, of := providertest.NewUpstream(t, "key-1"), "?merchantId="+o.Merchant.ID
		for i, name := range []string{"e", "c", "a", "b", "d", "f"} {
			op.Post(t, "/operators", fmt.Sprintf(`{"name":"a-bot-%s","role":"viewer"}`, name)).Want(t, http.StatusCreated)
			op.Post(t, "/accounts", harness.PlainAccount("bank-"+name, u, fmt.Sprintf(`,"priority":%d`, 9+i))).Want(t, http.StatusCreated)
			op.Post(t, "/invitations", fmt.Sprintf(`{"email":"%s@acme.example","merchantId":%q,"role":"viewer"}`, name, o.Merchant.ID)).Want(t, http.StatusCreated)
			op.Post(t, "/merchants/"+o.Merchant.ID+"/keys", `{"environment":"sandbox"}`).Want(t, http.StatusCreated)
			o.Staff(t, people.Viewer)
			op.NewShop(t).Create(t, harness.Card)
		}
		for _, list := range []struct{ path, member, remove string }{
			{"/operators", "name", "/operators/%s"}, {"/accounts", "id", "/accounts/%s"}, {"/invitations" + of, "id", "/invitations/%s" + of},
			{"/users" + of, "id", "/users/%s" + of}, {"/merchants/" + o.Merchant.ID + "/keys", "id", "/keys/%s"},
		} {
			all, _ := pageOf(t, op, list.path, list.member, 100, "")
			first, next := pageOf(t, op, list.path, list.member, 3, "")
			if len(all) < 6 || !slices.Equal(first, all[:3]) {
				t.Fatalf("%s has %v, and on its first page %v", list.path, all, first)
			}
			for _, i := range []int{1, 2, 4} {
				op.Remove(t, fmt.Sprintf(list.remove, all[i])).Want(t, http.StatusOK)
			}
			want := slices.Concat(all[3:4], all[5:])
			if rest := restOf(t, op, list.path, list.member, next); !slices.Equal(rest, want) {
				t.Errorf("behind its first page %s has %v, want %v", list.path, rest, want)
			}
		}
		for path, member := range map[string]string{"/seals/heads": "merchantId", "/rates": "currency"} {
			harness.Eventually(t, "page by page "+path+" is as a whole", func() bool { // a chain may begin meanwhile
				all, _ := pageOf(t, op, path, member, 100, "")
				first, next := pageOf(t, op, path, member, 1, "")
				return len(all) > 6 && slices.Equal(slices.Concat(first, restOf(t, op, path, member, next)), all)
			})
		}
		op.Get(t, "/seals/heads?startingAfter=mer_1").Refused(t, "400 invalid_request invalid_request_error param=startingAfter")
	})
}
