package provider_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
)

// A request that holds credentials goes where it was sent, or nowhere.
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
		t.Errorf("got %+v %+v and %d visits elsewhere, want the redirect itself", reply, none, visited)
	}
}

func TestClientSpeaksHTTPSExceptToThisMachine(t *testing.T) {
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	for address, want := range map[string]string{
		"http://api.example.com/charges": "a provider is called over https",
		"ftp://127.0.0.1/":               "a provider is called over https",
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
