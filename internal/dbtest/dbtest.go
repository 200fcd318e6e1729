// Package dbtest gives each test empty databases: an SQLite file, and a database of a real
// PostgreSQL that the test process starts and stops itself. Only tests use it.
package dbtest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Prepare, if a package sets it before its tests, runs once on a database of each engine,
// and every test gets a copy of that database: migrations take as long as a short test.
var Prepare = func(_ context.Context, database string) error { return nil }

// preparedFile is the initial content of a test's SQLite file; empty without Prepare.
var preparedFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp(memory(), "cascada-lite")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "cascada.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, err
	}
	if err := Prepare(context.Background(), "sqlite:"+path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// preparedDatabase starts PostgreSQL and names the database that tests copy.
var preparedDatabase = sync.OnceValues(func() (string, error) {
	if err := server.start(); err != nil {
		return "", fmt.Errorf("start PostgreSQL for the tests (make test installs it): %w", err)
	}
	const name = "prepared"
	ctx := context.Background()
	if err := server.exec(ctx, "CREATE DATABASE "+name+" STRATEGY wal_log"); err != nil {
		return "", err
	}
	if err := Prepare(ctx, server.dsn(name)); err != nil || !Keep {
		return name, err
	}
	return name, server.keep(ctx, name)
})

// OnlyFrom, if a package sets it before its tests, names the environment variable with the one engine on which Each runs
// them: "sqlite", "postgres", or "either", with which half of the tests run on each, always the same. A run with "postgres"
// skips the tests that use one particular engine, whichever it is: a run with "sqlite" or "either" includes them.
var OnlyFrom string

// Only is that engine, "" for both. Each test reads the variable: go test sees only what is read while tests run, and would
// otherwise take the result of one engine for the other's.
func Only() string {
	if OnlyFrom == "" {
		return ""
	}
	only := os.Getenv(OnlyFrom)
	if only != "" && only != "sqlite" && only != "postgres" && only != "either" {
		panic(OnlyFrom + " is " + only + ": want sqlite, postgres or either") // otherwise no test would run, and all would pass
	}
	return only
}

// once skips a test of one particular engine if another run has it.
func once(t testing.TB) {
	t.Helper()
	if Only() == "postgres" {
		t.Skip("the run on SQLite includes this test")
	}
}

// Each runs the test once per engine, both in parallel, with the address of a fresh
// database. A database is made when the test's turn comes, because hundreds of tests wait
// for theirs.
func Each(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	engines(t, SQLite, postgres, test)
}

// EachEmpty is Each with databases that have nothing in them, whatever Prepare does.
func EachEmpty(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	engines(t, func(t testing.TB) string { return file(t, nil) }, func(t testing.TB) string {
		if _, err := preparedDatabase(); err != nil { // that starts the server
			t.Fatal(err)
		}
		return copied(t, "template1")
	}, test)
}

func engines(t *testing.T, lite, server func(testing.TB) string, test func(t *testing.T, database string)) {
	t.Helper()
	for engine, address := range map[string]func(testing.TB) string{"sqlite": lite, "postgres": server} {
		if only := Only(); only == "" || only == engine || only == "either" && engine == eitherOf(t.Name()) {
			t.Run(engine, func(t *testing.T) {
				t.Parallel()
				test(t, address(t))
			})
		}
	}
}

// eitherOf is the engine of a test in a run on either.
func eitherOf(test string) string {
	h := fnv.New32a()
	_, _ = io.WriteString(h, test)
	return []string{"sqlite", "postgres"}[h.Sum32()%2]
}

// SQLite returns the address of the test's own file, which does not exist yet unless
// Prepare is set.
func SQLite(t testing.TB) string {
	t.Helper()
	once(t)
	content, err := preparedFile()
	if err != nil {
		t.Fatal(err)
	}
	return file(t, content)
}

// file returns the address of a file with a content; without one it does not exist yet.
func file(t testing.TB, content []byte) string {
	t.Helper()
	dir, err := os.MkdirTemp(memory(), "cascada-lite")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "cascada.db")
	if len(content) > 0 {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "sqlite:" + path
}

// memory returns a file system in memory, if there is one with room: the tests create tens of
// thousands of files, which on a disk takes as long as everything else.
func memory() string {
	const dir, room = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return "/tmp"
	}
	return dir
}

// Postgres returns the address of the test's own database, which is dropped when the test
// ends, or emptied for the next one (Keep).
func Postgres(t testing.TB) string {
	t.Helper()
	once(t)
	return postgres(t)
}

