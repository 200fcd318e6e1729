package pay

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// Stray is money of an order that differs from the payment's request: it came after the payment had
// ended, a second time, or in another amount. We have it or had it, and the payment's amount does
// not include it.
type Stray struct {
	Code        AttentionCode
	Order       int          // of the attempt that took it
	Local       money.Amount // the amount that came
	Kept        int64        // minor units of Local that the operator accepted before the rest is decided
	ProviderRef string       // as Attempt has it: where its refund goes; "": as the attempt's
	MoneyRef    string       // the provider's id of this money; "" if it reports none
	Claim       string       // the inquiry about it; "" of another amount that could not be booked
	End         StrayEnd     // what was done with it, "" while that is open
}

// AttentionCode is why a payment needs attention (LATE-6).
type AttentionCode string

// The codes.
const (
	LatePayment    AttentionCode = "late_payment"
	PaidTwice      AttentionCode = "paid_twice"
	AmountMismatch AttentionCode = "amount_mismatch"
)

// StrayEnd is what was done with stray money.
type StrayEnd string

// Ends.
const (
	GivenBack StrayEnd = "given_back" // the shopper got it back
	Accepted  StrayEnd = "accepted"   // the merchant has it
	DealtWith StrayEnd = "dealt_with" // the operator closed the notice, having dealt with the money
)

// PaymentReceived is the reason (details.reason) why another payment of an order is refused.
const PaymentReceived = "payment_received"

// maxStrays limits the different amounts that a payment remembers, in case a provider reports
// another one each time. Each late money is booked.
const maxStrays = 16

// mostCame is the most, in USD cents, that another amount may be worth to be booked: ten times the largest payment, as if a shopper
// typed a digit too many. More is a mistake of the provider's, and sums of it would exceed 64 bits.
const mostCame = 10 * accounts.MaxAmount

// Strays are a payment's stray money, in the order in which it came.
type Strays []Stray

// Attention is the oldest stray money that was not dealt with.
func (ss Strays) Attention() (Stray, bool) {
	for _, s := range ss {
		if s.End == "" {
			return s, true
		}
	}
	return Stray{}, false
}

// Holds reports whether we or the merchant have, or may have, more of the shopper's money for the
// order than the payment counts. Then the shopper must not be asked to pay again. Money that was
// given back does not count. Money that the operator dealt with by hand does, since only the
// operator knows where it is.
func (p *Payment) Holds() bool {
	return !p.Times.Unsure.IsZero() || p.Strays.outstanding()
}

// outstanding reports whether some of it was not given back.
func (ss Strays) outstanding() bool {
	return slices.ContainsFunc(ss, func(s Stray) bool { return s.End != GivenBack })
}

// astray records stray money. It returns false if it is known already, or if there is too much of
// it.
func (p Payment) astray(s Stray) (Payment, bool) {
	known := func(k Stray) bool {
		same := k.MoneyRef == s.MoneyRef || k.MoneyRef == "" || s.MoneyRef == ""
		return k.Code == s.Code && k.Order == s.Order && k.Local == s.Local && k.Claim == s.Claim && same
	}
	if slices.ContainsFunc(p.Strays, known) || s.Code == AmountMismatch && len(p.Strays) >= maxStrays {
		return p, false
	}
	p.Strays = append(slices.Clip(p.Strays), s)
	return p, true
}

// end records what was done with open stray money. The slice is new: values that were handed out do
// not change.
func (p Payment) end(of func(Stray) bool, end StrayEnd) (next Payment, ended bool) {
	p.Strays = slices.Clone(p.Strays)
	for i, s := range p.Strays {
		if s.End == "" && of(s) {
			p.Strays[i].End, ended = end, true
		}
	}
	return p, ended
}

// mismatched records that another amount came, and makes an event for the merchant, once for each
// amount. Money that the provider names by an id is booked, up to mostCame; other money waits for the
// operator as a mismatched notice. The payment is written in any case, so that an operator who closes the last
// notice at this moment must look again.
func (p Payment) mismatched(order int, o Outcome, claimID string, now time.Time) (Payment, Change, Verdict) {
	p, change, verdict := p.misfit(order, o, claimID, &p, now)
	change.Payments = []Payment{p}
	return p, change, verdict
}

