package analytics

import (
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payments"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Analytics *payments.Analytics
}
