package reconcile

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Sale is a payment with all its claims, as our books have it now.
type Sale struct {
	Payment pay.Payment
	Claims  []pay.Claim
}

// Sales finds a sale by the id of the payment, or of one of its claims.
type Sales map[string]*Sale

// Booking is money that moved by our books: a capture, or, if Claim is set, a refund or
// late money.
type Booking struct {
	Payment string
	Claim   string
	Back    bool // the money went back to the shopper
	At      time.Time
}

// Matcher compares a report with our books. Call Line for every line of the report, then
// Lines, then Booked for every booking of the period, then End. It calls Tell with each
// difference that it finds.
type Matcher struct {
	Account string // the provider account of the report
	Owner   string // the merchant who owns the account; "" for all merchants
	From    time.Time
	To      time.Time // our payments from From on and before To must be in the report
	// Shared means that other systems use the account too: a line whose reference is not ours is
	// counted, but is not a difference.
	Shared bool
	Tell   func(Finding)
	// Cost is the price of a payment under the account's terms, in USD; false if not known.
	Cost func(pay.Payment) (money.Amount, bool)

	Totals Totals
	seen   map[string]place // by our reference
	twice  map[string]bool  // payments that were reported as charged twice
	// Lines without a known reference of ours wait to be matched by the provider's.
	waiting []Line
	byRef   map[string][]int
	parts   map[string]*parts // by our reference
	parted  []string          // the references of parts, in the report's order
	unequal []refundLine      // refunds of a known charge whose amount matches no request
}

