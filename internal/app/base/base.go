// Package base is shared by all use cases: the database and its commits, the clocks, the principal
// of a request, the audit log, idempotency keys, calls to providers that are under way, and the
// loops' alarms. It is not a use case itself.
package base

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/vault"
)

// Config is what every use case needs.
type Config struct {
	Log   *slog.Logger
	Vault *vault.Vault
	// Now is the clock. It is read once per request or unit of work.
	Now func() time.Time
	// NewID makes an id with the prefix.
	NewID func(prefix string, now time.Time) string
	// CheckoutURL is the address of the pages for shoppers, without a trailing slash.
	CheckoutURL string
	// Operator is the person who runs this process, as user@host, for the audit log; "" if the
	// process is a server.
	Operator string
	// HashMemory is the memory that hashing a password takes, in KiB; 0 means what a service takes. Tests take less.
	HashMemory uint32
	// Together is called when a caller goes on with what was read for several, for the simulation, where one goes on at a time;
	// nil: nothing is called.
	Together func(ctx context.Context)
	// Look is how often the database is checked for what other processes wrote; 0 means one second.
	Look time.Duration
	// NoSandbox switches every merchant's sandbox off.
	NoSandbox bool
	// Meter gets the durations; Tracer makes spans. nil turns either off.
	Meter  Meter
	Tracer *trace.Tracer
}

// Base is shared by all use cases. It is safe for use by many goroutines.
type Base struct {
	Config
	Store database

	Clocks
	Alarms        alarms
	Quiet         quiet
	Tenants       *Cache[Tenancy]
	Sandboxes     *Sandboxes
	Dual          *DualControls
	RecoveryState atomic.Pointer[pay.Recovery] // of a database that was restored; not nil once it was read
	// Ended is called with each payment whose end this node wrote; nil: there is no call. It is set before the first commit.
	Ended func(pay.Payment)
}

// New returns a Base without a database.
func New(c Config) *Base {
	if c.Look == 0 {
		c.Look = usualLook
	}
	b := &Base{
		Config:  c,
		Clocks:  Clocks{now: c.Now},
		Quiet:   quiet{log: c.Log, now: c.Now, of: Newest[string, hush](quietKinds)},
		Alarms:  newAlarms(),
		Tenants: NewCache[Tenancy](&c),
	}
	b.Sandboxes = &Sandboxes{b, NewCache[doors](&c)}
	b.Dual = newDualControls(b)
	return b
}
