package bankfile

import (
	"cmp"
	"strings"
)

// Positions in this file are those of Itaú's own manual of SISPAG, version 085 (the first with
// Pix), whose file layout is 080. Version 083 (January 2017) says the same of credits and TED, and
// an implementation of version 086 (wlrsilveira/cnab-sispag a9279c3, July 2026) of Pix. Where
// the manuals ask for "zeros or blanks by the picture", the picture decides.
//
// Not proved, because no file has met the bank's validator: whether the bank wants the part of
// a Pix that is meant for a message (63-127) in blanks, as two implementations write it, or in
// zeros, as its picture says; and the house of a TED (18-20). Both manuals (note 35) have zeros for all
// but brokers, and so does Stark Bank's library; two implementations write 018.

// sispagName is the layout's name.
const sispagName = "sispag-itau"

func sispagLayout() Layout {
	return Layout{
		Name:  sispagName,
		Title: "Itaú (Brazil), SISPAG: Pix by key, TED, and credit in account",
		Fields: []Field{
			{"name", "the company's name", false},
			{"document", "its CNPJ or CPF", false},
			{"branch", "the branch, up to 4 digits", false},
			{"account", "the account, without its check digit", false},
			{"account_digit", "its check digit (DAC)", false},
			{"file_version", "the file's layout version at 15 to 17, if the bank requires another than 080", true},
			{"batch_version", "the batch's layout version at 14 to 16, if the bank requires another than 040", true},
		},
		payer: sispagPayer,
		check: sispagCheck,
		write: sispagWrite,
	}
}

func sispagPayer(p Payer) error {
	p.BankCode = itau
	if err := p.brazilian(); err != nil {
		return err
	}
	switch {
	case len(p.Branch) > 4:
		return problem("branch", "must be at most 4 digits for Itaú")
	case !digits(p.AccountDigit):
		return problem("account_digit", "must be one digit")
	}
	return nil
}

func sispagCheck(_ Payer, l Line) error {
	if err := l.brazilian(itau); err != nil {
		return err
	}
	if l.Network == "pix" {
		return nil
	}
	a, err := l.brazilianAccount()
	switch {
	case err != nil:
		return err
	case a.bank != itau:
		return nil
	case len(a.branch) > 4:
		return problem("branch", "must be at most 4 digits for Itaú")
	case len(a.number) > 6 || !digits(a.digit):
		return problem("destination", "must be an account of at most 6 digits and a check digit for Itaú")
	}
	return nil
}

// sispagForm is the form of payment of a line: the payer's own current account at Itaú has one of its own.
func (l Line) sispagForm(p Payer) string {
	form := l.form(p)
	if form == formCredit && l.own(p) {
		return formOwn
	}
	return form
}

func sispagWrite(b Batch, lines []Line) ([]byte, error) {
	b.From.BankCode = itau
	groups, err := byForm(lines, func(l Line) string { return l.sispagForm(b.From) })
	if err != nil {
		return nil, err
	}
	f := &cnabFile{batch: b}
	f.add(0, "0", func(r *record) {
		r.number(15, 17, cmp.Or(b.From.FileVersion, "080"))
		f.sispagPayer(r)
		r.text(103, 132, "BANCO ITAU SA")
		r.number(143, 143, "1")
		r.number(144, 151, b.At.Format("02012006"))
		r.number(152, 157, b.At.Format("150405"))
		r.number(158, 171, "")
	})
	for _, form := range forms {
		if len(groups[form]) > 0 {
			f.sispagGroup(form, groups[form])
		}
	}
	f.add(9999, "9", func(r *record) {
		r.count(18, 23, f.groups)
		r.count(24, 29, f.records+1)
	})
	return f.out, f.err
}

// sispagPayer writes the operator's account, at the same positions in file and batches.
func (f *cnabFile) sispagPayer(r *record) {
	p := f.batch.From
	document, _ := brazilian(itau, "document", p.Document)
	r.document(18, document)
	r.number(53, 57, p.Branch)
	r.number(59, 70, p.Account)
	r.number(72, 72, p.AccountDigit)
	r.text(73, 102, upper(p.Name, 30))
}

// sispagGroup writes a batch: its header, two records a line, its trailer.
func (f *cnabFile) sispagGroup(form string, lines []Line) {
	f.groups++
	group, first := f.groups, f.records
	f.add(group, "1", func(r *record) {
		r.text(9, 9, "C")
		r.number(10, 11, "20") // payments to suppliers
		r.number(12, 13, form)
		r.number(14, 16, cmp.Or(f.batch.From.BatchVersion, "040"))
		f.sispagPayer(r)
		r.number(173, 177, "") // the company's address
		r.number(213, 220, "")
	})
	for i, l := range lines {
		number := int64(i + 1) // of the payment: both segments have the same
		f.add(group, "3", func(r *record) { f.sispagA(r, form, l, number) })
		f.add(group, "3", func(r *record) { f.sispagB(r, form, l, number) })
	}
	f.close(first, lines, func(*record) {})
}

