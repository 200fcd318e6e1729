package limit_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/limit"
)

// slow is a rule whose tokens do not come back while a test runs.
var slow = limit.Bucket{Every: time.Hour, Burst: 20}

// journal is a log that a test reads.
type journal struct {
	mu sync.Mutex // guards text
	b  bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(b)
}

func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.b.String(), text)
}

func node(t *testing.T, url string) (*limit.Redis, *journal) {
	t.Helper()
	j := &journal{}
	r, err := limit.OpenRedis(t.Context(), url, slog.New(slog.NewTextHandler(j, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, j
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(15 * time.Second); !done(); <-look.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestNodesShareTheirBucketsInRedis(t *testing.T) {
	server := dbtest.Redis(t)
	a, _ := node(t, server.URL)
	b, _ := node(t, server.URL)
	var taken atomic.Int64
	var all sync.WaitGroup
	for _, n := range []*limit.Redis{a, b, a, b} {
		all.Go(func() {
			for range 20 {
				if n.Spend(acme, slow, epoch).OK {
					taken.Add(1)
				}
			}
		})
	}
	all.Wait()
	if got := taken.Load(); got != 20 {
		t.Errorf("two nodes took %d tokens of 20", got)
	}
	if !a.Up() || !b.Up() {
		t.Error("a node has lost Redis")
	}
	other := limit.Key{Kind: "tenant", Owner: "mer_other"}
	for left := 19; left >= 17; left-- {
		peek, got := b.Peek(other, slow, epoch), a.Spend(other, slow, epoch)
		if !got.OK || got.Limit != 20 || got.Left != left || peek.Left != left || got.Retry != 0 {
			t.Errorf("want %d of 20 left, got %+v after %+v", left, got, peek)
		}
	}
	refused := a.Spend(acme, slow, epoch)
	if refused.OK || refused.Left != 0 || refused.Retry <= 50*time.Minute || refused.Retry > time.Hour || refused.Full <= 19*time.Hour || refused.Full > 20*time.Hour {
		t.Errorf("a token of an empty bucket: %+v", refused)
	}
}

func TestRedisRefills(t *testing.T) {
	server := dbtest.Redis(t)
	a, _ := node(t, server.URL)
	quick := limit.Bucket{Every: 50 * time.Millisecond, Burst: 1}
	if !a.Spend(acme, quick, epoch).OK {
		t.Error("a new bucket is empty")
	}
	eventually(t, "a token has come back", func() bool { return a.Spend(acme, quick, epoch).OK })
}

func TestRedisThatFailsIsReplacedByTheNodeItself(t *testing.T) {
	for name, c := range map[string]struct {
		fail, mend func(*dbtest.RedisServer, testing.TB)
	}{
		"killed": {(*dbtest.RedisServer).Kill, (*dbtest.RedisServer).Start},
		"hangs":  {(*dbtest.RedisServer).Freeze, (*dbtest.RedisServer).Thaw},
	} {
		t.Run(name, func(t *testing.T) {
			server := dbtest.Redis(t)
			a, log := node(t, server.URL)
			if !a.Spend(acme, slow, epoch).OK {
				t.Fatal("a new bucket is empty")
			}
			c.fail(server, t)
			taken := 0
			for range 50 {
				if a.Spend(acme, slow, epoch).OK {
					taken++
				}
			}
			if taken != 20 || a.Up() {
				t.Errorf("without Redis the node gave %d tokens, want 20 of its own (up: %v)", taken, a.Up())
			}
			c.mend(server, t)
			eventually(t, "the node has found Redis again", a.Up)
			if !a.Spend(acme, slow, epoch).OK {
				t.Error("Redis has tokens, and the node gives none")
			}
			if lost, found := log.count("redis does not answer"), log.count("redis answers again"); lost != 1 || found != 1 {
				t.Errorf("the log tells %d times that Redis is gone and %d that it is back, want once each", lost, found)
			}
		})
	}
}

func TestRedisMayComeLater(t *testing.T) {
	server := dbtest.Redis(t)
	server.Kill(t)
	a, log := node(t, server.URL)
	if a.Up() || !a.Spend(acme, slow, epoch).OK || log.count("redis does not answer") != 1 {
		t.Error("want a node that starts without Redis, limits by itself, and says so")
	}
	server.Start(t)
	eventually(t, "the node has found Redis", a.Up)
}

func TestBadRedisAddressIsRefusedWithoutItsPassword(t *testing.T) {
	for _, url := range []string{
		"", "localhost:6379", "http://user:hunter2@localhost", "redis://user:hunter2@local host:x", "redis:hunter2", "redis://", "redis:///0", "unix://", "unix://host/socket",
		"redis://user:hunter2@localhost/x", "redis://user:hunter2@localhost/-1", "redis://user:hunter2@localhost/1/2", "redis://localhost?password=hunter2", "redis://localhost#0",
		"redis://user@localhost", "redis://user:@localhost",
	} {
		if r, err := limit.OpenRedis(t.Context(), url, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%q was taken", url)
			_ = r.Close()
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

// An address may ask for TLS, a user, a password and a database, and gets all of them.
func TestRedisAddressIsKeptToInFull(t *testing.T) {
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	pair := web.TLS.Certificates[0]
	web.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate := file("certificate", "CERTIFICATE", pair.Certificate[0])
	t.Setenv("SSL_CERT_FILE", certificate) // nothing else in this package asks for the machine's
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	dbtest.Redis(t, "--tls-port", port, "--tls-cert-file", certificate, "--tls-key-file", file("key", "PRIVATE KEY", key), "--tls-auth-clients", "no",
		"--user", "default", "off", "--user", "ana", "on", ">s3cret/", "~cascada:*", "+@all", "--user", "bob", "on", ">other", "~cascada:*", "+@all")
	third, _ := node(t, "rediss://ana:s3cret%2F@127.0.0.1:"+port+"/3")
	again, _ := node(t, "rediss://bob:other@127.0.0.1:"+port+"/3")
	first, _ := node(t, "rediss://ana:s3cret%2F@127.0.0.1:"+port)
	for _, n := range []*limit.Redis{third, again, first} {
		eventually(t, "the node has found Redis", n.Up) // a busy machine may take long for TLS
		n.Spend(acme, slow, epoch)
	}
	if a, b, c := third.Peek(acme, slow, epoch), again.Peek(acme, slow, epoch), first.Peek(acme, slow, epoch); a.Left != 17 || b.Left != 17 || c.Left != 18 {
		t.Errorf("database 3 has %d and %d left, the first one %d, want 17, 17 and 18 after a look", a.Left, b.Left, c.Left)
	}
	if !third.Up() || !again.Up() || !first.Up() {
		t.Error("a node has lost Redis")
	}
	for what, url := range map[string]string{
		"a wrong password":             "rediss://ana:wrong-one@127.0.0.1:" + port,
		"another name":                 "rediss://ana:s3cret%2F@localhost:" + port, // the certificate is of 127.0.0.1
		"no user":                      "rediss://127.0.0.1:" + port,
		"no TLS":                       "redis://ana:s3cret%2F@127.0.0.1:" + port,
		"a database that is not there": "rediss://ana:s3cret%2F@127.0.0.1:" + port + "/99",
	} {
		n, log := node(t, url)
		if n.Up() || !n.Spend(acme, slow, epoch).OK || log.count("redis does not answer") != 1 {
			t.Errorf("with %s, want a node that says so and counts by itself", what)
		}
		if log.count("wrong-one")+log.count("s3cret") > 0 {
			t.Errorf("with %s, the log has the password", what)
		}
	}
}
