package routing

import (
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/routing"
)

// Uses are the use cases that the commands of this package call. Close ends the connection to the database.
type Uses struct {
	*base.Base
	Close func()

	Payouts *payouts.Payouts
	Rules   *routing.Rules
}
