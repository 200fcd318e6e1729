package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
)

// A request with credentials goes only to its own address.
func TestClientFollowsNoRedirect(t *testing.T) {
	visited := 0
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visited++ }))
	defer thief.Close()
	upstream := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer upstream.Close()
	r, err := http.NewRequest(http.MethodPost, upstream.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	reply, none := provider.Do(provider.NewClient(), r)
	if none != nil || reply.Status != http.StatusTemporaryRedirect || visited != 0 {
		t.Errorf("got %+v %+v and %d requests elsewhere, want the redirect itself", reply, none, visited)
	}
}

func TestClientSpeaksHTTPSExceptToThisMachine(t *testing.T) {
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	for address, want := range map[string]string{
		"http://api.example.com/charges": "a provider must be called over https",
		"ftp://127.0.0.1/":               "a provider must be called over https",
		untrusted.URL:                    "certificate",
	} {
		r, err := http.NewRequest(http.MethodPost, address, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := provider.NewClient().Do(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %q", address, err, want)
		}
	}
	for address, good := range map[string]bool{
		"": true, "https://api.example.com": true, "https://api.example.com/v1": true, "http://127.0.0.1:8099": true, "http://localhost:1": true,
		"http://[::1]:1": true, "http://api.example.com": false, "http://127.0.0.1.example.com": false, "https://": false, "api.example.com": false,
		"https://me:secret@api.example.com": false, "https://api.example.com?key=1": false, "https://api.example.com/#a": false, "%": false,
	} {
		if err := provider.CheckBaseURL(address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// A call is made once. The transport would repeat one with an idempotency key if a reused connection
// breaks, and the answer to the second call would be taken for the first's.
func TestCallsAreMadeOnce(t *testing.T) {
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key", "Other"} {
		var calls atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Error(err)
			}
			if r.Method == http.MethodGet { // it leaves a connection for reuse
				return
			}
			if calls.Add(1) > 1 {
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			connection, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			connection.Close()
		}))
		client := provider.NewClient()
		first, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, first.Body); err != nil {
			t.Fatal(err)
		}
		first.Body.Close()
		request, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader("a charge"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(header, "key-1")
		answer, err := client.Do(request)
		if err == nil {
			answer.Body.Close()
			t.Errorf("%s: the interrupted call returned %d", header, answer.StatusCode)
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("%s: the call was made %d times", header, n)
		}
		server.Close()
	}
}
