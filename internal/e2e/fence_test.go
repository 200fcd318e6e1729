package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/jackc/pgx/v5"
)

// nodes are two services on one PostgreSQL, with two accounts at providers.
type nodes struct {
	a, b  *service
	clock *clock
	live  shop // of node a
	lines [2]*line
}

// twoNodes starts them. now is the clock of node a.
func twoNodes(t *testing.T, now func(c *clock) time.Time) *nodes {
	t.Helper()
	t.Parallel()
	database := dbtest.Postgres(t)
	n := &nodes{clock: &clock{}}
	node := func(now func() time.Time) *service {
		return startWith(t, database, n.clock, func(d *daemon.Config) {
			d.FX = daemon.FX{StaleAfter: century, MaxAge: century}
			d.Adapters = []provider.Adapter{providertest.Plain()}
			d.Now = now
		})
	}
	n.a, n.b = node(func() time.Time { return now(n.clock) }), node(n.clock.now)
	n.a.rate(t, "BRL 5.4", "MXN 18.35")
	made, err := n.a.App.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: tenant.Trusted})
	must(t, err)
	n.live = shop{Onboarded: made, service: n.a, credential: made.Sandbox.Secret}.live()
	for i, id := range []string{"acme-1", "acme-2"} {
		l := &line{Upstream: providertest.NewUpstream(t, "key-1")}
		server := httptest.NewServer(l)
		t.Cleanup(server.Close)
		l.Next("paid")
		n.a.account(t, id, l.Upstream, func(account *acquiring.NewAccount) { account.BaseURL, account.Priority = server.URL, i+1 })
		n.lines[i] = l
	}
	eventually(t, "node b knows the accounts", func() bool {
		var refused *problem.Error
		return errors.As(n.b.App.Notices.Notify(ctx, "acme-2", provider.Notification{}), &refused) && refused.Code == problem.InvalidToken
	})
	n.b.log.forget() // the refusals
	return n
}

// charged counts what the providers have.
func (n *nodes) charged() int { return len(n.lines[0].Charges()) + len(n.lines[1].Charges()) }

// A node stands still after its intent is durable and before its call leaves, for longer
// than others may believe that it is on its way. Somebody else goes on; when the node
// wakes up, its call stays at home.
func TestNodeThatStandsStillBeforeItsCallDoesNotMakeIt(t *testing.T) {
	var armed atomic.Bool
	reached, goOn := make(chan struct{}), make(chan struct{})
	n := twoNodes(t, func(c *clock) time.Time {
		if armed.Load() && calledBy(".Watched") && armed.CompareAndSwap(true, false) {
			close(reached)
			<-goOn
		}
		return c.now()
	})
	armed.Store(true)
	done := make(chan reply)
	go func() { done <- n.live.post(t, "/payments", n.live.pix(t)) }()
	soon(t, "the call that the test holds to begin", reached)
	n.clock.advance(46 * time.Second)
	n.b.sweep(t, "node b has gone on", func() bool { return n.charged() > 0 })
	close(goOn)
	if r := soon(t, "it to be done", done); r.status != http.StatusCreated {
		t.Errorf("the request that was held up is answered: %s", r)
	}
	if n.charged() != 1 {
		t.Errorf("one order is charged %d times: %v, %v", n.charged(), n.lines[0].Charges(), n.lines[1].Charges())
	}
}

func calledBy(function string) bool {
	pcs := make([]uintptr, 40)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, function) {
			return true
		}
		if !more {
			return false
		}
	}
}

