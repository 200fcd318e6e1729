package reconcile

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// A payout may come back in parts, each with a booking and a line of its own. A line has no name for its part, so it is matched by
// its amount. What fits no part waits for the end: only then is it known which part no other line has.

// backs are the withdrawals with lines or bookings of money that came back, in the order in which they were seen.
type backs struct {
	byID  map[string]*comeback
	order []*comeback
}

// comeback is what came back of a withdrawal.
type comeback struct {
	of    pay.Withdrawal
	parts []money.Amount    // as booked; without a currency if the amount is not known here
	seen  map[int]place     // where the report has a part
	at    map[int]time.Time // when a part of the period was booked
	odd   []Line            // their amount is of no part that was left
}

// of returns what came back of a withdrawal.
func (b *backs) of(w pay.Withdrawal) *comeback {
	if c, known := b.byID[w.ID]; known {
		return c
	}
	if b.byID == nil {
		b.byID = map[string]*comeback{}
	}
	c := &comeback{of: w, parts: partsOf(w), seen: map[int]place{}, at: map[int]time.Time{}}
	b.byID[w.ID] = c
	b.order = append(b.order, c)
	return c
}

// listed reports whether the report has money of a withdrawal that came back.
func (b *backs) listed(w pay.Withdrawal) bool {
	c, known := b.byID[w.ID]
	return known && len(c.seen)+len(c.odd) > 0
}

// partsOf are the parts of a payout that came back, in the currency that arrived. One that failed without arriving is returned whole.
func partsOf(w pay.Withdrawal) []money.Amount {
	switch {
	case w.Returns == 0 && w.Status == pay.WithdrawalRefused:
		return []money.Amount{w.Local}
	case w.Local.IsZero():
		return make([]money.Amount, w.Returns) // the worth of a token is not known here
	}
	var parts []money.Amount
	for _, minor := range w.ReturnedParts {
		parts = append(parts, money.New(minor, w.Local.Currency))
	}
	return parts
}

// fits returns the first part with an amount that no line has yet; below zero if there is none.
func (c *comeback) fits(amount money.Amount) int {
	for i, part := range c.parts {
		if _, listed := c.seen[i]; !listed && (part == amount || part.Currency == "") {
			return i
		}
	}
	return -1
}

// book records that a part was booked within the period, so that the report must have it.
func (c *comeback) book(part int, at time.Time) {
	if part < len(c.parts) {
		c.at[part] = at
	}
}

func (p *PayoutMatcher) matchReturn(l Line, w pay.Withdrawal, round int) {
	told := Finding{Discrepancy: ReturnMissingHere, USD: usdOf(w, l.Amount)}
	c := p.back.of(w)
	switch {
	case w.Payout.Provider != p.Account && round == w.Round:
		told.Note = elsewhere(w)
	case round != w.Round:
		p.earlier(l, w, told)
		return
	case len(c.parts) == 0:
		told.Here, told.Note = w.Local, isHere(w)
	default:
		part := c.fits(l.Amount)
		if part < 0 {
			c.odd = append(c.odd, l)
			return
		}
		c.seen[part] = place{l.File, l.Number}
		p.Totals.refund(l)
		return
	}
	p.report(p.about(l, w, told))
}

// endReturns reports, for each withdrawal, lines that are of no part, and parts that no line has.
func (p *PayoutMatcher) endReturns() {
	for _, c := range p.back.order {
		missed := c.missed()
		for _, l := range c.odd {
			missed = p.odd(c, l, missed)
		}
		for _, part := range missed {
			p.report(missing(ReturnMissingThere, c.of, c.parts[part], c.at[part]))
		}
	}
	p.back = backs{}
}

// missed are the parts of the period that no line has. A line of an equal part that was booked at another time is theirs.
func (c *comeback) missed() (missed []int) {
	for i := range c.parts {
		_, due := c.at[i]
		if _, seen := c.seen[i]; seen || !due {
			continue
		}
		found := false
		for j, at := range c.seen {
			if _, due := c.at[j]; !due && c.parts[j] == c.parts[i] {
				delete(c.seen, j)
				c.seen[i], found = at, true
				break
			}
		}
		if !found {
			missed = append(missed, i)
		}
	}
	return missed
}

// odd handles a line that fits no part: it is all missed parts together, one of them with another amount, or a part that is not booked
// here. It returns the parts that are still missed.
func (p *PayoutMatcher) odd(c *comeback, l Line, missed []int) []int {
	all := money.New(0, l.Amount.Currency)
	for _, part := range missed {
		if c.parts[part].Currency == all.Currency {
			all = all.Add(c.parts[part])
		}
	}
	_, only := c.seen[0]
	switch only = len(c.parts) == 1 && !only; {
	case len(missed) > 1 && all == l.Amount: // the bank may send several parts as one
		p.Totals.refund(l)
		return nil
	case len(missed) > 0 || only:
		part := 0
		if len(missed) > 0 {
			part, missed = missed[0], missed[1:]
		}
		c.seen[part] = place{l.File, l.Number}
		p.report(p.about(l, c.of, Finding{Discrepancy: PayoutAmount, Here: c.parts[part], USD: worthOf(c.of, l, c.parts[part]), Note: "of the return"}))
		return missed
	}
	told := Finding{Discrepancy: ReturnMissingHere, USD: usdOf(c.of, l.Amount), Note: "no other part came back here"}
	for i, at := range c.seen {
		if c.parts[i] == l.Amount {
			told.Note = fmt.Sprintf("it is also in %s", at)
		}
	}
	p.report(p.about(l, c.of, told))
	return missed
}
