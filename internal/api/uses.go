package api

import (
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/cascade"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/notices"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/plans"
	apprates "github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/requests"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/app/verification"
	"github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	*base.Base
	Plans         *plans.Plans
	Access        *auth.Access
	Onboarding    *merchants.Onboarding
	Rates         *apprates.Rates
	Methods       *methods.Methods
	Cascade       *cascade.Cascade
	Payments      *payments.Payments
	Sessions      *payments.Sessions
	PaymentLinks  *payments.PaymentLinks
	Claims        *claims.Claims
	Notices       *notices.Notices
	Webhooks      *webhooks.Webhooks
	Events        *webhooks.Events
	Replays       *webhooks.Replays
	Settlements   *settlements.Settlements
	Wallets       *payouts.Wallets
	Payouts       *payouts.Payouts
	Verifications *verification.Verifications
	Sandbox       *sandbox.Sandbox
	Requests      *requests.Log
	RateLimits    rates.Limits
}
