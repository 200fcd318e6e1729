package checkout

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// livePeriod is how often it is looked whether watched payments were written.
	livePeriod = time.Second
	// liveLimit bounds the shoppers who watch at a time, livePerAddress those of one address,
	// as many as share that of a carrier, and livePerPayment those of one payment. Others see
	// a change when they load the page again.
	liveLimit      = 2000
	livePerAddress = 100
	livePerPayment = 10
)

// watchers are the pages that wait for a change. However many there are, the database is
// asked once a second, and not at all while there are none.
type watchers struct {
	versions func(ctx context.Context, payments []string) (map[string]int64, error)
	log      *slog.Logger

	mu        sync.Mutex // guards what follows
	of        map[string]*watched
	addresses map[string]int
	streams   int
	looking   bool
}

// watched is a payment that pages watch.
type watched struct {
	all     *watchers
	streams int
	version int64 // 0 while it was not looked at
	changed chan struct{}
}

func newWatchers(versions func(context.Context, []string) (map[string]int64, error), log *slog.Logger) *watchers {
	return &watchers{versions: versions, log: log, of: map[string]*watched{}, addresses: map[string]int{}}
}

// enter takes a place for one more page; nil where there is none.
func (w *watchers) enter(payment, address string) (_ *watched, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	mine := w.of[payment]
	if w.streams >= liveLimit || w.addresses[address] >= livePerAddress || mine != nil && mine.streams >= livePerPayment {
		return nil, nil
	}
	if !w.looking {
		w.looking = true
		go w.look()
	}
	if mine == nil {
		mine = &watched{all: w, changed: make(chan struct{})}
		w.of[payment] = mine
	}
	w.streams++
	w.addresses[address]++
	mine.streams++
	return mine, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.streams--
		if w.addresses[address]--; w.addresses[address] == 0 {
			delete(w.addresses, address)
		}
		if mine.streams--; mine.streams == 0 {
			delete(w.of, payment)
		}
	}
}

// change is closed when the payment is written from now on.
func (w *watched) change() <-chan struct{} {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	return w.changed
}

// look asks for the versions of all that is watched, until nothing is.
func (w *watchers) look() {
	for again := time.NewTicker(livePeriod); ; <-again.C {
		w.mu.Lock()
		if w.streams == 0 {
			w.looking = false
			w.mu.Unlock()
			again.Stop()
			return
		}
		payments := slices.Collect(maps.Keys(w.of))
		w.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), livePeriod)
		versions, err := w.versions(ctx, payments)
		cancel()
		if err != nil {
			w.log.Warn("watched payments cannot be looked at", "payments", len(payments), "error", err)
			continue
		}
		w.mu.Lock()
		for id, version := range versions {
			if mine := w.of[id]; mine != nil && mine.version != version {
				mine.version = version
				close(mine.changed)
				mine.changed = make(chan struct{})
			}
		}
		w.mu.Unlock()
	}
}
