// Package methods has the endpoint that lists the payment methods of a shop; it quotes no payment.
package methods

import (
	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/base"
	appmethods "github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/rates"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	*base.Base
	Plans   *plans.Plans
	Rates   *rates.Rates
	Methods *appmethods.Methods
}

type api struct {
	*call.API
	uses Uses
}

// Register adds the endpoints of the catalog of payment methods.
func Register(to *call.API, uses Uses) {
	a := &api{API: to, uses: uses}
	a.routes()
}
