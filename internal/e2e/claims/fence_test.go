package claims

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/jackc/pgx/v5"
)

// A node stalls after it has committed its intent and before it calls the provider. It stalls for so
// long that another node takes over. When it wakes up, it does not make its call.
func TestNodeThatStandsStillBeforeItsCallDoesNotMakeIt(t *testing.T) {
	var armed atomic.Bool
	reached, goOn := make(chan struct{}), make(chan struct{})
	n := harness.TwoNodes(t, func(c *harness.Clock) time.Time {
		if armed.Load() && harness.CalledBy(".Watched") && armed.CompareAndSwap(true, false) {
			close(reached)
			<-goOn
		}
		return c.Now()
	})
	armed.Store(true)
	done := make(chan harness.Reply)
	go func() { done <- n.Live.Post(t, "/payments", n.Live.PixOrder(t)) }()
	harness.Soon(t, "the call that the test holds to begin", reached)
	n.Clock.Advance(46 * time.Second)
	n.B.Sweep(t, "node B has charged", func() bool { return n.Charged() > 0 })
	close(goOn)
	if r := harness.Soon(t, "the request to be answered", done); r.Status != http.StatusCreated {
		t.Errorf("the delayed request gets %s, want 201", r)
	}
	if n.Charged() != 1 {
		t.Errorf("one order is charged %d times, want once: %v, %v", n.Charged(), n.Lines[0].Charges(), n.Lines[1].Charges())
	}
}

// A node is gone while its call is on its way. That the provider has no charge yet proves nothing.
// So the node that takes over repeats the call with the same reference, and tries no other provider.
func TestCallOnItsWayIsNotTakenForLost(t *testing.T) {
	n := harness.TwoNodes(t, (*harness.Clock).Now)
	reached, goOn := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	n.Lines[0].Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost && first.CompareAndSwap(false, true) {
			close(reached)
			<-goOn // the call is still in the network
		}
		next.ServeHTTP(w, r)
	})
	done := make(chan harness.Reply)
	go func() { done <- n.Live.Post(t, "/payments", n.Live.PixOrder(t)) }()
	harness.Soon(t, "the call that the test holds to begin", reached)
	conn, err := pgx.Connect(ctx, n.A.Database)
	harness.Must(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "UPDATE nodes SET gone = 1") // this ends both nodes' leases; node B goes on with a new one
	harness.Must(t, err)
	harness.Eventually(t, "node B has taken over and charged", func() bool {
		harness.Must(t, n.B.App.Cascade.ReleaseOrphans(ctx))
		return n.Charged() > 0
	})
	close(goOn)
	if r := harness.Soon(t, "the request to be answered", done); r.Status != http.StatusCreated {
		t.Errorf("the delayed request gets %s, want 201", r)
	}
	if n.Charged() != 1 || len(n.Lines[1].Charges()) != 0 {
		t.Errorf("one order is charged %d times, want once: %v, %v", n.Charged(), n.Lines[0].Charges(), n.Lines[1].Charges())
	}
	n.A.Log.Forget() // the errors about a node that is gone
	n.B.Log.Forget()
}

// A notification opens the second attempt while the first call has not returned. Only the handler
// that committed the attempt makes its call.
func TestAttemptIsCalledByWhoCommittedIt(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
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
			harness.Must(t, err)
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
		harness.Soon(t, "the call that the test holds to begin", reached)
		var id string
		for ref := range first.Charges() {
			id = "TXN-" + strings.TrimSuffix(ref, "-1")
		}
		go func() { defer close(told); d.TellUpstream(t, first.Upstream, id, 1, "soft", "acme-1-hush") }()
		<-called // by the handler of the notification
		before := d.App.Stats().Again
		close(goOn)
		harness.Eventually(t, "the request finds that another handler changed the payment", func() bool { return d.App.Stats().Again > before })
		close(answer)
		<-paid
		<-told
		if n := second.ChargesAsked.Load(); n != 1 {
			t.Errorf("attempt 2 was called %d times, want once", n)
		}
	})
}

// A notification without news comes while the first call has not returned. It causes no call.
func TestNotificationMakesNoCallThatIsAnothers(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first, second := d.Lines["acme-1"], d.Lines["acme-2"]
		reached, goOn := make(chan string, 1), make(chan struct{})
		first.Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPost {
				body, err := io.ReadAll(r.Body)
				harness.Must(t, err)
				var asked struct{ Reference string }
				harness.Must(t, json.Unmarshal(body, &asked))
				select {
				case reached <- asked.Reference:
					<-goOn
				default:
					harness.Refuses(w, r, next) // after a refusal the next provider would be tried, and the test would see it
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
		harness.Must(t, d.App.Notices.Notify(ctx, "acme-1", provider.Notification{
			Header: http.Header{providertest.PlainSignature: {hex.EncodeToString(signed.Sum(nil))}}, Body: body,
		}))
		close(goOn)
		<-paid
		if first.ChargesAsked.Load() != 1 || len(first.Charges()) != 1 || len(second.Charges()) != 0 {
			t.Errorf("one order was called %d times and charged %v and %v, want once at the first provider", first.ChargesAsked.Load(), first.Charges(), second.Charges())
		}
	})
}
