package machine

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/store"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Service
}

// Service is what the pages need of the whole service.
type Service interface {
	Machine(ctx context.Context) (store.Machine, error)
	WaitsOf(ctx context.Context) (map[string]time.Time, error)
	Engine() string
}
