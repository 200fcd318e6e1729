package providers

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// The sandbox lists its own methods, with filters. Production lists every rail, and says that no provider can be
// reached by it.
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
		if live.Text(t, "routableCount") != "0" || live.Text(t, "count") != fmt.Sprint(len(seen)) || len(seen) == 0 {
			t.Errorf("in production %s of %s methods are routable, want 0 of %d", live.Text(t, "routableCount"), live.Text(t, "count"), len(seen))
		}
	})
}
