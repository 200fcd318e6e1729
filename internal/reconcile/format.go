package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// Kind says what a line of a report is about.
type Kind string

// Kinds of lines. Other lines move money too (fees, payouts, reserves), and are
// counted by their word: nothing in our books stands against them one by one.
const (
	Charge     Kind = "charge"
	Refund     Kind = "refund"
	Chargeback Kind = "chargeback"
	Payout     Kind = "payout" // of an account that pays out
	Return     Kind = "return" // of a payout
	Other      Kind = "other"
)

// Format says how a report is written. The zero value has no columns.
type Format struct {
	Payouts bool   // it is of an account that pays out: its lines are payouts, returns and others
	Title   string // which of the provider's reports it is, for people
	Hint    string // what to do where a column is missing, or ""
	Columns Columns
	// Kinds are the words of the type column; "*" stands for every other word. A
	// word that is not among them makes its line unreadable.
	Kinds map[string]Kind
	// Counts are the words of the status column that say that money moved; lines
	// with others are no money yet.
	Counts    []string
	Separator rune           // zero: comma, semicolon, tab or bar, whichever the header has
	Comma     bool           // the decimal sign is a comma
	Minor     bool           // amounts are in minor units
	Currency  money.Currency // of a report that has no column for it
	Dates     []string       // layouts of time.Parse, before the usual ones
	Zone      *time.Location // of dates that tell none; nil: UTC
}

// Columns name the columns of a report. A name that ends in "?" may be missing.
// Letters' case, spaces and underscores do not count.
type Columns struct {
	Reference   string // ours, of the charge, or of the refund
	ProviderRef string // the provider's, of the charge, or of the refund
	// Of a refund, where the report names both it and the charge.
	RefundReference   string
	RefundProviderRef string
	Type              string
	Status            string
	Amount            string
	Debit, Credit     string // in place of Amount: one of them is filled in
	Currency          string
	Date              string
	Fees              []string // added up
	FeeCurrency       string   // where the fee has another one than the amount
}

// Generic is the format of a report that somebody makes for us, and of every
// adapter that has none of its own.
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

// Words are what a type column that nobody described may say.
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

// PayoutWords are what a type column that nobody described may say of an account that pays out.
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

// Set names a column by its word on the command line: reference, amount, fee, …
//
// Errors: a word that is none.
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

// ColumnWords lists what a column may be named to be.
func ColumnWords() []string {
	words := []string{"fee"}
	for word := range (&Columns{}).places() {
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

// Normal is a name without what people write differently.
func Normal(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return r == ' ' || r == '_' || r == '-' || r == '\u00a0'
	}), "_")
}
