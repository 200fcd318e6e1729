package checkout

import (
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/sandbox"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Onboarding   *merchants.Onboarding
	Rates        *rates.Rates
	Sessions     *payments.Sessions
	PaymentLinks *payments.PaymentLinks
	Sandbox      *sandbox.Sandbox
}
