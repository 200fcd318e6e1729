package accounts

import (
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/notices"
)

// Uses are the use cases that the commands of this package call. Close ends the connection to the database.
type Uses struct {
	*base.Base
	Close func()

	Accounts  *accounts.Accounts
	Notices   *notices.Notices
	Providers *accounts.Providers
}
