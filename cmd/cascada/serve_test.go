package main_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"io"
	"regexp"
)

// A newcomer's first steps: start the service, paste the printed lines, see the money.
func TestPrintedLinesTakeAPayment(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("this test pastes curl commands into bash: install curl")
	}
	u := newUser(t)
	s := u.serve(t)
	await(t, "the lines to paste", func() bool { return strings.Contains(s.output(), "/me/balance") })
	var script strings.Builder
	for line := range strings.Lines(s.output()) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "TOKEN=") || strings.HasPrefix(line, "ID=") || strings.HasPrefix(line, "curl ") {
			script.WriteString(line + "\n")
		}
	}
	if strings.Count(script.String(), "\n") != 4 {
		t.Fatalf("want four lines to paste, got:\n%s", s.output())
	}
	shell := exec.Command("bash", "-c", script.String())
	shell.Dir, shell.Env = u.dir, u.env
	out, err := shell.CombinedOutput()
	for _, want := range []string{`"status":"pending"`, `"status":"completed"`, `"checkoutUrl":`, `"grossVolume":25.65`} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("the pasted lines gave %v, want %s in\n%s", err, want, out)
		}
	}
	link := regexp.MustCompile(`http://\S+/demo`).FindString(s.output())
	page, err := http.Get(link)
	if err != nil {
		t.Fatalf("the printed link %q: %v", link, err)
	}
	body, err := io.ReadAll(page.Body)
	page.Body.Close()
	if err != nil || page.StatusCode != http.StatusOK || !strings.Contains(string(body), "Pix") {
		t.Errorf("the printed link answers %s (%v): %s", page.Status, err, body)
	}
	s.stop()
	u.check(t, "sqlite:cascada.db")
	again := u.serve(t)
	if page, err := http.Get(again.url + "/demo"); err != nil || page.StatusCode != http.StatusOK {
		t.Errorf("after a second start the demo answers %v (%v)", page, err)
	} else {
		page.Body.Close()
	}
	again.stop()
	without := u.serve(t, "--no-demo")
	if page, err := http.Get(without.url + "/demo"); err != nil || page.StatusCode != http.StatusNotFound {
		t.Errorf("with --no-demo the demo answers %v (%v), want 404", page, err)
	} else {
		page.Body.Close()
	}
	without.stop()
	if strings.Contains(again.output(), "sk_test_") {
		t.Error("a second start made another demo merchant")
	}
}

// A node lives on and ends when nobody reads what it prints, whether the reader is gone or only does not read any more.
func TestServeNeedsNoReader(t *testing.T) {
	t.Parallel()
	pipe := func(t *testing.T) (reader, writer *os.File) {
		t.Helper()
		t.Parallel()
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { reader.Close(); writer.Close() })
		return reader, writer
	}
	t.Run("gone", func(t *testing.T) {
		reader, writer := pipe(t)
		reader.Close()
		s := newUser(t).startInto(t, writer)
		s.ready()
		await(t, "the demo to fail", func() bool { return strings.Contains(s.output(), "the demo is not complete") || s.gone() })
		if status, body := s.says("/readyz"); status != http.StatusOK {
			t.Errorf("/readyz: %d %s", status, body)
		}
		s.end()
	})
	t.Run("asleep", func(t *testing.T) {
		_, writer := pipe(t)
		if err := writer.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		for err := error(nil); err == nil; { // until the pipe is full
			_, err = writer.Write(make([]byte, 1000))
		}
		for err := error(nil); err == nil; {
			_, err = writer.Write(make([]byte, 1))
		}
		s := newUser(t).startInto(t, writer)
		s.ready()
		s.end()
	})
}

