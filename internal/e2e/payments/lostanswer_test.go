package payments

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/jackc/pgx/v5"
)

// The database makes a request's commit, and goes down before the request can read anything. The
// reply must still say that it is done. Otherwise the client repeats it, and it is done twice.
func TestWhatIsDoneIsNotRefusedWhenNothingCanBeReadAfterIt(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	line := dbtest.Behind(t, database)
	s := harness.Start(t, line.Address, &harness.Clock{})
	o := s.NewShop(t)
	direct, err := pgx.Connect(context.Background(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close(context.Background())
	var mu sync.Mutex // owns direct
	const others = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND query <> 'COMMIT'`
	for _, x := range []struct {
		path, body string
		status     int
		done       string
	}{
		{"/sandbox/clock", `{"advance":"1s"}`, http.StatusOK, "clocks"},
		{"/wallets", `{"type":"bank_account","network":"pix","currency":"BRL","destination":"shop@shop.example"}`, http.StatusCreated, "wallets"},
		{"/webhooks", `{"url":"http://127.0.0.1:1/","events":["settlement.closed"]}`, http.StatusCreated, "subscriptions"},
		{"/payments", `{"amount":100,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`, http.StatusCreated, "payments WHERE status = 'pending'"},
	} {
		harness.Eventually(t, "the database is back", func() bool { return o.Get(t, "/me/balance").Status == http.StatusOK })
		cut := false
		line.Before(func() { // runs before a commit's answer is passed on, and ends all other connections
			mu.Lock()
			defer mu.Unlock()
			var done bool
			if err := direct.QueryRow(context.Background(), "SELECT EXISTS (SELECT 1 FROM "+x.done+")").Scan(&done); err != nil {
				t.Error(err)
			}
			if !done || cut {
				return // this commit is of another request
			}
			line.Down(true)
			cut = true
			if _, err := direct.Exec(context.Background(), others); err != nil {
				t.Error(err)
			}
		})
		o.Post(t, x.path, x.body).Want(t, x.status)
		line.Before(nil)
		line.Down(false)
		mu.Lock()
		if !cut {
			t.Errorf("%s committed nothing", x.path)
		}
		mu.Unlock()
	}
	s.Ended.Do(func() { // loops log that they fail without the database, so the log is not checked
		s.Clean(t)
		s.Shutdown()
	})
}

// The database loses the answer to one of every fifteen commits. No request has an Idempotency-Key.
// Still, each request is done exactly once, and its reply is true.
func TestRequestIsDoneOnceWhateverAnswersOfTheDatabaseAreLost(t *testing.T) {
	t.Parallel()
	line := dbtest.Behind(t, dbtest.Postgres(t))
	s := harness.Start(t, line.Address, &harness.Clock{})
	o := s.NewShop(t)
	o.Post(t, "/sandbox/clock", `{"advance":"1s"}`).Want(t, http.StatusOK)
	disputed := make([]string, 4)
	for i := range disputed {
		_, disputed[i] = o.Dispute(t, true)
	}
	for range 5 { // so that the balance is enough for the refunds
		o.Create(t, `{"amount":1000,"paymentMethodId":"sbx_card"}`)
	}
	line.Lose(15)
	const clients, rounds = 8, 6
	var (
		all   sync.WaitGroup
		moves atomic.Int64
		mu    sync.Mutex // owns what follows
		hooks int
		words = map[string]int{} // evidence, by claim
	)
	for c := range clients {
		all.Go(func() {
			for i := range rounds {
				id := o.Post(t, "/payments", `{"amount":100,"paymentMethodId":"sbx_card"}`).Want(t, http.StatusCreated).Text(t, "transactionId")
				for range 2 {
					o.Refund(t, id, `{"amount":10}`).Want(t, http.StatusOK)
				}
				if got := o.Claims(t, id); got != "approved approved" {
					t.Errorf("payment %s has the refunds %q, want 2 that are approved", id, got)
				}
				switch i % 3 {
				case 0:
					o.Post(t, "/sandbox/clock", `{"advance":"1s"}`).Want(t, http.StatusOK)
					moves.Add(1)
				case 1:
					o.Post(t, "/webhooks", fmt.Sprintf(`{"url":"http://127.0.0.1:1/%d/%d","events":["settlement.closed"]}`, c, i)).Want(t, http.StatusCreated)
					mu.Lock()
					hooks++
					mu.Unlock()
				case 2:
					claim := disputed[c%len(disputed)]
					o.Post(t, "/claims/"+claim+"/evidence", `{"kind":"note","text":"it was delivered"}`).Want(t, http.StatusCreated)
					mu.Lock()
					words[claim]++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	line.Lose(0)
	if line.Lost() == 0 {
		t.Fatal("no answer was lost")
	}
	t.Logf("%d answers lost", line.Lost())
	if got := o.Get(t, "/payments?status=refunded&limit=1").Text(t, "pagination.total"); got != fmt.Sprint(clients*rounds) {
		t.Errorf("there are %s refunded payments, want %d", got, clients*rounds)
	}
	if got := o.Get(t, "/webhooks").Text(t, "pagination.total"); got != fmt.Sprint(hooks) {
		t.Errorf("there are %s endpoints, want %d", got, hooks)
	}
	for claim, n := range words {
		if list, _ := o.Get(t, "/claims/"+claim).At(t, "evidence"); len(list.([]any)) != n {
			t.Errorf("claim %s has %d pieces of evidence, want %d", claim, len(list.([]any)), n)
		}
	}
	want := time.Duration(1+moves.Load()) * time.Second
	if got, _, err := s.App.Sandbox.Clock(ctx, harness.SandboxScope(o)); err != nil || got.Advance != want {
		t.Errorf("the test clock was moved by %s, want %s (%v)", got.Advance, want, err)
	}
}

// Commits wait for a standby that is down. So the server makes a commit but does not answer in time.
// Still, one request makes one refund.
func TestCommitThatWaitsForItsStandbyIsNotDecidedTwice(t *testing.T) {
	t.Parallel()
	server := dbtest.Alone(t)
	s := harness.Start(t, dbtest.Address(server), &harness.Clock{})
	o := s.NewShop(t)
	ids := make([]string, 4)
	for i := range ids {
		ids[i] = o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
	}
	server.WaitFor("nobody")
	replies := make([]harness.Reply, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { replies[i] = o.Post(t, "/payments/"+id+"/refund", `{"amount":10}`) })
	}
	all.Wait()
	server.WaitFor("")
	harness.Eventually(t, "the database is back", func() bool { return o.Post(t, "/payments", harness.Card).Status == http.StatusCreated })
	for i, id := range ids {
		made := len(strings.Fields(o.Claims(t, id)))
		if made > 1 || replies[i].Status == http.StatusOK && made != 1 {
			t.Errorf("one refund request with the reply %d made %d refunds", replies[i].Status, made)
		}
	}
	s.Log.Forget() // the errors while the database did not answer
}
