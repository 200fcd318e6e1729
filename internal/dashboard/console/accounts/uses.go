package accounts

import (
	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/provider"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Providers *acquiring.Providers
	Accounts  *acquiring.Accounts
	Adapters  []provider.Adapter
}
