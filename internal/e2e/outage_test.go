package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// The database goes away again and again, in the middle of transactions, and after it
// has done what nobody hears of any more. Whoever repeats a request with its key has
// one payment for it in the end, and its event.
func TestDatabaseThatGoesAwayLosesNothing(t *testing.T) {
	t.Parallel()
	line := dbtest.Behind(t, dbtest.Postgres(t))
	s := start(t, line.Address, &clock{})
	o := s.shop(t)
	endpoint := s.receive(t)
	o.subscribe(t, endpoint.URL, `"*"`)

	const clients, outages = 8, 40
	var (
		paying, failing sync.WaitGroup
		enough, paid    = make(chan struct{}), make(chan struct{})
		mu              sync.Mutex // owns ids, keys and refused
		ids, keys       = map[string]bool{}, map[string]bool{}
		refused         = map[int]int{}
	)
	failing.Go(func() {
		random := rand.New(rand.NewPCG(5, 7))
		pause := func() { time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond) }
		for i := range outages {
			time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
			switch i % 3 {
			case 0:
				line.Cut()
			case 1:
				line.Deaf(true)
				pause()
				line.Cut()
				line.Deaf(false)
			case 2:
				line.Down(true)
				line.Cut()
				pause()
				line.Down(false)
			}
			s.clock.advance(20 * time.Second) // so that leases end
		}
		close(enough)
		for {
			select {
			case <-paid:
				return
			case <-time.After(100 * time.Millisecond):
				s.clock.advance(20 * time.Second)
			}
		}
	})
	for c := range clients {
		paying.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-enough:
					return
				case <-time.After(5 * time.Millisecond):
				}
				key := fmt.Sprintf("%d-%d", c, i)
				eventually(t, "payment "+key+" is taken", func() bool {
					r := o.post(t, "/payments", card, "Idempotency-Key: "+key)
					mu.Lock()
					defer mu.Unlock()
					switch r.status {
					case http.StatusCreated:
						ids[r.text(t, "transactionId")], keys[key] = true, true
						return true
					case http.StatusServiceUnavailable, http.StatusConflict:
						refused[r.status]++
					default:
						t.Errorf("while the database goes away: %s", r)
						s.log.report(t)
						return true
					}
					return false
				})
			}
		})
	}
	paying.Wait()
	close(paid)
	failing.Wait()
	t.Logf("%d payments; refused meanwhile: %v", len(keys), refused)
	if len(ids) != len(keys) || refused[http.StatusServiceUnavailable] == 0 {
		t.Errorf("%d payments for %d keys; refused meanwhile: %v", len(ids), len(keys), refused)
	}

	eventually(t, "every payment is completed and told", func() bool {
		s.clock.advance(10 * time.Second)
		told := map[string]bool{}
		for _, d := range endpoint.deliveries() {
			if d.text("type") == "payment.completed" {
				told[d.text("data.object.id")] = true
			}
		}
		for id := range ids {
			if !told[id] {
				return false
			}
		}
		return true
	})
	if r := o.get(t, "/payments?status=completed&limit=1").want(t, http.StatusOK); r.text(t, "pagination.total") != fmt.Sprint(len(keys)) {
		t.Errorf("want %d completed payments, got %s", len(keys), r)
	}
	// A connection that was cut while nobody used it is met up to a second later.
	eventually(t, "every loop works again", func() bool {
		s.log.forget()
		time.Sleep(1500 * time.Millisecond)
		return s.log.empty()
	})
}