// A node is gone while its call is on its way. That the provider has no charge yet proves
// nothing: who takes over calls again under the same reference, and nobody else.
func TestCallOnItsWayIsNotTakenForLost(t *testing.T) {
	n := twoNodes(t, (*clock).now)
	reached, goOn := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	n.lines[0].fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost && first.CompareAndSwap(false, true) {
			close(reached)
			<-goOn // in the network
		}
		next.ServeHTTP(w, r)
	})
	done := make(chan reply)
	go func() { done <- n.live.post(t, "/payments", n.live.pix(t)) }()
	soon(t, "the call that the test holds to begin", reached)
	conn, err := pgx.Connect(ctx, n.a.database)
	must(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "UPDATE nodes SET gone = 1") // node b lives on under another name
	must(t, err)
	eventually(t, "somebody has taken over", func() bool {
		must(t, n.b.App.Cascade.TakeOver(ctx))
		return n.charged() > 0
	})
	close(goOn)
	if r := soon(t, "it to be done", done); r.status != http.StatusCreated {
		t.Errorf("the request that was held up is answered: %s", r)
	}
	if n.charged() != 1 || len(n.lines[1].Charges()) != 0 {
		t.Errorf("one order is charged %d times: %v, %v", n.charged(), n.lines[0].Charges(), n.lines[1].Charges())
	}
	n.a.log.forget() // that a node was gone
	n.b.log.forget()
}

// A notification opens the second attempt while the first call is still under way: who
// committed the attempt makes its call, and nobody else.
func TestAttemptIsCalledByWhoCommittedIt(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		first, second := d.lines["acme-1"], d.lines["acme-2"]
		first.Next("soft")
		reached, goOn := make(chan struct{}), make(chan struct{})
		first.fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			if r.Method == http.MethodPost {
				close(reached)
				<-goOn
			}
			_, err := w.Write(answer.Body.Bytes())
			must(t, err)
		})
		called, answer := make(chan struct{}, 10), make(chan struct{})
		second.fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPost {
				called <- struct{}{}
				<-answer
			}
			next.ServeHTTP(w, r)
		})
		paid, told := make(chan struct{}), make(chan struct{})
		go func() { defer close(paid); d.pay(t, 1, 1) }()
		soon(t, "the call that the test holds to begin", reached)
		var id string
		for ref := range first.Charges() {
			id = "TXN-" + strings.TrimSuffix(ref, "-1")
		}
		go func() { defer close(told); d.told(t, first.Upstream, id, 1, "soft", "acme-1-hush") }()
		<-called // by who handles the notification
		before := d.App.Stats().Again
		close(goOn)
		eventually(t, "the request finds that the payment is another's", func() bool { return d.App.Stats().Again > before })
		close(answer)
		<-paid
		<-told
		if n := second.charges.Load(); n != 1 {
			t.Errorf("attempt 2 was asked for %d times", n)
		}
	})
}

// A notification that tells nothing new comes while the first call is under way: it makes
// no call, under no reference.
func TestNotificationMakesNoCallThatIsAnothers(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		first, second := d.lines["acme-1"], d.lines["acme-2"]
		reached, goOn := make(chan string, 1), make(chan struct{})
		first.fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPost {
				body, err := io.ReadAll(r.Body)
				must(t, err)
				var asked struct{ Reference string }
				must(t, json.Unmarshal(body, &asked))
				select {
				case reached <- asked.Reference:
					<-goOn
				default:
					refuses(w, r, next) // a second call would be refused, and the next provider tried
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			next.ServeHTTP(w, r)
		})
		paid := make(chan struct{})
		go func() { defer close(paid); d.pay(t, 1, 1) }()
		body := fmt.Appendf(nil, `{"reference":%q,"status":"open"}`, <-reached)
		signed := hmac.New(sha256.New, []byte("acme-1-hush"))
		signed.Write(body)
		must(t, d.App.Notices.Notify(ctx, "acme-1", provider.Notification{
			Header: http.Header{providertest.PlainSignature: {hex.EncodeToString(signed.Sum(nil))}}, Body: body,
		}))
		close(goOn)
		<-paid
		if first.charges.Load() != 1 || len(first.Charges()) != 1 || len(second.Charges()) != 0 {
			t.Errorf("one order was asked for %d times, and charged %v and %v", first.charges.Load(), first.Charges(), second.Charges())
		}
	})
}
