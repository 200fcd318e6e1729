package docs

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// listed returns the GET operations of a document that accept at least one of the parameters:
// path to query parameter to its allowed values.
func listed(s *harness.Spec, params ...string) map[string]map[string][]string {
	all := map[string]map[string][]string{}
	for path, item := range s.Paths {
		parameters, _ := harness.At(item, "get.parameters")
		known, _ := parameters.([]any)
		takes := map[string][]string{}
		for _, p := range known {
			name, _ := harness.At(p, "name")
			if in, _ := harness.At(p, "in"); in != "query" {
				continue
			}
			enum, _ := harness.At(p, "schema.enum")
			values := []string{}
			for _, v := range anyList(enum) {
				values = append(values, fmt.Sprint(v))
			}
			takes[fmt.Sprint(name)] = values
		}
		if slices.ContainsFunc(params, func(name string) bool { _, there := takes[name]; return there }) {
			all[path] = takes
		}
	}
	return all
}

func anyList(v any) []any {
	list, _ := v.([]any)
	return list
}

// All lists of the document read their query strings in the same way.
func TestListsReadTheirQueriesAlike(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		hook, inbox := o.Hook(t, s.Receive(t).URL, `"*"`), harness.Inbox(t, o, `"*"`)
		o.Create(t, harness.PaidByShopper, "Sandbox-Simulate: paid")
		o.Post(t, "/sandbox/clock", `{"advance":"4d"}`).Want(t, http.StatusOK)
		harness.Eventually(t, "the merchant has a settlement", func() bool { return o.Get(t, "/settlements").Text(t, "pagination.total") != "0" })
		harness.Eventually(t, "the inbox has a delivery", func() bool { return o.Get(t, inbox.Path("/inbox")).Text(t, "pagination.total") != "0" })
		// Totals are compared with one another: first the last event has to be there, that of the settlement's PDF.
		harness.Eventually(t, "two events of the payment and two of the settlement are there", func() bool { return o.Get(t, "/events").Text(t, "pagination.total") == "4" })
		own := harness.RowIDs(t, o.Get(t, "/shops"))[0]
		settlement := harness.RowIDs(t, o.Get(t, "/settlements"))[0]
		paths := map[string]string{
			"/webhooks/{id}/inbox": inbox.Path("/inbox"), "/webhooks/{id}/deliveries": hook.Path("/deliveries"), "/webhooks/{id}/replays": hook.Path("/replays"),
			"/settlements/{id}/transactions": "/settlements/" + settlement + "/transactions",
		}
		lists := listed(harness.Published.Spec, "limit")
		for _, known := range []string{"/payments", "/claims", "/events", "/settlements", "/withdrawals", "/wallets", "/webhooks", "/shops", "/keys", "/me/balance/movements"} {
			if lists[known] == nil {
				t.Errorf("the document has no list %s", known)
			}
		}
		for _, template := range slices.Sorted(maps.Keys(lists)) {
			path, takes := template, lists[template]
			if filled := paths[template]; filled != "" {
				path = filled
			}
			page := func(query string) string {
				r := o.Get(t, path+"?"+query)
				if r.Status != http.StatusOK {
					return r.Problem(t)
				}
				return fmt.Sprintf("%s from %s", r.Text(t, "pagination.limit"), r.Text(t, "pagination.offset"))
			}
			refused := func(params string) string {
				first, _, _ := strings.Cut(params, ",")
				return "400 invalid_request invalid_request_error param=" + first + " issues=" + params
			}
			for query, want := range map[string]string{
				"": "50 from 0", "limit=": "50 from 0", "limit&offset": "50 from 0", "limit=0": "1 from 0", "limit=-1": "1 from 0", "limit=1000000": "100 from 0",
				"limit=99999999999999999999": "100 from 0", "offset=-1": "50 from 0", "offset=99999999999999999999": "50 from 1000000",
				"limit=x": refused("limit"), "limit=1.5": refused("limit"), "offset=x": refused("offset"), "limit=x&offset=x": refused("limit,offset"),
				"limit=1&limit=1": refused("limit"), "offset=&offset=2": refused("offset"), "startingAfter=": "50 from 0", "starting_after": "50 from 0",
				"startingAfter=a&starting_after=b": refused("startingAfter"), "startingAfter=a&startingAfter=b": refused("startingAfter"),
				"nonsense=1": refused("nonsense"), "page=2": refused("page"), "cursor=x": refused("cursor"), "since=x": refused("since"), "q=x": refused("q"), "nextCursor=": "50 from 0", "nonsense=1&strict=true": refused("nonsense"), "strict": "50 from 0", "strict=yes": refused("strict"), "strict=1": refused("strict"),
				"limt=1": refused("limt"), "strict=true&strict=true": refused("strict"), "limit=%ff": refused("limit"), "limit=5%00": refused("limit"),
				"shopId=": "50 from 0", "shopId=" + own + "&shopId=b": refused("shopId"), "shopId=shp_01J0000000000000000000000A": "403 forbidden permission_error param=shopId",
			} {
				if got := page(query); got != want {
					t.Errorf("%s?%s: got %s, want %s", template, query, got, want)
				}
			}
			total := func(query string) string {
				r := o.Get(t, path+"?"+query)
				if r.Status != http.StatusOK {
					return r.Problem(t)
				}
				return r.Text(t, "pagination.total")
			}
			all := total("")
			if _, bounded := takes["from"]; bounded {
				if all == "0" && path != "/withdrawals" {
					t.Errorf("%s has no rows, so that from and to prove nothing", path)
				}
				for query, want := range map[string]string{
					"from=": all, "to=": all, "from&to": all, "from=0001-01-01": all, "to=9999-12-31": all, "to=0001-01-01": "0", "to=1969-12-31T23:59:59Z": "0", "to=0001-01-01T00:00:00Z": "0",
					"from=0001-01-01&to=0001-01-01": "0", "from=9999-12-31": "0", "from=2026-11-22&to=2026-11-21": refused("from"), "from=0001-01-02&to=0001-01-01": refused("from"),
					"from=x": refused("from"), "to=tomorrow": refused("to"), "from=x&to=2026-13-01": refused("from,to"), "to=1795257761": refused("to"),
					"from=2026-11-21&from=2026-11-21": refused("from"), "To=2026-11-21": refused("To"),
				} {
					if got := total(query); got != want {
						t.Errorf("%s?%s: got %s, want %s", template, query, got, want)
					}
				}
			}
			for name, values := range takes {
				if len(values) == 0 || name == "strict" {
					continue
				}
				for query, want := range map[string]string{
					name + "=": all, name: all, name + "=nonsense": refused(name), name + "=" + strings.ToUpper(values[0]): refused(name), name + "=" + values[0] + "," + values[0]: refused(name),
					name + "=" + values[0] + "&" + name + "=" + values[0]: refused(name), name + "=%20" + values[0]: refused(name),
				} {
					if got := total(query); got != want {
						t.Errorf("%s?%s: got %s, want %s", template, query, got, want)
					}
				}
				for _, value := range values {
					if value == "csv" || name == "decimal" { // a file; what is for a file alone
						continue
					}
					if got := total(name + "=" + value); strings.Contains(got, " ") {
						t.Errorf("%s?%s=%s is refused: %s", template, name, value, got)
					}
				}
				message := o.Get(t, path+"?"+name+"=nonsense").Text(t, "error.message")
				if want := name + " must be one of " + strings.Join(values, ", "); message != want {
					t.Errorf("%s?%s=nonsense returns the message %q, want %q", template, name, message, want)
				}
			}
		}
	})
}

