package main_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// A check runs again and again on the hot standby of a working service, while the primary removes rows
// that the standby's snapshots still see: the standby cancels transactions of a second, and the check
// repeats them. It reports no false problem, and changes nothing.
//
//	go test ./cmd/cascada -run TestDrillCheck -v -full -timeout 30m
func TestDrillCheckOnAStandby(t *testing.T) {
	t.Parallel()
	rounds, disputes := 2, 2
	if *full {
		rounds, disputes = 50, 16
	}
	primary := dbtest.Alone(t)
	primary.Exec("ALTER SYSTEM SET max_standby_streaming_delay = '1s'") // the standby gets it too
	standby := primary.Standby()
	database, other := dbtest.Address(primary), dbtest.Address(standby)
	k := startPack(t, database, 1)
	c := newCrowd(t, k.user.merchant(t, database).Keys.Sandbox.Secret, moments(t), k.any)
	k.any(nil).subscribe(c.key)
	c.stock(disputes)
	c.thinks = 400 * time.Millisecond // so that the database does not grow faster than it is checked
	wait := c.work(4, endless)
	c.more("the crowd to work", 50)
	state := filepath.Join(t.TempDir(), "proved.json")
	checks, found := 0, 0
	for range rounds {
		primary.Exec("VACUUM")
		for _, args := range [][]string{{"check"}, {"check", "--state", state}, {"seal", "head"}} {
			for _, address := range []string{other, database} {
				if address == database && args[0] == "check" && len(args) > 1 {
					continue // its state file belongs to the standby
				}
				checks++
				if out, log, code := k.user.run(t, append(args, "--database", address)...); code != 0 {
					found++
					t.Errorf("%s at %s: exit %d\n%s%s", strings.Join(args, " "), address, code, out, log)
				}
			}
		}
		c.more("work to go on", 10)
	}
	c.enough.Store(true)
	wait()
	c.rest()
	v := c.audit()
	v.report(c)
	k.user.check(t, other)

	// With both addresses the primary is read, in any order.
	both := dbtest.Address(standby, primary)
	k.user.check(t, both)
	conn, err := pgx.Connect(context.Background(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var in bool
	if err := conn.QueryRow(context.Background(), "SELECT pg_is_in_recovery()").Scan(&in); err != nil || !in {
		t.Errorf("the standby is no longer one: %v, %v", in, err)
	}
	primary.Kill()
	k.user.check(t, both)
	within(t, "an answer", c.longest, answerLimit)
	heading("checks and heads read", "that found something", "operations meanwhile", "with a key", "errors", "longest answer", "lost", "doubled", "untrue answers")
	row(checks, found, v.asked, v.keyed, c.errors(), ms(c.longest), v.lost, v.doubled, v.untrue)
}
