package payments

import (
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/cascade"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/app/webhooks"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Rates        *rates.Rates
	Providers    *accounts.Providers
	Methods      *methods.Methods
	Cascade      *cascade.Cascade
	Payments     *payments.Payments
	Sessions     *payments.Sessions
	PaymentLinks *payments.PaymentLinks
	Claims       *claims.Claims
	Webhooks     *webhooks.Webhooks
	Events       *webhooks.Events
	Settlements  *settlements.Settlements
	Payouts      *payouts.Payouts
	Mails        *mails.Mails
	Team         *people.Team
	Sandbox      *sandbox.Sandbox
}
