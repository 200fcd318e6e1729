package docs

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/admin"
	"github.com/cascadapay/cascada/internal/api"
	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/bench/growth"
	"github.com/cascadapay/cascada/internal/checkout"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dashboard"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/verify"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/cascadapay/cascada/internal/work"
)

// A request costs no more than its size: neither the memory of an operation, nor its answer grows faster than its body, and none
// takes long.
func TestNoRequestCostsMoreThanItsSize(t *testing.T) { // not parallel: memory is measured
	s := measured(t)
	o, op := s.NewShop(t), s.Operator(t, "ana", &harness.Diary{})
	silent := slog.New(slog.DiscardHandler)
	open := gate.New(nil, nil, s.App.Access, silent, time.Now)
	merchants, err := api.New(daemon.APIUses(s.App), silent, s.URL+harness.APIPath, open)
	harness.Must(t, err)
	operators, err := admin.New(admin.Config{Uses: daemon.AdminUses(s.App), Log: silent, Now: s.Clock.Now, Bodies: open.OperatorsBody})
	harness.Must(t, err)
	for _, edge := range []struct {
		base, credential string
		spec             *harness.Spec
		handler          http.Handler
	}{
		{harness.APIPath, o.Sandbox.Secret, harness.ReadDocument(t, s), merchants},
		{admin.Base, op.Token, harness.ReadOperatorsDocument(t, s), operators},
	} {
		for _, op := range bodied(edge.spec) {
			properties := op.properties(edge.spec)
			for name, shape := range shapes {
				what := op.method + " " + op.path + ", " + name
				growth.Of(t, what, 64<<10, func(size int) string { return shape(properties, size) }, func(body string) int {
					r := httptest.NewRequest(op.method, edge.base+op.path, strings.NewReader(body))
					r.Header = http.Header{"Authorization": {"Bearer " + edge.credential}, "Content-Type": {"application/json"}}
					return answered(t, what, edge.handler, r, len(body))
				})
			}
		}
		for path, of := range edge.spec.Paths {
			if _, reads := of.(map[string]any)["get"]; !reads {
				continue
			}
			for name, query := range map[string]func(int) string{"many names": growth.Numbered("", "f%d=1&", ""), "one name": growth.Repeated("", "limit=5&", ""), "a long value": growth.Repeated("status=", "x", ""), "escapes": growth.Repeated("after=", "%41", "")} {
				what := "GET " + path + ", " + name
				growth.Of(t, what, 8<<10, query, func(query string) int {
					r := httptest.NewRequest(http.MethodGet, edge.base+strings.NewReplacer("{", "", "}", "").Replace(path)+"?"+query, nil)
					r.Header.Set("Authorization", "Bearer "+edge.credential)
					return answered(t, what, edge.handler, r, len(query))
				})
			}
		}
	}
}

// measured is a service whose requests are measured.
func measured(t *testing.T) *harness.Instance {
	t.Helper()
	return harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		c.Admin, c.Adapters = "127.0.0.1:0", []provider.Adapter{providertest.Plain()}
	})
}

// answered makes a request and returns the size of its answer, which may have 4 KB and four times the size of the request.
func answered(t *testing.T, what string, handler http.Handler, r *http.Request, size int) int {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code >= 500 {
		t.Fatalf("%s of %d bytes: %d %.500s", what, size, w.Code, w.Body)
	}
	if w.Body.Len() > 4<<10+4*size {
		t.Errorf("%s of %d bytes is answered with %d bytes", what, size, w.Body.Len())
	}
	return w.Body.Len()
}

