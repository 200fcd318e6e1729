package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pg is PostgreSQL. Readers and committers have pools of their own, because their plans
// differ. So have leases, and the node's own lease: one that is not renewed because
// others wait for a lock loses its calls to another node.
type pg struct {
	server    *server
	connected atomic.Pointer[pools]
	reads     *pgxpool.Config
	leases    *pgxpool.Config
	holds     *pgxpool.Config
	writes    *pgxpool.Config
	crowd     atomic.Int64 // who waits for a connection
}

// pools are the connections to one server, in one era. A pool waits for a connection
// that it closes, which a server that hangs may hold up, so another era has others.
type pools struct {
	era     context.Context
	readers *pgxpool.Pool
	leasers *pgxpool.Pool
	holders *pgxpool.Pool
	writers *pgxpool.Pool
}

const (
	pgReaders = 8
	pgLeasers = 2
	pgHolders = 1
	pgWriters = 3 // two committers and a spare
	// connectTimeout is for a host that does not answer at all, where the address
	// says no connect_timeout.
	connectTimeout = 2 * time.Second
	// crowdLimit is how many may wait for a connection; others are told so at once.
	crowdLimit = 1000
	// queryTimeout bounds what is read or leased, where the caller sets no deadline.
	queryTimeout = 8 * time.Second
)

func openPostgres(ctx context.Context, dsn string, log *slog.Logger) (*pg, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	config.ConnConfig.RuntimeParams["application_name"] = "cascada"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// Compiling a statement takes longer than any of ours runs; the planner, which
	// guesses that JSON has many keys, would do so even over empty tables.
	reading := map[string]string{"jit": "off"}
	config.AfterConnect = setting(reading)
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.ConnConfig.DialFunc = dial
	config.ConnConfig.OnNotice = noteWarning
	config.PingTimeout = beatTimeout
	config.MaxConns = pgReaders
	server, err := newServer(ctx, config, log)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	db := &pg{server: server, reads: config, leases: config.Copy(), holds: config.Copy()}
	db.leases.MaxConns, db.leases.MinConns = pgLeasers, 0
	db.holds.MaxConns, db.holds.MinConns = pgHolders, 0
	config = config.Copy()
	// None is opened before the migrations have made the types that it learns of.
	config.MaxConns, config.MinConns = pgWriters, 0
	writing := maps.Clone(reading)
	// A server that hears no more of a client gives its transaction up by itself, so
	// that what became of it can be found out.
	writing["idle_in_transaction_session_timeout"] = strconv.FormatInt(commitTimeout.Milliseconds(), 10)
	writing["statement_timeout"] = strconv.FormatInt(commitTimeout.Milliseconds(), 10)
	// A statement prepared while a table was empty keeps a plan that scans it
	// when it has grown. A batch only ever wants index lookups; that an index is not
	// read from end to end, {among} sees to.
	for _, off := range []string{"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"} {
		writing[off] = "off"
	}
	// So there is one plan worth having, and to make it anew each time costs as much
	// as to run it.
	writing["plan_cache_mode"] = "force_generic_plan"
	set := setting(writing)
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := registerRows(ctx, conn); err != nil {
			return err
		}
		return set(ctx, conn)
	}
	db.writes = config
	if err := db.connect(ctx); err != nil {
		server.close()
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	if err := db.refusePooler(ctx); err != nil {
		db.close()
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	server.onMove(func() {
		if err := db.connect(context.Background()); err != nil {
			log.Error("no connections are made to the new server", "error", err) // our own configuration
		}
	})
	return db, nil
}

// connect makes the pools of the server's present era. Connections are made when
// somebody wants them.
func (db *pg) connect(ctx context.Context) error {
	next := &pools{era: db.server.current()}
	for _, make := range []struct {
		pool **pgxpool.Pool
		as   *pgxpool.Config
	}{{&next.readers, db.reads}, {&next.leasers, db.leases}, {&next.holders, db.holds}, {&next.writers, db.writes}} {
		var err error
		if *make.pool, err = pgxpool.NewWithConfig(ctx, make.as); err != nil {
			next.close()
			return err
		}
	}
	if before := db.connected.Swap(next); before != nil {
		go before.close() // which may take as long as the system waits for a host
	}
	return nil
}

// part ends every connection, once it is idle, where one has another's session: whose the others have
// nobody knows, and what was set and prepared in them is not theirs. New ones have their own.
func (p *pools) part(err error) {
	if !stray(err) {
		return
	}
	for _, pool := range []*pgxpool.Pool{p.readers, p.leasers, p.holders, p.writers} {
		pool.Reset()
	}
}

func (p *pools) close() {
	for _, pool := range []*pgxpool.Pool{p.readers, p.leasers, p.holders, p.writers} {
		if pool != nil {
			pool.Close()
		}
	}
}

func (db *pg) dialect() dialect { return postgres }
func (db *pg) claim() error     { return nil }
func (db *pg) alone() bool      { return false }

func (db *pg) ping(ctx context.Context) error {
	pools := db.connected.Load()
	ctx, done := pools.bound(ctx, queryTimeout)
	defer done()
	conn, err := db.acquire(ctx, pools.readers)
	if err != nil {
		return err
	}
	defer conn.Release()
	return down(conn.Ping(ctx))
}

// takeRoom makes some hundred pages that are dropped at once.
const takeRoom = `CREATE TEMP TABLE cascada_room ON COMMIT DROP AS SELECT repeat('x', 400) AS x FROM generate_series(1, 2000)`

// insufficientPrivilege is the code for what a role may not do: tables that are not kept, here.
const insufficientPrivilege = "42501"

// room is for engine: a changed row finds its place in a page that is there, a new one may not.
func (db *pg) room(ctx context.Context) error {
	pools := db.connected.Load()
	ctx, done := pools.bound(ctx, queryTimeout)
	defer done()
	conn, err := db.acquire(ctx, pools.leasers)
	if err != nil {
		return err
	}
	defer conn.Release()
	_, err = conn.Exec(ctx, takeRoom, pgx.QueryExecModeSimpleProtocol)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == insufficientPrivilege {
		return nil
	}
	return err
}

func (db *pg) close() {
	db.server.close()
	db.connected.Load().close()
}

// bound gives a call a deadline, where it has none, and ends it when the server is
// given up.
func (p *pools) bound(ctx context.Context, limit time.Duration) (context.Context, func()) {
	if _, set := ctx.Deadline(); set {
		limit = math.MaxInt64 // its own is sooner
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	stop := context.AfterFunc(p.era, cancel)
	return ctx, func() { stop(); cancel() }
}

// acquire waits for a connection of a pool, among not too many readers.
func (db *pg) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	defer db.crowd.Add(-1)
	if db.crowd.Add(1) > crowdLimit && pool == db.connected.Load().readers {
		return nil, ErrBusy
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDown, err)
	}
	return conn, nil
}

