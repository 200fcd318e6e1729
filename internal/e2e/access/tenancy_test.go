package access

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// anyKey are the operations that a publishable key may use. noKey need no key (AUTH-24).
var (
	anyKey = []string{"GET /ping", "GET /payment-methods"}
	noKey  = []string{"POST /auth/token", "POST /auth/refresh", "GET /checkout/sessions/{token}", "POST /checkout/sessions/{token}/select"}
)

// merchantWide are the lists of what a merchant's shops share: the balance and settlements.
var merchantWide = []string{"GET /me/balance", "GET /me/balance/movements", "GET /settlements"}

// ownIDs are ids in bodies that the walk does not replace with the victim's: they name nothing that
// a fixture makes. bodyIDs are ids of objects that the fixture of a path makes. Any other id in a
// body fails the walk.
var (
	ownIDs  = []string{"paymentMethodId", "merchantOrderId", "documentId", "merchantId", "shopId"}
	bodyIDs = map[string]string{"walletId": "/wallets/{id}", "transactionId": "/payments/{id}"}
)

// step is one operation of the walk.
type step struct {
	name     string // "GET /payments/{id}"
	method   string
	template string
	params   []string // the fixtures of its path
	bodyIDs  []string // the fixtures that its body names
	body     map[string]any
	search   string // the query, with its "?"
}

