package e2e

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// flaky is a proxy in front of the service on a bad day. A request with an Idempotency-Key is, try by try: done, and its answer
// lost; refused by the proxy with 503 and with 429; done, and its answer cut off in the middle; passed. A reading request is
// refused once. A wallet, which takes no key, is made, and the answer lost.
type flaky struct {
	url  string
	lock sync.Mutex
	// tries counts the requests of each key or address, and keys the keys of each address and body.
	tries map[string]int
	keys  map[string]map[string]bool
}

func newFlaky(url string) *flaky {
	return &flaky{url: url, tries: map[string]int{}, keys: map[string]map[string]bool{}}
}

// try counts a request.
func (f *flaky) try(r *http.Request, body []byte) int {
	f.lock.Lock()
	defer f.lock.Unlock()
	key, what := r.Header.Get("Idempotency-Key"), r.Method+" "+r.URL.Path+" "+string(body)
	if key != "" {
		if f.keys[what] == nil {
			f.keys[what] = map[string]bool{}
		}
		f.keys[what][key] = true
		what = key
	}
	f.tries[what]++
	return f.tries[what]
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	try := f.try(r, body)
	keyed, reading := r.Header.Get("Idempotency-Key") != "", r.Method == http.MethodGet
	switch {
	case keyed && try == 2, reading && try == 1:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "<html>no server is available</html>")
		return
	case keyed && try == 3:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	status, header, reply := f.forward(r, body)
	if keyed && try == 1 || r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/wallets") {
		panic(http.ErrAbortHandler) // the connection ends without an answer
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(reply)))
	w.WriteHeader(status)
	if keyed && try == 4 {
		_, _ = w.Write(reply[:len(reply)/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(reply)
}

// forward sends a request to the service.
func (f *flaky) forward(r *http.Request, body []byte) (int, http.Header, []byte) {
	request, err := http.NewRequest(r.Method, f.url+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return http.StatusBadGateway, nil, nil
	}
	request.Header = r.Header.Clone()
	request.Header.Set("Accept-Encoding", "identity")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return http.StatusBadGateway, nil, nil
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return http.StatusBadGateway, nil, nil
	}
	return reply.StatusCode, reply.Header, text
}

// check proves that each request with a key was sent five times with the same one.
func (f *flaky) check(t *testing.T) {
	t.Helper()
	f.lock.Lock()
	defer f.lock.Unlock()
	if len(f.keys) != 5 {
		t.Errorf("%d requests had a key, want 5", len(f.keys))
	}
	for what, keys := range f.keys {
		if len(keys) != 1 {
			t.Errorf("%s was sent with %d keys, want one", what, len(keys))
		}
		for key := range keys {
			if f.tries[key] != 5 {
				t.Errorf("%s was sent %d times, want 5", what, f.tries[key])
			}
		}
	}
}
