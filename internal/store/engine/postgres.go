package engine

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

// Postgres is PostgreSQL. Readers and committers have separate pools, because their plans differ. Leases
// and the node's own lease have theirs too: a node lease that is not renewed because others wait for a lock
// would lose its calls to another node.
type Postgres struct {
	server    *server
	Connected atomic.Pointer[pools]
	reads     *pgxpool.Config
	leases    *pgxpool.Config
	holds     *pgxpool.Config
	writes    *pgxpool.Config
	crowd     atomic.Int64 // callers that wait for a connection
}

// pools are the connections to one server in one era. A closing pool waits for its connections, which a
// hanging server may block, so each era has new pools.
type pools struct {
	era     context.Context
	readers *pgxpool.Pool
	leasers *pgxpool.Pool
	holders *pgxpool.Pool
	Writers *pgxpool.Pool
}

const (
	pgReaders = 8
	pgLeasers = 2
	pgHolders = 1
	Writers   = 3 // two committers and a spare
	// connectTimeout is for a host that does not answer, unless the address has a connect_timeout.
	connectTimeout = 2 * time.Second
	// crowdLimit is how many callers may wait for a connection; others fail at once.
	crowdLimit = 1000
	// queryTimeout bounds reads and leases without a deadline of the caller's.
	queryTimeout = 8 * time.Second
)

func openPostgres(ctx context.Context, dsn string, log *slog.Logger) (*Postgres, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	config.ConnConfig.RuntimeParams["application_name"] = "cascada"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// Compiling a statement takes longer than any of ours runs. The planner assumes that JSON has many
	// keys, and would compile even over empty tables.
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
	db := &Postgres{server: server, reads: config, leases: config.Copy(), holds: config.Copy()}
	db.leases.MaxConns, db.leases.MinConns = pgLeasers, 0
	db.holds.MaxConns, db.holds.MinConns = pgHolders, 0
	config = config.Copy()
	// Connections open only after the migrations have made the types that they register.
	config.MaxConns, config.MinConns = Writers, 0
	writing := maps.Clone(reading)
	// The server ends the transaction of a silent client by itself, so that its fate can be found out.
	writing["idle_in_transaction_session_timeout"] = strconv.FormatInt(CommitTimeout.Milliseconds(), 10)
	writing["statement_timeout"] = strconv.FormatInt(CommitTimeout.Milliseconds(), 10)
	// A statement prepared while a table was empty would keep its scan after the table has grown. A batch
	// only needs index lookups; {among} keeps it from reading a whole index.
	for _, off := range []string{"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"} {
		writing[off] = "off"
	}
	// So only one plan is useful, and planning anew each time costs as much as running it.
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
		db.Close()
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	server.onMove(func() {
		if err := db.connect(context.Background()); err != nil {
			log.Error("no connections are made to the new server", "error", err) // our own configuration
		}
	})
	return db, nil
}

// connect makes the pools of the current era. They open connections on demand.
func (pg *Postgres) connect(ctx context.Context) error {
	next := &pools{era: pg.server.current()}
	for _, make := range []struct {
		pool **pgxpool.Pool
		as   *pgxpool.Config
	}{{&next.readers, pg.reads}, {&next.leasers, pg.leases}, {&next.holders, pg.holds}, {&next.Writers, pg.writes}} {
		var err error
		if *make.pool, err = pgxpool.NewWithConfig(ctx, make.as); err != nil {
			next.close()
			return err
		}
	}
	if before := pg.Connected.Swap(next); before != nil {
		go before.close() // may take as long as the system waits for a host
	}
	return nil
}

// part closes every connection, once idle, if one has another's session: nobody knows whose sessions the
// others have, and their settings and prepared statements are not ours. New connections have their own.
func (p *pools) part(err error) {
	if !stray(err) {
		return
	}
	for _, pool := range []*pgxpool.Pool{p.readers, p.leasers, p.holders, p.Writers} {
		pool.Reset()
	}
}

func (p *pools) close() {
	for _, pool := range []*pgxpool.Pool{p.readers, p.leasers, p.holders, p.Writers} {
		if pool != nil {
			pool.Close()
		}
	}
}

// Dialect implements DB.
func (pg *Postgres) Dialect() Dialect { return PostgreSQL }

// Claim implements DB.
func (pg *Postgres) Claim() error { return nil }

// Alone implements DB.
func (pg *Postgres) Alone() bool { return false }

// Ping implements DB.
func (pg *Postgres) Ping(ctx context.Context) error {
	pools := pg.Connected.Load()
	ctx, done := pools.bound(ctx, queryTimeout)
	defer done()
	conn, err := pg.acquire(ctx, pools.readers)
	if err != nil {
		return err
	}
	defer conn.Release()
	return Down(conn.Ping(ctx))
}

