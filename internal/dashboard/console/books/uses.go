package books

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	appbooks "github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Service
	Rates          *rates.Rates
	Providers      *accounts.Providers
	Reconciliation *reconciliation.Reconciliation
	Mails          *mails.Mails
	Checks         *appbooks.Checks
}

// Service is what the pages need of the whole service.
type Service interface {
	OldestDue(ctx context.Context) (map[string]time.Time, error)
	DeadLetters() map[merchants.Environment]int64
	Pools() []engine.Pool
	Engine() string
	SilentAccounts() map[string]int
}
