package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// Kind is what a line of a report is about.
type Kind string

// Kinds of lines. Other lines (fees, payouts, reserves) move money too, and are counted by
// their type: our books have no single entry to match them.
const (
	Charge     Kind = "charge"
	Refund     Kind = "refund"
	Chargeback Kind = "chargeback"
	Payout     Kind = "payout" // only for an account that pays out
	Return     Kind = "return" // of a payout
	Other      Kind = "other"
)

// Format describes a report. The zero value has no columns.
type Format struct {
	Payouts bool   // the report of an account that pays out: its lines are payouts, returns and others
	Title   string // the provider's name for the report, for people
	Hint    string // what to do if a column is missing, or ""
	Columns Columns
	// Kinds are the values of the type column; "*" stands for any other. An unlisted value
	// makes its line unreadable.
	Kinds map[string]Kind
	// Outgoing is whether a line of a charge may be money that left the account: below zero and without a reference. It is then another
	// line.
	Outgoing bool
	// Counts are the values of the status column that mean that money moved; lines with other
	// values are ignored.
	Counts    []string
	Separator rune           // zero: comma, semicolon, tab or bar, whichever the header has
	Comma     bool           // the decimal sign is a comma
	Minor     bool           // amounts are in minor units
	Currency  money.Currency // if the report has no column for it
	Dates     []string       // layouts of time.Parse, tried before the usual ones
	Zone      *time.Location // of dates without a zone; nil: UTC
}

// Columns are the names of a report's columns. A column whose name ends in "?" is optional.
// Letter case, spaces and underscores do not count.
type Columns struct {
	Reference   string // ours, of the charge, or of the refund
	ProviderRef string // the provider's, of the charge, or of the refund
	// For a refund, if the report names both it and the charge.
	RefundReference   string
	RefundProviderRef string
	Type              string
	Status            string
	Amount            string
	Debit, Credit     string // instead of Amount: one of the two has the amount
	Currency          string
	Date              string
	Fees              []string // added up
	FeeCurrency       string   // if the fee is in another currency than the amount
}

// Generic is the format of a report that is made by hand, and of adapters that have no
// format of their own.
func Generic() Format {
	return Format{
		Title: "a table with the columns reference, provider_reference, type, amount, currency, date, fee",
		Columns: Columns{
			Reference: "reference?", ProviderRef: "provider_reference?",
			RefundReference: "refund_reference?", RefundProviderRef: "refund_provider_reference?",
			Type: "type?", Amount: "amount", Currency: "currency?", Date: "date?", Fees: []string{"fee?"}, FeeCurrency: "fee_currency?",
		},
		Kinds: Words(),
	}
}

// Words are the accepted values of an undescribed type column.
func Words() map[string]Kind {
	words := map[string]Kind{}
	for kind, list := range map[Kind]string{
		Charge:     "charge payment sale capture settled settlement paid",
		Refund:     "refund refunded reversal",
		Chargeback: "chargeback dispute",
		Other:      "other fee fees payout transfer withdrawal adjustment reserve tax balance",
	} {
		for _, word := range strings.Fields(list) {
			words[word] = kind
		}
	}
	return words
}

// GenericPayouts is Generic for an account that pays out.
func GenericPayouts() Format {
	f := Generic()
	f.Payouts, f.Kinds = true, PayoutWords()
	return f
}

// PayoutWords are the accepted values of an undescribed type column for an account that
// pays out.
func PayoutWords() map[string]Kind {
	words := map[string]Kind{}
	for kind, list := range map[Kind]string{
		Payout: "payout payment transfer withdrawal paid sent debit settled",
		Return: "return returned reversal refund refunded devolution",
		Other:  "other fee fees funding topup deposit charge adjustment tax balance rejected",
	} {
		for _, word := range strings.Fields(list) {
			words[word] = kind
		}
	}
	return words
}

// Set sets a column's name by its word on the command line: reference, amount, fee, …
//
// Errors: an unknown word.
func (c *Columns) Set(word, column string) error {
	at, ok := c.places()[word]
	switch {
	case word == "fee":
		c.Fees = []string{column}
	case !ok:
		return fmt.Errorf("a report has no %q: want one of %s", word, strings.Join(ColumnWords(), ", "))
	default:
		*at = column
	}
	return nil
}

func (c *Columns) places() map[string]*string {
	return map[string]*string{
		"reference": &c.Reference, "provider_reference": &c.ProviderRef,
		"refund_reference": &c.RefundReference, "refund_provider_reference": &c.RefundProviderRef,
		"type": &c.Type, "status": &c.Status, "amount": &c.Amount, "debit": &c.Debit, "credit": &c.Credit,
		"currency": &c.Currency, "date": &c.Date, "fee_currency": &c.FeeCurrency,
	}
}

// ColumnWords lists the words for columns.
func ColumnWords() []string {
	words := []string{"fee"}
	for word := range (&Columns{}).places() {
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

// Normal is a name in a normal form, without the usual differences in spelling.
func Normal(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return r == ' ' || r == '_' || r == '-' || r == '\u00a0'
	}), "_")
}
