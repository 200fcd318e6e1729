package main_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// primaries are a primary, behind a proxy line, and its standby.
type primaries struct {
	old, standby *dbtest.Server
	now          *dbtest.Server // the primary at the end
	line         *dbtest.Line
	patience     time.Duration // until the operator promotes the standby
	crowd        *crowd
}

// promoted waits until the operator notices, and promotes the standby.
func (p *primaries) promoted() time.Time {
	time.Sleep(p.patience) // the answers during the outage are part of the drill
	p.standby.Promote()
	p.now = p.standby
	return time.Now()
}

// goesOn waits until many requests were done since the failure.
func (p *primaries) goesOn() { p.crowd.more("work to go on", muchWork()) }

// muchWork is how many requests are many.
func muchWork() int {
	if *full {
		return 100
	}
	return 40
}

// outages are failures of a primary. fail returns when there is a primary again.
var outages = []struct {
	name         string
	asynchronous bool
	short        bool // also in a short run: no other test does it
	fail         func(p *primaries) time.Time
}{
	{name: "killed", fail: func(p *primaries) time.Time {
		p.old.Kill()
		return p.promoted()
	}},
	{name: "frozen", fail: func(p *primaries) time.Time {
		p.old.Freeze()
		return p.promoted()
	}},
	{name: "frozen; thawed unfenced after the promotion", fail: func(p *primaries) time.Time {
		p.old.Freeze()
		at := p.promoted()
		p.goesOn()
		p.old.Thaw()
		return at
	}},
	{name: "cut off; back after the promotion", short: true, fail: func(p *primaries) time.Time {
		p.line.Part(true)
		at := p.promoted()
		p.goesOn()
		p.line.Part(false)
		return at
	}},
	{name: "well, and its standby is promoted all the same", fail: (*primaries).promoted},
	{name: "its standby is gone, until it is told not to wait for it", fail: func(p *primaries) time.Time {
		p.standby.Kill()
		time.Sleep(2 * p.patience)
		p.old.WaitFor("")
		return time.Now()
	}},
	{name: "killed, with an asynchronous standby", asynchronous: true, fail: func(p *primaries) time.Time {
		p.old.Kill()
		return p.promoted()
	}},
}

// failing prints the header of the tables of failures of a primary.
func failing() {
	heading("the primary is", "operations", "with a key", "errors", "longest answer", "longest time without service after the promotion", "`/readyz`", "lost", "doubled", "untrue answers")
}

// The primary fails under load of requests with and without keys. The service has the
// addresses of both servers, and continues at the new primary by itself.
//
//	go test ./cmd/cascada -run TestDrillPrimary -v -full -timeout 30m
func TestDrillPrimary(t *testing.T) {
	t.Parallel()
	failing()
	for _, drill := range outages {
		if !drill.short && !*full {
			continue
		}
		t.Run(drill.name, func(t *testing.T) {
			p := &primaries{old: dbtest.Alone(t), patience: time.Second / 2}
			if *full {
				p.patience = 5 * time.Second
			}
			p.standby, p.line, p.now = p.old.Standby(), p.old.Line(), p.old
			if !drill.asynchronous {
				p.old.WaitFor("*")
			}
			failover{
				name: drill.name, database: dbtest.Address(p.line, p.standby), asynchronous: drill.asynchronous, afterwards: 3 * p.patience,
				fail: func(c *crowd) time.Time {
					p.crowd = c
					return drill.fail(p)
				},
				primary: func() string { return dbtest.Address(p.now) },
			}.run(t)
		})
	}
}

// failover is a drill of a primary's failure.
type failover struct {
	name, database string
	asynchronous   bool
	fail           func(c *crowd) time.Time // returns when there is a primary again
	afterwards     time.Duration            // long enough for nodes to check all hosts a few times
	primary        func() string            // the address of the last one
}

func (f failover) run(t *testing.T) {
	clients, disputes := 8, 2
	if *full {
		clients, disputes = 16, 16
	}
	k := startPack(t, f.database, 2)
	c := newCrowd(t, k.user.merchant(t, k.database).Keys.Sandbox.Secret, moments(t), k.any)
	in := k.any(nil).subscribe(c.key)
	c.stock(disputes)
	c.thinks = 100 * time.Millisecond
	wait := c.work(clients, endless)
	c.more("the crowd to work", muchWork())
	said, stop := k.watchReady()
	began := time.Now()
	at := f.fail(c)
	c.more("work to go on", muchWork())
	time.Sleep(f.afterwards)
	c.enough.Store(true)
	wait()
	pause := c.pause(at)
	stop()
	c.rest()
	v := c.audit()
	if f.asynchronous { // commits that had not reached the standby are lost
		t.Logf("lost: %q", v.complaints)
	} else {
		v.report(c)
		c.hears(in, f.primary())
	}
	k.user.check(t, k.database)
	within(t, "an answer", c.longest, answerLimit)
	within(t, "the service", pause, pauseLimit)
	row(f.name, v.asked, v.keyed, c.errors(), ms(c.longest), ms(pause), said.since(began), v.lost, v.doubled, v.untrue)
}
