package providers

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// The connection to the database breaks again and again: in the middle of transactions, and after a
// commit whose answer is lost. A client that repeats its request with the same key has exactly one
// payment in the end, and its event.
func TestDatabaseThatGoesAwayLosesNothing(t *testing.T) {
	t.Parallel()
	line := dbtest.Behind(t, dbtest.Postgres(t))
	s := harness.Start(t, line.Address, &harness.Clock{})
	o := s.NewShop(t)
	endpoint := s.Receive(t)
	o.Subscribe(t, endpoint.URL, `"*"`)

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
			s.Clock.Advance(20 * time.Second) // so that leases end
		}
		close(enough)
		for {
			select {
			case <-paid:
				return
			case <-time.After(100 * time.Millisecond):
				s.Clock.Advance(20 * time.Second)
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
				harness.Eventually(t, "payment "+key+" is accepted", func() bool {
					r := o.Post(t, "/payments", harness.Card, "Idempotency-Key: "+key)
					mu.Lock()
					defer mu.Unlock()
					switch r.Status {
					case http.StatusCreated:
						ids[r.Text(t, "transactionId")], keys[key] = true, true
						return true
					case http.StatusServiceUnavailable, http.StatusConflict:
						refused[r.Status]++
					default:
						t.Errorf("while the database is down, a payment is answered %s", r)
						s.Log.Report(t)
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
		t.Errorf("%d payments for %d keys, want one for each and some 503s; refused meanwhile: %v", len(ids), len(keys), refused)
	}

	harness.Eventually(t, "the endpoint has an event for every payment", func() bool {
		s.Clock.Advance(10 * time.Second)
		told := map[string]bool{}
		for _, d := range endpoint.Deliveries() {
			if d.Text("type") == "payment.completed" {
				told[d.Text("data.object.id")] = true
			}
		}
		for id := range ids {
			if !told[id] {
				return false
			}
		}
		return true
	})
	if r := o.Get(t, "/payments?status=completed&limit=1").Want(t, http.StatusOK); r.Text(t, "pagination.total") != fmt.Sprint(len(keys)) {
		t.Errorf("want %d completed payments, got %s", len(keys), r)
	}
	// A loop finds an idle connection that was cut up to a second later.
	harness.Eventually(t, "every loop runs without errors", func() bool {
		s.Log.Forget()
		time.Sleep(1500 * time.Millisecond)
		return s.Log.Empty()
	})
}

// People look at metrics most when the database is down. So the page works without it, and says how
// old the database's figures are.
func TestMetricsAreToldWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	address := l.Addr().String()
	harness.Must(t, l.Close())
	line := dbtest.Behind(t, dbtest.Postgres(t))
	s := harness.StartWith(t, line.Address, &harness.Clock{}, func(c *daemon.Config) { c.Metrics = address })
	read := func() string {
		t.Helper()
		r, err := http.Get("http://" + address + "/metrics")
		harness.Must(t, err)
		defer r.Body.Close()
		page, err := io.ReadAll(r.Body)
		harness.Must(t, err)
		if r.StatusCode != http.StatusOK {
			t.Fatalf("/metrics returns %d: %s", r.StatusCode, page)
		}
		return string(page)
	}
	scrape := func(want ...string) {
		t.Helper()
		page := read()
		for _, w := range append(want, "cascada_store_commits_total ", `cascada_open_oldest_seconds{kind="refund"} 0`, "cascada_disputes_oldest_overdue_seconds 0", "cascada_database_seen_seconds ") {
			if !strings.Contains(page, w) {
				t.Errorf("/metrics has no %s", w)
			}
		}
	}
	up := func() bool { return strings.Contains(read(), "cascada_database_up 1") }
	// A scrape waits a second for the database: on a busy machine that may be too short.
	harness.Eventually(t, "the metrics have figures of the database", up)
	scrape()
	s.Log.Expect("store.down") // loops fail while it is away, and when they find a connection that was cut
	line.Down(true)
	line.Cut()
	scrape("cascada_database_up 0")
	line.Down(false)
	line.Deaf(true) // the database accepts queries and answers none
	scrape("cascada_database_up 0")
	line.Deaf(false)
	line.Cut()
	harness.Eventually(t, "the metrics show that the database is up", up)
	harness.Eventually(t, "the service is ready", func() bool { return s.App.Ready(ctx) == nil })
}
