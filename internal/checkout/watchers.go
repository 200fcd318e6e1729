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
	// livePeriod is how often watched payments are checked for writes.
	livePeriod = time.Second
	// liveLimit bounds the number of watching shoppers, livePerAddress those of one address,
	// as many as may share a mobile carrier's, and livePerPayment those of one payment. Others
	// see a change when they reload the page.
	liveLimit      = 2000
	livePerAddress = 100
	livePerPayment = 10
)

// watchers are the pages that wait for a change. However many there are, they cause one
// query a second, and none while there are no pages.
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
	version int64 // 0 until it was read
	changed chan struct{}
}

func newWatchers(versions func(context.Context, []string) (map[string]int64, error), log *slog.Logger) *watchers {
	return &watchers{versions: versions, log: log, of: map[string]*watched{}, addresses: map[string]int{}}
}

// enter reserves a place for one more page; nil if there is none.
func (w *watchers) enter(payment, address string) (_ *watched, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	mine := w.of[payment]
	if w.streams >= liveLimit || w.addresses[address] >= livePerAddress || mine != nil && mine.streams >= livePerPayment {
		return nil, nil
	}
	if !w.looking {
		w.looking = true
		go w.refresh()
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

// change returns a channel that is closed by the next write to the payment.
func (w *watched) change() <-chan struct{} {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	return w.changed
}

// refresh reads the versions of all watched payments, until there are none.
func (w *watchers) refresh() {
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
			w.log.Warn("watched payments cannot be read", "payments", len(payments), "error", err)
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
