package reconcile

import (
	"slices"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// A shopper may pay one charge with two cards. Some providers then list a line for each card, and for each part of a refund, all with
// the reference of the charge: lines that come to the amount are one.

// parts are the lines of a charge that are less than it, each with a reference of the provider's own.
type parts struct {
	sale  *Sale
	taker pay.Attempt
	lines []Line
}

// part keeps a line that is less than its charge until all come to it, and reports whether it did. Any other line of the charge shows
// that they are no parts.
func (m *Matcher) part(l Line, sale *Sale, taker pay.Attempt) bool {
	price := sale.Payment.Price.Local
	reference := sale.Payment.Reference(taker.Order)
	if _, listed := m.seen[reference]; listed || l.ProviderRef == "" || l.Amount.Currency != price.Currency || l.Amount.Minor >= price.Minor {
		return false
	}
	p := m.parts[reference]
	if p == nil {
		m.parts[reference] = &parts{sale, taker, []Line{l}}
		m.parted = append(m.parted, reference)
		return true
	}
	again := slices.ContainsFunc(p.lines, func(before Line) bool { return before.ProviderRef == l.ProviderRef })
	p.lines = append(p.lines, l)
	switch sum := joined(p.lines); {
	case again, sum.Amount.Minor > price.Minor:
		m.apart(reference)
	case sum.Amount == price:
		delete(m.parts, reference)
		m.whole(sum, sale, taker)
	}
	return true
}

// apart matches the lines of a charge one by one. They had been set aside, because together they might be the whole charge.
func (m *Matcher) apart(reference string) {
	p := m.parts[reference]
	if p == nil { // they added up to the amount, or were matched already
		return
	}
	delete(m.parts, reference)
	for _, l := range p.lines {
		m.whole(l, p.sale, p.taker)
	}
}

// joined is one line for several of one currency: the last one, with the amounts and the fees of all.
func joined(lines []Line) Line {
	all := lines[len(lines)-1]
	for _, l := range lines[:len(lines)-1] {
		all.Amount.Minor += l.Amount.Minor
		all.Unpriced = all.Unpriced || l.Unpriced
		if sum := all.Fee.Minor + l.Fee.Minor; all.Fee.Currency == l.Fee.Currency && sum >= l.Fee.Minor {
			all.Fee.Minor = sum
		} else {
			all.Fee, all.Unpriced = money.Amount{}, true
		}
	}
	return all
}

// rest handles the lines that were kept for others to follow.
func (m *Matcher) rest() {
	for _, reference := range m.parted {
		m.apart(reference)
	}
	m.parted = nil
	m.backInParts()
	for _, u := range m.unequal {
		m.odd(u)
	}
	m.unequal = nil
}

// maxParts bounds the parts of a refund.
const maxParts = 10

// backInParts pairs refunds that were requested with lines that follow each other and come to their amount. The others stay.
func (m *Matcher) backInParts() {
	var others []refundLine
	for left := m.unequal; len(left) > 0; {
		n := m.backWith(left)
		if n == 0 {
			others, n = append(others, left[0]), 1
		}
		left = left[n:]
	}
	m.unequal = others
}

// backWith pairs the first lines with a refund, and returns how many they are.
func (m *Matcher) backWith(list []refundLine) int {
	first := list[0]
	var lines []Line
	for _, next := range list[:min(len(list), maxParts)] {
		if !next.with(first) {
			break
		}
		lines = append(lines, next.line)
		if c, ok := m.unlisted(first, lines); ok {
			m.pair(joined(lines), first.sale, c)
			return len(lines)
		}
	}
	return 0
}

// with reports whether two lines are of one charge. Its sale may have been read more than once.
func (l refundLine) with(other refundLine) bool {
	return l.sale.Payment.ID == other.sale.Payment.ID && l.taker.Order == other.taker.Order
}

// unlisted is a refund that no line names, of the amount of several lines.
func (m *Matcher) unlisted(of refundLine, lines []Line) (pay.Claim, bool) {
	for _, c := range of.sale.refundsAt(of.taker) {
		_, listed := m.seen[c.Reference()]
		same := !slices.ContainsFunc(lines, func(l Line) bool {
			return l.Amount.Currency != c.Local.Currency || l.Amount.Minor >= c.Local.Minor || l.ProviderRef == ""
		})
		if len(lines) > 1 && !listed && same && c.Status.Pays() && joined(lines).Amount == c.Local {
			return c, true
		}
	}
	return pay.Claim{}, false
}
