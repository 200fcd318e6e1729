package reconcile

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// PayoutMatcher is the Matcher for an account that pays out. Call Line for every line of
// its report, then Lines, then Booked for every booking of the period, then End.
type PayoutMatcher struct {
	Account string // the payout account of the report
	Live    bool
	Owner   string // the merchant who owns the account; "" for all merchants
	From    time.Time
	To      time.Time // payouts that arrived or came back from From on and before To must be in the report
	Shared  bool      // see Matcher
	Tell    func(Finding)

	Totals Totals
	paid   map[turn]place
	back   backs
	// Payouts of withdrawals that failed here without arriving: fine if a return follows.
	unsettled []payoutLine
	waiting   []Line // no known reference so far
	byRef     map[string][]int
}

// turn is a withdrawal under one of its references.
type turn struct {
	withdrawal string
	round      int
}

type payoutLine struct {
	line Line
	of   pay.Withdrawal
}

// PayoutNames are the names that a line may have: ids of withdrawals, and references of
// their account.
func (l Line) PayoutNames() (ids, references []string) {
	for _, ref := range []string{l.Reference, l.ProviderRef, l.RefundReference, l.RefundProviderRef} {
		if ref == "" {
			continue
		}
		references = append(references, ref)
		if id, _, ok := pay.ParsePayoutReference(ref); ok {
			ids = append(ids, id)
		}
	}
	return ids, references
}

// named returns the withdrawal's round that a line is about; false if it is about none.
func (l Line) named(w pay.Withdrawal, account string) (round int, ok bool) {
	_, references := l.PayoutNames()
	for _, ref := range references {
		if id, round, ok := pay.ParsePayoutReference(ref); ok && id == w.ID {
			return round, true
		}
		if w.Payout.Provider == account && (ref == w.Payout.ProviderRef || ref == w.Payout.BankRef) {
			return w.Round, true
		}
		for i, a := range w.Tried {
			if a.Account == account && a.ProviderRef == ref {
				return w.Round - len(w.Tried) + i, true
			}
		}
	}
	return 0, false
}

// Line handles the next line of the report, with the withdrawals that it may be about.
func (p *PayoutMatcher) Line(l Line, among []pay.Withdrawal) {
	if p.paid == nil {
		p.paid, p.byRef = map[turn]place{}, map[string][]int{}
	}
	p.Totals.line(l)
	if l.Kind == Other {
		return
	}
	for _, w := range among {
		if round, ok := l.named(w, p.Account); ok && w.Live == p.Live {
			p.match(l, w, round)
			return
		}
	}
	p.waiting = append(p.waiting, l)
	_, references := l.PayoutNames()
	for _, ref := range references {
		p.byRef[ref] = append(p.byRef[ref], len(p.waiting)-1)
	}
}

// Bad handles a line that could not be read.
func (p *PayoutMatcher) Bad(file string, u *Unreadable) {
	p.Totals.Lines++
	p.report(Finding{Discrepancy: BadLine, File: file, Line: u.Number, Note: u.Why})
}

func (p *PayoutMatcher) match(l Line, w pay.Withdrawal, round int) {
	if l.Kind == Return {
		p.matchReturn(l, w, round)
		return
	}
	told := Finding{Discrepancy: PayoutMissingHere, Here: w.Local, USD: w.Net()}
	before, again := p.paid[turn{w.ID, round}]
	p.paid[turn{w.ID, round}] = place{l.File, l.Number}
	switch {
	case again:
		told.Discrepancy, told.Note = PaidOutTwice, fmt.Sprintf("it is also in %s", before)
	case w.Payout.Provider != p.Account && round == w.Round:
		told.Here, told.Note = money.Amount{}, elsewhere(w)
	case round != w.Round:
		p.earlier(l, w, told)
		return
	case w.CompletedAt.IsZero() && w.Status != pay.WithdrawalRefused:
		told.Note = isHere(w)
	case differs(l, w):
		told.Discrepancy, told.USD = PayoutAmount, worthOf(w, l, w.Local)
	case w.CompletedAt.IsZero():
		p.unsettled = append(p.unsettled, payoutLine{l, w})
		return
	default:
		p.Totals.payout(l)
		return
	}
	p.report(p.about(l, w, told))
}

func elsewhere(w pay.Withdrawal) string {
	return "the withdrawal went to the account " + cmp.Or(w.Payout.Provider, "of nobody")
}

func isHere(w pay.Withdrawal) string { return "the withdrawal is " + string(w.Status) + " here" }

// earlier reports a line under an earlier reference of the withdrawal: the account had
// proved that it did not pay under it.
func (p *PayoutMatcher) earlier(l Line, w pay.Withdrawal, told Finding) {
	told.Here, told.Note = money.Amount{}, fmt.Sprintf("the account had proved that it did not pay, and the withdrawal continued; it is %s here", w.Status)
	if l.Kind == Payout && !w.CompletedAt.IsZero() {
		told.Discrepancy = PaidOutTwice
	}
	p.report(p.about(l, w, told))
}

// differs reports whether a line's amount differs from the requested one. The worth of a
// token is not known here.
func differs(l Line, w pay.Withdrawal) bool { return !w.Local.IsZero() && l.Amount != w.Local }

