package pay

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// Channel is how a shopper reaches a rail (CAT-2).
type Channel string

// The three channels.
const (
	Online     Channel = "ONLINE"
	Cash       Channel = "CASH"
	CreditCard Channel = "CREDIT_CARD"
)

// Rail is one way to pay: a method in a country over a network. Its ID is the
// API's paymentMethodId (CAT-3).
type Rail struct {
	ID       string // 4 digits from 1001, or sbx_… in the sandbox
	Key      string // our own stable name, e.g. "pix.BRA"; never shown
	Method   string // slug: pix, spei, oxxo, voucher, bank_transfer, card, …
	Label    string // "PIX"
	Name     string // retailer, bank or native rail
	Country  string // ISO 3166 alpha-3
	Channel  Channel
	ImageURL string
	Limits   []Limit // one per currency; never empty
	Fee      Fee
	Window   time.Duration // how long the customer has to pay
	Document string        // the buyer's document the rail needs ("CPF", "RFC"), or ""
	Sync     bool          // the outcome is known when the call returns (cards)
	Enabled  bool
	Online   bool
}

// Limit bounds a payment in the shopper's currency. Minor units of Currency,
// both ends included.
type Limit struct {
	Currency money.Currency `json:"currency"`
	Min      int64          `json:"min"`
	Max      int64          `json:"max"`
}

// Fee is the price of a rail: a share of the amount and a flat part in USD
// minor units.
type Fee struct {
	Bps  int64 `json:"bps,omitempty"`  // 1/10,000
	Flat int64 `json:"flat,omitempty"` // USD cents
}

// LimitIn returns the rail's limit for a currency.
func (r Rail) LimitIn(c money.Currency) (Limit, bool) {
	for _, l := range r.Limits {
		if l.Currency == c {
			return l, true
		}
	}
	return Limit{}, false
}

// Check says whether an amount is within the limit.
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
	return &Error{
		Code: CodeAmountOutOfLimits, Param: "amount",
		Message: fmt.Sprintf("%s is outside this payment method's limits, %s to %s", local, low, high),
		Details: Details{Limit: &LimitDetail{Min: low, Max: high}, BoundViolated: bound},
	}
}

// Untaken is the refusal of an amount that is within the limit and that no provider takes.
func (l Limit) Untaken(local money.Amount) error {
	return &Error{
		Code: CodeAmountOutOfLimits, Param: "amount",
		Message: fmt.Sprintf("no provider of this payment method takes %s as it stands: ask for a whole amount, or for another payment method", local),
		Details: Details{Limit: &LimitDetail{Min: money.New(l.Min, l.Currency), Max: money.New(l.Max, l.Currency)}},
	}
}

// MaxAmount is the largest payment in USD cents (PAY-14); MaxAmountText is the same for people.
const (
	MaxAmount      = 100_000_00
	MaxAmountText  = "100000 USD"
	AboveMaxAmount = "amount must be at most " + MaxAmountText + ": it is in dollars, not in cents"
)

// Worth is what a shop's amount is in USD, at the rate of its currency. It is the one check of a
// payment's amount (PAY-14), and every entry comes by it.
//
// Errors: amount_invalid, amount_above_maximum.
func Worth(asked money.Amount, rate money.Rate) (money.Amount, error) {
	usd, err := rate.ConvertBack(asked, money.USD, money.HalfEven)
	if err != nil { // beyond every amount
		usd = money.New(MaxAmount+1, money.USD)
	}
	return usd, checkWorth(usd, asked)
}

// checkWorth checks what an amount is worth in USD, and tells of the amount as the shop asked it.
func checkWorth(usd, asked money.Amount) error {
	dollars := asked.Currency == money.USD
	switch {
	case usd.IsPositive() && usd.Minor <= MaxAmount:
		return nil
	case usd.IsPositive() && dollars:
		return FieldError(CodeAmountAboveMaximum, "amount", AboveMaxAmount)
	case usd.IsPositive():
		return FieldError(CodeAmountAboveMaximum, "amount",
			fmt.Sprintf("%s are worth more than "+MaxAmountText+": send less; amount is in units of %s, not in cents", asked, asked.Currency))
	case asked.IsPositive() && !dollars:
		return FieldError(CodeAmountInvalid, "amount", fmt.Sprintf("%s are worth less than 0.01 USD: send more", asked))
	}
	return FieldError(CodeAmountInvalid, "amount", "amount must be greater than zero, such as 49.90")
}
