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

// callLimit bounds a call from its first byte to its last, whatever deadline its
// caller set. It is longer than any of them.
const callLimit = pay.CallTimeout + 10*time.Second

// NewClient returns the HTTP client that adapters call their upstreams with. It
// follows no redirect, since a request that holds credentials goes where it was
// sent or nowhere: a 3xx is an answer like any other. It speaks HTTPS, and plain
// HTTP to this machine alone, where tests have their upstreams. A proxy is taken
// from the environment.
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

// fenceKey is of a context's fence.
type fenceKey struct{}

// errFenced: the call may not leave any more.
var errFenced = errors.New("too late for this call: others may have taken it for lost")

// Fenced returns a context whose calls leave only while mayLeave says so. It is asked at
// the last moment, when a connection is there and the request's first bytes are to go:
// the process may have stood still since the call began.
func Fenced(ctx context.Context, mayLeave func() bool) context.Context {
	return context.WithValue(ctx, fenceKey{}, mayLeave)
}

// MayLeave reports whether a call may leave now, by its context's fence; one without a
// fence always may.
func MayLeave(ctx context.Context) bool {
	mayLeave, ok := ctx.Value(fenceKey{}).(func() bool)
	return !ok || mayLeave()
}

type lookKey struct{}

// Looking returns a context whose questions do nothing. An account that can only be asked by
// making the call again is not asked then: it answers Unknown.
func Looking(ctx context.Context) context.Context { return context.WithValue(ctx, lookKey{}, true) }

// OnlyLooks reports whether a question may not do what it asks about.
func OnlyLooks(ctx context.Context) bool { return ctx.Value(lookKey{}) != nil }

// fenced is a request's body that is read only while its call may leave. The transport
// reads it before it sends anything.
type fenced struct {
	io.ReadCloser
	ctx context.Context
}

// Read is for io.Reader. That nothing is left is told in any case: what there was has been
// sent by then, and may be answered.
func (f fenced) Read(b []byte) (int, error) {
	n, err := f.ReadCloser.Read(b)
	if n > 0 && !MayLeave(f.ctx) {
		return 0, errFenced
	}
	return n, err
}

// fence returns the request as one that keeps to its context's fence.
func fence(r *http.Request) *http.Request {
	if r.Context().Value(fenceKey{}) == nil || r.Body == nil {
		return r
	}
	next := *r
	next.Body = fenced{r.Body, r.Context()}
	return &next
}

// secure refuses requests that would show credentials on the way, and those that come
// too late.
type secure struct{ *http.Transport }

// RoundTrip is for http.RoundTripper.
func (s secure) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkScheme(r.URL); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper closes it in any case
		}
		return nil, err
	}
	return s.Transport.RoundTrip(once(fence(r)))
}

// once returns the request as one that the transport does not send again by itself. It would, where a
// connection that was used before breaks and the request has an idempotency key: a refusal of the
// second one would pass for a proof that nothing was done by the first.
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
	return fmt.Errorf("%s://%s: a provider is called over https", u.Scheme, u.Host)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// CheckBaseURL says what is wrong with an address that goes in place of a
// provider's own; "" is none.
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
