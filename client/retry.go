package client

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"math/big"
	"net/http"
	"time"
)

const (
	// defaultRetries is how often a call is repeated.
	defaultRetries = 3
	// firstDelay is the pause before the first repeat; each later one is twice as long, up to longestDelay.
	firstDelay   = 500 * time.Millisecond
	longestDelay = 8 * time.Second
	// longestRetryAfter is the longest pause that a reply may ask for. With a longer one the call returns its error.
	longestRetryAfter = time.Minute
	// keyHeader makes a repeat safe.
	keyHeader = "Idempotency-Key"
)

// ErrNotSent is in the error of a call that was not sent, because its values cannot be written: it did nothing, and a repeat does not help.
var ErrNotSent = errors.New("nothing was sent")

// keyed returns the request with an idempotency key, if its operation has one, and whether it may be repeated.
func (r request) keyed() (_ request, safe bool) {
	given, has := r.header[keyHeader]
	if has && given == "" {
		r.header = maps.Clone(r.header)
		r.header[keyHeader] = rand.Text()
	}
	return r, has || r.method == http.MethodGet
}

// pause returns how long to wait before a repeat, and false if there must be none. failures is how many there were before.
func (c *Client) pause(err error, out any, safe bool, failures int) (time.Duration, bool) {
	if _, file := out.(io.Writer); failures >= c.retries || file || errors.Is(err, ErrNotSent) { // a part of a file cannot be taken back
		return 0, false
	}
	var least time.Duration
	var refused *Error
	if errors.As(err, &refused) {
		if !refused.repeatable(safe) || refused.RetryAfter > longestRetryAfter {
			return 0, false
		}
		least = refused.RetryAfter
	} else if !safe {
		return 0, false
	}
	delay := min(c.delay<<min(failures, 10), longestDelay)
	if n, err := rand.Int(rand.Reader, big.NewInt(int64(delay/2)+1)); err == nil {
		delay = delay/2 + time.Duration(n.Int64())
	}
	return max(least, delay), true
}

// repeatable reports whether the same request may get another answer. One that is not safe is repeated only if nothing was done.
func (e *Error) repeatable(safe bool) bool {
	switch {
	case e.Status == http.StatusTooManyRequests || e.Code == CodeServiceUnavailable && e.Details.Reason == "":
		return true
	case !safe || e.Replayed:
		return false
	}
	return e.Status >= http.StatusInternalServerError || e.Code == CodeIdempotencyConflict && e.Details.Reason == "request_in_progress"
}

// wait waits, or returns false when the context ends first.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
