// Package base is what every use case stands on: the database and its commits, the clocks, who
// asks, the audit log, idempotency keys, calls to providers that are under way, and the loops'
// alarms. It is no use case itself.
package base

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/vault"
)

// Config is what every room needs to know.
type Config struct {
	Log   *slog.Logger
	Vault *vault.Vault
	// Now is the clock, asked once per request or unit of work.
	Now func() time.Time
	// NewID makes an id with a prefix.
	NewID func(prefix string, now time.Time) string
	// CheckoutURL is the address of the pages for shoppers, without a slash at
	// the end.
	CheckoutURL string
	// Operator is the person who runs this process, for the audit log, user@host;
	// "" where it serves and acts by itself.
	Operator string
	// Look is how often the database is looked at for what other processes wrote; 0
	// means a second.
	Look time.Duration
	// Meter is told how long things take; Tracer makes spans of them, nil makes none.
	Meter  Meter
	Tracer *trace.Tracer
}

// Base is what every use case stands on. It is safe for use by many goroutines.
type Base struct {
	Config
	Store database

	Turns         turns
	Alarms        alarms
	Quiet         quiet
	Tenants       *Cache[Tenancy]
	RecoveryState atomic.Pointer[pay.Recovery]             // of a database that was put back; never nil once it was read
	Clocks        atomic.Pointer[map[string]time.Duration] // of merchants who moved theirs
}

// New returns one without a database.
func New(c Config) *Base {
	if c.Look == 0 {
		c.Look = usualLook
	}
	return &Base{
		Config:  c,
		Turns:   turns{waiting: map[string]*turn{}},
		Quiet:   quiet{of: Newest[string, hush](quietKinds)},
		Alarms:  newAlarms(),
		Tenants: NewCache[Tenancy](c.Now),
	}
}
