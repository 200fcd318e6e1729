package webhooks

import "time"

// Times and limits of an endpoint circuit (HOOK-15).
const (
	// CircuitAfter is the number of failures in a row that opens it.
	CircuitAfter = 10
	// ProbePause is the time between two tries while it is open.
	ProbePause = time.Minute
	// HopelessAfter is how long an endpoint may go without a success before it is disabled. HopelessText is why, for people.
	HopelessAfter = 7 * 24 * time.Hour
	HopelessText  = "no delivery succeeded for seven days"
)

// EndpointCircuit is how an endpoint has answered lately. While it is open, one delivery a minute is tried;
// the others wait without using up tries. The zero value is a healthy endpoint.
type EndpointCircuit struct {
	Open     bool
	Failures int       // in a row
	Since    time.Time // time of the first of them
	ProbeAt  time.Time // while open: when the next delivery may be tried
}

// Record records answers of the endpoint. success: one succeeded. failures counts those that failed
// after it, or all if none succeeded. It reports whether something has changed and must be written.
func (s Subscription) Record(success bool, failures int, now time.Time) (Subscription, bool) {
	before := s.Circuit
	c := before
	if success {
		c = EndpointCircuit{}
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

// Probe reserves the next try at an endpoint whose circuit is open. It returns false if it is too
// early. If several nodes do this at once, only one can write.
func (s Subscription) Probe(now time.Time) (Subscription, bool) {
	if !s.Circuit.Open || now.Before(s.Circuit.ProbeAt) {
		return s, false
	}
	s.Circuit.ProbeAt = now.Add(ProbePause)
	s.Version++
	return s, true
}

// Calmed is the subscription after its sandbox was emptied and its test clock went back to now: it remembers no
// failures, and none of its times is far ahead. It returns false if nothing changes.
func (s Subscription) Calmed(now time.Time) (Subscription, bool) {
	before := s
	s.Circuit = EndpointCircuit{}
	if latest := now.Add(RotationGrace); s.PreviousUntil.After(latest) {
		s.PreviousUntil = latest
	}
	if s.UpdatedAt.After(now) {
		s.UpdatedAt = now
	}
	changed := s.Circuit != before.Circuit || !s.PreviousUntil.Equal(before.PreviousUntil) || !s.UpdatedAt.Equal(before.UpdatedAt)
	s.Version++
	return s, changed
}

// Hopeless reports whether the endpoint has failed for so long that it is disabled.
func (s Subscription) Hopeless(now time.Time) bool {
	return s.Status == Enabled && s.Circuit.Open && !now.Before(s.Circuit.Since.Add(HopelessAfter))
}
