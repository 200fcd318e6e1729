package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// The primary is killed, or hangs and comes back without knowing that its standby was
// promoted. The service goes on at the new primary by itself; what was acknowledged is
// there, once, and nothing is read from or written to the old one.
func TestServiceFollowsThePrimary(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(old *dbtest.Server){
		"killed": func(old *dbtest.Server) { old.Kill() },
		"frozen": func(old *dbtest.Server) { old.Freeze() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := dbtest.Alone(t)
			standby := old.Standby()
			old.WaitFor("*")
			s := start(t, dbtest.Address(old, standby), &clock{})
			o := s.shop(t)
			o.post(t, "/payments", card).want(t, http.StatusCreated)

			const clients = 4
			var (
				all    sync.WaitGroup
				enough atomic.Bool
				mu     sync.Mutex // owns what follows
				ids    = map[string]string{}
				told   atomic.Int64
			)
			for c := range clients {
				all.Go(func() {
					for i := 0; !enough.Load(); i++ {
						key := fmt.Sprintf("%d-%d", c, i)
						eventually(t, "payment "+key+" is taken", func() bool {
							r := o.post(t, "/payments", card, "Idempotency-Key: "+key)
							switch r.status {
							case http.StatusCreated:
							case http.StatusServiceUnavailable, http.StatusConflict:
								return false
							default:
								t.Errorf("while the database fails: %s", r)
								return true
							}
							mu.Lock()
							defer mu.Unlock()
							ids[key] = r.text(t, "transactionId")
							told.Add(1)
							return true
						})
					}
				})
			}
			more := func(what string, n int64) {
				from := told.Load()
				eventually(t, what, func() bool { return told.Load() >= from+n })
			}
			more("payments are taken", 50)
			fail(old)
			standby.Promote()
			more("payments are taken at the new primary", 50)
			if name == "frozen" {
				old.Thaw()
				more("payments are taken while the old primary is back", 200)
			}
			enough.Store(true)
			all.Wait()
			for key, id := range ids {
				if r := o.get(t, "/payments/"+id); r.status != http.StatusOK {
					t.Errorf("payment %s was acknowledged: %s", key, r)
				}
				if r := o.post(t, "/payments", card, "Idempotency-Key: "+key); r.text(t, "transactionId") != id {
					t.Errorf("payment %s was %s: %s", key, id, r)
				}
			}
			if got := o.get(t, "/payments?limit=1").text(t, "pagination.total"); got != fmt.Sprint(len(ids)+1) {
				t.Errorf("%s payments for %d keys and one", got, len(ids))
			}
			s.clean(t)
			s.log.forget() // that the database was away
		})
	}
}
