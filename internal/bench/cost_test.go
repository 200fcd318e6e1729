package bench

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const (
	costsFile = "testdata/costs.txt"
	costsOf   = 60 // payments that are measured, one after another
)

// What a payment costs in counts, which do not depend on how fast the machine is. Each is the median of single payments, so that
// what loops do meanwhile does not count. A change that costs more must raise a bound, and say why.
func TestPaymentCostsWhatItMay(t *testing.T) {
	bounds, err := os.ReadFile(costsFile)
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, database string) {
		measured := costs(t, database)
		engine := "postgres"
		if strings.HasPrefix(database, "sqlite:") {
			engine = "sqlite"
		}
		stated := map[string]bool{}
		for line := range strings.Lines(string(bounds)) {
			var of, name string
			var bound, tolerance float64
			if n, _ := fmt.Sscanf(line, "%s %s %g %g%%", &of, &name, &bound, &tolerance); n < 4 || of != engine {
				continue
			}
			stated[name] = true
			got := measured[name]
			if raceEnabled && name == "allocations" { // the detector lets pools forget
				continue
			}
			if slack := bound * tolerance / 100; got > bound+slack || got < bound-slack {
				t.Errorf("%s of a payment: %.4g, and %s says %.4g ± %g%%", name, got, costsFile, bound, tolerance)
			}
		}
		for name, got := range measured {
			if !stated[name] {
				t.Errorf("%s of a payment: %.4g, and %s has no bound for %s", name, got, costsFile, engine)
			}
		}
	})
}

// costs takes payments one after another, and returns what one costs.
func costs(t *testing.T, database string) map[string]float64 {
	ctx := t.Context()
	served, traffic := database, &traffic{}
	if !strings.HasPrefix(database, "sqlite:") {
		served = traffic.between(t, database)
	}
	s, err := daemon.Start(ctx, daemon.Config{Listen: "127.0.0.1:0", Database: served})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	o, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Bench", Email: "b@example.com", Tier: merchants.Trusted})
	if err != nil {
		t.Fatal(err)
	}
	read := counter(t, database)
	samples := map[string][]float64{}
	post := func(path, key, body string) []byte {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/api/v1"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + o.Sandbox.Secret, "Content-Type": "application/json", "Idempotency-Key": key} {
			r.Header.Set(name, value)
		}
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		if err != nil || reply.StatusCode != http.StatusCreated && reply.StatusCode != http.StatusOK {
			t.Fatalf("%s, %s: %s %s %v", path, key, reply.Status, text, err)
		}
		return text
	}
	var last []byte
	pay := func(i int) {
		last = post("/payments", fmt.Sprintf("key-%04d", i), fmt.Sprintf(`{"amount":25.5,"paymentMethodId":"sbx_card","merchantOrderId":"order-%04d"}`, i))
	}
	for i := range 20 { // caches are filled, and statements prepared
		pay(i)
	}
	rows := read.rows()
	for i := range costsOf {
		before, executed, rounds, made := read.written(), traffic.executed.Load(), traffic.rounds.Load(), mallocs()
		pay(20 + i)
		samples["allocations"] = append(samples["allocations"], mallocs()-made)
		if wrote := read.written() - before; wrote > 0 { // less: SQLite's log began anew
			samples["written"] = append(samples["written"], wrote)
		}
		if served != database {
			samples["statements"] = append(samples["statements"], float64(traffic.executed.Load()-executed))
			samples["round-trips"] = append(samples["round-trips"], float64(traffic.rounds.Load()-rounds))
		}
	}
	if served != database {
		traffic.reads(samples, "refund-reads:", func(i int) {
			pay(20 + costsOf + i)
			traffic.forget()
			post("/payments/"+regexp.MustCompile(`TXN-\w+`).FindString(string(last))+"/refund", fmt.Sprintf("refund-%04d", i), `{"amount":5}`)
		})
	}
	result := map[string]float64{}
	for name, list := range samples {
		slices.Sort(list)
		result[name] = list[len(list)/2]
	}
	for name, n := range read.rows() {
		if each := (n - rows[name]) / costsOf; each >= 1 && !slices.Contains(queues, name) {
			result["rows:"+name] = float64(int(each))
			result["index-entries:"+name] = read.entries(name)
		}
	}
	return result
}

// queues are tables whose rows go soon, at their own times.
var queues = []string{"processing", "unsealed", "facts"}

func mallocs() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Mallocs)
}

// counting reads what a database holds, and how much was written to it.
type counting struct {
	t    *testing.T
	list func(text string) map[string]float64
	path string // of SQLite's file
}

