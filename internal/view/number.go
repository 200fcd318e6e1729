// Package view is the public shape of Cascada's resources, in API replies and in events: one set of types
// for both, so that they cannot differ. It turns values of the core into JSON and decides nothing.
package view

import (
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/danielgtaylor/huma/v2"
)

// Money is an amount in major units as an exact JSON number.
type Money struct{ money.Amount }

// AppendJSON appends the shortest exact decimal number.
func (m Money) AppendJSON(b []byte) []byte {
	if m.Currency == "" {
		return append(b, '0')
	}
	return m.AppendDecimal(b)
}

// MarshalJSON is AppendJSON for encoding/json.
func (m Money) MarshalJSON() ([]byte, error) { return m.AppendJSON(make([]byte, 0, 16)), nil }

// Schema describes the output of MarshalJSON in the OpenAPI document.
func (Money) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Format: "double", Description: "Major units, an exact decimal", Examples: []any{25.5}}
}

// Number is a decimal as its sender wrote it: a JSON number in its plain form.
type Number struct{ Text string }

// AppendJSON appends the number.
func (n Number) AppendJSON(b []byte) []byte {
	if n.Text == "" {
		return append(b, '0')
	}
	return append(b, n.Text...)
}

// MarshalJSON is AppendJSON for encoding/json.
func (n Number) MarshalJSON() ([]byte, error) { return n.AppendJSON(nil), nil }

// Schema describes the output of MarshalJSON in the OpenAPI document.
func (Number) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Format: "double", Description: "An exact decimal", Examples: []any{2}}
}

// USD is an amount of USD cents.
func USD(cents int64) Money { return Money{money.New(cents, money.USD)} }

// Rate is an exchange rate as an exact JSON number.
type Rate struct{ money.Rate }

// AppendJSON appends the exact decimal number.
func (r Rate) AppendJSON(b []byte) []byte { return append(b, r.Decimal()...) }

// MarshalJSON is AppendJSON for encoding/json.
func (r Rate) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// Schema describes the output of MarshalJSON in the OpenAPI document.
func (Rate) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Format: "double", Description: "Local currency for one USD", Examples: []any{5.4}}
}

// Time is a moment in UTC with milliseconds.
type Time struct{ time.Time }

// AppendJSON appends ISO 8601 in quotes.
func (t Time) AppendJSON(b []byte) []byte {
	utc := t.UTC()
	b = utc.AppendFormat(append(b, '"'), time.RFC3339) // fast; it ends with a Z
	ms := utc.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z', '"')
}

// MarshalJSON is AppendJSON for encoding/json.
func (t Time) MarshalJSON() ([]byte, error) { return t.AppendJSON(make([]byte, 0, 28)), nil }

// Schema describes the output of MarshalJSON in the OpenAPI document.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Examples: []any{"2026-11-21T12:00:00.000Z"}}
}

// at returns nil for the zero time.
func at(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}

// text returns nil for the empty string.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