// fillRoom makes some hundred pages and drops them at once.
const fillRoom = `CREATE TEMP TABLE cascada_room ON COMMIT DROP AS SELECT repeat('x', 400) AS x FROM generate_series(1, 2000)`

// insufficientPrivilege is the code for a missing right: here, to create temporary tables.
const insufficientPrivilege = "42501"

// HasRoom implements DB: a changed row fits into an existing page, a new row may not.
func (pg *Postgres) HasRoom(ctx context.Context) error {
	pools := pg.Connected.Load()
	ctx, done := pools.bound(ctx, queryTimeout)
	defer done()
	conn, err := pg.acquire(ctx, pools.leasers)
	if err != nil {
		return err
	}
	defer conn.Release()
	_, err = conn.Exec(ctx, fillRoom, pgx.QueryExecModeSimpleProtocol)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == insufficientPrivilege {
		return nil
	}
	return err
}

// Close implements DB.
func (pg *Postgres) Close() {
	pg.server.close()
	pg.Connected.Load().close()
}

// bound gives a call a deadline if it has none, and cancels it when the server is given up.
func (p *pools) bound(ctx context.Context, limit time.Duration) (context.Context, func()) {
	if _, set := ctx.Deadline(); set {
		limit = math.MaxInt64 // its own deadline is sooner
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	stop := context.AfterFunc(p.era, cancel)
	return ctx, func() { stop(); cancel() }
}

// acquire waits for a connection of a pool; too many waiting readers are refused.
func (pg *Postgres) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	defer pg.crowd.Add(-1)
	if pg.crowd.Add(1) > crowdLimit && pool == pg.Connected.Load().readers {
		return nil, ErrBusy
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDown, err)
	}
	return conn, nil
}

// Query implements DB.
func (pg *Postgres) Query(ctx context.Context, text string, args []any, each func(Row) error) error {
	pools := pg.Connected.Load()
	return pg.read(ctx, pools, pools.readers, text, args, each)
}

// Walk uses the writers' connections, whose plans only look things up.
func (pg *Postgres) Walk(ctx context.Context, text string, args []any, each func(Row) error) error {
	pools := pg.Connected.Load()
	return pg.read(ctx, pools, pools.Writers, text, args, each)
}

// Lease implements DB.
func (pg *Postgres) Lease(ctx context.Context, text string, args []any, each func(Row) error) error {
	pools := pg.Connected.Load()
	return pg.read(ctx, pools, pools.leasers, text, args, each)
}

// Hold implements DB.
func (pg *Postgres) Hold(ctx context.Context, text string, args []any, each func(Row) error) error {
	pools := pg.Connected.Load()
	return pg.read(ctx, pools, pools.holders, text, args, each)
}

func (pg *Postgres) read(ctx context.Context, pools *pools, pool *pgxpool.Pool, text string, args []any, each func(Row) error) error {
	bounded, done := pools.bound(ctx, queryTimeout)
	defer done()
	conn, err := pg.acquire(bounded, pool)
	if err != nil {
		return err
	}
	defer conn.Release()
	result, err := conn.Query(bounded, text, args...)
	if err == nil {
		err = Drain(result, each)
	}
	if warned(conn) && err == nil {
		return fmt.Errorf("%w: the server did not wait for its standby", ErrDown)
	}
	pools.part(err)
	if ctx.Err() != nil { // the caller canceled it
		return err
	}
	if err != nil && bounded.Err() != nil { // the server did not answer in time, or was given up
		return fmt.Errorf("%w: %w", ErrDown, err)
	}
	return Down(err)
}

// Drain reads all rows of a result and closes it.
func Drain(result pgx.Rows, each func(Row) error) error {
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

// Counted returns for the text of a statement that returns rows one that fails unless it returns exactly the number in
// its last argument; "" if it returns none.
func Counted(text string) string {
	if !strings.Contains(text, "RETURNING") {
		return ""
	}
	made, known := countedTexts.Load(text)
	if !known {
		made, _ = countedTexts.LoadOrStore(text, counted(text))
	}
	return made.(string)
}

// countedTexts are those that were needed so far.
var countedTexts sync.Map

var argument = regexp.MustCompile(`\$(\d+)`)

// counted casts GuardLost to a number if the count differs, which fails and so ends the transaction before
// the rest of the round trip runs.
func counted(text string) string {
	last := 0
	for _, found := range argument.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1]) // digits
		last = max(last, n)
	}
	return fmt.Sprintf("WITH found AS (%s) SELECT CAST(CASE WHEN count(*) <> $%d AND %s THEN '%s' END AS INT) FROM found",
		text, last+1, unlessForeseen, GuardLost)
}

