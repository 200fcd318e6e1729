package checkout

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
)

// takes chooses the card in a session, as a shopper's browser does, and returns the payment's id.
func (s *paged) takes(t *testing.T, path string) (id string) {
	t.Helper()
	_, _, h := s.Browse(t, http.MethodPost, path, url.Values{"method": {s.card}, "document-" + s.card: {"52998224725"}}.Encode())
	id, found := strings.CutPrefix(h.Get("Location"), "/c/")
	if id, _, _ = strings.Cut(id, "?"); !found {
		t.Fatalf("the choice leads to %q, want a payment", h.Get("Location"))
	}
	return id
}

// session opens a session and returns the path of its page.
func (s *paged) session(t *testing.T) string {
	t.Helper()
	return "/checkout/" + s.live.Session(t, `{"amount":108,"currency":"BRL","country":"BR","returnUrl":"https://shop.example/thanks",`+harness.Ana+`}`)
}

// The proof that the first page has ended says nothing of the second: a payment that went on to the next provider meanwhile is not
// called off, as its page can be paid (PAY-39).
func TestWayIsNotChangedWithTheProofOfAnotherPage(t *testing.T) {
	eachPaged(t, func(t *testing.T, s *paged) {
		id := s.takes(t, s.session(t))
		s.refuses(t, id, 1, decline.DoNotHonor)
		var first atomic.Bool
		ended, release := make(chan struct{}), make(chan struct{})
		s.lines[0].Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method != http.MethodDelete || !first.CompareAndSwap(false, true) {
				next.ServeHTTP(w, r)
				return
			}
			answer := httptest.NewRecorder() // the page ends, and the answer is slow
			next.ServeHTTP(answer, r)
			close(ended)
			<-release
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		})
		var click sync.WaitGroup
		var to string
		click.Go(func() { to = callOff(t, s.Instance, id) })
		<-ended
		s.leads(t, id, s.page(id, 2)) // the same shopper, in another tab
		close(release)
		click.Wait()
		s.is(t, id, pay.Pending, 2)
		if to != "/pay/"+id+"?lang=en" {
			t.Errorf("the other way leads to %s, while the second page is open", to)
		}
		s.lines[1].PayPage(t, ref(id, 2))
		s.hears(t, id, 2)
		s.is(t, id, pay.Completed, 2)
		s.agrees(t, 1, 0)
	})
}

// While money of the order is held, nobody is asked to pay at another provider, whatever an old tab still shows (PAY-39).
func TestNothingIsTriedAgainWhileTheOrdersMoneyIsHeld(t *testing.T) {
	eachPaged(t, func(t *testing.T, s *paged) {
		lied := s.takes(t, s.session(t))
		s.lines[0].Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) { // its page stays open
			if r.Method == http.MethodDelete {
				_, _ = w.Write([]byte(`{"status":"canceled","reference":"` + ref(lied, 1) + `"}`))
				return
			}
			next.ServeHTTP(w, r)
		})
		again := callOff(t, s.Instance, lied)
		s.lines[0].Fails(nil)
		id := s.takes(t, again)
		s.refuses(t, id, 1, decline.DoNotHonor)
		s.lines[0].PayPage(t, ref(lied, 1))
		s.hears(t, lied, 1) // late money
		s.leads(t, id, "/pay/"+id+"?lang=en")
		s.is(t, id, pay.Pending, 1)
		if asked := s.lines[1].Charges(); len(asked) != 0 {
			t.Errorf("the second provider has %v", asked)
		}
		s.agrees(t, 0, 1)
	})
}
