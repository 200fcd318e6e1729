// Package providertest is the suite that every adapter has to pass. It runs against the
// adapter's own fake provider, a real HTTP server that follows the provider's
// documentation. Only tests use it.
package providertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// Ending is how a charge goes on.
type Ending string

// The endings. A fake without one says so in Suite.Without.
const (
	Open          Ending = "open"      // it waits for the shopper
	Paid          Ending = "paid"      // the money is there
	Declined      Ending = "declined"  // refused for good: every other provider would refuse too
	SoftDeclined  Ending = "soft"      // refused; another provider may approve
	Challenged    Ending = "challenge" // a card's issuer requires a challenge
	Expired       Ending = "expired"   // the shopper's time has ended
	Canceled      Ending = "canceled"  // ended at our request
	WrongAmount   Ending = "amount"    // paid, with another amount
	WrongCurrency Ending = "currency"  // paid, in another currency
	Disputed      Ending = "disputed"  // paid, and the issuer takes the money back
	Nonsense      Ending = "nonsense"  // a status that is in no documentation
)

// Fake is a provider with its books. It is safe for concurrent use.
type Fake interface {
	// ServeHTTP answers the documented endpoints, and refuses what the documentation does not
	// allow: another path, a missing field or one of another type, wrong credentials.
	http.Handler
	// Next sets the state of later charges when the call returns.
	Next(Ending)
	// Move brings a charge to an ending, as the shopper or the provider does later.
	Move(reference string, e Ending)
	// Notification is the provider's signed notification of a charge in its present state.
	// Each call is another notification of the same state, with the same id if the provider's
	// ids belong to the state.
	Notification(reference string) provider.Notification
	// RefundNotification is the notification of a charge's refund, counted from 0. If the
	// provider sends none, it is the zero value.
	RefundNotification(reference string, n int) provider.Notification
	// RefuseRefunds refuses all later refunds for good.
	RefuseRefunds()
	// MoveRefund brings a charge's refund, counted from 0, to an ending: Open, Paid
	// to the shopper, Declined or Nonsense.
	MoveRefund(reference string, n int, e Ending)
	// Forget makes the provider forget all idempotency keys, as it does in time.
	Forget()
	// Books lists every charge, in order.
	Books() []Entry
}

// Entry is a charge in an upstream's books.
type Entry struct {
	Reference string
	Local     money.Amount // the requested amount
	Ending    Ending
	Refunds   []Refund
	Gone      bool // deleted: it cannot be found
}

// Paid is the amount of a paid charge that came in.
func (e Entry) Paid() money.Amount {
	paid := e.Local
	switch e.Ending {
	case WrongAmount:
		paid.Minor--
	case WrongCurrency:
		paid.Currency = "EUR"
	}
	return paid
}

// Refund is a refund in an upstream's books.
type Refund struct {
	Reference string // ours; "" if the provider accepts none
	Local     money.Amount
	Ending    Ending // where MoveRefund has brought it; "": as it was accepted
}

// Fault is a fault between us and a provider.
type Fault string

// The faults.
const (
	NoFault       Fault = ""
	RateLimited   Fault = "rate limited"        // refused with 429; nothing was done
	ServerError   Fault = "server error"        // 500; nothing was done
	GatewayAfter  Fault = "503 after"           // of a gateway; it was done
	BrokenAfter   Fault = "500 after"           // 500; it was done
	TimeoutBefore Fault = "timeout before"      // no answer; nothing was done
	TimeoutAfter  Fault = "timeout after"       // no answer; it was done
	Malformed     Fault = "malformed JSON"      // it was done
	Truncated     Fault = "truncated JSON"      // it was done
	HTML          Fault = "a page of a gateway" // 200 with HTML; it was done
	Empty         Fault = "an empty answer"     // 200 without a body; it was done
)

// done reports whether the provider did what was requested.
func (f Fault) done() bool {
	return f != RateLimited && f != ServerError && f != TimeoutBefore
}

// Line is the network between an adapter and its upstream.
type Line struct {
	*httptest.Server
	mu    sync.Mutex // guards what follows
	fault Fault
	spare func(*http.Request) bool // the calls that the fault does not affect
	calls int
	gate  *published.Gate // nil for a fake without a table

	unmapped []string // the statuses that the adapter did not know
}

// Patience is a deadline that a silent provider exceeds.
const Patience = 300 * time.Millisecond

// Connect starts a server for an upstream, held to its table if it has one (package published).
func Connect(t testing.TB, upstream http.Handler) *Line {
	t.Helper()
	l := &Line{}
	hold := make(chan struct{})
	upstream, l.gate = published.Before(t, upstream)
	l.Server = StartServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.calls++
		fault := l.fault
		if l.spare != nil && l.spare(r) {
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
			_, _ = io.Copy(io.Discard, r.Body) // so that the server sees the client go
		}
		fault.answer(w, r, done, hold)
	}))
	t.Cleanup(func() {
		close(hold)
		l.Close()
	})
	return l
}

// Fail makes every later call fail; NoFault ends that.
func (l *Line) Fail(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

// Spare excepts the calls for which it returns true from faults; nil excepts none.
func (l *Line) Spare(calls func(*http.Request) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = calls
}

// Calls returns how many calls have come.
func (l *Line) Calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

func (f Fault) answer(w http.ResponseWriter, r *http.Request, done *httptest.ResponseRecorder, hold <-chan struct{}) {
	const page = "<!doctype html><title>502 Bad Gateway</title>"
	switch f {
	case RateLimited:
		w.Header().Set("Retry-After", "1")
		http.Error(w, `{"message":"too many requests"}`, http.StatusTooManyRequests)
	case ServerError, BrokenAfter:
		http.Error(w, `{"message":"internal error"}`, http.StatusInternalServerError)
	case TimeoutBefore, TimeoutAfter:
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	case GatewayAfter:
		http.Error(w, "upstream connect error or disconnect/reset before headers", http.StatusServiceUnavailable)
	case Malformed:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":]`)
	case Truncated:
		body := done.Body.Bytes()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)/2])
	case HTML:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, page)
	case Empty:
		w.WriteHeader(http.StatusOK)
	}
}
