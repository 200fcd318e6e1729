package sender_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

// newSender returns a Sender that may reach loopback, and closes it with the test.
func newSender(t *testing.T, c sender.Config) *sender.Sender {
	t.Helper()
	c.AllowPrivate = true
	s := sender.New(c)
	t.Cleanup(s.Close)
	return s
}

func message(url string) sender.Message {
	return sender.Message{
		URL: url, Secret: secret, Event: "payment.completed",
		DeliveryID: "dlv_1", EventID: "evt_1", Body: body,
	}
}

func TestADeliveryArrivesSignedAndUnchanged(t *testing.T) {
	bodies := map[string][]byte{
		"JSON":           body,
		"odd spacing":    []byte("{ \"a\" : 1.50,\r\n\t\"b\":\"<&>\\u00e9é\" }\n\n"),
		"no text at all": {0, 1, 0xff, 0xfe, '\r', '\n', 0},
		"nothing":        {},
		"a megabyte":     bytes.Repeat([]byte("0123456789abcdef"), 1<<16),
	}
	for what, sent := range bodies {
		t.Run(what, func(t *testing.T) {
			endpoint := newReceiver(t, nil, answerOK)
			sender := newSender(t, sender.Config{Now: func() time.Time { return midnight }})
			m := message(endpoint.URL + "/hook?shop=1")
			m.Body, m.PreviousSecret = sent, earlier

			result := sender.Send(t.Context(), false, m)
			if !result.Delivered() || result.StatusCode != 200 {
				t.Fatalf("the delivery ended with %+v, want 200", result)
			}
			got := endpoint.only(t)
			if !bytes.Equal(got.body, sent) {
				t.Errorf("%d bytes arrived, want the %d we sent: %.80q", len(got.body), len(sent), got.body)
			}
			if got.method != "POST" || got.uri != "/hook?shop=1" || got.proto != "HTTP/1.1" {
				t.Errorf("the request is %s %s %s, want POST /hook?shop=1 HTTP/1.1", got.method, got.uri, got.proto)
			}
			checkSignatures(t, got)
		})
	}
}

// checkSignatures verifies a delivery that was signed at midnight, during a rotation,
// as both kinds of receiver do.
func checkSignatures(t *testing.T, got arrival) {
	t.Helper()
	ours := got.header.Get(sender.SignatureHeader)
	for _, each := range []string{secret, earlier} {
		if err := sender.Verify(ours, got.body, each, midnight, sender.Tolerance); err != nil {
			t.Errorf("%s: the signature %q does not verify: %v", each, ours, err)
		}
		id, standard := got.header.Get("webhook-id"), got.header.Get("webhook-signature")
		unix, err := strconv.ParseInt(got.header.Get("webhook-timestamp"), 10, 64)
		if err != nil || unix != midnight.Unix() {
			t.Errorf("webhook-timestamp is %d, %v, want %d", unix, err, midnight.Unix())
		}
		if !standardVerifies(t, standard, id, unix, got.body, each) {
			t.Errorf("%s: webhook-signature %q does not verify", each, standard)
		}
	}
	if err := sender.Verify(ours, got.body, foreign, midnight, sender.Tolerance); err == nil {
		t.Error("the delivery verifies with a foreign secret")
	}
}

func TestADeliveryCarriesItsHeadersAndNoOthers(t *testing.T) {
	endpoint := newReceiver(t, nil, answerOK)
	from := newSender(t, sender.Config{Now: func() time.Time { return midnight }})
	from.Send(t.Context(), false, message(endpoint.URL))

	got := endpoint.only(t).header
	want := map[string]string{
		"Content-Type":         "application/json",
		"Content-Length":       strconv.Itoa(len(body)),
		"User-Agent":           "Cascada-Webhooks/1.0",
		"X-Service-Event":      "payment.completed",
		"X-Service-Delivery":   "dlv_1",
		sender.SignatureHeader: sender.Sign(midnight, body, secret, ""),
		"Webhook-Id":           "evt_1",
		"Webhook-Timestamp":    "1792281600",
		"Webhook-Signature":    sender.SignStandard("evt_1", midnight, body, secret, ""),
	}
	for name, value := range want {
		if values := got.Values(name); len(values) != 1 || values[0] != value {
			t.Errorf("%s is %q, want %q once", name, values, value)
		}
	}
	for name := range got {
		if _, known := want[name]; !known {
			t.Errorf("%s: %q was sent, which nobody asked for", name, got.Get(name))
		}
	}
}

