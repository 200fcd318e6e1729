package bench

import "time"

// kind is the behaviour of an endpoint.
type kind int

// The kinds of endpoints. Events to unhealthy endpoints are not counted: they are there to
// disturb the others.
const (
	well    kind = iota
	refused      // nothing listens there
	silent       // accepts the delivery and never answers
	slow         // answers after slowAnswer
)

// slowAnswer is just below the ten seconds that a delivery may take.
const slowAnswer = 9 * time.Second

// refusedURL is an address where nothing listens.
const refusedURL = "http://127.0.0.1:1/"

// kinds is the behaviour of each shop's endpoint: the given percentages are dead, half
// refusing and half silent, or slow, with at least one of each requested kind.
func (c Config) kinds() []kind {
	list := make([]kind, len(c.Shops))
	share := func(percent int) int {
		if percent == 0 {
			return 0
		}
		return max(1, len(c.Shops)*percent/100)
	}
	dead := share(c.DeadPercent)
	for i := range min(dead, len(list)) {
		list[i] = refused + kind(i%2)
	}
	for i := dead; i < min(dead+share(c.SlowPercent), len(list)); i++ {
		list[i] = slow
	}
	return list
}

// pace is when a connection sends: evenly spaced, all connections together at the rate.
// Without a rate it sends as soon as it can.
type pace struct {
	every time.Duration
	next  time.Time
}

// newPace returns the pace of one of several connections.
func newPace(c Config, connection int, began time.Time) pace {
	if c.Rate <= 0 {
		return pace{}
	}
	every := time.Duration(float64(c.Connections) / c.Rate * float64(time.Second))
	return pace{every, began.Add(every * time.Duration(connection) / time.Duration(c.Connections))}
}

// wait returns when the next payment is to be sent, as soon as it is that time or after the
// end. A late payment counts from the time at which it should have been sent: a caller
// would see that wait as a delay.
func (p *pace) wait(done, until time.Time) time.Time {
	if p.every == 0 {
		return done
	}
	at := p.next
	p.next = p.next.Add(p.every)
	if at.Before(until) {
		time.Sleep(time.Until(at))
	}
	return at
}