func (db *pg) query(ctx context.Context, text string, args []any, each func(row) error) error {
	pools := db.connected.Load()
	return db.read(ctx, pools, pools.readers, text, args, each)
}

// walk uses the writers' connections, whose plans only look things up.
func (db *pg) walk(ctx context.Context, text string, args []any, each func(row) error) error {
	pools := db.connected.Load()
	return db.read(ctx, pools, pools.writers, text, args, each)
}

func (db *pg) lease(ctx context.Context, text string, args []any, each func(row) error) error {
	pools := db.connected.Load()
	return db.read(ctx, pools, pools.leasers, text, args, each)
}

func (db *pg) hold(ctx context.Context, text string, args []any, each func(row) error) error {
	pools := db.connected.Load()
	return db.read(ctx, pools, pools.holders, text, args, each)
}

func (db *pg) read(ctx context.Context, pools *pools, pool *pgxpool.Pool, text string, args []any, each func(row) error) error {
	bounded, done := pools.bound(ctx, queryTimeout)
	defer done()
	conn, err := db.acquire(bounded, pool)
	if err != nil {
		return err
	}
	defer conn.Release()
	result, err := conn.Query(bounded, text, args...)
	if err == nil {
		err = drain(result, each)
	}
	if warned(conn) && err == nil {
		return fmt.Errorf("%w: the server did not wait for its standby", ErrDown)
	}
	pools.part(err)
	if ctx.Err() != nil { // the caller's own doing
		return err
	}
	if err != nil && bounded.Err() != nil { // the server did not answer in time, or is given up
		return fmt.Errorf("%w: %w", ErrDown, err)
	}
	return down(err)
}

func drain(result pgx.Rows, each func(row) error) error {
	defer result.Close()
	for result.Next() {
		if each == nil {
			continue
		}
		if err := each(result); err != nil {
			return err
		}
	}
	return result.Err()
}

// countedTexts has, for each statement that returns rows, one that fails when it
// does not return so many. Its last argument is the number.
var countedTexts = sync.OnceValue(func() map[string]string {
	texts := map[string]string{}
	for _, text := range postgresTexts() {
		if strings.Contains(text, "RETURNING") {
			texts[text] = counted(text)
		}
	}
	return texts
})

var argument = regexp.MustCompile(`\$(\d+)`)

// counted makes a number of guardLost where the count is another, which fails: that ends
// the transaction, before what follows in the same trip is run.
func counted(text string) string {
	last := 0
	for _, found := range argument.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1]) // digits
		last = max(last, n)
	}
	return fmt.Sprintf("WITH found AS (%s) SELECT CAST(CASE WHEN count(*) <> $%d AND %s THEN '%s' END AS INT) FROM found",
		text, last+1, unlessForeseen, guardLost)
}

