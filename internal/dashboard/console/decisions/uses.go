package decisions

import (
	"context"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/notices"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/app/verification"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Service
	Providers     *accounts.Providers
	Rules         *routing.Rules
	Payments      *payments.Payments
	Claims        *claims.Claims
	Notices       *notices.Notices
	Adjustments   *settlements.Adjustments
	Payouts       *payouts.Payouts
	Verifications *verification.Verifications
}

// Service is what the pages need of the whole service.
type Service interface {
	Story(ctx context.Context, id string) (string, error)
	Decisions(ctx context.Context, before string, limit int) (list []audit.Entry, next string, err error)
}
