package console

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/leaving"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/notices"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/app/verification"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/store"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Plans *plans.Plans
	Service
	Operators     *auth.Operators
	Onboarding    *merchants.Onboarding
	Leaving       *leaving.Leaving
	Rates         *rates.Rates
	Providers     *accounts.Providers
	Payments      *payments.Payments
	Claims        *claims.Claims
	Notices       *notices.Notices
	Adjustments   *settlements.Adjustments
	Payouts       *payouts.Payouts
	Verifications *verification.Verifications
	People        *people.People
	Links         *people.Links
	Team          *people.Team
}

// Service is what the pages need of the whole service.
type Service interface {
	OldestDue(ctx context.Context) (map[string]time.Time, error)
	OldestOpen(ctx context.Context) (map[string]time.Time, error)
	Quarantine(ctx context.Context) ([]store.Quarantined, error)
	AuditLog(ctx context.Context, f audit.Filter, limit int) ([]audit.Entry, error)
	Engine() string
}