// misfit records that a provider reports another amount. from is the stored payment; the caller
// writes the returned one. The verdict is Late if the money was booked, else Mismatched. The Change
// has no events if the amount is known.
func (p Payment) misfit(order int, o Outcome, claimID string, from *Payment, now time.Time) (Payment, Change, Verdict) {
	var change Change
	s := Stray{Code: AmountMismatch, Order: order, Local: o.Local, ProviderRef: o.ProviderRef, MoneyRef: o.MoneyRef}
	verdict := Mismatched
	switch usd := p.share(o.Local); {
	case claimID != "" && usd > 0 && usd <= mostCame && o.MoneyRef != "" && !p.has(order, o):
		reason := "another amount was paid: " + o.Local.String() + ", not " + p.Price.Local.String()
		p, change = p.suspend(s, usd, claimID, reason, from, now)
		verdict = Late
	default:
		s.ProviderRef = ""
		next, news := p.astray(s)
		switch {
		case p.Strays.booked(order, o): // the same report again
			p.written(from, now)
			return p, change, Ignored
		case !news:
			p.written(from, now)
			return p, change, verdict
		}
		p = next
		p.written(from, now)
	}
	told := p.event(webhooks.PaymentAttention, from.Status, now)
	change.Events = append([]Event{told}, change.Events...)
	return p, change, verdict
}

// booked reports whether an attempt's money of this id and amount is in suspense, or was.
func (ss Strays) booked(order int, o Outcome) bool {
	return o.MoneyRef != "" && slices.ContainsFunc(ss, func(s Stray) bool {
		return s.Order == order && s.MoneyRef == o.MoneyRef && s.Claim != "" && s.Local == o.Local && s.End != DealtWith
	})
}

// share is what an amount is worth at the payment's own rate, in USD cents, rounded down; 0 in
// another currency, and beyond every amount.
func (p *Payment) share(local money.Amount) int64 {
	switch {
	case local.Currency != p.Price.Local.Currency, !local.IsPositive():
		return 0
	case p.Price.Rate.IsZero(), local.Currency == money.USD:
		if local.Minor > math.MaxInt64/max(1, p.Price.Amount.Minor) {
			return 0
		}
		return p.Price.Amount.Fraction(local.Minor, p.Price.Local.Minor, money.Down).Minor
	}
	usd, err := p.Price.Rate.ToUSD(local)
	if err != nil {
		return 0
	}
	return usd.Minor
}

// Dealt clears a payment's attention after the operator has closed its last mismatched notice, with
// an event for the merchant. It returns false if nothing needed attention.
func (p Payment) Dealt(now time.Time) (Payment, Change, bool) {
	from := p
	p, ended := p.end(func(s Stray) bool { return s.Code == AmountMismatch && s.Claim == "" }, DealtWith)
	if !ended {
		return from, Change{}, false
	}
	p.written(&from, now)
	told := p.event(webhooks.PaymentAttention, from.Status, now)
	return p, Change{Payments: []Payment{p}, Events: []Event{told}}, true
}

// has reports whether an attempt's money is in the books: the same id is the same money. If the
// provider reports no id, an attempt is paid once. An attempt whose provider reported no id at first, or that
// the operator resolved as paid, gets the id of the money that is reported next.
func (p *Payment) has(order int, o Outcome) bool {
	a := p.Attempts[order-1]
	switch {
	case p.strayed(order, o.MoneyRef) >= 0:
		return true
	case a.Status != Approved:
		return false
	case o.MoneyRef == "" || a.MoneyRef != "":
		return o.MoneyRef == "" || a.MoneyRef == o.MoneyRef
	case a.Resolved:
		return true
	}
	return o.ProviderRef == "" || a.ProviderRef == "" || a.ProviderRef == o.ProviderRef
}

// strayed finds the booked stray money of an attempt by its id; -1 if there is none.
func (p *Payment) strayed(order int, ref string) int {
	for i, s := range slices.Backward(p.Strays) { // one that was given back may have come back
		if ref != "" && s.Order == order && s.MoneyRef == ref && s.Claim != "" {
			return i
		}
	}
	return -1
}

// moneys is how many payments of an attempt's charge are in the books.
func (p *Payment) moneys(order int) (n int) {
	refs := map[string]bool{}
	if p.Attempts[order-1].Status == Approved {
		refs[p.Attempts[order-1].MoneyRef] = true
	}
	for _, s := range p.Strays {
		if s.Order == order && s.Claim != "" {
			refs[s.MoneyRef] = true
		}
	}
	return len(refs)
}

// again handles a report of money that is in the books. It keeps the money's id if it is new.
func (p Payment) again(order int, o Outcome, now time.Time) (Payment, Change) {
	a := p.Attempts[order-1]
	if o.MoneyRef == "" || a.MoneyRef != "" || a.Status != Approved || p.strayed(order, o.MoneyRef) >= 0 {
		return p, Change{}
	}
	from := p
	p.Attempts = slices.Clone(p.Attempts)
	p.Attempts[order-1].MoneyRef = o.MoneyRef
	if a.ProviderRef == "" {
		p.Attempts[order-1].ProviderRef = o.ProviderRef
	}
	p.written(&from, now)
	p.Times.Updated = from.Times.Updated // the merchant does not see it
	return p, Change{Payments: []Payment{p}}
}

