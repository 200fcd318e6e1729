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

// Nodes are two services on one PostgreSQL, with two accounts at providers.
type Nodes struct {
	A, B  *Instance
	Clock *Clock
	Live  Client // of node a
	Lines [2]*Line
}

// TwoNodes starts them. now is the clock of node a.
func TwoNodes(t *testing.T, now func(c *Clock) time.Time) *Nodes {
	t.Helper()
	t.Parallel()
	database := dbtest.Postgres(t)
	n := &Nodes{Clock: &Clock{}}
	node := func(now func() time.Time) *Instance {
		return StartWith(t, database, n.Clock, func(d *daemon.Config) {
			d.FX = daemon.FX{StaleAfter: Century, MaxAge: Century}
			d.Adapters = []provider.Adapter{providertest.Plain()}
			d.Now = now
		})
	}
	n.A, n.B = node(func() time.Time { return now(n.Clock) }), node(n.Clock.Now)
	n.A.Rate(t, "BRL 5.4", "MXN 18.35")
	made, err := n.A.App.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: tenant.Trusted})
	Must(t, err)
	n.Live = Client{Onboarded: made, Instance: n.A, Credential: made.Sandbox.Secret}.Production()
	for i, id := range []string{"acme-1", "acme-2"} {
		l := &Line{Upstream: providertest.NewUpstream(t, "key-1")}
		server := httptest.NewServer(l)
		t.Cleanup(server.Close)
		l.Next("paid")
		n.A.OpenAccount(t, id, l.Upstream, func(account *acquiring.NewAccount) { account.BaseURL, account.Priority = server.URL, i+1 })
		n.Lines[i] = l
	}
	Eventually(t, "node b knows the accounts", func() bool {
		var refused *problem.Error
		return errors.As(n.B.App.Notices.Notify(ctx, "acme-2", provider.Notification{}), &refused) && refused.Code == problem.InvalidToken
	})
	n.B.Log.Forget() // the refusals
	return n
}

// charged counts what the providers have.
func (n *Nodes) Charged() int { return len(n.Lines[0].Charges()) + len(n.Lines[1].Charges()) }

// A node stands still after its intent is durable and before its call leaves, for longer
// than others may believe that it is on its way. Somebody else goes on; when the node
// wakes up, its call stays at home.
func TestNodeThatStandsStillBeforeItsCallDoesNotMakeIt(t *testing.T) {
	var armed atomic.Bool
	reached, goOn := make(chan struct{}), make(chan struct{})
	n := TwoNodes(t, func(c *Clock) time.Time {
		if armed.Load() && CalledBy(".Watched") && armed.CompareAndSwap(true, false) {
			close(reached)
			<-goOn
		}
		return c.Now()
	})
	armed.Store(true)
	done := make(chan Reply)
	go func() { done <- n.Live.Post(t, "/payments", n.Live.PixOrder(t)) }()
	Soon(t, "the call that the test holds to begin", reached)
	n.Clock.Advance(46 * time.Second)
	n.B.Sweep(t, "node b has gone on", func() bool { return n.Charged() > 0 })
	close(goOn)
	if r := Soon(t, "it to be done", done); r.Status != http.StatusCreated {
		t.Errorf("the request that was held up is answered: %s", r)
	}
	if n.Charged() != 1 {
		t.Errorf("one order is charged %d times: %v, %v", n.Charged(), n.Lines[0].Charges(), n.Lines[1].Charges())
	}
}