func TestTheUserAgentIsTheOneConfigured(t *testing.T) {
	endpoint := newReceiver(t, nil, answerOK)
	newSender(t, sender.Config{UserAgent: "Shop/2"}).Send(t.Context(), false, message(endpoint.URL))
	if got := endpoint.only(t).header.Get("User-Agent"); got != "Shop/2" {
		t.Errorf("the user agent is %q, want Shop/2", got)
	}
}

func TestOnlyTwoHundredsAreDelivered(t *testing.T) {
	cases := []struct {
		status    int
		delivered bool
	}{
		{200, true}, {201, true}, {202, true}, {204, true}, {299, true},
		{300, false}, {304, false}, {400, false}, {401, false}, {404, false}, {409, false}, {410, false}, {429, false},
		{500, false}, {502, false}, {503, false}, {599, false},
	}
	from := newSender(t, sender.Config{})
	for _, c := range cases {
		endpoint := newReceiver(t, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(c.status) })
		want := sender.Result{StatusCode: c.status, Err: sender.HTTPStatus}
		if c.delivered {
			want.Err = ""
		}
		got := from.Send(t.Context(), false, message(endpoint.URL))
		got.Duration = 0
		if got != want || got.Delivered() != c.delivered {
			t.Errorf("an answer of %d ends with %+v, want %+v", c.status, got, want)
		}
		if got.Gone() != (c.status == 410) {
			t.Errorf("an answer of %d says gone: %t", c.status, got.Gone())
		}
	}
}

func TestNoRedirectIsFollowed(t *testing.T) {
	elsewhere := newReceiver(t, nil, answerOK)
	from := newSender(t, sender.Config{})
	for _, status := range []int{301, 302, 303, 307, 308} {
		endpoint := newReceiver(t, nil, func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, elsewhere.URL, status)
		})
		result := from.Send(t.Context(), false, message(endpoint.URL))
		if result.StatusCode != status || result.Err != sender.HTTPStatus {
			t.Errorf("a redirect of %d ends with %+v, want http_status", status, result)
		}
	}
	if got := elsewhere.arrived(); len(got) != 0 {
		t.Errorf("%d deliveries arrived where a redirect led, want none", len(got))
	}
}

func TestDurationIsTakenFromTheClockHandedIn(t *testing.T) {
	now := midnight
	endpoint := newReceiver(t, nil, answerOK)
	sender := newSender(t, sender.Config{Now: func() time.Time {
		now = now.Add(1500 * time.Millisecond)
		return now
	}})
	if got, want := sender.Send(t.Context(), false, message(endpoint.URL)).Duration, 1500*time.Millisecond; got != want {
		t.Errorf("the delivery took %v, want %v", got, want)
	}
}

func TestASlowEndpointIsATimeout(t *testing.T) {
	t.Parallel()
	endpoint := newReceiver(t, nil, func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	from := newSender(t, sender.Config{Timeout: 50 * time.Millisecond})
	started := time.Now()
	result := from.Send(t.Context(), false, message(endpoint.URL))
	if result.Err != sender.Timeout || result.StatusCode != 0 {
		t.Errorf("the delivery ended with %+v, want timeout", result)
	}
	// The default would be 10 s.
	if took := time.Since(started); took < 50*time.Millisecond || took > 5*time.Second {
		t.Errorf("the delivery gave up after %v, want 50 ms", took)
	}
}

func TestAnEndpointThatNeverShakesHandsIsATimeout(t *testing.T) {
	t.Parallel()
	listener := listen(t) // connections wait there for ever
	from := newSender(t, sender.Config{Timeout: 50 * time.Millisecond})
	result := from.Send(t.Context(), false, message("https://"+listener.Addr().String()))
	if result.Err != sender.Timeout {
		t.Errorf("the delivery ended with %+v, want timeout", result)
	}
}

func TestACallerThatGivesUpIsATimeout(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	endpoint := newReceiver(t, nil, func(_ http.ResponseWriter, q *http.Request) {
		cancel()
		<-q.Context().Done()
	})
	from := newSender(t, sender.Config{})
	if result := from.Send(ctx, false, message(endpoint.URL)); result.Err != sender.Timeout {
		t.Errorf("the delivery ended with %+v, want timeout", result)
	}
	if result := from.Send(ctx, false, message(endpoint.URL)); result.Err != sender.Timeout {
		t.Errorf("a delivery nobody waits for ended with %+v, want timeout", result)
	}
	endpoint.only(t)
}

// The endpoint took the event: calling again because of a body would repeat it.
func TestAnAnswerWhoseBodyStallsIsAnAnswer(t *testing.T) {
	t.Parallel()
	endpoint := newReceiver(t, nil, func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.WriteString(w, "thanks")
		w.(http.Flusher).Flush()
		<-q.Context().Done()
	})
	sender := newSender(t, sender.Config{Timeout: time.Second})
	result := sender.Send(t.Context(), false, message(endpoint.URL))
	if !result.Delivered() || result.StatusCode != 200 || result.Snippet != "thanks" {
		t.Errorf("the delivery ended with %+v, want 200 and its first bytes", result)
	}
}

