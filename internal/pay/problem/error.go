// Package problem has the errors that a caller caused, or has to know about: each has a code
// (ERR-2), the field and advice. Faults of the service are ordinary errors.
package problem

import (
	"github.com/cascadapay/cascada/internal/money"
)

// Error is an error that is shown to the caller as it is. Any other error is a fault: it is logged,
// and shown as internal_error.
type Error struct {
	Code    Code
	Reason  Reason // why; none if the issues of the details say it
	Param   string // the wrong field, as the caller wrote it
	Decline string // the card's decline reason
	Details Details
	Cause   error // logged, never shown
}

// Details has data for the client's program (ERR-1). Empty fields are not sent.
type Details struct {
	Issues        []Issue
	MissingFields []string
	HelpURL       string
	Limit         *LimitDetail
	BoundViolated string // "min" or "max"
	Reason        string
	ExistingTxID  string
	TransactionID string
	RedirectURL   string
	Attempts      []AttemptTrace
	From          string // the status that forbids the action
	Action        string
	Right         string // the right that the key lacks
	Balance       *Shortfall
	ReplayID      string // the replay that runs
	Proposal      string // that waits for a second operator
}

// Shortfall is the available and the requested amount.
type Shortfall struct{ Available, Requested money.Amount }

// Beyond returns an error about more USD than is available. The reason's arguments are the requested and the available
// amount. Amounts are cents.
func Beyond(param string, why Of2, requested, available int64) *Error {
	d := Shortfall{money.New(max(0, available), money.USD), money.New(requested, money.USD)}
	return &Error{Code: BalanceInsufficient, Param: param, Reason: why.With(d.Requested, d.Available), Details: Details{Balance: &d}}
}

// Issue is one thing that is wrong with a request.
type Issue struct {
	Path   string // the field, as the caller wrote it
	Reason Reason
}

// LimitDetail is the limits that an amount violated.
type LimitDetail struct{ Min, Max money.Amount }

// AttemptTrace is what a merchant may see of an attempt: never the provider's name (SVC-7).
type AttemptTrace struct {
	Order      int    `json:"order"`
	Outcome    string `json:"outcome" enum:"declined,error,timeout,unavailable,limit,skipped"`
	ReasonCode string `json:"reasonCode"`
	Retryable  bool   `json:"retryable"`
	DurationMs int64  `json:"durationMs"`
}

// Error returns the text for the log: the code, why, and the cause.
func (e *Error) Error() string {
	s := string(e.Code)
	if !e.Reason.None() {
		s += ": " + e.Reason.Error()
	}
	for _, i := range e.Details.Issues {
		s += "; " + i.Path + ": " + i.Reason.Error()
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New returns an error with a code and a reason.
func New(code Code, why Reason) *Error { return &Error{Code: code, Reason: why} }

// Field returns an error about one field.
func Field(code Code, param string, why Reason) *Error {
	return &Error{Code: code, Reason: why, Param: param}
}

// Invalid returns one invalid_request that lists all issues, or nil if there are none.
func Invalid(issues ...Issue) error {
	if len(issues) == 0 {
		return nil
	}
	return &Error{Code: InvalidRequest, Param: issues[0].Path, Details: Details{Issues: issues}}
}

// Conflict returns an error about the state of an object. word is details.reason, for the caller's program.
func Conflict(word string, why Reason) *Error {
	return &Error{Code: ConflictState, Reason: why, Details: Details{Reason: word}}
}
