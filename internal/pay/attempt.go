package pay

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Prefixes of ids (SVC-13).
const (
	PaymentPrefix  = "TXN-"
	ClaimPrefix    = "CLM-"
	EvidencePrefix = "ev_"
)

// OutcomeKind is how a call to a provider ended.
type OutcomeKind string

// The outcomes of a call. Unknown is not a failure: the shopper may have been
// charged, and only the provider can say.
const (
	Sending     OutcomeKind = "sending"     // the call is under way, or we died in it
	Approved    OutcomeKind = "approved"    // the shopper paid
	Awaiting    OutcomeKind = "pending"     // the shopper has to act
	Declined    OutcomeKind = "declined"    // refused; nobody was charged
	Unavailable OutcomeKind = "unavailable" // the provider proved, by refusing the call, that nobody was charged
	Errored     OutcomeKind = "error"       // this request is refused as it stands, which proves no charge; another one may be taken
	Unknown     OutcomeKind = "unknown"     // timeout, broken answer: nobody knows
	Missing     OutcomeKind = "missing"     // a query proved that the provider never had it
	Lapsed      OutcomeKind = "expired"     // the provider says that the shopper's time is over
)

// Outcome is a provider's answer in our words.
type Outcome struct {
	Kind        OutcomeKind
	Soft        bool         // of Declined: another provider may approve
	Code        problem.Code // of Declined: card_declined, insufficient_funds, …; of Awaiting: three_ds_required or ""
	Decline     string       // the issuer's reason, e.g. do_not_honor
	Message     string       // for people; never the provider's own name
	ProviderRef string
	FormURL     string
	Data        PaymentData
	Local       money.Amount // what was paid, when the provider says so; else zero
	CheckAt     time.Time    // when to ask again, when the provider told; else zero
	// Played says that the sandbox made it so on the merchant's demand (SBX-5). Of Awaiting: the
	// create call plays the end before it replies. Of Approved: payment.captured tells it, too.
	// Of a dispute: the payment stays completed.
	Played bool
}