// apply takes one round trip.
func (db *pg) apply(ctx context.Context, look, steps []step) error {
	all := make([]step, 0, len(look)+len(steps)+3)
	all = append(all, step{text: "BEGIN"})
	found := false
	if slices.ContainsFunc(steps, func(s step) bool { return !strings.Contains(s.text, unlessForeseen) }) {
		look = nil // one that does not ask would write what the others do not
	}
	for _, s := range look {
		all = append(all, step{text: s.text, args: s.args, each: func(r row) error { found = true; return s.each(r) }})
	}
	for _, s := range steps {
		if s.want > 0 {
			s = step{text: countedTexts()[s.text], args: append(slices.Clip(s.args), s.want)}
		}
		all = append(all, s)
	}
	err := db.inTransaction(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return commit(ctx, conn, all)
	})
	if err == nil && found {
		return errForeseen
	}
	return err
}

// transact takes two round trips: begin and the guards, then everything else
// and the commit.
func (db *pg) transact(ctx context.Context, guards []step, decide func() ([]step, error)) error {
	return db.inTransaction(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		begin := make([]step, 0, len(guards)+1)
		begin = append(begin, step{text: "BEGIN"})
		begin = append(begin, guards...)
		if _, err := send(ctx, conn, begin); err != nil {
			// The connection, whatever it said; or one of two that wait for each other.
			if server, answered := errors.AsType[*pgconn.PgError](err); !answered || server.Code == deadlock {
				return fmt.Errorf("%w: %w", ErrDown, err)
			}
			return down(err)
		}
		writes, err := decide()
		if err != nil {
			return err
		}
		return commit(ctx, conn, writes)
	})
}

// inTransaction runs a transaction on a connection of the writers, and leaves it usable
// or closes it. What was committed on a server that was given up meanwhile is not known
// to be there on the one that took its place.
func (db *pg) inTransaction(ctx context.Context, run func(context.Context, *pgxpool.Conn) error) error {
	pools := db.connected.Load()
	ctx, done := pools.bound(ctx, commitTimeout)
	defer done()
	conn, err := db.acquire(ctx, pools.writers)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := run(ctx, conn); err != nil {
		pools.part(err)
		return errors.Join(err, rollback(ctx, conn))
	}
	if pools.era.Err() != nil {
		return fmt.Errorf("%w: the database server was given up meanwhile", errUnknown)
	}
	return nil
}

// commit sends the last steps and commits.
func commit(ctx context.Context, conn *pgxpool.Conn, steps []step) error {
	tag, err := send(ctx, conn, append(steps, step{text: "COMMIT"}))
	server, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil && warned(conn):
		return fmt.Errorf("%w: the server did not wait for its standby", errUnknown)
	case err == nil && tag.String() != "COMMIT":
		return fmt.Errorf("the server answered COMMIT with %s", tag)
	case err == nil:
		return nil
	case pgconn.SafeToRetry(err):
		return down(err) // nothing was sent
	case !answered || conn.Conn().IsClosed():
		return fmt.Errorf("%w: %w", errUnknown, err)
	case server.Code == deadlock, server.Code == noNumber && strings.Contains(server.Message, guardLost):
		return errLost
	}
	return down(err)
}

// send runs the steps in one round trip and returns the tag of the last.
func send(ctx context.Context, conn *pgxpool.Conn, steps []step) (tag pgconn.CommandTag, err error) {
	var batch pgx.Batch
	for _, s := range steps {
		batch.Queue(s.text, s.args...)
	}
	results := conn.SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for _, s := range steps {
		if s.each == nil {
			if tag, err = results.Exec(); err != nil {
				return tag, err
			}
			continue
		}
		result, err := results.Query()
		if err != nil {
			return tag, err
		}
		if err := drain(result, s.each); err != nil {
			return tag, err
		}
	}
	return tag, nil
}

// rollback leaves the connection usable, or closes it.
func rollback(ctx context.Context, conn *pgxpool.Conn) error {
	if conn.Conn().IsClosed() {
		return nil // the server rolls back by itself
	}
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
		return errors.Join(fmt.Errorf("rollback: %w", err), conn.Conn().Close(ctx))
	}
	return nil
}

// tidy vacuums the tables that rows only pass through: payments in flight and
// what waits to be sealed. A busy service leaves thousands of dead rows a second
// in them, and autovacuum looks once a minute: by then every look at the table
// costs a hundred times what it should.
func (db *pg) tidy(ctx context.Context) error {
	pools := db.connected.Load()
	ctx, done := pools.bound(ctx, time.Minute)
	defer done()
	_, err := pools.readers.Exec(ctx, "VACUUM (SKIP_LOCKED, TRUNCATE FALSE) processing, unsealed", pgx.QueryExecModeSimpleProtocol)
	return err
}

func (db *pg) prepare(ctx context.Context, text string) error {
	conn, err := db.connected.Load().readers.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	_, err = conn.Conn().Prepare(ctx, text, text)
	return err
}
