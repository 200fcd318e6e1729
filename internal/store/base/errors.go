package base

import (
	"errors"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Errors about rows and changes. Package store, which callers import, documents each.
var (
	ErrNotFound           = errors.New("not found")
	ErrStale              = errors.New("changed since it was read")
	ErrDuplicate          = errors.New("already done")
	ErrInsufficient       = errors.New("balance below its floor")
	ErrUnknown      error = &problem.Error{Code: problem.ServiceUnavailable, Details: problem.Details{Reason: OutcomeUnknown},
		Reason: storeOutcomeUnknown}
)

// OutcomeUnknown is the reason of ErrUnknown.
const OutcomeUnknown = "outcome_unknown"
