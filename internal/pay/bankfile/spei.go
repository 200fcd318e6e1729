package bankfile

import "strconv"

// speiSize is the length of a record in bytes, without the end of the line.
const speiSize = 128

// bbvaMexico is the prefix of BBVA México's CLABEs.
const bbvaMexico = "012"

func speiLayout() Layout {
	return Layout{
		Name:   "spei-bbva",
		Title:  "BBVA México, Net Cash, transfers to other banks (PAGOSINT, SPEI)",
		Fields: []Field{{"account", "the account at BBVA that is debited, up to 18 digits", false}},
		payer: func(p Payer) error {
			if len(p.Account) > 18 || !digits(p.Account) {
				return problem("account", "must be at most 18 digits")
			}
			return nil
		},
		check: speiCheck,
		write: speiWrite,
	}
}

func speiCheck(_ Payer, l Line) error {
	if l.Network != "spei" {
		return problem("network", "must be spei")
	}
	clabe, err := l.account()
	switch {
	case err != nil:
		return err
	case clabe[:3] == bbvaMexico:
		return problem("destination", "is at BBVA itself: this file is for other banks only")
	case l.Amount.Currency != "MXN":
		return problem("amount", "must be in MXN")
	case l.Number < 1 || l.Number > 9_999_999:
		return problem("number", "must be 1 to 9999999")
	}
	return named(l.Name, upper(l.Name, 30))
}

// speiWrite writes a record for each line. The layout has no header and no
// trailer.
func speiWrite(b Batch, lines []Line) (out []byte, err error) {
	for _, l := range lines {
		clabe, _ := l.account()
		r := newRecord(speiSize)
		r.number(1, 18, clabe)
		r.number(19, 36, b.From.Account)
		r.text(37, 39, "MXP")
		r.count(40, 52, l.Amount.Minor/100)
		r.text(53, 53, ".")
		r.count(54, 55, l.Amount.Minor%100)
		r.text(56, 85, upper(l.Name, 30))
		r.number(86, 87, "40") // a CLABE, not a card
		r.number(88, 90, clabe[:3])
		r.text(91, 120, l.Reference)
		r.number(121, 127, strconv.Itoa(l.Number))
		r.text(128, 128, "H") // today
		if r.err != nil {
			return nil, r.err
		}
		out = append(append(out, r.bytes...), '\r', '\n')
	}
	return out, nil
}
