package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	contentType = "application/x-protobuf"
	// mostTries bounds how often the same spans are sent.
	mostTries = 5
	// firstWait is the time before the second try if the collector names none. It doubles with each try, up to mostWait.
	firstWait, mostWait = 5 * time.Second, 30 * time.Second
	// mostWaited bounds the waits of the same spans together.
	mostWaited = time.Minute
	// maxReply is the most that is read of a collector's reply.
	maxReply = 64 << 10
)

// exporter sends spans to a collector by OTLP over HTTP, in protobuf.
type exporter struct {
	address string
	agent   string
	with    options
	client  *http.Client
	open    context.Context // until Shutdown
	close   context.CancelFunc
}

func newExporter(address, version string, with options) *exporter {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if with.tls != nil {
		transport.TLSClientConfig = with.tls
	}
	e := &exporter{address: address, agent: "Cascada/" + version, with: with, client: &http.Client{Transport: transport, Timeout: with.timeout}}
	e.client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if r.Method != http.MethodPost || len(via) > 3 {
			return http.ErrUseLastResponse // it would be sent without the spans
		}
		return nil
	}
	e.open, e.close = context.WithCancel(context.Background())
	return e
}

// Shutdown implements sdk.SpanExporter. It ends the calls under way.
func (e *exporter) Shutdown(context.Context) error {
	e.close()
	e.client.CloseIdleConnections()
	return nil
}

// ExportSpans implements sdk.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.open, cancel)()
	body, err := e.body(spans)
	if err != nil {
		return err
	}
	wait, waited := firstWait, time.Duration(0)
	for try := 1; ; try++ {
		err := e.send(ctx, body)
		var again *later
		if err == nil || !errors.As(err, &again) || try == mostTries {
			return err
		}
		pause := again.after
		if pause < 0 {
			pause, wait = wait/2+rand.N(wait), min(2*wait, mostWait)
		}
		if waited += pause; waited > mostWaited {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// body is the request with spans.
func (e *exporter) body(spans []sdk.ReadOnlySpan) ([]byte, error) {
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: encode(spans)})
	if err != nil || !e.with.gzip {
		return body, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = z.Write(body)
	err = errors.Join(err, z.Close()) // writes the rest
	return b.Bytes(), err
}

// later is an error after which the same spans may be sent again.
type later struct {
	error
	after time.Duration // what the collector asks for; below 0: nothing
}

// Unwrap returns what happened.
func (l *later) Unwrap() error { return l.error }

// send makes one call.
func (e *exporter) send(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, values := range e.with.header {
		request.Header[name] = values
	}
	request.Header.Set("Content-Type", contentType)
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", e.agent)
	}
	if e.with.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	reply, err := e.client.Do(request)
	var of net.Error
	if errors.As(err, &of) && of.Timeout() && ctx.Err() == nil {
		return &later{err, -1}
	}
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	switch {
	case reply.StatusCode >= 200 && reply.StatusCode <= 299:
		return errors.Join(err, partial(reply.Header, text))
	case reply.StatusCode == http.StatusTooManyRequests, reply.StatusCode == http.StatusBadGateway,
		reply.StatusCode == http.StatusServiceUnavailable, reply.StatusCode == http.StatusGatewayTimeout:
		return &later{refused(reply, text), retryAfter(reply.Header)}
	default:
		return refused(reply, text)
	}
}

func refused(reply *http.Response, text []byte) error {
	return fmt.Errorf("the collector replied %s: %.300s", reply.Status, strings.TrimSpace(string(text)))
}

// partial says how many spans a collector did not keep of those that it accepted.
func partial(header http.Header, text []byte) error {
	if len(text) == 0 || header.Get("Content-Type") != contentType {
		return nil
	}
	var reply collector.ExportTraceServiceResponse
	if err := proto.Unmarshal(text, &reply); err != nil {
		return fmt.Errorf("read the collector's reply: %w", err)
	}
	if of := reply.PartialSuccess; of.GetRejectedSpans() != 0 || of.GetErrorMessage() != "" {
		return fmt.Errorf("the collector refused %d spans: %.300s", of.GetRejectedSpans(), of.GetErrorMessage())
	}
	return nil
}

// retryAfter is how long a collector wants to be left alone, below 0 if it does not say. A time is compared with the time of
// the reply, so the clocks need not agree.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	now, errNow := http.ParseTime(header.Get("Date"))
	if err != nil || errNow != nil {
		return -1
	}
	return max(0, at.Sub(now))
}