func postgres(t testing.TB) string {
	t.Helper()
	original, err := preparedDatabase()
	if err != nil {
		t.Fatal(err)
	}
	if server.keeper != nil {
		return server.keeper.database(t, original)
	}
	return copied(t, original)
}

// copied returns the address of a copy of a database.
func copied(t testing.TB, original string) string {
	t.Helper()
	name := fmt.Sprintf("t%d", server.databases.Add(1))
	ctx := context.Background() // the test's own context has ended when the cleanup runs
	if err := server.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+original+" STRATEGY file_copy"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return server.dsn(name)
}

// Main runs a package's tests (a *testing.M, or something that wraps one), then stops the
// server and cleans up.
func Main(m interface{ Run() int }, cleanup ...func()) {
	GrowHeap()
	code := m.Run()
	server.stop()
	pristine.stop()
	for _, do := range cleanup {
		do()
	}
	os.Exit(code)
}

// GrowHeap makes a test process collect garbage less often, unless GOGC is set: its heap is small, and a collection
// with the race detector is expensive. It sets nothing for processes that the tests start.
func GrowHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

var server instance

// instance is the PostgreSQL server of this test process.
type instance struct {
	bin, dir  string
	attr      *syscall.SysProcAttr
	process   *exec.Cmd
	databases atomic.Int64
	keeper    *keeper // nil without Keep
}

func (i *instance) dsn(database string) string {
	return fmt.Sprintf("postgres:///%s?host=%s&user=app&sslmode=disable", database, i.dir)
}

// exec runs a statement that creates or drops a database.
func (i *instance) exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, i.dsn("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

func (i *instance) start() (err error) {
	if err := i.makeDir(memory()); err != nil {
		return err
	}
	// The databases use a language's collation, as most real ones do: nothing may depend on
	// it.
	err = i.do("initdb", "-D", i.data(), "-U", "app", "-A", "trust", "--no-sync", "--no-instructions", "-E", "UTF8",
		"--locale=C", "--locale-provider=icu", "--icu-locale=en-US")
	if err != nil {
		return err
	}
	// Nobody follows this server (Pair has a standby). A test runs most statements once or twice on a connection: it is
	// cheaper to plan them once.
	return i.serve("-c", "synchronous_commit=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "plan_cache_mode=force_generic_plan")
}

// makeDir makes the server's directory.
func (i *instance) makeDir(in string) (err error) {
	if i.bin, err = binaries(); err != nil {
		return err
	}
	// Not t.TempDir: only root may read its parent, and a socket's path is limited to 107
	// bytes.
	if i.dir, err = os.MkdirTemp(in, "cascada-pg"); err != nil {
		return err
	}
	i.attr, err = i.unprivileged()
	return err
}

func (i *instance) data() string { return filepath.Join(i.dir, "data") }

// command returns a command that runs a program of PostgreSQL.
func (i *instance) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(i.bin, name), args...)
	c.Dir, c.SysProcAttr = i.dir, i.attr
	c.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin", "TZ=UTC"}
	return c
}

// do runs a program of PostgreSQL.
func (i *instance) do(name string, args ...string) error {
	if out, err := i.command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// serve starts the server on its data.
func (i *instance) serve(settings ...string) error {
	log, err := os.Create(filepath.Join(i.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	i.process = i.command("postgres", append([]string{
		"-D", i.data(), "-c", "listen_addresses=", "-c", "unix_socket_directories=" + i.dir,
		"-c", "fsync=off", "-c", "full_page_writes=off",
		"-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c", "max_wal_size=128MB",
	}, settings...)...)
	i.process.Stdout, i.process.Stderr = log, log
	if err := launch(i.process); err != nil {
		return err
	}
	return i.awaitReady()
}

// launch starts a program that dies with the test process.
func launch(program *exec.Cmd) error {
	started := make(chan error)
	go func() {
		// It dies with the thread that started it, so that thread must stay alive.
		runtime.LockOSThread()
		started <- program.Start()
		select {}
	}()
	return <-started
}

func (i *instance) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, i.dsn("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// unprivileged makes root run the server as the user postgres, because PostgreSQL refuses
// root.
func (i *instance) unprivileged() (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, os.Chown(i.dir, uid, gid)
}

func (i *instance) stop() {
	if i.process != nil && i.process.Process != nil {
		_ = i.process.Process.Signal(syscall.SIGQUIT)
		_ = i.process.Wait()
	}
	if i.dir != "" {
		_ = os.RemoveAll(i.dir)
	}
}

// binaries finds initdb and postgres in the usual places of Debian and others.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err == nil && len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}
