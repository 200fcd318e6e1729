package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// The disk of the database is full for a while. Meanwhile nothing can be written: /readyz reports
// it, and requests get 503, without many lines in the log.
//
//	go test ./cmd/cascada -run TestDrillDisk -v -full
func TestDrillDisk(t *testing.T) {
	t.Parallel()
	lasts := 3 * time.Second
	if *full {
		lasts = 30 * time.Second
	}
	heading("database", "full for", "operations", "with a key", "errors", "longest answer", "longest time without service after it was freed", "not ready after", "lines in the log a second", "lost", "doubled", "untrue answers")
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		disk := dbtest.NewDisk(t, "64")
		fillUp(t, "SQLite", disk, disk.SQLite(), lasts, func() {})
	})
	if !*full { // deliveries that could not be recorded are repeated after a minute
		return
	}
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		disk := dbtest.NewDisk(t, "400")
		server := disk.Postgres()
		fillUp(t, "PostgreSQL", disk, dbtest.Address(server), lasts, server.Revive)
	})
}

// brim is how long the smallest writes may still succeed on a disk that refused larger ones.
const brim = 2 * time.Second

func fillUp(t *testing.T, name string, disk *dbtest.Disk, database string, full time.Duration, revive func()) {
	k := startPack(t, database, 1)
	node := k.any(nil)
	c := newCrowd(t, k.user.merchant(t, k.database).Keys.Sandbox.Secret, moments(t), k.any)
	in := node.subscribe(c.key)
	c.stock(2)
	c.thinks = 100 * time.Millisecond
	wait := c.work(8, endless)
	c.more("the crowd to work", muchWork())
	lines := strings.Count(node.output(), "\n")
	disk.Fill()
	began := time.Now()
	ready := func() int {
		reply, err := http.Get(node.url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		return reply.StatusCode
	}
	await(t, "the node not to be ready", func() bool { return ready() == http.StatusServiceUnavailable })
	noticed := time.Since(began)
	for time.Since(began) < noticed+brim+full {
		if status := ready(); status != http.StatusServiceUnavailable && time.Since(began) > noticed+brim {
			t.Errorf("%s into the outage /readyz is %d", time.Since(began), status)
		}
		time.Sleep(250 * time.Millisecond)
	}
	if status, reply := node.call("POST", "/payments", c.key, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil); status != http.StatusServiceUnavailable {
		t.Errorf("a payment on a full disk: %d %v", status, reply)
	}
	perSecond := float64(strings.Count(node.output(), "\n")-lines) / time.Since(began).Seconds()
	if perSecond > 5 {
		t.Errorf("%.1f lines a second in the log:\n%s", perSecond, tail(node.output(), 40))
	}
	disk.Free()
	revive()
	at := time.Now()
	await(t, "the node to be ready", func() bool { return ready() == http.StatusOK })
	c.more("work to go on", muchWork())
	c.enough.Store(true)
	wait()
	pause := c.pause(at)
	c.rest()
	v := c.audit()
	v.report(c)
	c.hears(in, database)
	k.user.check(t, k.database)
	row(name, full, v.asked, v.keyed, c.errors(), ms(c.longest), ms(pause), ms(noticed), fmt.Sprintf("%.1f", perSecond), v.lost, v.doubled, v.untrue)
}

// tail returns the end of a text.
func tail(text string, lines int) string {
	list := strings.Split(text, "\n")
	return strings.Join(list[max(0, len(list)-lines):], "\n")
}
