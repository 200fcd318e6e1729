package bankfile

import (
	"fmt"
	"strings"
)

// Positions in this file, in cnabgroup.go and in cnabread.go are those of FEBRABAN's CNAB 240,
// version 10.9, and of Bradesco's Multipag (version 8 of June 2019, and version 6 of its edition
// with Pix, July 2023) where the two differ.

// cnabSize is the length of a record in bytes, without the end of the line.
const cnabSize = 240

// Forms of payment (G029) that we write.
const (
	formCredit  = "01" // current account at the same bank
	formSavings = "05" // savings account at the same bank
	formOwn     = "06" // the payer's own current account at the same bank; only of Itaú
	formTED     = "41" // another holder's account
	formOwnTED  = "43" // the payer's own account
	formPix     = "45"
)

// forms is the order of the batches in a file.
var forms = []string{formCredit, formSavings, formOwn, formTED, formOwnTED, formPix}

// house is the clearing house of a form.
func house(form string) string {
	switch form {
	case formPix:
		return "009"
	case formTED, formOwnTED:
		return "018"
	}
	return ""
}

// Bank codes (COMPE) that need their own rule.
const (
	bradesco  = "237"
	itau      = "341"
	santander = "033"
	sicoob    = "756"
)

// versions are the layout versions of file and batch that a bank requires.
func (p Payer) versions() (file, batch string) {
	switch p.BankCode {
	case bradesco:
		file, batch = "089", "045"
	case santander:
		file, batch = "060", "031"
	default:
		file, batch = "103", "046"
	}
	if p.FileVersion != "" {
		file = p.FileVersion
	}
	if p.BatchVersion != "" {
		batch = p.BatchVersion
	}
	return file, batch
}

func cnabLayout() Layout {
	return Layout{
		Name:  "cnab240",
		Title: "CNAB 240 of FEBRABAN (Brazil): Pix by key, TED, and credit in account",
		Fields: []Field{
			{"name", "the company's name", false},
			{"document", "its CNPJ or CPF", false},
			{"bank_code", "the bank's 3 digits (COMPE): 001, 033, 237 …", false},
			{"bank_name", "the bank's name", true},
			{"agreement", "the agreement (convênio) exactly as at positions 33 to 52", false},
			{"branch", "the branch, up to 5 digits", false},
			{"branch_digit", "its check digit", true},
			{"account", "the account, up to 12 digits, without its check digit", false},
			{"account_digit", "its check digit", true},
			{"file_version", "the file's layout version at 164 to 166, if the bank requires another than usual", true},
			{"batch_version", "the batch's layout version at 14 to 16, likewise", true},
		},
		payer: cnabPayer,
		check: cnabCheck,
		write: cnabWrite,
	}
}

func cnabPayer(p Payer) error {
	if p.BankCode == itau {
		return problem("bank_code", "%s (Itaú) uses these positions for other data: its layout is %s", itau, sispagName)
	}
	if err := p.brazilian(); err != nil {
		return err
	}
	if len(p.Agreement) > 20 || latin(p.Agreement, ".,-/&", 20) != strings.Join(strings.Fields(p.Agreement), " ") {
		return problem("agreement", "must be at most 20 letters and digits")
	}
	if p.BankCode == bradesco {
		return checkBradesco(p)
	}
	return nil
}

// brazilian checks what files for each bank in Brazil need of the operator's account.
func (p Payer) brazilian() error {
	if _, err := brazilian(p.BankCode, "document", p.Document); err != nil {
		return err
	}
	if err := named(p.Name, upper(p.Name, 30)); err != nil {
		return err
	}
	for _, f := range []struct {
		name, value string
		length      int
		exact       bool
	}{
		{"bank_code", p.BankCode, 3, true}, {"branch", p.Branch, 5, false}, {"account", p.Account, 12, false},
		{"file_version", p.FileVersion, 3, true}, {"batch_version", p.BatchVersion, 3, true},
	} {
		switch {
		case f.value == "":
		case f.exact && (len(f.value) != f.length || !digits(f.value)):
			return problem(f.name, "must be %d digits", f.length)
		case len(f.value) > f.length || !digits(f.value):
			return problem(f.name, "must be at most %d digits", f.length)
		}
	}
	for _, f := range []struct{ name, value string }{{"branch_digit", p.BranchDigit}, {"account_digit", p.AccountDigit}} {
		if f.value != "" && (len(f.value) > 1 || !words.MatchString(f.value)) {
			return problem(f.name, "must be one digit or letter")
		}
	}
	return nil
}

// cnabCheck says why a line cannot be in a CNAB 240 file.
func cnabCheck(from Payer, l Line) error {
	if err := l.brazilian(from.BankCode); err != nil {
		return err
	}
	if l.Network == "pix" {
		return nil
	}
	a, err := l.brazilianAccount()
	if err == nil && from.BankCode == bradesco && a.bank == bradesco {
		err = bradescoAccount(a)
	}
	return err
}

// brazilian checks what files for each bank in Brazil need of a line.
func (l Line) brazilian(bank string) error {
	if l.Amount.Currency != "BRL" {
		return problem("amount", "must be in BRL")
	}
	if err := named(l.Name, upper(l.Name, 30)); err != nil {
		return err
	}
	if l.Network != "pix" && l.Network != "ted" {
		return problem("network", "must be pix or ted")
	}
	_, err := l.holder(bank)
	return err
}

