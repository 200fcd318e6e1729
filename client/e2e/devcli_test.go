package e2e

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
)

// What cascada-cli listen forwards is what the client's Receiver verifies and reads.
func TestReceiverReadsWhatListenForwards(t *testing.T) {
	s, keys := service(t, nil)
	dir := t.TempDir()
	program := filepath.Join(dir, "cascada-cli")
	building := exec.Command("go", "build", "-trimpath", "-o", program, "github.com/cascadapay/cascada/cmd/cascada-cli")
	building.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := building.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "CASCADA_URL="+s.URL, "CASCADA_API_KEY="+keys.Secret)
	run := func(args ...string) *exec.Cmd {
		c := exec.Command(program, args...)
		c.Env = env
		return c
	}
	secret, err := run("listen", "--print-secret").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []client.Event
	endpoint := httptest.NewServer(client.Receiver{Secrets: []string{strings.TrimSpace(string(secret))}}.Handle(func(_ context.Context, e client.Event) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, e)
		return nil
	}))
	defer endpoint.Close()
	var log strings.Builder
	listen := run("listen", "--every", "100ms", "--since", "1h", "--forward-to", endpoint.URL)
	listen.Stderr = &log
	if out, err := run("trigger", "payment.refunded").CombinedOutput(); err != nil { // before it listens: --since finds it
		t.Fatalf("%v\n%s", err, out)
	}
	if err := listen.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = listen.Process.Kill() // it has done its work
		_ = listen.Wait()
	}()
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		mu.Lock()
		for _, e := range got {
			if e.Type == client.EventPaymentRefunded && e.Payment != nil && e.Payment.Refund != nil {
				mu.Unlock()
				return
			}
		}
		n := len(got)
		mu.Unlock()
		if time.Now().After(until) {
			t.Fatalf("%d events came, and none of the refund: %s", n, log.String())
		}
	}
}

// A key sees the requests of its own shop and environment.
func TestRequestsAreListed(t *testing.T) {
	s, keys := service(t, nil)
	c := newClient(t, client.Config{URL: s.URL, SecretKey: keys.Secret})
	if _, err := c.Payment(t.Context(), "TXN-NO"); err == nil {
		t.Fatal("there is such a payment")
	}
	if _, err := c.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := c.Requests(t.Context(), client.RequestFilter{Outcome: "failed", Page: client.Page{Limit: 1}})
	if err != nil || len(page.Data) != 1 || page.Pagination.Total != 1 || page.Since.IsZero() {
		t.Fatalf("%+v, %v", page, err)
	}
	if r := page.Data[0]; r.Code != client.CodeTransactionNotFound || r.Route != "/payments/{id}" || r.ObjectID != "TXN-NO" || r.Status != 404 || r.Message == "" || !strings.Contains(r.Key, "…") {
		t.Errorf("the request is %+v", r)
	}
	other := newClient(t, client.Config{URL: s.URL, SecretKey: liveKey(t, s)})
	if page, err := other.Requests(t.Context(), client.RequestFilter{}); err != nil || len(page.Data) != 0 {
		t.Errorf("another merchant sees %+v, %v", page, err)
	}
}
