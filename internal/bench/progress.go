package bench

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Progress is the state of a run.
type Progress struct {
	Elapsed             time.Duration // since its start
	Payments            int64         // 201 replies since the last report
	P50Ms, P99Ms, MaxMs float64       // of these
	Errors              int64         // since the start: all other replies, and broken connections
	Created, Events     int64         // since the start: 201 replies, and payments whose event arrived
}

// String is one line for a log.
func (p Progress) String() string {
	return fmt.Sprintf("%s: %d payments, p50 %.1f ms, p99 %.1f ms, max %.1f ms; in all %d payments, %d events, %d errors",
		p.Elapsed.Round(time.Second), p.Payments, p.P50Ms, p.P99Ms, p.MaxMs, p.Created, p.Events, p.Errors)
}

// progress gathers the data of Progress. A nil one gathers nothing, at no cost.
type progress struct {
	began time.Time
	sink  *sink // nil without webhooks

	mu              sync.Mutex // guards what follows
	latencies       []uint32   // µs, since the last report
	created, errors int64
}

// add counts a payment that took us microseconds.
func (p *progress) add(us uint32) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.created++
	p.latencies = append(p.latencies, us)
}

// failed counts a reply that is not a payment.
func (p *progress) failed() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors++
}

// print reports progress until stop is called; stop waits for its end.
func (p *progress) print(c Config) (stop func()) {
	over := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(c.ProgressEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				c.Progress(p.next())
			}
		}
	})
	return func() {
		close(over)
		telling.Wait()
	}
}

// next returns the data since the last report, and starts again.
func (p *progress) next() Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.latencies)
	told := Progress{
		Elapsed: time.Since(p.began), Payments: int64(len(p.latencies)), Errors: p.errors, Created: p.created, Events: p.sink.arrived(),
		P50Ms: percentile(p.latencies, 50), P99Ms: percentile(p.latencies, 99), MaxMs: percentile(p.latencies, 100),
	}
	p.latencies = p.latencies[:0]
	return told
}
