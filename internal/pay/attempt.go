package pay

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Prefixes of ids (SVC-13).
const (
	PaymentPrefix  = "TXN-"
	ClaimPrefix    = "CLM-"
	EvidencePrefix = "ev_"
)

// OutcomeKind is the result of a call to a provider.
type OutcomeKind string

// The outcomes of a call. Unknown is not a failure: the shopper may have been charged, and only the
// provider knows.
const (
	Sending     OutcomeKind = "sending"     // the call is under way, or the node died during it
	Approved    OutcomeKind = "approved"    // the shopper paid
	Awaiting    OutcomeKind = "pending"     // the shopper has to act
	Declined    OutcomeKind = "declined"    // refused; the shopper was not charged
	Unavailable OutcomeKind = "unavailable" // the provider refused the call, which proves that the shopper was not charged
	Errored     OutcomeKind = "error"       // the provider refuses this request, which proves that the shopper was not charged; another account may accept it
	Unknown     OutcomeKind = "unknown"     // timeout or unreadable answer: the result is not known
	Missing     OutcomeKind = "missing"     // a query proved that the provider never had it
	Lapsed      OutcomeKind = "expired"     // the provider says that the shopper's time to pay is over
	Reversed    OutcomeKind = "reversed"    // the shopper paid, and the provider gave it back, in whole or in part (Reversal)
)

// Outcome is a provider's answer in our words.
type Outcome struct {
	Kind        OutcomeKind
	Soft        bool         // of Declined: another provider may approve
	Code        problem.Code // of Declined: card_declined, insufficient_funds, …; of Awaiting: three_ds_required or ""
	Decline     string       // of Declined: the reason, e.g. do_not_honor (pay/decline); else why there is no clear answer
	Raw         string       // of Declined: the provider's own code, for the operator
	Message     string       // for people; never the provider's own name
	ProviderRef string       // the provider's id of what we query and refund by: an order, a page, a payment
	MoneyRef    string       // of Approved and Reversed: the provider's id of the money itself, which never changes; "" if it has none
	FormURL     string
	Data        PaymentData
	Local       money.Amount  // the amount that was paid, if the provider reports it; else zero
	Back        *Reversal     // what went back; nil of Reversed: not known. Of Approved, all of it failed
	Also        []Money       // of Approved, Reversed and Lapsed: other money that was paid for the same charge
	Tries       []decline.Try // on the provider's page, which did not pay: all that the provider reports, or some
	CheckAt     time.Time     // when to query again, if the provider says so; else zero
	// Installments is how the shopper paid, of Approved; zero: at once, or not known. If the shopper bears the interest, the card
	// is charged more than Local: Local stays what the provider books for us, which is the payment's amount (PAY-45).
	Installments installment.Plan
	// Played: the sandbox produced this outcome because the merchant asked for it (SBX-5). If
	// Awaiting, the create call also plays the end before it replies. If Approved, payment.captured
	// is sent too. The payment stays completed after a played dispute.
	Played bool
}

// AsQueried converts an error from a query or a notification: a query that is refused or fails proves
// nothing about the charge.
func (o Outcome) AsQueried() Outcome {
	switch o.Kind {
	case Approved, Awaiting, Declined, Missing, Lapsed, Reversed:
	default:
		o.Kind = Unknown
	}
	return o
}

