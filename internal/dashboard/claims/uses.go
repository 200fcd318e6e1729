package claims

import (
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Claims     *claims.Claims
	ClaimLists *claims.Lists
}
