package pay

import "time"

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
