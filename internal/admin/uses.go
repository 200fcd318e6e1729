package admin

import (
	"context"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/leaving"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/notices"
	"github.com/cascadapay/cascada/internal/app/overview"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/app/verification"
	"github.com/cascadapay/cascada/internal/provider"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	*base.Base
	Access         *auth.Access
	Accounts       *accounts.Accounts
	Adapters       []provider.Adapter
	Adjustments    *settlements.Adjustments
	Batches        *payouts.Batches
	Checks         *books.Checks
	Claims         *claims.Claims
	Floats         *payouts.Floats
	Keys           *auth.Keys
	Leaving        *leaving.Leaving
	Links          *people.Links
	Lists          *overview.Lists
	Notices        *notices.Notices
	Onboarding     *merchants.Onboarding
	Operators      *auth.Operators
	Payments       *payments.Payments
	Payouts        *payouts.Payouts
	People         *people.People
	Plans          *plans.Plans
	Privacy        *privacy.Privacy
	Providers      *accounts.Providers
	Rates          *rates.Rates
	Reconciliation *reconciliation.Reconciliation
	Rules          *routing.Rules
	Sandbox        *sandbox.Sandbox
	Settlements    *settlements.Settlements
	Stories        func(ctx context.Context, id string) (string, error) // of payments, withdrawals and claims
	Team           *people.Team
	Verifications  *verification.Verifications
}
