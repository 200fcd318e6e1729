package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// litestream replicates an SQLite database.
type litestream struct {
	t                          *testing.T
	program, config, dir, file string // file is the database
	process                    *exec.Cmd
}

// newLitestream finds the program where `make drills` installs it, or in the path; otherwise it returns nil.
func newLitestream(t *testing.T, dir, database string) *litestream {
	t.Helper()
	program, err := filepath.Abs("../../bin/litestream")
	if err == nil {
		if _, err = os.Stat(program); err != nil {
			program, err = exec.LookPath("litestream")
		}
	}
	if err != nil {
		if *full {
			t.Fatal("Litestream is not installed: make drills")
		}
		t.Skip("Litestream is not installed: make drills DRILL=TestDrillLitestream installs it")
	}
	l := &litestream{t: t, program: program, config: filepath.Join(dir, "litestream.yml"), dir: dir, file: strings.TrimPrefix(database, "sqlite:")}
	settings := fmt.Sprintf("socket: {enabled: true, path: %s}\ndbs:\n  - path: %s\n    busy-timeout: 10s\n    replica: {path: %s}\n", l.socket(), l.file, l.replica())
	if err := os.WriteFile(l.config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *litestream) replica() string { return filepath.Join(l.dir, "replica") }
func (l *litestream) socket() string  { return filepath.Join(l.dir, "litestream.sock") }

// start starts the replication, until the test ends.
func (l *litestream) start() {
	l.t.Helper()
	log, err := os.OpenFile(filepath.Join(l.dir, "litestream.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		l.t.Fatal(err)
	}
	defer log.Close()
	l.process = exec.Command(l.program, "replicate", "-config", l.config)
	l.process.Stdout, l.process.Stderr = log, log
	if err := l.process.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		l.kill()
		if text, _ := os.ReadFile(log.Name()); l.t.Failed() {
			l.t.Logf("litestream said\n%s", text)
		}
	})
}

// kill ends it like a crash.
func (l *litestream) kill() {
	_ = l.process.Process.Kill() // it may have ended
	_ = l.process.Wait()         // killed
}

// freeze suspends it.
func (l *litestream) freeze() {
	if err := l.process.Process.Signal(syscall.SIGSTOP); err != nil {
		l.t.Fatal(err)
	}
}

