package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// callLimit bounds a whole call, whatever deadline its caller set. It is longer than any
// such deadline.
const callLimit = pay.CallTimeout + 10*time.Second

// NewClient returns the HTTP client with which adapters call providers. It follows no
// redirect, because a request with credentials must not go to another address: a 3xx is an
// answer like any other. It speaks HTTPS; plain HTTP only to this machine, where tests have
// their servers. It takes a proxy from the environment.
func NewClient() *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Timeout:       callLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: secure{&http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConnsPerHost: 32, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		}},
	}
}

// fenceKey is the context key of a fence.
type fenceKey struct{}

// errFenced means that the call may not leave any more.
var errFenced = errors.New("too late for this call: other nodes may assume that it is lost")

// Fenced returns a context whose calls leave only while mayLeave returns true. The check
// comes at the last moment, when there is a connection and the first bytes are about to go:
// the process may have paused since the call began.
func Fenced(ctx context.Context, mayLeave func() bool) context.Context {
	return context.WithValue(ctx, fenceKey{}, mayLeave)
}

// MayLeave reports whether the context's fence lets a call leave now. Without a fence it
// always may.
func MayLeave(ctx context.Context) bool {
	mayLeave, ok := ctx.Value(fenceKey{}).(func() bool)
	return !ok || mayLeave()
}

type lookKey struct{}

// Looking returns a context whose queries change nothing. Some accounts can only be queried
// by repeating the call; under this context they answer Unknown without a call.
func Looking(ctx context.Context) context.Context { return context.WithValue(ctx, lookKey{}, true) }

// OnlyLooks reports whether a query must not repeat the call that it asks about.
func OnlyLooks(ctx context.Context) bool { return ctx.Value(lookKey{}) != nil }

// fenced is a request body that can be read only while its call may leave. The transport
// reads it before it sends anything.
type fenced struct {
	io.ReadCloser
	ctx context.Context
}

// Read implements io.Reader. It returns io.EOF even when the fence is closed: by then the
// whole body was sent and may get an answer.
func (f fenced) Read(b []byte) (int, error) {
	n, err := f.ReadCloser.Read(b)
	if n > 0 && !MayLeave(f.ctx) {
		return 0, errFenced
	}
	return n, err
}

// fence returns a request that keeps to the fence of its context.
func fence(r *http.Request) *http.Request {
	if r.Context().Value(fenceKey{}) == nil || r.Body == nil {
		return r
	}
	next := *r
	next.Body = fenced{r.Body, r.Context()}
	return &next
}

// secure refuses requests that would expose credentials on the way, and those that are too
// late.
type secure struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (s secure) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkScheme(r.URL); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper always closes the body
		}
		return nil, err
	}
	return s.Transport.RoundTrip(once(fence(r)))
}

// once returns a request that the transport does not repeat by itself. The transport
// repeats a request with an idempotency key when a reused connection breaks. If the
// provider then refused the second one, that would look like proof that the first one did
// nothing.
func once(r *http.Request) *http.Request {
	if r.Body == nil || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return r
	}
	next := *r
	next.GetBody = nil
	return &next
}

func checkScheme(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s://%s: a provider must be called over https", u.Scheme, u.Host)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// CheckBaseURL says what is wrong with an address that replaces a provider's own; "" is
// fine.
func CheckBaseURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return errors.New("the base URL must be an address such as https://api.example.com")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the base URL must be an address without credentials, query and fragment")
	}
	return checkScheme(u)
}
