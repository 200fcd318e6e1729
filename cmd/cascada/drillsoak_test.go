package main_test

import (
	"bufio"
	"fmt"
	"net/http"
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

// look is the resources of a process, and the size of its database's log, at one moment.
type look struct{ memory, descriptors, goroutines, log float64 }

// flats are the figures that must not grow while the load stays the same. A figure is flat if its median in the
// last third of the looks exceeds that of the second third by at most a share and a slack. The first third is
// for caches, pools and files to fill.
var flats = []struct {
	name  string
	of    func(look) float64
	part  float64
	slack float64 // the usual difference between two looks
	unit  float64
	say   string
}{
	{"memory", func(l look) float64 { return l.memory }, .05, 8 << 20, 1e6, "%.0f MB"},
	{"descriptors", func(l look) float64 { return l.descriptors }, .05, 8, 1, "%.0f"},
	{"goroutines", func(l look) float64 { return l.goroutines }, .05, 16, 1, "%.0f"},
	// PostgreSQL keeps as much WAL as it writes between two checkpoints, averaged over the last ones, in files of
	// this size. A WAL whose files are never removed grows by everything that is written: it doubles.
	{"the database's log", func(l look) float64 { return l.log }, .1, 16 << 20, 1e6, "%.0f MB"},
}

// thirds returns the median of a figure in the second and in the last third of the looks.
func thirds(looks []look, of func(look) float64) (second, last float64) {
	median := func(part []look) float64 {
		var all []float64
		for _, l := range part {
			all = append(all, of(l))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	n := len(looks)
	return median(looks[n/3 : 2*n/3]), median(looks[2*n/3:])
}

// grown names the figures that did not stay flat.
func grown(looks []look) (names []string) {
	for _, f := range flats {
		if second, last := thirds(looks, f.of); last > second*(1+f.part)+f.slack {
			names = append(names, f.name)
		}
	}
	return names
}

// grown finds what grows with every payment, but not what fills once or jumps for a moment.
func TestSoakFindsGrowth(t *testing.T) {
	t.Parallel()
	steady := look{150e6, 90, 120, 40e6}
	var fills, jumps, leaks, drops []look
	for i := range 300 {
		l := steady
		l.memory = min(steady.memory, float64(i)*2e6)
		fills = append(fills, l)
		l = steady
		if i%7 == 0 {
			l = look{400e6, 900, 1200, 400e6}
		}
		jumps = append(jumps, l)
		part := float64(i) / 100 // 1 after a third
		leaks = append(leaks, look{150e6 + 25e6*part, 90 + 14*part, 120 + 24*part, 40e6 + 30e6*part})
		drops = append(drops, look{150e6 - 17e6*part, 90, 120, 40e6})
	}
	for name, looks := range map[string][]look{"what fills once": fills, "what jumps": jumps, "what goes down": drops} {
		if got := grown(looks); len(got) > 0 {
			t.Errorf("%s: grown reports %q", name, got)
		}
	}
	if got := grown(leaks); len(got) != len(flats) {
		t.Errorf("of the leaks, only %q are found", got)
	}
}

// metric returns a metric of the service; -1 if it does not answer.
func metric(address, name string) float64 {
	reply, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return -1
	}
	defer reply.Body.Close()
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			if value, err := strconv.ParseFloat(text, 64); err == nil {
				return value
			}
		}
	}
	return -1
}

// soak is a service at its usual work for a long time.
type soak struct {
	t       *testing.T
	name    string
	server  *server
	metrics string       // its address
	log     func() int64 // the size of the database's log

	mu    sync.Mutex // owns looks
	looks []look
}

// watch takes looks until the returned function is called.
func (s *soak) watch(every time.Duration) (stop func()) {
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for tick := time.NewTicker(every); ; {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			memory, descriptors := holdings(s.t, s.server.command.Process.Pid)
			now := look{float64(memory), float64(descriptors), metric(s.metrics, "go_goroutines"), float64(s.log())}
			s.mu.Lock()
			s.looks = append(s.looks, now)
			s.mu.Unlock()
		}
	})
	return func() {
		close(over)
		watching.Wait()
	}
}

// tell logs the progress, so that a stopped run has some result.
func (s *soak) tell(p bench.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.looks) == 0 {
		return
	}
	var now []string
	for _, f := range flats {
		now = append(now, f.name+" "+fmt.Sprintf(f.say, f.of(s.looks[len(s.looks)-1])/f.unit))
	}
	s.t.Logf("%s, %s; %s", s.name, p, strings.Join(now, ", "))
}