// holder is the payee's CPF or CNPJ, which may be the Pix key itself.
func (l Line) holder(bank string) (string, error) {
	if key, err := l.account(); l.Network == "pix" && err == nil && pixKind(key) == keyDocument && l.Document == "" {
		return brazilian(bank, "destination", key)
	}
	return brazilian(bank, "document", l.Document)
}

// account240 is a payee's account, split into its parts.
type account240 struct{ bank, branch, branchDigit, number, digit string }

func (l Line) brazilianAccount() (a account240, err error) {
	a.bank = l.BankCode
	if len(a.bank) != 3 || !digits(a.bank) || a.bank == "000" {
		return a, problem("bank_code", "must be the bank's 3 digits (COMPE)")
	}
	a.branch, a.branchDigit, _ = strings.Cut(l.Branch, "-")
	a.branchDigit = strings.ToUpper(a.branchDigit)
	if len(a.branch) > 5 || !digits(a.branch) || len(a.branchDigit) > 1 || a.branchDigit != "" && !words.MatchString(a.branchDigit) {
		return a, problem("branch", "must be at most 5 digits, and a dash and its check digit if it has one")
	}
	text, err := l.account()
	if err != nil {
		return a, err
	}
	a.number, a.digit = text[:len(text)-1], text[len(text)-1:]
	return a, nil
}

// own reports whether a payee is the payer.
func (l Line) own(p Payer) bool {
	payee, _ := l.holder(p.BankCode)
	payer, _ := brazilian(p.BankCode, "document", p.Document)
	return payee == payer
}

// form is the form of payment of a line from an account of the payer's.
func (l Line) form(p Payer) string {
	switch {
	case l.Network == "pix":
		return formPix
	case l.BankCode == p.BankCode && l.AccountType == "savings":
		return formSavings
	case l.BankCode == p.BankCode:
		return formCredit
	case l.own(p):
		return formOwnTED
	}
	return formTED
}

// byForm groups lines by their form of payment. Banks accept Pix only in files of its own.
func byForm(lines []Line, form func(Line) string) (map[string][]Line, error) {
	groups := map[string][]Line{}
	for _, l := range lines {
		of := form(l)
		groups[of] = append(groups[of], l)
	}
	if n := len(groups[formPix]); n != 0 && n != len(lines) {
		return nil, problem("network", "of all lines must be pix, or of none: banks accept Pix only in a file of its own")
	}
	return groups, nil
}

// cnabWrite writes a batch of records for each form of payment.
func cnabWrite(b Batch, lines []Line) ([]byte, error) {
	groups, err := byForm(lines, func(l Line) string { return l.form(b.From) })
	if err != nil {
		return nil, err
	}
	f := &cnabFile{batch: b}
	f.header(len(groups[formPix]) > 0)
	for _, form := range forms {
		if len(groups[form]) > 0 {
			f.group(form, groups[form])
		}
	}
	f.trailer()
	return f.out, f.err
}

// cnabFile is a file as it grows. The first error is kept.
type cnabFile struct {
	batch   Batch
	out     []byte
	records int64
	groups  int64
	err     error
}

// add appends a record that begins with the common fields.
func (f *cnabFile) add(group int64, kind string, fill func(*record)) {
	r := newRecord(cnabSize)
	r.number(1, 3, f.batch.From.BankCode)
	r.count(4, 7, group)
	r.number(8, 8, kind)
	fill(r)
	if r.err != nil && f.err == nil {
		f.err = fmt.Errorf("record %d of the file: %w", f.records+1, r.err)
	}
	f.out = append(append(f.out, r.bytes...), '\r', '\n')
	f.records++
}

// payer writes the operator's account, at the same positions in file and batches.
func (f *cnabFile) payer(r *record) {
	p := f.batch.From
	document, _ := brazilian(p.BankCode, "document", p.Document)
	r.document(18, document)
	r.text(33, 52, strings.ToUpper(p.Agreement))
	r.number(53, 57, p.Branch)
	r.text(58, 58, strings.ToUpper(p.BranchDigit))
	r.number(59, 70, p.Account)
	r.text(71, 71, strings.ToUpper(p.AccountDigit))
	r.text(73, 102, upper(p.Name, 30))
}

func (f *cnabFile) header(pix bool) {
	p := f.batch.From
	version, _ := p.versions()
	f.add(0, "0", func(r *record) {
		f.payer(r)
		r.text(103, 132, upper(p.BankName, 30))
		r.number(143, 143, "1")
		r.number(144, 151, f.batch.At.Format("02012006"))
		r.number(152, 157, f.batch.At.Format("150405"))
		r.count(158, 163, int64(f.batch.Sequence))
		r.number(164, 166, version)
		r.number(167, 171, "01600")
		if p.BankCode == bradesco {
			bradescoHeader(r, p, pix)
		}
	})
}

func (f *cnabFile) trailer() {
	f.add(9999, "9", func(r *record) {
		r.count(18, 23, f.groups)
		r.count(24, 29, f.records+1)
		r.number(30, 35, "")
	})
}