// Apply takes one round trip.
func (pg *Postgres) Apply(ctx context.Context, look, steps []Step) error {
	all := make([]Step, 0, len(look)+len(steps)+3)
	all = append(all, Step{Text: "BEGIN"})
	found := false
	if len(look) > 0 && slices.ContainsFunc(steps, func(s Step) bool { return !strings.Contains(s.Text, unlessForeseen) }) {
		return ErrLost // a step without {unless lost} would write what the others skip: the caller must read first
	}
	for _, s := range look {
		all = append(all, Step{Text: s.Text, Args: s.Args, Each: func(r Row) error { found = true; return s.Each(r) }})
	}
	for _, s := range steps {
		if s.Want > 0 {
			s = Step{Text: Counted(s.Text), Args: append(slices.Clip(s.Args), s.Want)}
		}
		all = append(all, s)
	}
	err := pg.inTransaction(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return commit(ctx, conn, all)
	})
	if err == nil && found {
		return ErrForeseen
	}
	return err
}

// Transact takes two round trips: begin and the guards, then the rest and the commit.
func (pg *Postgres) Transact(ctx context.Context, guards []Step, decide func() ([]Step, error)) error {
	return pg.inTransaction(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		begin := make([]Step, 0, len(guards)+1)
		begin = append(begin, Step{Text: "BEGIN"})
		begin = append(begin, guards...)
		if _, err := send(ctx, conn, begin); err != nil {
			// The connection failed, whatever the error; or the server ended one side of a deadlock.
			if server, answered := errors.AsType[*pgconn.PgError](err); !answered || server.Code == deadlock {
				return fmt.Errorf("%w: %w", ErrDown, err)
			}
			return Down(err)
		}
		writes, err := decide()
		if err != nil {
			return err
		}
		return commit(ctx, conn, writes)
	})
}

// inTransaction runs a transaction on a writer's connection, and leaves it usable or closes it. If the
// server was given up meanwhile, it is not known whether its successor has the commit.
func (pg *Postgres) inTransaction(ctx context.Context, run func(context.Context, *pgxpool.Conn) error) error {
	pools := pg.Connected.Load()
	ctx, done := pools.bound(ctx, CommitTimeout)
	defer done()
	conn, err := pg.acquire(ctx, pools.Writers)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := run(ctx, conn); err != nil {
		pools.part(err)
		return errors.Join(err, rollback(ctx, conn))
	}
	if pools.era.Err() != nil {
		return fmt.Errorf("%w: the database server was given up meanwhile", ErrUnknown)
	}
	return nil
}

// commit sends the last steps and commits.
func commit(ctx context.Context, conn *pgxpool.Conn, steps []Step) error {
	tag, err := send(ctx, conn, append(steps, Step{Text: "COMMIT"}))
	server, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil && warned(conn):
		return fmt.Errorf("%w: the server did not wait for its standby", ErrUnknown)
	case err == nil && tag.String() != "COMMIT":
		return fmt.Errorf("the server answered COMMIT with %s", tag)
	case err == nil:
		return nil
	case pgconn.SafeToRetry(err):
		return Down(err) // nothing was sent
	case !answered || conn.Conn().IsClosed():
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	case server.Code == deadlock, server.Code == noNumber && strings.Contains(server.Message, GuardLost):
		return ErrLost
	}
	return Down(err)
}

// send runs the steps in one round trip and returns the last tag.
func send(ctx context.Context, conn *pgxpool.Conn, steps []Step) (tag pgconn.CommandTag, err error) {
	var batch pgx.Batch
	for _, s := range steps {
		batch.Queue(s.Text, s.Args...)
	}
	makeRoom(conn.Conn().PgConn(), bytesOf(steps))
	results := conn.SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for _, s := range steps {
		if s.Each == nil {
			if tag, err = results.Exec(); err != nil {
				return tag, err
			}
			continue
		}
		result, err := results.Query()
		if err != nil {
			return tag, err
		}
		if err := Drain(result, s.Each); err != nil {
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

// Tidy vacuums tables that rows only pass through. A busy service leaves thousands of dead rows a second there, and
// autovacuum runs once a minute: by then every read of the table costs a hundred times too much.
func (pg *Postgres) Tidy(ctx context.Context, tables ...string) error {
	pools := pg.Connected.Load()
	ctx, done := pools.bound(ctx, time.Minute)
	defer done()
	_, err := pools.readers.Exec(ctx, "VACUUM (SKIP_LOCKED, TRUNCATE FALSE) "+strings.Join(tables, ", "), pgx.QueryExecModeSimpleProtocol)
	return err
}

// Prepare implements DB.
func (pg *Postgres) Prepare(ctx context.Context, text string) error {
	conn, err := pg.Connected.Load().readers.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	_, err = conn.Conn().Prepare(ctx, text, text)
	return err
}
