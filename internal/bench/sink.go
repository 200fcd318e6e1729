package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

// verifyEach is how many deliveries there are for one whose signature is verified; each
// shop's first one is verified too.
const verifyEach = 64

// sink is a webhook endpoint on loopback: a server that does as little as possible. It
// accepts each delivery and counts.
type sink struct {
	listener net.Listener
	serving  sync.WaitGroup
	kinds    []kind        // by shop
	ending   chan struct{} // closed when the sink closes

	verifyAll bool // verify every signature, not a sample

	mu          sync.Mutex // guards what follows
	conns       map[net.Conn]struct{}
	closed      bool
	from, until time.Time // the measured window
	secrets     []string  // by shop
	verified    []bool    // by shop: its first delivery was verified
	checking    int       // signatures that are being verified now
	got         tally
}

// tally is the deliveries that arrived.
type tally struct {
	completed  map[string]string // the id of the first payment.completed that arrived, by payment
	delays     []uint32          // µs, of events created within the window
	inside     int64             // payment.completed that arrived within the window
	duplicates int64             // repeated events
	doubled    int64             // another payment.completed of a payment that had one
	others     int64             // events other than payment.completed
	checked    int64             // signatures
	bad        int64             // signatures
	malformed  int64             // requests that are not deliveries, and failed connections
	troubled   int64             // deliveries to silent or slow endpoints
	lastAt     time.Time
}

// listen starts a sink whose endpoints behave as kinds says. The caller must close it.
func listen(kinds []kind) (*sink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	s := &sink{listener: l, kinds: kinds, ending: make(chan struct{}), conns: map[net.Conn]struct{}{}, got: tally{completed: map[string]string{}}}
	s.serving.Go(s.accept)
	return s, nil
}

// url is the endpoint of a shop.
func (s *sink) url(shop int) string {
	if s.kind(shop) == refused {
		return refusedURL
	}
	return fmt.Sprintf("http://%s/%d", s.listener.Addr(), shop)
}

// kind is the behaviour of a shop's endpoint; healthy by default.
func (s *sink) kind(shop int) kind {
	if shop < 0 || shop >= len(s.kinds) {
		return well
	}
	return s.kinds[shop]
}

// expect adds the secret of the next shop.
func (s *sink) expect(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets = append(s.secrets, secret)
	s.verified = append(s.verified, false)
}

func (s *sink) window(from, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from, s.until = from, until
}

// accept serves until the listener closes. The server decides how many
// connections it opens.
func (s *sink) accept() {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		s.mu.Lock()
		switch {
		case err != nil: // for example, when the process has too many open files
			s.got.malformed++
		case s.closed:
			_ = conn.Close()
		default:
			s.conns[conn] = struct{}{}
			s.serving.Go(func() { s.serve(conn) })
		}
		s.mu.Unlock()
	}
}

// close ends the sink and waits for its goroutines.
func (s *sink) close() {
	_ = s.listener.Close()
	close(s.ending)
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.serving.Wait()
}

var thanks = []byte("HTTP/1.1 204 No Content\r\n\r\n")

// serve answers deliveries on one connection until it closes.
func (s *sink) serve(conn net.Conn) {
	reader := bufio.NewReaderSize(conn, readerSize)
	var d delivery
	for {
		err := d.read(reader)
		if err == nil && s.kind(d.shop) == well {
			s.count(d)
		} else if err == nil {
			s.hold(d.shop)
		}
		if err == nil {
			_, err = conn.Write(thanks)
		}
		if err != nil {
			s.mu.Lock()
			if errors.Is(err, errMalformed) {
				s.got.malformed++
			}
			delete(s.conns, conn)
			s.mu.Unlock()
			_ = conn.Close()
			return
		}
	}
}

// hold makes a delivery wait at a silent or slow endpoint.
func (s *sink) hold(shop int) {
	s.mu.Lock()
	s.got.troubled++
	s.mu.Unlock()
	var answer <-chan time.Time // never, for a silent one
	if s.kind(shop) == slow {
		timer := time.NewTimer(slowAnswer)
		defer timer.Stop()
		answer = timer.C
	}
	select {
	case <-answer:
	case <-s.ending:
	}
}

// delivery is one request to the sink. Its slices are used again for the next.
type delivery struct {
	shop      int
	signature []byte
	body      []byte
}

