package settlements

import (
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/settlements"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Plans       *plans.Plans
	Settlements *settlements.Settlements
}
