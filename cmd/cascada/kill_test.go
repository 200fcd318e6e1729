package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/webhook"
)

const (
	killRounds  = 4
	killClients = 12
)

// inbox is a receiver that remembers what it was told.
type inbox struct {
	mu     sync.Mutex
	secret string
	seen   map[string]map[string]bool // transaction → types of its events
	bad    int
}

func (in *inbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	in.mu.Lock()
	defer in.mu.Unlock()
	var e struct {
		Type string
		Data struct{ Object struct{ ID string } }
	}
	if err != nil || json.Unmarshal(body, &e) != nil ||
		webhook.Verify(r.Header.Get(webhook.SignatureHeader), body, in.secret, time.Now(), webhook.Tolerance) != nil {
		in.bad++
		return
	}
	if in.seen[e.Data.Object.ID] == nil {
		in.seen[e.Data.Object.ID] = map[string]bool{}
	}
	in.seen[e.Data.Object.ID][e.Type] = true
}

func (in *inbox) has(transaction, event string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.seen[transaction][event]
}

// request is one create call and what its caller knows of it.
type request struct {
	key, body   string
	transaction string // "" when no reply came
	status      string
}

// The service is killed again and again under load. What it had acknowledged
// is there, what it had not comes out once under its key, the books hold, and
// every event arrives.
func TestKillAtAnyMomentLosesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		t.Parallel()
		dir := t.TempDir()
		listen := "127.0.0.1:0"
		s := serve(t, dir, nil, "--listen", listen, "--database", database)
		listen = strings.TrimPrefix(s.url, "http://") // the same one after each kill
		k := merchant(t, dir, database).Keys.Sandbox.Secret
		in := &inbox{seen: map[string]map[string]bool{}}
		receiver := httptest.NewServer(in)
		defer receiver.Close()
		_, sub := call("POST", s.url+"/api/v1/webhooks", k, `{"events":["*"],"url":"`+receiver.URL+`"}`, nil)
		in.secret, _ = sub["secret"].(string)

		var requests []request
		for round := range killRounds {
			requests = append(requests, s.killUnderLoad(k, round)...)
			s = serve(t, dir, nil, "--listen", listen, "--database", database)
		}
		// Whoever got no reply asks again with his key.
		acknowledged := 0
		for i := range requests {
			if requests[i].transaction != "" {
				acknowledged++
			}
			r := &requests[i]
			await(t, "a reply to "+r.key, func() bool { return r.send(s.url, k) })
		}
		t.Logf("%d requests, %d of them acknowledged before a kill", len(requests), acknowledged)
		await(t, "payments to leave processing", func() bool {
			_, list := call("GET", s.url+"/api/v1/payments?status=processing", k, "", nil)
			page, _ := list["pagination"].(map[string]any)
			return page["total"] == 0.0
		})
		for _, r := range requests {
			if !s.verify(t, k, r, in) {
				story, _, _ := run(t, dir, "story", "--database", database, r.transaction)
				t.Fatal(story)
			}
		}
		if in.bad > 0 {
			t.Errorf("%d deliveries were not signed by us", in.bad)
		}
		_, list := call("GET", s.url+"/api/v1/payments?limit=1", k, "", nil)
		if page, _ := list["pagination"].(map[string]any); page["total"] != float64(len(requests)) {
			t.Errorf("%v payments for %d keys", page["total"], len(requests))
		}
		if out, log, code := run(t, dir, "check", "--database", database); code != 0 {
			t.Errorf("check: exit %d\n%s%s", code, out, log)
		}
	})
}

// killUnderLoad drives the server and kills it at a random moment.
func (s *server) killUnderLoad(key string, round int) []request {
	var clients sync.WaitGroup
	var mu sync.Mutex
	var all []request
	var dead atomic.Bool
	for c := range killClients {
		clients.Go(func() {
			for i := 0; !dead.Load(); i++ {
				r := request{key: fmt.Sprintf("k-%d-%d-%d", round, c, i)}
				r.body = fmt.Sprintf(`{"amount":%d.50,"paymentMethodId":"sbx_card","merchantOrderId":"%s"}`, 1+i%50, r.key)
				if i%4 == 3 {
					r.body = fmt.Sprintf(`{"amount":%d,"paymentMethodId":"sbx_pix","documentId":"52998224725","merchantOrderId":"%s"}`, 1+i%50, r.key)
				}
				r.send(s.url, key)
				mu.Lock()
				all = append(all, r)
				mu.Unlock()
			}
		})
	}
	time.Sleep(300*time.Millisecond + rand.N(500*time.Millisecond)) // the moment is what is random here
	_ = s.command.Process.Signal(syscall.SIGKILL)
	dead.Store(true)
	clients.Wait()
	<-s.ended
	return all
}

// send makes the call and notes the reply; false when there was none.
func (r *request) send(url, key string) bool {
	status, reply := call("POST", url+"/api/v1/payments", key, r.body, http.Header{"Idempotency-Key": {r.key}})
	if status != http.StatusCreated {
		return false
	}
	transaction, _ := reply["transactionId"].(string)
	if r.transaction != "" && r.transaction != transaction {
		r.status = "replied with " + r.transaction + " and with " + transaction
		return true
	}
	r.transaction = transaction
	r.status, _ = reply["status"].(string)
	return true
}

// verify compares what the caller was told with what the service knows.
func (s *server) verify(t *testing.T, key string, r request, in *inbox) bool {
	t.Helper()
	status, got := call("GET", s.url+"/api/v1/payments/"+r.transaction, key, "", nil)
	_, list := call("GET", s.url+"/api/v1/payments?merchantOrderId="+r.key, key, "", nil)
	page, _ := list["pagination"].(map[string]any)
	if status != http.StatusOK || got["status"] != r.status && r.status != "processing" || page["total"] != 1.0 {
		t.Errorf("%s: acknowledged as %s %s, found %d %v, %v payments of the order", r.key, r.transaction, r.status, status, got["status"], page["total"])
		return false
	}
	if got["status"] == "completed" {
		await(t, "payment.completed of "+r.transaction, func() bool { return in.has(r.transaction, "payment.completed") })
	}
	return true
}
