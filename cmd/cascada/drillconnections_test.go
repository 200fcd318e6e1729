package main_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// memoryOfThousand is the most memory of a node, in kB, while a thousand clients are connected and busy.
const memoryOfThousand = 256 << 10

// A thousand clients keep one connection each, and create payments as fast as they are answered. No request fails,
// and the process stays small.
//
//	go test ./cmd/cascada -run TestDrillConnections -v -full
func TestDrillConnections(t *testing.T) {
	t.Parallel()
	clients, payments := 100, 500
	if *full {
		clients, payments = 1000, 60_000
	}
	heading("database", "connections", "payments", "errors", "longest answer", "most memory")
	for _, on := range []struct {
		name string
		open func(testing.TB) string
	}{{"SQLite", dbtest.SQLite}, {"PostgreSQL", dbtest.Postgres}} {
		t.Run(on.name, func(t *testing.T) {
			database := on.open(t)
			u := newUser(t)
			s := u.serve(t, "--database", database)
			key := u.merchant(t, database).Keys.Sandbox.Secret
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: time.Minute}
			var all sync.WaitGroup
			var next, failed atomic.Int64
			var longest atomic.Int64
			for range clients {
				all.Go(func() {
					for next.Add(1) <= int64(payments) {
						began := time.Now()
						status, _ := s.callBy(client, "POST", "/payments", key, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil)
						if status != http.StatusCreated {
							failed.Add(1)
						}
						for took := int64(time.Since(began)); ; {
							if before := longest.Load(); took <= before || longest.CompareAndSwap(before, took) {
								break
							}
						}
					}
				})
			}
			all.Wait()
			most := mostMemory(t, s.command.Process.Pid)
			if failed.Load() > 0 || most > memoryOfThousand {
				t.Errorf("%d of %d requests failed, and the process took %d kB", failed.Load(), payments, most)
			}
			s.stop()
			u.check(t, database)
			row(on.name, clients, payments, failed.Load(), ms(time.Duration(longest.Load())), fmt.Sprintf("%d MB", most>>10))
		})
	}
}

// mostMemory returns the most memory that a process has used so far, in kB.
func mostMemory(t testing.TB, pid int) (kB int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(line, &kB); err != nil {
		t.Fatal(err)
	}
	return kB
}