// Attempt is one call to one provider.
type Attempt struct {
	Order       int          `json:"order"` // from 1
	Provider    string       `json:"provider"`
	Status      OutcomeKind  `json:"status"`
	Code        problem.Code `json:"code,omitempty"`
	Decline     string       `json:"decline,omitempty"`
	Raw         string       `json:"raw,omitempty"` // the provider's own code of a refusal, for the operator
	Soft        bool         `json:"soft,omitempty"`
	ProviderRef string       `json:"providerRef,omitempty"`
	MoneyRef    string       `json:"moneyRef,omitempty"` // the provider's id of the money that it took
	Gone        []string     `json:"gone,omitempty"`     // the ids of money that a provider gave back, in whole or in part
	Started     int64        `json:"started"`            // microseconds UTC
	Ended       int64        `json:"ended,omitempty"`
	Flight
	// Why it went to this account, and which accounts were passed over. For the operator.
	Why    string   `json:"why,omitempty"`
	Passed []string `json:"passed,omitempty"`
	Stop   string   `json:"stop,omitempty"` // why no other account was tried, although one was left
	// The result of the call itself, and its time, if more was learnt later. An account's health is
	// judged by the call.
	Said   OutcomeKind `json:"said,omitempty"`
	SaidAt int64       `json:"saidAt,omitempty"`
	// Resolved: the operator resolved it as paid.
	Resolved bool `json:"ruled,omitempty"`
	// Found: it is in the provider's own list, from before a restore, and was not called since.
	Found bool `json:"found,omitempty"`
	// Unanswered counts the failed queries in a row.
	Unanswered int `json:"unanswered,omitempty"`
	// Again: the shopper asked for it, after a refusal on the page of the attempt before.
	Again bool `json:"again,omitempty"`
	// Tries are the shopper's tries on the provider's page that did not pay.
	Tries decline.Tries `json:"tries,omitempty"`
}

// CallResult returns the result of the attempt's call and its time. It returns false while the call
// runs, and if the node died during it.
func (a Attempt) CallResult() (kind OutcomeKind, at time.Time, ok bool) {
	kind, ended := a.Status, a.Ended
	if a.Said != "" {
		kind, ended = a.Said, a.SaidAt
	}
	return kind, time.UnixMicro(ended).UTC(), ended > 0 && ended-a.Started < callLease.Microseconds()
}

// took is how long the call took, without later queries. If the call never got an answer, it is the
// time until the outcome was learnt.
func (a Attempt) took() time.Duration {
	if _, at, ok := a.CallResult(); ok {
		return max(0, at.Sub(time.UnixMicro(a.Started)))
	}
	return time.Duration(max(0, a.Ended-a.Started)) * time.Microsecond
}

// resumed reports whether the sweep, not the call, learnt the outcome.
func (a Attempt) resumed() bool {
	_, _, called := a.CallResult()
	return a.Ended > 0 && !called
}

// Attempts are a payment's calls to providers, oldest first. A list that was handed out never
// changes.
type Attempts []Attempt

// ParseReference returns the payment's id and the attempt's order.
func ParseReference(ref string) (payment string, order int, ok bool) {
	suffix, number, found := strings.Cut(ref, "-")
	order, err := strconv.Atoi(number)
	if !found || suffix == "" || err != nil || order < 1 {
		return "", 0, false
	}
	return PaymentPrefix + suffix, order, true
}

// Current returns the attempt that is under way or was the last one. After its first commit every
// payment has one, unless no provider served its rail.
func (as Attempts) Current() (Attempt, bool) {
	if len(as) == 0 {
		return Attempt{}, false
	}
	return as[len(as)-1], true
}

// Tried reports whether an attempt went to a provider account.
func (as Attempts) Tried(account string) bool {
	return slices.ContainsFunc(as, func(a Attempt) bool { return a.Provider == account })
}

// WentTo reports whether a reference is of an attempt at the provider account. Another account's
// notification must not change the attempt, even if its signature is valid.
func (as Attempts) WentTo(reference, account string) bool {
	_, order, ok := ParseReference(reference)
	return ok && order <= len(as) && as[order-1].Provider == account
}

// noted returns the attempts with the outcome recorded on the one with this order. The slice is
// new: values that were handed out do not change.
func (p *Payment) noted(order int, o Outcome, now time.Time) []Attempt {
	attempts := make([]Attempt, len(p.Attempts), len(p.Attempts)+1)
	copy(attempts, p.Attempts)
	a := &attempts[order-1]
	if a.Ended > 0 && a.Said == "" {
		a.Said, a.SaidAt = a.Status, a.Ended
	}
	a.Status, a.Code, a.Decline, a.Raw, a.Soft = o.Kind, o.Code, o.Decline, o.Raw, o.Soft
	a.Ended, a.Tries = now.UnixMicro(), a.Tries.With(o.Tries, now)
	if o.ProviderRef != "" {
		a.ProviderRef = o.ProviderRef
	}
	if (o.Kind == Approved || o.Kind == Reversed) && o.MoneyRef != "" {
		a.MoneyRef = o.MoneyRef
	}
	if a.Unanswered++; o.Kind != Unknown || o.Decline == amountMismatch {
		a.Unanswered = 0
	}
	if o.Kind == Reversed {
		attempts = Payment{Attempts: attempts}.remember(order, o.MoneyRef).Attempts
	}
	return attempts
}

