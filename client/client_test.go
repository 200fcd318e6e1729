package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
)

// ping makes one call of a server that is not the service.
func ping(t *testing.T, url string) (client.Pong, error) {
	t.Helper()
	api, err := client.New(client.Config{URL: url, SecretKey: "sk"})
	if err != nil {
		t.Fatal(err)
	}
	return api.Ping(t.Context())
}

func TestDecimalsKeepTheirDigits(t *testing.T) {
	for _, text := range []string{"0", "25.50", "-1", "100000", "0.10000000000000000001", "1e3"} {
		body, err := json.Marshal(client.Decimal(text))
		if err != nil || string(body) != text {
			t.Errorf("%s in JSON is %s, %v, want the same digits", text, body, err)
		}
		var d client.Decimal
		if err := json.Unmarshal([]byte(text), &d); err != nil || string(d) != text {
			t.Errorf("%s was read as %s, %v", text, d, err)
		}
	}
	if body, err := json.Marshal(client.Decimal("")); err != nil || string(body) != "null" {
		t.Errorf(`"" in JSON is %s, %v, want null`, body, err)
	}
	for _, text := range []string{"25,50", "1 ", " 1", "abc", "NaN", "1}", `"1"`, "+1", ".5", "0x10", "1_000"} {
		if body, err := json.Marshal(client.Decimal(text)); err == nil {
			t.Errorf("%q in JSON is %s, want an error", text, body)
		}
	}
	for _, text := range []string{`"1"`, `true`, `{}`, `[1]`} {
		var d client.Decimal
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s was read as %q, want an error", text, d)
		}
	}
}

func TestRepliesThatAreNotOfTheServiceAreErrorsToo(t *testing.T) {
	cases := []struct {
		status       int
		body, header string
		want         string
	}{
		{502, "<html>bad gateway</html>", "", "cascada: 502: <html>bad gateway</html>"},
		{503, "", "7", "cascada: 503: Service Unavailable"},
		{307, `{"ok":true}`, "", `cascada: 307: {"ok":true}`},
		{400, `{"error":"plain"}`, "", `cascada: 400: {"error":"plain"}`},
	}
	for _, c := range cases {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.Header().Set("Retry-After", c.header)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		_, err := ping(t, server.URL)
		server.Close()
		var e *client.Error
		if !errors.As(err, &e) || e.Status != c.status || e.Error() != c.want || (e.RetryAfter == 7*time.Second) != (c.header == "7") {
			t.Errorf("a reply of %d ended with %v, want %s", c.status, err, c.want)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	defer server.Close()
	if _, err := ping(t, server.URL); err == nil {
		t.Error("a page was read as a reply, want an error")
	}
}