func (f *cnabFile) sispagA(r *record, form string, l Line, number int64) {
	document, _ := l.holder(itau)
	r.count(9, 13, number)
	r.text(14, 14, "A")
	r.number(15, 17, "") // a new payment
	if form == formPix {
		r.number(18, 20, house(form))
		r.number(21, 23, "")
		r.text(113, 114, "04") // by key
	} else {
		a, _ := l.brazilianAccount()
		r.number(18, 20, "") // a house is named only for brokers
		r.number(21, 23, a.bank)
		r.number(24, 28, a.branch) // without its check digit
		r.number(30, 41, a.number)
		r.text(43, 43, a.digit)
	}
	r.text(44, 73, upper(l.Name, 30))
	r.text(74, 93, l.Reference)
	r.number(94, 101, f.batch.At.Format("02012006"))
	r.text(102, 104, "REA")
	r.number(115, 119, "")
	r.count(120, 134, l.Amount.Minor)
	r.number(155, 162, "")
	r.number(163, 177, "")
	r.number(198, 203, "")
	r.inscription(204, 217, document)
	if form == formTED || form == formOwnTED {
		r.text(220, 224, "00010") // credit in account
	}
	r.text(230, 230, "0") // no notice
}

// sispagB has the payee's document, which segment A alone cannot tell from a CPF if it begins
// with zeros, and the Pix key.
func (f *cnabFile) sispagB(r *record, form string, l Line, number int64) {
	document, _ := l.holder(itau)
	r.count(9, 13, number)
	r.text(14, 14, "B")
	r.document(18, document)
	if form == formPix {
		key, _ := l.account()
		r.text(15, 16, pixKind(key))
		r.text(128, 227, key)
		return
	}
	r.number(63, 67, "") // the payee's address
	r.number(118, 125, "")
}

// itauCodes are the occurrences of Itaú's manual (note 8). Codes of bills, taxes and payslips
// are left out. HA and HM are too: versions 083 and 085 give them different meanings.
var itauCodes = map[string]occurrence{
	"00": {paidCode, "", "paid"},

	"BD": {accepted, "", "scheduled, not paid yet"},
	"BE": {accepted, "", "scheduled as a payment order instead: find out whether it is paid"},
	"AE": {accepted, "", "its date was changed"},
	"IR": {accepted, "", "changed"},
	"LA": {accepted, "", "the date of the batch was changed"},
	"EM": {accepted, "", "a payment order was issued: find out whether it is paid"},
	"CP": {accepted, "", "a payment order was cashed: find out by whom"},
	"EX": {accepted, "", "a payment order was not cashed: find out whether the money came back"},

	"DV": {cameBack, "", "the payee's bank returned it"},

	"AG": {refusedCode, "", "the batch number is wrong"},
	"AH": {refusedCode, "", "the sequence number in the batch is wrong"},
	"AJ": {refusedCode, "", "the kind of movement is wrong"},
	"AL": {refusedCode, InvalidAccount, "the payee's bank is wrong"},
	"AM": {refusedCode, InvalidAccount, "the payee's branch is wrong"},
	"AN": {refusedCode, InvalidAccount, "the payee's account is wrong"},
	"AO": {refusedCode, "", "the payee's name is wrong"},
	"AP": {refusedCode, "", "the date is wrong"},
	"AQ": {refusedCode, "", "there are too many records"},
	"AR": {refusedCode, "", "the amount is wrong"},
	"BC": {refusedCode, "", "the bank's number is wrong"},
	"BI": {refusedCode, "", "the payee's document is wrong"},
	"CD": {refusedCode, InvalidAccount, "the document is not the account holder's"},
	"CE": {refusedCode, "", "cancelled"},
	"CI": {refusedCode, "", "the payee's document is wrong"},
	"CK": {refusedCode, "", "the kind of document is wrong"},
	"CN": {refusedCode, InvalidAccount, "there is no such account"},
	"IM": {refusedCode, "", "the form of payment does not fit its kind"},
	"IN": {refusedCode, InvalidAccount, "the payee's bank or branch is not known"},
	"LC": {refusedCode, "", "the batch was cancelled"},
	"NA": {refusedCode, "", "cancelled: nobody authorised it"},
	"NR": {refusedCode, "", "not done"},
	"RJ": {refusedCode, "", "rejected"},
	"SS": {refusedCode, "", "cancelled: the payer's balance or daily limit is too low"},
	"TA": {refusedCode, "", "the totals of the batch differ"},
	"TI": {refusedCode, "", "the form of payment does not fit the account's holder"},
}

// reais reports whether the currency in segment A is BRL, in the words of FEBRABAN or of Itaú.
func reais(word string) bool {
	switch strings.ToUpper(word) {
	case "", "BRL", "REA", "009":
		return true
	}
	return false
}
