package routing

import (
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/routing"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Providers  *accounts.Providers
	Rules      *routing.Rules
	Rehearsals *routing.Rehearsals
}
