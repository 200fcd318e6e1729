package limit_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/limit"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var (
	epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	acme  = limit.Key{Kind: "tenant", Owner: "mer_acme"}
)

func TestBucketRefillsExactly(t *testing.T) {
	l, rule := limit.NewLocal(), limit.Bucket{Every: 40 * time.Millisecond, Burst: 3}
	for _, c := range []struct {
		after time.Duration // since the first
		want  limit.State
	}{
		{0, limit.State{OK: true, Limit: 3, Left: 2, Full: 40 * time.Millisecond}},
		{0, limit.State{OK: true, Limit: 3, Left: 1, Full: 80 * time.Millisecond}},
		{0, limit.State{OK: true, Limit: 3, Left: 0, Full: 120 * time.Millisecond}},
		{0, limit.State{Limit: 3, Retry: 40 * time.Millisecond, Full: 120 * time.Millisecond}},
		{39999999, limit.State{Limit: 3, Retry: 1, Full: 80000001}},
		{40 * time.Millisecond, limit.State{OK: true, Limit: 3, Full: 120 * time.Millisecond}},
		{40 * time.Millisecond, limit.State{Limit: 3, Retry: 40 * time.Millisecond, Full: 120 * time.Millisecond}},
		{time.Hour, limit.State{OK: true, Limit: 3, Left: 2, Full: 40 * time.Millisecond}},
		// A clock that steps back takes nothing that was not there.
		{time.Hour - 10*time.Millisecond, limit.State{OK: true, Limit: 3, Left: 0, Full: 90 * time.Millisecond}},
	} {
		if peek := l.Peek(acme, rule, epoch.Add(c.after)); peek != c.want {
			t.Errorf("a look after %s tells %+v, want %+v", c.after, peek, c.want)
		}
		if got := l.Spend(acme, rule, epoch.Add(c.after)); got != c.want {
			t.Errorf("a token after %s: %+v, want %+v", c.after, got, c.want)
		}
	}
}

func TestBucketsAreApart(t *testing.T) {
	l, rule := limit.NewLocal(), limit.Bucket{Every: time.Hour, Burst: 1}
	for _, k := range []limit.Key{
		acme, {Kind: "tenant", Owner: "mer_other"}, {Kind: "poll", Owner: "mer_acme"}, {Kind: "poll", Owner: "mer_acme", Object: "TXN-1"},
		{Kind: "poll", Owner: "mer_acme", Object: "TXN-2"},
	} {
		if !l.Spend(k, rule, epoch).OK || l.Spend(k, rule, epoch).OK {
			t.Errorf("%v: want one token", k)
		}
	}
}

func TestRaceTakesEachTokenOnce(t *testing.T) {
	l, rule := limit.NewLocal(), limit.Bucket{Every: time.Hour, Burst: 500}
	var taken atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 100 {
				if l.Spend(acme, rule, epoch).OK {
					taken.Add(1)
				}
			}
		})
	}
	all.Wait()
	if got := taken.Load(); got != 500 {
		t.Errorf("%d of 500 tokens were taken", got)
	}
}

func TestFloodOfOwnersIsBoundedAndKeepsCounting(t *testing.T) {
	l, rule := limit.NewLocal(), limit.Bucket{Every: time.Hour, Burst: 1}
	for i := range 600_000 {
		l.Spend(limit.Key{Kind: "address", Owner: fmt.Sprint(i)}, rule, epoch)
	}
	if n := l.Len(); n > 550_000 {
		t.Errorf("%d buckets are kept, want about half a million at most", n)
	}
	if !l.Spend(acme, rule, epoch).OK || l.Spend(acme, rule, epoch).OK {
		t.Error("a new bucket is not counted in a full table")
	}
	// Once they are full again, buckets are forgotten.
	for i := range 200_000 {
		l.Spend(limit.Key{Kind: "address", Owner: fmt.Sprint("again", i)}, limit.Bucket{Every: 1, Burst: 1}, epoch.Add(2*time.Hour))
	}
	if n := l.Len(); n > 250_000 {
		t.Errorf("%d buckets are kept, want those in use", n)
	}
}

func TestTakingATokenAllocatesNothing(t *testing.T) {
	l, rule := limit.NewLocal(), limit.PerSecond(100, 200)
	if n := testing.AllocsPerRun(1000, func() { l.Spend(acme, rule, epoch) }); n != 0 {
		t.Errorf("a token costs %v allocations", n)
	}
}

func BenchmarkTake(b *testing.B) {
	l, rule := limit.NewLocal(), limit.PerSecond(1_000_000, 2_000_000)
	now := epoch
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Microsecond)
		l.Spend(acme, rule, now)
	}
}
