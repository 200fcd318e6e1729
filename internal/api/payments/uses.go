// Package payments has the endpoints of payments, checkout sessions and payment links.
package payments

import (
	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/cascade"
	apppayments "github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/limit"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	*base.Base
	Cascade      *cascade.Cascade
	Payments     *apppayments.Payments
	Sessions     *apppayments.Sessions
	PaymentLinks *apppayments.PaymentLinks
}

type api struct {
	*call.API
	uses    Uses
	exports *limit.Places // exports of payments in progress, by merchant
}

// Register adds the endpoints of payments, checkout sessions and payment links.
func Register(to *call.API, uses Uses) {
	a := &api{API: to, uses: uses, exports: limit.NewPlaces(exports)}
	a.paymentRoutes()
	a.sessionRoutes()
	a.linkRoutes()
	a.Tighten(publish)
}