// steps lists every operation of the document, with its example as the body.
func steps(t *testing.T, s *harness.Spec) (all []step) {
	t.Helper()
	for _, template := range slices.Sorted(maps.Keys(s.Paths)) {
		item := s.Paths[template].(map[string]any)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			p := step{name: strings.ToUpper(method) + " " + template, method: strings.ToUpper(method), template: template}
			for _, at := range harness.PathParam.FindAllStringIndex(template, -1) {
				p.params = append(p.params, harness.Canonical(template[:at[1]]))
			}
			if body, ok := harness.At(item[method], "requestBody.content"); ok {
				m := harness.Media{Node: body.(map[string]any)["application/json"].(map[string]any)}
				examples := s.Examples(m)
				text, err := json.Marshal(examples[slices.Sorted(maps.Keys(examples))[0]])
				harness.Must(t, err)
				harness.Must(t, json.Unmarshal(text, &p.body))
				for _, property := range properties(s, m.Node["schema"]) {
					fixture, known := bodyIDs[property]
					switch {
					case known:
						p.bodyIDs = append(p.bodyIDs, property)
						if _, ok := harness.Fixtures[fixture]; !ok {
							t.Errorf("%s has %s in its body, but harness.Fixtures has no line for %s", p.name, property, fixture)
						}
					case strings.HasSuffix(property, "Id") && !slices.Contains(ownIDs, property):
						t.Errorf("%s has %s in its body: add it to bodyIDs or ownIDs", p.name, property)
					}
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// properties lists the properties of a schema.
func properties(s *harness.Spec, schema any) []string {
	node, _ := schema.(map[string]any)
	if ref, ok := node["$ref"].(string); ok {
		node, _ = s.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
	}
	properties, _ := node["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// queryOf returns the query that filters a list by the victim's ids, or "".
func queryOf(s *harness.Spec, p step, ids map[string]string, o harness.Client) string {
	node, _ := s.Node([]string{"paths", p.template, strings.ToLower(p.method)})
	values := url.Values{}
	for _, q := range node["parameters"].([]any) {
		switch name, _ := harness.At(q, "name"); name {
		case "merchantOrderId":
			values.Set("merchantOrderId", "order of "+o.Shop.ID)
		case "transactionId":
			values.Set("transactionId", ids["/payments/{id}"])
		case "objectId":
			values.Set("objectId", ids["/payments/{id}"])
		case "walletId":
			values.Set("walletId", ids["/wallets/{id}"])
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// path fills a template with ids.
func (p step) path(ids map[string]string) string {
	path := p.template
	for _, fixture := range p.params {
		path = harness.PathParam.ReplaceAllStringFunc(path, func(param string) string {
			if strings.HasSuffix(fixture, param) {
				return ids[fixture]
			}
			return param
		})
	}
	return path
}

func (p step) text(t *testing.T) string {
	t.Helper()
	if p.body == nil {
		return ""
	}
	text, err := json.Marshal(p.body)
	harness.Must(t, err)
	return string(text)
}

// walk is a victim and its objects, which the tests try to reach with other credentials.
type walk struct {
	service *harness.Instance
	victim  harness.Client
	ids     map[string]string
	secrets []string // texts that nobody else may see
	expired string   // an expired access token of the victim
}

func newWalk(t *testing.T, s *harness.Instance) *walk {
	t.Helper()
	o, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), merchants.NewMerchant{Name: "Victim SA", Email: "ops@victim.example"})
	harness.Must(t, err)
	w := &walk{service: s, victim: harness.Client{Onboarded: o, Instance: s, Credential: o.Sandbox.Secret}, ids: map[string]string{}}
	w.expired = harness.Pair(t, w.victim).Text(t, "accessToken")
	s.Clock.Advance(16 * time.Minute)
	for _, path := range slices.Sorted(maps.Keys(harness.Fixtures)) { // a parent comes before its children
		w.ids[path] = harness.Fixtures[path].Make(t, w.victim, w.ids)
	}
	w.secrets = append(slices.Collect(maps.Values(w.ids)), "order of "+o.Shop.ID, "hook of "+o.Shop.ID, "words of "+o.Shop.ID, o.Shop.ID, o.Shop.Slug)
	for _, p := range steps(t, s.Spec) {
		for _, fixture := range p.params {
			if _, ok := harness.Fixtures[fixture]; !ok && !slices.Contains(noKey, p.name) {
				t.Errorf("%s has an id without a fixture: add a line for %s to harness.Fixtures, so that the walk tries another tenant's id", p.name, fixture)
			}
		}
	}
	return w
}

// try makes a call. It fails the test if the reply has one of the victim's secrets, or is not the
// error want. want "" allows any reply.
func (w *walk) try(t *testing.T, who string, caller harness.Client, p step, ids map[string]string, want string) {
	t.Helper()
	path, body := p.path(ids)+p.search, p.text(t)
	var header []string
	if p.body != nil {
		header = append(header, "Content-Type: application/json")
	}
	if caller.Credential == "" {
		header = append(header, "Authorization: ")
	}
	r := caller.Call(t, p.method, path, body, header...)
	if want != "" && (r.Status < 400 || !strings.HasPrefix(r.Problem(t), want+" ")) {
		t.Errorf("%s by %s: want %s, got %s", p.name, who, want, r)
	}
	for _, secret := range w.secrets {
		if strings.Contains(string(r.Body), secret) {
			t.Errorf("%s by %s shows %q: %s", p.name, who, secret, r)
		}
	}
}

// notFound returns the error of a step whose id number at, from 0, is not the caller's.
func (p step) notFound(at int) string { return "404 " + harness.Fixtures[p.params[at]].Code }

func TestWalkWithAnotherTenantsIDs(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		w := newWalk(t, s)
		stranger := s.NewShop(t)
		second := harness.Sibling(t, w.victim)
		for _, by := range []struct {
			who      string
			caller   harness.Client
			merchant bool // of the victim's merchant
		}{
			{"another merchant", stranger, false},
			{"another merchant's production key", stranger.Production(), false},
			{"the merchant's other shop", second, true},
			{"the shop's production key", w.victim.Production(), true},
		} {
			own := map[string]string{}
			if !isLive(by.caller) {
				for _, path := range slices.Sorted(maps.Keys(harness.Fixtures)) {
					own[path] = harness.Fixtures[path].Make(t, by.caller, own)
				}
			}
			before := rows(t, s, w.victim)
			for _, p := range steps(t, s.Spec) {
				if slices.Contains(noKey, p.name) {
					continue
				}
				wide := by.merchant && !isLive(by.caller)
				switch {
				case len(p.params) > 0 && !(wide && harness.Fixtures[p.params[0]].Wide):
					want := p.notFound(0)
					if isLive(by.caller) && refusesProduction(s.Spec, p) {
						want = "" // not found and production_key_refused are both right
					}
					w.try(t, by.who, by.caller, p, w.ids, want)
					if len(p.params) == 2 && len(own) > 0 {
						mixed := map[string]string{p.params[0]: own[p.params[0]], p.params[1]: w.ids[p.params[1]]}
						w.try(t, by.who+", under his own", by.caller, p, mixed, p.notFound(1))
					}
				case wide && slices.Contains(merchantWide, p.name):
				case len(p.params) == 0 && p.method == http.MethodGet:
					w.tryList(t, by.who, by.caller, p, by.merchant)
				case len(p.bodyIDs) > 0:
					for _, property := range p.bodyIDs {
						fixture := harness.Fixtures[bodyIDs[property]]
						if wide && fixture.Wide {
							continue
						}
						p.body[property] = w.ids[bodyIDs[property]]
						want := "404 " + fixture.Code
						if isLive(by.caller) {
							want = "" // production may refuse the request for another reason first
						}
						w.try(t, by.who, by.caller, p, w.ids, want)
					}
				case !by.merchant:
					w.try(t, by.who, by.caller, p, w.ids, "")
				}
			}
			for _, difference := range changed(before, rows(t, s, w.victim)) {
				t.Errorf("%s changed the victim's %s", by.who, difference)
			}
		}
	})
}

// tryList reads a list. A caller of the same merchant may see the merchant's names, but nothing
// that belongs to the shop.
func (w *walk) tryList(t *testing.T, who string, caller harness.Client, p step, merchant bool) {
	t.Helper()
	kept := w.secrets
	defer func() { w.secrets = kept }()
	if !merchant {
		w.secrets = append(slices.Clone(kept), "Victim SA", "victim.example", w.victim.Merchant.ID)
	} else if caller.Shop.ID == w.victim.Shop.ID {
		w.secrets = slices.DeleteFunc(slices.Clone(kept), func(text string) bool { return text == w.victim.Shop.ID || text == w.victim.Shop.Slug })
	}
	if p.name == "GET /requests" { // a key's own requests named the victim's ids; TestKeysSeeTheLogOfRequests looks for those of others
		return
	}
	w.try(t, who, caller, p, w.ids, "")
	if p.search = queryOf(w.service.Spec, p, w.ids, w.victim); p.search != "" {
		w.try(t, who, caller, p, w.ids, "")
	}
}

func isLive(o harness.Client) bool { return strings.Contains(o.Credential, "_live_") }

// refusesProduction reports whether an operation is only for the sandbox.
func refusesProduction(s *harness.Spec, p step) bool {
	response, _ := s.Node([]string{"paths", p.template, strings.ToLower(p.method), "responses", "400"})
	if ref, ok := response["$ref"].(string); ok {
		response, _ = s.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
	}
	codes, _ := response["x-error-codes"].([]any)
	return slices.Contains(codes, any("production_key_refused"))
}

func TestWalkWithEveryKindOfCredential(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		w := newWalk(t, s)
		login := harness.Pair(t, w.victim)
		for _, by := range []struct {
			who, credential, want string
		}{
			{"nobody", "", "401 missing_credentials"},
			{"a refresh token", login.Text(t, "refreshToken"), "401 invalid_api_key"},
			{"a forged token", altered(login.Text(t, "accessToken"), 2), "401 invalid_token"},
			{"an unknown key", "sk_test_" + strings.Repeat("x", 43), "401 invalid_api_key"},
			{"a publishable key", w.victim.Sandbox.Publishable, "403 key_kind_not_allowed"},
			{"a production publishable key", w.victim.Live.Publishable, "403 key_kind_not_allowed"},
			{"an expired token", w.expired, "401 token_expired"},
		} {
			before := rows(t, s, w.victim)
			for _, p := range steps(t, s.Spec) {
				kind := strings.HasPrefix(by.want, "403")
				if slices.Contains(noKey, p.name) || kind && slices.Contains(anyKey, p.name) {
					continue
				}
				w.try(t, by.who, w.victim.As(by.credential), p, w.ids, by.want)
			}
			for _, difference := range changed(before, rows(t, s, w.victim)) {
				t.Errorf("%s changed the victim's %s", by.who, difference)
			}
		}
	})
}

// A key of the whole merchant reaches a shop only if the request names the shop.
func TestWalkWithAWholeMerchantsKey(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		w := newWalk(t, s)
		whole := w.victim.Whole(t, false)
		before := rows(t, s, w.victim)
		for _, p := range steps(t, s.Spec) {
			response, _ := s.Spec.Node([]string{"paths", p.template, strings.ToLower(p.method), "responses", "401"})
			if ref, ok := response["$ref"].(string); ok {
				response, _ = s.Spec.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
			}
			codes, _ := response["x-error-codes"].([]any)
			if slices.Contains(noKey, p.name) || !slices.Contains(codes, any("shop_required")) {
				continue
			}
			w.try(t, "the whole merchant", whole, p, w.ids, "401 shop_required")
			if p.method == http.MethodPost && slices.Contains(properties(s.Spec, bodySchema(s.Spec, p)), "shopId") {
				stranger := s.NewShop(t)
				p.body["shopId"] = stranger.Shop.ID
				w.try(t, "the whole merchant, naming another's shop", whole, p, w.ids, "403 forbidden")
				delete(p.body, "shopId")
				p.body["merchantId"] = stranger.Merchant.ID
				w.try(t, "the whole merchant, naming another", whole, p, w.ids, "403 forbidden")
			}
		}
		for _, difference := range changed(before, rows(t, s, w.victim)) {
			t.Errorf("a key that names no shop changed the victim's %s", difference)
		}
	})
}

func bodySchema(s *harness.Spec, p step) any {
	node, _ := s.Node([]string{"paths", p.template, strings.ToLower(p.method), "requestBody", "content", "application/json"})
	return node["schema"]
}

// changed lists the rows that differ: those that are gone and those that are new.
func changed(before, after map[string]bool) (list []string) {
	for row := range before {
		if !after[row] {
			list = append(list, fmt.Sprintf("data: this row is gone: %s", row))
		}
	}
	for row := range after {
		if !before[row] {
			list = append(list, fmt.Sprintf("data: this row is new: %s", row))
		}
	}
	return list
}
