package pay

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/hook"
)

// Stray is money of an order that differs from the payment's request: it came after the payment had
// ended, or in another amount. We have it or had it, and the payment's amount does not include it.
type Stray struct {
	Code  AttentionCode
	Order int          // of the attempt that took it
	Local money.Amount // the amount that came
	Claim string       // of late money: the inquiry about it
	End   StrayEnd     // what was done with it, "" while that is open
}

// AttentionCode is why a payment needs attention (LATE-6).
type AttentionCode string

// The codes.
const (
	LatePayment    AttentionCode = "late_payment"
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
// another one each time. Late money comes only once for each attempt.
const maxStrays = 16

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
func (p Payment) Holds() bool {
	return !p.Times.Unsure.IsZero() || p.Strays.kept()
}

// kept reports whether some of it was not given back.
func (ss Strays) kept() bool {
	return slices.ContainsFunc(ss, func(s Stray) bool { return s.End != GivenBack })
}

// astray records stray money. It returns false if it is known already, or if there is too much of
// it.
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
// amount. The payment is written in any case, so that an operator who closes the last notice at
// this moment must look again.
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

// Dealt clears a payment's attention after the operator has closed its last mismatched notice, with
// an event for the merchant. It returns false if nothing needed attention.
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

// late books money that came after the payment had ended. It is real money: it goes to suspense,
// and an inquiry asks the operator what to do with it (LATE-1).
func (p Payment) late(order int, o Outcome, claimID, reason string, now time.Time) (Payment, Change) {
	from := p
	p.Attempts = p.noted(order, o, now)
	p, _ = p.astray(Stray{Code: LatePayment, Order: order, Local: p.Price.Local, Claim: claimID})
	if order == len(p.Attempts) { // this attempt is the one that is being queried
		p.Work.DueAt, p.Times.Unsure = time.Time{}, time.Time{}
	}
	p = p.written(from, now)
	claim := p.claim(claimID, Inquiry, ClaimPending, p.Price.Local, p.Price.Amount.Minor, PartyProvider, now)
	claim.Reason, claim.Attempt = reason, order
	claim, opened := claim.event(hook.ClaimOpened, p, now)
	capture := claim.transfer("late", ledger.LateCapture, now,
		ledger.Posting{Account: ledger.Receivable, Amount: -p.Price.Amount.Minor},
		ledger.Posting{Account: ledger.Suspense, Amount: p.Price.Amount.Minor})
	capture.ID = transferID(p.Reference(order), "late") // once for the attempt, whichever claim it is
	return p.applyHeld(Change{
		Payments: []Payment{p}, Claims: []Claim{claim},
		Transfers: []ledger.Transfer{capture}, Events: []Event{opened},
	}, nil, now)
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
		p = next.written(p, now)
		change.Payments = []Payment{p}
	}
	return p, change
}

