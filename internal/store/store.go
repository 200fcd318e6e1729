// Package store is all SQL of Cascada: reads, Commit (the one write path, with
// group commit), leases of due work, and migrations, on SQLite and on
// PostgreSQL with one text per query.
//
// It decides nothing. Which change is right is the core's business; the store
// writes a change whole or not at all, and says which guard it lost.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/trace"
)

// What the store says of itself; match with errors.Is. Those that no use case matches
// are told as they are.
var (
	// ErrNotFound: there is no such row, or it is another tenant's.
	ErrNotFound = errors.New("not found")
	// ErrStale: somebody changed a row since it was read. Read and decide again.
	ErrStale = errors.New("changed since it was read")
	// ErrDuplicate: a key that may be used once is taken.
	ErrDuplicate = errors.New("already done")
	// ErrInsufficient: a balance would fall below its floor.
	ErrInsufficient = errors.New("balance below its floor")
	// ErrBusy: the queue of changes is full, or the store is closing. Nothing was written.
	ErrBusy = engine.ErrBusy
	// ErrDown: the database cannot be reached now, or does not answer. Nothing was written.
	ErrDown = engine.ErrDown
	// ErrUnknown: the database did not say in time what became of a change. It may be
	// written, also later. Whoever gets it reads, or repeats with the same key, before
	// he decides again.
	ErrUnknown error = &problem.Error{Code: problem.ServiceUnavailable, Details: problem.Details{Reason: OutcomeUnknown},
		Message: "the database did not answer in time, so it is not known whether this was done: repeat it with the same Idempotency-Key, or look before you repeat it"}
)

// OutcomeUnknown is the reason of an error after which something may have been done.
const OutcomeUnknown = "outcome_unknown"

// Options of a Store. The zero value is fit for use.
type Options struct {
	Log *slog.Logger
	// Delivered is told of every delivery that a commit made, with its event's
	// payload; they are leased to this node already. It must not block. Nil
	// leaves them to the leases.
	Delivered func([]Dispatch)
	// Widened is told that a commit left deliveries to steps: see LeaseFanOuts. It must not block.
	Widened func()
	// WideFrom is the number of deliveries from which on an event's are made by steps; 0 means 17.
	WideFrom int
	// Written is told of every change after it was written. It must not block, and
	// must not change it.
	Written func(*pay.Change)
	// Meter is told how long commits take.
	Meter Meter
	// Tracer makes spans of commits; nil makes none.
	Tracer *trace.Tracer
	// Committers is how many batches are written at a time at most; 0 means 2 on
	// PostgreSQL. SQLite has one writer.
	Committers int
	// Name makes the names of nodes and committers, which no two processes may share;
	// nil makes them by chance.
	Name func(prefix string) string
	// Clock counts the leases of nodes in place of the database's own; for tests that
	// move it. Nil: the database's.
	Clock func() time.Time
	// SealKey proves that rows are what the service wrote; nil is a key too, which
	// everybody knows.
	SealKey []byte
	// Cipher encrypts what persons may be named in; nil leaves it plain.
	Cipher Cipher
	// Shared is the database in place of the one at the address, and Through the way
	// there; nil is the straight one. They are for the simulation.
	Shared  *Shared
	Through Through
	// Schema is what Open may do to the schema. Migrations are files beside the program's own: what
	// the next version of it would bring, for tests.
	Schema     Schema
	Migrations fs.FS
}

// core is what every noun of a Store stands on: the database, and the queue of changes.
type core struct {
	db         engine.DB
	log        *slog.Logger
	delivered  func([]Dispatch)
	widened    func()
	written    func(*pay.Change)
	migrations []migration
	shared     *Shared           // nil: the database is this Store's alone
	texts      map[string]string // a query's text for the engine; of the process, never written

	queue   chan *waiting // closed by Close, when nothing is added any more
	crowded chan struct{} // told when a crowd waits
	group   sync.WaitGroup
	// committers are owned by commitLoop, prober by watch.
	committers []*committer
	prober     *committer
	stats      stats
	meter      Meter
	tracer     *trace.Tracer

	personal  personal
	sealKey   []byte
	sealing   sync.Mutex          // held by Seal; owns heights
	heights   map[purse]seal.Head // of the chains, as they were last seen
	clocked   atomic.Bool         // some test clock was moved
	widths    widths              // of shops' events
	company   company
	inCompany atomic.Bool // several merchants write

	rolledUp atomic.Int64 // the days before it are in the counters of all days

	away     atomic.Bool               // the database is; commits are refused at once
	watching atomic.Bool               // somebody tries whether it is back
	wrote    atomic.Pointer[time.Time] // when the last batch was written
	closing  chan struct{}             // closed by Close
	life     context.Context           // ends when the store has given up what it waited for
	end      context.CancelFunc

	name func(prefix string) string
	now  func() time.Time // in place of the database's clock; nil: that
	node node

	// gate keeps Commit from queueing behind the last batch of Close.
	gate   sync.RWMutex
	closed bool
}

// SealWith says by which key rows are sealed, and what encrypts personal data, where they are
// known only once the database is open. It is called before anything is written.
func (s *core) SealWith(key []byte, c Cipher) { s.sealKey, s.personal = key, personal{c} }

// Open connects to a database (sqlite:PATH or postgres://…) and brings its
// schema up to date, or looks whether it is, as the options say.
//
// Errors: engine.ErrOldSchema.
func Open(ctx context.Context, database string, o Options) (*Store, error) {
	c, err := openCore(ctx, database, o)
	if err != nil {
		return nil, err
	}
	return newStore(c), nil
}

