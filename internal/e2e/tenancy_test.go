package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/onboarding"
)

// fixtures makes what each id of a path names, by the path up to the id. An
// operation with an id that is not here fails the walk, so that nobody forgets
// to try it with another tenant's.
var fixtures = map[string]struct {
	make func(t *testing.T, o shop, ids map[string]string) string
	code string // of one that is not there
	wide bool   // belongs to the merchant: its other shops may see it
}{
	"/payments/{id}": {code: "transaction_not_found", make: func(t *testing.T, o shop, _ map[string]string) string {
		return o.create(t, `{"amount":10,"paymentMethodId":"sbx_pse","merchantOrderId":"order of `+o.Shop.ID+`","userEmail":"`+o.Shop.ID+`@shoppers.example"}`)
	}},
	"/claims/{id}": {code: "claim_not_found", make: func(t *testing.T, o shop, _ map[string]string) string {
		_, claim := o.dispute(t, false)
		return claim
	}},
	"/claims/{id}/evidence/{evidenceId}": {code: "not_found", make: func(t *testing.T, o shop, ids map[string]string) string {
		body := `{"kind":"delivery_proof","text":"words of ` + o.Shop.ID + `","file":{"name":"a.txt","contentType":"text/plain","content":"c2VjcmV0"}}`
		return o.post(t, "/claims/"+ids["/claims/{id}"]+"/evidence", body).want(t, http.StatusCreated).text(t, "evidence.0.id")
	}},
	"/settlements/{id}": {code: "settlement_not_found", wide: true, make: func(t *testing.T, o shop, _ map[string]string) string {
		id := ""
		o.settle(t, "a settlement is open", func() bool {
			r := o.get(t, "/settlements?status=open").want(t, http.StatusOK)
			found, ok := r.at(t, "data.0.id")
			id = fmt.Sprint(found)
			return ok
		})
		return id
	}},
	"/wallets/{id}": {code: "wallet_not_found", make: func(t *testing.T, o shop, _ map[string]string) string { return o.wallet(t) }},
	"/withdrawals/{id}": {code: "withdrawal_not_found", make: func(t *testing.T, o shop, _ map[string]string) string {
		o.fund(t, false, 100_00)
		id := o.withdraw(t, "50")
		o.clock.advance(5 * time.Second)
		o.payOut(t, id, "processing")
		o.clock.advance(15 * time.Second)
		o.payOut(t, id, "completed")
		return id
	}},
	"/kyc/{id}":         {code: "not_found", wide: true, make: verified},
	"/sandbox/kyc/{id}": {code: "not_found", wide: true, make: verified},
	"/webhooks/{id}": {code: "webhook_not_found", make: func(t *testing.T, o shop, _ map[string]string) string {
		return o.post(t, "/webhooks", `{"events":["payment.refunded"],"description":"hook of `+o.Shop.ID+`"}`).want(t, http.StatusCreated).text(t, "id")
	}},
	"/webhooks/{id}/deliveries/{deliveryId}": {code: "webhook_delivery_not_found", make: func(t *testing.T, o shop, ids map[string]string) string {
		o.fund(t, false, 100_00)
		o.simulate(t, o.create(t, card), "refunded").want(t, http.StatusOK)
		return subscribed{shop: o, id: ids["/webhooks/{id}"]}.last(t, "delivered").text(t, "id")
	}},
	"/webhooks/{id}/replays/{replayId}": {code: "not_found", make: func(t *testing.T, o shop, ids map[string]string) string {
		path := "/webhooks/" + ids["/webhooks/{id}"]
		from := o.clock.now().UTC().Add(-time.Hour).Format(time.RFC3339)
		id := o.post(t, path+"/replay", `{"from":"`+from+`","types":["withdrawal.failed"]}`).want(t, http.StatusOK).text(t, "id")
		eventually(t, "the replay is done", func() bool { return o.get(t, path+"/replays/"+id).text(t, "status") == "done" })
		return id
	}},
	"/events/{id}": {code: "event_not_found", make: func(t *testing.T, o shop, _ map[string]string) string {
		o.create(t, card)
		return o.get(t, "/events").text(t, "data.0.id")
	}},
}

