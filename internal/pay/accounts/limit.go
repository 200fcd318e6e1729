package accounts

import (
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Limit bounds a payment in the shopper's currency, in minor units of Currency. Min and Max are
// included.
type Limit struct {
	Currency money.Currency `json:"currency"`
	Min      int64          `json:"min"`
	Max      int64          `json:"max"`
}

// ParseLimit reads limits in major units, as people write them: "BRL:1-5000".
func ParseLimit(text string) (Limit, error) {
	bad := fmt.Errorf("%q is not a limit: use CURRENCY:MIN-MAX, such as BRL:1-5000", text)
	name, bounds, ok := strings.Cut(text, ":")
	low, high, both := strings.Cut(bounds, "-")
	if !ok || !both {
		return Limit{}, bad
	}
	currency, err := money.ParseCurrency(name)
	if err != nil {
		return Limit{}, fmt.Errorf("%q: %w", name, err)
	}
	least, err := money.Parse(low, currency)
	if err != nil {
		return Limit{}, bad
	}
	most, err := money.Parse(high, currency)
	if err != nil {
		return Limit{}, bad
	}
	return Limit{Currency: currency, Min: least.Minor, Max: most.Minor}, nil
}

// String returns the limits in the form that ParseLimit reads.
func (l Limit) String() string {
	return fmt.Sprintf("%s:%s-%s", l.Currency, money.New(l.Min, l.Currency).Decimal(), money.New(l.Max, l.Currency).Decimal())
}

// Check returns an error if an amount is outside the limit.
//
// Errors: amount_out_of_limits (PAY-34).
func (l Limit) Check(local money.Amount) error {
	bound := ""
	switch {
	case local.Minor < l.Min:
		bound = "min"
	case local.Minor > l.Max:
		bound = "max"
	default:
		return nil
	}
	low, high := money.New(l.Min, l.Currency), money.New(l.Max, l.Currency)
	return &problem.Error{
		Code: problem.AmountOutOfLimits, Param: "amount",
		Reason:  outsideLimits.With(local, low, high),
		Details: problem.Details{Limit: &problem.LimitDetail{Min: low, Max: high}, BoundViolated: bound},
	}
}

// Untaken is the error for an amount within the limit that no provider accepts.
func (l Limit) Untaken(local money.Amount) error {
	return &problem.Error{
		Code: problem.AmountOutOfLimits, Param: "amount",
		Reason:  noAccountTakes.With(local),
		Details: problem.Details{Limit: &problem.LimitDetail{Min: money.New(l.Min, l.Currency), Max: money.New(l.Max, l.Currency)}},
	}
}

// MaxAmount is the largest payment, in USD cents (PAY-14). MaxAmountText is the same for people.
const (
	MaxAmount     = 100_000_00
	MaxAmountText = "100000 USD"
)