func openCore(ctx context.Context, database string, o Options) (*core, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	list, err := migrations(o.Migrations)
	if err != nil {
		return nil, err
	}
	db, err := connect(ctx, database, o)
	if err != nil {
		return nil, err
	}
	if err := bring(ctx, db, list, o); err != nil {
		db.Close()
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	s := &core{
		life: life, end: end, closing: make(chan struct{}), now: o.Clock, name: o.Name,
		db: db, log: o.Log, delivered: o.Delivered, widened: o.Widened, written: o.Written, shared: o.Shared,
		migrations: list, texts: db.Dialect().Texts(), sealKey: o.SealKey, personal: personal{o.Cipher}, heights: map[purse]seal.Head{},
		queue: make(chan *waiting, queueLimit), crowded: make(chan struct{}, 1), widths: widths{from: cmp.Or(o.WideFrom, wideFrom), of: map[shopKey]width{}},
		stats: stats{failed: newFailed()}, meter: o.Meter, tracer: o.Tracer,
	}
	if s.name == nil {
		s.name = id.Secret
	}
	s.node.s, s.node.joined = s, make(chan struct{}, 1)
	if _, err := s.readRolledUp(ctx); err != nil {
		end()
		db.Close()
		return nil, err
	}
	n := max(o.Committers, 1)
	if o.Committers == 0 && db.Dialect() == engine.PostgreSQL {
		n = 2
	}
	if db.Dialect() == engine.SQLite {
		n = 1
	}
	for range n {
		s.committers = append(s.committers, newCommitter(s))
	}
	s.prober = newCommitter(s)
	if s.shared != nil {
		s.shared.join(s)
	}
	s.group.Go(func() { s.commitLoop(s.committers) })
	return s, nil
}

// Close writes what is queued and disconnects.
func (s *core) Close() {
	s.gate.Lock()
	s.closed = true
	s.gate.Unlock()
	close(s.queue)
	close(s.closing)
	giveUp := time.AfterFunc(closeGrace, s.end) // what waits for a database that is away
	s.group.Wait()
	giveUp.Stop()
	if s.shared != nil {
		s.shared.leave(s)
	}
	if !s.away.Load() {
		if err := s.leave(); err != nil {
			s.log.Warn("what this process was is told by the database for a while", "error", err)
		}
	}
	s.end()
	s.db.Close()
}

// leave removes what others know this process by.
func (s *core) leave() error {
	ctx, cancel := context.WithTimeout(s.life, claimTimeout)
	defer cancel()
	err := s.node.leave(ctx)
	for _, c := range append(s.committers, s.prober) {
		err = errors.Join(err, c.drop(ctx))
	}
	return err
}

// Ping reports whether the database answers.
func (s *core) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// proofKept is how long a commit proves that the next one is possible.
const proofKept = time.Second

// Writes proves that changes can be written: with what was written within the last second, or with an
// empty change, which a committer's own row makes a commit of.
//
// Errors: as Commit.
func (s *core) Writes(ctx context.Context) error {
	if at := s.wrote.Load(); at != nil && !s.away.Load() && time.Since(*at) < proofKept {
		return nil
	}
	return s.Commit(ctx, pay.Change{})
}

// PrepareAll checks every statement of the package against the database.
func (s *core) PrepareAll(ctx context.Context) error {
	for text, translated := range s.texts {
		if err := s.db.Prepare(ctx, translated); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if counted, ok := engine.CountedTexts()[translated]; ok && s.db.Dialect() == engine.PostgreSQL {
			if err := s.db.Prepare(ctx, counted); err != nil {
				return fmt.Errorf("%s, counted: %w", text, err)
			}
		}
	}
	return nil
}

// longRead is how long what an operator asks for may take who reads whole tables: a
// statement has eight seconds where nobody says otherwise.
const longRead = 24 * time.Hour

// long is for reads of whole tables.
func long(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, longRead)
}

// query runs a reading statement of the package.
func (s *core) query(ctx context.Context, text string, args []any, each func(engine.Row) error) error {
	return s.db.Query(ctx, s.text(text), args, each)
}

// text is the statement for the engine. One that is not made by statement
// would escape the test that prepares them all.
func (s *core) text(query string) string {
	text, ok := s.texts[query]
	if !ok {
		panic("store: a text that is no statement: " + query)
	}
	return text
}

// based is a noun, or the core itself.
type based interface{ base() *core }

func (s *core) base() *core { return s }

// one reads a single row or fails with ErrNotFound.
func one[T any](ctx context.Context, b based, text string, scan func(engine.Row) (T, error), args ...any) (T, error) {
	s := b.base()
	var got T
	found := false
	err := s.query(ctx, text, args, func(r engine.Row) (err error) {
		found = true
		got, err = scan(r)
		return err
	})
	if err == nil && !found {
		err = ErrNotFound
	}
	return got, err
}

// many reads all rows.
func many[T any](ctx context.Context, b based, text string, scan func(engine.Row) (T, error), args ...any) ([]T, error) {
	s := b.base()
	var list []T
	err := s.query(ctx, text, args, func(r engine.Row) error {
		got, err := scan(r)
		list = append(list, got)
		return err
	})
	return list, err
}

// atMost reads all rows, which are limit at most, each into its place in the list.
func atMost[T any](ctx context.Context, b based, limit int, text string, read func(engine.Row, *T) error, args ...any) ([]T, error) {
	s := b.base()
	var list []T
	err := s.query(ctx, text, args, func(r engine.Row) error {
		if list == nil {
			list = make([]T, 0, min(limit, 128))
		}
		list = append(list, *new(T))
		return read(r, &list[len(list)-1])
	})
	return list, err
}

// Dispatch is a delivery on its way, with what is sent.
type Dispatch struct {
	Delivery hook.Delivery
	Payload  []byte
	Cause    trace.Ref // the commit that made it; none where it was read from the database
}
