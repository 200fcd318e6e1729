package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// strange answers as no service does.
type strange struct {
	*http.ServeMux
	lock   sync.Mutex
	seen   map[string]int
	stolen bool
}

func newStrange() *strange {
	s := &strange{ServeMux: http.NewServeMux(), seen: map[string]int{}}
	s.HandleFunc("POST /api/v1/auth/token", s.token)
	s.HandleFunc("POST /api/v1/auth/refresh", s.token)
	s.HandleFunc("GET /api/v1/payments/{id}", s.payment)
	s.HandleFunc("GET /stolen", func(http.ResponseWriter, *http.Request) { s.stolen = true })
	s.HandleFunc("GET /api/v1/events/future", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"evt_1","type":"payment.teleported","sequence":3,"data":{"object":{"amount":1.10},"previous":{}}}`)
	})
	s.HandleFunc("POST /api/v1/payments/{id}/simulate", s.simulate)
	s.HandleFunc("GET /api/v1/payments", func(w http.ResponseWriter, r *http.Request) { // for ever the same page
		_, _ = io.WriteString(w, `{"data":[{"id":"TXN-1","amount":1}],"pagination":{"total":9,"limit":1,"offset":0,"pages":9,"nextCursor":"TXN-1"}}`)
	})
	s.HandleFunc("GET /api/v1/payments/export", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "id,status\n")
		panic(http.ErrAbortHandler)
	})
	s.HandleFunc("POST /api/v1/payments", s.create)
	return s
}

// create answers with the body that was sent.
func (s *strange) create(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	switch body := string(text); {
	case strings.Contains(body, "busy") && s.count("busy") == 1: // another request with this key still runs
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"error":{"code":"idempotency_conflict","type":"idempotency_error","message":"m","requestId":"r","details":{"reason":"request_in_progress"}}}`)
		return
	case strings.Contains(body, "stored"): // a repeat would get the same
		s.count("stored")
		w.Header().Set("Idempotency-Replayed", "true")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"code":"service_unavailable","type":"api_error","message":"m","requestId":"r","details":{"reason":"outcome_unknown"}}}`)
		return
	}
	reply, _ := json.Marshal(map[string]string{"transactionId": "TXN-1", "merchantOrderId": string(text)})
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(reply)
}

// simulate answers calls that must not be done twice: it refuses first and says that nothing was done, or what refuses is a proxy,
// which cannot know.
func (s *strange) simulate(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	switch first := s.count(id) == 1; {
	case id == "proxy":
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "<html>no server is available</html>")
	case first:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"code":"service_unavailable","type":"api_error","message":"m","requestId":"r"}}`)
	default:
		_, _ = io.WriteString(w, `{"id":"TXN-1","status":"completed","eventsFired":[]}`)
	}
}

// token answers with a token that has ended already.
func (s *strange) token(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"accessToken":"access","refreshToken":"refresh","expiresIn":-5}`)
}

func (s *strange) count(id string) int {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.seen[id]++
	return s.seen[id]
}

const plain = `{"id":"TXN-1","amount":1,"status":"pending"}`

// replies are whole replies by the payment's id: the status, the header after it, and the body.
var replies = map[string]struct {
	status int
	header [2]string
	body   string
}{
	"unknown": {200, [2]string{}, `{"id":"TXN-1","status":"teleported","amount":12345678901234567890.123456789012345678,"fees":{"total":25,"carbon":0.10},
		"newBig":123456789012345678901234567890,"newSmall":5,"newRate":0.30000000000000000001,"newObject":{"deep":[1,"a"]},"__proto__":{"x":1},"metadata":{"n":"0.10"}}`},
	"redirect":  {302, [2]string{"Location", "/stolen"}, ""},
	"html":      {200, [2]string{"Content-Type", "text/html"}, "<html>Sign in to the network</html>"},
	"empty":     {200, [2]string{}, ""},
	"deep":      {200, [2]string{}, strings.Repeat(`{"a":[`, 50_000)},
	"later":     {429, [2]string{"Retry-After", "3600"}, `{"error":{"code":"rate_limited","type":"rate_limit_error","message":"m","requestId":"r"}}`},
	"brand-new": {418, [2]string{}, `{"error":{"code":"brand_new","type":"x","message":"m","requestId":"r","details":{"limit":{"min":0.10,"max":20000000000000000.01},"reason":"why","new":{"a":1}}}}`},
	"latin":     {200, [2]string{}, "{\"id\":\"caf\xe9\"}"},
}

func (s *strange) payment(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if reply, known := replies[id]; known {
		if reply.header[0] != "" {
			w.Header().Set(reply.header[0], reply.header[1])
		}
		w.WriteHeader(reply.status)
		_, _ = io.WriteString(w, reply.body)
		return
	}
	switch id {
	case "short":
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, plain)
		panic(http.ErrAbortHandler)
	case "chunks":
		_, _ = io.WriteString(w, plain[:20])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case "slow":
		<-r.Context().Done()
	case "date": // a clock that stands in another century
		if s.count(id) == 1 {
			w.Header()["Date"] = []string{"Thu, 01 Jan 2099 00:00:00 GMT"}
			w.Header().Set("Retry-After", "Thu, 01 Jan 2099 00:00:00 GMT")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, plain)
	case "stale":
		if s.count(id) == 1 {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"code":"token_expired","type":"authentication_error","message":"m","requestId":"r"}}`)
			return
		}
		_, _ = io.WriteString(w, plain)
	default:
		_, _ = fmt.Fprintf(w, `{"id":%q,"amount":1}`, id)
	}
}

func (s *strange) check(t *testing.T) {
	t.Helper()
	if s.stolen {
		t.Error("a redirect was followed")
	}
	for _, once := range []string{"stored", "proxy"} {
		if n := s.count(once); n != 2 { // with this one
			t.Errorf("%s was sent %d times, want once", once, n-1)
		}
	}
}
