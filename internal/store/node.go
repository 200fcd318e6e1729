package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/schema"
	"github.com/cascadapay/cascada/internal/store/table"
	"golang.org/x/sync/singleflight"
)

const (
	// nodeLease is how long a node counts as alive after its last renewal. nodeRenewal is the interval of
	// renewals.
	nodeLease   = 5 * time.Second
	nodeRenewal = time.Second
	// nodeIdle is how long a node without work waits before it leaves. It is longer than a call takes.
	nodeIdle = 30 * time.Second
	// nodeKept is how long a dead node's row is kept for people.
	nodeKept = 24 * time.Hour
	// orphansEvery is how many looks for dead nodes pass between two looks for ownerless rows.
	orphansEvery = 30
	// freshHold is the lease time that must be left to start a call without a renewal.
	freshHold = 2 * time.Second
)

// ErrNoHold: this node may not start a call now. Another node has taken over its work, or the database has
// not confirmed that it is alive.
var ErrNoHold = fmt.Errorf("%w: the node's lease is over", engine.ErrDown)

var errTooShort = errors.New("the lease was nearly over when it was granted")

// node is this process as others see it. Its lease runs by the database's clock: two nodes' clocks need not
// agree.
//
// If this process alone serves a database file, nobody can take over: the lease is nominal, and a start
// treats all other nodes as dead.
type node struct {
	s      *core
	held   atomic.Pointer[hold]
	flight singleflight.Group // renews the lease, or gives it up
	joined chan struct{}      // holds one once joined
	used   atomic.Int64       // last use of Hold, in nanoseconds of this process's clock
	looks  atomic.Int64       // calls of ReleaseOrphans
}

// hold is a lease as granted.
type hold struct {
	node  string
	until time.Time // in the database's clock
	now   time.Time // the database's clock when the lease was requested
	asked time.Time // this process's clock then
}

var (
	// $2 is the lease's length; $3 the time, if the database has no clock of its own.
	databaseClock = `(CASE WHEN CAST($3 AS BIGINT) = 0 THEN {now} ELSE CAST($3 AS BIGINT) END)`

	holdNode = engine.Standalone(`INSERT INTO nodes (id, joined, until, gone) VALUES ($1, ` + databaseClock + `, ` + databaseClock + ` + $2, 0)
ON CONFLICT (id) DO UPDATE SET until = excluded.until WHERE nodes.gone = 0 RETURNING until`)

	// A node whose lease has expired is gone for good: it continues under another name.
	endNodes = engine.Standalone(`UPDATE nodes SET gone = ` + databaseClock + `
WHERE gone = 0 AND id <> $1 AND until < ` + databaseClock + ` + CAST($2 AS BIGINT) RETURNING id`)

	selectLapsed = engine.Statement(`SELECT id FROM nodes WHERE gone = 0 AND id <> $1 AND until < ` + databaseClock + ` + CAST($2 AS BIGINT)`)

	dropNode = engine.Standalone(`DELETE FROM nodes WHERE id = $1`)

	dropNodes = engine.Standalone(`DELETE FROM nodes WHERE gone > 0 AND gone < ` + databaseClock + ` - CAST($2 AS BIGINT) AND id <> $1`)

	orphan = `owner <> '' AND NOT EXISTS (SELECT 1 FROM nodes AS n WHERE n.id = owner AND n.gone = 0)`

	orphansInCalls    = engine.Standalone(`UPDATE processing SET due_at = $1 WHERE due_at > $1 AND ` + orphan + ` RETURNING id`)
	orphansUnanswered = engine.Standalone(`UPDATE payments SET due_at = $1 WHERE due_at > $1 AND ` + orphan + ` RETURNING id`)
)

// clock is the time for statements, in microseconds; 0 if the database knows it.
func (co *core) clock() int64 {
	switch {
	case co.now != nil:
		return co.now().UnixMicro()
	case co.b.DB.Dialect() == engine.SQLite:
		return time.Now().UnixMicro() // one machine, one clock
	}
	return 0
}