// LastTry is the id of the refusal that ended a page, if its provider does not name the try.
const LastTry = "end"

// tried returns the payment with the tries that an outcome of an attempt reports, and nothing else of it.
func (p Payment) tried(order int, o Outcome, now time.Time) (_ Payment, news bool) {
	known := p.Attempts[order-1].Tries
	next := known.With(o.Tries, now)
	if slices.Equal(next, known) {
		return p, false
	}
	p.Attempts = slices.Clone(p.Attempts)
	p.Attempts[order-1].Tries = next
	return p, true
}

// Tries are the shopper's tries that did not pay, oldest first. An attempt that a provider refused without a page, or without
// naming a try, was one (PAY-38).
func (as Attempts) Tries() (list []decline.Try) {
	for _, a := range as {
		list = append(list, a.Tries...)
		if a.Status == Declined && len(a.Tries) == 0 {
			list = append(list, decline.Try{At: a.Ended, Reason: decline.Of(a.Code, a.Decline), Raw: a.Raw, Soft: a.Soft})
		}
	}
	return list
}

// Refused is the failure of a payment whose last try was t.
func (w Way) Refused(t decline.Try) Failure {
	m := t.Reason.Meaning()
	return Failure{Code: w.failedAs(m.Code, t.Reason), Decline: string(t.Reason), Message: m.Message}
}

// failedAs is the failure code of a refusal with a code of the API, "" if its reason has none. Only a card is declined as one, or
// abandoned.
func (w Way) failedAs(code problem.Code, reason decline.Reason) string {
	switch {
	case w.Sync && reason.Meaning().Outcome == decline.Left:
		return failedAbandoned
	case w.Sync:
		return string(cmp.Or(code, problem.CardDeclined))
	case code == problem.CardDeclined:
		return "declined"
	}
	return cmp.Or(string(code), "declined")
}

// lastTry is the newest try on a provider's page.
func (as Attempts) lastTry() (decline.Try, bool) {
	for _, a := range slices.Backward(as) {
		if t, ok := a.Tries.Last(); ok {
			return t, true
		}
	}
	return decline.Try{}, false
}

// refusal is the newest try that was refused: one that the shopper gave up is none.
func (a Attempt) refusal() (decline.Try, bool) {
	tries := Attempts{a}.Tries()
	for _, t := range slices.Backward(tries) {
		if t.Reason.Meaning().Outcome != decline.Left {
			return t, true
		}
	}
	return decline.Try{}, false
}

// Refusal is the newest try that was refused; false if nobody was refused, also if the shopper gave up.
func (as Attempts) Refusal() (decline.Try, bool) {
	for _, a := range slices.Backward(as) {
		if t, ok := a.refusal(); ok {
			return t, true
		}
	}
	return decline.Try{}, false
}

// Reason says for the operator why the attempt has its status, with the provider's own code of a refusal; "" if there is no reason.
func (a Attempt) Reason() string {
	if a.Raw == "" || a.Raw == a.Decline {
		return a.Decline
	}
	return a.Decline + ", the provider says " + a.Raw
}

// Trace returns the attempts as the merchant may see them (ERR-18).
func (as Attempts) Trace() []problem.AttemptTrace {
	traces := make([]problem.AttemptTrace, 0, len(as))
	for _, a := range as {
		t := problem.AttemptTrace{Order: a.Order, ReasonCode: a.Decline, Retryable: a.Soft, DurationMs: a.took().Milliseconds()}
		switch a.Status {
		case Declined, Reversed:
			t.Outcome = "declined"
		case Unavailable:
			t.Outcome, t.Retryable = "unavailable", true
		case Unknown, Sending:
			t.Outcome = "timeout"
		default:
			t.Outcome, t.Retryable = "error", true
		}
		if t.ReasonCode == "" {
			t.ReasonCode = string(a.Code)
		}
		if t.ReasonCode == "" {
			t.ReasonCode = string(a.Status)
		}
		traces = append(traces, t)
	}
	return traces
}

