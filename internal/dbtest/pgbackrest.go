package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Repository is pgBackRest's repository of a server: encrypted backups, and the whole WAL.
type Repository struct {
	*Server // the server that is backed up
	dir     string
}

// PgBackRest starts a server that archives its WAL to its own repository. It returns nil if pgBackRest is
// not installed.
func PgBackRest(t testing.TB) *Repository {
	t.Helper()
	if _, err := exec.LookPath("pgbackrest"); err != nil {
		return nil
	}
	s := &Server{t: t}
	s.must(s.makeDir(memory()))
	s.stopAtEnd()
	r := &Repository{s, filepath.Join(s.dir, "pgbackrest")}
	s.mkdir(r.dir)
	s.must(s.initialize())
	r.keep(s)
	r.serve()
	r.Do("stanza-create")
	r.Do("check")
	return r
}

// keep writes the settings for a server.
func (re *Repository) keep(s *Server) {
	re.Server = s
	s.must(os.WriteFile(re.config(), fmt.Appendf(nil, `[global]
repo1-path=%[1]s/repo
repo1-cipher-type=aes-256-cbc
repo1-cipher-pass=only-for-this-drill
repo1-retention-full=2
start-fast=y
lock-path=%[1]s/lock
log-level-console=warn
log-level-file=off

[cascada]
pg1-path=%[2]s
pg1-socket-path=%[3]s
pg1-user=app
`, re.dir, s.data(), s.dir), 0o644))
}

func (re *Repository) config() string { return filepath.Join(re.dir, "pgbackrest.conf") }

// serve starts the server, with archiving.
func (re *Repository) serve() {
	re.t.Helper()
	re.must(re.Server.serve("-c", "archive_mode=on", "-c", "archive_command=pgbackrest --config="+re.config()+" --stanza=cascada archive-push %p"))
}

// Do runs a pgBackRest command, as the server's user.
func (re *Repository) Do(args ...string) {
	re.t.Helper()
	c := exec.Command("pgbackrest", append([]string{"--config=" + re.config(), "--stanza=cascada"}, args...)...)
	c.Dir, c.SysProcAttr, c.Env = re.dir, re.attr, []string{"LC_ALL=C", "PATH=/usr/bin:/bin", "TZ=UTC"}
	if out, err := c.CombinedOutput(); err != nil {
		re.t.Fatalf("pgbackrest %v: %v: %s", args, err, out)
	}
}

// Restore replaces the old server, which is lost, by a new one in its state at a moment. The
// repository continues with the new one.
func (re *Repository) Restore(to time.Time) {
	re.t.Helper()
	next := &Server{t: re.t}
	next.must(next.makeDir(memory()))
	next.stopAtEnd()
	re.keep(next)
	re.mkdir(next.data())
	re.Do("restore", "--type=time", "--target="+to.UTC().Format("2006-01-02 15:04:05.999999+00"), "--target-action=promote")
	re.serve()
	for re.query("SELECT pg_is_in_recovery()") {
		time.Sleep(10 * time.Millisecond)
	}
}
