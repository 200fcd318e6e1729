package methods

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/api/call"
	appmethods "github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

type methodsIn struct {
	call.Catalog
	Channel wire.Word[accounts.Channel] `query:"channel"`
}

func (in *methodsIn) filter() appmethods.Filter {
	return appmethods.Filter{Country: in.Alpha3(), Channel: accounts.Channel(in.Channel), Method: in.Method}
}

type methodsOut struct {
	Body struct {
		Shop        view.Named            `json:"shop"`
		Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
		Filters     struct {
			Country *string `json:"country" doc:"ISO 3166 alpha-3"`
			Channel *string `json:"channel"`
			Method  *string `json:"method"`
		} `json:"filters"`
		Count          int           `json:"count"`
		TotalAvailable int           `json:"totalAvailable"`
		RoutableCount  int           `json:"routableCount"`
		Methods        []view.Method `json:"methods"`
	}
}

func (a *api) routes() {
	call.Handle(a.API, huma.Operation{OperationID: "listPaymentMethods", Method: http.MethodGet, Path: "/payment-methods", Tags: []string{"Catalog"},
		Summary: "List the payment methods", Metadata: map[string]any{call.BrowserKey: true}}, call.AnyKey, a.methods)
}

func (a *api) methods(ctx context.Context, caller call.Caller, in *methodsIn) (*methodsOut, error) {
	if caller.Shop == "" {
		return nil, message.Refusal(problem.ShopRequired, "these credentials are the whole merchant's: name the shop with ?shopId=shp_… in the address; GET /shops lists them")
	}
	merchant, shop, err := a.uses.Tenant(ctx, caller.Principal)
	if err != nil {
		return nil, err
	}
	rails, total := a.uses.Methods.RailList(caller.Scope, in.filter())
	out := &methodsOut{}
	b := &out.Body
	b.Shop, b.Environment = view.Named{ID: shop.ID, Name: shop.Name}, caller.Environment()
	b.Filters.Country, b.Filters.Channel, b.Filters.Method = optional(in.Alpha3()), optional(string(in.Channel)), optional(in.Method)
	b.Count, b.TotalAvailable, b.Methods = len(rails), total, make([]view.Method, 0, len(rails))
	usd := a.uses.Rates.USD(caller.Live)
	for _, r := range rails {
		if r.Unroutable == "" {
			b.RoutableCount++
		}
		country, _ := geo.Parse(r.Country)
		m := view.NewMethod(r.Rail, country.Alpha2, r.Unroutable, r.Refundable, usd)
		if caller.Kind != merchants.Publishable { // shoppers can read such a key: what the merchant agreed is not theirs to know
			terms, err := a.uses.Plans.For(ctx, caller.Scope, merchant, r.Rail)
			if err != nil {
				return nil, err
			}
			m.Fee = view.NewMethodFee(terms, r.Rail)
		}
		if m.Routable {
			m.Installments = view.NewMethodInstallments(a.uses.Methods.Offered(caller.Scope, merchant.Installments, r.Rail), a.uses.Methods.Steps(caller.Scope, merchant.Installments, r.Rail))
		}
		b.Methods = append(b.Methods, m)
	}
	return out, nil
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
