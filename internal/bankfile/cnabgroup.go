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
	sum, err := total(lines)
	if err != nil && f.err == nil {
		f.err = err
	}
	f.add(group, "5", func(r *record) {
		r.count(18, 23, f.records-first+1)
		r.count(24, 41, sum)
		r.number(42, 59, "")
		r.number(60, 65, "")
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
	r.text(29, 29, strings.ToUpper(a.branchDigit))
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
	document, _ := l.holder()
	r.count(9, 13, sequence)
	r.text(14, 14, "B")
	r.number(18, 18, documentKind(document))
	r.number(19, 32, document)
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
	r.number(128, 210, "") // due date, and unused amounts
	r.number(226, 226, "")
}

// pixKind is the form of initiation (G100) of a key. A CPF or CNPJ is written both at 19
// and in the place of keys: manuals name the first, but some banks require the second.
func pixKind(key string) string {
	switch {
	case strings.HasPrefix(key, "+"):
		return "01"
	case strings.Contains(key, "@"):
		return "02"
	case digits(key):
		return "03"
	}
	return "04"
}
