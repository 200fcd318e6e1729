package payouts

import (
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Providers *accounts.Providers
	Payouts   *payouts.Payouts
	Floats    *payouts.Floats
	Batches   *payouts.Batches
}
