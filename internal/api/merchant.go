package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

type meOut struct{ Body view.Profile }

type balanceOut struct{ Body view.Balance }

type methodsIn struct {
	Catalog
	Channel wire.Word[accounts.Channel] `query:"channel"`
}

func (in *methodsIn) filter() methods.Filter {
	return methods.Filter{Country: in.alpha3, Channel: accounts.Channel(in.Channel), Method: in.Method}
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

func (a *API) merchantRoutes() {
	tags := []string{"Merchant"}
	handle(a, huma.Operation{OperationID: "getMe", Method: http.MethodGet, Path: "/me", Tags: tags, Summary: "Read the merchant profile"}, toRead, a.me)
	handle(a, huma.Operation{OperationID: "getBalance", Method: http.MethodGet, Path: "/me/balance", Tags: tags, Summary: "Read the balance"}, toRead, a.balance)
	handle(a, huma.Operation{OperationID: "listPaymentMethods", Method: http.MethodGet, Path: "/payment-methods", Tags: []string{"Catalog"},
		Summary: "List the payment methods", Metadata: map[string]any{browserKey: true}}, anyKey, a.methods)
}

func (a *API) me(ctx context.Context, call Call, _ *struct{}) (*meOut, error) {
	merchant, _, err := a.uses.Tenant(ctx, call.Principal)
	if err != nil {
		return nil, err
	}
	balances, err := a.uses.Settlements.Balances(ctx, call.Scope)
	if err != nil {
		return nil, err
	}
	terms, err := a.uses.Plans.Terms(ctx, call.Scope, merchant)
	if err != nil {
		return nil, err
	}
	plan, _, _ := strings.Cut(terms.Plan, "/")
	rails, _ := a.uses.Methods.RailList(call.Scope, methods.Filter{})
	methods := []string{}
	for _, r := range rails {
		if r.Unroutable == "" && !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
	}
	return &meOut{view.Profile{
		ID: merchant.ID, Name: merchant.Name, Email: merchant.Email, Industry: merchant.Industry, Tier: merchant.Tier,
		TrustScore: merchant.TrustScore, Plan: plan, Environment: call.Environment(),
		Capabilities: view.Capabilities{Checkout: true, DirectCharge: true, Refunds: true, Webhooks: true, Crypto: []string{}, Methods: methods},
		Balance:      view.NewBuckets(balances),
	}}, nil
}

func (a *API) balance(ctx context.Context, call Call, _ *struct{}) (*balanceOut, error) {
	merchant, _, err := a.uses.Tenant(ctx, call.Principal)
	if err != nil {
		return nil, err
	}
	account, err := a.uses.Settlements.Balance(ctx, call.Scope)
	if err != nil {
		return nil, err
	}
	terms, err := a.uses.Plans.Terms(ctx, call.Scope, merchant)
	if err != nil {
		return nil, err
	}
	agreed, err := payouts.Agreed(ctx, a.uses.Payouts, call.Scope)
	if err != nil {
		return nil, err
	}
	withdrawal, tax := view.NewWithdrawalFee(terms)
	warnings := view.NewLedgerWarnings(account.Balances, account.Mismatched.Count, account.Mismatched.USD, account.Mismatched.Since)
	warnings = append(warnings, view.NewDrift(account.Drift.Count, account.Drift.USD, account.Drift.Since)...)
	stale, err := a.uses.Rates.StaleRates(ctx, call.Scope)
	if err != nil {
		return nil, err
	}
	warnings = append(warnings, view.NewStaleRates(stale, a.uses.RateLimits)...)
	return &balanceOut{view.Balance{
		MerchantID: merchant.ID, Currency: "USD", Balance: view.NewBuckets(account.Balances), LedgerWarnings: warnings,
		Tier: merchant.Tier, TrustScore: merchant.TrustScore, RollingReservePct: view.Percent(terms.ReserveBps),
		WithdrawalFeeUSD: withdrawal, WithdrawalFeeTax: tax, Payouts: view.NewPayoutTerms(agreed), RefundFees: terms.RefundFees, FeeSummary: view.NewFeeSummary(account.Period),
		Movements: view.NewMovements(account.Movements), ReserveSchedule: view.NewReleases(account.Releases, terms.ReserveBps, account.Now),
	}}, nil
}

func (a *API) methods(ctx context.Context, call Call, in *methodsIn) (*methodsOut, error) {
	if call.Shop == "" {
		return nil, message.Refusal(problem.ShopRequired, "these credentials are the whole merchant's: name the shop with ?shopId=shp_… in the address; GET /shops lists them")
	}
	merchant, shop, err := a.uses.Tenant(ctx, call.Principal)
	if err != nil {
		return nil, err
	}
	rails, total := a.uses.Methods.RailList(call.Scope, in.filter())
	out := &methodsOut{}
	b := &out.Body
	b.Shop, b.Environment = view.Named{ID: shop.ID, Name: shop.Name}, call.Environment()
	b.Filters.Country, b.Filters.Channel, b.Filters.Method = optional(in.alpha3), optional(string(in.Channel)), optional(in.Method)
	b.Count, b.TotalAvailable, b.Methods = len(rails), total, make([]view.Method, 0, len(rails))
	usd := a.uses.Rates.USD(call.Live)
	for _, r := range rails {
		if r.Unroutable == "" {
			b.RoutableCount++
		}
		country, _ := geo.Parse(r.Country)
		m := view.NewMethod(r.Rail, country.Alpha2, r.Unroutable, r.Refundable, usd)
		if call.Kind != merchants.Publishable { // shoppers can read such a key: what the merchant agreed is not theirs to know
			terms, err := a.uses.Plans.For(ctx, call.Scope, merchant, r.Rail)
			if err != nil {
				return nil, err
			}
			m.Fee = view.NewMethodFee(terms, r.Rail)
		}
		if m.Routable {
			m.Installments = view.NewMethodInstallments(a.uses.Methods.Offered(call.Scope, merchant.Installments, r.Rail), a.uses.Methods.Steps(call.Scope, merchant.Installments, r.Rail))
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
