package routing

import (
	"math"
	"time"
)

// Of a circuit.
const (
	// halfLife is how soon a call counts half: what a provider did two minutes ago
	// hardly matters.
	halfLife = 30 * time.Second
	// enough is how many calls of late it takes to judge.
	enough = 4.5
	// tolerable is the share of them that may fail.
	tolerable = 0.5
	// inARow is how many failures open it whenever they were, with no success
	// between, where there are few calls: among many, so many fail in a row by chance.
	inARow = 5
	// few is how many calls of late are few.
	few = 2 * enough
	// shortest and longest bound the rest that an account is given; it doubles with
	// every trial that fails.
	shortest = 30 * time.Second
	longest  = 5 * time.Minute
	// Slow is how long a call may take: a shopper who waits longer is as good as
	// gone.
	Slow = 10 * time.Second
)

// Circuit is how an account does on a rail of late. The zero Circuit is closed:
// nothing is known against it.
type Circuit struct {
	failed, all float64 // decayed counts
	row         int     // failures since the last success
	at          time.Time
	until       time.Time // open until then; zero: closed
	trial       time.Time // when the trial that is under way began; zero: there is none
	rest        time.Duration
}

// decay is what a count is worth after a time.
func decay(n float64, since, half time.Duration) float64 {
	if since <= 0 {
		return n
	}
	return n * math.Exp2(-since.Seconds()/half.Seconds())
}

// Open reports whether payments pass the account over, and until when. After that
// one is let through for trial.
func (c Circuit) Open(now time.Time) (until time.Time, open bool) {
	return c.until, now.Before(c.until)
}

// State says how a circuit stands.
type State string

// The states.
const (
	StateClosed State = "closed" // it takes payments
	StateOpen   State = "open"   // it is passed over
	StateTrial  State = "trial"  // the next payment is the trial
)

// State says how the circuit stands.
func (c Circuit) State(now time.Time) State {
	switch _, open := c.Open(now); {
	case open:
		return StateOpen
	case !c.until.IsZero():
		return StateTrial
	}
	return StateClosed
}

// Late is how many calls there were of late, and how many of them failed. One half a
// minute ago counts half.
func (c Circuit) Late(now time.Time) (failed, all float64) {
	return decay(c.failed, now.Sub(c.at), halfLife), decay(c.all, now.Sub(c.at), halfLife)
}

// InARow is how many calls failed since one did not.
func (c Circuit) InARow() int { return c.row }

// Begin notes that a call begins. The trial of an open circuit keeps others out
// while it lasts.
func (c Circuit) Begin(now time.Time) Circuit {
	if !c.until.IsZero() && !now.Before(c.until) {
		c.until, c.trial = now.Add(c.rest), now
	}
	return c
}

// Pass notes that a call ended and said nothing of the account. Was it the trial of an open
// circuit, the next one is. One from before the trial ends no rest.
func (c Circuit) Pass(began, now time.Time) Circuit {
	if !c.trial.IsZero() && !began.Before(c.trial) && now.Before(c.until) {
		c.until, c.trial = now, time.Time{}
	}
	return c
}

// End notes how a call ended. turned says that the circuit opened or closed.
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
