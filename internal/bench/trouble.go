package bench

import "time"

// kind is how an endpoint behaves.
type kind int

// The kinds of endpoints. What is sent to one that is not well is not counted
// among the events: it is there to get in the way of the others.
const (
	well    kind = iota
	refused      // nobody listens
	silent       // takes the delivery and never answers
	slow         // answers after slowAnswer
)

// slowAnswer is just within the ten seconds that a delivery may take.
const slowAnswer = 9 * time.Second

// refusedURL is an address where nobody listens.
const refusedURL = "http://127.0.0.1:1/"

// kinds says how each shop's endpoint behaves: the given percentages of them
// are dead, half refusing and half silent, or slow, and at least one of a kind
// that is asked for.
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

// pace is when a connection sends: at even times, all connections together at
// the rate. Without a rate it sends as soon as it can.
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

// wait returns when the next payment is to be sent, once that is so or when it
// comes after the end. One that
// is late counts from when it should have been sent: what it waited for the one
// before is a delay that a caller would see.
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
