package daemon

import (
	"github.com/cascadapay/cascada/internal/admin"
	"github.com/cascadapay/cascada/internal/api"
	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/overview"
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
		PaymentLinks:  a.PaymentLinks,
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
		Requests:      a.Requests,
		RateLimits:    a.Config.FX.Limits,
	}
}

// AdminUses are the use cases of a service that package admin calls.
func AdminUses(a *app.App) admin.Uses {
	return admin.Uses{
		Base:           a.Base,
		Access:         a.Access,
		Accounts:       a.Accounts,
		Adapters:       a.Config.Adapters,
		Adjustments:    a.Adjustments,
		Batches:        a.Batches,
		Checks:         a.Checks,
		Claims:         a.Claims,
		Floats:         a.Floats,
		Keys:           a.Keys,
		Leaving:        a.Leaving,
		Links:          a.Links,
		Lists:          overview.New(a.Base),
		Notices:        a.Notices,
		Onboarding:     a.Onboarding,
		Operators:      a.Operators,
		Payments:       a.Payments,
		Payouts:        a.Payouts,
		People:         a.People,
		Plans:          a.Plans,
		Privacy:        a.Privacy,
		Providers:      a.Providers,
		Rates:          a.Rates,
		Reconciliation: a.Reconciliation,
		Rules:          a.Rules,
		Sandbox:        a.Sandbox,
		Settlements:    a.Settlements,
		Stories:        a.Story,
		Team:           a.Team,
		Verifications:  a.Verifications,
	}
}

// CheckoutUses are the use cases of a service that package checkout calls.
func CheckoutUses(a *app.App) checkout.Uses {
	return checkout.Uses{
		Base:         a.Base,
		Onboarding:   a.Onboarding,
		Rates:        a.Rates,
		Sessions:     a.Sessions,
		PaymentLinks: a.PaymentLinks,
		Sandbox:      a.Sandbox,
	}
}
