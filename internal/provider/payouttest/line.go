package payouttest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
	"github.com/cascadapay/cascada/internal/provider/providertest/record"
)

// Fault is a fault between us and a provider.
type Fault string

// The faults. With those named "after", the provider did what was requested.
const (
	NoFault      Fault = ""
	RateLimited  Fault = "429"
	BadRequest   Fault = "400 without a word"
	Unauthorized Fault = "401"
	Forbidden    Fault = "403"
	Lost         Fault = "404 of a gateway"
	ServerError  Fault = "500"
	Maintenance  Fault = "503 and a page"
	Redirect     Fault = "307 to another host"
	DropBefore   Fault = "the connection drops"
	LateBefore   Fault = "no answer"
	BrokenAfter  Fault = "500 after"
	GatewayAfter Fault = "503 after"
	DropAfter    Fault = "the connection drops after"
	LateAfter    Fault = "no answer after"
	Garbage      Fault = "broken JSON after"
	Cut          Fault = "half an answer after"
	Page         Fault = "200 and a page after"
	Nothing      Fault = "200 and nothing after"
)

// Faults lists them all.
func Faults() []Fault {
	return []Fault{
		RateLimited, BadRequest, Unauthorized, Forbidden, Lost, ServerError, Maintenance, Redirect, DropBefore, LateBefore,
		BrokenAfter, GatewayAfter, DropAfter, LateAfter, Garbage, Cut, Page, Nothing,
	}
}

// done reports whether the provider did what was requested.
func (f Fault) done() bool {
	return slices.Contains([]Fault{BrokenAfter, GatewayAfter, DropAfter, LateAfter, Garbage, Cut, Page, Nothing}, f)
}

// patience is a deadline that a silent provider exceeds.
const patience = 300 * time.Millisecond

// Line is the network between an adapter and its provider.
type Line struct {
	*httptest.Server
	elsewhere *httptest.Server // the target of redirects, which no call may follow
	hold      chan struct{}
	gate      *published.Gate // nil for a fake without a table

	mu       sync.Mutex // guards what follows
	fault    Fault
	at       int // the number of the failing call, from 1; 0: all
	calls    int // since the last Fail
	strayed  int // calls elsewhere
	now      time.Time
	unmapped []string // the statuses that the adapter does not know
}

// Connect starts a server for a provider, held to its table if it has one (package published). Its clock stands at noon.
func Connect(t testing.TB, upstream http.Handler) *Line {
	t.Helper()
	l := &Line{now: providertest.Noon, hold: make(chan struct{})}
	upstream, l.gate = published.Before(t, upstream)
	l.elsewhere = providertest.StartServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.strayed++
		_, _ = io.WriteString(w, `{}`)
	}))
	l.Server = providertest.StartServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.serve(w, r, upstream) }))
	t.Cleanup(func() {
		close(l.hold)
		l.Close()
		l.elsewhere.Close()
	})
	return l
}

// OpenAccount opens an account at a provider, for an adapter's own tests.
func OpenAccount[P payouts.Provider](t testing.TB, a provider.Adapter, credentials map[string]string, upstream http.Handler) (P, *Line) {
	t.Helper()
	l := Connect(t, upstream)
	account := l.account(credentials)
	t.Cleanup(account.Client.CloseIdleConnections)
	p, err := a.OpenPayouts(account)
	if err != nil {
		t.Fatal(err)
	}
	return p.(P), l
}

// Fail makes a call fail, counted from the next one on; at 0 all fail.
func (l *Line) Fail(f Fault, at int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault, l.at, l.calls = f, at, 0
}

// Count returns how many calls have come since the last Fail.
func (l *Line) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

// Words lists the statuses that the adapter did not know.
func (l *Line) Words() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.unmapped)
}

// Pass moves the clock ahead.
func (l *Line) Pass(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.now.Add(d)
}

// Time returns the time of the clock of both sides.
func (l *Line) Time() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// account is an account whose calls go through the line. It uses the service's own client,
// which follows no redirects and lets no call leave too late.
func (l *Line) account(credentials map[string]string) provider.Account {
	client := provider.NewClient()
	record.Add(record.Entry{Credentials: credentials})
	return provider.Account{
		ID: "acc", BaseURL: l.URL, Credentials: credentials, NotificationURL: providertest.Notifications, Client: client, Now: l.Time,
		Unmapped: func(word string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.unmapped = append(l.unmapped, word)
		},
	}
}

func (l *Line) serve(w http.ResponseWriter, r *http.Request, upstream http.Handler) {
	l.mu.Lock()
	l.calls++
	fault := l.fault
	if l.at != 0 && l.at != l.calls {
		fault = NoFault
	}
	l.mu.Unlock()
	if fault == NoFault {
		upstream.ServeHTTP(w, r)
		return
	}
	done := httptest.NewRecorder()
	if fault.done() {
		upstream.ServeHTTP(done, r)
	} else {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices when the client disconnects
	}
	l.answer(fault, w, r, done)
}

func (l *Line) answer(f Fault, w http.ResponseWriter, r *http.Request, done *httptest.ResponseRecorder) {
	const page = "<!doctype html><title>Sorry</title><p>We are being repaired."
	status := map[Fault]int{
		RateLimited: http.StatusTooManyRequests, BadRequest: http.StatusBadRequest, Unauthorized: http.StatusUnauthorized,
		Forbidden: http.StatusForbidden, ServerError: http.StatusInternalServerError, BrokenAfter: http.StatusInternalServerError,
	}[f]
	switch f {
	case Lost:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, page)
	case Maintenance, GatewayAfter, Page:
		w.Header().Set("Content-Type", "text/html")
		if f != Page {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, page)
	case Redirect:
		http.Redirect(w, r, l.elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	case DropBefore, DropAfter:
		panic(http.ErrAbortHandler) // it closes the connection
	case LateBefore, LateAfter:
		select {
		case <-l.hold:
		case <-r.Context().Done():
		}
	case Garbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":]`)
	case Cut:
		body := done.Body.Bytes()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)/2])
	case Nothing:
		w.WriteHeader(http.StatusOK)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{}`)
	}
}
