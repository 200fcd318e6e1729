package routing

import (
	"math"
	"time"
)

// Parameters of a circuit.
const (
	// halfLife is the time after which a call counts half: what a provider did two minutes ago
	// hardly matters.
	halfLife = 30 * time.Second
	// enough is how many recent calls it takes to judge.
	enough = 4.5
	// tolerable is the share of them that may fail.
	tolerable = 0.5
	// inARow is how many failures without a success between them open a circuit, however old they
	// are. It applies only while there are few calls: among many, that many fail in a row by
	// chance.
	inARow = 5
	// few is the most recent calls that count as few.
	few = 2 * enough
	// shortest and longest bound how long a circuit stays open; the time doubles with every failed trial.
	shortest = 30 * time.Second
	longest  = 5 * time.Minute
	// Slow is how long a call may take: a shopper who waits longer is probably gone.
	Slow = 10 * time.Second
)

// Circuit is how an account has done on a rail recently. The zero Circuit is closed.
type Circuit struct {
	failed, all float64 // decayed counts
	row         int     // failures since the last success
	at          time.Time
	until       time.Time // open until then; zero: closed
	trial       time.Time // when the present trial began; zero: there is none
	rest        time.Duration
}

// decay is the weight of a count after a time.
func decay(n float64, since, half time.Duration) float64 {
	if since <= 0 {
		return n
	}
	return n * math.Exp2(-since.Seconds()/half.Seconds())
}

// Open reports whether payments pass the account over, and until when. After that, one
// payment is let through as a trial.
func (ci Circuit) Open(now time.Time) (until time.Time, open bool) {
	return ci.until, now.Before(ci.until)
}

// State is the state of a circuit.
type State string

// The states.
const (
	StateClosed State = "closed" // payments use it
	StateOpen   State = "open"   // payments pass it over
	StateTrial  State = "trial"  // the next payment is the trial
)

// State returns the circuit's state.
func (ci Circuit) State(now time.Time) State {
	switch _, open := ci.Open(now); {
	case open:
		return StateOpen
	case !ci.until.IsZero():
		return StateTrial
	}
	return StateClosed
}

// Late is how many recent calls there were, and how many of them failed. A call half a
// minute ago counts half.
func (ci Circuit) Late(now time.Time) (failed, all float64) {
	return decay(ci.failed, now.Sub(ci.at), halfLife), decay(ci.all, now.Sub(ci.at), halfLife)
}

// InARow is how many calls failed since the last success.
func (ci Circuit) InARow() int { return ci.row }

// Begin records that a call begins. While the trial of an open circuit lasts, it keeps
// other payments out.
func (ci Circuit) Begin(now time.Time) Circuit {
	if !ci.until.IsZero() && !now.Before(ci.until) {
		ci.until, ci.trial = now.Add(ci.rest), now
	}
	return ci
}

// Pass records that a call ended without a verdict about the account. If it was the trial of an
// open circuit, the next call is the trial instead. A call from before the trial changes nothing.
func (ci Circuit) Pass(began, now time.Time) Circuit {
	if !ci.trial.IsZero() && !began.Before(ci.trial) && now.Before(ci.until) {
		ci.until, ci.trial = now, time.Time{}
	}
	return ci
}

// End records how a call ended. turned reports that the circuit opened or closed.
func (ci Circuit) End(ok bool, now time.Time) (next Circuit, turned bool) {
	ci.failed, ci.all, ci.at = decay(ci.failed, now.Sub(ci.at), halfLife), decay(ci.all, now.Sub(ci.at), halfLife)+1, now
	if ci.row++; ok {
		ci.row = 0
	} else {
		ci.failed++
	}
	tripped := !ci.until.IsZero()
	switch {
	case tripped && ok:
		return Circuit{}, true
	case tripped:
		ci.rest = min(2*ci.rest, longest)
		ci.until, ci.trial = now.Add(ci.rest), time.Time{}
		return ci, false
	case ci.row >= inARow && ci.all < few || ci.all >= enough && ci.failed > ci.all*tolerable:
		ci.rest = shortest
		ci.until = now.Add(ci.rest)
		return ci, true
	}
	return ci, false
}
