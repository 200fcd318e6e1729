package base

import (
	"fmt"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Nearly reports whether two amounts may be the same, at rates of two moments.
// A dollar has one rate.
func Nearly(a, b money.Amount) bool {
	if a.Currency != b.Currency || a.Currency == money.USD {
		return a == b
	}
	return 5*max(a.Minor-b.Minor, b.Minor-a.Minor) <= max(a.Minor, b.Minor)
}

// OtherThanFound refuses a request that was carried out with another amount.
func OtherThanFound(f pay.Found) error {
	return &problem.Error{Code: problem.IdempotencyConflict, Details: problem.Details{Reason: "body_differs"},
		Message: fmt.Sprintf("a request with this Idempotency-Key was carried out before the service was put back from a copy, of %s", f.Local())}
}

// AsTaken is a find that a list has just told of, taken by the object that stands for it. It was not
// written before.
func AsTaken(f pay.Found, object string) pay.Found {
	f.Version--
	return f.Taken(object)
}