// Asked is the outcome as the answer to a question, or as news: what refuses a
// question, or cannot take it, proves nothing about what was asked after.
func (o Outcome) Asked() Outcome {
	switch o.Kind {
	case Approved, Awaiting, Declined, Missing, Lapsed:
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
	Soft        bool         `json:"soft,omitempty"`
	ProviderRef string       `json:"providerRef,omitempty"`
	Started     int64        `json:"started"` // microseconds UTC
	Ended       int64        `json:"ended,omitempty"`
	Flight
	// Why it went there, and who was passed over: for the operator.
	Why    string   `json:"why,omitempty"`
	Passed []string `json:"passed,omitempty"`
	Stop   string   `json:"stop,omitempty"` // why no other was tried after it, though there was one
	// What the call itself said, and when, where more was learnt later: how an
	// account does is judged by that.
	Said   OutcomeKind `json:"said,omitempty"`
	SaidAt int64       `json:"saidAt,omitempty"`
	// Ruled: it counts as paid by the operator's word.
	Ruled bool `json:"ruled,omitempty"`
	// Found: the provider's own list has it, from before a restore. It was not called since.
	Found bool `json:"found,omitempty"`
	// Unanswered is how often in a row it was asked about in vain.
	Unanswered int `json:"unanswered,omitempty"`
}

// Called returns what the call of an attempt said, and when; false while it runs, or
// where the service died in it.
func (a Attempt) Called() (kind OutcomeKind, at time.Time, ok bool) {
	kind, ended := a.Status, a.Ended
	if a.Said != "" {
		kind, ended = a.Said, a.SaidAt
	}
	return kind, time.UnixMicro(ended).UTC(), ended > 0 && ended-a.Started < callLease.Microseconds()
}

// took is how long the call took, not counting what was learnt later; where it never
// answered, until that was learnt.
func (a Attempt) took() time.Duration {
	if _, at, ok := a.Called(); ok {
		return max(0, at.Sub(time.UnixMicro(a.Started)))
	}
	return time.Duration(max(0, a.Ended-a.Started)) * time.Microsecond
}

// resumed reports whether the sweep, and not the call, found out what came of it.
func (a Attempt) resumed() bool {
	_, _, called := a.Called()
	return a.Ended > 0 && !called
}

// Reference is what the provider knows an attempt by: ours, unique, made
// before the call, so that we can ask about a call that never answered.
func (p Payment) Reference(order int) string { return fmt.Sprintf("%s-%d", p.Suffix(), order) }

// ParseReference returns the payment's id and the attempt's order.
func ParseReference(ref string) (payment string, order int, ok bool) {
	suffix, number, found := strings.Cut(ref, "-")
	order, err := strconv.Atoi(number)
	if !found || suffix == "" || err != nil || order < 1 {
		return "", 0, false
	}
	return PaymentPrefix + suffix, order, true
}

// current returns the attempt that is under way or was the last one.
func (p Payment) current() (Attempt, bool) {
	if len(p.Attempts) == 0 {
		return Attempt{}, false
	}
	return p.Attempts[len(p.Attempts)-1], true
}

// Current returns the last attempt. Every payment past its first commit has one,
// except where no provider served its rail.
func (p Payment) Current() (Attempt, bool) { return p.current() }

// answered returns the attempts with the outcome noted on the one of the order
// given. The slice is new: values that were handed out do not change.
func (p Payment) noted(order int, o Outcome, now time.Time) []Attempt {
	attempts := make([]Attempt, len(p.Attempts), len(p.Attempts)+1)
	copy(attempts, p.Attempts)
	a := &attempts[order-1]
	if a.Ended > 0 && a.Said == "" {
		a.Said, a.SaidAt = a.Status, a.Ended
	}
	a.Status, a.Code, a.Decline, a.Soft = o.Kind, o.Code, o.Decline, o.Soft
	a.Ended = now.UnixMicro()
	if o.ProviderRef != "" {
		a.ProviderRef = o.ProviderRef
	}
	if a.Unanswered++; o.Kind != Unknown || o.Decline == amountMismatch {
		a.Unanswered = 0
	}
	return attempts
}

// Trace is the attempts as a merchant may see them (ERR-18).
func (p Payment) Trace() []problem.AttemptTrace {
	traces := make([]problem.AttemptTrace, 0, len(p.Attempts))
	for _, a := range p.Attempts {
		t := problem.AttemptTrace{Order: a.Order, ReasonCode: a.Decline, Retryable: a.Soft, DurationMs: a.took().Milliseconds()}
		switch a.Status {
		case Declined:
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

// Flight is what is kept of the calls that carry out one intent: of a charge, a refund
// or a payout. What is zero is from before it was kept.
type Flight struct {
	// Until is when a call that was begun can no longer be on its way, microseconds of
	// the database's clock: before that, nothing proves that it did not arrive.
	Until int64 `json:"until,omitempty"`
	Calls int   `json:"calls,omitempty"` // how often it was begun
}

// Caller is a node that calls providers: what it begins is its own to finish, until
// its lease ends.
type Caller struct {
	Node string
	// Until is when a call that it begins now can no longer be on its way, in the
	// database's clock.
	Until time.Time
}

// How long a call to a provider may take, and how long whoever makes it has. Each is longer
// than the one before it (UNK-1).
const (
	// CallTimeout bounds one call, from its first byte to its last.
	CallTimeout = 20 * time.Second
	// callStart is how late after a call is begun its first byte may leave.
	callStart = 8 * time.Second
	// callTime is how long a call may be on its way from the moment at which it is begun. The
	// rest is for what a node's idea of the database's clock may be off.
	callTime = callStart + CallTimeout + 7*time.Second
	// callLease is longer than that: after it, whoever made the call is dead and the
	// sweep asks the provider. sendingLease is the same of a payout.
	callLease    = callTime + 10*time.Second
	sendingLease = callTime + 25*time.Second
	// SweepLease is longer than the slowest question to a provider. What waits in a lane
	// for longer is leased again, also by other nodes: asking twice is harmless.
	SweepLease = 2 * callLease
)

// CallBy is the caller whose node begins a call now, in the database's clock.
func CallBy(node string, now time.Time) Caller { return Caller{node, now.Add(callTime)} }

// begin is the intent of one more call.
func (f Flight) begin(c Caller) Flight {
	if !c.Until.IsZero() {
		f.Until = max(f.Until, c.Until.UnixMicro())
	}
	f.Calls++
	return f
}

// MayStart reports whether the call that was begun last may still leave, at a time of the
// database's clock. Later, others may take it for proved that it did not.
func (f Flight) MayStart(now time.Time) bool {
	return now.UnixMicro() <= f.Until-(callTime-callStart).Microseconds()
}

// OnItsWay reports whether a call may still reach its provider, at a time of the
// database's clock.
func (f Flight) OnItsWay(now time.Time) bool { return now.UnixMicro() < f.Until }

// Answered is what a call was answered, as far as that proves something: of two calls one
// may be refused and the other one taken, whenever the answer comes.
func (f Flight) Answered(o Outcome) Outcome {
	if o.Kind == Approved || o.Kind == Awaiting || f.Calls <= 1 {
		return o
	}
	return Outcome{Kind: Unknown, Decline: "called_twice", ProviderRef: o.ProviderRef}
}

// Proved is the answer to a question that was asked at a time of the database's clock, or
// that came by itself then, as far as it proves something. That there is nothing is proved
// only when no call could bring it any more: the provider does not see a call that is on
// its way.
func (f Flight) Proved(o Outcome, asked time.Time) Outcome {
	switch {
	case !f.OnItsWay(asked), o.Kind == Approved, o.Kind == Awaiting, o.Kind != Missing && f.Calls <= 1:
		return o
	}
	return Outcome{Kind: Unknown, Decline: "on_its_way", ProviderRef: o.ProviderRef}
}

// Told is what a provider tells by itself at a time of the database's clock, as far as it
// proves something: of two calls it may mean either.
func (f Flight) Told(o Outcome, at time.Time) Outcome { return f.Answered(f.Proved(o, at)) }

// ProvedPayout is Proved for a payout.
func (f Flight) ProvedPayout(o PayoutOutcome, asked time.Time) PayoutOutcome {
	switch {
	case !f.OnItsWay(asked), o.Kind == PayoutPaid, o.Kind == PayoutAccepted, o.Kind == PayoutReturned,
		(o.Kind == PayoutRejected || o.Kind == PayoutUnavailable) && f.Calls <= 1:
		return o
	}
	return PayoutOutcome{Kind: PayoutUnknown, ProviderRef: o.ProviderRef, Code: o.Code, Message: o.Message}
}
