package sender

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"code.dny.dev/ssrf"
)

// DefaultTimeout bounds one delivery unless Config says otherwise.
const DefaultTimeout = 10 * time.Second

const (
	defaultUserAgent = "Cascada-Webhooks/1.0"

	maxSnippet = 1 << 10
	// maxDrain is how much we read after the snippet so that the connection can be reused. If
	// an endpoint sends more, we need a new connection.
	maxDrain       = 32 << 10
	maxReplyHeader = 16 << 10

	// Thousands of deliveries a second to a few hosts need as many connections to
	// one host as there are deliveries to it at a time.
	maxIdle        = 1024
	maxIdlePerHost = 128
	// Shorter than the 60 s after which common load balancers hang up.
	idleTimeout = 50 * time.Second
)

// Config configures a Sender. The zero value is fit for production.
type Config struct {
	// Timeout bounds one delivery, from looking up the name to the last byte read.
	// Zero means DefaultTimeout.
	Timeout time.Duration
	// AllowPrivate lets sandbox deliveries reach loopback, and no other private address.
	// It is for a developer's machine, and never affects live deliveries.
	AllowPrivate bool
	// UserAgent is sent with each delivery. Empty means Cascada-Webhooks/1.0.
	UserAgent string
	// Now is the clock that signatures and durations are taken from. Nil means time.Now.
	Now func() time.Time
	// Transport makes the requests instead of connections, for all addresses. It is for the
	// simulation.
	Transport http.RoundTripper
}

// Sender makes deliveries. It holds connections open between them, so a process has only one. It is safe for
// concurrent use and sets no limit: its caller decides how many deliveries one endpoint may have at a time.
type Sender struct {
	timeout      time.Duration
	allowPrivate bool
	now          func() time.Time

	// These header values never change and are shared by all requests.
	contentType []string
	userAgent   []string

	// Two transports, so that no live delivery can pick up an open connection to a
	// loopback address.
	public   *http.Transport
	loopback *http.Transport
	instead  http.RoundTripper // for both environments; nil: none

	snippets sync.Pool // of *[maxSnippet]byte
}

// New returns a Sender. Close it when done.
func New(c Config) *Sender {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.UserAgent == "" {
		c.UserAgent = defaultUserAgent
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Sender{
		timeout:      c.Timeout,
		allowPrivate: c.AllowPrivate,
		now:          c.Now,
		contentType:  []string{"application/json"},
		userAgent:    []string{c.UserAgent},
		public:       newTransport(publicGuard(), c.Timeout, &tls.Config{}),
		loopback:     newTransport(loopbackGuard(), c.Timeout, &tls.Config{}),
		instead:      c.Transport,
		snippets:     sync.Pool{New: func() any { return new([maxSnippet]byte) }},
	}
}

// Close closes the connections held open. Deliveries under way finish first, within
// their timeout; their owner waits for them.
func (s *Sender) Close() {
	s.public.CloseIdleConnections()
	s.loopback.CloseIdleConnections()
}

// Send makes one delivery. A live one uses https and never reaches a private
// address; one from the sandbox may use http, and reach loopback if AllowPrivate
// says so.
//
// When ctx ends before the delivery does, the result says Timeout. Only the caller
// knows whether that counts as a try.
func (s *Sender) Send(ctx context.Context, live bool, m Message) Result {
	started := s.now()
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	// The scheme is checked again: the URL may have been saved under other rules.
	if err != nil || !allowedScheme(request.URL.Scheme, live) || request.URL.Hostname() == "" {
		return Result{Err: BlockedAddress, Duration: s.now().Sub(started)}
	}
	request.Header = s.header(m, started)
	m.Credentials.set(request.Header)

	var transport http.RoundTripper = s.public
	switch {
	case s.instead != nil:
		transport = s.instead
	case s.allowPrivate && !live:
		transport = s.loopback
	}
	// The transport rather than an http.Client: it follows no redirect.
	response, err := transport.RoundTrip(request)
	if err != nil {
		return Result{Err: reason(err), Duration: s.now().Sub(started)}
	}

	result := Result{StatusCode: response.StatusCode, Snippet: m.Credentials.hide(s.read(response))}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		result.Err, result.Wait = HTTPStatus, wait(response, s.now())
		if refused := response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden; refused && !m.Credentials.None() {
			result.Err = CredentialsRefused
		}
	}
	result.Duration = s.now().Sub(started)
	return result
}

// Header returns the headers of a delivery that is handed over within the
// process: signed now, as Send signs.
func (s *Sender) Header(m Message) http.Header {
	h := s.header(m, s.now())
	h.Del("Idempotency-Key")
	return h
}

