package mcp

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// listening is a door over HTTP, and its address.
func listening(t *testing.T, c Command, d *door) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	at, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- c.listen(ctx, d, func(where string) { at <- strings.TrimPrefix(where, "at ") }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	select {
	case address := <-at:
		return address
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	return ""
}

// bearer sends a secret with each request.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// An agent works over HTTP as it does over standard input, with the secret if there is one.
func TestAgentsCallOverHTTP(t *testing.T) {
	service := newFake(t, always(http.StatusOK, `{"id":"TXN-1","status":"completed"}`))
	secret := strings.Repeat("s3cret-", 6)
	for name, c := range map[string]struct {
		command Command
		client  *http.Client
	}{
		"without a secret": {Command{HTTP: "127.0.0.1:0"}, http.DefaultClient},
		"with a secret":    {Command{HTTP: "127.0.0.1:0", HTTPSecret: secret}, &http.Client{Transport: bearer(secret)}},
		"not on loopback":  {Command{HTTP: "0.0.0.0:0", HTTPSecret: secret}, &http.Client{Transport: bearer(secret)}},
	} {
		address := strings.Replace(listening(t, c.command, opened(t, service.URL, testKey, false)), "[::]", "127.0.0.1", 1)
		session := connect(t, &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: c.client, DisableStandaloneSSE: true})
		if all, _, failed := uses(t, session, "get_payment", map[string]any{"id": "TXN-1"}); failed || !strings.Contains(all, "completed") {
			t.Errorf("%s: %s", name, all)
		}
		if all, changing := names(t, session); len(all) != 21 || len(changing) != 0 {
			t.Errorf("%s: %d tools, %v", name, len(all), changing)
		}
	}
	if err := (Command{HTTP: "0.0.0.0:0"}).listen(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), secretVariable) {
		t.Errorf("it listens for everybody without a secret: %v", err)
	}
}

// A call over HTTP that its agent gives up ends, and so does the call of the service.
func TestCallsOverHTTPAreCancelled(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	service := newFake(t, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	})
	address := listening(t, Command{HTTP: "127.0.0.1:0"}, opened(t, service.URL, testKey, false))
	session := connect(t, &sdk.StreamableClientTransport{Endpoint: address, DisableStandaloneSSE: true})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "get_payment", Arguments: map[string]any{"id": "TXN-1"}})
		failed <- err
	}()
	<-began
	cancel()
	if err := <-failed; err == nil {
		t.Error("a cancelled call has a result")
	}
	<-ended
}

// Pages in browsers are refused, also by a name that leads to this machine, and so is whoever lacks the secret.
func TestStrangersAreRefused(t *testing.T) {
	asked := false
	service := newFake(t, func(w http.ResponseWriter, r *http.Request) { asked = true; always(http.StatusOK, `{}`)(w, r) })
	secret := strings.Repeat("s3cret-", 6)
	plain := listening(t, Command{HTTP: "127.0.0.1:0", AllowOrigin: []string{"http://localhost:6274"}}, opened(t, service.URL, testKey, false))
	locked := listening(t, Command{HTTP: "127.0.0.1:0", HTTPSecret: secret}, opened(t, service.URL, testKey, false))
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_payment","arguments":{"id":"TXN-1"}}}`
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for name, c := range map[string]struct {
		address, method, host, path, body string
		header                            http.Header
		want                              int
	}{
		"an agent":               {address: plain, body: list, want: 200},
		"by localhost":           {address: plain, body: list, host: "localhost:1", want: 200},
		"rebinding":              {address: plain, body: call, host: "evil.example", want: 403},
		"rebinding with a port":  {address: plain, body: call, host: "127.0.0.1.evil.example:80", want: 403},
		"a name below localhost": {address: plain, body: call, host: "evil.localhost", want: 403},
		"a page":                 {address: plain, body: call, header: http.Header{"Origin": {"http://evil.example"}}, want: 403},
		"a page of this machine": {address: plain, body: call, header: http.Header{"Origin": {"http://localhost:3000"}}, want: 403},
		"a page without a name":  {address: plain, body: call, header: http.Header{"Origin": {"null"}}, want: 403},
		"a link in a page":       {address: plain, method: "GET", header: http.Header{"Sec-Fetch-Site": {"cross-site"}}, want: 403},
		"an allowed page":        {address: plain, body: list, header: http.Header{"Origin": {"http://localhost:6274"}}, want: 200},
		"its question before":    {address: plain, method: "OPTIONS", header: http.Header{"Origin": {"http://localhost:6274"}}, want: 204},
		"another path":           {address: plain, body: call, path: "/", want: 404},
		"garbage":                {address: plain, body: "garbage", want: 400},
		"too much":               {address: plain, body: `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxBody) + `"}`, want: 413},
		"no secret":              {address: locked, body: call, want: 401},
		"a wrong secret":         {address: locked, body: call, header: http.Header{"Authorization": {"Bearer " + secret + "x"}}, want: 401},
		"another scheme":         {address: locked, body: call, header: http.Header{"Authorization": {"Basic " + secret}}, want: 401},
		"the secret":             {address: locked, body: list, header: http.Header{"Authorization": {"bearer " + secret}}, want: 200},
	} {
		method := c.method
		if method == "" {
			method = http.MethodPost
		}
		address := c.address
		if c.path != "" {
			address = strings.TrimSuffix(address, endpoint) + c.path
		}
		r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for key, values := range c.header {
			r.Header[key] = values
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close() // it was read
		if err != nil || answer.StatusCode != c.want || strings.Contains(string(text), secret) {
			t.Errorf("%s: %d %.200s (%v), want %d", name, answer.StatusCode, text, err, c.want)
		}
		if allowed := answer.Header.Get("Access-Control-Allow-Origin"); allowed != "" && allowed != "http://localhost:6274" || allowed == "" && strings.Contains(name, "allowed") {
			t.Errorf("%s: Access-Control-Allow-Origin: %q", name, allowed)
		}
	}
	if asked {
		t.Error("a stranger reached the service")
	}
}
