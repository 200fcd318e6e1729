package daemon

import (
	"time"

	apprates "github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/rates/feed"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

// FX is the sources of exchange rates and how long rates are trusted. Zero values mean the
// documented defaults.
type FX struct {
	URL        string // address of a JSON endpoint; empty for none
	Every      time.Duration
	StaleAfter time.Duration // older rates cause a warning
	MaxAge     time.Duration // older rates refuse new charges
	MaxJump    int           // percent; a larger change waits for the operator
}

func (f FX) open() (apprates.FX, error) {
	o := apprates.DefaultFX()
	if f.Every != 0 {
		o.Every = f.Every
	}
	set := rates.Limits{StaleAfter: f.StaleAfter, MaxAge: f.MaxAge, MaxJumpBps: int64(f.MaxJump) * 100}
	if set.StaleAfter != 0 {
		o.Limits.StaleAfter = set.StaleAfter
	}
	if set.MaxAge != 0 {
		o.Limits.MaxAge = set.MaxAge
	}
	if set.MaxJumpBps != 0 {
		o.Limits.MaxJumpBps = set.MaxJumpBps
	}
	if err := o.Check(); err != nil || f.URL == "" {
		return o, err
	}
	var err error
	o.Feed, err = feed.New(f.URL)
	return o, err
}
