package main_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// The machine of a primary fails that Patroni manages. Patroni promotes another member
// automatically, and the service, which has the addresses of all members, follows.
//
//	make drills DRILL=TestDrillPatroni
func TestDrillPatroni(t *testing.T) {
	if !*full {
		t.Skip("takes minutes and Debian's patroni: make drills")
	}
	failing()
	for _, drill := range []struct {
		name string
		fail func(c *crowd, cluster *dbtest.Cluster, old *dbtest.Member) (next *dbtest.Member, at time.Time)
	}{
		{"killed, with its Patroni", func(_ *crowd, cluster *dbtest.Cluster, old *dbtest.Member) (*dbtest.Member, time.Time) {
			old.Kill()
			return cluster.Next(old), time.Now()
		}},
		{"frozen, with its Patroni; thawed after the promotion", func(c *crowd, cluster *dbtest.Cluster, old *dbtest.Member) (*dbtest.Member, time.Time) {
			old.Freeze()
			next, at := cluster.Next(old), time.Now()
			c.more("work to go on", 100)
			old.Thaw()
			return next, at
		}},
	} {
		t.Run(drill.name, func(t *testing.T) {
			cluster := dbtest.Patroni(t, 3)
			if cluster == nil {
				t.Fatal("Patroni or etcd is not installed: make drills")
			}
			var next *dbtest.Member
			failover{
				name: drill.name, database: cluster.Address(), afterwards: 20 * time.Second,
				fail: func(c *crowd) (at time.Time) {
					next, at = drill.fail(c, cluster, cluster.Primary())
					return at
				},
				primary: func() string { return next.Address() },
			}.run(t)
		})
	}
}