// Hold makes this process a node, or renews its lease if little is left. It returns the node as the caller of
// a call that begins now.
//
// Errors: ErrNoHold.
func (co *core) Hold(ctx context.Context) (pay.Caller, error) {
	n := &co.node
	n.used.Store(time.Now().UnixNano())
	if h, now := n.now(); h != nil && h.until.Sub(now) >= freshHold {
		return pay.Caller{Node: h.node, At: now}, nil
	}
	// All callers share one renewal. A second one follows if it fails, if the node has just left, or if
	// little is left: the answer was late, or the process stood still.
	var err error
	for _, least := range []time.Duration{freshHold, 1} {
		select {
		case said := <-n.flight.DoChan("", n.renew):
			err = said.Err
		case <-ctx.Done():
			err = ctx.Err()
		}
		if ctx.Err() != nil { // also if both are ready, since select picks at random
			return pay.Caller{}, fmt.Errorf("%w: %w", ErrNoHold, ctx.Err())
		}
		if h, now := n.now(); err == nil && h != nil && h.until.Sub(now) >= least {
			return pay.Caller{Node: h.node, At: now}, nil
		}
	}
	if err == nil {
		err = errTooShort
	}
	return pay.Caller{}, fmt.Errorf("%w: %w", ErrNoHold, err)
}

// Now is the database's clock as this process knows it: it is ahead by at most the duration of the last
// renewal. false while this process is not a node.
func (co *core) Now() (time.Time, bool) {
	h, now := co.node.now()
	return now, h != nil
}

// now returns the lease, nil before the first, and the database's time.
func (n *node) now() (*hold, time.Time) {
	h := n.held.Load()
	if h == nil {
		return nil, time.Time{}
	}
	if at := n.s.clock(); at != 0 {
		return h, time.UnixMicro(at).UTC()
	}
	// After the process was suspended, either of its clocks may be the one that kept running.
	return h, h.now.Add(max(time.Since(h.asked), time.Now().Round(0).Sub(h.asked.Round(0))))
}

// renew requests the lease. If another node has taken over, this one continues as a new node and owns
// nothing from before. Only the flight calls it; it continues when a caller leaves.
func (n *node) renew() (any, error) {
	ctx, cancel := context.WithTimeout(n.s.life, nodeLease)
	defer cancel()
	name := ""
	if h := n.held.Load(); h != nil {
		name = h.node
	}
	for range 2 {
		if name == "" {
			name = n.s.name("node_")
		}
		asked := time.Now()
		var until int64
		err := n.s.b.DB.Hold(ctx, n.s.b.Text(holdNode), []any{name, n.length().Microseconds(), n.s.clock()}, func(r engine.Row) error { return r.Scan(&until) })
		if err != nil {
			return nil, err
		}
		if until != 0 {
			end := time.UnixMicro(until).UTC()
			n.held.Store(&hold{node: name, until: end, now: end.Add(-n.length()), asked: asked})
			select {
			case n.joined <- struct{}{}:
			default:
			}
			return nil, nil
		}
		n.s.b.Log.Warn("this node was taken for dead: it continues under another name", "node", name)
		name = ""
	}
	return nil, errors.New("the node cannot join")
}

// length is the lease's length. Nobody takes over from a process that serves a file alone.
func (n *node) length() time.Duration {
	if n.s.b.DB.Alone() {
		return 100 * 365 * 24 * time.Hour
	}
	return nodeLease
}

// keep renews the lease while it is used, until the store closes. A node without work leaves after a while,
// and joins again with the next payment: an idle service writes nothing.
func (n *node) keep() {
	failing := false
	for {
		for n.held.Load() == nil { // an idle node has nothing to renew
			select {
			case <-n.joined:
			case <-n.s.closing:
				return
			}
		}
		if !engine.Rest(nodeRenewal, n.s.closing) {
			return
		}
		left, err, _ := n.flight.Do("", n.renewOrLeave)
		if name, ok := left.(string); ok {
			n.drop(name)
		}
		if err != nil && !failing && n.s.life.Err() == nil {
			n.s.b.Log.Error("the node's lease is not renewed: when it is over, no call begins here", "error", err)
		}
		failing = err != nil
	}
}

// renewOrLeave returns the name that the node gave up, or nil if it renewed its lease.
func (n *node) renewOrLeave() (any, error) {
	if time.Since(time.Unix(0, n.used.Load())) < nodeIdle {
		return n.renew()
	}
	// A caller that gets hold of the lease at this moment owns nothing under the name, and notices it.
	if gone := n.held.Swap(nil); gone != nil {
		return gone.node, nil
	}
	return nil, nil
}

