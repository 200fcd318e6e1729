package main

import (
	"context"

	"github.com/cascadapay/cascada/internal/app"
	appbooks "github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/cli/accounts"
	"github.com/cascadapay/cascada/internal/cli/claims"
	"github.com/cascadapay/cascada/internal/cli/merchants"
	"github.com/cascadapay/cascada/internal/cli/payments"
	"github.com/cascadapay/cascada/internal/cli/payouts"
	"github.com/cascadapay/cascada/internal/cli/people"
	"github.com/cascadapay/cascada/internal/cli/plans"
	"github.com/cascadapay/cascada/internal/cli/rates"
	"github.com/cascadapay/cascada/internal/cli/routing"
	"github.com/cascadapay/cascada/internal/cli/settlements"
	"github.com/cascadapay/cascada/internal/daemon"
	payrates "github.com/cascadapay/cascada/internal/pay/rates"
)

// configOf is a command's configuration as that of a service.
func configOf(c cli.Config) daemon.Config {
	return daemon.Config{
		Database: c.Database, MasterKey: c.Keys, MasterKeyFile: c.File, Existing: c.Existing, Migrate: c.Migrate, Migrations: c.Migrations,
		Operator: c.Operator, Log: c.Log, PublicURL: c.PublicURL, Routing: c.Routing, FX: fxOf(c.Rates), Adapters: c.Adapters,
	}
}

func fxOf(l payrates.Limits) daemon.FX {
	return daemon.FX{StaleAfter: l.StaleAfter, MaxAge: l.MaxAge, MaxJump: int(l.MaxJumpBps / 100)}
}

// open opens a command's database for the operator who runs the command (OPR-1).
//
// Errors: invalid_token, forbidden.
func open(ctx context.Context, c cli.Config) (*app.App, error) {
	a, err := daemon.Open(ctx, configOf(c))
	if err != nil || c.Token == "" {
		return a, err
	}
	o, err := a.Operators.Authenticate(ctx, c.Token)
	if err == nil {
		err = o.Role.Check(c.Right)
	}
	if err != nil {
		a.Close()
		return nil, err
	}
	a.Operator = o.Name
	return a, nil
}

// openBooks opens the database of a command that only reads it.
func openBooks(ctx context.Context, c cli.Config) (*appbooks.Books, error) {
	return daemon.OpenBooks(ctx, configOf(c))
}

// opening returns what opens a database for a package of commands, of which each gets the use cases that it calls.
func opening[Uses any](of func(*app.App) Uses) cli.Opener[Uses] {
	return func(ctx context.Context, c cli.Config) (uses Uses, err error) {
		a, err := open(ctx, c)
		if err != nil {
			return uses, err
		}
		return of(a), nil
	}
}

// openers open a database for each package of commands. kong gives them to Run by their types.
func openers() []any {
	return []any{
		cli.Opener[*app.App](open), cli.Opener[*appbooks.Books](openBooks),
		opening(func(a *app.App) accounts.Uses {
			return accounts.Uses{Base: a.Base, Close: a.Close, Accounts: a.Accounts, Notices: a.Notices, Providers: a.Providers}
		}),
		opening(func(a *app.App) claims.Uses {
			return claims.Uses{Base: a.Base, Close: a.Close, Claims: a.Claims, ClaimLists: a.ClaimLists}
		}),
		opening(func(a *app.App) merchants.Uses {
			return merchants.Uses{
				Base: a.Base, Close: a.Close, Leaving: a.Leaving, Onboarding: a.Onboarding, Plans: a.Plans, Sandbox: a.Sandbox, Verifications: a.Verifications,
			}
		}),
		opening(func(a *app.App) payments.Uses {
			return payments.Uses{Base: a.Base, Close: a.Close, Payments: a.Payments, Settlements: a.Settlements, Story: a.Story}
		}),
		opening(func(a *app.App) payouts.Uses {
			return payouts.Uses{Base: a.Base, Close: a.Close, Batches: a.Batches, Floats: a.Floats, Payouts: a.Payouts}
		}),
		opening(func(a *app.App) people.Uses {
			return people.Uses{
				Base: a.Base, Close: a.Close, Access: a.Access, Keys: a.Keys, Links: a.Links, Operators: a.Operators,
				People: a.People, Privacy: a.Privacy, Secrets: a.Secrets, Team: a.Team,
			}
		}),
		opening(func(a *app.App) plans.Uses {
			return plans.Uses{Base: a.Base, Close: a.Close, Onboarding: a.Onboarding, Plans: a.Plans}
		}),
		opening(func(a *app.App) rates.Uses { return rates.Uses{Base: a.Base, Close: a.Close, Rates: a.Rates} }),
		opening(func(a *app.App) routing.Uses {
			return routing.Uses{Base: a.Base, Close: a.Close, Payouts: a.Payouts, Rules: a.Rules}
		}),
		opening(func(a *app.App) settlements.Uses {
			return settlements.Uses{Base: a.Base, Close: a.Close, Adjustments: a.Adjustments, Payouts: a.Payouts, Settlements: a.Settlements}
		}),
	}
}
