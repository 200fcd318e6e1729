// Package work runs loops over due rows. It knows no domain: a loop is a
// function that takes what is due and says how much it took.
package work

import (
	"context"
	"log/slog"
	"time"
)

// Loop does due work again and again.
type Loop struct {
	Name  string
	Every time.Duration // between looks when nothing is due
	// Do takes what is due and does it; it returns how many it took. The work
	// is leased, so that every node may run the loop, and doing one twice is
	// harmless.
	Do func(context.Context) (int, error)
	// Wake makes the loop look at once; nil never does.
	Wake <-chan struct{}
}

// Run looks for work until ctx ends. After a look that found something it
// looks again at once; errors are logged and tried again later.
func (l Loop) Run(ctx context.Context, log *slog.Logger) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-l.Wake:
		}
		wait := l.Every
		n, err := l.Do(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Error("a work loop failed; it goes on", "loop", l.Name, "error", err)
		case n > 0:
			wait = 0
		}
		timer.Reset(wait)
	}
}
