package payouts

import (
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
)

// Uses are the use cases that the commands of this package call. Close ends the connection to the database.
type Uses struct {
	*base.Base
	Close func()

	Batches *payouts.Batches
	Floats  *payouts.Floats
	Payouts *payouts.Payouts
}
