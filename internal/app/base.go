package app

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/vault"
)

// BaseConfig is what every room needs to know.
type BaseConfig struct {
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
	BaseConfig
	store database

	turns    turns
	alarms   alarms
	quiet    quiet
	shops    *cache[tenant]
	recovery atomic.Pointer[pay.Recovery]             // of a database that was put back; never nil once it was read
	clocks   atomic.Pointer[map[string]time.Duration] // of merchants who moved theirs
}

// NewBase returns one without a database.
func NewBase(c BaseConfig) *Base {
	if c.Look == 0 {
		c.Look = usualLook
	}
	return &Base{
		BaseConfig: c,
		turns:      turns{waiting: map[string]*turn{}},
		quiet:      quiet{of: map[string]hush{}, most: 1000},
		alarms:     newAlarms(),
		shops:      newCache[tenant](c.Now),
	}
}
