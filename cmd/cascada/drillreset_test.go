package main_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// resetting is a running drill: a merchant's sandbox is emptied again and again, while payments come in there and in
// production.
type resetting struct {
	*pack
	t        *testing.T
	rows     *sql.DB
	merchant string
	random   *rand.Rand
	resets   []emptied
	stops    int
	middle   int // kills in the middle of a pass
}

// emptied is a reset: when it was asked for, and when it was over.
type emptied struct{ began, ended time.Time }

// A sandbox is emptied while payments come in there and in production of the same merchant. Nodes are killed in the middle of a
// pass, and suspended for longer than a lease on it. Each reset ends, production loses nothing, and the sandbox has what
// came after the last reset and nothing from before.
//
//	go test ./cmd/cascada -run TestDrillReset -v -full -timeout 30m
func TestDrillReset(t *testing.T) {
	t.Parallel()
	resets, clients, some := 1, 2, 10
	if *full {
		resets, clients, some = 3, 8, 50
	}
	heading("database", "resets", "nodes killed", "in a pass", "nodes suspended", "rows of the last", "a reset took", "payments in production", "longest answer there", "errors there", "lost", "doubled", "untrue answers", "in the sandbox: gone", "kept", "wrong")
	atOnce(t, map[string]func(t *testing.T){
		"SQLite, one node":      func(t *testing.T) { emptySandboxes(t, dbtest.SQLite(t), 1, clients, resets, some) },
		"PostgreSQL, two nodes": func(t *testing.T) { emptySandboxes(t, dbtest.Postgres(t), 2, clients, resets, some) },
	})
}

func emptySandboxes(t *testing.T, database string, nodes, clients, resets, some int) {
	upstream := providertest.NewUpstream(t, "key-1")
	upstream.Next("paid")
	u := plainly(t, database).with("PLAIN_KEY=key-1", "PLAIN_SECRET=hush")
	k := &pack{t: t, user: u, database: database, nodes: make([]atomic.Pointer[server], nodes)}
	for i := range nodes {
		k.nodes[i].Store(u.serve(t))
	}
	made := u.merchant(t, database)
	u.does(t, "fx", "set", "BRL", "5.4")
	u.does(t, "provider", "add", "plain", "--id", "bank", "--base-url", upstream.URL, "--credential", "apiKey=env:PLAIN_KEY", "--credential", "webhookSecret=env:PLAIN_SECRET")
	d := &resetting{pack: k, t: t, rows: openDatabase(t, database), merchant: made.Merchant.ID, random: moments(t)}
	live, tries := newCrowd(t, made.Keys.Production.Secret, d.random, k.any), newCrowd(t, made.Keys.Sandbox.Secret, d.random, k.any)
	live.thinks, tries.thinks = 500*time.Millisecond, 200*time.Millisecond // as clients that wait for each other
	tries.ask = asksPaid
	waitTries := tries.work(clients, endless)
	var pix string
	await(t, "a method in production", func() bool { pix = d.method(live); return pix != "" })
	live.live = true
	live.ask = func(c *crowd, random *rand.Rand) *asked { return c.pays(pix, random).perhaps(random) }
	waitLive := live.work(clients, endless)
	await(t, "payments in the sandbox", func() bool { return tries.done() >= 2*some })
	for range resets {
		d.empty()
		tries.more("payments after a reset", some)
	}
	tries.more("payments in the sandbox after the last reset", some)
	live.enough.Store(true)
	tries.enough.Store(true)
	waitLive()
	waitTries()
	live.rest()
	tries.rest()
	v := live.audit()
	v.report(live)
	gone, kept, wrong := d.trials(tries)
	d.sealed()
	u.check(t, database)
	if *full && d.middle == 0 {
		t.Error("no node was killed in the middle of a pass")
	}
	t.Logf("%d of %d kills were in the middle of a pass", d.middle, len(d.resets))
	var longest time.Duration
	for _, r := range d.resets {
		longest = max(longest, r.ended.Sub(r.began))
	}
	row(t.Name()[len("TestDrillReset/"):], len(d.resets), len(k.killed), d.middle, d.stops, d.deleted(), "at most "+longest.Round(time.Second).String(), v.asked, ms(live.longest), live.errors(), v.lost, v.doubled, v.untrue, gone, kept, wrong)
	if d.stops == 0 {
		k.stop()
		return
	}
	for i := range k.nodes { // a node that was suspended says that the database did not answer it in time
		k.nodes[i].Load().end()
	}
}

