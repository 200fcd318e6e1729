package provider

import (
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
)

// Declines maps a provider's codes to reasons.
type Declines map[string]decline.Reason

// Codes are a provider's codes of refusals in our words. docs/DECLINES.md shows them.
type Codes struct {
	Field  string // where the provider says the code: "last_payment_error.decline_code"
	Source string // where the provider lists the codes, and of which date
	Table  Declines
}

// Refusal is a refusal as the outcome of a charge; ref is the provider's reference.
func Refusal(reason decline.Reason, ref string) pay.Outcome {
	m := reason.Meaning()
	return pay.Outcome{Kind: pay.Declined, Code: m.Code, Decline: string(reason), Message: m.Message, Soft: m.Elsewhere, ProviderRef: ref}
}

// Reason is the reason for a provider's code. One that the table does not have is reported, and means Declined: no other provider
// is tried.
func (a Account) Reason(table Declines, word string) decline.Reason {
	reason, known := table[word]
	if !known {
		a.Strange("declined", word)
		return decline.Declined
	}
	return reason
}

// Declined is the refusal for a provider's code. The merchant sees the reason, the operator the code too.
func (a Account) Declined(table Declines, word, ref string) pay.Outcome {
	o := Refusal(a.Reason(table, word), ref)
	o.Raw = Printable(word, 64)
	return o
}

// Country is a card's country in our terms, ISO 3166 alpha-3; "" if a provider's word for it is no code.
func Country(word string) string {
	country, _ := geo.Parse(word)
	return country.Alpha3
}

// Try is a try on the provider's page, by the provider's id of it. raw is its code, of which the reason is made.
func Try(id string, at int64, reason decline.Reason, raw string) decline.Try {
	return decline.Try{ID: id, At: at, Reason: reason, Raw: Printable(raw, 64), Soft: reason.Meaning().Elsewhere}
}
