package merchants

import (
	"context"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/view"
)

type meOut struct{ Body view.Profile }

func (a *api) me(ctx context.Context, caller call.Caller, _ *struct{}) (*meOut, error) {
	merchant, _, err := a.uses.Tenant(ctx, caller.Principal)
	if err != nil {
		return nil, err
	}
	balances, err := a.uses.Settlements.Balances(ctx, caller.Scope)
	if err != nil {
		return nil, err
	}
	terms, err := a.uses.Plans.Terms(ctx, caller.Scope, merchant)
	if err != nil {
		return nil, err
	}
	plan, _, _ := strings.Cut(terms.Plan, "/")
	rails, _ := a.uses.Methods.RailList(caller.Scope, methods.Filter{})
	methods := []string{}
	for _, r := range rails {
		if r.Unroutable == "" && !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
	}
	return &meOut{view.Profile{
		ID: merchant.ID, Name: merchant.Name, Email: merchant.Email, Industry: merchant.Industry, Tier: merchant.Tier,
		TrustScore: merchant.TrustScore, Plan: plan, Environment: caller.Environment(),
		Capabilities: view.Capabilities{Checkout: true, DirectCharge: true, Refunds: true, Webhooks: true, Crypto: []string{}, Methods: methods},
		Balance:      view.NewBuckets(balances),
	}}, nil
}
