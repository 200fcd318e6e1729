// Package verification has the endpoints of a merchant's verification; the page for it is in internal/verify.
package verification

import (
	"github.com/cascadapay/cascada/internal/api/call"
	appverification "github.com/cascadapay/cascada/internal/app/verification"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	Verifications *appverification.Verifications
}

type api struct {
	*call.API
	uses Uses
}

// Register adds the endpoints of verifications.
func Register(to *call.API, uses Uses) {
	a := &api{API: to, uses: uses}
	a.routes()
	a.Tighten(publish)
}