// Flight is the record of the calls that carry out one intent: a charge, a refund or a payout.
// Until the first call begins it is zero.
type Flight struct {
	// Until is the time after which no call that was begun can still arrive, in microseconds of the
	// database's clock. Before that, nothing proves that it did not arrive.
	Until int64 `json:"until,omitempty"`
	Calls int   `json:"calls,omitempty"` // calls begun so far
}

// Caller is a node that calls providers. It alone finishes the calls that it begins, until its
// lease ends.
type Caller struct {
	Node string
	At   time.Time // when its call begins, in the database's clock
}

// Limits on how long a call to a provider may take, and how long its caller has. Each one is longer
// than the one before it (UNK-1).
const (
	// CallTimeout bounds one call, from its first byte to its last.
	CallTimeout = 20 * time.Second
	// callStart is the longest time between the beginning of a call and its first byte.
	callStart = 8 * time.Second
	// callTime is the longest time that a call may be under way, counted from its beginning. It
	// includes 7 seconds for a node's error about the database's clock.
	callTime = callStart + CallTimeout + 7*time.Second
	// callLease is longer than callTime: after it, the caller is dead and the sweep queries the
	// provider. sendingLease is the same for a payout.
	callLease    = callTime + 10*time.Second
	sendingLease = callTime + 25*time.Second
	// SweepLease is longer than the slowest query. A query that waits in a lane for longer is
	// leased again, perhaps by another node. Querying twice is harmless.
	SweepLease = 2 * callLease
)

// begin records the intent of one more call.
func (fl Flight) begin(c Caller) Flight {
	if !c.At.IsZero() {
		fl.Until = max(fl.Until, c.At.Add(callTime).UnixMicro())
	}
	fl.Calls++
	return fl
}

// MayStart reports whether the call that was begun last may still leave, at a time of the
// database's clock. After that time other nodes rely on it not having left.
func (fl Flight) MayStart(now time.Time) bool {
	return now.UnixMicro() <= fl.Until-(callTime-callStart).Microseconds()
}

// OnItsWay reports whether a call may still arrive at its provider, at a time of the database's
// clock.
func (fl Flight) OnItsWay(now time.Time) bool { return now.UnixMicro() < fl.Until }

// ProvedByCall returns what the answer to a call proves. If the call was made twice, one may be refused
// and the other accepted, so a refusal proves nothing.
func (fl Flight) ProvedByCall(o Outcome) Outcome {
	if o.Kind == Approved || o.Kind == Reversed || o.Kind == Awaiting || fl.Calls <= 1 {
		return o
	}
	return Outcome{Kind: Unknown, Decline: "called_twice", ProviderRef: o.ProviderRef}
}

// ProvedByQuery returns what a query or a notification proves, at a time of the database's clock.
// "Missing" is proof only if no call can still arrive: the provider does not see a call that is
// under way.
func (fl Flight) ProvedByQuery(o Outcome, asked time.Time) Outcome {
	switch {
	case !fl.OnItsWay(asked), o.Kind == Approved, o.Kind == Reversed, o.Kind == Awaiting, o.Kind != Missing && fl.Calls <= 1:
		return o
	}
	return Outcome{Kind: Unknown, Decline: "on_its_way", ProviderRef: o.ProviderRef}
}

// ProvedByNotice returns what a provider's notification proves, at a time of the database's clock. If the
// call was made twice, it may be about either call.
func (fl Flight) ProvedByNotice(o Outcome, at time.Time) Outcome {
	return fl.ProvedByCall(fl.ProvedByQuery(o, at))
}