// Why money is late, for the claim.
const (
	afterTheEnd  = "paid after the payment had ended"
	byAnother    = "paid twice: another attempt had completed the payment"
	anotherMoney = "paid twice: the provider reports another payment of the same charge"
)

// late books money that came after the payment had ended, or a second time. It is real money: it
// goes to suspense, and an inquiry asks the operator what to do with it (LATE-1).
func (p Payment) late(order int, o Outcome, claimID string, now time.Time) (Payment, Change) {
	from, code, reason := p, LatePayment, afterTheEnd
	switch second := p.Attempts[order-1].Status == Approved; {
	case second:
		code, reason = PaidTwice, anotherMoney
	case !p.Times.Completed.IsZero():
		code, reason = PaidTwice, byAnother
	}
	if reason != anotherMoney { // the attempt keeps the ids of its first money
		p.Attempts = p.noted(order, o, now)
		if order == len(p.Attempts) { // this attempt is the one that is being queried
			p.Work.DueAt, p.Times.Unsure = p.nextOfLeft(now), time.Time{}
		}
	}
	p, change := p.suspend(Stray{Code: code, Order: order, Local: p.Price.Local, ProviderRef: o.ProviderRef, MoneyRef: o.MoneyRef},
		p.Price.Amount.Minor, claimID, reason, &from, now)
	change.Payments, change.settles = []Payment{p}, true
	return p, change
}

// suspend books money to suspense and opens the inquiry about it, of usd cents. from is the stored
// payment; the caller adds the returned one to the Change. The transfer's id counts the attempt's
// money, so that each is booked once, whichever claim it gets.
func (p Payment) suspend(s Stray, usd int64, claimID, reason string, from *Payment, now time.Time) (Payment, Change) {
	step, before := "late", 1
	for _, other := range p.Strays {
		if other.Order == s.Order && other.Claim != "" {
			before++
		}
	}
	if before > 1 {
		step += "-" + strconv.Itoa(before)
	}
	s.Claim = claimID
	p.Strays = append(slices.Clip(p.Strays), s)
	p.written(from, now)
	claim := p.claim(claimID, Inquiry, ClaimPending, s.Local, usd, PartyProvider, now)
	claim.Reason, claim.Attempt = reason, s.Order
	claim, opened := claim.event(webhooks.ClaimOpened, p, now)
	rounding := p.Price.rounding(s.Local, usd)
	capture := claim.transfer("late", ledger.LateCapture, now,
		ledger.Posting{Account: ledger.Receivable, Amount: -usd - rounding}, ledger.Posting{Account: ledger.Rounding, Amount: rounding},
		ledger.Posting{Account: ledger.Suspense, Amount: usd})
	capture.ID = transferID(p.Reference(s.Order), step)
	return p, Change{Claims: []Claim{claim}, Transfers: []ledger.Transfer{capture}, Events: []Event{opened}}
}

// Money is one payment that a shopper made. An order or a page of a provider may have been paid
// several times.
type Money struct {
	Ref         string // the provider's id of it
	ProviderRef string // as Outcome has it
	Local       money.Amount
	Claim       string // id of the inquiry that it may open; the use case sets it
}

// came is the amount of an inquiry's money; of the capture for "".
func (p *Payment) came(inquiry string) money.Amount {
	for _, s := range p.Strays {
		if inquiry != "" && s.Claim == inquiry {
			return s.Local
		}
	}
	return p.Price.Local
}

// worth is came in USD cents, as it was booked.
func (p *Payment) worth(inquiry string) int64 {
	if came := p.came(inquiry); came != p.Price.Local {
		return p.share(came)
	}
	return p.Price.Amount.Minor
}

// endInquiry gives late money to the shopper or to the merchant. The merchant gets it without fees:
// none were agreed for a payment that had ended.
func (c Claim) endInquiry(p Payment, to ClaimStatus, now time.Time) (Payment, Change) {
	end, step, kind, account := Accepted, "accept", ledger.LateAccepted, ledger.Available
	if to.Pays() {
		end, step, kind, account = GivenBack, "refund", ledger.LateRefund, ledger.Refunds
	}
	change := Change{Transfers: moving(c.transfer(step, kind, now,
		ledger.Posting{Account: ledger.Suspense, Amount: -c.USD}, ledger.Posting{Account: account, Amount: c.USD}))}
	if next, ended := p.end(func(s Stray) bool { return s.Claim == c.ID }, end); ended {
		next.written(&p, now)
		p = next
		change.Payments = []Payment{p}
	}
	return p, change
}

