// Package store holds all of Cascada's SQL, for SQLite and PostgreSQL with one text per query. This package
// is the database as its callers see it: Store with its nouns, and Commit, the only write path, with group
// commit. The packages below hold the nouns, their tables, the migrations and the check
// (docs/ARCHITECTURE.md lists them).
//
// It decides nothing. The core decides which change is right; the store writes a change whole or not at
// all, and says which guard it lost.
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
	"github.com/cascadapay/cascada/internal/store/payouts"
	"github.com/cascadapay/cascada/internal/store/schema"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/store/webhooks"
	"github.com/cascadapay/cascada/internal/trace"
)

// The store's errors; match with errors.Is. Those that no use case matches are reported unchanged.
var (
	// ErrNotFound: the row does not exist, or belongs to another tenant.
	ErrNotFound = base.ErrNotFound
	// ErrNotProved: a payout is not as the service wrote it, or not as the ledger has it. Nothing may be sent.
	ErrNotProved = payouts.ErrNotProved
	// ErrStale: somebody changed a row after it was read. Read and decide again.
	ErrStale = base.ErrStale
	// ErrDuplicate: a once-key is already used.
	ErrDuplicate = base.ErrDuplicate
	// ErrInsufficient: a balance would fall below its floor.
	ErrInsufficient = base.ErrInsufficient
	// ErrBusy: the queue of changes is full, or the store is closing. Nothing was written.
	ErrBusy = engine.ErrBusy
	// ErrDown: the database cannot be reached, or does not answer. Nothing was written.
	ErrDown = engine.ErrDown
	// ErrUnknown: the database did not report a change's result in time. It may be written, even later.
	// Read, or repeat with the same key, before deciding again.
	ErrUnknown = base.ErrUnknown
)

// OutcomeUnknown is the reason of an error after which the work may still have been done.
const OutcomeUnknown = base.OutcomeUnknown

// Options of a Store. The zero value is ready for use.
type Options struct {
	Log *slog.Logger
	// Delivered receives every delivery that a commit made, with its event's payload; this node already
	// holds their leases. It must not block. Nil leaves the deliveries to the leases.
	Delivered func([]webhooks.Dispatch)
	// Widened is called when a commit left deliveries to steps: see LeaseFanOuts. It must not block.
	Widened func()
	// WideFrom is the number of deliveries from which steps make an event's deliveries; 0 means 17.
	WideFrom int
	// Written receives every change after it was written. It must not block or modify the change.
	Written func(*pay.Change)
	// Meter receives the durations of commits.
	Meter Meter
	// Tracer makes spans of commits; nil makes none.
	Tracer *trace.Tracer
	// Committers is the maximum number of batches written at a time; 0 means 2 on PostgreSQL. SQLite has
	// one writer.
	Committers int
	// Name makes the names of nodes and committers, which must be unique to a process; nil makes random
	// ones.
	Name func(prefix string) string
	// Clock replaces the database's clock for the leases of nodes; for tests that move it. Nil: the
	// database's.
	Clock func() time.Time
	// Version is that of the program, for people.
	Version string
	// SealKey proves that the service wrote a row. A nil key works too, but is no secret.
	SealKey []byte
	// Cipher encrypts texts that may name persons; nil leaves them plain.
	Cipher table.Cipher
	// Shared replaces the database at the address, and Through is the way to it; nil is the direct way.
	// Both are for the simulation.
	Shared  *Shared
	Through Through
	// Schema is what Open may do to the schema. Migrations are files in addition to the program's own, as a
	// next version would bring; for tests.
	Schema     schema.Mode
	Migrations fs.FS
}

// core is the base of every noun of a Store: the database, and the queue of changes.
type core struct {
	b          *base.Base
	delivered  func([]webhooks.Dispatch)
	widened    func()
	written    func(*pay.Change)
	migrations schema.Known
	shared     *Shared // nil: this Store has the database to itself

	queue   chan *waiting // closed by Close, once nothing is added any more
	crowded chan struct{} // signals that a crowd waits
	group   sync.WaitGroup
	// commitLoop owns committers, watch owns prober.
	committers []*committer
	prober     *committer
	stats      stats
	meter      Meter
	tracer     *trace.Tracer

	sealer  *chain.Sealer
	widths  widths // of shops' events
	company soleWriter

	away     atomic.Bool // the database is away; commits are refused at once
	watching atomic.Bool // a watch is running
	nextDue  *sharedRead[map[string]time.Time]
	looking  sync.Mutex                // held while a goroutine asks whether the database is back
	wrote    atomic.Pointer[time.Time] // time of the last written batch
	closing  chan struct{}             // closed by Close
	life     context.Context           // ends when the store stops waiting
	end      context.CancelFunc

	name func(prefix string) string
	now  func() time.Time // replaces the database's clock unless nil
	node node

	process process

	// gate keeps Commit from queueing a change after Close's last batch.
	gate   sync.RWMutex
	closed bool
}