// A page costs no more than what is sent to it: forms of the dashboard, the console, the checkout and verifications, and queries.
func TestNoFormCostsMoreThanItsSize(t *testing.T) {
	s := measured(t)
	o := s.NewShop(t)
	silent := slog.New(slog.DiscardHandler)
	open := gate.New(nil, nil, s.App.Access, silent, time.Now)
	pages, err := checkout.New(daemon.CheckoutUses(s.App), silent, s.URL, func(*http.Request) string { return "127.0.0.1" })
	harness.Must(t, err)
	site, err := dashboard.New(dashboard.Config{App: s.App, Gate: open, Log: silent, Now: s.Clock.Now, URL: s.URL, Preview: pages.Preview, Loops: func() []work.Done { return nil }})
	harness.Must(t, err)
	public := http.NewServeMux()
	pages.Register(public, open.Pages)
	public.Handle("/kyc/", open.Pages(verify.New(s.App.Verifications, silent)))
	public.Handle(frame.Base+"/", site)
	owner, operator := o.Staff(t, people.Owner), harness.OperatorUser(t, o)
	payment, token := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse","hostedCheckout":true}`), o.Session(t, harness.CheckoutBody)
	names := fieldNames(t)
	known := func(size int) string { // every field that a form has, with a share of the size
		form := ""
		for _, name := range names {
			form += name + "=" + strings.Repeat("a", size/len(names)) + "&"
		}
		return form
	}
	const page = 200 << 10 // what a page may have by itself
	ask := func(method, path, cookie string, size int, shapes map[string]func(int) string) {
		for name, shape := range shapes {
			what := method + " " + path + ", " + name
			growth.Of(t, what, size, shape, func(form string) int {
				r := httptest.NewRequest(method, path+"?"+form, nil)
				if method != http.MethodGet {
					r = httptest.NewRequest(method, path, strings.NewReader(form))
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				}
				r.Header.Set("Sec-Fetch-Site", "same-origin")
				r.AddCookie(&http.Cookie{Name: "cascada", Value: cookie})
				return answered(t, what, public, r, page+len(form))
			})
		}
	}
	forms := map[string]func(int) string{"many fields": growth.Numbered("", "f%d=x&", ""), "one field": growth.Repeated("", "name=x&", ""), "fields that it has": known}
	queries := map[string]func(int) string{"fields that it has": known}
	for _, r := range site.Routes() {
		path, cookie, size := r.Path, owner.Cookie, 64<<10
		switch r.Kind {
		case frame.OfShop:
			path = owner.At(path)
		case frame.OfOperator:
			cookie, path = operator.Cookie, frame.Base+path
		default:
			size, path = 15<<10, frame.Base+path
		}
		path = strings.TrimSuffix(regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "x"), "/")
		switch {
		case path == "/dashboard/again/sign-in", strings.HasSuffix(path, "/sign-out"), strings.HasSuffix(path, "/end"), strings.HasSuffix(path, "/live"): // who asks would be signed out; it does not end
		case r.Method == http.MethodGet:
			ask(r.Method, path, cookie, 8<<10, queries)
		default:
			ask(r.Method, path, cookie, size, forms)
		}
	}
	for _, path := range []string{"/checkout/" + token, "/pay/" + payment + "/change", "/pay/" + payment + "/again", "/sandbox/bank/" + payment, "/kyc/kyc_1"} {
		ask(http.MethodPost, path, "", 15<<10, forms)
		ask(http.MethodGet, strings.TrimSuffix(strings.TrimSuffix(path, "/change"), "/again"), "", 8<<10, queries)
	}
	owner.Page(t, "/payments") // both were signed in all the time
	operator.Page(t, "/dashboard/console/merchants")
}

// fieldNames are the names of all fields of the pages' forms.
func fieldNames(t *testing.T) (names []string) {
	t.Helper()
	for _, of := range []string{"../../dashboard", "../../checkout", "../../verify"} {
		harness.Must(t, filepath.WalkDir(of, func(path string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".html" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range regexp.MustCompile(`\bname="([a-zA-Z_.]+)"`).FindAllSubmatch(text, -1) {
				names = append(names, string(found[1]))
			}
			return err
		}))
	}
	if names = slices.Compact(slices.Sorted(slices.Values(names))); len(names) < 40 {
		t.Fatalf("found %d names of fields, want all", len(names))
	}
	return names
}

// Each list in a request has a longest length, and none is longer than the checks of a body look at.
func TestEveryListOfARequestIsBounded(t *testing.T) {
	s := measured(t)
	for name, spec := range map[string]*harness.Spec{"merchants": harness.ReadDocument(t, s), "operators": harness.ReadOperatorsDocument(t, s)} {
		lists := 0
		for _, op := range bodied(spec) {
			lists += bounded(t, spec, op.method+" "+op.path, op.schema)
		}
		if lists < 4 {
			t.Errorf("found %d lists in requests of %s, want all", lists, name)
		}
	}
}

// operation is an operation that takes a body.
type operation struct {
	method, path string
	schema       map[string]any
}

