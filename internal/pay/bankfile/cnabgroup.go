package bankfile

import "strings"

// group writes a batch of CNAB: its header, two records a line, its trailer.
func (f *cnabFile) group(form string, lines []Line) {
	f.groups++
	group, first := f.groups, f.records
	_, version := f.batch.From.versions()
	f.add(group, "1", func(r *record) {
		r.text(9, 9, "C")
		r.number(10, 11, "20") // payments to suppliers
		r.number(12, 13, form)
		r.number(14, 16, version)
		f.payer(r)
		r.number(173, 177, "")
		r.number(213, 217, "")
		r.number(223, 224, "01") // debited from the account
	})
	for i, l := range lines {
		f.add(group, "3", func(r *record) { f.segmentA(r, form, l, int64(2*i+1)) })
		f.add(group, "3", func(r *record) { f.segmentB(r, form, l, int64(2*i+2)) })
	}
	f.close(first, lines, func(r *record) { r.number(60, 65, "") })
}

// close writes the trailer of the batch whose records follow the first ones of the file.
func (f *cnabFile) close(first int64, lines []Line, more func(*record)) {
	sum, err := total(lines)
	if err != nil && f.err == nil {
		f.err = err
	}
	f.add(f.groups, "5", func(r *record) {
		r.count(18, 23, f.records-first+1)
		r.count(24, 41, sum)
		r.number(42, 59, "")
		more(r)
	})
}

func (f *cnabFile) segmentA(r *record, form string, l Line, sequence int64) {
	r.count(9, 13, sequence)
	r.text(14, 14, "A")
	r.number(15, 17, "") // a new payment, released
	r.number(18, 20, house(form))
	var a account240 // empty for Pix: the key is in segment B
	if form != formPix {
		a, _ = l.brazilianAccount()
	}
	r.number(21, 23, a.bank)
	r.number(24, 28, a.branch)
	r.text(29, 29, a.branchDigit)
	r.number(30, 41, a.number)
	r.text(42, 42, a.digit)
	r.text(44, 73, upper(l.Name, 30))
	r.text(74, 93, l.Reference)
	r.number(94, 101, f.batch.At.Format("02012006"))
	r.text(102, 104, "BRL")
	r.number(105, 119, "")
	r.count(120, 134, l.Amount.Minor)
	r.number(155, 162, "")
	r.number(163, 177, "")
	if form == formTED || form == formOwnTED {
		r.text(220, 224, "00010") // credit in account
		r.text(225, 226, "CC")
		if l.AccountType == "savings" {
			r.text(225, 226, "PP")
		}
	}
	r.number(230, 230, "")
}

func (f *cnabFile) segmentB(r *record, form string, l Line, sequence int64) {
	document, _ := l.holder(f.batch.From.BankCode)
	r.count(9, 13, sequence)
	r.text(14, 14, "B")
	r.document(18, document)
	r.number(227, 232, "")
	r.number(233, 240, "")
	if form == formPix {
		key, _ := l.account()
		r.text(15, 17, pixKind(key))
		// The key keeps its case: the central bank's directory of keys does not hold it in upper
		// case.
		r.text(128, 226, key)
		return
	}
	// The address is not known; its numeric fields must be zero all the same.
	switch f.batch.From.BankCode {
	case bradesco:
		r.number(63, 67, "")
	default:
		r.number(68, 72, "")
	}
	r.number(118, 122, "")
	// Bradesco refuses a payment without the nominal date and amount. They are those of segment A.
	r.number(128, 135, f.batch.At.Format("02012006"))
	r.count(136, 150, l.Amount.Minor)
	r.number(151, 210, "") // abatement, discount, interest, fine
	r.number(226, 226, "")
}

// keyDocument is the kind of a Pix key that is a CPF or CNPJ.
const keyDocument = "03"

// pixKind is the form of initiation (G100) of a key. A CPF or CNPJ is written both at 19
// and in the place of keys: manuals name the first, but some banks require the second.
func pixKind(key string) string {
	switch {
	case strings.HasPrefix(key, "+"):
		return "01"
	case strings.Contains(key, "@"):
		return "02"
	case len(key) != 36:
		return keyDocument
	}
	return "04"
}