func TestAPortNobodyListensOnIsRefused(t *testing.T) {
	listener := listen(t)
	listener.Close()
	result := newSender(t, sender.Config{}).Send(t.Context(), false, message("http://"+listener.Addr().String()))
	if result.Err != sender.Refused || result.StatusCode != 0 {
		t.Errorf("the delivery ended with %+v, want refused", result)
	}
}

// The top-level domain is reserved to lead nowhere (RFC 6761).
func TestAHostThatLeadsNowhereIsDNS(t *testing.T) {
	// Long enough for a resolver that nobody answers to give up by itself.
	from := newSender(t, sender.Config{Timeout: time.Minute})
	for _, url := range []string{"http://nobody.invalid/hook", "https://nobody.invalid/hook"} {
		if result := from.Send(t.Context(), false, message(url)); result.Err != sender.DNS {
			t.Errorf("%s: the delivery ended with %+v, want dns", url, result)
		}
	}
}

func TestACertificateWeDoNotTrustIsTLS(t *testing.T) {
	endpoint := newReceiver(t, &tls.Config{NextProtos: []string{"h2", "http/1.1"}}, answerOK)
	result := newSender(t, sender.Config{}).Send(t.Context(), false, message(endpoint.URL))
	if result.Err != sender.TLS || len(endpoint.arrived()) != 0 {
		t.Errorf("the delivery ended with %+v and %d arrived, want tls and none", result, len(endpoint.arrived()))
	}

	trusting := newSender(t, sender.Config{})
	trusting.Trust(roots(endpoint))
	result = trusting.Send(t.Context(), false, message(endpoint.URL))
	if !result.Delivered() || endpoint.only(t).proto != "HTTP/1.1" {
		t.Errorf("with its certificate trusted the delivery ended with %+v", result)
	}
	// It is for 127.0.0.1, and example.com.
	_, port, _ := net.SplitHostPort(endpoint.Listener.Addr().String())
	result = trusting.Send(t.Context(), false, message("https://localhost:"+port))
	if result.Err != sender.TLS {
		t.Errorf("with the certificate of another host the delivery ended with %+v, want tls", result)
	}
}

func TestAnEndpointWithoutTLSIsTLS(t *testing.T) {
	endpoint := newReceiver(t, nil, answerOK)
	url := strings.Replace(endpoint.URL, "http:", "https:", 1)
	if result := newSender(t, sender.Config{}).Send(t.Context(), false, message(url)); result.Err != sender.TLS {
		t.Errorf("the delivery ended with %+v, want tls", result)
	}
}

// With TLS 1.3 the endpoint says so after we have shaken hands.
func TestAnEndpointThatWantsOurCertificateIsTLS(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		endpoint := newReceiver(t, &tls.Config{
			ClientAuth: tls.RequireAnyClientCert,
			MinVersion: version,
			MaxVersion: version,
		}, answerOK)
		from := newSender(t, sender.Config{})
		from.Trust(roots(endpoint))
		if result := from.Send(t.Context(), false, message(endpoint.URL)); result.Err != sender.TLS {
			t.Errorf("%s: the delivery ended with %+v, want tls", tls.VersionName(version), result)
		}
	}
}

