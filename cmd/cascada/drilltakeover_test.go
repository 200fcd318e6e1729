package main_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// A service is killed under load. Whoever repeats his create call with its key is
// answered with the outcome that he asked for by the one that starts in its place; a
// client that is told that the first call still runs waits for it, and has it within
// three tries.
func TestKilledServiceIsTakenOver(t *testing.T) {
	t.Parallel()
	random := moments(t)
	dbtest.Each(t, func(t *testing.T, database string) {
		var pauses []time.Duration
		for range 3 {
			pauses = append(pauses, 300*time.Millisecond+time.Duration(random.Int64N(int64(700*time.Millisecond))))
		}
		t.Parallel()
		u := newUser(t)
		var running atomic.Pointer[server]
		running.Store(u.serve(t, "--database", database))
		key := u.merchant(t, database).Keys.Sandbox.Secret
		const clients = 8
		var (
			all    sync.WaitGroup
			enough atomic.Bool
			mu     sync.Mutex // owns waits
			waits  []time.Duration
		)
		for c := range clients {
			all.Go(func() {
				for i := 0; !enough.Load(); i++ {
					header := http.Header{"Idempotency-Key": {fmt.Sprintf("%d-%d", c, i)}, "Sandbox-Simulate": {"paid"}}
					const body = `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`
					var broken time.Time // when a call of this order had no answer
					for runs := 0; ; {
						status, reply := running.Load().call("POST", "/payments", key, body, header)
						if status == http.StatusCreated {
							if got := text(reply, "status"); got != "completed" {
								t.Errorf("order %d-%d, asked to be paid, is answered %q", c, i, got)
							}
							break
						}
						if broken.IsZero() {
							broken = time.Now()
						}
						switch status {
						case 0, http.StatusServiceUnavailable: // dead, or draining
							time.Sleep(20 * time.Millisecond) // as a client does
						case http.StatusConflict:
							if runs++; runs == 3 {
								t.Errorf("order %d-%d still runs after %s: %v", c, i, time.Since(broken), reply)
								return
							}
						default:
							t.Errorf("order %d-%d: %d %v", c, i, status, reply)
							return
						}
					}
					if !broken.IsZero() {
						mu.Lock()
						waits = append(waits, time.Since(broken))
						mu.Unlock()
					}
				}
			})
		}
		for _, pause := range pauses {
			time.Sleep(pause) // the moment is what the test is about
			running.Load().kill()
			running.Store(u.serve(t, "--database", database))
		}
		enough.Store(true)
		all.Wait()
		slices.Sort(waits)
		if n := len(waits); n > 0 {
			t.Logf("%d requests were repeated, answered after %s at the longest, %s in the middle", n, waits[n-1].Round(time.Millisecond), waits[n/2].Round(time.Millisecond))
		}
		u.check(t, database)
		running.Load().stop()
	})
}