// A service does its usual work for half an hour: payments at even intervals, each with a webhook to an endpoint
// that verifies it. Nothing is refused, lost or doubled, and the service's resources do not grow.
//
//	go test ./cmd/cascada -run TestDrillSoak -v -full -timeout 90m
func TestDrillSoak(t *testing.T) {
	t.Parallel()
	rate, lasts, every, tells, shops := 30.0, 2*time.Second, 100*time.Millisecond, time.Second, 2
	if *full {
		rate, lasts, every, tells, shops = 300, 30*time.Minute, 5*time.Second, time.Minute, 10
	}
	columns := []string{"database", "payments a second", "time", "payments", "p50", "p99", "longest answer", "errors", "payments lost", "doubled", "events", "event after: p50", "p99", "events lost", "doubled"}
	for _, f := range flats {
		columns = append(columns, f.name)
	}
	heading(columns...)
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		t.Run(name, func(t *testing.T) {
			u := plainUser(t)
			s := &soak{t: t, name: name, metrics: freeAddress(t)}
			database := ""
			if name == "SQLite" {
				database = "sqlite:" + u.dir + "/cascada.db"
				s.log = func() int64 { return sizeOf(u.dir + "/cascada.db-wal") }
			} else {
				p := dbtest.Durable(t)
				database, s.log = dbtest.Address(p), p.Log
			}
			settings := u.write(t, "cascada.yaml", fmt.Sprintf("listen: 127.0.0.1:0\ndatabase: %q\nmetrics: %s\nallow-private-webhooks: true\ndemo: false\n", database, s.metrics))
			s.server = u.serve(t, "--config", settings)
			c := bench.Config{
				URL: s.server.url, Connections: 64, Duration: lasts, Method: "sbx_card", Amount: "25.50", Idempotency: true, Rate: rate,
				Webhooks: true, VerifyAll: true, Auth: bench.Key, ServerPID: s.server.command.Process.Pid, ProgressEvery: tells, Progress: s.tell,
			}
			for range shops {
				c.Shops = append(c.Shops, bench.Shop(u.merchant(t, database).Keys.Sandbox))
			}
			stop := s.watch(every)
			r, err := bench.Run(t.Context(), c)
			stop()
			if err != nil {
				t.Fatal(err)
			}
			s.judge(r, rate, lasts)
			s.server.stop()
			u.check(t, database)
		})
	}
}

// judge fails the drill if the books differ or something grew, and prints its row.
func (s *soak) judge(r bench.Result, rate float64, lasts time.Duration) {
	if problems := r.Problems(); len(problems) > 0 {
		s.t.Errorf("the clients saw: %s", strings.Join(problems, "; "))
	}
	w, lost, doubled, failed := r.Webhooks, max(0, r.Created-r.Listed), max(0, r.Listed-r.Created), int64(0)
	for _, n := range r.Errors {
		failed += n
	}
	if doubled > failed { // a request without an answer may have created one
		s.t.Errorf("there are %d payments that nobody requested", doubled-failed)
	}
	if w.SignaturesChecked != w.Delivered+w.Duplicates+w.Doubled+w.OtherEvents || w.Unexpected > failed || w.OtherEvents > 0 {
		s.t.Errorf("the endpoint got %+v", *w)
	}
	if want := rate * lasts.Seconds(); *full && float64(r.Created) < .99*want {
		s.t.Errorf("%d payments were made, want %.0f: the clients, or the service, were too slow", r.Created, want)
	}
	within(s.t, "an answer", time.Duration(r.MaxMs*float64(time.Millisecond)), answerLimit)
	for _, l := range s.looks {
		if l.memory <= 0 || l.descriptors <= 0 || l.goroutines <= 0 || l.log <= 0 {
			s.t.Fatalf("a look at the service is %+v", l)
		}
	}
	if len(s.looks) < 6 {
		s.t.Fatalf("the service was looked at %d times", len(s.looks))
	}
	if names := grown(s.looks); *full && len(names) > 0 { // a short run ends while caches fill
		s.t.Errorf("not flat: %s", strings.Join(names, ", "))
	}
	s.t.Logf("%s: the clients took %.0f µs of CPU a payment, the service %.0f µs; the machine was busy for %.0f %%; %d events came again", s.name, r.GeneratorUs, r.ServerCPUUs, r.MachineBusy, w.Duplicates)
	cells := []any{s.name, rate, lasts, r.Created, millis(r.P50Ms), millis(r.P99Ms), millis(r.MaxMs), failures(counts(r.Errors)), lost, doubled,
		w.Delivered, millis(w.DelayP50Ms), millis(w.DelayP99Ms), w.Missing, w.Doubled}
	for _, f := range flats {
		second, last := thirds(s.looks, f.of)
		cells = append(cells, fmt.Sprintf(f.say, second/f.unit)+", "+fmt.Sprintf(f.say, last/f.unit))
	}
	row(cells...)
}

func millis(ms float64) string { return fmt.Sprintf("%.1fms", ms) }

func counts(of map[string]int64) map[string]int {
	all := map[string]int{}
	for name, n := range of {
		all[name] = int(n)
	}
	return all
}

// sizeOf returns the size of a file in bytes; 0 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
