package providers

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/catalog"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/adapters"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// The sandbox lists its own methods, with filters. Production lists every rail that an adapter serves, and says that
// no provider can be reached by it.
func TestCatalogIsWhatCanBeCharged(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		r := o.Get(t, "/payment-methods").Want(t, http.StatusOK)
		for field, want := range map[string]string{
			"shop.id": o.Shop.ID, "shop.name": "Acme", "environment": "sandbox", "count": "5", "totalAvailable": "5", "routableCount": "5",
			"filters.country": "<nil>", "filters.channel": "<nil>", "filters.method": "<nil>", "methods.0.paymentMethodId": "sbx_pix",
			"methods.0.country": "BR", "methods.0.countryIso3": "BRA", "methods.0.channel": "ONLINE", "methods.0.routable": "true",
			"methods.3.channel": "CREDIT_CARD", "methods.4.channel": "CASH", "methods.4.method": "cash", "methods.4.unroutableReason": "<nil>",
		} {
			if got := r.Text(t, field); got != want {
				t.Errorf("%s is %s, want %s: %s", field, got, want, r)
			}
		}
		for query, want := range map[string]string{
			"country=MX": "2", "country=mex": "2", "country=MX&channel=CASH": "1", "channel=ONLINE": "3", "method=pix": "1", "method=oxxo": "0", "country=FR": "0",
		} {
			r := o.Get(t, "/payment-methods?"+query).Want(t, http.StatusOK)
			if r.Text(t, "count") != want || r.Text(t, "totalAvailable") != "5" || r.Text(t, "routableCount") != want {
				t.Errorf("%s: want %s of 5: %s", query, want, r)
			}
		}
		r = o.Get(t, "/payment-methods?country=mx&channel=CASH&method=cash").Want(t, http.StatusOK)
		if r.Text(t, "filters.country") != "MEX" || r.Text(t, "filters.channel") != "CASH" || r.Text(t, "filters.method") != "cash" {
			t.Errorf("the reply does not show the filters: %s", r)
		}
		o.Get(t, "/payment-methods?country=xx").Refused(t, "400 invalid_request invalid_request_error param=country issues=country")
		o.Get(t, "/payment-methods?channel=online").Refused(t, "400 invalid_request invalid_request_error param=channel issues=channel")
		o.Get(t, "/payment-methods?country=xx&channel=x").Refused(t, "400 invalid_request invalid_request_error param=channel issues=channel,country")

		live := o.Production().Get(t, "/payment-methods").Want(t, http.StatusOK)
		rows, _ := live.At(t, "methods")
		seen := map[string]bool{}
		for _, row := range rows.([]any) {
			method := row.(map[string]any)
			id := fmt.Sprint(method["paymentMethodId"])
			if len(id) != 4 || id < "1001" || seen[id] || method["routable"] != false || method["unroutableReason"] == nil {
				t.Errorf("want a unique id of four digits, and not routable without a provider: %v", method)
			}
			seen[id] = true
		}
		adapted := map[string]bool{}
		for _, a := range adapters.All() {
			for _, rail := range a.Rails {
				adapted[rail] = a.Open != nil
			}
		}
		want := 0
		for _, r := range catalog.Rails() {
			if adapted[r.Key] {
				want++
			}
		}
		if n := fmt.Sprint(want); live.Text(t, "routableCount") != "0" || live.Text(t, "count") != n || live.Text(t, "totalAvailable") != n || len(seen) != want {
			t.Errorf("in production %s of %s methods of %s are routable, want 0 of %d", live.Text(t, "routableCount"), live.Text(t, "count"), live.Text(t, "totalAvailable"), want)
		}
	})
}

// A rail that no adapter serves is in no list of production, but keeps its id: a payment by it is refused as one that no account
// serves. It appears while an account serves it, as one does that was opened when an adapter served it.
func TestMethodWithoutAnAdapterIsHidden(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		configure := func(rails ...string) func(*daemon.Config) {
			return func(c *daemon.Config) {
				adapter := providertest.Plain()
				adapter.Rails = rails
				c.Adapters, c.FX = []provider.Adapter{adapter}, daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
			}
		}
		s := harness.StartWith(t, database, &harness.Clock{}, configure("pix.BRA", "bank.pse.COL"))
		s.Rate(t, "BRL 5.4", "COP 4120.5")
		o := s.NewShop(t)
		live := o.Production()
		// list returns the names in Colombia with routable, the number of all, and the id of PSE.
		list := func() (names, total, pse string) {
			r := live.Get(t, "/payment-methods?country=CO").Want(t, http.StatusOK)
			rows, _ := r.At(t, "methods")
			for _, row := range rows.([]any) {
				method := row.(map[string]any)
				names += fmt.Sprint(method["name"], " ", method["routable"], ";")
				pse = fmt.Sprint(method["paymentMethodId"])
			}
			return names, r.Text(t, "totalAvailable"), pse
		}
		names, total, pse := list()
		if names != "PSE false;" || total != "2" {
			t.Fatalf("without an account, %s methods are %q, want 2 and PSE alone in Colombia", total, names)
		}
		order := `{"amount":25,"paymentMethodId":"` + pse + `","userEmail":"ana@shop.example","userName":"Ana Gil","documentId":"1020304050"}`
		live.Post(t, "/payments", order).Refused(t, noProvider)
		u := providertest.NewUpstream(t, "key-1")
		u.Next("open")
		s.OpenAccount(t, "bank", u, func(n *accounts.NewAccount) { n.Rails = []string{"bank.pse.COL"} })
		if names, _, _ := list(); names != "PSE true;" {
			t.Errorf("with an account, the methods are %q", names)
		}
		// The catalog's first bank transfer of Colombia is Bre-B, which nothing serves.
		bySlug := `{"amount":25,"paymentMethod":"bank_transfer","country":"CO","userEmail":"ana@shop.example","userName":"Ana Gil","documentId":"1020304050"}`
		if got := live.Post(t, "/payments", bySlug).Want(t, http.StatusCreated).Text(t, "paymentMethodId"); got != pse {
			t.Errorf("a payment by the method's name is over %s, want %s", got, pse)
		}
		s.End(t)
		s = harness.StartWith(t, database, s.Clock, configure("pix.BRA"))
		o.Instance = s
		live = o.Production()
		if names, total, id := list(); names != "PSE true;" || total != "2" || id != pse {
			t.Errorf("without an adapter but with an account, %s methods are %q with id %s, want 2 and PSE with id %s", total, names, id, pse)
		}
		_, err := s.App.Accounts.Enable(ctx, s.App.Self(), "bank", false)
		harness.Must(t, err)
		if names, total, _ := list(); names != "" || total != "1" {
			t.Errorf("without an adapter or account, %s methods are %q, want 1 and none in Colombia", total, names)
		}
		live.Post(t, "/payments", order).Refused(t, noProvider)
	})
}
