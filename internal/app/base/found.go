package base

import (
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Nearly reports whether two amounts may be the same, at rates of two different times. For US
// dollars they must be equal.
func Nearly(a, b money.Amount) bool {
	if a.Currency != b.Currency || a.Currency == money.USD {
		return a == b
	}
	return 5*max(a.Minor-b.Minor, b.Minor-a.Minor) <= max(a.Minor, b.Minor)
}

// OtherThanFound is the error for a request that was carried out before with another amount.
func OtherThanFound(f pay.Found) error {
	return &problem.Error{Code: problem.IdempotencyConflict, Details: problem.Details{Reason: "body_differs"},
		Reason: doneBeforeRestore.With(f.Local())}
}

// AsTaken is a new find from a list, already with the object that it belongs to. It was not written
// before.
func AsTaken(f pay.Found, object string) pay.Found {
	f.Version--
	return f.Assigned(object)
}
