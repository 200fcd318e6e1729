package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

const (
	// hooks is how many endpoints the attacker has; none of them answers.
	hooks = 50
	// memoryBound and descriptorBound are the most that a node under attack may use.
	memoryBound     = 1 << 30
	descriptorBound = 10_000
)

// asAttacker is the environment variable that turns this program into an attacker, with its plan.
const asAttacker = "CASCADA_TEST_AS_ATTACKER"

// plan is what the attacker does.
type plan struct {
	Target         string // host:port
	Key            string
	Claim, Payment string
}

// attack attacks until standard input ends, and prints how many requests it sent. It uses
// only spare CPU time: a real attacker has machines of its own.
func attack() error {
	// Of a session's group of processes, which the kernel gives one share.
	if err := os.WriteFile("/proc/self/autogroup", []byte("19"), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var p plan
	if err := json.Unmarshal([]byte(os.Getenv(asAttacker)), &p); err != nil {
		return err
	}
	end, stop := context.WithCancel(context.Background())
	a := &attacker{plan: p, end: end}
	a.everything()
	_, _ = io.Copy(io.Discard, os.Stdin) // until it ends in any way
	stop()
	a.all.Wait()
	fmt.Println(a.sent.Load())
	return nil
}

// underAttack runs do during an attack, and returns how many requests were sent.
func (p plan) underAttack(t testing.TB, do func()) (sent int) {
	t.Helper()
	said, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), asAttacker+"="+string(said))
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a group of its own
	var printed bytes.Buffer
	c.Stdout, c.Stderr = &printed, &printed
	leash, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	do()
	leash.Close()
	if err := c.Wait(); err != nil {
		t.Fatalf("the attacker: %v\n%s", err, printed.String())
	}
	if _, err := fmt.Sscan(printed.String(), &sent); err != nil {
		t.Fatalf("the attacker printed %q", printed.String())
	}
	return sent
}

// attacker is an IP address on the internet, with the sandbox key of its own merchant.
type attacker struct {
	plan
	end  context.Context
	sent atomic.Int64
	all  sync.WaitGroup
}

// dial opens a connection from another address than the victim's.
func (a *attacker) dial() (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: time.Second}
	return d.DialContext(a.end, "tcp", a.Target)
}

// many runs something repeatedly in that many goroutines, each at that rate per second.
func (a *attacker) many(hands, perSecond int, do func()) {
	for range hands {
		a.all.Go(func() {
			pace := time.NewTicker(time.Second / time.Duration(perSecond))
			defer pace.Stop()
			for {
				select {
				case <-a.end.Done():
					return
				case <-pace.C:
					do()
					a.sent.Add(1)
				}
			}
		})
	}
}

// flood sends a request repeatedly, on connections that it keeps open as long as it can.
func (a *attacker) flood(hands, perSecond int, request func() string) {
	for range hands {
		var c net.Conn
		var reply *bufio.Reader
		a.many(1, perSecond, func() {
			if c == nil {
				var err error
				if c, err = a.dial(); err != nil {
					c = nil
					return
				}
				reply = bufio.NewReader(c)
			}
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			_, err := c.Write([]byte(request()))
			if err == nil {
				var r *http.Response
				if r, err = http.ReadResponse(reply, nil); err == nil {
					_, err = reply.Discard(int(max(r.ContentLength, 0)))
					if r.Close || r.ContentLength < 0 {
						err = net.ErrClosed
					}
				}
			}
			if err != nil {
				c.Close()
				c = nil
			}
		})
	}
}

// hold opens connections, writes something to each, and then leaves them open.
func (a *attacker) hold(n int, say string) {
	a.all.Go(func() {
		var open []net.Conn
		defer func() {
			for _, c := range open {
				c.Close()
			}
		}()
		for range n {
			if c, err := a.dial(); err == nil {
				_, _ = c.Write([]byte(say)) // a refusal is fine
				open = append(open, c)
				a.sent.Add(1)
			}
			if a.end.Err() != nil {
				return
			}
		}
		<-a.end.Done()
	})
}

