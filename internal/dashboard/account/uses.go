package account

import (
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/people"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	People   *people.People
	Factors  *people.Factors
	Links    *people.Links
	Passkeys *people.Passkeys
	Company  *people.CompanySignIn
}
