package merchants

import (
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Clock is the test clock of a merchant's sandbox: how far it is ahead of the service's clock
// (SBX-12). It never goes back, except that a reset of the sandbox takes it back to the service's clock.
type Clock struct {
	Merchant string
	Version  int64 // 0 until it is moved
	Advance  time.Duration
}

// maxAdvance limits a test clock. It is enough to release every reserve.
const maxAdvance = 5 * 366 * 24 * time.Hour

// Move moves the clock forward.
//
// Errors: invalid_request for a duration that is not positive, or that takes the clock more than
// five years ahead.
func (c Clock) Move(by time.Duration) (Clock, error) {
	if by <= 0 || by > maxAdvance || c.Advance+by > maxAdvance {
		return c, problem.Field(problem.InvalidRequest, "advance",
			clockAdvanceUnreadable)
	}
	c.Version++
	// Times are stored in microseconds.
	c.Advance = (c.Advance + by).Truncate(time.Microsecond)
	return c, nil
}

// Back is the clock after its sandbox was emptied: the service's clock.
func (c Clock) Back() Clock {
	c.Version++
	c.Advance = 0
	return c
}

// ParseDuration reads a duration such as 90s, 48h, 7d or 1d12h: Go's units and
// d, a day of 24 hours.
func ParseDuration(text string) (time.Duration, bool) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	} else if rest == "" {
		rest = "0s"
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, false
	}
	d, err := time.ParseDuration(rest)
	return time.Duration(n)*24*time.Hour + d, err == nil
}