type place struct {
	file string
	line int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

type refundLine struct {
	line  Line
	sale  *Sale
	taker pay.Attempt
}

// Names are the ids that a line may be about: of payments and of claims.
func (l Line) Names() (payments, claims []string) {
	for _, ref := range []string{l.Reference, l.RefundReference} {
		if id, _, ok := pay.ParseReference(ref); ok {
			payments = append(payments, id)
		}
		if id, _, ok := pay.ParseRefundReference(ref); ok {
			claims = append(claims, id)
		}
	}
	return payments, claims
}

// Line handles the next line of the report, with the sales that it names.
func (m *Matcher) Line(l Line, sales Sales) {
	if m.seen == nil {
		m.seen, m.twice, m.byRef, m.parts = map[string]place{}, map[string]bool{}, map[string][]int{}, map[string]*parts{}
	}
	m.Totals.line(l)
	if l.Kind == Other || m.byOurs(l, sales) {
		return
	}
	m.waiting = append(m.waiting, l)
	for _, ref := range []string{l.ProviderRef, l.RefundProviderRef} {
		if ref != "" {
			m.byRef[ref] = append(m.byRef[ref], len(m.waiting)-1)
		}
	}
}

// Bad handles a line that could not be read.
func (m *Matcher) Bad(file string, u *Unreadable) {
	m.Totals.Lines++
	m.report(Finding{Discrepancy: BadLine, File: file, Line: u.Number, Note: u.Why})
}

// byOurs matches a line by our references, and reports whether it could.
func (m *Matcher) byOurs(l Line, sales Sales) bool {
	for _, ref := range []string{l.RefundReference, l.Reference} {
		if id, round, ok := pay.ParseRefundReference(ref); ok && l.Kind == Refund {
			if sale := sales[id]; sale != nil {
				m.refund(l, sale, id, round)
				return true
			}
		}
		id, order, ok := pay.ParseReference(ref)
		sale := sales[id]
		if !ok || sale == nil {
			continue
		}
		if order <= len(sale.Payment.Attempts) {
			m.of(l, sale, sale.Payment.Attempts[order-1])
			return true
		}
		if l.Kind == Charge {
			m.report(m.about(l, sale, Finding{Discrepancy: MissingHere, USD: sale.Payment.Price.Amount.Minor, Note: fmt.Sprintf("the payment has no attempt %d", order)}))
			return true
		}
	}
	return false
}

// of matches a line about a known charge.
func (m *Matcher) of(l Line, sale *Sale, taker pay.Attempt) {
	switch l.Kind {
	case Charge:
		m.charge(l, sale, taker)
	case Refund:
		m.refundOf(l, sale, taker)
	case Chargeback:
		m.chargeback(l, sale)
	}
}

func (m *Matcher) charge(l Line, sale *Sale, taker pay.Attempt) {
	// With interest that the shopper bears, a report may have what the card was charged.
	if p := sale.Payment; taker.Order == p.End.Captured && p.End.Plan.Interest() && l.Amount == p.End.Plan.Total {
		l.Amount = p.Price.Local
	}
	_, again := m.seen[sale.Payment.Reference(taker.Order)]
	if _, stray := m.stray(l, sale.Payment, taker, again); stray || !m.part(l, sale, taker) {
		m.whole(l, sale, taker)
	}
}

// whole matches a line, or all parts of one.
func (m *Matcher) whole(l Line, sale *Sale, taker pay.Attempt) {
	p := sale.Payment
	reference := p.Reference(taker.Order)
	told := Finding{Reference: reference, Here: p.Price.Local, There: l.Amount, USD: p.Price.Amount.Minor}
	before, again := m.seen[reference]
	if s, ok := m.stray(l, p, taker, again); ok {
		m.seen[s.Claim] = place{l.File, l.Number}
		if l.Amount == s.Local {
			m.Totals.charge(l, p, m.Cost)
			return
		}
		told.Here = s.Local
		told.Discrepancy, told.USD = WrongAmount, worth(p, l.Amount.Sub(s.Local))
		m.report(m.about(l, sale, told))
		return
	}
	if again {
		told.Discrepancy, told.Note = ChargedTwice, fmt.Sprintf("the charge is also in %s", before)
		m.report(m.about(l, sale, told))
		return
	}
	m.seen[reference] = place{l.File, l.Number}
	if note := m.twin(sale, taker); note != "" && !m.twice[p.ID] {
		m.twice[p.ID] = true
		told.Discrepancy, told.Note = ChargedTwice, note
		m.report(m.about(l, sale, told))
		return
	}
	switch {
	case taker.Provider != m.Account:
		told.Discrepancy, told.Note = MissingHere, "this attempt went to the account "+taker.Provider
	case !sale.paidBy(taker):
		told.Discrepancy, told.Here = MissingHere, money.Amount{}
		told.Note = fmt.Sprintf("the attempt is %s and the payment %s here", taker.Status, p.Status)
	case l.Amount.Currency != p.Price.Local.Currency:
		told.Discrepancy = WrongMoney
	case l.Amount != p.Price.Local:
		told.Discrepancy, told.USD = WrongAmount, worth(p, l.Amount.Sub(p.Price.Local))
	default:
		m.Totals.charge(l, p, m.Cost)
		return
	}
	m.report(m.about(l, sale, told))
}

// stray is the stray money that a charge's line is about: money that came again, or in another
// amount. It is known by the provider's reference; without one, by its amount. again: the charge
// has a line already.
func (m *Matcher) stray(l Line, p pay.Payment, taker pay.Attempt, again bool) (pay.Stray, bool) {
	for _, s := range p.Strays {
		_, seen := m.seen[s.Claim]
		switch {
		case s.Claim == "" || s.Order != taker.Order || seen || first(s, p, taker) || l.Amount.Currency != s.Local.Currency:
		case l.ProviderRef != "" && (l.ProviderRef == s.MoneyRef || l.ProviderRef == s.ProviderRef):
			return s, true
		case (l.ProviderRef == "" || s.MoneyRef == "" || again && l.ProviderRef != taker.MoneyRef) && l.Amount == s.Local && (again || s.Local != p.Price.Local):
			return s, true
		}
	}
	return pay.Stray{}, false
}

// first reports whether stray money is the first that its attempt took, in the right amount.
func first(s pay.Stray, p pay.Payment, taker pay.Attempt) bool {
	captured := !p.Times.Completed.IsZero() && p.End.Captured == taker.Order
	return !captured && s.Local == p.Price.Local && s.MoneyRef == taker.MoneyRef
}

// worth is an amount of a payment's currency in US cents.
func worth(p pay.Payment, difference money.Amount) int64 {
	usd, err := p.Price.Rate.DifferenceInUSD(positive(difference))
	if err != nil { // more than the payment: use the payment's own worth
		return p.Price.Amount.Minor
	}
	return usd.Minor
}

// twin says which other charge of the payment also took money, "" if none did or that money
// has been dealt with.
func (m *Matcher) twin(sale *Sale, taker pay.Attempt) string {
	p := sale.Payment
	for _, a := range p.Attempts {
		if a.Order == taker.Order {
			continue
		}
		at, listed := m.seen[p.Reference(a.Order)]
		switch {
		case sale.settled(a) || sale.settled(taker):
		case listed:
			return fmt.Sprintf("attempt %d is also charged, in %s", a.Order, at)
		case sale.paidBy(a):
			return fmt.Sprintf("attempt %d at %s is also charged", a.Order, a.Provider)
		}
	}
	return ""
}

// paidBy reports whether our books have money from an attempt.
func (s *Sale) paidBy(a pay.Attempt) bool {
	if a.Status == pay.Approved {
		return true
	}
	return s.Payment.End.Captured == a.Order
}

// settled reports whether it is decided what becomes of an attempt's late money: it was refunded,
// or accepted for the merchant.
func (s *Sale) settled(a pay.Attempt) bool {
	for _, c := range s.Claims {
		if c.Kind == pay.Inquiry && c.Attempt == a.Order && c.Status.Terminal() {
			return true
		}
	}
	return false
}

// there reports whether a refund has to be in the provider's report: it was requested, or the
// provider made it by itself.
func there(c pay.Claim) bool {
	return c.Call.ByHand == "" && c.Call.Round > 0 || c.Origin == pay.ByProvider && c.Call.Ref != ""
}

// refundsAt lists the refunds of a charge that the provider was asked for or made by itself.
func (s *Sale) refundsAt(taker pay.Attempt) []pay.Claim {
	var list []pay.Claim
	for _, c := range s.Claims {
		from, ok := c.PaidAttempt(s.Payment)
		if there(c) && ok && from.Order == taker.Order {
			list = append(list, c)
		}
	}
	return list
}

// refund matches a line about a refund by its own reference.
func (m *Matcher) refund(l Line, sale *Sale, claim string, round int) {
	for _, c := range sale.Claims {
		if c.ID != claim {
			continue
		}
		taker, ok := c.PaidAttempt(sale.Payment)
		told := Finding{Claim: c.ID, Reference: c.Reference(), There: l.Amount, USD: c.USD}
		switch {
		case !ok || taker.Provider != m.Account:
			told.Discrepancy, told.Note = RefundMissingHere, "it is a refund of the account "+taker.Provider
		case round != c.Call.Round:
			told.Discrepancy, told.Note = RefundMissingHere, fmt.Sprintf("the provider had refused try %d, and was asked again", round)
		default:
			m.pair(l, sale, c)
			return
		}
		m.report(m.about(l, sale, told))
	}
}

// refundOf matches a line about a refund that names the charge.
func (m *Matcher) refundOf(l Line, sale *Sale, taker pay.Attempt) {
	list := sale.refundsAt(taker)
	for _, c := range list {
		if c.Call.Ref != "" && c.Call.Ref == l.RefundProviderRef {
			m.pair(l, sale, c)
			return
		}
	}
	// Of two refunds with one amount, a completed one comes before an open one.
	for _, paid := range []bool{true, false} {
		for _, c := range list {
			if _, listed := m.seen[c.Reference()]; !listed && c.Local == l.Amount && c.Status.Pays() == paid {
				m.pair(l, sale, c)
				return
			}
		}
	}
	m.unequal = append(m.unequal, refundLine{l, sale, taker})
}

// pair compares a line with its refund.
func (m *Matcher) pair(l Line, sale *Sale, c pay.Claim) {
	told := Finding{Claim: c.ID, Reference: c.Reference(), Here: c.Local, There: l.Amount, USD: c.USD}
	before, again := m.seen[c.Reference()]
	m.seen[c.Reference()] = place{l.File, l.Number}
	switch {
	case again:
		told.Discrepancy, told.Note = RefundedTwice, fmt.Sprintf("the refund is also in %s", before)
	case c.Status.Terminal() && !c.Status.Pays():
		told.Discrepancy, told.Here, told.Note = RefundMissingHere, money.Amount{}, "the refund is "+string(c.Status)+" here"
	case l.Amount.Currency != c.Local.Currency:
		told.Discrepancy, told.Note = RefundAmount, "in another currency"
	case l.Amount != c.Local:
		told.Discrepancy, told.USD = RefundAmount, worth(sale.Payment, l.Amount.Sub(c.Local))
	default:
		m.Totals.refund(l)
		return
	}
	m.report(m.about(l, sale, told))
}

// Lines ends the report. It reports the refunds whose amount matches no request: as a
// different amount if a refund of the charge has no line, otherwise as unknown. It returns
// whether lines wait for a match by the provider's references, for which bookings around
// the period may be needed.
func (m *Matcher) Lines() (waiting bool) {
	m.rest()
	return len(m.waiting) > 0
}

func (m *Matcher) odd(u refundLine) {
	for _, c := range u.sale.refundsAt(u.taker) {
		if _, listed := m.seen[c.Reference()]; !listed && !(c.Status.Terminal() && !c.Status.Pays()) {
			m.pair(u.line, u.sale, c)
			return
		}
	}
	m.report(m.about(u.line, u.sale, Finding{Discrepancy: RefundMissingHere, Reference: u.sale.Payment.Reference(u.taker.Order), There: u.line.Amount,
		USD:  min(worth(u.sale.Payment, money.New(u.line.Amount.Minor, u.sale.Payment.Price.Local.Currency)), u.sale.Payment.Price.Amount.Minor),
		Note: "no such refund was requested"}))
}

// Booked handles a booking with its sale.
func (m *Matcher) Booked(b Booking, sale *Sale) {
	m.byTheirs(sale)
	p := sale.Payment
	taker, ok := p.Attempts.Get(p.End.Captured)
	var claim pay.Claim
	for _, c := range sale.Claims {
		if c.ID == b.Claim {
			claim = c
			taker, ok = c.PaidAttempt(p)
		}
	}
	inside := !b.At.Before(m.From) && b.At.Before(m.To)
	if !ok || taker.Provider != m.Account || !inside {
		return
	}
	told := Finding{Discrepancy: MissingThere, Reference: p.Reference(taker.Order), ProviderRef: taker.ProviderRef, Here: p.Price.Local, USD: p.Price.Amount.Minor}
	for _, s := range p.Strays {
		if s.Claim == b.Claim && b.Claim != "" && !first(s, p, taker) {
			told.Here, told.Claim, told.USD = s.Local, s.Claim, worth(p, s.Local)
		}
	}
	if b.Back {
		told = Finding{Discrepancy: RefundMissingThere, Claim: claim.ID, Reference: claim.Reference(), ProviderRef: claim.Call.Ref, Here: claim.Local, USD: claim.USD}
		if !there(claim) {
			return
		}
	}
	listed := cmp.Or(told.Claim, told.Reference)
	if b.Back {
		listed = told.Reference
	}
	if _, seen := m.seen[listed]; seen || !b.Back && claim.Kind == pay.Inquiry && claim.Status == pay.ClaimWithdrawn { // the operator found that it never came
		return
	}
	told.Merchant, told.Payment = p.Merchant, p.ID
	told.Note = "of " + b.At.Format("2006-01-02 15:04:05")
	m.report(told)
}

// byTheirs matches waiting lines that name a charge or a refund of the sale by the
// provider's references.
func (m *Matcher) byTheirs(sale *Sale) {
	for _, taker := range sale.Payment.Attempts {
		if taker.Provider != m.Account {
			continue
		}
		for _, c := range sale.refundsAt(taker) {
			for _, i := range m.byRef[c.Call.Ref] {
				if m.waiting[i].Kind == Refund {
					m.pair(m.remove(i), sale, c)
				}
			}
		}
		for _, i := range m.byRef[taker.ProviderRef] {
			if m.waiting[i].Kind != "" {
				m.of(m.remove(i), sale, taker)
			}
		}
	}
	m.rest()
}

// remove removes a line from those that wait.
func (m *Matcher) remove(i int) Line {
	l := m.waiting[i]
	m.waiting[i] = Line{}
	return l
}

// ours is the pattern of our references.
var ours = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{26}-[0-9]{1,3}$`)

// End reports the lines that have no explanation.
func (m *Matcher) End() {
	for _, l := range m.waiting {
		discrepancy := map[Kind]Discrepancy{Charge: MissingHere, Refund: RefundMissingHere, Chargeback: ChargebackMissingHere}[l.Kind]
		if discrepancy == "" {
			continue // another line explains it
		}
		reference := l.Reference
		if l.Kind == Refund && l.RefundReference != "" {
			reference = l.RefundReference
		}
		if m.Shared && !ours.MatchString(l.Reference) && !ours.MatchString(l.RefundReference) {
			m.Totals.Foreign++
			continue
		}
		told := Finding{Discrepancy: discrepancy, File: l.File, Line: l.Number, Merchant: m.Owner, Reference: reference, ProviderRef: l.ProviderRef, There: l.Amount,
			Note: "nothing is known about it here"}
		if l.Amount.Currency == money.USD {
			told.USD = l.Amount.Minor
		}
		m.report(told)
	}
	m.waiting = nil
}

// about adds to a finding its place in the report and its owner.
func (m *Matcher) about(l Line, sale *Sale, f Finding) Finding {
	f.File, f.Line, f.Payment, f.Merchant = l.File, l.Number, sale.Payment.ID, sale.Payment.Merchant
	if f.There.Currency == "" {
		f.There = l.Amount
	}
	if f.Reference == "" {
		f.Reference = l.Reference
	}
	if f.ProviderRef = l.RefundProviderRef; l.Kind != Refund || f.ProviderRef == "" {
		f.ProviderRef = l.ProviderRef
	}
	return f
}

func (m *Matcher) report(f Finding) {
	m.Totals.found(f)
	if m.Tell != nil {
		m.Tell(f)
	}
}
