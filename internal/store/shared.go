package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Shared is an in-memory database that several Stores use at once, like the nodes of a service. It is for
// the simulation: its nodes live in one process, where separate connections to one file would wait for each
// other in real time.
//
// A node reaches the database through its Through. A Store opened by address has neither, and pays for
// neither.
type Shared struct {
	db *engine.Lite

	mu    sync.Mutex // owns nodes
	nodes map[*core]struct{}
}

// Trip is one round trip to the database.
type Trip struct {
	Kind  TripKind
	Texts []string // the statements, if the kind has any
	Args  []any    // of the first statement
}

// TripKind is a trip's purpose.
type TripKind string

// The kinds of trips. A lease is one standalone writing statement; a commit is a transaction.
const (
	TripRead   TripKind = "read"
	TripLease  TripKind = "lease"
	TripCommit TripKind = "commit"
	TripSchema TripKind = "schema"
)

// ErrRefused is a Through's error when the database refused a commit: it is proved not to be written.
// engine.ErrDown means that it was not sent. After any other error of a Through's own, the result is
// unknown.
var ErrRefused = errors.New("the database refused a statement")

// Through makes a node's trips; run is the trip itself. Like a network, Through may run it late or not at
// all, and may report a different result. It must not run it twice. After Through has returned, run may be
// called only for a Blind trip.
type Through func(ctx context.Context, t Trip, run func(context.Context) error) error

// Blind reports whether a trip returns no rows to its caller. Such a trip, a commit, may still run after its caller got an
// error, as when the network broke while the commit was on its way.
func (t Trip) Blind() bool { return t.Kind == TripCommit }

// OpenShared opens an SQLite database for several Stores with the clock now. content is another database's
// Content; nil is an empty one. Close it after the Stores.
func OpenShared(ctx context.Context, content []byte, now func() time.Time) (*Shared, error) {
	db, err := engine.OpenMemory(ctx, content, now)
	if err != nil {
		return nil, err
	}
	return &Shared{db: db, nodes: map[*core]struct{}{}}, nil
}

// Content is the database's whole content.
func (sh *Shared) Content() ([]byte, error) { return sh.db.Serialized() }

// Close disconnects, and the database is gone.
func (sh *Shared) Close() { sh.db.Close() }

// connect opens a Store's database: its address, or a way into what it shares.
func connect(ctx context.Context, database string, o Options) (engine.DB, error) {
	if o.Shared == nil {
		return engine.Open(ctx, database, o.Log)
	}
	through := o.Through
	if through == nil {
		through = func(ctx context.Context, _ Trip, run func(context.Context) error) error { return run(ctx) }
	}
	return &travelling{DB: o.Shared.db, through: through}, nil
}

// join adds a Store to those that receive the others' changes.
func (sh *Shared) join(node *core) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.nodes[node] = struct{}{}
}

// leave removes it.
func (sh *Shared) leave(node *core) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	delete(sh.nodes, node)
}

// publish hands a written change to all that listen. It never blocks.
func (co *core) publish(change *pay.Change) {
	if co.shared == nil {
		if co.written != nil {
			co.written(change)
		}
		return
	}
	co.shared.mu.Lock()
	defer co.shared.mu.Unlock()
	for node := range co.shared.nodes {
		if node.written != nil {
			node.written(change)
		}
	}
}

// travelling is an engine behind a Through.
type travelling struct {
	engine.DB
	through Through
}

// Close leaves the database to the others.
func (t *travelling) Close() {}

func (t *travelling) Query(ctx context.Context, text string, args []any, each func(engine.Row) error) error {
	return t.through(ctx, Trip{TripRead, []string{text}, args}, func(ctx context.Context) error {
		return t.DB.Query(ctx, text, args, each)
	})
}

func (t *travelling) Walk(ctx context.Context, text string, args []any, each func(engine.Row) error) error {
	return t.through(ctx, Trip{TripRead, []string{text}, args}, func(ctx context.Context) error {
		return t.DB.Walk(ctx, text, args, each)
	})
}

func (t *travelling) Lease(ctx context.Context, text string, args []any, each func(engine.Row) error) error {
	return t.through(ctx, Trip{TripLease, []string{text}, args}, func(ctx context.Context) error {
		return t.DB.Lease(ctx, text, args, each)
	})
}

func (t *travelling) Hold(ctx context.Context, text string, args []any, each func(engine.Row) error) error {
	return t.Lease(ctx, text, args, each)
}

func (t *travelling) Apply(ctx context.Context, look, steps []engine.Step) error {
	return t.commit(ctx, steps, func(ctx context.Context) error { return t.DB.Apply(ctx, look, steps) })
}

func (t *travelling) Transact(ctx context.Context, guards []engine.Step, decide func() ([]engine.Step, error)) error {
	return t.commit(ctx, guards, func(ctx context.Context) error { return t.DB.Transact(ctx, guards, decide) })
}

// commit makes a trip of a transaction. It returns the transaction's own result, or unknown.
func (t *travelling) commit(ctx context.Context, steps []engine.Step, run func(context.Context) error) error {
	var own atomic.Pointer[error]
	err := t.through(ctx, commitTrip(steps), func(ctx context.Context) error {
		end := run(ctx)
		own.Store(&end)
		return end
	})
	switch end := own.Load(); {
	case err == nil, end != nil && errors.Is(err, *end) && *end != nil, errors.Is(err, engine.ErrDown), errors.Is(err, ErrRefused):
		return err
	}
	return fmt.Errorf("%w: %w", engine.ErrUnknown, err)
}

// Claim does nothing: the nodes of a world share its file.
func (t *travelling) Claim() error { return nil }
func (t *travelling) Alone() bool  { return false }

func commitTrip(steps []engine.Step) Trip {
	trip := Trip{Kind: TripCommit}
	for i, s := range steps {
		if i == 0 {
			trip.Args = s.Args
		}
		trip.Texts = append(trip.Texts, s.Text)
	}
	return trip
}

func (t *travelling) Migrate(ctx context.Context, run func(engine.Migrator) error) error {
	return t.through(ctx, Trip{Kind: TripSchema}, func(ctx context.Context) error { return t.DB.Migrate(ctx, run) })
}

func (t *travelling) Ping(ctx context.Context) error {
	err := t.through(ctx, Trip{Kind: TripRead}, t.DB.Ping)
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

func (t *travelling) Snapshot(ctx context.Context, how engine.Lookups, read func(engine.Asking) error) error {
	return t.through(ctx, Trip{Kind: TripRead}, func(ctx context.Context) error { return t.DB.Snapshot(ctx, how, read) })
}