// does runs a command of Litestream.
func (l *litestream) does(args ...string) string {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, l.program, args...).Output()
	if err != nil {
		l.t.Fatalf("litestream %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// synced waits until every commit is in the replica.
func (l *litestream) synced() {
	l.t.Helper()
	await(l.t, "litestream to be up", func() bool { _, err := os.Stat(l.socket()); return err == nil })
	l.does("sync", "-wait", "-timeout", "60", "-socket", l.socket(), l.file)
}

// lose removes everything that the machine had, except the master key, which is kept elsewhere.
func (l *litestream) lose() {
	l.t.Helper()
	for _, name := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(l.file + name); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(filepath.Dir(l.file), "."+filepath.Base(l.file)+"-litestream")); err != nil {
		l.t.Fatal(err)
	}
}

// restore writes the newest state of the replica to a file, and returns the earliest time of that state.
func (l *litestream) restore() (file string, at time.Time) {
	l.t.Helper()
	var parts []struct {
		Timestamp time.Time `json:"timestamp"`
	}
	if err := json.Unmarshal([]byte(l.does("ltx", "-json", "-level", "all", "file://"+l.replica())), &parts); err != nil || len(parts) == 0 {
		l.t.Fatalf("litestream ltx: %d parts, %v", len(parts), err)
	}
	for _, p := range parts {
		if p.Timestamp.After(at) {
			at = p.Timestamp
		}
	}
	file = filepath.Join(l.dir, "litestream-copy.db")
	l.does("restore", "-o", file, "file://"+l.replica())
	return file, at.Add(-time.Minute)
}

// Litestream replicates while payments come in, and is killed and started again meanwhile. Then the machine is
// lost, and the newest state of the replica is restored.
//
//	make drills DRILL=TestDrillLitestream
func TestDrillLitestream(t *testing.T) {
	t.Parallel()
	t.Run("load", func(t *testing.T) {
		t.Parallel()
		rate, part := 50, 2*time.Second
		if *full {
			rate, part = 200, 30*time.Second
		}
		litestreamUnderLoad(t, rate, part)
	})
	t.Run("recover", func(t *testing.T) {
		t.Parallel()
		database := dbtest.SQLite(t)
		l := newLitestream(t, t.TempDir(), database)
		restoringHeading()
		restore(t, "SQLite, Litestream", database, func(*restoring) {
			l.start()
			l.synced()
			l.freeze() // as if the replica could not be reached and nobody noticed
		}, func(d *restoring) string {
			d.server.kill()
			l.kill()
			l.lose()
			file, at := l.restore()
			d.user.does(t, "restore", file, "--from", at.Format(time.RFC3339))
			return database
		})
	})
}

func litestreamUnderLoad(t *testing.T, rate int, part time.Duration) {
	u := newUser(t)
	database := "sqlite:" + filepath.Join(u.dir, "cascada.db") // on a real disk, whose writes take time
	u = u.with("CASCADA_DATABASE=" + database)
	replica := newLitestream(t, u.dir, database)
	heading("database", "payments a second", "payments", "log at most", "replica", "errors", "longest answer without it", "with it", "answered and not in the copy", "the oldest of these before the end")
	s := u.serve(t)
	l := &load{answered: map[string]time.Time{}, errors: map[string]int{}}
	done := make(chan struct{})
	wait := l.pays(s, u.merchant(t, database).Keys.Sandbox.Secret, rate, done)
	highest := watchSize(t, strings.TrimPrefix(database, "sqlite:")+"-wal")
	time.Sleep(part)
	l.mu.Lock()
	without := l.longest
	l.longest = 0
	l.mu.Unlock()
	replica.start()
	time.Sleep(part)
	replica.kill()
	time.Sleep(part / 4) // the service's own checkpoints restart its WAL meanwhile
	replica.start()
	time.Sleep(part)
	l.mu.Lock()
	seen, longest := maps.Clone(l.errors), l.longest
	s.kill()
	replica.kill()
	killed := time.Now()
	l.mu.Unlock()
	close(done)
	wait()

	log, size := highest(), directorySize(t, replica.replica())
	replica.lose()
	file, at := replica.restore()
	u.does(t, "restore", file, "--from", at.Format(time.RFC3339))
	u.check(t, database)
	lost, oldest := 0, time.Duration(0)
	copied := openDatabase(t, database)
	for id, when := range l.answered {
		var n int
		if err := copied.QueryRow(`SELECT count(*) FROM payments WHERE id = $1`, id).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			continue
		}
		lost++
		oldest = max(oldest, killed.Sub(when))
		if when.Before(at) {
			t.Errorf("payment %s was answered at %s and is not in the copy, which is complete until %s", id, when, at)
		}
	}
	if lost == len(l.answered) {
		t.Error("the copy has no payment")
	}
	within(t, "what is lost", oldest, answerLimit)
	within(t, "an answer", longest, answerLimit)

	// Litestream continues with the restored database.
	u.does(t, "recover", "end")
	s = u.serve(t)
	replica.start()
	again := &load{answered: map[string]time.Time{}, errors: map[string]int{}}
	done = make(chan struct{})
	wait = again.pays(s, u.merchant(t, database).Keys.Sandbox.Secret, rate, done)
	time.Sleep(part / 4)
	close(done)
	wait()
	replica.synced()
	s.kill()
	replica.kill()
	replica.lose()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	file, at = replica.restore()
	u.does(t, "restore", file, "--from", at.Format(time.RFC3339))
	u.check(t, database)
	copied = openDatabase(t, database)
	for id := range again.answered {
		var n int
		if err := copied.QueryRow(`SELECT count(*) FROM payments WHERE id = $1`, id).Scan(&n); err != nil || n != 1 {
			t.Errorf("payment %s was replicated after the restore and exists %d times, %v", id, n, err)
		}
	}
	row("SQLite", rate, len(l.answered), megabytes(log), megabytes(size), failures(seen), ms(without), ms(longest), lost, ms(oldest))
}

// watchSize returns a function that reports the largest size of a file so far.
func watchSize(t *testing.T, path string) (highest func() int64) {
	var most int64
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for look := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-look.C:
				if info, err := os.Stat(path); err == nil {
					most = max(most, info.Size())
				}
			}
		}
	})
	end := sync.OnceFunc(func() { close(done); watch.Wait() })
	t.Cleanup(end)
	return func() int64 { end(); return most }
}

// directorySize returns the size of all files in a directory.
func directorySize(t *testing.T, path string) (size int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(path, "ltx", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Sorted(slices.Values(files)) {
		if info, err := os.Stat(file); err == nil {
			size += info.Size()
		}
	}
	return size
}
