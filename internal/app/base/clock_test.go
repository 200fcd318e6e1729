package base_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// A test clock that was moved is not set back by the loop's read that began before: the next payment has the time that its
// shop was told (SBX-12).
func TestClockIsNotSetBackByAReadFromBefore(t *testing.T) {
	ctx := t.Context()
	shared, err := store.OpenShared(ctx, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	held, release := make(chan struct{}), make(chan struct{})
	var hold atomic.Bool
	s, err := store.Open(ctx, "", store.Options{Shared: shared, Through: func(ctx context.Context, trip store.Trip, run func(context.Context) error) error {
		err := run(ctx)
		if trip.Kind == store.TripRead && strings.Contains(trip.Texts[0], "FROM clocks") && hold.CompareAndSwap(true, false) {
			close(held)
			<-release
		}
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := base.New(base.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	b.Store.Store = s
	read := func() {
		if err := b.ReadClocks(ctx); err != nil {
			t.Error(err)
		}
	}
	var reads sync.WaitGroup
	hold.Store(true)
	reads.Go(read)
	<-held
	if err := s.Commit(ctx, pay.Change{Clocks: []merchants.Clock{{Merchant: "mer_1", Version: 1, Advance: time.Hour}}}); err != nil {
		t.Fatal(err)
	}
	after := make(chan struct{})
	reads.Go(func() { read(); close(after) })
	select { // a read that waits for the one before would wait here for ever
	case <-after:
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	reads.Wait()
	if got := b.Advance(merchants.Scope{Merchant: "mer_1"}); got != time.Hour {
		t.Errorf("the clock is %s ahead after it was moved, want 1h", got)
	}
}
