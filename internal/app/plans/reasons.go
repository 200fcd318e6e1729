package plans

import (
	"strings"

	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	currencyStays       = problem.Define2("plan.currency_stays", "plan", "currency")
	planNotYet          = problem.Define2("plan.not_yet", "plan", "from")
	currencyWithoutRate = problem.Define1("plan.currency_without_rate", "currency")
	planFromFar         = problem.Define("plan.from_far")
	planFromPast        = problem.Define("plan.from_past")
	planUnknown         = problem.Define2("plan.unknown", "plan", "plans")
	priceOfNoRail       = problem.Define("plan.price_of_no_rail")
)

// ErrUnknown: there is no such plan.
var ErrUnknown = store.ErrNotFound

// Unknown is the error about a plan that does not exist.
//
// Errors: invalid_request.
func Unknown(b *plans.Book, name string) error {
	return problem.Field(problem.InvalidRequest, "plan", planUnknown.With(name, strings.Join(b.Names(), ", ")))
}
