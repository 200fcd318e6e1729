package daemon

import (
	"github.com/cascadapay/cascada/internal/admin"
	"github.com/cascadapay/cascada/internal/api"
	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/checkout"
)

// APIUses are the use cases of a service that package api calls.
func APIUses(a *app.App) api.Uses {
	return api.Uses{
		Base:          a.Base,
		Access:        a.Access,
		Onboarding:    a.Onboarding,
		Rates:         a.Rates,
		Methods:       a.Methods,
		Cascade:       a.Cascade,
		Payments:      a.Payments,
		Sessions:      a.Sessions,
		Claims:        a.Claims,
		Notices:       a.Notices,
		Webhooks:      a.Webhooks,
		Events:        a.Events,
		Replays:       a.Replays,
		Settlements:   a.Settlements,
		Wallets:       a.Wallets,
		Payouts:       a.Payouts,
		Verifications: a.Verifications,
		Sandbox:       a.Sandbox,
		Plans:         a.Plans,
		RateLimits:    a.Config.FX.Limits,
	}
}

// AdminUses are the use cases of a service that package admin calls.
func AdminUses(a *app.App) admin.Uses {
	return admin.Uses{
		Base:        a.Base,
		Operators:   a.Operators,
		Onboarding:  a.Onboarding,
		Leaving:     a.Leaving,
		Plans:       a.Plans,
		Providers:   a.Providers,
		Rules:       a.Rules,
		Accounts:    a.Accounts,
		Payments:    a.Payments,
		Claims:      a.Claims,
		Adjustments: a.Adjustments,
		Payouts:     a.Payouts,
		Adapters:    a.Config.Adapters,
	}
}

// CheckoutUses are the use cases of a service that package checkout calls.
func CheckoutUses(a *app.App) checkout.Uses {
	return checkout.Uses{
		Base:       a.Base,
		Onboarding: a.Onboarding,
		Rates:      a.Rates,
		Sessions:   a.Sessions,
		Sandbox:    a.Sandbox,
	}
}
