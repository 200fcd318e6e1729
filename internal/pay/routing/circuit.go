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
func (c Circuit) Open(now time.Time) (until time.Time, open bool) {
	return c.until, now.Before(c.until)
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
func (c Circuit) State(now time.Time) State {
	switch _, open := c.Open(now); {
	case open:
		return StateOpen
	case !c.until.IsZero():
		return StateTrial
	}
	return StateClosed
}

// Late is how many recent calls there were, and how many of them failed. A call half a
// minute ago counts half.
func (c Circuit) Late(now time.Time) (failed, all float64) {
	return decay(c.failed, now.Sub(c.at), halfLife), decay(c.all, now.Sub(c.at), halfLife)
}

// InARow is how many calls failed since the last success.
func (c Circuit) InARow() int { return c.row }

// Begin records that a call begins. While the trial of an open circuit lasts, it keeps
// other payments out.
func (c Circuit) Begin(now time.Time) Circuit {
	if !c.until.IsZero() && !now.Before(c.until) {
		c.until, c.trial = now.Add(c.rest), now
	}
	return c
}

// Pass records that a call ended without a verdict about the account. If it was the trial of an
// open circuit, the next call is the trial instead. A call from before the trial changes nothing.
func (c Circuit) Pass(began, now time.Time) Circuit {
	if !c.trial.IsZero() && !began.Before(c.trial) && now.Before(c.until) {
		c.until, c.trial = now, time.Time{}
	}
	return c
}

// End records how a call ended. turned reports that the circuit opened or closed.
func (c Circuit) End(ok bool, now time.Time) (next Circuit, turned bool) {
	c.failed, c.all, c.at = decay(c.failed, now.Sub(c.at), halfLife), decay(c.all, now.Sub(c.at), halfLife)+1, now
	if c.row++; ok {
		c.row = 0
	} else {
		c.failed++
	}
	tripped := !c.until.IsZero()
	switch {
	case tripped && ok:
		return Circuit{}, true
	case tripped:
		c.rest = min(2*c.rest, longest)
		c.until, c.trial = now.Add(c.rest), time.Time{}
		return c, false
	case c.row >= inARow && c.all < few || c.all >= enough && c.failed > c.all*tolerable:
		c.rest = shortest
		c.until = now.Add(c.rest)
		return c, true
	}
	return c, false
}
