package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// poolers are failures of a pgbouncer between nodes and database. turn returns when it works again.
var poolers = []struct {
	name  string
	short bool // also in a short run: no other test does it
	turn  func(b *dbtest.Bouncer, patience time.Duration) time.Time
}{
	{"well", false, func(*dbtest.Bouncer, time.Duration) time.Time { return time.Now() }},
	{"killed, and started again", false, func(b *dbtest.Bouncer, patience time.Duration) time.Time {
		b.Kill()
		time.Sleep(patience) // the answers during the outage are part of the drill
		b.Start("session")
		return time.Now()
	}},
	{"turned to transaction mode at work, and back", true, func(b *dbtest.Bouncer, patience time.Duration) time.Time {
		b.Turn("transaction")
		time.Sleep(patience)
		b.Turn("session")
		return time.Now()
	}},
	{"started again in transaction mode, and then in session mode", false, func(b *dbtest.Bouncer, patience time.Duration) time.Time {
		b.Kill()
		b.Start("transaction")
		time.Sleep(patience)
		b.Kill()
		b.Start("session")
		return time.Now()
	}},
}

// Nodes work through a pgbouncer in session mode, which fails, or is switched to transaction mode. A node
// that starts in that mode is refused, with the setting that it needs.
//
//	go test ./cmd/cascada -run TestDrillPooler -v -full -timeout 30m
func TestDrillPooler(t *testing.T) {
	t.Parallel()
	clients, disputes, patience, much := 8, 2, 300*time.Millisecond, 40
	if *full {
		clients, disputes, patience, much = 16, 16, 5*time.Second, 1000
	}
	heading("the pooler is", "operations", "with a key", "errors", "longest answer", "longest time without service after it was well again", "lost", "doubled", "untrue answers")
	for _, drill := range poolers {
		if !drill.short && !*full {
			continue
		}
		t.Run(drill.name, func(t *testing.T) {
			b := dbtest.Alone(t).Bouncer("session")
			k := startPack(t, b.Address, 2)
			c := newCrowd(t, k.user.merchant(t, k.database).Keys.Sandbox.Secret, moments(t), k.any)
			in := k.any(nil).subscribe(c.key)
			c.stock(disputes)
			c.thinks = 100 * time.Millisecond
			wait := c.work(clients, endless)
			c.more("the crowd to work", much)
			at := drill.turn(b, patience)
			c.more("work to go on", much)
			c.enough.Store(true)
			wait()
			pause := c.pause(at)
			c.rest()
			v := c.audit()
			v.report(c)
			if *full { // deliveries that could not be recorded are repeated after a minute
				c.hears(in, k.database)
			}
			// In transaction mode the pooler does not clean sessions: who gets one of that time is refused once.
			var out, log string
			var code int
			await(t, "the pooler to give a clean session", func() bool {
				out, log, code = k.user.run(t, "check", "--database", k.database)
				return !strings.Contains(log, "pool_mode = session")
			})
			if code != 0 {
				t.Errorf("check: exit %d\n%s%s", code, out, log)
			}
			within(t, "an answer", c.longest, answerLimit)
			within(t, "the service", pause, pauseLimit)
			row(drill.name, v.asked, v.keyed, c.errors(), ms(c.longest), ms(pause), v.lost, v.doubled, v.untrue)
			for i := range k.nodes {
				k.nodes[i].Load().terminate()
				await(t, "the node to end", k.nodes[i].Load().gone)
			}
			for _, mode := range []string{"transaction", "statement"} {
				b.Kill()
				b.Start(mode)
				if _, log, code := k.user.run(t, "serve", "--database", b.Address); code == 0 || !strings.Contains(log, "pool_mode = session") {
					t.Errorf("%s mode: exit %d %s", mode, code, log)
				}
			}
		})
	}
}