// PayoutProvedByQuery is ProvedByQuery for a payout.
func (fl Flight) PayoutProvedByQuery(o PayoutOutcome, asked time.Time) PayoutOutcome {
	switch {
	case !fl.OnItsWay(asked), o.Kind == PayoutPaid, o.Kind == PayoutAccepted, o.Kind == PayoutReturned,
		(o.Kind == PayoutRejected || o.Kind == PayoutUnavailable) && fl.Calls <= 1:
		return o
	}
	return PayoutOutcome{Kind: PayoutUnknown, ProviderRef: o.ProviderRef, Code: o.Code, Message: o.Message}
}

// Reversal is what a provider reports to have given back of a charge, refunds of ours included.
type Reversal struct {
	Total   money.Amount // in all; zero if it is not known
	Refunds []ProviderRefund
}

// ProviderRefund is a refund in a provider's own list.
type ProviderRefund struct {
	ID        string       // the provider's
	Reference string       // ours; "" if it has none of ours
	Kind      OutcomeKind  // Approved, Awaiting, Declined or Unknown
	Local     money.Amount // zero if it cannot be read
	Note      string       // why it went back, or came back, for people; "" if that needs no words
	News      bool         // an event of its own reports it, not a list: if it had failed, it was made again
}

// wholeBack reports whether nothing is left of what the shopper paid.
func (o Outcome) wholeBack() bool {
	return o.Kind == Reversed && o.Back != nil && o.Back.Total.IsPositive() && o.Back.Total == o.Local
}

// returned is what went back, for the operator.
func (o Outcome) returned() string {
	paid := o.Local.String()
	if o.MoneyRef != "" {
		paid += " of money " + o.MoneyRef
	}
	switch {
	case o.wholeBack():
		return paid
	case o.Back != nil && o.Back.Total.IsPositive():
		return o.Back.Total.String() + " of the " + paid
	}
	return "an unknown part of the " + paid
}

// partlyBack reports whether the provider gave a part back, or does not say how much.
func (o Outcome) partlyBack() bool { return o.Kind == Reversed && !o.wholeBack() }

// remaining is a reversed outcome as one of a payment of what the provider still has; all that was
// paid if it does not say how much went back. Another outcome stays as it is.
func (o Outcome) remaining() Outcome {
	if o.Kind != Reversed {
		return o
	}
	left := Outcome{Kind: Approved, ProviderRef: o.ProviderRef, Local: o.Local}
	if o.Back != nil && o.Back.Total.Currency == o.Local.Currency && o.Back.Total.Minor < o.Local.Minor {
		left.Local.Minor -= o.Back.Total.Minor
	}
	return left
}

// wentBack reports whether the outcome is of a charge that the provider had reported as reversed.
func (a Attempt) wentBack(o Outcome) bool {
	if o.MoneyRef != "" && slices.Contains(a.Gone, o.MoneyRef) {
		return true
	}
	if a.MoneyRef != "" && o.MoneyRef != "" {
		return a.Status == Reversed && a.MoneyRef == o.MoneyRef
	}
	return a.Status == Reversed && (o.ProviderRef == "" || a.ProviderRef == "" || o.ProviderRef == a.ProviderRef)
}

// remember keeps the id of an attempt's money that went back whole, so that older news of it books nothing.
func (p Payment) remember(order int, ref string) Payment {
	if ref != "" && !slices.Contains(p.Attempts[order-1].Gone, ref) {
		p.Attempts = slices.Clone(p.Attempts)
		a := &p.Attempts[order-1]
		a.Gone = append(slices.Clip(a.Gone), ref)
	}
	return p
}

// backoff is a pause that doubles each time: what has failed often will rarely succeed soon.
type backoff struct{ first, most time.Duration }

// after is the pause after the n-th time, counted from 1.
func (b backoff) after(n int) time.Duration {
	pause := b.first
	for range n - 1 {
		if pause *= 2; pause >= b.most {
			return b.most
		}
	}
	return pause
}

// UnlessListed adapts the answer to a query about an attempt. If the provider's own list has the charge,
// "missing" is no proof.
func (a Attempt) UnlessListed(o Outcome) Outcome {
	if a.Found && o.Kind == Missing {
		return Outcome{Kind: Unknown, Decline: "listed_and_not_known"}
	}
	return o
}
