package main_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// stopping is a running drill: one node that is suspended, and one that is not.
type stopping struct {
	t         testing.TB
	key       string
	database  *sql.DB
	survivor  *server
	providers *strict
	doors     *doors
	pause     time.Duration

	mu      sync.Mutex // owns what follows
	stops   int
	between int
	twice   int
	late    int
	wrong   int
	unclear int // answers of nodes after they continued
	answers []time.Duration
}

// A node is suspended between a payment's intent and its call: the intent is durable, and either
// the answer to the commit has not reached the node, or it has, and the connection to the
// provider is being made. The client asks another node. When the suspended node continues, it does
// not send its call.
//
//	go test ./cmd/cascada -run TestDrillStopped -v -full -timeout 30m
func TestDrillStopped(t *testing.T) {
	t.Parallel()
	// Nine seconds is longer than a call may wait before it is sent, and shorter than any other
	// timeout.
	const brief = 9 * time.Second
	heading("stops", "each for", "between intent and call", "charged twice", "calls that left after the thaw", "answers that are not true", "answers that it is not known", "the other node's answer: p50", "longest")
	if !*full {
		stopNodes(t, 2, 1, brief)
		return
	}
	for _, pause := range []time.Duration{brief, time.Minute} {
		t.Run(pause.String(), func(t *testing.T) { stopNodes(t, 20, 10, pause) })
	}
}

// stopNodes suspends each node that many times.
func stopNodes(t *testing.T, nodes, rounds int, pause time.Duration) {
	d := &stopping{t: t, doors: &doors{certificates: filepath.Join(t.TempDir(), "certificates")}, providers: &strict{calls: map[string][]charged{}}, pause: pause}
	database := dbtest.Postgres(t)
	d.doors.write(t)
	u := plainly(t, database).with("PLAIN_KEY=key-1", "PLAIN_SECRET=hush", "SSL_CERT_FILE="+d.doors.certificates)
	d.survivor = u.serve(t)
	d.key = u.merchant(t, database).Keys.Production.Secret
	u.does(t, "fx", "set", "BRL", "5.4")
	for i, account := range []string{"first", "second"} {
		upstream := providertest.NewUpstream(t, "key-1")
		upstream.Next("paid")
		u.does(t, "provider", "add", "plain", "--id", account, "--base-url", d.doors.before(t, d.providers.before(account, upstream)), "--priority", fmt.Sprint(i+1),
			"--credential", "apiKey=env:PLAIN_KEY", "--credential", "webhookSecret=env:PLAIN_SECRET")
	}
	d.database = openDatabase(t, database)
	d.database.SetMaxOpenConns(8)
	ready := func(s *server) {
		await(t, "a node to take payments", func() bool { return strings.HasPrefix(s.pixes(d.key), "true 201 ") })
	}
	ready(d.survivor)
	method := d.method()
	var all sync.WaitGroup
	for n := range nodes {
		line := dbtest.Behind(t, database)
		node := u.with("CASCADA_DATABASE=" + line.Address).serve(t)
		ready(node)
		all.Go(func() {
			for round := range rounds {
				moment := line.Before // the answer to the commit is on its way
				if (n+round)%2 == 1 {
					moment = func(do func()) { d.doors.arm(node, do) } // the connection to the provider is being made
				}
				for try := 1; !d.stop(node, moment, method, fmt.Sprintf("stop-%d-%d-%d", n, round, try)); try++ {
					if try == 5 {
						t.Errorf("the moment between intent and call was missed %d times", try)
						return
					}
				}
			}
		})
	}
	all.Wait()
	u.check(t, database)
	if d.between != d.stops || d.stops != nodes*rounds {
		t.Errorf("%d of %d stops were between the intent and the call", d.between, d.stops)
	}
	if d.twice+d.late+d.wrong > 0 {
		t.Errorf("%d payments were charged twice, %d calls left after the thaw, %d answers are wrong", d.twice, d.late, d.wrong)
	}
	slices.Sort(d.answers)
	longest := d.answers[len(d.answers)-1]
	within(t, "the other node's answer", longest, answerLimit)
	row(d.stops, pause, d.between, d.twice, d.late, d.wrong, d.unclear, ms(d.answers[len(d.answers)/2]), ms(longest))
}

// method is the id of a production method that the providers serve.
func (d *stopping) method() string {
	_, list := d.survivor.call("GET", "/payment-methods?country=BR&method=pix", d.key, "", nil)
	methods, _ := list["methods"].([]any)
	pix, _ := methods[0].(map[string]any)
	return text(pix, "paymentMethodId")
}

// patient waits for as long as a node is suspended.
var patient = &http.Client{Transport: connections.Transport}

// stop suspends a node between the intent of a payment and its call, and then lets it continue. It returns
// false if it missed the moment.
func (d *stopping) stop(node *server, moment func(do func()), method, tag string) (stopped bool) {
	order := body(map[string]any{"amount": 10, "documentId": "52998224725", "paymentMethodId": method, "merchantOrderId": tag})
	header := http.Header{"Idempotency-Key": {tag}}
	var once sync.Once
	reached := make(chan string)
	moment(func() {
		var id string
		err := d.database.QueryRow(`SELECT id FROM processing WHERE order_id = $1 AND doc LIKE '%"sending"%'`, tag).Scan(&id)
		if err != nil {
			return // it is another request
		}
		once.Do(func() {
			d.signal(node, syscall.SIGSTOP, "T")
			reached <- id
		})
	})
	first := make(chan map[string]any)
	var status int
	go func() {
		var reply map[string]any
		status, reply = node.callBy(patient, "POST", "/payments", d.key, order, header)
		if judge(status, reply) == unclear {
			reply = nil // that is true
		}
		first <- reply
	}()
	var id string
	select {
	case id = <-reached:
		moment(nil)
	case reply := <-first:
		moment(nil)
		d.t.Logf("%s was answered before the node could be suspended: %d %v", tag, status, reply)
		return false
	}
	began := time.Now()
	between := len(d.providers.of(id)) == 0
	var told map[string]any
	await(d.t, "the other node to answer "+tag, func() bool {
		status, reply := d.survivor.call("POST", "/payments", d.key, order, header)
		told = reply
		return status == http.StatusCreated
	})
	took := time.Since(began)
	time.Sleep(d.pause - took) // the drill needs this pause
	thawed := time.Now()
	d.signal(node, syscall.SIGCONT, "SR")
	reply := <-first
	await(d.t, "the node to be back", func() bool { return strings.HasPrefix(node.pixes(d.key), "true 201 ") })

	calls := d.providers.of(id)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stops++
	d.answers = append(d.answers, took)
	if between {
		d.between++
	}
	if len(calls) != 1 {
		d.twice++
		d.t.Errorf("%s is charged %v", id, calls)
	}
	if slices.ContainsFunc(calls, func(c charged) bool { return c.at.After(thawed) }) {
		d.late++
	}
	for _, r := range []map[string]any{told, reply} {
		if r == nil {
			d.unclear++
		} else if text(r, "transactionId") != id || text(r, "status") != "completed" {
			d.wrong++
			d.t.Errorf("%s is answered %v", id, r)
		}
	}
	return true
}

// signal sends a signal, and waits until the process is in one of these states.
func (d *stopping) signal(node *server, signal syscall.Signal, states string) {
	if err := node.command.Process.Signal(signal); err != nil {
		d.t.Error(err)
	}
	await(d.t, "the process to be "+states, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", node.command.Process.Pid))
		_, rest, _ := strings.Cut(string(stat), ") ")
		return err == nil && strings.ContainsAny(rest[:1], states)
	})
}
