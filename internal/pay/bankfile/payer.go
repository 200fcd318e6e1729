package bankfile

import (
	"fmt"
	"slices"
	"strings"
)

// Payer is the operator's account at the bank, as the bank knows it. The Layout says which
// fields it needs.
type Payer struct {
	Name         string // of the company
	Document     string // its tax id
	BankCode     string // COMPE's 3 digits (CNAB)
	BankName     string
	Agreement    string // convênio, exactly as the bank requires it at positions 33-52 (CNAB)
	Branch       string // digits
	BranchDigit  string
	Account      string // digits; in CNAB without the check digit
	AccountDigit string
	IBAN         string
	BIC          string
	FileVersion  string // 3 digits, if the bank's manual names others than our default (CNAB)
	BatchVersion string // likewise for batches
}

// Field is a setting of the operator's account that a layout uses.
type Field struct {
	Name     string // as Payer.Set takes it
	Doc      string
	Optional bool
}

func (p *Payer) places() map[string]*string {
	return map[string]*string{
		"name": &p.Name, "document": &p.Document, "bank_code": &p.BankCode, "bank_name": &p.BankName,
		"agreement": &p.Agreement, "branch": &p.Branch, "branch_digit": &p.BranchDigit,
		"account": &p.Account, "account_digit": &p.AccountDigit, "iban": &p.IBAN, "bic": &p.BIC,
		"file_version": &p.FileVersion, "batch_version": &p.BatchVersion,
	}
}

// Set sets the field with a name from Layout.Fields.
//
// Errors: an unknown name.
func (p *Payer) Set(name, value string) error {
	at, ok := p.places()[name]
	if !ok {
		return fmt.Errorf("a payer has no %q: want one of %s", name, strings.Join(payerFields(), ", "))
	}
	*at = strings.TrimSpace(value)
	return nil
}

func payerFields() (names []string) {
	for name := range (&Payer{}).places() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