// counter connects to a database, past the service.
func counter(t *testing.T, database string) counting {
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return counting{t, func(text string) map[string]float64 {
			rows, err := db.QueryContext(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			return scanned(t, rows)
		}, path}
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return counting{t, func(text string) map[string]float64 {
		rows, err := conn.Query(t.Context(), text, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		return scanned(t, rows)
	}, ""}
}

// scanned reads rows of a name and a number.
func scanned(t *testing.T, rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
}) map[string]float64 {
	list := map[string]float64{}
	for rows.Next() {
		var name string
		var n float64
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		list[name] = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// written is the write-ahead log so far: bytes of PostgreSQL's, pages of SQLite's.
func (c counting) written() float64 {
	if c.path == "" {
		return c.list("SELECT 'wal', (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8")["wal"]
	}
	index, err := os.Open(c.path + "-shm") // https://sqlite.org/walformat.html: mxFrame is at byte 16
	if err != nil {
		c.t.Fatal(err)
	}
	defer index.Close()
	var frames [4]byte
	if _, err := index.ReadAt(frames[:], 16); err != nil {
		c.t.Fatal(err)
	}
	return float64(binary.NativeEndian.Uint32(frames[:]))
}

// rows counts the rows of each table.
func (c counting) rows() map[string]float64 {
	names := "SELECT relname, 0 FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
	if c.path != "" {
		names = "SELECT name, 0 FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
	}
	var texts []string
	for name := range c.list(names) {
		texts = append(texts, "SELECT '"+name+"', count(*) FROM "+name)
	}
	return c.list(strings.Join(texts, " UNION ALL "))
}

var partial = regexp.MustCompile(`(?is)\bWHERE\b(.*)$`)

// entries is how many index entries the last row of a table has.
func (c counting) entries(table string) float64 {
	indexes := "SELECT indexdef, 0 FROM pg_indexes WHERE schemaname = 'public' AND tablename = '" + table + "'"
	if c.path != "" {
		indexes = "SELECT coalesce(sql, name), 0 FROM pragma_index_list('" + table + "') AS i JOIN sqlite_schema USING (name)"
	}
	n := 0.0
	for text := range c.list(indexes) {
		where := "TRUE"
		if of := partial.FindStringSubmatch(text); of != nil {
			where = of[1]
		}
		last := "SELECT 'n', count(*) FROM (SELECT * FROM " + table + " ORDER BY id DESC LIMIT 1) AS r WHERE " + where
		n += c.list(last)["n"]
	}
	return n
}

// traffic counts what a service sends to PostgreSQL (its documentation, "Message Formats").
type traffic struct {
	executed, rounds atomic.Int64
	counting         atomic.Bool // of reads

	mu   sync.Mutex
	read map[string]float64 // by table: how often it was read
}

// refundsOf is how many refunds are measured.
const refundsOf = 9

// reads samples how often each table is read while do runs, of the tables of the refund itself.
func (c *traffic) reads(samples map[string][]float64, prefix string, do func(i int)) {
	for i := range refundsOf {
		do(i)
		c.counting.Store(false)
		c.mu.Lock()
		for _, table := range []string{"payments", "claims", "settlement_lines", "settlements", "once", "reserves"} {
			samples[prefix+table] = append(samples[prefix+table], c.read[table])
		}
		c.mu.Unlock()
	}
}

// forget begins to count reads anew.
func (c *traffic) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = map[string]float64{}
	c.counting.Store(true)
}

// selects is a statement that reads, with the tables that it names.
var selects, from = regexp.MustCompile(`^\s*SELECT\b`), regexp.MustCompile(`\b(?:FROM|JOIN) (\w+)`)

// bound counts a statement that is about to be executed.
func (c *traffic) bound(text string) {
	if !selects.MatchString(text) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, table := range from.FindAllStringSubmatch(text, -1) {
		c.read[table[1]]++
	}
}

// between returns the address of a socket whose connections lead to the database.
func (c *traffic) between(t *testing.T, database string) string {
	host := regexp.MustCompile(`host=([^&]*)`).FindStringSubmatch(database)[1]
	dir, err := os.MkdirTemp("", "pg") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	const name = ".s.PGSQL.5432"
	l, err := net.Listen("unix", filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.DialTimeout("unix", filepath.Join(host, name), 10*time.Second)
			if err != nil {
				client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(client, server)
				client.Close()
			}()
			go func() {
				_ = c.copy(server, bufio.NewReader(client))
				server.Close()
			}()
		}
	}()
	return strings.Replace(database, "host="+host, "host="+dir, 1)
}

// copy passes a client's messages on.
func (c *traffic) copy(to io.Writer, from *bufio.Reader) error {
	prepared := map[string]string{}
	for head := 4; ; head = 5 { // the first message has no type
		start, err := from.Peek(head)
		if err != nil {
			return err
		}
		switch {
		case head == 4:
		case start[0] == 'E':
			c.executed.Add(1)
		case start[0] == 'S', start[0] == 'Q':
			c.rounds.Add(1)
		}
		message := make([]byte, head-4+int(binary.BigEndian.Uint32(start[head-4:])))
		if _, err := io.ReadFull(from, message); err != nil {
			return err
		}
		if head == 5 && (message[0] == 'P' || message[0] == 'B' && c.counting.Load()) {
			names := bytes.SplitN(message[5:], []byte{0}, 3)
			if message[0] == 'P' { // a statement, and its text
				prepared[string(names[0])] = string(names[1])
			} else { // a portal, and its statement
				c.bound(prepared[string(names[1])])
			}
		}
		if _, err := io.Copy(to, bytes.NewReader(message)); err != nil {
			return err
		}
	}
}