// worthOf is the difference between a line's amount and ours, which is of the withdrawal's currency, in US cents.
func worthOf(w pay.Withdrawal, l Line, ours money.Amount) int64 {
	if l.Amount.Currency != ours.Currency {
		return usdOf(w, ours)
	}
	return usdOf(w, positive(l.Amount.Sub(ours)))
}

// usdOf is the worth of an amount of the withdrawal's currency, in US cents. That of all of it, and of a token, is the net.
func usdOf(w pay.Withdrawal, amount money.Amount) int64 {
	if amount == w.Local || w.Local.IsZero() || amount.Currency != w.Local.Currency {
		return w.Net()
	}
	usd, err := w.Rate.DifferenceInUSD(amount)
	if err != nil {
		return w.Net()
	}
	return usd.Minor
}

// Lines ends the report. It returns whether lines wait for a match by the account's own
// references, for which bookings around the period may be needed.
func (p *PayoutMatcher) Lines() (waiting bool) {
	for _, u := range p.unsettled {
		if p.back.listed(u.of) {
			p.Totals.payout(u.line)
			continue
		}
		p.report(p.about(u.line, u.of, Finding{Discrepancy: PayoutMissingHere, USD: u.of.Net(), Note: "the withdrawal failed here: " + u.of.FailureCode}))
	}
	p.unsettled = nil
	return len(p.waiting) > 0
}

// Booked handles a booking of a withdrawal: it arrived, or, if part is above 0, that part of it came back.
func (p *PayoutMatcher) Booked(w pay.Withdrawal, part int, at time.Time) {
	theirs := []string{w.Payout.ProviderRef, w.Payout.BankRef}
	for _, a := range w.Tried {
		theirs = append(theirs, a.ProviderRef)
	}
	for _, ref := range theirs {
		for _, kind := range []Kind{Payout, Return} {
			if l, ok := p.remove(ref, kind, w); ok {
				round, _ := l.named(w, p.Account)
				p.match(l, w, round)
			}
		}
	}
	if w.Payout.Provider != p.Account || at.Before(p.From) || !at.Before(p.To) {
		return
	}
	if part > 0 {
		p.back.of(w).book(part-1, at)
		return
	}
	if _, listed := p.paid[turn{w.ID, w.Round}]; !listed {
		p.report(missing(PayoutMissingThere, w, w.Local, at))
	}
}

// missing is the finding of a booking that the report does not have.
func missing(what Discrepancy, w pay.Withdrawal, amount money.Amount, at time.Time) Finding {
	return Finding{Discrepancy: what, Merchant: w.Merchant, Withdrawal: w.ID, Reference: w.Reference(), ProviderRef: w.Payout.ProviderRef, Here: amount, USD: usdOf(w, amount),
		Note: "of " + at.Format(time.DateTime)}
}

// remove removes a line that waits under a reference, preferably one with the withdrawal's
// amount, or that of a part that came back: a bank may use one reference for all payouts of a file.
func (p *PayoutMatcher) remove(ref string, kind Kind, w pay.Withdrawal) (Line, bool) {
	found := -1
	for _, i := range p.byRef[ref] {
		l := &p.waiting[i]
		if l.Kind != kind {
			continue
		}
		if found < 0 {
			if _, ok := l.named(w, p.Account); !ok {
				return Line{}, false // another account's reference
			}
			found = i
		}
		if kind == Payout && !differs(*l, w) || kind == Return && p.back.of(w).fits(l.Amount) >= 0 {
			found = i
			break
		}
	}
	if found < 0 {
		return Line{}, false
	}
	l := p.waiting[found]
	p.waiting[found] = Line{}
	return l, true
}

// oursPaidOut is the pattern of our references of payouts.
var oursPaidOut = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{26}(-[0-9]{1,4})?$`)

// End reports the lines that have no explanation.
func (p *PayoutMatcher) End() {
	p.endReturns()
	for _, l := range p.waiting {
		if l.Kind == "" {
			continue // another line explains it
		}
		if _, references := l.PayoutNames(); p.Shared && !slices.ContainsFunc(references, oursPaidOut.MatchString) {
			p.Totals.Foreign++
			continue
		}
		told := Finding{Discrepancy: PayoutMissingHere, File: l.File, Line: l.Number, Merchant: p.Owner, Reference: l.Reference, ProviderRef: l.ProviderRef,
			There: l.Amount, Note: "nothing is known about it here"}
		if l.Kind == Return {
			told.Discrepancy = ReturnMissingHere
		}
		if l.Amount.Currency == money.USD {
			told.USD = l.Amount.Minor
		}
		p.report(told)
	}
	p.waiting = nil
}

// about adds to a finding its place in the report and its owner.
func (p *PayoutMatcher) about(l Line, w pay.Withdrawal, f Finding) Finding {
	f.File, f.Line, f.Withdrawal, f.Merchant, f.There = l.File, l.Number, w.ID, w.Merchant, l.Amount
	f.Reference, f.ProviderRef = l.Reference, l.ProviderRef
	return f
}

func (p *PayoutMatcher) report(f Finding) {
	p.Totals.found(f)
	if p.Tell != nil {
		p.Tell(f)
	}
}
