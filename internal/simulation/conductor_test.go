package simulation

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"
)

// conductor lets one goroutine of a world run at a time. A goroutine that is about to do
// something visible to others waits for its turn; when no goroutine runs any more, the seed
// decides whose turn is next. So a world is the same each time, on any number of
// processors.
//
// Between two turns a goroutine may do anything, as long as no other goroutine's behaviour
// depends on who was first.
type conductor struct {
	seed   uint64
	chance *rand.Rand // for the goroutine that has the turn
	last   string     // whose turn it was
	turns  atomic.Int64
	digest uint64
	now    int64            // microseconds, of the last turn
	since  int              // turns at that moment
	tape   *strings.Builder // every turn; nil keeps none

	mu      sync.Mutex // guards waiting
	waiting []turn
	arrived chan struct{} // holds one
	end     chan struct{}
	ended   chan struct{}
}

// endless is more turns than any moment has.
const endless = 20_000

type turn struct {
	key string
	go_ chan struct{}
}

func newConductor(seed uint64) *conductor {
	return &conductor{
		seed: seed, chance: rand.New(rand.NewPCG(seed, 1)), arrived: make(chan struct{}, 1),
		end: make(chan struct{}), ended: make(chan struct{}),
	}
}

// turn returns when it is the caller's turn. The key says what the caller is about to do.
// Two callers that wait with the same key are about to do the same thing: their order does not
// matter, as long as no other turn comes between them and luck gives both the same result.
func (c *conductor) turn(key string) {
	mine := turn{key, make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, mine)
	c.mu.Unlock()
	select {
	case c.arrived <- struct{}{}:
	default:
	}
	<-mine.go_
}

// keep is a turn that its owner keeps for its next action.
type keep struct {
	turns int64
	at    time.Time
	gone  bool
}

type keepKey struct{}

// keeping returns a context under which the caller's next action needs no new turn. Call it
// with the turn, before any visible action in it.
func (c *conductor) keeping(ctx context.Context) context.Context {
	return context.WithValue(ctx, keepKey{}, &keep{turns: c.turns.Load(), at: time.Now()})
}

// kept reports whether the caller still has the turn, and records its action.
func (c *conductor) kept(ctx context.Context, key string) bool {
	k, _ := ctx.Value(keepKey{}).(*keep)
	if k == nil || k.gone {
		return false
	}
	k.gone = true
	if k.turns != c.turns.Load() || !k.at.Equal(time.Now()) {
		return false
	}
	c.last = key
	c.note(key)
	return true
}

// run gives turns until stop.
func (c *conductor) run() {
	defer close(c.ended)
	for {
		synctest.Wait()
		next, ok := c.next()
		if ok {
			c.note(next.key)
			close(next.go_)
			continue
		}
		select {
		case <-c.arrived: // time passed until a goroutine had something to do
		case <-c.end:
			return
		}
	}
}

func (c *conductor) next() (turn, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return turn{}, false
	}
	at := slices.IndexFunc(c.waiting, func(t turn) bool { return t.key == c.last })
	if at < 0 {
		if len(c.waiting) > 1 {
			slices.SortStableFunc(c.waiting, func(a, b turn) int { return strings.Compare(a.key, b.key) })
		}
		at = c.chance.IntN(len(c.waiting))
	}
	next := c.waiting[at]
	c.last = next.key
	c.waiting = slices.Delete(c.waiting, at, at+1)
	return next, true
}

// note adds to the digest what happens, and when.
//
// It panics if a moment has too many turns: a service that loops without time passing would
// never end.
func (c *conductor) note(key string) {
	now := time.Now().UnixMicro()
	if c.since++; c.now != now {
		c.now, c.since = now, 0
	}
	if c.since > endless {
		panic(fmt.Sprintf("world %d loops without end: %d turns in one moment, now %s", c.seed, c.since, key))
	}
	c.turns.Add(1)
	c.digest = mix(mix(c.digest, uint64(now)), hash64(key))
	if c.tape != nil {
		fmt.Fprintf(c.tape, "%s %s\n", time.Now().UTC().Format("01-02 15:04:05.000000"), key)
	}
}

// stop ends the turns. No goroutine may be waiting for one.
func (c *conductor) stop() {
	close(c.end)
	<-c.ended
}

// one returns true once in that many calls, on average.
func (c *conductor) one(in int) bool { return in > 0 && c.chance.IntN(in) == 0 }

// luck returns true once in that many calls, on average. All calls with the same key at the
// same time get the same result.
func (c *conductor) luck(key string, in int) bool {
	if in <= 0 {
		return false
	}
	return mix(mix(hash64(key), c.seed), uint64(time.Now().UnixMicro()))%uint64(in) == 0
}

// between returns a duration.
func (c *conductor) between(low, high time.Duration) time.Duration {
	return low + time.Duration(c.chance.Int64N(int64(high-low)+1))
}

// about returns a duration of any order of magnitude between the two: seconds as often as
// hours.
func (c *conductor) about(low, high time.Duration) time.Duration {
	return time.Duration(float64(low) * math.Pow(float64(high)/float64(low), c.chance.Float64()))
}

const (
	offset64 = 14695981039346656037
	prime64  = 1099511628211
)

// hash64 is FNV-1a.
func hash64[T string | []byte](text T) uint64 {
	h := uint64(offset64)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime64
	}
	return h
}

// mix combines two numbers into one.
func mix(a, b uint64) uint64 {
	x := (a ^ b*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>29) * 0x94d049bb133111eb
	return x ^ x>>32
}
