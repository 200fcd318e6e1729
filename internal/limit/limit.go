// Package limit counts requests with token buckets, in this process or in a Redis that
// several nodes share.
//
// The algorithm is the generic cell rate algorithm: a bucket is one number, the time at
// which it will be full again. Taking a token moves it by the time that a token needs to
// come back, so the wait for the next one is exact, and no timer refills anything.
//
// It knows no merchants and no HTTP: the caller decides who is counted together, and what a
// refusal looks like.
package limit

import "time"

// Bucket is a token bucket. Both fields are above zero.
type Bucket struct {
	Every time.Duration // until one token has come back
	Burst int           // tokens in a full bucket
}

// PerSecond returns a bucket that gains n tokens each second.
func PerSecond(n, burst int) Bucket {
	return Bucket{Every: max(time.Second/time.Duration(max(n, 1)), time.Microsecond), Burst: max(burst, 1)}
}

// PerMinute returns a bucket of n tokens that refills in a minute.
func PerMinute(n int) Bucket {
	return Bucket{Every: time.Minute / time.Duration(max(n, 1)), Burst: max(n, 1)}
}

// Key names a bucket: what is counted, and for whom.
type Key struct{ Kind, Owner, Object string }

// State is a bucket after a request.
type State struct {
	OK    bool          // there was a token
	Limit int           // tokens in a full bucket
	Left  int           // tokens left now
	Retry time.Duration // time until there is a token; 0 if OK
	Full  time.Duration // time until the bucket is full
}

// spend is the algorithm. full is the time until the bucket is full again, before and after.
func (b Bucket) spend(full time.Duration) (time.Duration, State) {
	room := time.Duration(b.Burst) * b.Every
	s := State{OK: true, Limit: b.Burst}
	if wait := full + b.Every - room; wait > 0 {
		s.OK, s.Retry = false, wait
	} else {
		full += b.Every
	}
	s.Full = full
	s.Left = int(max(0, room-full) / b.Every)
	return full, s
}
