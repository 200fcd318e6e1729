package merchants

import (
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/leaving"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/app/verification"
)

// Uses are the use cases that the commands of this package call. Close ends the connection to the database.
type Uses struct {
	*base.Base
	Close func()

	Leaving       *leaving.Leaving
	Onboarding    *merchants.Onboarding
	Plans         *plans.Plans
	Sandbox       *sandbox.Sandbox
	Verifications *verification.Verifications
}