// verified begins the merchant's verification, or returns the one that is open.
func verified(t *testing.T, o shop, _ map[string]string) string {
	return o.post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).text(t, "verificationId")
}

// anyKey and noKey are the operations that a secret key is not asked for
// (AUTH-24).
var (
	anyKey = []string{"GET /ping", "GET /payment-methods"}
	noKey  = []string{"POST /auth/token", "POST /auth/refresh", "GET /checkout/sessions/{token}", "POST /checkout/sessions/{token}/select"}
)

// merchantWide are the lists of what the shops of a merchant share: the balance
// and what becomes of it.
var merchantWide = []string{"GET /me/balance", "GET /me/balance/movements", "GET /settlements"}

// ownIDs are properties of bodies that name nothing of a tenant's; those in
// bodyIDs name what the fixture of a path makes, and what names anything else
// fails the walk.
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
	search   string // the query
}

var pathParam = regexp.MustCompile(`\{\w+\}`)

// steps lists every operation of the document, with its example as the body.
func (s *spec) steps(t *testing.T) (all []step) {
	t.Helper()
	for _, template := range slices.Sorted(maps.Keys(s.paths)) {
		item := s.paths[template].(map[string]any)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			p := step{name: strings.ToUpper(method) + " " + template, method: strings.ToUpper(method), template: template}
			for _, at := range pathParam.FindAllStringIndex(template, -1) {
				p.params = append(p.params, canonical(template[:at[1]]))
			}
			if body, ok := at(item[method], "requestBody.content"); ok {
				m := media{node: body.(map[string]any)["application/json"].(map[string]any)}
				examples := s.examples(m)
				text, err := json.Marshal(examples[slices.Sorted(maps.Keys(examples))[0]])
				must(t, err)
				must(t, json.Unmarshal(text, &p.body))
				for _, property := range s.properties(m.node["schema"]) {
					fixture, known := bodyIDs[property]
					switch {
					case known:
						p.bodyIDs = append(p.bodyIDs, property)
						if _, ok := fixtures[fixture]; !ok {
							t.Errorf("%s names %s in its body, and fixtures has no line for %s", p.name, property, fixture)
						}
					case strings.HasSuffix(property, "Id") && !slices.Contains(ownIDs, property):
						t.Errorf("%s names %s in its body: say in bodyIDs or ownIDs what that is", p.name, property)
					}
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// properties lists the properties of a schema.
func (s *spec) properties(schema any) []string {
	node, _ := schema.(map[string]any)
	if ref, ok := node["$ref"].(string); ok {
		node, _ = s.node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
	}
	properties, _ := node["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// query asks a list for what is the victim's.
func (s *spec) query(p step, ids map[string]string, o shop) string {
	node, _ := s.node([]string{"paths", p.template, strings.ToLower(p.method)})
	values := url.Values{}
	for _, q := range node["parameters"].([]any) {
		switch name, _ := at(q, "name"); name {
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
		path = pathParam.ReplaceAllStringFunc(path, func(param string) string {
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
	must(t, err)
	return string(text)
}

// walk is the victim, what is the victim's, and who tries to reach it.
type walk struct {
	service *service
	victim  shop
	ids     map[string]string
	secrets []string // texts that nobody else may see
	expired string   // an access token of the victim's
}

func newWalk(t *testing.T, s *service) *walk {
	t.Helper()
	o, err := s.App.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{Name: "Victim SA", Email: "ops@victim.example"})
	must(t, err)
	w := &walk{service: s, victim: shop{Onboarded: o, service: s, credential: o.Sandbox.Secret}, ids: map[string]string{}}
	w.expired = w.victim.pair(t).text(t, "accessToken")
	s.clock.advance(16 * time.Minute)
	for _, path := range slices.Sorted(maps.Keys(fixtures)) { // a parent comes before its children
		w.ids[path] = fixtures[path].make(t, w.victim, w.ids)
	}
	w.secrets = append(slices.Collect(maps.Values(w.ids)), "order of "+o.Shop.ID, "hook of "+o.Shop.ID, "words of "+o.Shop.ID, o.Shop.ID, o.Shop.Slug)
	for _, p := range s.spec.steps(t) {
		for _, fixture := range p.params {
			if _, ok := fixtures[fixture]; !ok && !slices.Contains(noKey, p.name) {
				t.Errorf("%s has an id that fixtures knows nothing of: add a line for %s, so that another tenant's is tried", p.name, fixture)
			}
		}
	}
	return w
}

// try makes one call and fails the test unless the reply is the error, where
// one is wanted, and tells nothing of the victim.
func (w *walk) try(t *testing.T, who string, caller shop, p step, ids map[string]string, want string) {
	t.Helper()
	path, body := p.path(ids)+p.search, p.text(t)
	var header []string
	if p.body != nil {
		header = append(header, "Content-Type: application/json")
	}
	if caller.credential == "" {
		header = append(header, "Authorization: ")
	}
	r := caller.call(t, p.method, path, body, header...)
	if want != "" && (r.status < 400 || !strings.HasPrefix(r.problem(t), want+" ")) {
		t.Errorf("%s by %s: want %s, got %s", p.name, who, want, r)
	}
	for _, secret := range w.secrets {
		if strings.Contains(string(r.body), secret) {
			t.Errorf("%s by %s tells of %q: %s", p.name, who, secret, r)
		}
	}
}

// notFound is the error of a step whose first id is not the caller's.
func (p step) notFound(at int) string { return "404 " + fixtures[p.params[at]].code }

func TestWalkWithAnotherTenantsIDs(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		w := newWalk(t, s)
		stranger := s.shop(t)
		second := w.victim.sibling(t)
		for _, by := range []struct {
			who      string
			caller   shop
			merchant bool // of the victim's merchant
		}{
			{"another merchant", stranger, false},
			{"another merchant's production key", stranger.live(), false},
			{"the merchant's other shop", second, true},
			{"the shop's production key", w.victim.live(), true},
		} {
			own := map[string]string{}
			if !by.caller.isLive() {
				for _, path := range slices.Sorted(maps.Keys(fixtures)) {
					own[path] = fixtures[path].make(t, by.caller, own)
				}
			}
			before := s.rows(t, w.victim)
			for _, p := range s.spec.steps(t) {
				if slices.Contains(noKey, p.name) {
					continue
				}
				wide := by.merchant && !by.caller.isLive()
				switch {
				case len(p.params) > 0 && !(wide && fixtures[p.params[0]].wide):
					want := p.notFound(0)
					if by.caller.isLive() && refusesProduction(s.spec, p) {
						want = "" // either refusal will do
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
						fixture := fixtures[bodyIDs[property]]
						if wide && fixture.wide {
							continue
						}
						p.body[property] = w.ids[bodyIDs[property]]
						want := "404 " + fixture.code
						if by.caller.isLive() {
							want = "" // production may ask for more before it looks
						}
						w.try(t, by.who, by.caller, p, w.ids, want)
					}
				case !by.merchant:
					w.try(t, by.who, by.caller, p, w.ids, "")
				}
			}
			for _, difference := range changed(before, s.rows(t, w.victim)) {
				t.Errorf("%s changed the victim's %s", by.who, difference)
			}
		}
	})
}

// tryList reads a list. Who is of the same merchant may see the merchant, not
// what is the shop's.
func (w *walk) tryList(t *testing.T, who string, caller shop, p step, merchant bool) {
	t.Helper()
	kept := w.secrets
	defer func() { w.secrets = kept }()
	if !merchant {
		w.secrets = append(slices.Clone(kept), "Victim SA", "victim.example", w.victim.Merchant.ID)
	} else if caller.Shop.ID == w.victim.Shop.ID {
		w.secrets = slices.DeleteFunc(slices.Clone(kept), func(text string) bool { return text == w.victim.Shop.ID || text == w.victim.Shop.Slug })
	}
	w.try(t, who, caller, p, w.ids, "")
	if p.search = w.service.spec.query(p, w.ids, w.victim); p.search != "" {
		w.try(t, who, caller, p, w.ids, "")
	}
}

func (o shop) isLive() bool { return strings.Contains(o.credential, "_live_") }

// refusesProduction reports whether an operation is the sandbox's alone.
func refusesProduction(s *spec, p step) bool {
	response, _ := s.node([]string{"paths", p.template, strings.ToLower(p.method), "responses", "400"})
	if ref, ok := response["$ref"].(string); ok {
		response, _ = s.node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
	}
	codes, _ := response["x-error-codes"].([]any)
	return slices.Contains(codes, any("production_key_refused"))
}

func TestWalkWithEveryKindOfCredential(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		w := newWalk(t, s)
		login := w.victim.pair(t)
		for _, by := range []struct {
			who, credential, want string
		}{
			{"nobody", "", "401 missing_credentials"},
			{"a refresh token", login.text(t, "refreshToken"), "401 invalid_api_key"},
			{"a forged token", altered(login.text(t, "accessToken"), 2), "401 invalid_token"},
			{"an unknown key", "sk_test_" + strings.Repeat("x", 43), "401 invalid_api_key"},
			{"a publishable key", w.victim.Sandbox.Publishable, "403 key_kind_not_allowed"},
			{"a production publishable key", w.victim.Live.Publishable, "403 key_kind_not_allowed"},
			{"an expired token", w.expired, "401 token_expired"},
		} {
			before := s.rows(t, w.victim)
			for _, p := range s.spec.steps(t) {
				kind := strings.HasPrefix(by.want, "403")
				if slices.Contains(noKey, p.name) || kind && slices.Contains(anyKey, p.name) {
					continue
				}
				w.try(t, by.who, w.victim.as(by.credential), p, w.ids, by.want)
			}
			for _, difference := range changed(before, s.rows(t, w.victim)) {
				t.Errorf("%s changed the victim's %s", by.who, difference)
			}
		}
	})
}

// A key of the whole merchant reaches a shop only where it names it.
func TestWalkWithAWholeMerchantsKey(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		w := newWalk(t, s)
		whole := w.victim.whole(t, false)
		before := s.rows(t, w.victim)
		for _, p := range s.spec.steps(t) {
			response, _ := s.spec.node([]string{"paths", p.template, strings.ToLower(p.method), "responses", "401"})
			if ref, ok := response["$ref"].(string); ok {
				response, _ = s.spec.node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
			}
			codes, _ := response["x-error-codes"].([]any)
			if slices.Contains(noKey, p.name) || !slices.Contains(codes, any("shop_required")) {
				continue
			}
			w.try(t, "the whole merchant", whole, p, w.ids, "401 shop_required")
			if p.method == http.MethodPost && slices.Contains(s.spec.properties(bodySchema(s.spec, p)), "shopId") {
				stranger := s.shop(t)
				p.body["shopId"] = stranger.Shop.ID
				w.try(t, "the whole merchant, naming another's shop", whole, p, w.ids, "403 forbidden")
				delete(p.body, "shopId")
				p.body["merchantId"] = stranger.Merchant.ID
				w.try(t, "the whole merchant, naming another", whole, p, w.ids, "403 forbidden")
			}
		}
		for _, difference := range changed(before, s.rows(t, w.victim)) {
			t.Errorf("a key that names no shop changed the victim's %s", difference)
		}
	})
}

func bodySchema(s *spec, p step) any {
	node, _ := s.node([]string{"paths", p.template, strings.ToLower(p.method), "requestBody", "content", "application/json"})
	return node["schema"]
}

// changed lists the rows that are not in both.
func changed(before, after map[string]bool) (list []string) {
	for row := range before {
		if !after[row] {
			list = append(list, fmt.Sprintf("row, which was %s", row))
		}
	}
	for row := range after {
		if !before[row] {
			list = append(list, fmt.Sprintf("row, which is %s now", row))
		}
	}
	return list
}
