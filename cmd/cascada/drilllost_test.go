package main_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// One of every so many commits is done, but its connection ends before the reply. Each request is
// done once or not at all, and every answer is true. Only requests with a key are
// sent again.
//
//	go test ./cmd/cascada -run TestDrillLostCommits -v -full
func TestDrillLostCommits(t *testing.T) {
	t.Parallel()
	cases := []struct{ n, every, disputes int }{{1000, 150, 16}, {1000, 15, 16}}
	if !*full {
		cases = []struct{ n, every, disputes int }{{100, 20, 4}}
	}
	heading("operations", "with a key", "time", "a commit is lost of", "replies lost", "longest answer", "errors", "lost", "doubled", "untrue answers")
	for _, drill := range cases {
		line := dbtest.Behind(t, dbtest.Postgres(t))
		k := startPack(t, line.Address, 1)
		c := newCrowd(t, k.user.merchant(t, line.Address).Keys.Sandbox.Secret, moments(t), k.any)
		in := k.any(nil).subscribe(c.key)
		c.stock(drill.disputes)
		line.Lose(drill.every)
		began := time.Now()
		c.work(16, drill.n)()
		took := time.Since(began)
		line.Lose(0)
		if line.Lost() == 0 {
			t.Error("no answer was lost")
		}
		c.rest()
		v := c.audit()
		v.report(c)
		c.hears(in, line.Address)
		k.user.check(t, line.Address)
		within(t, "an answer", c.longest, answerLimit)
		row(v.asked, v.keyed, took.Round(time.Second/10), drill.every, line.Lost(), c.longest.Round(time.Millisecond), c.errors(), v.lost, v.doubled, v.untrue)
		k.stop()
	}
}
