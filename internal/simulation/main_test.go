package simulation

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

var (
	worlds = flag.Int("worlds", 60, "how many worlds to run")
	first  = flag.Uint64("first", 1, "the first world's seed")
	one    = flag.Uint64("seed", 0, "run this world alone, and print what happens in it")
	hands  = flag.Int("hands", 2, "how many worlds run at a time")
	until  = flag.Bool("until", false, "stop at the first world in which something is found")
	same   = flag.Uint64("same", 6, "how many worlds to run twice")
	strict = flag.Bool("strict", false, "known defects count too")
)

// result is the result of a world.
type result struct {
	seed     uint64
	digest   uint64
	turns    int
	findings []finding
	counts   map[string]int
	tape     string
	logged   []string
	err      error
}

var firstWorld = struct {
	sync.Once
	*prepared
	err error
}{}

func TestMain(m *testing.M) {
	flag.Parse()
	if *defects > 0 {
		os.Exit(min(1, hunting(*defects)))
	}
	os.Exit(m.Run())
}

// run runs a world; one of cards on pages if cards is the number of its shoppers.
func run(t *testing.T, seed uint64, cards int, tape bool) (r result) {
	firstWorld.Do(func() {
		synctest.Test(t, func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, 1) // the marks of all worlds have one root
			firstWorld.prepared, firstWorld.err = prepare()
		})
	})
	if firstWorld.err != nil {
		t.Fatal(firstWorld.err)
	}
	synctest.Test(t, func(*testing.T) {
		w, err := newWorld(seed, firstWorld.prepared)
		if err != nil {
			r = result{seed: seed, err: err}
			return
		}
		w.cards = cards
		if tape {
			w.turns.tape = &strings.Builder{}
		}
		err = w.live()
		w.eye.Close()
		w.shared.Close()
		r = result{seed: seed, digest: w.turns.digest, turns: int(w.turns.turns.Load()), findings: w.findings, counts: w.counts, logged: w.logged, err: err}
		if tape {
			r.tape = w.turns.tape.String()
		}
	})
	return r
}

// fail reports a world's findings.
func (r result) fail(t *testing.T) {
	if r.err != nil {
		t.Errorf("world %d: %v", r.seed, r.err)
	}
	for i, f := range r.findings {
		if i == 3 {
			t.Errorf("world %d: and %d more", r.seed, len(r.findings)-i)
			return
		}
		t.Errorf("world %d: %s", r.seed, f)
	}
}

// After all faults are healed, all books agree.
func TestWorlds(t *testing.T) {
	if *one > 0 {
		r := run(t, *one, 0, true)
		t.Logf("%s\n%s\n%d turns", r.tape, strings.Join(r.logged, "\n"), r.turns)
		r.fail(t)
		return
	}
	began := time.Now()
	counts, turns, ran, found := runAll(t, *worlds, 0)
	t.Log(summary("worlds", counts, turns, ran, time.Since(began)) + found.String())
}

// summary lists what happened in worlds.
func summary(what string, counts map[string]int, turns, ran int, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s in %s, %.1f a second, %d turns each\n", ran, what, took.Round(time.Second), float64(ran)/took.Seconds(), turns/max(1, ran))
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%10d %s\n", counts[what], what)
	}
	return b.String()
}

// runAll runs worlds in processes of their own, and sums up what happened in them.
func runAll(t *testing.T, worlds, cards int) (counts map[string]int, turns, ran int, found *findings) {
	var next atomic.Uint64
	next.Store(*first)
	var mu sync.Mutex
	counts, found = map[string]int{}, &findings{seeds: map[string][]uint64{}}
	t.Run("all", func(t *testing.T) {
		for hand := range *hands {
			t.Run(fmt.Sprint(hand), func(t *testing.T) {
				t.Parallel()
				h, err := newHand()
				if err != nil {
					t.Fatal(err)
				}
				for seed := next.Add(1) - 1; seed < *first+uint64(worlds); seed = next.Add(1) - 1 {
					r, err := h.world(seed, cards)
					if err != nil {
						t.Errorf("world %d: %v", seed, err)
						if h, err = newHand(); err != nil {
							t.Fatal(err)
						}
						continue
					}
					r.findings = r.news(found)
					r.fail(t)
					if *until && len(r.findings) > 0 {
						next.Store(*first + uint64(worlds))
					}
					mu.Lock()
					ran++
					for what, n := range r.counts {
						counts[what] += n
					}
					turns += r.turns
					mu.Unlock()
				}
				if err := h.close(); err != nil {
					t.Error(err)
				}
			})
		}
	})
	return counts, turns, ran, found
}

// A seed gives the same world each time.
func TestASeedGoesTheSameWay(t *testing.T) {
	for seed := *first; seed < *first+*same; seed++ {
		cards := 0
		if seed%3 == 0 {
			cards = cardsAWorld
		}
		x, y := run(t, seed, cards, true), run(t, seed, cards, true)
		if x.digest == y.digest {
			continue
		}
		a, b := strings.Split(x.tape, "\n"), strings.Split(y.tape, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				from := max(0, i-5)
				t.Errorf("world %d differs between two runs after %d turns:\n%s\n\n%s", seed, i, strings.Join(a[from:min(i+5, len(a))], "\n"), strings.Join(b[from:min(i+5, len(b))], "\n"))
				break
			}
		}
	}
}
