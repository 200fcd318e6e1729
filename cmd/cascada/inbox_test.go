package main_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// inbox is a shop's endpoint. It drops repeats by the event's id, as a receiver should, and
// checks every delivery.
type inbox struct {
	secret string

	mu      sync.Mutex           // owns what follows
	events  map[string]delivered // by id
	repeats int
	bad     []string
}

// delivered is an event as it arrived.
type delivered struct {
	kind, object, body string
	sequence           int
}

// subscribe adds an endpoint for all events to the key's shop.
func (s *server) subscribe(key string) *inbox {
	s.t.Helper()
	in := &inbox{events: map[string]delivered{}}
	receiver := httptest.NewServer(in)
	s.t.Cleanup(receiver.Close)
	status, sub := s.call("POST", "/webhooks", key, `{"events":["*"],"url":"`+receiver.URL+`"}`, nil)
	if in.secret = text(sub, "secret"); in.secret == "" {
		s.t.Fatalf("subscribe: %d %v", status, sub)
	}
	return in
}

func (in *inbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed: it sends the event again
	}
	var e struct {
		ID, Type string
		Sequence int
		Data     struct {
			Object struct{ ID, TransactionID string }
		}
	}
	err = json.Unmarshal(body, &e)
	if err == nil {
		err = sender.Verify(r.Header.Get(sender.SignatureHeader), body, in.secret, time.Now(), sender.Tolerance)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	before, repeated := in.events[e.ID]
	switch {
	case err != nil:
		in.bad = append(in.bad, fmt.Sprintf("%v: %s", err, body))
	case r.Header.Get(sender.StandardIDHeader) != e.ID || r.Header.Get(sender.EventHeader) != e.Type:
		in.bad = append(in.bad, fmt.Sprintf("labelled %v: %s", r.Header, body))
	case repeated && before.body != string(body):
		in.bad = append(in.bad, fmt.Sprintf("one id for %s and %s", before.body, body))
	case repeated:
		in.repeats++
	default:
		in.events[e.ID] = delivered{e.Type, e.Data.Object.ID, string(body), e.Sequence}
	}
}

// told reports whether the endpoint got an event of that type for an object.
func (in *inbox) told(kind, object string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, e := range in.events {
		if e.kind == kind && e.object == object {
			return true
		}
	}
	return false
}

// broken lists the objects whose events are not numbered from 1 without gaps or repeats.
func (in *inbox) broken() (list []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	numbers := map[string][]int{}
	for _, e := range in.events {
		if e.sequence > 0 { // events from before the numbering have 0
			numbers[e.object] = append(numbers[e.object], e.sequence)
		}
	}
	for object, got := range numbers {
		slices.Sort(got)
		for i, n := range got {
			if n != i+1 {
				list = append(list, fmt.Sprintf("events %v of %s", got, object))
				break
			}
		}
	}
	return list
}

// settle waits until the service has nothing left to send. It fails the test
// unless every event arrived, signed, and the same each time.
func (in *inbox) settle(t testing.TB, database string) {
	t.Helper()
	db := openDatabase(t, database)
	await(t, "every delivery to be made", func() bool { return undelivered(db) == 0 })
	in.mu.Lock()
	defer in.mu.Unlock()
	rows, err := db.Query("SELECT id, type, object FROM events")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	events := 0
	for rows.Next() {
		var id, kind, object string
		if err := rows.Scan(&id, &kind, &object); err != nil {
			t.Fatal(err)
		}
		if got, ok := in.events[id]; !ok || got.kind != kind || got.object != object {
			t.Errorf("%s (%s of %s) arrived as %+v", id, kind, object, got)
		}
		events++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(in.events) != events {
		t.Errorf("%d events arrived, %d happened", len(in.events), events)
	}
	for _, bad := range in.bad {
		t.Errorf("a bad delivery: %s", bad)
	}
	t.Logf("%d events arrived, %d deliveries were repeats", events, in.repeats)
}

// undelivered counts the deliveries that are not made yet; -1 if they cannot be counted, for instance because
// SQLite is busy.
func undelivered(db *sql.DB) (open int) {
	if err := db.QueryRow("SELECT count(*) FROM deliveries WHERE status <> 'delivered'").Scan(&open); err != nil {
		return -1
	}
	return open
}

// openDatabase opens the database from outside the service.
func openDatabase(t testing.TB, database string) *sql.DB {
	t.Helper()
	driver, address := "pgx", database
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		driver, address = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