// SealWith sets the key of the seals and the cipher of personal data, if they are known only after the
// database was opened. Call it before any write.
func (co *core) SealWith(key []byte, c table.Cipher) {
	co.sealer.Key, co.b.Personal.Cipher, co.b.Personal.RowKey = key, c, key
}

// Open connects to a database (sqlite:PATH or postgres://…) and updates or only checks its schema,
// depending on the options.
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
		life: life, end: end, closing: make(chan struct{}), nextDue: newLook[map[string]time.Time](), now: o.Clock, name: o.Name,
		b:         &base.Base{DB: db, Log: o.Log, Texts: db.Dialect().Texts(), Personal: table.Personal{Cipher: o.Cipher, Log: o.Log, RowKey: o.SealKey}},
		delivered: o.Delivered, widened: o.Widened, written: o.Written, shared: o.Shared,
		migrations: list,
		queue:      make(chan *waiting, queueLimit), crowded: make(chan struct{}, 1), widths: widths{from: cmp.Or(o.WideFrom, wideFrom), of: map[shopKey]width{}},
		stats: stats{failed: newFailed()}, meter: o.Meter, tracer: o.Tracer,
	}
	s.sealer = chain.NewSealer(s.b, o.SealKey)
	if s.name == nil {
		s.name = id.Secret
	}
	s.node.s, s.node.joined = s, make(chan struct{}, 1)
	s.process = newProcess(s, o.Version)
	if _, err := s.b.ReadRolledUp(ctx); err != nil {
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

// Close writes the queue and disconnects.
func (co *core) Close() {
	co.gate.Lock()
	co.closed = true
	co.gate.Unlock()
	close(co.queue)
	close(co.closing)
	giveUp := time.AfterFunc(closeGrace, co.end) // ends the wait for an unreachable database
	co.group.Wait()
	giveUp.Stop()
	if co.shared != nil {
		co.shared.leave(co)
	}
	if !co.away.Load() {
		if err := co.leave(); err != nil {
			co.b.Log.Warn("the database still lists this process for a while", "error", err)
		}
	}
	co.end()
	co.b.DB.Close()
}

// leave removes the rows by which others know this process.
func (co *core) leave() error {
	ctx, cancel := context.WithTimeout(co.life, claimTimeout)
	defer cancel()
	err := errors.Join(co.node.leave(ctx), co.hush(ctx))
	for _, c := range append(co.committers, co.prober) {
		err = errors.Join(err, c.drop(ctx))
	}
	return err
}

// Contract does the remaining contract migrations, and waits up to patience for older programs to go. It
// returns what the rest waits for, nil if none is left.
func (co *core) Contract(ctx context.Context, patience time.Duration) (waits, err error) {
	return co.migrations.Contract(ctx, co.b.DB, co.b.Log, patience)
}

// Ping reports whether the database answers.
func (co *core) Ping(ctx context.Context) error { return co.b.DB.Ping(ctx) }

// proofKept is how long a successful commit proves that the next one is possible.
const proofKept = time.Second

// Writes proves that changes can be written: by a write within the last second, or by an empty change,
// which still updates the committer's own row.
//
// Errors: as Commit.
func (co *core) Writes(ctx context.Context) error {
	if at := co.wrote.Load(); at != nil && !co.away.Load() && time.Since(*at) < proofKept {
		return nil
	}
	return co.Commit(ctx, pay.Change{})
}

// Seal puts the rows of recent commits into blocks, each with the hash of the one before, and reports
// whether more rows wait. Every node may call it.
func (co *core) Seal(ctx context.Context, now time.Time) (more bool, err error) {
	return co.sealer.Seal(ctx, now)
}

// Check proves the invariants of a live database and returns what is broken, at most a hundred per invariant. It
// only reads. On an error it returns what it has found so far.
func (co *core) Check(ctx context.Context) ([]check.Broken, error) {
	return check.Live(ctx, co.b, co.sealer.Key)
}
