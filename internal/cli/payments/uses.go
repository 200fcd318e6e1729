package payments

import (
	"context"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/settlements"
)

// Uses are the use cases that the commands of this package call. Close ends the connection to the database.
type Uses struct {
	*base.Base
	Close func()

	Payments    *payments.Payments
	Settlements *settlements.Settlements
	Story       func(ctx context.Context, id string) (string, error) // of a payment, withdrawal or claim
}
