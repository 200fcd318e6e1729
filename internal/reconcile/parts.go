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
	at := slices.IndexFunc(m.parts, func(p parts) bool { return p.sale.Payment.Reference(p.taker.Order) == reference })
	if at < 0 {
		m.parts = append(m.parts, parts{sale, taker, []Line{l}})
		return true
	}
	p := &m.parts[at]
	again := slices.ContainsFunc(p.lines, func(before Line) bool { return before.ProviderRef == l.ProviderRef })
	p.lines = append(p.lines, l)
	switch sum := joined(p.lines); {
	case again, sum.Amount.Minor > price.Minor:
		m.apart(at)
	case sum.Amount == price:
		m.parts = slices.Delete(m.parts, at, at+1)
		m.whole(sum, sale, taker)
	}
	return true
}

// apart matches lines that were kept as parts one by one.
func (m *Matcher) apart(at int) {
	p := m.parts[at]
	m.parts = slices.Delete(m.parts, at, at+1)
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
	for len(m.parts) > 0 {
		m.apart(0)
	}
	m.backInParts()
	for _, u := range m.unequal {
		m.odd(u)
	}
	m.unequal = nil
}

// maxParts bounds the parts of a refund.
const maxParts = 10

// backInParts pairs refunds that were requested with lines that follow each other and come to their amount.
func (m *Matcher) backInParts() {
	for from := 0; from < len(m.unequal); from++ {
		first := m.unequal[from]
		var lines []Line
		for to := from; to < min(len(m.unequal), from+maxParts) && m.unequal[to].sale == first.sale && m.unequal[to].taker.Order == first.taker.Order; to++ {
			lines = append(lines, m.unequal[to].line)
			c, ok := m.unlisted(first, lines)
			if !ok {
				continue
			}
			m.pair(joined(lines), first.sale, c)
			m.unequal = slices.Delete(m.unequal, from, to+1)
			from--
			break
		}
	}
}

// unlisted is a refund that no line names, of the amount of several lines.
func (m *Matcher) unlisted(of refundLine, lines []Line) (pay.Claim, bool) {
	for _, c := range of.sale.asked(of.taker) {
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
