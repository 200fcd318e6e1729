package accounts

import (
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/provider"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Providers *accounts.Providers
	Accounts  *accounts.Accounts
	Adapters  []provider.Adapter
}
