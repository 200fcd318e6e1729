package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// redialPause is the pause between two tries to connect.
const redialPause = 50 * time.Millisecond

// expectedRate is the rate on one connection, in payments a second, for which memory is
// reserved; above it the slice grows.
const expectedRate = 1000

// expected is the expected number of payments on one connection.
func (c Config) expected() int {
	each := float64(expectedRate)
	if c.Rate > 0 {
		each = min(each, 1+c.Rate/float64(c.Connections))
	}
	return int((c.Duration.Seconds() + 1) * each)
}

// worker is one connection: it sends a payment, waits for the reply, and continues. Only
// its goroutine touches it until it ends.
type worker struct {
	address   string
	templates []template
	next      int // template
	order     []byte
	requests  uint64
	keep      []bool // by template: whether its payments' ids are kept, to compare with the events
	pace      pace

	from, until time.Time // the measured window
	progress    *progress // nil if there is no progress to report

	latencies     []uint32 // µs, of payments within the window
	created       int64    // payments, also outside the window
	statuses      map[string]int64
	failures      map[string]int64 // all other replies, also outside the window
	completed     []string         // ids, with keepIDs
	sent, arrived int64            // bytes within the window
}

func newWorker(number int, run uint64, address string, templates []template, m *measured, c Config) *worker {
	w := &worker{
		address: address, templates: templates, next: number % len(templates), order: newOrder(run, number), keep: make([]bool, len(templates)),
		from: m.from, until: m.until, progress: m.progress, latencies: make([]uint32, 0, c.expected()),
		statuses: map[string]int64{}, failures: map[string]int64{},
	}
	for i, k := range c.kinds() {
		w.keep[i] = c.Webhooks && k == well
	}
	return w
}

// work opens connections, one after the other, until the window ends.
func (w *worker) work(ctx context.Context) {
	dialer := net.Dialer{Timeout: graceTime}
	for ctx.Err() == nil && time.Now().Before(w.until) {
		conn, err := dialer.DialContext(ctx, "tcp", w.address)
		if err != nil {
			w.fail("connect", err)
			select {
			case <-time.After(redialPause):
			case <-ctx.Done():
			}
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		if err := w.converse(conn); err != nil && ctx.Err() == nil {
			w.fail("connection", err)
		}
		stop()
		_ = conn.Close() // nothing is in progress on it
	}
}

// converse sends payments over a connection until the window ends, the server
// closes it, or it breaks.
func (w *worker) converse(conn net.Conn) error {
	// One deadline for all requests, because setting one for each is slow.
	if err := conn.SetDeadline(w.until.Add(graceTime)); err != nil {
		return err
	}
	reader := bufio.NewReaderSize(conn, readerSize)
	scratch := make([]byte, readerSize)
	var request []byte
	for began := w.pace.wait(time.Now(), w.until); began.Before(w.until); {
		w.requests++
		shop := w.next
		putHex(w.order[orderRequest:orderLength], w.requests)
		request = w.templates[w.next].fill(request, w.order)
		if w.next++; w.next == len(w.templates) {
			w.next = 0
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
		p, err := readReply(reader, scratch)
		if err != nil {
			return err
		}
		ended := time.Now()
		w.count(p, shop, began, ended, len(request))
		if p.last {
			return nil
		}
		began = w.pace.wait(ended, w.until)
	}
	return nil
}

var statusCompleted = []byte("completed")

// count counts a reply to a shop's payment.
func (w *worker) count(p reply, shop int, began, ended time.Time, sent int) {
	inside := !ended.Before(w.from) && ended.Before(w.until)
	if inside {
		w.sent += int64(sent)
		w.arrived += int64(p.size)
	}
	if p.status != 201 || p.replayed {
		reason := strconv.Itoa(p.status) + " " + string(text(p.body, `"code":"`))
		if p.status == 201 {
			reason = "201 replayed" // no request is sent twice
		}
		w.failures[reason]++
		w.progress.failed()
		return
	}
	w.created++
	took := uint32(min(ended.Sub(began).Microseconds(), 1<<32-1))
	w.progress.add(took)
	if status := text(p.body, `"status":"`); bytes.Equal(status, statusCompleted) {
		w.statuses["completed"]++
		if w.keep[shop] {
			w.completed = append(w.completed, string(text(p.body, `"transactionId":"`)))
		}
	} else {
		w.statuses[string(status)]++
	}
	if inside {
		w.latencies = append(w.latencies, took)
	}
}

// fail counts the reason why a payment's reply is missing: it is not known whether the
// payment was made.
func (w *worker) fail(what string, err error) {
	reason := "failed"
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		reason = "timed out"
	case errors.Is(err, syscall.ECONNREFUSED):
		reason = "refused"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		reason = "closed by the server"
	case errors.Is(err, errMalformed):
		reason = "not HTTP as we know it"
	}
	w.failures[what+" "+reason]++
	w.progress.failed()
}
