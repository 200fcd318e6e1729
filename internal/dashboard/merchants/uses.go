package merchants

import (
	"context"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/leaving"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Plans   *plans.Plans
	Payouts *payouts.Payouts
	Service
	Keys       *auth.Keys
	Onboarding *appmerchants.Onboarding
	Leaving    *leaving.Leaving
	Links      *people.Links
	Team       *people.Team
}

// Service is what the pages need of the whole service.
type Service interface {
	MerchantAudit(ctx context.Context, scope merchants.Scope, f audit.MerchantFilter) ([]audit.Entry, error)
}
