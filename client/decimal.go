package client

import (
	"encoding/json"
	"fmt"
)

// Decimal is an exact decimal number as its digits, such as "25.50"; in JSON
// it is a number. "" is null. For arithmetic give it to a decimal type:
// new(big.Rat).SetString(string(d)).
type Decimal string

// MarshalJSON writes the digits as they are.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if d == "" {
		return []byte("null"), nil
	}
	text, err := json.Marshal(json.Number(d)) // checks the syntax of a number
	if err != nil {
		return nil, fmt.Errorf("client: %q is not a decimal number", string(d))
	}
	return text, nil
}

// UnmarshalJSON keeps the digits as they are.
func (d *Decimal) UnmarshalJSON(text []byte) error {
	switch {
	case string(text) == "null":
		*d = ""
	case text[0] == '-' || text[0] >= '0' && text[0] <= '9':
		*d = Decimal(text)
	default:
		return fmt.Errorf("client: %s is not a number", text)
	}
	return nil
}