// method is the id of a production method that can be paid with on every node, "" while there is none: a node learns of an
// account and of a rate some seconds later.
func (d *resetting) method(c *crowd) (id string) {
	for i := range d.nodes {
		_, list := d.nodes[i].Load().call("GET", "/payment-methods?country=BR&method=pix", c.key, "", nil)
		methods, _ := list["methods"].([]any)
		if len(methods) == 0 {
			return ""
		}
		pix, _ := methods[0].(map[string]any)
		if pix["routable"] != true {
			return ""
		}
		id = text(pix, "paymentMethodId")
	}
	return id
}

// state reads the merchant's reset.
func (d *resetting) state() (version, sweptAt, doneAt int64) {
	if err := d.rows.QueryRow(`SELECT version, swept_at, done_at FROM resets WHERE merchant = $1`, d.merchant).Scan(&version, &sweptAt, &doneAt); err != nil {
		d.t.Fatal(err)
	}
	return version, sweptAt, doneAt
}

// begun waits until a node has taken the lease on the first pass.
func (d *resetting) begun(first int64) {
	var due int64 // microseconds
	if err := d.rows.QueryRow(`SELECT due_at FROM resets WHERE merchant = $1`, d.merchant).Scan(&due); err != nil {
		d.t.Fatal(err)
	}
	time.Sleep(time.Until(time.UnixMicro(due)) - time.Second/2)   // the pass is not due
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) { // a pass over a small sandbox is short
		if version, _, _ := d.state(); version > first {
			return
		}
		if time.Since(began) > patience {
			d.t.Fatal("no pass begins")
		}
	}
}

// empty empties the sandbox. In its first pass a node is killed. If there are two, the other one is suspended just before that,
// for longer than a lease.
func (d *resetting) empty() {
	r := emptied{began: time.Now()}
	d.user.does(d.t, "merchant", "empty-sandbox", d.merchant)
	first, _, _ := d.state()
	d.begun(first)
	victim := d.random.IntN(len(d.nodes))
	moment := func() { time.Sleep(time.Duration(d.random.Int64N(int64(60 * time.Millisecond)))) } // of the pass
	moment()
	if len(d.nodes) > 1 {
		other := d.nodes[1-victim].Load()
		d.signal(other, syscall.SIGSTOP)
		d.stops++
		rest := merchants.ResetLease + time.Duration(d.random.IntN(3000))*time.Millisecond
		go func() {
			time.Sleep(rest) // the drill needs this pause
			d.signal(other, syscall.SIGCONT)
		}()
		moment()
	}
	d.nodes[victim].Load().kill()
	if _, swept, _ := d.state(); swept == 0 {
		d.middle++
	}
	d.replace(victim)
	await(d.t, "the end of the reset", func() bool { _, _, done := d.state(); return done > 0 })
	r.ended = time.Now()
	d.resets = append(d.resets, r)
}

func (d *resetting) signal(s *server, signal syscall.Signal) {
	if err := s.command.Process.Signal(signal); err != nil {
		d.t.Error(err)
	}
}

// deleted counts the rows that the last reset deleted.
func (d *resetting) deleted() (n int64) {
	if err := d.rows.QueryRow(`SELECT deleted FROM resets WHERE merchant = $1`, d.merchant).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// trials compares what was answered in the sandbox with what is there: nothing from before the last reset, and all that was
// requested after it.
func (d *resetting) trials(c *crowd) (gone, kept, wrong int) {
	last := d.resets[len(d.resets)-1]
	var there []string
	for _, p := range c.list("/payments") {
		there = append(there, text(p, "id"))
	}
	for _, a := range c.asked {
		if a.said != made {
			continue
		}
		has := slices.Contains(there, a.id)
		switch {
		case a.began.Add(a.took).Before(last.began):
			if gone++; has {
				wrong++
				d.t.Errorf("%s was answered before the last reset, and is there", a.id)
			}
		case a.began.After(last.ended):
			if kept++; !has {
				wrong++
				d.t.Errorf("%s was requested after the last reset, and is not there", a.id)
			}
		}
	}
	if gone == 0 || kept == 0 {
		d.t.Errorf("%d payments are from before the reset and %d from after it", gone, kept)
	}
	if status, reply := d.any(nil).call("GET", "/sandbox/clock", c.key, "", nil); status != http.StatusOK || fmt.Sprint(reply["advanceSeconds"]) != "0" {
		d.t.Errorf("the test clock is %d %v", status, reply)
	}
	return gone, kept, wrong
}

// sealed waits until each row is in a block: the check then proves the chains.
func (d *resetting) sealed() {
	await(d.t, "the ledger to be sealed", func() (sealed bool) {
		if err := d.rows.QueryRow(`SELECT count(*) = 0 FROM unsealed`).Scan(&sealed); err != nil {
			d.t.Fatal(err)
		}
		return sealed
	})
}