// On SIGTERM, requests in progress are completed and no new ones are accepted.
func TestSIGTERMDrains(t *testing.T) {
	t.Parallel()
	const underWay = 8
	u := newUser(t)
	s := u.serve(t, "--sandbox-fault", "sandbox-1=slow") // a call takes two seconds
	k := u.merchant(t, "sqlite:cascada.db").Keys.Sandbox.Secret
	in := s.subscribe(k)
	type reply struct {
		status      int
		transaction string
		at          time.Time
	}
	replies := make(chan reply, underWay)
	for range underWay {
		go func() {
			status, body := s.call("POST", "/payments", k, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil)
			replies <- reply{status, text(body, "transactionId"), time.Now()}
		}()
	}
	await(t, "the provider's calls", func() bool { return s.total(k, "status=processing") == underWay })
	s.terminate()
	await(t, "new connections to be refused", func() bool {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			c.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	refused := time.Now()
	for range underWay {
		r := <-replies
		if r.status != http.StatusCreated || r.at.Before(refused) {
			t.Errorf("a payment in progress got %d, %s after new connections were refused; want 201, later", r.status, r.at.Sub(refused))
		}
	}
	await(t, "the process to end", s.gone)
	if code := s.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d after SIGTERM, want 0", code)
	}
	s.faultless()
	u.check(t, "sqlite:cascada.db")
	// The next process sends the deliveries that were not sent.
	next := u.serve(t)
	in.settle(t, "sqlite:"+u.dir+"/cascada.db")
	next.stop()
}

// An operator who deploys twice in a row stops the service before it is ready.
func TestSIGTERMWhileStartingEndsWell(t *testing.T) {
	t.Parallel()
	for moment := range 10 {
		u := newUser(t)
		s := u.start(t)
		time.Sleep(time.Duration(moment) * 10 * time.Millisecond) // the test tries many moments
		s.terminate()
		await(t, "the process to end", s.gone)
		// Until the program listens to signals, SIGTERM ends it without an exit code.
		by := s.command.ProcessState.Sys().(syscall.WaitStatus)
		if code := by.ExitStatus(); code != 0 && by.Signal() != syscall.SIGTERM {
			t.Errorf("SIGTERM after %d ms: exit %d, want 0", 10*moment, code)
		}
		s.faultless()
	}
}

// Two nodes on one database are one service.
func TestNodesAreEqual(t *testing.T) {
	t.Parallel()
	const clients, each = 8, 25
	u, database := newUser(t), dbtest.Postgres(t)
	nodes := []*server{u.start(t, "--database", database), u.start(t, "--database", database)} // at the same time: one migrates
	for _, s := range nodes {
		s.ready()
	}
	one, two := nodes[0], nodes[1]
	k := u.merchant(t, database).Keys.Sandbox.Secret
	in := one.subscribe(k)

	var load sync.WaitGroup
	for c := range clients {
		load.Go(func() {
			for i := range each {
				key := fmt.Sprintf("k-%d-%d", c, i)
				body := fmt.Sprintf(`{"amount":%d,"paymentMethodId":"sbx_card","merchantOrderId":%q}`, 1+i, key)
				header := http.Header{"Idempotency-Key": {key}}
				here, there := nodes[i%2], nodes[1-i%2]
				status, first := here.call("POST", "/payments", k, body, header)
				again, second := there.call("POST", "/payments", k, body, header)
				if status != http.StatusCreated || again != http.StatusCreated || text(first, "transactionId") != text(second, "transactionId") {
					t.Errorf("one key on two nodes: %d %v and %d %v", status, first, again, second)
				}
				id := text(first, "transactionId")
				if status, read := there.call("GET", "/payments/"+id, k, "", nil); status != http.StatusOK || text(read, "status") != "completed" {
					t.Errorf("the other node's payment: %d %v", status, read)
				}
			}
		})
	}
	load.Wait()
	for i, s := range nodes {
		if n := s.total(k, ""); n != clients*each {
			t.Errorf("node %d counts %d payments, want %d", i, n, clients*each)
		}
	}
	in.settle(t, database)

	// One node is killed; the other continues its work.
	_, pix := one.call("POST", "/payments", k, `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`, nil)
	one.stop()
	id := text(pix, "transactionId")
	if status, reply := two.call("POST", "/payments/"+id+"/simulate", k, `{"action":"paid"}`, nil); status != http.StatusOK {
		t.Errorf("the other node: %d %v", status, reply)
	}
	in.settle(t, database)
	if !in.told("payment.completed", id) {
		t.Error("the endpoint got no event of the second node's change to the first node's payment")
	}
	u.check(t, database)
	two.stop()
	var merchants int
	if err := openDatabase(t, database).QueryRow("SELECT count(*) FROM merchants").Scan(&merchants); err != nil || merchants != 2 {
		t.Errorf("%d merchants (%v), want the demo and ours: two nodes that start at once make one demo", merchants, err)
	}
}