// request writes a request as it is on the wire, with the attacker's key.
func (a *attacker) request(method, path, body string, headers ...string) string {
	headers = append(headers, "Host: cascada", "Content-Type: application/json", "Content-Length: "+strconv.Itoa(len(body)))
	return method + " " + path + " HTTP/1.1\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n" + body
}

func (a *attacker) mine() string { return "Authorization: Bearer " + a.Key }

// everything is all attacks by one tenant and one address at once.
func (a *attacker) everything() {
	const api = "/api/v1"
	card := `{"amount":10,"paymentMethodId":"sbx_card"}`
	large := strings.Repeat("x", 900<<10)
	n := atomic.Int64{}
	a.flood(8, 25, func() string { return a.request(api+"/payments", "", "") })
	a.flood(4, 25, func() string { // invented labels and paths
		return a.request("M"+strings.Repeat("X", 20_000)+strconv.FormatInt(n.Add(1), 10), "/nowhere", "")
	})
	a.flood(4, 25, func() string { // guessed keys
		return a.request("GET", api+"/me", "", "Authorization: Bearer sk_test_"+strconv.FormatInt(n.Add(1), 10))
	})
	a.flood(4, 25, func() string {
		return a.request("POST", api+"/auth/token", `{"apiKey":"pk_test_x","secretKey":"sk_test_x"}`)
	})
	a.flood(8, 50, func() string { return a.request("POST", api+"/payments", card, a.mine()) })
	a.flood(4, 25, func() string { return a.request("GET", api+"/payments?limit=100", "", a.mine()) })
	a.flood(2, 10, func() string { return a.request("POST", api+"/providers/sandbox-1/notifications", `{"id":1}`) })
	a.flood(2, 2, func() string { return a.request("POST", api+"/providers/sandbox-1/notifications", large) })
	a.flood(2, 2, func() string {
		return a.request("POST", api+"/claims/"+a.Claim+"/evidence", `{"kind":"x","text":"`+large+`"}`, a.mine())
	})
	a.flood(2, 25, func() string { return a.request("GET", "/readyz", "") })
	a.flood(2, 25, func() string { return a.request("GET", "/docs", "") })
	a.hold(40, "POST "+api+"/claims/"+a.Claim+"/evidence HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+a.mine()+"\r\nContent-Length: 13000000\r\n\r\n{")
	a.hold(150, "GET /pay/"+a.Payment+"/live?status=pending HTTP/1.1\r\nHost: x\r\n\r\n")
	a.hold(200, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	a.hold(2000, "")
}

// pulse is a shop that creates payments at even intervals, whatever their results are.
type pulse struct {
	mu     sync.Mutex // owns both
	took   []time.Duration
	failed map[int]int
}

func (p *pulse) beat(s *server, key string, perSecond int, lasts time.Duration) {
	var all sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	pace := time.NewTicker(time.Second / time.Duration(perSecond))
	defer pace.Stop()
	for range int(lasts.Seconds() * float64(perSecond)) {
		due := <-pace.C
		all.Go(func() {
			status, _ := s.callBy(client, "POST", "/payments", key, `{"amount":25.5,"paymentMethodId":"sbx_card"}`, nil)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.took = append(p.took, time.Since(due))
			if status != http.StatusCreated {
				p.failed[status]++
			}
		})
	}
	all.Wait()
	slices.Sort(p.took)
}

func (p *pulse) at(share float64) time.Duration {
	return p.took[min(len(p.took)-1, int(float64(len(p.took))*share))].Round(100 * time.Microsecond)
}

// holdings returns a process's resident memory in bytes, without that of files, and its number of open
// descriptors.
func holdings(t testing.TB, pid int) (memory, descriptors int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, 0 // it has ended, or there is no /proc here
	}
	fields := strings.Fields(string(status))
	var pages [2]int // resident, and those of files, which the kernel can free
	for i := range pages {
		if pages[i], err = strconv.Atoi(fields[1+i]); err != nil {
			t.Fatal(err)
		}
	}
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return (pages[0] - pages[1]) * os.Getpagesize(), len(open)
}

// One tenant does everything at once that a review could think of, from one address. Another tenant
// continues to sell.
func TestDrillAttack(t *testing.T) {
	lasts, rounds := time.Second, 1
	if *full {
		lasts, rounds = 8*time.Second, 8
	}
	heading("database", "rounds", "another tenant's payments in each", "refused", "p50", "p99", "under attack: p50", "p99", "requests of the attacker", "memory before", "at most", "descriptors before", "at most")
	engines := map[string]string{"SQLite": "sqlite:attack.db"} // enough for a short run
	if *full {
		engines["PostgreSQL"] = ""
	}
	for name, database := range engines {
		t.Run(name, func(t *testing.T) {
			if database == "" {
				database = dbtest.Postgres(t)
			}
			u := newUser(t).with("CASCADA_DATABASE="+database, "CASCADA_RATE_LIMIT=on")
			s := u.serve(t)
			victim, thief := u.merchant(t, database), u.merchant(t, database)
			over := make(chan struct{})
			never := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
			let := sync.OnceFunc(func() { close(over); never.Close() })
			defer let()
			secret := thief.Keys.Sandbox.Secret
			for i := range hooks {
				if status, reply := s.call("POST", "/webhooks", secret, fmt.Sprintf(`{"url":"%s/%d","events":["*"]}`, never.URL, i), nil); status != http.StatusCreated {
					t.Fatalf("webhook %d: %d %v", i, status, reply)
				}
			}
			_, made := s.call("POST", "/payments", secret, `{"amount":100,"paymentMethodId":"sbx_card"}`, nil)
			payment := text(made, "transactionId")
			s.call("POST", "/payments/"+payment+"/simulate", secret, `{"action":"chargeback"}`, nil)
			_, claims := s.call("GET", "/claims", secret, "", nil)
			claim := text(claims["data"].([]any)[0].(map[string]any), "id")

			const perSecond = 40
			(&pulse{failed: map[int]int{}}).beat(s, victim.Keys.Sandbox.Secret, perSecond, lasts/4) // to warm up
			memoryBefore, openBefore := holdings(t, s.command.Process.Pid)
			memory, open := 0, 0
			var watch sync.WaitGroup
			watching, unwatch := context.WithCancel(t.Context())
			watch.Go(func() {
				for watching.Err() == nil {
					m, o := holdings(t, s.command.Process.Pid)
					memory, open = max(memory, m), max(open, o)
					time.Sleep(100 * time.Millisecond)
				}
			})
			told := plan{Target: strings.TrimPrefix(s.url, "http://"), Key: secret, Claim: claim, Payment: payment}
			var usual, attacked []*pulse
			sell := func() *pulse {
				p := &pulse{failed: map[int]int{}}
				p.beat(s, victim.Keys.Sandbox.Secret, perSecond, lasts)
				return p
			}
			sent := 0
			for range rounds { // in turn: the machine's speed changes too
				usual = append(usual, sell())
				sent += told.underAttack(t, func() {
					time.Sleep(lasts / 4) // until the attack is complete
					attacked = append(attacked, sell())
				})
				time.Sleep(lasts / 4)
			}
			unwatch()
			watch.Wait()

			refused := 0
			for _, p := range slices.Concat(usual, attacked) {
				if refused += len(p.failed); len(p.failed) > 0 {
					t.Errorf("another tenant's payments are refused, by status: %v", p.failed)
				}
			}
			if memory > memoryBound || open > descriptorBound {
				t.Errorf("the node used %d MB and %d descriptors, want at most %d and %d", memory>>20, open, memoryBound>>20, descriptorBound)
			}
			of := func(list []*pulse, share float64) time.Duration { // of the median round
				var all []time.Duration
				for _, p := range list {
					all = append(all, p.at(share))
				}
				slices.Sort(all)
				return all[len(all)/2]
			}
			row(name, rounds, len(usual[0].took), refused, of(usual, .5), of(usual, .99), of(attacked, .5), of(attacked, .99), sent,
				fmt.Sprint(memoryBefore>>20, " MB"), fmt.Sprint(memory>>20, " MB"), openBefore, open)
			let() // otherwise it drains for as long as they hang
			s.stop()
			u.check(t, database)
		})
	}
}