func CalledBy(function string) bool {
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
	n := TwoNodes(t, (*Clock).Now)
	reached, goOn := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	n.Lines[0].Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost && first.CompareAndSwap(false, true) {
			close(reached)
			<-goOn // in the network
		}
		next.ServeHTTP(w, r)
	})
	done := make(chan Reply)
	go func() { done <- n.Live.Post(t, "/payments", n.Live.PixOrder(t)) }()
	Soon(t, "the call that the test holds to begin", reached)
	conn, err := pgx.Connect(ctx, n.A.Database)
	Must(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "UPDATE nodes SET gone = 1") // node b lives on under another name
	Must(t, err)
	Eventually(t, "somebody has taken over", func() bool {
		Must(t, n.B.App.Cascade.TakeOver(ctx))
		return n.Charged() > 0
	})
	close(goOn)
	if r := Soon(t, "it to be done", done); r.Status != http.StatusCreated {
		t.Errorf("the request that was held up is answered: %s", r)
	}
	if n.Charged() != 1 || len(n.Lines[1].Charges()) != 0 {
		t.Errorf("one order is charged %d times: %v, %v", n.Charged(), n.Lines[0].Charges(), n.Lines[1].Charges())
	}
	n.A.Log.Forget() // that a node was gone
	n.B.Log.Forget()
}

// A notification opens the second attempt while the first call is still under way: who
// committed the attempt makes its call, and nobody else.
func TestAttemptIsCalledByWhoCommittedIt(t *testing.T) {
	Drilled(t, func(t *testing.T, d *Drill) {
		first, second := d.Lines["acme-1"], d.Lines["acme-2"]
		first.Next("soft")
		reached, goOn := make(chan struct{}), make(chan struct{})
		first.Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			if r.Method == http.MethodPost {
				close(reached)
				<-goOn
			}
			_, err := w.Write(answer.Body.Bytes())
			Must(t, err)
		})
		called, answer := make(chan struct{}, 10), make(chan struct{})
		second.Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPost {
				called <- struct{}{}
				<-answer
			}
			next.ServeHTTP(w, r)
		})
		paid, told := make(chan struct{}), make(chan struct{})
		go func() { defer close(paid); d.Pay(t, 1, 1) }()
		Soon(t, "the call that the test holds to begin", reached)
		var id string
		for ref := range first.Charges() {
			id = "TXN-" + strings.TrimSuffix(ref, "-1")
		}
		go func() { defer close(told); d.TellUpstream(t, first.Upstream, id, 1, "soft", "acme-1-hush") }()
		<-called // by who handles the notification
		before := d.App.Stats().Again
		close(goOn)
		Eventually(t, "the request finds that the payment is another's", func() bool { return d.App.Stats().Again > before })
		close(answer)
		<-paid
		<-told
		if n := second.ChargesAsked.Load(); n != 1 {
			t.Errorf("attempt 2 was asked for %d times", n)
		}
	})
}

// A notification that tells nothing new comes while the first call is under way: it makes
// no call, under no reference.
func TestNotificationMakesNoCallThatIsAnothers(t *testing.T) {
	Drilled(t, func(t *testing.T, d *Drill) {
		first, second := d.Lines["acme-1"], d.Lines["acme-2"]
		reached, goOn := make(chan string, 1), make(chan struct{})
		first.Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPost {
				body, err := io.ReadAll(r.Body)
				Must(t, err)
				var asked struct{ Reference string }
				Must(t, json.Unmarshal(body, &asked))
				select {
				case reached <- asked.Reference:
					<-goOn
				default:
					Refuses(w, r, next) // a second call would be refused, and the next provider tried
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			next.ServeHTTP(w, r)
		})
		paid := make(chan struct{})
		go func() { defer close(paid); d.Pay(t, 1, 1) }()
		body := fmt.Appendf(nil, `{"reference":%q,"status":"open"}`, <-reached)
		signed := hmac.New(sha256.New, []byte("acme-1-hush"))
		signed.Write(body)
		Must(t, d.App.Notices.Notify(ctx, "acme-1", provider.Notification{
			Header: http.Header{providertest.PlainSignature: {hex.EncodeToString(signed.Sum(nil))}}, Body: body,
		}))
		close(goOn)
		<-paid
		if first.ChargesAsked.Load() != 1 || len(first.Charges()) != 1 || len(second.Charges()) != 0 {
			t.Errorf("one order was asked for %d times, and charged %v and %v", first.ChargesAsked.Load(), first.Charges(), second.Charges())
		}
	})
}