// read reads the next delivery of a connection.
func (d *delivery) read(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	target, ok := bytes.CutPrefix(line, []byte("POST /"))
	number, _, _ := bytes.Cut(target, []byte(" "))
	if d.shop, err = strconv.Atoi(string(number)); err != nil || !ok {
		return errMalformed
	}
	length := -1
	d.signature = d.signature[:0]
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		if value, ok := header(line, "Content-Length"); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return errMalformed
			}
		} else if value, ok := header(line, sender.SignatureHeader); ok {
			d.signature = append(d.signature, value...)
		}
	}
	if length < 0 || length > maxBody {
		return errMalformed
	}
	d.body = slices.Grow(d.body[:0], length)[:length]
	_, err = io.ReadFull(r, d.body)
	return err
}

// count counts a delivery.
func (s *sink) count(d delivery) {
	now := time.Now()
	completed := string(text(d.body, `"type":"`)) == "payment.completed"
	created, err := time.Parse(time.RFC3339, string(text(d.body, `"createdAt":"`)))
	payment, event := text(d.body, `"object":{"id":"`), text(d.body, `{"id":"`)

	s.mu.Lock()
	if err != nil || len(payment) == 0 || d.shop < 0 || d.shop >= len(s.secrets) {
		s.got.malformed++
		s.mu.Unlock()
		return
	}
	before, again := s.got.completed[string(payment)]
	switch {
	case !completed:
		s.got.others++
	case again && before == string(event):
		s.got.duplicates++
	case again:
		s.got.doubled++
	default:
		s.got.completed[string(payment)] = string(event)
		s.got.lastAt = now
		if !now.Before(s.from) && now.Before(s.until) {
			s.got.inside++
		}
		if !created.Before(s.from) && created.Before(s.until) {
			s.got.delays = append(s.got.delays, uint32(max(0, min(now.Sub(created).Microseconds(), 1<<32-1))))
		}
	}
	verify := s.verifyAll || !s.verified[d.shop] || len(s.got.completed)%verifyEach == 0
	s.verified[d.shop] = true
	secret := s.secrets[d.shop]
	if verify {
		s.checking++
	}
	s.mu.Unlock()
	if verify {
		s.check(d, secret, now)
	}
}

// check verifies a delivery's signature as a receiver should.
func (s *sink) check(d delivery, secret string, now time.Time) {
	err := sender.Verify(string(d.signature), d.body, secret, now, sender.Tolerance)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checking--
	s.got.checked++
	if err != nil {
		s.got.bad++
	}
}

// await waits until the event of every completed payment has arrived, and compares payment
// by payment, not only their number.
func (s *sink) await(ctx context.Context, m *measured) *Webhooks {
	made := map[string]struct{}{}
	for _, w := range m.workers {
		for _, id := range w.completed {
			made[id] = struct{}{}
		}
	}
	deadline := time.Now().Add(awaitTime)
	poll := time.NewTicker(awaitPoll)
	defer poll.Stop()
	for {
		missing := s.missing(made)
		if missing == 0 && s.allChecked() || ctx.Err() != nil || time.Now().After(deadline) {
			return s.report(m, missing, len(made))
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
		}
	}
}

// allChecked reports whether no signature is being verified now.
func (s *sink) allChecked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checking == 0
}

// arrived is how many payments' events have arrived. A nil sink has none.
func (s *sink) arrived() int64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.got.completed))
}

// missing counts the payments whose event has not arrived.
func (s *sink) missing(made map[string]struct{}) (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range made {
		if _, ok := s.got.completed[id]; !ok {
			n++
		}
	}
	return n
}

func (s *sink) report(m *measured, missing int64, made int) *Webhooks {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.got.delays)
	late := s.got.lastAt.Sub(m.until).Seconds()
	return &Webhooks{
		Delivered: int64(len(s.got.completed)), PerSecond: float64(s.got.inside) / m.until.Sub(m.from).Seconds(),
		DelayP50Ms: percentile(s.got.delays, 50), DelayP99Ms: percentile(s.got.delays, 99), DelayMaxMs: percentile(s.got.delays, 100),
		LastAfterSeconds: max(0, late), Missing: missing,
		Unexpected: int64(len(s.got.completed)-made) + missing, Duplicates: s.got.duplicates, Doubled: s.got.doubled,
		OtherEvents: s.got.others, Troubled: s.got.troubled, SignaturesChecked: s.got.checked, SignaturesBad: s.got.bad, Malformed: s.got.malformed,
	}
}