// The admin API reads query strings as the merchants' API does, but refuses every unknown parameter.
func TestOperatorsQueriesAreReadAlike(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		refused := func(param string) string {
			return "400 invalid_request invalid_request_error param=" + param + " issues=" + param
		}
		for query, want := range map[string]string{
			"": "200", "all=": "200", "all": "200", "all=true": "200", "all=false": "200", "all=1": refused("all"), "all=TRUE": refused("all"), "all=yes": refused("all"),
			"all=true&all=false": refused("all"), "nonsense=1": refused("nonsense"), "al=true": refused("al"), "all=%ff": refused("all"), "limit=1": "200", "limit=0": refused("limit"),
		} {
			if got := op.Get(t, "/accounts?"+query).Problem(t); got != want {
				t.Errorf("/accounts?%s: got %s, want %s", query, got, want)
			}
		}
		for _, path := range []string{"/adapters", "/payments/unsure", "/health"} {
			op.Get(t, path+"?all=true").Refused(t, refused("all"))
		}
		op.Remove(t, "/accounts/none?force=maybe").Refused(t, refused("force"))
		op.Remove(t, "/accounts/none?forse=true").Tells(t, "error.message", `"there is no query parameter forse: did you mean force?"`)
	})
}

// No query string causes a fault. Every operation of both APIs refuses a query string that cannot be
// read, in the same way.
func TestNoQueryStringIsAFault(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		params := regexp.MustCompile(`\{\w+\}`)
		unreadable := []string{"%", "limit=%zz", "limit=1;offset=2", "%=1", "a=1&b=%f", ";"}
		unstorable := []string{"limit=%00", "%ff=1", "limit=1&x=%c3%28"}
		odd := []string{"=", "&&&", "=1&=2", "[]=1&a[b]=c", "+", "strict", "strict=&strict=", "limit=1&limit=2", strings.Repeat("a&", 9000), "x=" + strings.Repeat("é", 5000), "a%26b=%3D&%2525"}
		for api, s := range map[string]*harness.Spec{"merchants": harness.Published.Spec, "operators": harness.PublishedForOperators.Spec} {
			n := 0
			for path, item := range s.Paths {
				methods, _ := item.(map[string]any)
				for method := range methods {
					filled := params.ReplaceAllString(path, "none")
					if method == "parameters" || filled == "/openapi.json" {
						continue
					}
					n++
					ask := func(query string) harness.Reply {
						if api == "operators" {
							return op.Ask(t, strings.ToUpper(method), filled+"?"+query, "")
						}
						return o.Call(t, strings.ToUpper(method), filled+"?"+query, "")
					}
					for _, query := range unreadable {
						if r := ask(query); r.Status != http.StatusBadRequest || !strings.Contains(r.Text(t, "error.message"), "query string cannot be read") {
							t.Errorf("%s %s?%s cannot be read, but the answer does not say so: %s", method, filled, query, r)
						}
					}
					for _, query := range unstorable {
						if r := ask(query); r.Status != http.StatusBadRequest || !strings.Contains(r.Text(t, "error.message"), "must be UTF-8 without NUL") {
							t.Errorf("%s %s?%s cannot be stored, but the answer does not say so: %s", method, filled, query, r)
						}
					}
					for _, query := range odd {
						if r := ask(query); r.Status >= 500 {
							t.Errorf("%s %s?%.40s causes a fault: %s", method, filled, query, r)
						}
					}
				}
			}
			if n < 15 {
				t.Errorf("the document of the %s has %d operations, want 15 at least", api, n)
			}
		}
	})
}
