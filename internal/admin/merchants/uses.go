// Package merchants has the operators' operations on merchants with their shops and keys, what they pay, who they are, and what is kept of shoppers.
package merchants

import (
	"context"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/leaving"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/overview"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/app/verification"
	"github.com/cascadapay/cascada/internal/pay/audit"
	paymerchants "github.com/cascadapay/cascada/internal/pay/merchants"
)

// Uses are the use cases that the operations call.
type Uses struct {
	*base.Base
	Access        *auth.Access
	Keys          *auth.Keys
	Leaving       *leaving.Leaving
	Lists         *overview.Lists
	Onboarding    *merchants.Onboarding
	Plans         *plans.Plans
	Privacy       *privacy.Privacy
	Sandbox       sandbox
	Verifications *verification.Verifications
}

// sandbox is what is called of the sandbox: the use case itself stands on the core of payments.
type sandbox interface {
	Reset(ctx context.Context, by audit.Actor, scope paymerchants.Scope) (paymerchants.Reset, error)
	ResetOf(ctx context.Context, merchant string) (paymerchants.Reset, error)
}

type api struct {
	*call.API
	Uses Uses
}

// Register registers the operations.
func Register(to *call.API, uses Uses) {
	a := &api{to, uses}
	for _, routes := range []func(){a.keyRoutes, a.merchantRoutes, a.planRoutes, a.privacyRoutes, a.shopRoutes, a.verificationRoutes} {
		routes()
	}
}
