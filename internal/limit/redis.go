package limit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// redisTimeout bounds one query to Redis: a limit must cost less than what it protects.
	redisTimeout = 100 * time.Millisecond
	// redisProbe is how often we retry a Redis that does not answer.
	redisProbe = time.Second
	keyPrefix  = "cascada:limit:"
)

// script is Bucket.take in Redis, by Redis' own clock, so that the nodes' clocks need not
// agree. Times are in microseconds, which a Lua number holds exactly. It returns whether
// there was a token, and the time until the bucket is full.
var script = redis.NewScript(1, `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local every, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(0, tonumber(redis.call('GET', KEYS[1]) or 0) - now)
if full + every > every * burst then
  return {0, full}
end
full = full + every
if ARGV[3] == '1' then
  redis.call('SET', KEYS[1], string.format('%.0f', now + full), 'PX', math.ceil(full / 1000))
end
return {1, full}`)

// Redis keeps buckets that several nodes share. It never fails: while Redis does not
// answer, this node counts alone, and it returns to Redis as soon as it can. The caller
// must close it.
type Redis struct {
	pool  *redis.Pool
	local *Local // while Redis does not answer
	log   *slog.Logger
	down  atomic.Bool
	lost  chan struct{} // wakes the probe
	stop  context.CancelFunc
	probe sync.WaitGroup
}

// OpenRedis returns buckets in the Redis at redis://[user:password@]host:port/db, or
// rediss:// for TLS. A Redis that cannot be reached is not an error: it may come up later.
func OpenRedis(ctx context.Context, url string, log *slog.Logger) (*Redis, error) {
	at, err := parseAddress(url)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	r := &Redis{pool: at.pool(), local: NewLocal(), log: log, lost: make(chan struct{}, 1), stop: stop}
	if _, err := r.run(Key{Kind: "probe"}, Bucket{Every: time.Second, Burst: 1}, true); err != nil {
		r.lose(err)
	}
	r.probe.Go(func() { r.watch(ctx) })
	return r, nil
}

// Close ends the connections.
func (r *Redis) Close() error {
	r.stop()
	r.probe.Wait()
	if err := r.pool.Close(); err != nil {
		return fmt.Errorf("close redis: %w", err)
	}
	return nil
}

// Up reports whether Redis answers.
func (r *Redis) Up() bool { return !r.down.Load() }

// Spend takes a token from a bucket, if there is one. now is the time for the local buckets,
// which are used while Redis does not answer.
func (r *Redis) Spend(k Key, bucket Bucket, now time.Time) State { return r.ask(k, bucket, now, true) }

// Peek reports what Spend would return, and takes nothing.
func (r *Redis) Peek(k Key, bucket Bucket, now time.Time) State { return r.ask(k, bucket, now, false) }

func (r *Redis) ask(k Key, bucket Bucket, now time.Time, keep bool) State {
	if !r.down.Load() {
		s, err := r.run(k, bucket, keep)
		if err == nil {
			return s
		}
		r.lose(err)
	}
	return r.local.ask(k, bucket, now, keep)
}

// run asks Redis.
func (r *Redis) run(k Key, bucket Bucket, keep bool) (State, error) {
	bucket.Every = max(bucket.Every.Truncate(time.Microsecond), time.Microsecond)
	// Not the request's context: a client that disconnects is not a failure of Redis. The
	// connection's own timeouts bound the call.
	ctx, cancel := context.WithTimeout(context.Background(), redisTimeout)
	defer cancel()
	conn, err := r.pool.GetContext(ctx)
	if err != nil {
		return State{}, err
	}
	got, err := redis.Int64s(script.Do(conn, keyPrefix+k.Kind+":"+k.Owner+":"+k.Object, bucket.Every.Microseconds(), bucket.Burst, keep))
	if err = errors.Join(err, conn.Close()); err != nil { // it returns to the pool
		return State{}, err
	}
	if len(got) != 2 {
		return State{}, fmt.Errorf("redis answered %v", got)
	}
	full := time.Duration(got[1]) * time.Microsecond
	if got[0] == 1 {
		full -= bucket.Every // as it was before
	}
	_, s := bucket.spend(full)
	s.OK = got[0] == 1
	return s, nil
}

// lose switches to the local buckets, and logs that once.
func (r *Redis) lose(err error) {
	if !r.down.CompareAndSwap(false, true) {
		return
	}
	r.log.Warn("redis does not answer: this node counts alone until it does", "error", err)
	select {
	case r.lost <- struct{}{}:
	default:
	}
}

// watch retries a lost Redis until it answers. It makes the same call as a limit, because a
// Redis that accepts no writes is of no use.
func (r *Redis) watch(ctx context.Context) {
	tick := time.NewTicker(redisProbe)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.lost:
		}
		for r.down.Load() {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := r.run(Key{Kind: "probe"}, Bucket{Every: time.Second, Burst: 1}, true); err == nil {
				r.down.Store(false)
				r.log.Info("redis answers again: the nodes share their limits")
			}
		}
	}
}
