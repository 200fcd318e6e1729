package pay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/hook"
)

// Notice is a provider's notification in our words. Whether it was signed has
// been checked.
type Notice struct {
	ID        string // the provider's own id of it; the same one is applied once
	Account   string // the provider account that it came to
	Reference string // ours, of the charge
	Refund    string // ours, of a refund, where that is what the outcome is of
	Outcome   Outcome
	Dispute   bool   // the issuer takes the money back, and this is how it stands
	Ruling    Ruling // how the dispute ended; "" when the notice is about something else
	Body      []byte

	// Of a dispute, open or ended. Outcome.Message says why, and Outcome.Local what is
	// disputed; zero where the provider does not tell.
	DisputeID string    // the provider's; "" where it has none
	Instance  int       // whose word it is: 0 and 1 are the first's, 2 is the one's after it
	Stage     string    // the provider's own word for where it stands, for operators
	Network   string    // the card network's code of the reason
	RespondBy time.Time // until when evidence counts; zero for our own time
	Reviewing bool      // the evidence is in: nobody waits for the merchant
}

// Receipt is a notice as it is kept: each once, with what was done about it.
type Receipt struct {
	ID      string // account and the provider's id
	Account string
	Payment string
	Verdict Verdict
	Body    []byte
	At      time.Time
}

// Closes reports whether r says that the operator has dealt with another notification.
func (r Receipt) Closes(other Receipt) bool { return r.ID == closing+other.ID }

// closing begins the id of what says that the operator has dealt with a notification.
const closing = "/closed/"

// Verdict says what was done about a notice.
type Verdict string

// Verdicts.
const (
	Applied    Verdict = "applied"
	Ignored    Verdict = "ignored"    // it told nothing new
	Late       Verdict = "late"       // money came after the end: suspense and an inquiry
	Mismatched Verdict = "mismatched" // other amount or currency: for the operator
	Closed     Verdict = "closed"     // the operator has dealt with one that did not fit
)

// Close notes that the operator has dealt with a notification that did not fit its
// payment. The Change is once only.
//
// Its receipt has an id that no account's notification can have.
//
// Errors: that it needs nobody.
func (r Receipt) Close(note string, now time.Time) (Change, error) {
	if r.Verdict != Mismatched {
		return Change{}, fmt.Errorf("notification %s is %s: there is nothing to close", r.ID, r.Verdict)
	}
	return Change{Receipts: []Receipt{{
		ID: closing + r.ID, Account: r.Account, Payment: r.Payment, Verdict: Closed, Body: []byte(note), At: now,
	}}}, nil
}

// TakenAt reports whether a reference is of an attempt at a provider account. A
// notification of another account tells nothing of it, whoever signed that.
func (p Payment) TakenAt(reference, account string) bool {
	_, order, ok := ParseReference(reference)
	return ok && order <= len(p.Attempts) && p.Attempts[order-1].Provider == account
}

// ConfirmRefund applies a notice of a refund to its claim. The Change always
// keeps the receipt. What is told of a refund that has ended is kept for the
// operator where it says otherwise.
func (c Claim) ConfirmRefund(p Payment, n Notice, now time.Time) (Claim, Change) {
	next, change, verdict := c, Change{}, Ignored
	switch _, round, ok := ParseRefundReference(n.Refund); {
	case !ok:
	case c.contradicts(round, n.Outcome):
		verdict = Mismatched
	case round != c.Call.Round:
	case c.Calling() && c.misfits(n.Outcome):
		next, change = c.hold(p, n.Outcome, now)
		verdict = Mismatched
	case c.Calling():
		next, change = c.Called(p, n.Outcome.Asked(), now)
		verdict = Applied
	}
	change.Receipts = []Receipt{n.receipt(p.ID, verdict, now)}
	return next, change
}

// Confirm applies a notice to the payment. The Change always keeps the
// receipt; whether anything else is in it is the verdict. News of a dispute is for
// Contest, which knows the claims: here it is taken for the first there is.
func (p Payment) Confirm(n Notice, c Cascade, claimID string, now time.Time) (Payment, Change) {
	if n.OfDispute() {
		return p.Contest(n, nil, [2]string{claimID}, now)
	}
	next, change, verdict := p.confirm(n, c, claimID, now)
	change.Receipts = []Receipt{n.receipt(p.ID, verdict, now)}
	return next, change
}

func (n Notice) receipt(payment string, verdict Verdict, now time.Time) Receipt {
	return Receipt{ID: n.Account + "/" + n.ID, Account: n.Account, Payment: payment, Verdict: verdict, Body: n.Body, At: now}
}

func (p Payment) confirm(n Notice, c Cascade, claimID string, now time.Time) (Payment, Change, Verdict) {
	_, order, ok := ParseReference(n.Reference)
	if !ok || order > len(p.Attempts) {
		return p, Change{}, Mismatched
	}
	n.Outcome = n.Outcome.Asked()
	paid := n.Outcome.Kind == Approved
	if p.misfits(n.Outcome) {
		next, change := p.mismatched(order, n.Outcome, now)
		return next, change, Mismatched
	}
	switch {
	case p.Status == Processing && n.Outcome.Kind == Awaiting && n.Outcome.FormURL == "":
		return p, Change{}, Ignored // where to send the shopper, the call's answer or a query says
	case p.Status.Open() && (order == len(p.Attempts) || paid):
		next, change := p.resolveNotice(n, order, c, now)
		return next, change, Applied
	case paid && p.Attempts[order-1].Status != Approved:
		reason := "paid after the payment had ended"
		if !p.Times.Completed.IsZero() {
			reason = "paid twice: another attempt had completed the payment"
		}
		next, change := p.late(order, n.Outcome, claimID, reason, now)
		return next, change, Late
	case p.denied(order, n.Outcome):
		return p, Change{}, Mismatched
	}
	return p, Change{}, Ignored
}

// resolveNotice is Resolve for an attempt that may not be the last one.
func (p Payment) resolveNotice(n Notice, order int, c Cascade, now time.Time) (Payment, Change) {
	if order != len(p.Attempts) {
		// An earlier attempt did charge after all. The later one is left as it
		// is; should it be paid too, that money goes to suspense.
		from := p
		p.Attempts = p.noted(order, n.Outcome, now)
		return p.complete(from, order, n.Outcome, now)
	}
	return p.Resolve(n.Outcome, c, now)
}

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
	p, told := p.event(hook.PaymentAttention, from.Status, now)
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
	p, told := p.event(hook.PaymentAttention, from.Status, now)
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
		told.Body = fmt.Appendf(told.Body, ", not %s", p.Price.Local)
	}
	return told.receipt(p.ID, verdict, now)
}
