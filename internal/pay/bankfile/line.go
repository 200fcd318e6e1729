package bankfile

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/destination"
)

// Line is one payout of a batch.
type Line struct {
	// Reference is ours: 1 to 16 upper-case letters and digits, unique in the batch. The
	// bank's answer repeats it.
	Reference string
	// Number counts the operator's lines, 1 to 9999999, unique in the batch. It is
	// the numeric reference of SPEI; other layouts take any number.
	Number      int
	Amount      money.Amount // above zero, in the batch's currency
	Network     string       // pix, ted, spei, iban, cbu or account, see package destination
	Destination string       // secret; of a ted, the account's check digit is last
	Name        string       // the payee's, free text
	Document    string       // the payee's tax id
	BankCode    string       // the payee's bank: COMPE's 3 digits in CNAB, a BIC in pain.001
	Branch      string       // with its check digit after a dash, if it has one
	AccountType string       // current (also "") or savings
	Country     string       // ISO 3166 alpha-2
}

// Batch is what a file holds besides its lines.
type Batch struct {
	ID       string    // 1 to 30 letters, digits and dashes; never used for another file
	Sequence int       // counts the operator's files at this bank, 1 to 999999
	At       time.Time // when the file is written; date and time are written in its own zone
	Currency money.Currency
	From     Payer
}

// Problem says which part of a line, batch or payer does not fit a layout. Its message
// never contains an account.
type Problem struct {
	Field string
	Why   string
}

// Error implements error.
func (p *Problem) Error() string { return p.Field + " " + p.Why }

func problem(field, why string, args ...any) error {
	return &Problem{field, fmt.Sprintf(why, args...)}
}

var (
	references = regexp.MustCompile(`^[A-Z0-9]{1,16}$`)
	batchIDs   = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,28}[A-Za-z0-9])?$`)
	words      = regexp.MustCompile(`^[A-Za-z0-9]+$`)
)

// notProvided replaces a missing reference in ISO 20022 files.
const notProvided = "NOTPROVIDED"

// largest is the largest amount of a line in minor units: 15 digits.
const largest = 999_999_999_999_999

// common checks what every layout requires of a line.
func (l Line) common() error {
	switch {
	case !references.MatchString(l.Reference):
		return problem("reference", "must be 1 to 16 upper-case letters and digits")
	case l.Reference == notProvided:
		return problem("reference", "must not be %s, which banks write for a missing reference", notProvided)
	case !l.Amount.Currency.Valid():
		return problem("amount", "has no currency")
	case !l.Amount.IsPositive():
		return problem("amount", "must be above zero")
	case l.Amount.Minor > largest:
		return problem("amount", "has more than 15 digits")
	case l.AccountType != "" && l.AccountType != "current" && l.AccountType != "savings":
		return problem("account_type", "must be current or savings")
	}
	_, err := l.account()
	return err
}

// account is the destination in its normal form, with valid check digits.
func (l Line) account() (string, error) {
	// The currency only selects the network's rules in package destination.
	currency := map[string]string{"pix": "BRL", "ted": "BRL", "spei": "MXN", "cbu": "ARS", "iban": "EUR", "account": "USD"}[l.Network]
	if currency == "" {
		return "", problem("network", "must be pix, ted, spei, iban, cbu or account")
	}
	d, problems := destination.Parse("bank_account", l.Network, currency, l.Destination)
	if len(problems) > 0 {
		return "", problem("destination", "%s", strings.TrimPrefix(problems[0].Message, "destination "))
	}
	return d.Account, nil
}

// brazilian is a CPF or CNPJ without its punctuation, as a bank's files hold it. A CNPJ may
// have letters since July 2026.
func brazilian(bank, field, text string) (string, error) {
	if text == "" {
		return "", problem(field, "is missing")
	}
	number, ok := document.Check("BRA", "CPF", text)
	switch {
	case !ok:
		return "", problem(field, "must be a CPF or CNPJ")
	case !digits(number) && bank != bradesco:
		return "", problem(field, "is a CNPJ with letters, which the files of bank %s are not known to hold", bank)
	}
	return number, nil
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
