package limit

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	shards = 64
	// shardLimit bounds the buckets of a shard; in total there may be half a million. If all
	// are in use, half of the shard's are forgotten, so their owners have full buckets again:
	// memory matters more than a flood from half a million addresses, which no such limit
	// stops.
	shardLimit = 8192
	sweepFirst = 128 // buckets of a shard before its first sweep
)

// Local keeps buckets in this process. It is safe for concurrent use, needs no closing, and
// allocates nothing for a known bucket.
type Local struct {
	seed   maphash.Seed
	shards [shards]shard
}

// shard holds some of the buckets.
type shard struct {
	mu    sync.Mutex    // guards what follows
	full  map[Key]int64 // when the bucket will be full, nanoseconds since 1970
	sweep int           // how many buckets there may be before the full ones are dropped
	_     [40]byte      // a cache line of its own
}

// NewLocal returns buckets that are all full.
func NewLocal() *Local {
	l := &Local{seed: maphash.MakeSeed()}
	for i := range l.shards {
		l.shards[i].full, l.shards[i].sweep = map[Key]int64{}, sweepFirst
	}
	return l
}

// Spend takes a token from a bucket, if there is one.
func (l *Local) Spend(k Key, r Bucket, now time.Time) State { return l.ask(k, r, now, true) }

// Peek reports what Spend would return, and takes nothing.
func (l *Local) Peek(k Key, r Bucket, now time.Time) State { return l.ask(k, r, now, false) }

func (l *Local) ask(k Key, r Bucket, now time.Time, keep bool) State {
	at := now.UnixNano()
	s := &l.shards[(maphash.String(l.seed, k.Owner)^maphash.String(l.seed, k.Object))%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	full, state := r.spend(time.Duration(max(0, s.full[k]-at)))
	if keep && state.OK {
		if len(s.full) >= s.sweep {
			s.drop(at)
		}
		s.full[k] = at + int64(full)
	}
	return state
}

// drop forgets full buckets, which hold no information. The cost per new bucket is
// constant, because the next sweep comes when there are twice as many.
func (s *shard) drop(at int64) {
	for k, full := range s.full {
		if full <= at {
			delete(s.full, k)
		}
	}
	if len(s.full) > shardLimit*3/4 {
		for k := range s.full {
			if len(s.full) <= shardLimit/2 {
				break
			}
			delete(s.full, k)
		}
	}
	s.sweep = min(max(sweepFirst, 2*len(s.full)), shardLimit)
}
