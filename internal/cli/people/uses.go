package people

import (
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/app/privacy"
)

// Uses are the use cases that the commands of this package call. Close ends the connection to the database.
type Uses struct {
	*base.Base
	Close func()

	Access    *auth.Access
	Keys      *auth.Keys
	Links     *people.Links
	Operators *auth.Operators
	People    *people.People
	Privacy   *privacy.Privacy
	Secrets   *auth.Secrets
	Team      *people.Team
}
