package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Limits are the limits on requests (LIMIT-6; docs/OPERATIONS.md). DefaultLimits has the
// usual numbers.
type Limits struct {
	Tiers   map[merchants.Tier]int // requests a second of a merchant in an environment
	Sandbox int                    // what every merchant has in the sandbox at least
	Logins  int                    // failed logins a minute, for a key and for an address
	Poll    time.Duration          // between two reads of one payment
	Open    int                    // requests a second from an address to routes without credentials
	Refused int                    // requests a second from an address whose credentials are refused
	Redis   string                 // redis://… for limits that all nodes share; empty: each node by itself
}

// DefaultLimits are the documented defaults.
func DefaultLimits() Limits {
	return Limits{
		Tiers:   map[merchants.Tier]int{merchants.Starter: 25, merchants.Standard: 100, merchants.Premium: 500, merchants.Trusted: 2000},
		Sandbox: 100, Logins: 10, Poll: 5 * time.Second, Open: 20, Refused: 10,
	}
}

// check refuses numbers that would lock everybody out.
func (l Limits) check() error {
	for _, tier := range merchants.Tiers() {
		if l.Tiers[tier] < 1 {
			return fmt.Errorf("rate limits: tier %s needs at least 1 request a second", tier)
		}
	}
	for tier := range l.Tiers {
		if _, known := DefaultLimits().Tiers[tier]; !known {
			return fmt.Errorf("rate limits: there is no tier %q", tier)
		}
	}
	if l.Sandbox < 1 || l.Logins < 1 || l.Poll < time.Millisecond || l.Open < 1 || l.Refused < 1 {
		return fmt.Errorf("rate limits: every figure must be above zero; --rate-limit off lifts them all")
	}
	return nil
}

// openLimits returns the API's limits, nil for none, and the Redis in which they are
// shared, nil without one. The numbers have been checked.
func openLimits(ctx context.Context, l *Limits, log *slog.Logger) (limits *gate.Limits, shared *limit.Redis, err error) {
	if l == nil {
		return nil, nil, nil
	}
	limits = &gate.Limits{
		Limiter: limit.NewLocal(), Tiers: l.Tiers, Sandbox: l.Sandbox, Logins: l.Logins, Poll: l.Poll, Open: l.Open, Refused: l.Refused,
	}
	if l.Redis != "" {
		if shared, err = limit.OpenRedis(ctx, l.Redis, log); err != nil {
			return nil, nil, err
		}
		limits.Limiter = shared
	}
	return limits, shared, nil
}

// manyConnections is the default of Connections: some 20 KB each.
const manyConnections = 8192

// connections is how many client connections may be open: the database, the providers and
// the webhooks need descriptors too.
func (c Config) connections() int {
	n := c.Connections
	if n == 0 {
		n = manyConnections
	}
	if have := descriptors(); have > 0 {
		n = min(n, have/2)
	}
	return n
}
