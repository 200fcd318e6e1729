// Package store is all SQL of Cascada, on SQLite and on PostgreSQL with one text per query. Here is a database as
// its callers see it: Store with its nouns, and Commit, the one write path, with group commit. The nouns, their tables,
// the migrations and the check have packages below (docs/ARCHITECTURE.md lists them).
//
// It decides nothing. Which change is right is the core's business; the store
// writes a change whole or not at all, and says which guard it lost.
package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/chain"
	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/schema"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/store/webhooks"
	"github.com/cascadapay/cascada/internal/trace"
)

// What the store says of itself; match with errors.Is. Those that no use case matches
// are told as they are.
var (
	// ErrNotFound: there is no such row, or it is another tenant's.
	ErrNotFound = base.ErrNotFound
	// ErrStale: somebody changed a row since it was read. Read and decide again.
	ErrStale = base.ErrStale
	// ErrDuplicate: a key that may be used once is taken.
	ErrDuplicate = base.ErrDuplicate
	// ErrInsufficient: a balance would fall below its floor.
	ErrInsufficient = base.ErrInsufficient
	// ErrBusy: the queue of changes is full, or the store is closing. Nothing was written.
	ErrBusy = engine.ErrBusy
	// ErrDown: the database cannot be reached now, or does not answer. Nothing was written.
	ErrDown = engine.ErrDown
	// ErrUnknown: the database did not say in time what became of a change. It may be
	// written, also later. Whoever gets it reads, or repeats with the same key, before
	// he decides again.
	ErrUnknown = base.ErrUnknown
)

// OutcomeUnknown is the reason of an error after which something may have been done.
const OutcomeUnknown = base.OutcomeUnknown

// Options of a Store. The zero value is fit for use.
type Options struct {
	Log *slog.Logger
	// Delivered is told of every delivery that a commit made, with its event's
	// payload; they are leased to this node already. It must not block. Nil
	// leaves them to the leases.
	Delivered func([]webhooks.Dispatch)
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
	Cipher table.Cipher
	// Shared is the database in place of the one at the address, and Through the way
	// there; nil is the straight one. They are for the simulation.
	Shared  *Shared
	Through Through
	// Schema is what Open may do to the schema. Migrations are files beside the program's own: what
	// the next version of it would bring, for tests.
	Schema     schema.Mode
	Migrations fs.FS
}

// core is what every noun of a Store stands on: the database, and the queue of changes.
type core struct {
	*base.Base
	delivered  func([]webhooks.Dispatch)
	widened    func()
	written    func(*pay.Change)
	migrations schema.Known
	shared     *Shared // nil: the database is this Store's alone

	queue   chan *waiting // closed by Close, when nothing is added any more
	crowded chan struct{} // told when a crowd waits
	group   sync.WaitGroup
	// committers are owned by commitLoop, prober by watch.
	committers []*committer
	prober     *committer
	stats      stats
	meter      Meter
	tracer     *trace.Tracer

	sealer  *chain.Sealer
	widths  widths // of shops' events
	company company

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
func (s *core) SealWith(key []byte, c table.Cipher) { s.sealer.Key, s.Personal.Cipher = key, c }

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
	list, err := schema.Read(o.Migrations)
	if err != nil {
		return nil, err
	}
	db, err := connect(ctx, database, o)
	if err != nil {
		return nil, err
	}
	if err := list.Bring(ctx, db, o.Schema, o.Log); err != nil {
		db.Close()
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	s := &core{
		life: life, end: end, closing: make(chan struct{}), now: o.Clock, name: o.Name,
		Base:      &base.Base{DB: db, Log: o.Log, Texts: db.Dialect().Texts(), Personal: table.Personal{Cipher: o.Cipher, Log: o.Log}},
		delivered: o.Delivered, widened: o.Widened, written: o.Written, shared: o.Shared,
		migrations: list,
		queue:      make(chan *waiting, queueLimit), crowded: make(chan struct{}, 1), widths: widths{from: cmp.Or(o.WideFrom, wideFrom), of: map[shopKey]width{}},
		stats: stats{failed: newFailed()}, meter: o.Meter, tracer: o.Tracer,
	}
	s.sealer = chain.NewSealer(s.Base, o.SealKey)
	if s.name == nil {
		s.name = id.Secret
	}
	s.node.s, s.node.joined = s, make(chan struct{}, 1)
	if _, err := s.ReadRolledUp(ctx); err != nil {
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
			s.Log.Warn("what this process was is told by the database for a while", "error", err)
		}
	}
	s.end()
	s.DB.Close()
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

// Contract does the contract migrations that are left, and waits so long for older programs to go. It
// returns what the migrations wait for that are left, nil where none is.
func (s *core) Contract(ctx context.Context, patience time.Duration) (waits, err error) {
	return s.migrations.Contract(ctx, s.DB, s.Log, patience)
}

// Ping reports whether the database answers.
func (s *core) Ping(ctx context.Context) error { return s.DB.Ping(ctx) }

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

// Seal puts what commits wrote since into blocks, each with the hash of the
// one before, and reports whether more waits. Every node may call it.
func (s *core) Seal(ctx context.Context, now time.Time) (more bool, err error) {
	return s.sealer.Seal(ctx, now)
}

// Check proves the invariants of a live database and returns what is broken,
// at most a hundred of each rule. It only reads. With an error what was found until
// then is returned.
func (s *core) Check(ctx context.Context) ([]check.Broken, error) {
	return check.Live(ctx, s.Base, s.sealer.Key)
}
