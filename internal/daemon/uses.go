package daemon

import (
	"github.com/cascadapay/cascada/internal/admin"
	"github.com/cascadapay/cascada/internal/api"
	"github.com/cascadapay/cascada/internal/api/auth"
	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/api/claims"
	"github.com/cascadapay/cascada/internal/api/merchants"
	apimethods "github.com/cascadapay/cascada/internal/api/methods"
	"github.com/cascadapay/cascada/internal/api/notices"
	"github.com/cascadapay/cascada/internal/api/payments"
	"github.com/cascadapay/cascada/internal/api/payouts"
	"github.com/cascadapay/cascada/internal/api/sandbox"
	"github.com/cascadapay/cascada/internal/api/settlements"
	"github.com/cascadapay/cascada/internal/api/verification"
	"github.com/cascadapay/cascada/internal/api/webhooks"
	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/overview"
	"github.com/cascadapay/cascada/internal/app/rates"
	appsandbox "github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/checkout"
)

// offered is what the merchants' API checks requests against.
type offered struct {
	*rates.Rates
	*methods.Methods
}

// SimulatedActions are what a new payment may ask for, in a sandbox.
func (offered) SimulatedActions() []string {
	var names []string
	for _, action := range appsandbox.HeaderActions() {
		names = append(names, string(action))
	}
	return names
}

// APIUses are the use cases of a service that package api calls.
func APIUses(a *app.App) api.Uses {
	return api.Uses{
		Call:      call.Uses{Base: a.Base, Access: a.Access, Offer: offered{a.Rates, a.Methods}},
		Auth:      auth.Uses{Base: a.Base, Access: a.Access},
		Claims:    claims.Uses{Base: a.Base, Claims: a.Claims},
		Merchants: merchants.Uses{Base: a.Base, Plans: a.Plans, Onboarding: a.Onboarding, Methods: a.Methods, Settlements: a.Settlements, Requests: a.Requests},
		Methods:   apimethods.Uses{Base: a.Base, Plans: a.Plans, Rates: a.Rates, Methods: a.Methods},
		Notices:   notices.Uses{Notices: a.Notices},
		Payments: payments.Uses{
			Base: a.Base, Cascade: a.Cascade, Payments: a.Payments, Sessions: a.Sessions, PaymentLinks: a.PaymentLinks,
		},
		Payouts: payouts.Uses{Wallets: a.Wallets, Payouts: a.Payouts},
		Sandbox: sandbox.Uses{Base: a.Base, Sandbox: a.Sandbox},
		Settlements: settlements.Uses{
			Base: a.Base, Plans: a.Plans, Rates: a.Rates, RateLimits: a.Config.FX.Limits, Settlements: a.Settlements, Payouts: a.Payouts,
		},
		Verification: verification.Uses{Verifications: a.Verifications},
		Webhooks:     webhooks.Uses{Webhooks: a.Webhooks, Events: a.Events, Replays: a.Replays},
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
