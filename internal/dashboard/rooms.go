package dashboard

import (
	"github.com/cascadapay/cascada/internal/dashboard/account"
	"github.com/cascadapay/cascada/internal/dashboard/analytics"
	"github.com/cascadapay/cascada/internal/dashboard/claims"
	"github.com/cascadapay/cascada/internal/dashboard/console"
	"github.com/cascadapay/cascada/internal/dashboard/console/accounts"
	"github.com/cascadapay/cascada/internal/dashboard/console/books"
	"github.com/cascadapay/cascada/internal/dashboard/console/decisions"
	"github.com/cascadapay/cascada/internal/dashboard/console/machine"
	consolepayouts "github.com/cascadapay/cascada/internal/dashboard/console/payouts"
	"github.com/cascadapay/cascada/internal/dashboard/console/plans"
	"github.com/cascadapay/cascada/internal/dashboard/console/routing"
	"github.com/cascadapay/cascada/internal/dashboard/developers"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/dashboard/merchants"
	"github.com/cascadapay/cascada/internal/dashboard/payments"
	"github.com/cascadapay/cascada/internal/dashboard/payouts"
	"github.com/cascadapay/cascada/internal/dashboard/settlements"
	"github.com/cascadapay/cascada/internal/dashboard/webhooks"
)

// register adds each room's pages to the site, with the use cases that they call.
func register(site *frame.Site, c Config) error {
	for _, room := range append(shopRooms(site, c), consoleRooms(site, c)...) {
		if err := room(); err != nil {
			return err
		}
	}
	return nil
}

// shopRooms are the rooms of merchants' staff.
func shopRooms(site *frame.Site, c Config) []func() error {
	a := c.App
	return []func() error{
		func() error {
			return account.Register(site, account.Uses{
				Base: a.Base, People: a.People, Factors: a.Factors, Links: a.Links, Passkeys: a.Passkeys,
				Company: a.Company,
			})
		},
		func() error {
			return analytics.Register(site, analytics.Uses{
				Base: a.Base, Analytics: a.Analytics,
			})
		},
		func() error {
			return claims.Register(site, claims.Uses{
				Base: a.Base, Claims: a.Claims, ClaimLists: a.ClaimLists,
			})
		},
		func() error {
			return developers.Register(site, developers.Uses{
				Base: a.Base, Keys: a.Keys, Sandbox: a.Sandbox, Requests: a.Requests,
			})
		},
		func() error {
			return payouts.Register(site, payouts.Uses{
				Base: a.Base, Plans: a.Plans, Settlements: a.Settlements, Wallets: a.Wallets, Payouts: a.Payouts,
			})
		},
		func() error {
			return settlements.Register(site, settlements.Uses{
				Base: a.Base, Plans: a.Plans, Settlements: a.Settlements,
			})
		},
		func() error {
			return payments.Register(site, payments.Uses{
				Base: a.Base, Rates: a.Rates, Providers: a.Providers, Methods: a.Methods, Cascade: a.Cascade,
				Payments: a.Payments, Sessions: a.Sessions, PaymentLinks: a.PaymentLinks, Claims: a.Claims, Webhooks: a.Webhooks, Events: a.Events,
				Settlements: a.Settlements, Payouts: a.Payouts, Mails: a.Mails, Team: a.Team, Sandbox: a.Sandbox,
			})
		},
		func() error {
			return merchants.Register(site, merchants.Uses{
				Base: a.Base, Plans: a.Plans, Payouts: a.Payouts, Service: a, Keys: a.Keys, Onboarding: a.Onboarding, Leaving: a.Leaving, Links: a.Links, Team: a.Team,
			}, c.Preview)
		},
		func() error {
			return webhooks.Register(site, webhooks.Uses{
				Base: a.Base, Webhooks: a.Webhooks, Events: a.Events, Replays: a.Replays,
			})
		},
	}
}

// consoleRooms are the rooms of operators.
func consoleRooms(site *frame.Site, c Config) []func() error {
	a := c.App
	return []func() error{
		func() error {
			return console.Register(site, console.Uses{
				Base: a.Base, Plans: a.Plans, Service: a, Operators: a.Operators, Onboarding: a.Onboarding, Leaving: a.Leaving, Rates: a.Rates,
				Providers: a.Providers, Payments: a.Payments, Claims: a.Claims, Notices: a.Notices,
				Adjustments: a.Adjustments, Payouts: a.Payouts, Verifications: a.Verifications, People: a.People,
				Links: a.Links, Team: a.Team,
			})
		},
		func() error {
			return accounts.Register(site, accounts.Uses{
				Base: a.Base, Providers: a.Providers, Accounts: a.Accounts, Adapters: a.Config.Adapters,
			})
		},
		func() error {
			return books.Register(site, books.Uses{
				Base: a.Base, Service: a, Rates: a.Rates, Providers: a.Providers, Reconciliation: a.Reconciliation,
				Mails: a.Mails, Checks: a.Checks,
			})
		},
		func() error {
			return decisions.Register(site, decisions.Uses{
				Base: a.Base, Service: a, Providers: a.Providers, Rules: a.Rules, Payments: a.Payments, Claims: a.Claims,
				Notices: a.Notices, Adjustments: a.Adjustments, Payouts: a.Payouts, Verifications: a.Verifications,
			})
		},
		func() error {
			return machine.Register(site, machine.Uses{
				Base: a.Base, Service: a,
			}, c.Loops)
		},
		func() error {
			return consolepayouts.Register(site, consolepayouts.Uses{
				Base: a.Base, Providers: a.Providers, Payouts: a.Payouts, Floats: a.Floats, Batches: a.Batches,
			})
		},
		func() error {
			return plans.Register(site, plans.Uses{Base: a.Base, Plans: a.Plans, Onboarding: a.Onboarding})
		},
		func() error {
			return routing.Register(site, routing.Uses{
				Base: a.Base, Providers: a.Providers, Rules: a.Rules, Rehearsals: a.Rehearsals,
			})
		},
	}
}