// header returns the headers of a delivery signed at t.
func (s *Sender) header(m Message, t time.Time) http.Header {
	// One array rather than six slices: this runs thousands of times a second.
	values := [...]string{
		Sign(t, m.Body, m.Secret, m.PreviousSecret),
		m.Event,
		m.DeliveryID,
		m.EventID,
		strconv.FormatInt(t.Unix(), 10),
		SignStandard(m.EventID, t, m.Body, m.Secret, m.PreviousSecret),
	}
	return http.Header{
		"Content-Type":          s.contentType,
		"User-Agent":            s.userAgent,
		SignatureHeader:         values[0:1:1],
		EventHeader:             values[1:2:2],
		DeliveryHeader:          values[2:3:3],
		StandardIDHeader:        values[3:4:4],
		StandardTimestampHeader: values[4:5:5],
		StandardSignatureHeader: values[5:6:6],
		// Not sent, because it is empty. It lets the transport send the request again if the endpoint has
		// closed an idle connection, which would otherwise look like a failed delivery. A repeat does no
		// harm: deliveries are made at least once, and receivers recognize a repeat by its webhook-id.
		"Idempotency-Key": {},
	}
}

// read returns the start of the answer and leaves the connection fit for the next
// delivery. It ends with the request's context, so a slow body cannot hold it up.
func (s *Sender) read(response *http.Response) string {
	defer response.Body.Close()
	// After 101 the body is the bare connection, which does not end with the context.
	if response.Body == http.NoBody || response.StatusCode == http.StatusSwitchingProtocols {
		return ""
	}
	buffer := s.snippets.Get().(*[maxSnippet]byte)
	defer s.snippets.Put(buffer)

	n, err := io.ReadFull(response.Body, buffer[:])
	if err == nil {
		// An error here only means that the connection cannot be used again.
		_, _ = io.CopyN(io.Discard, response.Body, maxDrain)
	}
	return snippet(buffer[:n])
}

// snippet returns b as text that every database stores: PostgreSQL takes neither
// invalid UTF-8 nor NUL. It is never longer than b.
func snippet(b []byte) string {
	if utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 {
		return string(b)
	}
	// The end may cut a character in two. That half was not the endpoint's mistake.
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				b = b[:i]
			}
			break
		}
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "?"), "\x00", "?")
}

// handshakeError marks an error of the TLS handshake. Most of those have no type of
// their own.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "tls handshake: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// newTransport returns a transport that connects only where guard allows.
func newTransport(guard *ssrf.Guardian, timeout time.Duration, config *tls.Config) *http.Transport {
	// A connection outlives the delivery that asked for it, so it has a timeout of
	// its own.
	dialer := &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second, Control: guard.Safe}

	config.NextProtos = []string{"http/1.1"}
	config.ClientSessionCache = tls.NewLRUClientSessionCache(maxIdle)
	dialTLS := func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialTLS(ctx, dialer, config, network, address)
	}
	// HTTP/1.1 only: a connection for each delivery, so none can hold up another.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		// A proxy's address would be checked in place of the endpoint's.
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		DialTLSContext:         dialTLS,
		Protocols:              protocols,
		DisableCompression:     true,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxReplyHeader,
	}
}

// dialTLS connects and shakes hands, within the dialer's timeout for each.
func dialTLS(ctx context.Context, dialer *net.Dialer, config *tls.Config, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	bare, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialer.Timeout)
	defer cancel()

	config = config.Clone()
	config.ServerName = host
	conn := tls.Client(bare, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		bare.Close()
		return nil, &handshakeError{err}
	}
	return conn, nil
}

// reason sorts the error of a request that got no answer. The order matters: a lookup
// that gave up within our time is DNS though it calls itself a timeout, and a
// handshake that took too long is a Timeout.
func reason(err error) Reason {
	if errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork) ||
		errors.Is(err, ssrf.ErrProhibitedPort) || errors.Is(err, ssrf.ErrInvalidHostPort) {
		return BlockedAddress
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return DNS
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return Timeout
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return Timeout
	}
	if _, ok := errors.AsType[*handshakeError](err); ok {
		return TLS
	}
	// An endpoint that wants a client certificate says so only after the handshake.
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "remote error" {
		return TLS
	}
	return ended(err)
}

// ended sorts the error of a connection that was refused, or that ended without an answer of HTTP. Most of the errors of
// net/http have no type of their own.
func ended(err error) Reason {
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return Refused
	}
	text := err.Error()
	switch has := func(words string) bool { return strings.Contains(text, words) }; {
	case has(`malformed HTTP response "\x15\x03`): // an alert of TLS
		return NeedsTLS
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), has("server closed idle connection"):
		return Reset
	case has("transport connection broken"), has("malformed"), has("response headers exceeded"):
		return BadAnswer
	}
	return Refused
}

// wait reads Retry-After of an answer that asks for less: seconds, or a date.
func wait(response *http.Response, now time.Time) time.Duration {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	const longest = 366 * 24 * time.Hour // no schedule is as long, and no number of seconds overflows
	text := strings.TrimSpace(response.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(longest/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longest)
}
