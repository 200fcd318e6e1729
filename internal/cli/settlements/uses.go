package settlements

import (
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/settlements"
)

// Uses are the use cases that the commands of this package call. Close ends the connection to the database.
type Uses struct {
	*base.Base
	Close func()

	Adjustments *settlements.Adjustments
	Payouts     *payouts.Payouts
	Settlements *settlements.Settlements
}
