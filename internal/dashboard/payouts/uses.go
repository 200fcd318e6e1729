package payouts

import (
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/settlements"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Plans       *plans.Plans
	Settlements *settlements.Settlements
	Wallets     *payouts.Wallets
	Payouts     *payouts.Payouts
}
