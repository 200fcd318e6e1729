package pay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// Stray is money of an order that came otherwise than the payment asked for: after
// the payment had ended, or of another amount. It is with us, or was, and the payment
// does not count it.
type Stray struct {
	Code  AttentionCode
	Order int          // of the attempt that took it
	Local money.Amount // what came
	Claim string       // of late money: the inquiry about it
	End   StrayEnd     // what became of it, "" while that is open
}

// AttentionCode says what about a payment needs somebody to look at it (LATE-6).
type AttentionCode string

// The codes.
const (
	LatePayment    AttentionCode = "late_payment"
	AmountMismatch AttentionCode = "amount_mismatch"
)

// StrayEnd is what became of stray money.
type StrayEnd string

// Ends.
const (
	GivenBack StrayEnd = "given_back" // the shopper has it again
	Accepted  StrayEnd = "accepted"   // the merchant has it
	DealtWith StrayEnd = "dealt_with" // the operator closed the notification, and knows what became of it
)

// PaymentReceived is the reason (details.reason) for which another payment of an order
// is refused.
const PaymentReceived = "payment_received"

// maxStrays bounds how many other amounts a payment remembers: a provider that tells
// of another one each time would fill it. Late money comes once for each attempt.
const maxStrays = 16

// Attention is the oldest stray money that nobody has dealt with.
func (p Payment) Attention() (Stray, bool) {
	for _, s := range p.Strays {
		if s.End == "" {
			return s, true
		}
	}
	return Stray{}, false
}

// Holds reports whether money of the order is, or may be, with us or the merchant
// beside what the payment counts: then nobody may ask the shopper to pay again. Money
// that was given back does not count; of what the operator dealt with by hand, only
// he knows where it is.
func (p Payment) Holds() bool {
	return !p.Unsure.IsZero() || slices.ContainsFunc(p.Strays, func(s Stray) bool { return s.End != GivenBack })
}

// astray notes stray money; false where it was noted before, or too much was.
func (p Payment) astray(s Stray) (Payment, bool) {
	known := func(k Stray) bool {
		return k.Code == s.Code && k.Order == s.Order && k.Local == s.Local && k.Claim == s.Claim
	}
	if slices.ContainsFunc(p.Strays, known) || s.Code == AmountMismatch && len(p.Strays) >= maxStrays {
		return p, false
	}
	p.Strays = append(slices.Clip(p.Strays), s)
	return p, true
}

// end notes what became of stray money that is still open. The slice is new: values
// that were handed out do not change.
func (p Payment) end(of func(Stray) bool, end StrayEnd) (next Payment, ended bool) {
	p.Strays = slices.Clone(p.Strays)
	for i, s := range p.Strays {
		if s.End == "" && of(s) {
			p.Strays[i].End, ended = end, true
		}
	}
	return p, ended
}

// mismatched notes that another amount came than was asked for, and tells the
// merchant so, once for each amount. The payment is written in any case: whoever
// closes the last notification at this moment has to look again.
func (p Payment) mismatched(order int, o Outcome, now time.Time) (Payment, Change) {
	from := p
	p, news := p.astray(Stray{Code: AmountMismatch, Order: order, Local: o.Local})
	p = p.written(from, now)
	if !news {
		return p, Change{Payments: []Payment{p}}
	}
	p, told := p.event(PaymentAttention, from.Status, now)
	return p, Change{Payments: []Payment{p}, Events: []Event{told}}
}

// Dealt is the payment once the operator has closed the last notification that did
// not fit it: nothing needs attention any more, and the merchant is told so. False
// where nothing did.
func (p Payment) Dealt(now time.Time) (Payment, Change, bool) {
	from := p
	p, ended := p.end(func(s Stray) bool { return s.Code == AmountMismatch }, DealtWith)
	if !ended {
		return from, Change{}, false
	}
	p = p.written(from, now)
	p, told := p.event(PaymentAttention, from.Status, now)
	return p, Change{Payments: []Payment{p}, Events: []Event{told}}, true
}

// LastOpen reports whether of all that was told of a payment only one notification that
// did not fit waits for the operator, or none.
func LastOpen(told []Receipt, one Receipt) bool {
	open := map[string]bool{}
	for _, r := range told { // a closing comes after what it closes
		switch r.Verdict {
		case Mismatched:
			open[r.ID] = true
		case Closed:
			delete(open, strings.TrimPrefix(r.ID, closing))
		}
	}
	delete(open, one.ID)
	return len(open) == 0
}

// answered is what a provider said when it was asked, as it is kept. Its id has the
// payment's version: whoever writes it wins that version, so it cannot be there
// already and take with it what else is written.
func (p Payment) answered(attempt Attempt, o Outcome, verdict Verdict, now time.Time) Receipt {
	told := Notice{
		ID: fmt.Sprintf("answer/%s %s v%d", p.Reference(attempt.Order), o.Local, p.Version), Account: attempt.Provider,
		Body: fmt.Appendf(nil, "asked about, the provider says that %s were paid", o.Local),
	}
	if verdict == Mismatched {
		told.Body = fmt.Appendf(told.Body, ", not %s", p.Local)
	}
	return told.receipt(p.ID, verdict, now)
}
