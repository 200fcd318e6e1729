package work_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/work"
)

// A loop that does not return from one look is found, one that takes its time is not yet, and one that
// rests is never.
func TestPulseFindsLoopsThatDoNotGoOn(t *testing.T) {
	p := work.NewPulse(time.Now)
	free := make(chan struct{})
	hang := func(context.Context) (int, error) { <-free; return 0, nil }
	for _, l := range []work.Loop{{Name: "hangs", Do: hang}, {Name: "has patience", Do: hang, Patience: 3}} {
		go p.Of(l).Do(t.Context())
	}
	rests := p.Of(work.Loop{Name: "rests", Do: func(context.Context) (int, error) { return 0, nil }, Next: func(context.Context) (time.Time, error) { return time.Time{}, nil }})
	var found [][]string
	for len(found) < 10 {
		if _, err := rests.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := rests.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stuck := p.Feel(2); len(stuck) > 0 || len(found) > 0 {
			slices.Sort(stuck)
			found = append(found, stuck)
		}
		time.Sleep(time.Millisecond)
	}
	if !slices.Equal(found[0], []string{"hangs"}) || !slices.Equal(found[9], []string{"hangs", "has patience"}) {
		t.Errorf("looks in a row found %v", found)
	}
	if stuck := p.Stuck(); len(stuck) != 2 {
		t.Errorf("told as stuck: %v", stuck)
	}
	close(free)
	for deadline := time.Now().Add(10 * time.Second); len(p.Feel(2)) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("loops that go on are held for stuck")
		}
	}
}