// partlyGone keeps the id of money that the provider gave back in part before it was booked. The operator finds out what is
// left, and an older notice that it was paid books nothing. If the money is booked, its id is kept once the operator has the notice.
func (p Payment) partlyGone(order int, o Outcome) Payment {
	if o.Kind != Reversed || o.partlyBack() && p.has(order, o) {
		return p
	}
	return p.remember(order, o.MoneyRef)
}

// bookedGone is the operator's task, once, when a query finds that stray money in the books went back whole, unless the books
// know. Its inquiry is still open: only a notice of the provider's ends that by itself.
func (p *Payment) bookedGone(attempt Attempt, o Outcome, now time.Time) []KeptNotice {
	at := p.strayed(attempt.Order, o.MoneyRef)
	if !o.wholeBack() || at < 0 || p.Strays[at].End == GivenBack || slices.Contains(p.Attempts[attempt.Order-1].Gone, o.MoneyRef) {
		return nil
	}
	return []KeptNotice{p.keptAnswer(attempt, o, Mismatched, now)}
}

// misfits reports whether the provider says that an amount other than the payment's was paid, now or
// before: money that was booked with another amount does not complete the payment.
func (p *Payment) misfits(order int, o Outcome) bool {
	return o.Kind == Approved && (o.Local.Currency != "" && o.Local != p.Price.Local ||
		slices.ContainsFunc(p.Strays, func(s Stray) bool {
			return o.MoneyRef != "" && s.Order == order && s.MoneyRef == o.MoneyRef && s.Code == AmountMismatch && s.Claim != ""
		}))
}

// applyFollowed records what is known of the attempt that is followed: the answer to its call, to a
// query or to the request to end it. Money that it took is late money.
func (p Payment) applyFollowed(attempt Attempt, o Outcome, claimID string, now time.Time) (Payment, Change) {
	from := p
	if o.Kind == Approved && !p.misfits(attempt.Order, o) {
		return p.found(attempt, o, claimID, now)
	}
	var change Change
	switch {
	case o.Kind == Approved, o.partlyBack():
		var verdict Verdict
		p, change, verdict = p.partlyGone(attempt.Order, o).misfit(attempt.Order, o.remaining(), claimID, &from, now)
		change.Notices = append(change.Notices, from.keptAnswer(attempt, o, verdict, now))
		o = Outcome{Kind: Unknown, Decline: amountMismatch}
	case o.Kind == Reversed:
		change.Notices = p.bookedGone(attempt, o, now)
	}
	p.Attempts = p.noted(attempt.Order, o, now)
	next := p.nextFollow(o, now)
	if next.IsZero() && o.Kind == Unknown && o.Decline != amountMismatch {
		silent := Notice{ID: "answer/" + p.Reference(attempt.Order) + " unknown", Account: attempt.Provider,
			Body: []byte("another attempt completed the payment, and the provider never said whether charge " + p.Reference(attempt.Order) + " was paid too")}
		change.Notices = append(change.Notices, silent.stored(p.ID, Mismatched, now))
	}
	if next.IsZero() {
		next = p.nextOfLeft(now)
	}
	p.Work.DueAt = next
	p.written(&from, now)
	if len(change.Events) == 0 {
		p.Times.Updated = from.Times.Updated // the merchant does not see it
	}
	change.Payments = []Payment{p}
	return p, change
}

// found books money that a query found for a payment that had ended.
func (p Payment) found(attempt Attempt, o Outcome, claimID string, now time.Time) (Payment, Change) {
	next, change := p.late(attempt.Order, o, claimID, now)
	change.Notices = []KeptNotice{p.keptAnswer(attempt, o, Late, now)}
	return next, change
}

// nextFollow is when to look at the followed attempt again; zero at its end. A page is looked at
// for as long as it can be paid, and some days more, as after an expiry. Without an answer it is
// for as long as the last look.
func (p *Payment) nextFollow(o Outcome, now time.Time) time.Time {
	attempt, _ := p.Attempts.Current()
	closes := time.UnixMicro(attempt.Started).UTC().Add(p.Way.Window)
	switch {
	case o.Decline == amountMismatch:
	case o.Kind == Unknown:
		if last := closes.Add(looks[len(looks)-1]); now.Before(last) {
			return now.Add(attempt.pause())
		}
	case o.Kind == Awaiting && now.Before(closes):
		if at := now.Add(looks[0]); at.Before(closes) {
			return at
		}
		return closes
	case o.Kind == Awaiting:
		for _, after := range looks[:answeredLooks] {
			if at := closes.Add(after); at.After(now) {
				return at
			}
		}
	}
	return time.Time{}
}