// bodied lists the operations that take a JSON body.
func bodied(s *harness.Spec) (all []operation) {
	for _, path := range slices.Sorted(maps.Keys(s.Paths)) {
		for method, of := range s.Paths[path].(map[string]any) {
			schema, ok := harness.At(of, "requestBody.content")
			if !ok {
				continue
			}
			if schema, ok = harness.At(schema.(map[string]any)["application/json"], "schema"); !ok {
				continue
			}
			all = append(all, operation{strings.ToUpper(method), strings.NewReplacer("{", "", "}", "").Replace(path), schema.(map[string]any)})
		}
	}
	return all
}

// resolved follows a schema's $ref.
func resolved(s *harness.Spec, schema map[string]any) map[string]any {
	for {
		ref, ok := schema["$ref"].(string)
		if !ok {
			return schema
		}
		schema, _ = s.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
	}
}

// bounded counts the lists below a schema, and reports those without a bound.
func bounded(t *testing.T, s *harness.Spec, where string, schema map[string]any) (lists int) {
	schema = resolved(s, schema)
	if items, ok := schema["items"].(map[string]any); ok {
		most, _ := schema["maxItems"].(json.Number)
		if n, err := most.Int64(); err != nil || n > wire.MostItems {
			t.Errorf("%s has a list of at most %v items, want at most %d", where, schema["maxItems"], wire.MostItems)
		}
		lists += 1 + bounded(t, s, where+"[]", items)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, below := range properties {
		lists += bounded(t, s, where+" "+name, below.(map[string]any))
	}
	return lists
}

// properties lists the types of an operation's fields, one level of objects deep.
func (op operation) properties(s *harness.Spec) map[string]string {
	types := map[string]string{}
	properties, _ := resolved(s, op.schema)["properties"].(map[string]any)
	for name, below := range properties {
		switch kind := resolved(s, below.(map[string]any))["type"].(type) {
		case string:
			types[name] = kind
		default:
			types[name] = fmt.Sprint(kind)
		}
	}
	return types
}

// shapes make bodies of about a size.
var shapes = map[string]func(properties map[string]string, size int) string{
	"many unknown fields": func(_ map[string]string, size int) string { return many(size, `"field%d":0`) },
	"a list":              func(_ map[string]string, size int) string { return "[" + strings.Repeat("1,", size/2) + "1]" },
	"one long name":       func(_ map[string]string, size int) string { return `{"` + strings.Repeat("a", size) + `":1}` },
	"deep objects": func(_ map[string]string, size int) string {
		deep := strings.Repeat(`{"x":`, 100) + "1" + strings.Repeat("}", 100)
		return many(size, `"f%d":`+deep)
	},
	"long texts":         fields("string", func(size int) string { return `"` + strings.Repeat("a", size) + `"` }),
	"texts of escapes":   fields("string", func(size int) string { return `"` + strings.Repeat(`\u202e`, size/6) + `"` }),
	"long numbers":       fields("number", func(size int) string { return "1" + strings.Repeat("1", size) }),
	"lists of numbers":   fields("array", func(size int) string { return "[" + strings.Repeat("1,", size/2) + "1]" }),
	"lists of texts":     fields("array", func(size int) string { return "[" + strings.Repeat(`"a",`, size/4) + `"b"]` }),
	"lists of objects":   fields("array", func(size int) string { return "[" + strings.Repeat(`{"name":"a"},`, size/13) + `{}]` }),
	"objects of strange": fields("object", func(size int) string { return many(size, `"field%d":0`) }),
}

// many is an object of about a size with many fields.
func many(size int, field string) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteString(",")
		}
		_, _ = fmt.Fprintf(&b, field, i)
	}
	return "{" + b.String() + "}"
}

// fields gives all fields of a type a value, of about a size together. Without such a field the fields are all.
func fields(kind string, value func(size int) string) func(map[string]string, int) string {
	return func(properties map[string]string, size int) string {
		var of []string
		for name, is := range properties {
			if is == kind || kind == "number" && is == "integer" {
				of = append(of, name)
			}
		}
		var pairs []string
		for _, name := range of {
			pairs = append(pairs, fmt.Sprintf("%q:%s", name, value(size/len(of))))
		}
		return "{" + strings.Join(pairs, ",") + "}"
	}
}
