package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// load is clients that create payments at even intervals, with what they saw.
type load struct {
	mu       sync.Mutex // owns what follows
	sent     int        // each with its own key
	answered map[string]time.Time
	errors   map[string]int
	longest  time.Duration
}

// pays creates payments at a rate until done is closed.
func (l *load) pays(s *server, key string, rate int, done <-chan struct{}) (wait func()) {
	var all sync.WaitGroup
	const clients = 20
	for client := range clients {
		all.Go(func() {
			tick := time.NewTicker(clients * time.Second / time.Duration(rate))
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				case <-tick.C:
				}
				began := time.Now()
				status, reply := s.call("POST", "/payments", key, `{"amount":10,"paymentMethodId":"sbx_card"}`, http.Header{"Idempotency-Key": {fmt.Sprintf("load-%d-%d", client, n)}})
				l.mu.Lock()
				l.sent++
				if judge(status, reply) == made {
					l.answered[text(reply, "transactionId")] = time.Now()
				} else {
					l.errors[code(status, reply)]++
				}
				l.longest = max(l.longest, time.Since(began))
				l.mu.Unlock()
			}
		})
	}
	return all.Wait
}

// Backups are made while payments come in, encrypted, restored and checked. A backup contains every payment
// that was answered before it began.
//
//	go test ./cmd/cascada -run TestDrillBackup -v -full
func TestDrillBackup(t *testing.T) {
	t.Parallel()
	rate, before := 50, time.Second
	if *full {
		rate, before = 200, time.Minute
	}
	heading("database", "payments a second", "payments in the copy", "size", "copied in", "log before", "at most meanwhile", "errors", "longest answer", "lost", "doubled")
	database := dbtest.SQLite(t)
	u := newUser(t).with("CASCADA_DATABASE=" + database)
	s := u.serve(t)
	key := u.merchant(t, database).Keys.Sandbox.Secret
	l := &load{answered: map[string]time.Time{}, errors: map[string]int{}}
	done := make(chan struct{})
	wait := l.pays(s, key, rate, done)
	time.Sleep(before) // so that there is much to copy
	log := func() int64 {
		info, err := os.Stat(strings.TrimPrefix(database, "sqlite:") + "-wal")
		if err != nil {
			return 0
		}
		return info.Size()
	}
	small := log()
	highest := small
	watching := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for look := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-watching:
				return
			case <-look.C:
				highest = max(highest, log())
			}
		}
	})
	recipient, identity := ageKey(t, u.dir)
	file := filepath.Join(u.dir, "copy.age")
	began := time.Now()
	u.does(t, "backup", file, "--encrypt-to", recipient, "--with-key", "--unchecked")
	took := time.Since(began)
	close(watching)
	watch.Wait()
	close(done)
	wait()
	if _, log, code := u.run(t, "backup", file); code == 0 || !strings.Contains(log, "existing files are never overwritten") {
		t.Errorf("a second backup to the same file: exit %d, %s", code, log)
	}
	if _, log, code := u.run(t, "restore", file, "--identity", identity, "--move-aside"); code == 0 || !strings.Contains(log, "another process serves") {
		t.Errorf("a restore beside the server: exit %d, %s", code, log)
	}
	there := "sqlite:" + filepath.Join(u.dir, "restored.db")
	u.does(t, "restore", file, "--database", there, "--identity", identity, "--with-key")
	u.check(t, there)
	var found int
	copied := openDatabase(t, there)
	if err := copied.QueryRow(`SELECT count(*) FROM payments`).Scan(&found); err != nil {
		t.Fatal(err)
	}
	var live int
	if err := openDatabase(t, database).QueryRow(`SELECT count(*) FROM payments`).Scan(&live); err != nil {
		t.Fatal(err)
	}
	doubled := max(0, live-l.sent)
	if doubled > 0 {
		t.Errorf("there are %d payments, %d were requested", live, l.sent)
	}
	lost := 0
	for id, at := range l.answered {
		var n int
		if err := copied.QueryRow(`SELECT count(*) FROM payments WHERE id = $1`, id).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == 0 && at.Before(began) {
			lost++
		}
	}
	if lost > 0 || found == 0 {
		t.Errorf("%d payments that were answered before the backup began are not among the %d in it", lost, found)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has the mode %v, %v", info.Mode(), err)
	}
	within(t, "an answer", l.longest, answerLimit)
	s.stop()
	row("SQLite", rate, found, megabytes(info.Size()), ms(took), megabytes(small), megabytes(highest), failures(l.errors), ms(l.longest), lost, doubled)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func failures(codes map[string]int) string { return (&crowd{codes: codes}).errors() }
