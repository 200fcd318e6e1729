// Package providertest is what every adapter has to pass: one suite, played
// against a fake upstream of the adapter's own, which is a real HTTP server that
// behaves as the provider's documentation says. It is used by tests only.
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
)

// Ending is how a charge goes on.
type Ending string

// The endings. A fake that has none of one says so in Suite.Without.
const (
	Open          Ending = "open"      // it waits for the shopper
	Paid          Ending = "paid"      // the money is there
	Declined      Ending = "declined"  // refused for good: no other provider would take it
	SoftDeclined  Ending = "soft"      // refused; another provider may approve
	Challenged    Ending = "challenge" // a card's issuer wants to see the shopper
	Expired       Ending = "expired"   // the shopper's time is over
	Canceled      Ending = "canceled"  // ended on our demand
	WrongAmount   Ending = "amount"    // paid, with another amount
	WrongCurrency Ending = "currency"  // paid, in another currency
	Disputed      Ending = "disputed"  // paid, and the issuer takes the money back
	Nonsense      Ending = "nonsense"  // a status that is in no documentation
)

// Fake is an upstream with its books. It is safe for use by many goroutines.
type Fake interface {
	// ServeHTTP answers the documented endpoints, and refuses what the
	// documentation does not allow: another path, a field missing or of another
	// type, wrong credentials.
	http.Handler
	// Next says how the charges that follow stand when the call returns.
	Next(Ending)
	// Move brings a charge to an ending, as the shopper or the provider does later.
	Move(reference string, e Ending)
	// Notification is what the provider sends of a charge as it stands now,
	// signed. Each call is another notification of the same state, with the same
	// id where the provider's ids are of the state.
	Notification(reference string) provider.Notification
	// RefundNotification is what it sends of a charge's refund, counted from 0. A
	// fake whose provider sends none returns the zero value.
	RefundNotification(reference string, n int) provider.Notification
	// RefuseRefunds lets the refunds that follow be refused for good.
	RefuseRefunds()
	// MoveRefund brings a charge's refund, counted from 0, to an ending: Open, Paid
	// to the shopper, Declined or Nonsense.
	MoveRefund(reference string, n int, e Ending)
	// Forget lets the upstream forget all idempotency keys, as time does.
	Forget()
	// Books lists every charge that there is, in order.
	Books() []Entry
}

// Entry is a charge in an upstream's books.
type Entry struct {
	Reference string
	Local     money.Amount // what was asked for
	Ending    Ending
	Refunds   []Refund
	Gone      bool // deleted: nobody finds it
}

// Paid is what came in, of a charge that was paid.
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
	Reference string // ours; "" where the provider takes none
	Local     money.Amount
	Ending    Ending // where MoveRefund has brought it; "": as it was accepted
}

// Fault is what goes wrong between us and an upstream.
type Fault string

// The faults.
const (
	NoFault       Fault = ""
	RateLimited   Fault = "rate limited"         // refused with 429; nothing was done
	ServerError   Fault = "server error"         // 500; nothing was done
	GatewayAfter  Fault = "503 after"            // of a gateway; it was done
	BrokenAfter   Fault = "500 after"            // 500; it was done
	TimeoutBefore Fault = "timeout before"       // no answer; nothing was done
	TimeoutAfter  Fault = "timeout after"        // no answer; it was done
	Malformed     Fault = "malformed JSON"       // it was done
	Truncated     Fault = "truncated JSON"       // it was done
	HTML          Fault = "a page of a gateway"  // 200 with HTML; it was done
	Empty         Fault = "an answer of nothing" // 200 without a body; it was done
)

// done reports whether the upstream did what it was asked for.
func (f Fault) done() bool {
	return f != RateLimited && f != ServerError && f != TimeoutBefore
}

// Line is the network between an adapter and its upstream.
type Line struct {
	*httptest.Server
	mu    sync.Mutex // owns what follows
	fault Fault
	spare func(*http.Request) bool // the calls that the fault leaves alone
	calls int

	unmapped []string // the words that the adapter had no meaning for
}

// Patience is a deadline that a hanging upstream runs into.
const Patience = 300 * time.Millisecond

// Connect starts a server for an upstream.
func Connect(t testing.TB, upstream http.Handler) *Line {
	t.Helper()
	l := &Line{}
	hold := make(chan struct{})
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

// Fail lets every call that follows go wrong; NoFault ends that.
func (l *Line) Fail(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

// Spare lets faults leave the calls alone that it reports; nil spares none.
func (l *Line) Spare(calls func(*http.Request) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = calls
}

// Calls is how many calls have come.
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
