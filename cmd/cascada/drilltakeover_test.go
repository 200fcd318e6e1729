package main_test

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// A node is killed under load, again and again. A client that repeats its create call with its key
// gets the outcome that it asked for: from the other node, or on SQLite from the node that a supervisor
// starts instead.
//
//	go test ./cmd/cascada -run TestDrillTakeover -v -full
func TestDrillTakeover(t *testing.T) {
	t.Parallel()
	kills, clients := 3, 8
	if *full {
		kills, clients = 30, 32
	}
	heading("database", "kills", "requests", "interrupted", "from the kill to the answer: p50", "p99", "longest", "errors", "lost", "doubled", "untrue answers")
	for _, drill := range []struct {
		name     string
		database func(testing.TB) string
		nodes    int
	}{{"SQLite, one node", dbtest.SQLite, 1}, {"PostgreSQL, two nodes", dbtest.Postgres, 2}} {
		t.Run(drill.name, func(t *testing.T) {
			if !*full {
				t.Parallel()
			}
			k := startPack(t, drill.database(t), drill.nodes)
			random := moments(t)
			c := newCrowd(t, k.user.merchant(t, k.database).Keys.Sandbox.Secret, random, k.any)
			c.ask, c.thinks = asksPaid, 20*time.Millisecond
			wait := c.work(clients, endless)
			for i := range kills {
				time.Sleep(300*time.Millisecond + time.Duration(random.Int64N(int64(700*time.Millisecond)))) // the kill comes at a random moment
				k.replace(i % drill.nodes)
			}
			c.enough.Store(true)
			wait()
			c.rest()
			v := c.audit()
			for _, a := range c.asked {
				if got := text(a.reply, "status"); got != "completed" {
					t.Errorf("%s was to be paid, and is answered %q: %v", a.tag, got, a.reply)
				}
			}
			v.report(c)
			k.user.check(t, k.database)
			waits := k.waits(c.asked)
			if len(waits) == 0 {
				t.Error("no request was interrupted")
				waits = []time.Duration{0}
			}
			longest := waits[len(waits)-1]
			within(t, "the answer to a request that was repeated", longest, answerLimit)
			row(drill.name, kills, v.asked, len(waits), ms(waits[len(waits)/2]), ms(waits[len(waits)*99/100]), ms(longest), c.errors(), v.lost, v.doubled, v.untrue)
			k.stop()
		})
	}
}

// ms writes a duration for people.
func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// asksPaid creates a payment that the sandbox's shopper pays within the call.
func asksPaid(c *crowd, random *rand.Rand) *asked {
	a := c.pays("sbx_pix", random)
	a.key, a.header = "key-"+a.tag, http.Header{"Sandbox-Simulate": {"paid"}}
	return a
}

// pack is some nodes on one database, which are killed and started again.
type pack struct {
	t        testing.TB
	user     user
	database string
	nodes    []atomic.Pointer[server]
	next     atomic.Int64
	killed   []time.Time
}

func startPack(t testing.TB, database string, nodes int) *pack {
	k := &pack{t: t, user: newUser(t), database: database, nodes: make([]atomic.Pointer[server], nodes)}
	for i := range nodes {
		k.nodes[i].Store(k.user.serve(t, "--database", database))
	}
	return k
}

// any returns one node after the other.
func (k *pack) any(but *server) *server {
	for {
		if s := k.nodes[int(k.next.Add(1))%len(k.nodes)].Load(); s != but || len(k.nodes) == 1 {
			return s
		}
	}
}

// replace kills a node and starts another one at once.
func (k *pack) replace(i int) {
	k.killed = append(k.killed, time.Now())
	k.nodes[i].Load().kill()
	k.nodes[i].Store(k.user.serve(k.t, "--database", k.database))
}

// waits returns how long the requests that were open when a node was killed waited for their
// answers, from then on.
func (k *pack) waits(all []*asked) (waits []time.Duration) {
	for _, a := range all {
		for _, at := range k.killed {
			if !a.broken.IsZero() && a.began.Before(at) && a.broken.After(at) {
				waits = append(waits, a.began.Add(a.took).Sub(at))
				break
			}
		}
	}
	slices.Sort(waits)
	return waits
}

func (k *pack) stop() {
	for i := range k.nodes {
		k.nodes[i].Load().stop()
	}
}
