package main_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The drills are failures that an operator can repeat: docs/DRILLS.md. A normal run of the tests has a
// short form of each.
var full = flag.Bool("full", false, "run drills whole, hold them to their limits, and print their tables")

const (
	// answerLimit is the longest that a client may wait for an answer. pauseLimit is the longest time
	// without any answer once there is a primary.
	answerLimit = 10 * time.Second
	pauseLimit  = 5 * time.Second
)

// heading prints the header of a drill's table.
func heading(columns ...string) {
	if *full {
		fmt.Printf("\n| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	}
}

// row prints a row of the table.
func row(cells ...any) {
	if *full {
		fmt.Printf("| %s |\n", strings.Trim(strings.ReplaceAll(fmt.Sprintf(strings.Repeat("%v\x00", len(cells)), cells...), "\x00", " | "), " |"))
	}
}

// within fails a full drill that took too long; short drills run beside other tests.
func within(t testing.TB, what string, took, limit time.Duration) {
	t.Helper()
	if *full && took >= limit {
		t.Errorf("%s took %s, want at most %s", what, took, limit)
	}
}

// said is the meaning of an answer to a request.
type said string

const (
	made    said = "made"
	refused said = "refused" // it was not done
	unclear said = "unclear" // there was no answer, or one that leaves the outcome open
)

// asked is a request of a client, which is to be done once.
type asked struct {
	kind, tag          string // tag marks only what this request creates
	key                string // the Idempotency-Key, "" without one
	method, path, body string
	header             http.Header

	said   said
	reply  map[string]any
	id     string
	began  time.Time
	took   time.Duration // until the final answer
	broken time.Time     // when it had to be sent again; zero: never
}

// crowd is the clients of a shop, with their notes.
type crowd struct {
	t      testing.TB
	key    string
	server func(but *server) *server // returns the server for the next request, another than the one that did not answer
	ask    func(c *crowd, random *rand.Rand) *asked
	seed   *rand.Rand // each client's seed is drawn from it
	enough atomic.Bool
	thinks time.Duration // the longest pause of a client between two requests
	moves  int           // seconds that the test clock was ahead at the start
	live   bool          // production: it has no test clock

	mu       sync.Mutex // owns what follows
	asked    []*asked
	codes    map[string]int // answers other than success
	answered []time.Time    // when requests were done
	longest  time.Duration  // of one answer
	shelves  map[string][]string
	tags     map[string]int
}

func newCrowd(t testing.TB, key string, seed *rand.Rand, server func(but *server) *server) *crowd {
	return &crowd{t: t, key: key, server: server, ask: (*crowd).choose, seed: seed, thinks: 200 * time.Millisecond, codes: map[string]int{}, shelves: map[string][]string{}, tags: map[string]int{}}
}

// endless is how many requests clients send until it is enough.
const endless = 1 << 30

// work lets clients send n requests, or requests until it is enough, and returns a function that
// waits for their end.
func (c *crowd) work(clients, n int) (wait func()) {
	if n == endless && !*full { // fewer requests: a short drill mostly waits, and need not cost more
		c.thinks = max(c.thinks, min(4*c.thinks, 400*time.Millisecond))
	}
	var all sync.WaitGroup
	var next atomic.Int64
	for range clients {
		random := rand.New(rand.NewPCG(c.seed.Uint64(), 0))
		all.Go(func() {
			for !c.enough.Load() && next.Add(1) <= int64(n) {
				time.Sleep(time.Duration(random.Int64N(int64(c.thinks)))) // so that each commit has few requests
				c.send(c.ask(c, random))
			}
		})
	}
	return all.Wait
}

// send sends a request once; with a key it repeats it until there is an answer.
func (c *crowd) send(a *asked) {
	c.mu.Lock()
	c.asked = append(c.asked, a)
	c.mu.Unlock()
	header := merged(a.header, a.key)
	a.began = time.Now()
	var at *server
	for {
		began := time.Now()
		at = c.server(at)
		status, reply := at.call(a.method, a.path, c.key, a.body, header)
		now := time.Now()
		a.said, a.reply, a.took = judge(status, reply), reply, now.Sub(a.began)
		c.mu.Lock()
		c.longest = max(c.longest, now.Sub(began))
		if a.said == made {
			c.answered = append(c.answered, now)
		} else {
			c.codes[code(status, reply)]++
		}
		c.mu.Unlock()
		again := a.key != "" && (a.said == unclear || status == http.StatusServiceUnavailable)
		if !again {
			break
		}
		if a.took > patience {
			c.t.Errorf("%s %s is not answered after %s: %d %v", a.kind, a.tag, a.took, status, reply)
			return
		}
		if a.broken.IsZero() {
			a.broken = now
		}
		time.Sleep(backoff(a.took))
	}
	if a.said == made {
		c.mu.Lock()
		defer c.mu.Unlock()
		a.keep(c)
	}
}

// backoff is how long a client waits before it sends a request again that is not answered for so long. In a whole drill it
// is a short time, because the tables say how long there was no service. In a short one it grows, as for most clients: a
// thousand refusals more prove nothing.
func backoff(waited time.Duration) time.Duration {
	const soon, late = 20 * time.Millisecond, 300 * time.Millisecond
	if *full {
		return soon
	}
	return min(max(waited/4, soon), late)
}

// must sends a request of the drill itself until it succeeds. It may be done twice.
func (c *crowd) must(method, path, body string, header http.Header) map[string]any {
	c.t.Helper()
	var status int
	var reply map[string]any
	await(c.t, method+" "+path, func() bool {
		status, reply = c.server(nil).call(method, path, c.key, body, header)
		return status != http.StatusServiceUnavailable && judge(status, reply) != unclear
	})
	if judge(status, reply) != made {
		c.t.Fatalf("%s %s %s: %d %v", method, path, body, status, reply)
	}
	return reply
}

// judge returns the meaning of an answer.
func judge(status int, reply map[string]any) said {
	reason := text(reply, "error", "details", "reason")
	switch {
	case status >= 200 && status < 300:
		return made
	case status == 0 || status == http.StatusInternalServerError || reason == "outcome_unknown" || reason == "request_in_progress":
		return unclear
	}
	return refused
}

// code names an answer other than success.
func code(status int, reply map[string]any) string {
	name, reason := text(reply, "error", "code"), text(reply, "error", "details", "reason")
	switch {
	case status == 0:
		return "no answer"
	case reason != "":
		return fmt.Sprintf("%d %s (%s)", status, name, reason)
	}
	return fmt.Sprintf("%d %s", status, name)
}

// errors lists them, the most frequent first.
func (c *crowd) errors() string {
	var list []string
	for name, n := range c.codes {
		list = append(list, fmt.Sprintf("%d × %s", n, name))
	}
	slices.SortFunc(list, func(a, b string) int {
		return strings.Compare(strings.SplitN(a, "× ", 2)[1], strings.SplitN(b, "× ", 2)[1])
	})
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// pause returns the longest time since a moment in which no request was done.
func (c *crowd) pause(from time.Time) (longest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortFunc(c.answered, time.Time.Compare)
	last := from
	for _, at := range c.answered {
		if at.Before(from) {
			continue
		}
		longest, last = max(longest, at.Sub(last)), at
	}
	return longest
}

// done counts the requests that were done so far.
func (c *crowd) done() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.answered)
}

// more waits until that many more requests are done.
func (c *crowd) more(what string, n int) {
	c.t.Helper()
	from := c.done()
	await(c.t, what, func() bool { return c.done() >= from+n })
}

// take removes an id from a shelf; peek leaves it there. "" means that the shelf is empty.
func (c *crowd) take(shelf string, random *rand.Rand) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.shelves[shelf]
	if len(list) == 0 {
		return ""
	}
	i := random.IntN(len(list))
	one := list[i]
	c.shelves[shelf] = slices.Delete(list, i, i+1)
	return one
}

func (c *crowd) peek(shelf string, random *rand.Rand) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list := c.shelves[shelf]; len(list) > 0 {
		return list[random.IntN(len(list))]
	}
	return ""
}

// tag returns a unique name.
func (c *crowd) tag(kind string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tags[kind]++
	return fmt.Sprintf("%s-%d", kind, c.tags[kind])
}

// number returns the number in a counted tag.
func (c *crowd) number(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tags[kind]++
	return c.tags[kind]
}

// body returns a body as JSON.
func body(v map[string]any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // never: it has only strings and numbers
	}
	return string(text)
}
