package rules

import (
	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/base"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Providers  *acquiring.Providers
	Rules      *acquiring.Rules
	Rehearsals *acquiring.Rehearsals
}
