package main_test

import (
	"cmp"
	"database/sql"
	enc "encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/bench"
	"github.com/cascadapay/cascada/internal/dbtest"
)

// spent is the resources that payments used.
type spent struct {
	payments          int64
	took              time.Duration
	service, database time.Duration // CPU
	log               int64         // bytes written to the database's log
	memory            int           // the service's maximum, in kB
	tables            map[string]int64
}

// storeMeter measures the use of a database.
type storeMeter struct {
	name, database string
	cpu            func() time.Duration // nil: the database is in the service's process
	log            func() int64         // bytes written so far
	sizes          string               // a statement that returns each table with its bytes, indexes included
	stop           func()
}

const (
	postgresSizes = `SELECT relname, pg_total_relation_size(oid) FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`
	liteSizes = `SELECT m.tbl_name, sum(s.pgsize) FROM dbstat s JOIN sqlite_schema m ON m.name = s.name
		WHERE s.aggregate = TRUE GROUP BY m.tbl_name`
)

func postgresMeter(t *testing.T) *storeMeter {
	p := dbtest.Durable(t)
	db := openDatabase(t, dbtest.Address(p))
	return &storeMeter{"PostgreSQL", dbtest.Address(p), p.CPU, func() (n int64) {
		if err := db.QueryRow(`SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}, postgresSizes, func() {}}
}

func liteMeter(t *testing.T, dir string) *storeMeter {
	path := dir + "/cascada.db"
	written, stop := watchLog(path)
	return &storeMeter{"SQLite", "sqlite:" + path, nil, written, liteSizes, stop}
}

// watchLog counts what SQLite writes to its WAL. The WAL restarts from time to time: it misses what was
// written in the last hundredth of a second before a restart.
func watchLog(path string) (written func() int64, stop func()) {
	const frame = 4096 + 24 // a page and its header
	var mu sync.Mutex       // owns frames
	var frames int64
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		var last int64
		var salt string
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			index, err := os.ReadFile(path + "-shm")
			if err != nil || len(index) < 40 { // it does not exist yet
				continue
			}
			now, round := int64(enc.NativeEndian.Uint32(index[16:20])), string(index[32:40]) // mxFrame and aSalt of WalIndexHdr
			mu.Lock()
			if round == salt && now >= last {
				frames += now - last
			} else {
				frames += now
			}
			mu.Unlock()
			last, salt = now, round
		}
	})
	return func() int64 { mu.Lock(); defer mu.Unlock(); return frames * frame }, func() { close(over); watching.Wait() }
}

// measure lets a service take that many payments, each with a webhook to an endpoint.
func measure(t *testing.T, u user, m *storeMeter, want int64, round time.Duration) (s spent) {
	settings := u.write(t, "cascada.yaml", fmt.Sprintf("listen: 127.0.0.1:0\ndatabase: %q\nrate-limit: \"off\"\nallow-private-webhooks: true\ndemo: false\n", m.database))
	server := u.serve(t, "--config", settings)
	pid := server.command.Process.Pid
	c := bench.Config{URL: server.url, Connections: 64, Duration: round, Method: "sbx_card", Amount: "25.50", Idempotency: true, Webhooks: true, Auth: bench.Token}
	cpu := func() (service, database time.Duration) {
		service = cpuOf(t, pid)
		if m.cpu != nil {
			database = m.cpu()
		}
		return service, database
	}
	shops := 2
	if *full {
		shops = 10
	}
	service, database := cpu()
	log, tables := m.log(), m.tables(t)
	for s.payments < want {
		c.Shops = nil
		for range shops { // new merchants: a run counts what is listed
			c.Shops = append(c.Shops, bench.Shop(u.merchant(t, m.database).Keys.Sandbox))
		}
		r, err := bench.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if problems := r.Problems(); len(problems) > 0 {
			t.Fatalf("the clients saw: %s", strings.Join(problems, "; "))
		}
		s.payments, s.took = s.payments+r.Created, s.took+round
		if *full {
			t.Logf("%s: %d payments", m.name, s.payments)
		}
	}
	nowService, nowDatabase := cpu()
	s.service, s.database, s.log, s.memory = nowService-service, nowDatabase-database, m.log()-log, mostMemory(t, pid)
	server.stop()
	s.tables = m.tables(t)
	for name, bytes := range tables {
		s.tables[name] -= bytes
	}
	m.stop()
	u.check(t, m.database)
	return s
}

// tables returns the size of each table in bytes, with its indexes.
func (m *storeMeter) tables(t *testing.T) map[string]int64 {
	t.Helper()
	rows, err := openDatabase(t, m.database).Query(m.sizes)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	sizes := map[string]int64{}
	for rows.Next() {
		var name string
		var bytes sql.NullInt64
		if err := rows.Scan(&name, &bytes); err != nil {
			t.Fatal(err)
		}
		sizes[name] = bytes.Int64
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return sizes
}

// million returns the use of a million payments, from that of these payments.
func (s spent) million(n int64) float64 { return float64(n) * 1e6 / float64(s.payments) }

func (s spent) disk() (sum int64) {
	for _, bytes := range s.tables {
		sum += bytes
	}
	return sum
}

// The use of a million payments, each with a webhook: disk, CPU and WAL. docs/RUNBOOK.md sizes machines by it.
//
//	go test ./cmd/cascada -run TestDrillCapacity -v -full -timeout 30m
func TestDrillCapacity(t *testing.T) {
	t.Parallel()
	want, round := int64(20), 200*time.Millisecond
	if *full {
		want, round = 100_000, 20*time.Second
	}
	var names []string
	var all []spent
	for _, open := range []func(*testing.T, user) *storeMeter{
		func(t *testing.T, u user) *storeMeter { return liteMeter(t, u.dir) },
		func(t *testing.T, _ user) *storeMeter { return postgresMeter(t) },
	} {
		u := plainUser(t)
		m := open(t, u)
		s := measure(t, u, m, want, round)
		if s.service <= 0 || m.cpu != nil && s.database <= 0 || s.log < s.payments || s.tables["payments"] <= 0 || s.tables["deliveries"] <= 0 {
			t.Errorf("%s: %d payments took %+v", m.name, s.payments, s)
		}
		names, all = append(names, m.name), append(all, s)
	}
	heading("database", "payments", "payments a second", "CPU seconds of the service", "of the database", "payments a second a core", "log", "on disk", "most memory")
	for i, s := range all {
		both := s.service + s.database
		database := "a part of the service"
		if s.database > 0 {
			database = fmt.Sprintf("%.0f", s.million(int64(s.database))/1e9)
		}
		row(names[i], s.payments, fmt.Sprintf("%.0f", float64(s.payments)/s.took.Seconds()), fmt.Sprintf("%.0f", s.million(int64(s.service))/1e9), database,
			fmt.Sprintf("%.0f", float64(s.payments)/both.Seconds()), gigabytes(s.million(s.log)), gigabytes(s.million(s.disk())), fmt.Sprintf("%d MB", s.memory>>10))
	}
	heading("a million payments' rows, with indexes", names[0], names[1])
	for _, table := range slices.SortedFunc(maps.Keys(all[0].tables), func(a, b string) int {
		return cmp.Compare(all[0].tables[b], all[0].tables[a])
	}) {
		if first, second := all[0].million(all[0].tables[table]), all[1].million(all[1].tables[table]); first+second >= 2e7 {
			row("`"+table+"`", gigabytes(first), gigabytes(second))
		}
	}
}

func gigabytes(n float64) string { return fmt.Sprintf("%.2f GB", n/1e9) }

// cpuOf returns the CPU time of a process so far.
func cpuOf(t testing.TB, pid int) (total time.Duration) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	for _, field := range strings.Fields(rest)[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += time.Duration(ticks) * 10 * time.Millisecond
	}
	return total
}
