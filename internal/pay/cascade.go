package pay

import (
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// Route is a rail at a provider.
type Route struct {
	Provider string
	Why      string   // why it is at this place in the cascade, for the operator
	Passed   []string // the accounts that were passed over, and why
}

// Cascade is the list of routes on which a payment may be tried, in order, within the budget.
type Cascade struct {
	Routes []Route
	Budget Budget
	Retry  RetryLimits
	// Decider is the name of the operator's rule with conditions that decided where it begins; "" if none did.
	Decider string
	By      Caller // makes the next call; zero if no call may follow
	Claim   string // id of the inquiry that money of another amount opens
}

// Budget limits the attempts of a payment. Zero means no limit.
type Budget struct {
	Attempts int           `json:"attempts"` // the most attempts
	Time     time.Duration `json:"time"`     // counted from the payment's creation; no attempt begins later
}

// sweepEvery is the period of the sweep that queries providers (SVC-11).
const sweepEvery = 5 * time.Minute

// next returns the first route that has not been tried.
func (ca Cascade) next(done Attempts) (Route, bool) {
	for _, r := range ca.Routes {
		if !done.Tried(r.Provider) {
			return r, true
		}
	}
	return Route{}, false
}

// Begin returns the change that creates a payment. Its first attempt is the intent: the call is
// made after the Change is committed, and if the node dies in between, the sweep finishes the
// attempt. If no provider account is available, the payment fails (ERR-18).
func (p Payment) Begin(c Cascade, now time.Time) (Payment, Change) {
	from := p
	p.Work.caller = c.By
	r, ok := c.next(p.Attempts)
	if !ok {
		p.fail(Failure{Code: string(problem.CascadeExhausted), Message: "no provider takes this payment method now"}, now)
		p.answer()
		p, change := p.finish(&from, now)
		made := from
		made.written(&from, now)
		change.Events = append([]Event{made.first(webhooks.PaymentCreated, "", now).showing(made)}, change.Events...)
		return p, change
	}
	p.try(r, now)
	p.written(&from, now)
	return p, p.writes(p.first(webhooks.PaymentCreated, "", now))
}

func (p *Payment) try(r Route, now time.Time) {
	p.Attempts = append(slices.Clip(p.Attempts), Attempt{
		Order: len(p.Attempts) + 1, Provider: r.Provider, Status: Sending, Started: now.UnixMicro(), Flight: Flight{}.begin(p.Work.caller),
		Why: r.Why, Passed: r.Passed,
	})
	p.Work.Owner, p.Work.DueAt = p.Work.caller.Node, now.Add(callLease)
}

// Resend is the intent to repeat the current attempt's call under the same reference, so that the
// provider charges once. Its previous owner did not make the call, or died during it.
func (p Payment) Resend(by Caller, now time.Time) (Payment, Change) {
	from := p
	p.Work.caller = by
	p.Attempts = slices.Clone(p.Attempts)
	a := &p.Attempts[len(p.Attempts)-1]
	a.Status, a.Flight = Sending, a.begin(p.Work.caller)
	p.Work.Owner, p.Work.DueAt = p.Work.caller.Node, now.Add(callLease)
	p.written(&from, now)
	return p, Change{Payments: []Payment{p}}
}

// applyOutcome is ApplyAnswer without the further money that the outcome lists.
func (p Payment) applyOutcome(o Outcome, c Cascade, now time.Time) (Payment, Change) {
	p.Work.caller = c.By
	from := p
	attempt, ok := p.Attempts.Current()
	if !ok || !p.Status.Open() {
		panic(fmt.Sprintf("pay: resolve of a %s payment with %d attempts", p.Status, len(p.Attempts)))
	}
	if p.misfits(attempt.Order, o) || o.partlyBack() || o.Kind == Reversed && p.strayed(attempt.Order, o.MoneyRef) >= 0 {
		return p.hold(attempt, o, c.Claim, now)
	}
	p.Attempts = p.noted(attempt.Order, o, now)
	p.Times.Unsure = p.unsure(o, now)
	if p.Canceling() && (o.Kind == Lapsed || o.Kind == Declined) {
		return p.canceled(&from, now) // nobody paid, and the shop asked to cancel
	}
	switch o.Kind {
	case Approved:
		if p.Page.FormURL == "" { // approved at once: the shopper has seen no other page
			p.Page.FormURL, p.Page.Data = o.FormURL, o.Data
		}
		return p.complete(&from, attempt.Order, o, now)
	case Awaiting:
		p.await(o, now)
	case Lapsed:
		p.lapse(o, now)
		p.answer()
		return p.finish(&from, now)
	case Reversed: // the shopper paid and has all of it back
		p.fail(reversed(), now)
		p.answer()
		return p.finish(&from, now)
	case Unknown, Sending:
		p.wait(o, now)
		p.answer()
	default:
		if p.Status == Pending && o.Kind != Declined {
			// The shopper holds a voucher that the provider cannot find now. The payment ends when
			// the provider finds it, or when its window ends.
			p.Attempts = from.Attempts
			p.wait(o, now)
			break
		}
		if next, waits := p.refused(attempt.Order, o, c, now); waits {
			p = next
			p.wait(o, now)
			break
		}
		next, more := c.next(p.Attempts)
		if more && p.Status == Processing && (o.Kind != Declined || o.Soft) {
			stop := c.Budget.Spent(p, now)
			if p.Holds() {
				stop = "another amount arrived: the shopper is not asked to pay more"
			}
			if stop == "" {
				p.try(next, now)
				break
			}
			p.Attempts[attempt.Order-1].Stop = stop
		}
		p.fail(p.reason(o), now)
		p.answer()
		return p.finish(&from, now)
	}
	p.written(&from, now)
	if p.Status == Pending && from.Times.Expires.IsZero() && p.Sequence == 0 {
		return p, p.writes(p.first(webhooks.PaymentPending, from.Status, now))
	}
	return p, p.writes()
}

// paid books an attempt's money that a provider reports as paid, once. The attempt may not be the last one: then an earlier one
// did charge, and the later one is followed to its end. If that is paid too, its money goes to suspense.
func (p Payment) paid(order int, o Outcome, c Cascade, claimID string, now time.Time) (Payment, Change, Verdict) {
	known := p.has(order, o)
	switch {
	case p.Attempts[order-1].wentBack(o) && !known:
		return p, Change{}, Mismatched // older news, or a refund of the provider's that failed
	case p.misfits(order, o):
		return p.mismatched(order, o, claimID, now)
	case p.Status.Open() && order == len(p.Attempts):
		next, change := p.applyOutcome(o, c, now)
		return next, change, Applied
	case p.Status.Open():
		from := p
		p.Attempts = p.noted(order, o, now)
		next, change := p.complete(&from, order, o, now)
		return next, change, Applied
	case !known:
		next, change := p.late(order, o, claimID, now)
		return next, change, Late
	}
	next, change := p.again(order, o, now)
	return next, change, Ignored
}

// amountMismatch is the decline code of an attempt whose provider reports a different amount.
const amountMismatch = "amount_mismatch"

func otherAmount() Failure {
	return Failure{Code: amountMismatch, Message: "the amount that was paid differs from the payment's"}
}

// hold keeps a payment open if its provider answers that a different amount was paid. The answer is
// kept for the operator like a notification, and the merchant gets an event, once for each amount,
// even if other answers come in between (LATE-5). No other provider is tried: the shopper was
// charged. The payment still ends with its window.
func (p Payment) hold(attempt Attempt, o Outcome, claimID string, now time.Time) (next Payment, change Change) {
	from := p
	p.Times.Unsure = time.Time{}
	told := Change{Notices: p.bookedGone(attempt, o, now)}
	p = p.partlyGone(attempt.Order, o)
	if !o.wholeBack() || p.strayed(attempt.Order, o.MoneyRef) < 0 {
		var verdict Verdict
		if p, told, verdict = p.misfit(attempt.Order, o.remaining(), claimID, &from, now); len(told.Events) > 0 {
			told.Notices = []KeptNotice{from.keptAnswer(attempt, o, verdict, now)}
		}
	}
	held := Outcome{Kind: Unknown, Decline: amountMismatch, ProviderRef: o.ProviderRef}
	if p.strayed(attempt.Order, o.MoneyRef) >= 0 { // its refund finds it; queries are about the charge
		held.ProviderRef = ""
	}
	p.Attempts = p.noted(attempt.Order, held, now)
	ends := p.Times.Expires
	if ends.IsZero() {
		ends = p.Times.Created.Add(p.Way.Window)
	}
	if !now.Before(ends) {
		p.lapse(Outcome{}, now)
		p.answer()
		f := otherAmount()
		p.End.Failure = &f
		next, change = p.finish(&from, now)
	} else {
		p.wait(Outcome{CheckAt: now.Add(sweepEvery)}, now)
		p.answer()
		p.written(&from, now)
		next = p
		change.Payments = []Payment{next}
	}
	change.Notices, change.Events = told.Notices, append(told.Events, change.Events...)
	change.Claims, change.Transfers = told.Claims, told.Transfers
	return next, change
}

// Spent says why the budget allows no further attempt, "" if it allows one.
//
// The time budget protects a shopper who is waiting: after it, the shopper may have left and bought
// elsewhere, so a card must not be charged any more. For cards it always applies. A voucher charges
// nobody by itself. So once its create call is over (after an unknown outcome or a crash), a
// voucher may be made for as long as its window lasts.
func (b Budget) Spent(p Payment, now time.Time) string {
	since := now.Sub(p.Times.Created)
	for _, a := range p.Attempts {
		if a.Again { // the shopper waits since then
			since = now.Sub(time.UnixMicro(a.Started))
		}
	}
	switch resumed := p.Work.Answered != "" || slices.ContainsFunc(p.Attempts, Attempt.resumed); {
	case b.Attempts > 0 && len(p.Attempts) >= b.Attempts:
		return fmt.Sprintf("budget: at most %d attempts", b.Attempts)
	case !p.Way.Sync && resumed:
		if p.Way.Window > 0 && since >= p.Way.Window {
			return "budget: the payment's window is over"
		}
	case b.Time > 0 && since >= b.Time:
		return fmt.Sprintf("budget: no attempt begins later than %s after the payment was made", b.Time)
	}
	return ""
}

// reason says why the payment fails when no route is left. A hard decline is the issuer's decision.
// A soft decline with no route left means that all providers declined (ERR-18).
func (p *Payment) reason(o Outcome) Failure {
	if s, held := p.Strays.Attention(); held && s.Code == AmountMismatch {
		return otherAmount()
	}
	last, refused := p.Attempts.lastTry()
	switch exhausted := o.Kind != Declined || o.Soft && p.Times.Expires.IsZero(); {
	case exhausted && refused:
		return p.Way.Refused(last)
	case exhausted:
		return Failure{Code: string(problem.CascadeExhausted), Message: "no provider could take the payment"}
	}
	f := Failure{Code: p.Way.failedAs(o.Code, decline.Reason(o.Decline)), Decline: o.Decline, Message: o.Message}
	if p.Page.Challenged {
		f.Code, f.Message = string(problem.ThreeDSFailed), "the shopper did not pass the issuer's challenge"
	}
	return f
}

// await makes the payment pending: the shopper has to act.
func (p *Payment) await(o Outcome, now time.Time) {
	if p.Status == Pending {
		p.wait(o, now)
		return
	}
	p.move(Await, now)
	p.Page.FormURL, p.Page.Data = o.FormURL, o.Data
	p.Times.Expires = now.Add(p.Way.Window)
	p.Page.Challenged = o.Code == problem.ThreeDSRequired
	if p.Work.Answered == "" && !o.Played {
		p.Work.Answered = Pending
	}
	p.wait(o, now)
}

// wait sets the time at which the payment is due next.
func (p *Payment) wait(o Outcome, now time.Time) {
	p.Work.DueAt = now.Add(sweepEvery)
	if p.Status == Processing {
		attempt, _ := p.Attempts.Current()
		p.Work.DueAt = now.Add(attempt.pause())
	}
	if !o.CheckAt.IsZero() {
		p.Work.DueAt = o.CheckAt
	}
	if p.Work.Answered == "" && p.Status == Pending {
		p.Work.DueAt = now.Add(callLease) // the create call continues, unless its node dies
	}
	if expires := p.Times.Expires; p.Status == Pending && !expires.IsZero() && expires.Before(p.Work.DueAt) {
		p.Work.DueAt = expires
	}
}

// Reply records the payment's status as the create call's reply. The create call was to continue past
// pending, but the sandbox played nothing more.
func (p Payment) Reply(now time.Time) (Payment, Change) {
	from := p
	p.Work.Answered = p.Status
	p.written(&from, now)
	return p, Change{Payments: []Payment{p}}
}

// NoProvider is the reason (details.reason) if no provider account was available.
const NoProvider = "no_provider_for_method_region"

// Refusal is the error that the create call replies with if the shopper cannot go on, else nil
// (PAY-25, ERR-10). It is the same on every replay.
func (p Payment) Refusal() error {
	details := problem.Details{TransactionID: p.ID}
	switch {
	case p.Work.Answered == Pending && p.Page.Challenged:
		details.RedirectURL = p.Page.FormURL
		return &problem.Error{Code: problem.ThreeDSRequired, Details: details,
			Reason: challengeAsked}
	case p.Work.Answered != Failed || p.End.Failure == nil:
		return nil
	case p.End.Failure.Code == string(problem.CascadeExhausted):
		details.Attempts = p.Attempts.Trace()
		details.Reason = "all_providers_failed"
		if len(p.Attempts) == 0 {
			details.Reason = NoProvider
		}
		return &problem.Error{Code: problem.CascadeExhausted, Reason: failed.With(p.End.Failure.Message), Details: details}
	case p.Way.Sync:
		return &problem.Error{Code: problem.Code(p.End.Failure.Code), Reason: failed.With(p.End.Failure.Message), Decline: p.End.Failure.Decline, Details: details}
	}
	return nil
}

// Script is what the sandbox was asked to play with a payment; zero in production. It is passed on
// to the simulated provider; nothing here depends on it.
type Script struct {
	Action string // of the create call, or ""
	Strict bool   // as in production: a card goes through its issuer's page

	// Challenge is the reference of the charge whose page waits for the shopper to pass 3-D Secure, or "".
	Challenge string
}

// Plays returns the payment with this script.
func (s Script) Plays(p Payment, now time.Time) (Payment, Change) {
	from := p
	p.Script = s
	p.written(&from, now)
	return p, Change{Payments: []Payment{p}}
}

// Stays says why a shopper whose card was refused stays with the provider, "" if the next route takes the payment over.
func (ca Cascade) Stays(p Payment, now time.Time) string {
	last, _ := p.Attempts.lastTry()
	retries := p.Attempts.retries()
	_, more := ca.next(p.Attempts)
	switch {
	case !last.Reason.Meaning().Again: // whatever the rules say
		return fmt.Sprintf("the shopper cannot try again after %s", last.Reason)
	case ca.Retry.Times == 0:
		return "retry: the rules allow none"
	case ca.Retry.Reasons == nil && !last.Soft:
		return fmt.Sprintf("another provider is not tried after %s", last.Reason)
	case ca.Retry.Reasons != nil && !slices.Contains(ca.Retry.Reasons, last.Reason):
		return fmt.Sprintf("retry: the rules allow none after %s", last.Reason)
	case retries >= ca.Retry.Times:
		return fmt.Sprintf("retry: %d of %d retries were used", retries, ca.Retry.Times)
	case ca.Retry.Within > 0 && now.Sub(p.Times.Created) >= ca.Retry.Within:
		return fmt.Sprintf("retry: no later than %s after the payment was made", ca.Retry.Within)
	case ca.Budget.Attempts > 0 && len(p.Attempts) >= ca.Budget.Attempts:
		return fmt.Sprintf("budget: at most %d attempts", ca.Budget.Attempts)
	case !more:
		return "no other account takes this payment"
	}
	return ""
}

// retries is how often the shopper went on to another account.
func (as Attempts) retries() (n int) {
	for _, a := range as {
		if a.Again {
			n++
		}
	}
	return n
}

// refused is a payment whose card was refused on a page that ended with it. It waits for the shopper, who may try again at the next
// account, for as long as the page would have. waits is false if no other account may take it.
func (p Payment) refused(order int, o Outcome, c Cascade, now time.Time) (_ Payment, waits bool) {
	if p.Status != Pending || !p.Way.Sync || o.Kind != Declined || o.Played || p.Page.Challenged || p.Overdue(now) {
		return p, false
	}
	if len(p.Attempts[order-1].Tries) == 0 {
		reason := decline.Of(o.Code, o.Decline)
		p, _ = p.tried(order, Outcome{Tries: []decline.Try{{ID: LastTry, Reason: reason, Raw: o.Raw, Soft: o.Soft}}}, now)
	}
	return p, c.Stays(p, now) == ""
}

// RetryLimits say when a shopper whose card was refused on a provider's page may try at another provider.
type RetryLimits struct {
	Times   int              // the most retries of a payment
	Within  time.Duration    // counted from the payment's creation; 0: no limit
	Reasons []decline.Reason // after which; nil: those after which another provider may accept the card
}
