package hook

import "time"

// The rhythm of a circuit (HOOK-15).
const (
	// CircuitAfter is how many failures in a row open it.
	CircuitAfter = 10
	// ProbePause is how often an endpoint is tried while it is open.
	ProbePause = time.Minute
	// HopelessAfter is how long an endpoint may go without a success.
	HopelessAfter = 7 * 24 * time.Hour
)

// Circuit is how an endpoint has answered of late. While it is open, one
// delivery a minute is tried and the others wait without using up tries. The
// zero value is that of an endpoint that is well.
type Circuit struct {
	Open     bool
	Failures int       // in a row
	Since    time.Time // the first of them
	ProbeAt  time.Time // while open: when a delivery may be tried
}

// Heard notes how the endpoint answered: with a success or not, and after that
// with so many failures. It reports whether there is something to write.
func (s Subscription) Heard(success bool, failures int, now time.Time) (Subscription, bool) {
	before := s.Circuit
	c := before
	if success {
		c = Circuit{}
	}
	if failures > 0 {
		if c.Failures == 0 {
			c.Since = now
		}
		c.Failures += failures
	}
	if c.Failures >= CircuitAfter && !c.Open {
		c.Open, c.ProbeAt = true, now.Add(ProbePause)
	}
	if c == before {
		return s, false
	}
	s.Circuit = c
	s.Version++
	return s, true
}

// Probe claims the next try at an endpoint whose circuit is open; false while
// it is not time. Of several who claim, one writes.
func (s Subscription) Probe(now time.Time) (Subscription, bool) {
	if !s.Circuit.Open || now.Before(s.Circuit.ProbeAt) {
		return s, false
	}
	s.Circuit.ProbeAt = now.Add(ProbePause)
	s.Version++
	return s, true
}

// Hopeless reports whether the endpoint has failed for so long that it is to
// be disabled.
func (s Subscription) Hopeless(now time.Time) bool {
	return s.Status == Enabled && s.Circuit.Open && !now.Before(s.Circuit.Since.Add(HopelessAfter))
}
