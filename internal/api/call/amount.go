package call

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// Amount is a number as the caller wrote it, so that no float rounds it. Its schema accepts anything:
// invalid amounts have their own codes.
type Amount string

// UnmarshalJSON keeps the text.
func (a *Amount) UnmarshalJSON(text []byte) error {
	*a = Amount(text)
	return nil
}

// Schema validates requests; publish shows a number.
func (Amount) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: AmountDoc, Examples: []any{25.5}}
}

// In parses an amount of a currency. Whether it is too much is told here only for dollars, beside a request's other issues:
// its value in USD is known after conversion (pay.Worth).
func (a Amount) In(path string, c money.Currency) (money.Amount, error) {
	text := string(a)
	if text == "" || text == "null" {
		return money.Amount{}, wire.Coded(problem.MissingField, path, "amount is required")
	}
	amount, err := money.Parse(text, c)
	switch {
	case !IsNumber(text):
		return amount, wire.Coded(problem.AmountInvalid, path, NotNumber(text))
	case c == money.USD && (amount.Minor > accounts.MaxAmount || err != nil && a.Rough() > accounts.MaxAmount/100):
		return amount, wire.Coded(problem.AmountAboveMaximum, path, message.Text(accounts.AboveMaximum.With(accounts.MaxAmountText)))
	case c != money.USD && errors.Is(err, money.ErrRange) && text[0] != '-':
		return amount, wire.Coded(problem.AmountAboveMaximum, path, fmt.Sprintf("amount must be worth at most %s: send less; it is in units of %s, not in cents", accounts.MaxAmountText, c))
	case err != nil || !amount.IsPositive():
		return amount, wire.Coded(problem.AmountInvalid, path, "amount must be above 0, "+Written(c)+"; you sent "+Clip(text))
	}
	return amount, nil
}

// Rough is about how much the number is, for a refusal alone: where the currency is not known yet, or where the text is no
// amount of it. It is infinite beyond float64, and zero for a text that is no number. Money is parsed as such, once its
// currency is known.
func (a Amount) Rough() float64 {
	n, _ := strconv.ParseFloat(string(a), 64)
	return n
}

// AmountDoc describes an amount in the document.
const AmountDoc = "Major units of currency, worth at most " + accounts.MaxAmountText

// Written says how to write an amount of a currency.
func Written(c money.Currency) string {
	switch n := c.Exponent(); n {
	case 0:
		return fmt.Sprintf("in %s a whole number, such as 4900", c)
	case 2:
		return fmt.Sprintf("in %s with at most two decimals, such as 49.90", c)
	default:
		return fmt.Sprintf("in %s with at most %d decimals", c, n)
	}
}
