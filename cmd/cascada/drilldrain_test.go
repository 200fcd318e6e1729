package main_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// A page that watches a payment reconnects two seconds after its stream has ended, as the service tells it
// at the start of the stream. At most ten pages may watch a payment.
const (
	viewersOfOne = 10
	viewerRetry  = 2 * time.Second
	retryLine    = "retry: 2000"
)

// viewers are shoppers whose pages watch unpaid payments through a balancer.
type viewers struct {
	t      testing.TB
	front  *server
	client *http.Client

	mu      sync.Mutex // owns what follows
	open    map[string]int
	ends    []*streamEnd
	refused map[string]int // answers other than a stream
}

// streamEnd is the end of a stream, and what its page did next.
type streamEnd struct {
	node  string
	at    time.Time
	badly error
	next  string        // the node that its page watches next; "" until then
	away  time.Duration // how long that took
}

// watch is one shopper's page, until the context ends.
func (v *viewers) watch(ctx context.Context, payment, address string) {
	var last *streamEnd
	for ctx.Err() == nil {
		node, stream, err := v.opened(ctx, payment, address)
		v.mu.Lock()
		switch {
		case err != nil && ctx.Err() == nil:
			v.refused[err.Error()]++
		case err == nil:
			v.open[node]++
			if last != nil {
				last.next, last.away = node, time.Since(last.at)
			}
		}
		v.mu.Unlock()
		if err == nil {
			_, err = io.Copy(io.Discard, stream)
			stream.Close()
			last = &streamEnd{node: node, at: time.Now(), badly: err}
			v.mu.Lock()
			v.open[node]--
			if ctx.Err() == nil {
				v.ends = append(v.ends, last)
			}
			v.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(viewerRetry):
		}
	}
}

// opened opens a stream, and returns when its first line has arrived.
func (v *viewers) opened(ctx context.Context, payment, address string) (node string, stream io.ReadCloser, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.front.url+"/pay/"+payment+"/live?status=pending", nil)
	if err != nil {
		return "", nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("X-Forwarded-For", address) // each shopper has another one
	reply, err := v.client.Do(r)
	if err != nil {
		return "", nil, err
	}
	lines := bufio.NewReader(reply.Body)
	line, err := lines.ReadString('\n')
	if reply.StatusCode != http.StatusOK || err != nil || strings.TrimSpace(line) != retryLine {
		reply.Body.Close()
		return "", nil, fmt.Errorf("%s %s", reply.Status, strings.TrimSpace(line))
	}
	return reply.Header.Get(servedBy), struct {
		io.Reader
		io.Closer
	}{lines, reply.Body}, nil
}

// at returns how many streams are open at a node.
func (v *viewers) at(node string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.open[node]
}

// since returns the streams of a node that have ended since a moment.
func (v *viewers) since(node string, from time.Time) (list []streamEnd) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range v.ends {
		if e.node == node && !e.at.Before(from) {
			list = append(list, *e)
		}
	}
	return list
}

// Nodes are drained under load while hundreds of pages watch payments at each. No request fails, every
// stream ends at once and continues at another node, and no stream delays the end of its node.
//
//	go test ./cmd/cascada -run TestDrillDrain -v -full
func TestDrillDrain(t *testing.T) {
	t.Parallel()
	each, rounds, clients, thinks, some := 10, 1, 4, 100*time.Millisecond, 20
	if *full {
		each, rounds, clients, thinks, some = 200, 3, 16, 20*time.Millisecond, 50
	}
	u := newUser(t)
	r := startRolling(t, dbtest.Postgres(t), u, 3, "--trusted-proxies", "127.0.0.1/32")
	front := balancer(t, r.at)
	key := u.merchant(t, r.database).Keys.Sandbox.Secret
	v := &viewers{t: t, front: front, client: &http.Client{Transport: &http.Transport{}}, open: map[string]int{}, refused: map[string]int{}}
	ctx, leave := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	t.Cleanup(func() { leave(); watching.Wait() })
	payment := ""
	for i := range each*len(r.nodes) + each*len(r.nodes)/10 { // nodes get different numbers of streams
		if i%viewersOfOne == 0 {
			status, made := front.call("POST", "/payments", key, `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`, nil)
			if payment = text(made, "transactionId"); status != http.StatusCreated {
				t.Fatalf("a payment to watch: %d %v", status, made)
			}
		}
		watches := payment
		watching.Go(func() { v.watch(ctx, watches, fmt.Sprintf("10.0.%d.%d", i/250, 1+i%250)) })
	}
	c := newCrowd(t, key, moments(t), func(*server) *server { return front })
	c.ask, c.thinks = asksPaid, thinks
	wait := c.work(clients, endless)
	c.more("payments before the first drain", some)

	least, sent, bad := 1<<30, 0, 0
	var ends, aways []time.Duration
	var exit time.Duration
	for node := range rounds {
		name := fmt.Sprint("node", node)
		await(t, "enough streams at "+name, func() bool { return v.at(name) >= each })
		before, began := r.nodes[node], time.Now()
		before.terminate()
		await(t, "the node to end", before.gone)
		took := time.Since(began)
		if code := before.command.ProcessState.ExitCode(); code != 0 || strings.Contains(before.output(), "requests were cut off") {
			t.Errorf("%s ends with exit %d:\n%s", name, code, before.output())
		}
		before.faultless()
		await(t, "no stream to be open at a stopped node", func() bool { return v.at(name) == 0 })
		await(t, "every page to watch at another node", func() bool {
			return !slices.ContainsFunc(v.since(name, began), func(e streamEnd) bool { return e.next == "" })
		})
		list := v.since(name, began)
		for _, e := range list {
			if e.badly != nil {
				bad++
				t.Errorf("a stream at %s ends badly: %v", name, e.badly)
			}
			if e.next == name {
				t.Errorf("a page watches at %s again, which has stopped", name)
			}
			ends, aways = append(ends, e.at.Sub(began)), append(aways, e.away)
		}
		least, sent, exit = min(least, len(list)), sent+len(list), max(exit, took)
		r.start(node)
		time.Sleep(500 * time.Millisecond) // the balancer checks twice in that time
		c.more("payments after the drain", some)
	}
	c.enough.Store(true)
	wait()
	leave()
	watching.Wait()
	c.rest()
	a := c.audit()
	a.report(c)
	if len(c.codes) > 0 || len(v.refused) > 0 {
		t.Errorf("requests failed: %s; streams were refused: %v", c.errors(), v.refused)
	}
	if least < each {
		t.Errorf("%d streams were open at a node that was drained, want %d", least, each)
	}
	u.check(t, r.database)
	slices.Sort(ends)
	slices.Sort(aways)
	within(t, "an answer", c.longest, answerLimit)
	within(t, "the end of a node", exit, pauseLimit)
	heading("nodes drained", "streams on each, at least", "streams sent away", "ended badly", "from SIGTERM to a stream's end: p50", "longest", "from there to the next stream: p50", "longest", "streams refused",
		"from SIGTERM to the exit: longest", "requests", "errors", "longest answer", "lost", "doubled", "untrue answers")
	row(rounds, least, sent, bad, ms(ends[len(ends)/2]), ms(ends[len(ends)-1]), ms(aways[len(aways)/2]), ms(aways[len(aways)-1]), failures(v.refused),
		ms(exit), a.asked, c.errors(), ms(c.longest), a.lost, a.doubled, a.untrue)
	for _, node := range r.nodes {
		node.stop()
	}
}