// drop removes the name that the node gave up. Nobody waits for it or needs it: the lease expires by
// itself.
func (n *node) drop(name string) {
	ctx, cancel := context.WithTimeout(n.s.life, nodeRenewal)
	defer cancel()
	if err := n.s.b.DB.Lease(ctx, n.s.b.Text(dropNode), []any{name}, nil); err != nil {
		n.s.b.Log.Info("an idle node could not say that it left: its lease ends by itself", "node", name, "error", err)
	}
}

// Serve makes this process a node that calls providers until the store closes. Only one process serves a
// file.
//
// Errors: another process serves the file; ErrNoHold.
func (co *core) Serve(ctx context.Context) error {
	if err := co.b.DB.Claim(); err != nil {
		return err
	}
	if _, err := co.Hold(ctx); err != nil {
		return err
	}
	co.process.Began = time.Now().UTC()
	if co.now != nil {
		co.process.Began = co.now()
	}
	if !co.b.DB.Alone() {
		co.group.Go(co.node.keep)
	}
	if co.shared != nil { // a simulation's schema is complete, and no newer program comes while weeks pass
		return nil
	}
	co.group.Go(func() { co.migrations.Finish(co.life, co.closing, co.b.DB, co.b.Log) })
	if !co.b.DB.Alone() {
		co.group.Go(co.live)
	}
	return nil
}

// live shows people that this process lives, and writes something now and then if nothing else does: as long as it
// does, a newer program runs no contract migration.
func (co *core) live() {
	for {
		co.beat()
		if at := co.wrote.Load(); at == nil || time.Since(*at) >= schema.AliveEvery {
			_ = co.Commit(co.life, pay.Change{}) // the outage is reported elsewhere
		}
		if !engine.Rest(schema.AliveEvery, co.closing) {
			return
		}
	}
}

// ReleaseOrphans makes the work of dead nodes due, and returns the number of rows. due is a past time in the
// rows' clock.
func (co *core) ReleaseOrphans(ctx context.Context, due time.Time) (int, error) {
	margin := int64(0)
	if co.b.DB.Alone() {
		if co.node.looks.Load() > 0 {
			return 0, nil // no new node since
		}
		margin = time.Duration(1 << 62).Microseconds() // every lease holder is dead
	}
	me := ""
	if h := co.node.held.Load(); h != nil {
		me = h.node
	}
	lapsed := 0
	err := co.b.DB.Lease(ctx, co.b.Text(selectLapsed), []any{me, margin, co.clock()}, func(r engine.Row) error { lapsed++; return nil })
	if err != nil {
		return 0, fmt.Errorf("look for nodes that are gone: %w", err)
	}
	// A node that left properly is not found here, but rows that it may have left are.
	if looks := co.node.looks.Add(1); lapsed == 0 && looks%orphansEvery != 1 {
		return 0, nil
	}
	err = co.b.DB.Lease(ctx, co.b.Text(endNodes), []any{me, margin, co.clock()}, func(r engine.Row) error {
		var other string
		err := r.Scan(&other)
		co.b.Log.Warn("a node is gone: its calls are queried", "node", other)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("take over: %w", err)
	}
	released := 0
	for _, text := range []string{orphansInCalls, orphansUnanswered} {
		if err := co.b.DB.Lease(ctx, co.b.Text(text), []any{table.Micros(due)}, func(engine.Row) error { released++; return nil }); err != nil {
			return released, fmt.Errorf("take over: %w", err)
		}
	}
	if err := co.b.DB.Lease(ctx, co.b.Text(dropNodes), []any{me, nodeKept.Microseconds(), co.clock()}, nil); err != nil {
		return released, fmt.Errorf("drop nodes: %w", err)
	}
	if err := co.b.DB.Lease(ctx, co.b.Text(dropCommitters), nil, nil); err != nil {
		return released, fmt.Errorf("drop committers: %w", err)
	}
	return released, nil
}

// leave ends this node's lease. It has no work left.
func (n *node) leave(ctx context.Context) error {
	h := n.held.Swap(nil)
	if h == nil {
		return nil
	}
	return n.s.b.DB.Lease(ctx, n.s.b.Text(dropNode), []any{h.node}, nil)
}