// roots are the certificates a client of endpoint trusts.
func roots(endpoint *receiver) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(endpoint.Certificate())
	return pool
}

func TestTheSnippetIsAKilobyteOfStorableText(t *testing.T) {
	long := strings.Repeat("a", 3000)
	cases := []struct{ what, answer, want string }{
		{"nothing", "", ""},
		{"a short answer", `{"ok":true}`, `{"ok":true}`},
		{"a long answer", long, long[:1024]},
		{"an endless answer", strings.Repeat(long, 1000), long[:1024]},
		{"exactly a kilobyte", long[:1024], long[:1024]},
		{"a character cut in two", long[:1023] + "é", long[:1023]},
		{"a character cut in four", long[:1021] + "😀", long[:1021]},
		{"a character that just fits", long[:1020] + "😀", long[:1020] + "😀"},
		{"a NUL", "a\x00b", "a?b"},
		{"NULs only", "\x00\x00", "??"},
		{"Latin-1", "caf\xe9 con leche", "caf? con leche"},
		{"no text at all", "\xff\xfe\x00\x80", "???"},
		{"a surrogate", "a\xed\xa0\x80b", "a?b"},
		{"a broken start", "\xa9abc", "?abc"},
		{"a NUL and a character cut in two", "\x00" + long[:1022] + "é", "?" + long[:1022]},
	}
	sender := newSender(t, sender.Config{})
	for _, c := range cases {
		for _, status := range []int{200, 500} {
			endpoint := newReceiver(t, nil, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, c.answer)
			})
			got := sender.Send(t.Context(), false, message(endpoint.URL))
			if got.Snippet != c.want || got.StatusCode != status {
				t.Errorf("%s with %d: the snippet is %.80q (%d bytes), want %.80q", c.what, status, got.Snippet, len(got.Snippet), c.want)
			}
			if len(got.Snippet) > 1024 || !utf8.ValidString(got.Snippet) {
				t.Errorf("%s: the snippet has %d bytes, valid %t", c.what, len(got.Snippet), utf8.ValidString(got.Snippet))
			}
		}
	}
}

func TestOddAnswersEndTheDelivery(t *testing.T) {
	cases := []struct {
		what, answer string
		want         sender.Result
	}{
		{"no answer", "", sender.Result{Err: sender.Reset}},
		{"another protocol", "220 mail.example ESMTP\r\n", sender.Result{Err: sender.BadAnswer}},
		{"headers without end", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", sender.Result{Err: sender.BadAnswer}},
		{"half a header", "HTTP/1.1 200 OK\r\nContent-Le", sender.Result{Err: sender.BadAnswer}},
		{"an alert of TLS", "\x15\x03\x01\x00\x02\x02\x16", sender.Result{Err: sender.NeedsTLS}},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", sender.Result{Err: sender.BadAnswer}},
		{"asked to wait", "HTTP/1.1 429 Slow Down\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n", sender.Result{StatusCode: 429, Err: sender.HTTPStatus, Wait: time.Hour}},
		{"asked to wait for ever", "HTTP/1.1 503 Later\r\nRetry-After: 9223372036854775807\r\nContent-Length: 0\r\n\r\n", sender.Result{StatusCode: 503, Err: sender.HTTPStatus, Wait: 366 * 24 * time.Hour}},
		{"asked for the past", "HTTP/1.1 503 Later\r\nRetry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n", sender.Result{StatusCode: 503, Err: sender.HTTPStatus}},
		{"asked for something else", "HTTP/1.1 503 Later\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", sender.Result{StatusCode: 503, Err: sender.HTTPStatus}},
		{"asked with another status", "HTTP/1.1 500 Oops\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n", sender.Result{StatusCode: 500, Err: sender.HTTPStatus}},
		{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", sender.Result{StatusCode: 200, Snippet: "half"}},
		{"an upgrade", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nx", sender.Result{StatusCode: 101, Err: sender.HTTPStatus}},
		{"a hint first", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", sender.Result{StatusCode: 204}},
		{"packed bytes", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00", sender.Result{StatusCode: 200, Snippet: "\x1f?\x08?"}},
	}
	sender := newSender(t, sender.Config{})
	for _, c := range cases {
		url, requests := newRawReceiver(t, []string{c.answer})
		got := sender.Send(t.Context(), false, message(url))
		got.Duration = 0
		if got != c.want || requests.Load() != 1 {
			t.Errorf("%s: %d requests ended with %+v, want one and %+v", c.what, requests.Load(), got, c.want)
		}
	}
}

func TestDeliveriesShareAConnection(t *testing.T) {
	for _, answer := range []string{"", "ok", strings.Repeat("a", 20<<10)} {
		endpoint := newReceiver(t, nil, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
		sender := newSender(t, sender.Config{})
		for range 5 {
			if result := sender.Send(t.Context(), false, message(endpoint.URL)); !result.Delivered() {
				t.Fatalf("the delivery ended with %+v, want it delivered", result)
			}
		}
		if got := endpoint.connections.Load(); got != 1 {
			t.Errorf("five deliveries, each answered with %d bytes, took %d connections, want one", len(answer), got)
		}
	}
}

func TestCloseHangsUpOnIdleConnections(t *testing.T) {
	listener := listen(t)
	end := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			end <- err
			return
		}
		defer conn.Close()
		speak(conn, []string{"HTTP/1.1 204 No Content\r\n\r\n"}, new(atomic.Int64))
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err = conn.Read(make([]byte, 1))
		end <- err
	}()
	sender := newSender(t, sender.Config{})
	if result := sender.Send(t.Context(), false, message("http://"+listener.Addr().String())); !result.Delivered() {
		t.Fatalf("the delivery ended with %+v, want it delivered", result)
	}
	sender.Close()
	if err := <-end; err != io.EOF {
		t.Errorf("after Close the endpoint saw %v, want the end of the connection", err)
	}
}

// An endpoint may hang up on an idle connection at the moment we use it again. That
// is no failure of the endpoint. On a new connection it is.
func TestAHangUpOnAnIdleConnectionIsTriedAgainAtOnce(t *testing.T) {
	const ok = "HTTP/1.1 204 No Content\r\n\r\n"
	url, requests := newRawReceiver(t, []string{ok, ""}, []string{ok, ""}, []string{""})
	from := newSender(t, sender.Config{})
	for i, want := range []sender.Reason{"", "", sender.Reset} {
		if result := from.Send(t.Context(), false, message(url)); result.Err != want {
			t.Errorf("delivery %d ended with %+v, want %q", i+1, result, want)
		}
	}
	if got := requests.Load(); got != 5 {
		t.Errorf("%d requests arrived, want the three deliveries and two repeats", got)
	}
}

func TestDeliveriesAtTheSameTimeDoNotMix(t *testing.T) {
	const deliveries = 200
	endpoint := newReceiver(t, nil, func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.WriteString(w, q.Header.Get("X-Service-Delivery"))
	})
	from := newSender(t, sender.Config{})
	var senders sync.WaitGroup
	for i := range deliveries {
		senders.Go(func() {
			m := message(endpoint.URL)
			m.DeliveryID = fmt.Sprintf("dlv_%d", i)
			m.Body = fmt.Appendf(nil, `{"delivery":"dlv_%d"}`, i)
			m.Secret = fmt.Sprintf("whsec_%04d", i)
			if result := from.Send(t.Context(), false, m); !result.Delivered() || result.Snippet != m.DeliveryID {
				t.Errorf("%s ended with %+v, want its own answer", m.DeliveryID, result)
			}
		})
	}
	senders.Wait()

	seen := map[string]bool{}
	for _, got := range endpoint.arrived() {
		id := got.header.Get("X-Service-Delivery")
		seen[id] = true
		number, _ := strconv.Atoi(strings.TrimPrefix(id, "dlv_"))
		signature := got.header.Get(sender.SignatureHeader)
		err := sender.Verify(signature, got.body, fmt.Sprintf("whsec_%04d", number), time.Now(), sender.Tolerance)
		if err != nil || string(got.body) != fmt.Sprintf(`{"delivery":%q}`, id) {
			t.Errorf("%s arrived with %s, signature: %v", id, got.body, err)
		}
	}
	if len(seen) != deliveries {
		t.Errorf("%d deliveries arrived, want %d", len(seen), deliveries)
	}
}
