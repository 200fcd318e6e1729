package trace_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	wire "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/cascadapay/cascada/internal/trace"
)

// request is what a collector gets.
type request struct {
	header http.Header
	spans  []*wire.ResourceSpans
}

// collector is an OpenTelemetry collector that answers as a test says.
type collector struct {
	*httptest.Server
	mu     sync.Mutex // guards got
	got    []request
	answer func(w http.ResponseWriter, n int)
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(strings.NewReader(string(body))); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	var sent v1.ExportTraceServiceRequest
	if err = errors.Join(err, proto.Unmarshal(body, &sent)); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" {
		http.Error(w, "not a request of OTLP", http.StatusTeapot)
		return
	}
	c.mu.Lock()
	c.got = append(c.got, request{r.Header, sent.ResourceSpans})
	n := len(c.got)
	c.mu.Unlock()
	if c.answer != nil {
		c.answer(w, n)
	}
}

func collect(t *testing.T, answer func(w http.ResponseWriter, n int)) *collector {
	t.Helper()
	c := &collector{answer: answer}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// send makes spans and sends them. It returns what the tracer reports.
func send(t *testing.T, c trace.Config, spans func(*trace.Tracer)) (sent int, err error) {
	t.Helper()
	c.Version, c.Log = "v-test", slog.New(slog.DiscardHandler)
	c.Sent = func(n int, failed error) { sent, err = sent+n, errors.Join(err, failed) }
	tracer, fault := trace.Open(t.Context(), c)
	if fault != nil {
		t.Fatal(fault)
	}
	spans(tracer)
	if fault := tracer.Close(); fault != nil {
		t.Fatal(fault)
	}
	return sent, err
}

func one(tr *trace.Tracer) {
	_, s := tr.Start(context.Background(), "one", trace.Internal)
	s.End()
}

func texts(of []*common.KeyValue) map[string]any {
	m := map[string]any{}
	for _, a := range of {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			m[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			m[a.Key] = v.IntValue
		}
	}
	return m
}

// Everything that a span has arrives.
func TestSpansArriveWhole(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	c := collect(t, nil)
	from := time.Now()
	sent, err := send(t, trace.Config{Endpoint: c.URL}, func(tr *trace.Tracer) {
		theirs := trace.Incoming(http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}})
		ctx, parent := tr.Start(context.Background(), "parent", trace.Server)
		parent.Link(theirs)
		_, child := tr.Start(ctx, "child", trace.Client)
		child.Text("text", "é")
		child.Number("number", -7)
		child.Fail("refused")
		child.End()
		parent.End()
	})
	if sent != 2 || err != nil || len(c.got) != 1 || len(c.got[0].spans) != 1 || len(c.got[0].spans[0].ScopeSpans) != 1 {
		t.Fatalf("%d spans were sent in %d requests, %v", sent, len(c.got), err)
	}
	got := c.got[0]
	if got.header.Get("Content-Type") != "application/x-protobuf" || got.header.Get("User-Agent") != "Cascada/v-test" || got.header.Get("Content-Encoding") != "" {
		t.Errorf("the headers are %v", got.header)
	}
	about := texts(got.spans[0].Resource.Attributes)
	if about["service.name"] != "cascada" || about["service.version"] != "v-test" || about["deployment.environment.name"] != "test" || about["host.name"] == "" {
		t.Errorf("the resource is %v", about)
	}
	in := got.spans[0].ScopeSpans[0]
	child, parent := in.Spans[0], in.Spans[1]
	if in.Scope.Name != "github.com/cascadapay/cascada" || child.Name != "child" || parent.Name != "parent" || child.Kind != wire.Span_SPAN_KIND_CLIENT || parent.Kind != wire.Span_SPAN_KIND_SERVER {
		t.Errorf("the spans are %v", in)
	}
	if string(child.TraceId) != string(parent.TraceId) || string(child.ParentSpanId) != string(parent.SpanId) || len(parent.ParentSpanId) != 0 || len(child.TraceId) != 16 || len(child.SpanId) != 8 {
		t.Errorf("%v is not within %v", child, parent)
	}
	if want := map[string]any{"text": "é", "number": int64(-7)}; !reflect.DeepEqual(texts(child.Attributes), want) {
		t.Errorf("the attributes are %v, want %v", child.Attributes, want)
	}
	if child.Status.Code != wire.Status_STATUS_CODE_ERROR || child.Status.Message != "refused" || parent.Status.Code != wire.Status_STATUS_CODE_UNSET {
		t.Errorf("the statuses are %v and %v", child.Status, parent.Status)
	}
	begun, ended := time.Unix(0, int64(child.StartTimeUnixNano)), time.Unix(0, int64(child.EndTimeUnixNano))
	if begun.Before(from) || ended.Before(begun) || ended.After(time.Now()) {
		t.Errorf("the child is from %v to %v", begun, ended)
	}
	const sampled, known, remote = 1, 0x100, 0x200
	if l := parent.Links; len(l) != 1 || hex.EncodeToString(l[0].TraceId) != "0af7651916cd43dd8448eb211c80319c" || hex.EncodeToString(l[0].SpanId) != "b7ad6b7169203331" || l[0].Flags != sampled|known|remote {
		t.Errorf("the links are %v", l)
	}
	if child.Flags != sampled|known || parent.Flags != sampled|known {
		t.Errorf("the flags are %x and %x", child.Flags, parent.Flags)
	}
}

// A collector that is busy gets the same spans again; one that refuses them does not.
func TestSpansAreSentAgainWhenTheCollectorAsksForIt(t *testing.T) {
	for what, c := range map[string]struct {
		status, requests int
		header, body     string
		says             string
	}{
		"busy":               {http.StatusServiceUnavailable, 3, "0", "", ""},
		"too many requests":  {http.StatusTooManyRequests, 3, "0", "", ""},
		"busy until a time":  {http.StatusBadGateway, 3, time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), "", ""},
		"busy for a day":     {http.StatusGatewayTimeout, 1, "86400", "come back", "504 Gateway Timeout: come back"},
		"refused":            {http.StatusBadRequest, 1, "0", "no", "400 Bad Request: no"},
		"moved, with spans":  {http.StatusPermanentRedirect, 1, "", "", "308"},
		"moved, without any": {http.StatusFound, 1, "", "", "302"},
	} {
		t.Run(what, func(t *testing.T) {
			to := collect(t, func(w http.ResponseWriter, n int) {
				if n < 3 {
					w.Header().Set("Retry-After", c.header)
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
				}
			})
			sent, err := send(t, trace.Config{Endpoint: to.URL}, one)
			if sent != 1 || len(to.got) != c.requests || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%d requests ended with %v, want %d and %q", len(to.got), err, c.requests, c.says)
			}
			for _, again := range to.got {
				if !proto.Equal(again.spans[0], to.got[0].spans[0]) {
					t.Error("the second time others were sent")
				}
			}
		})
	}
	tired := collect(t, func(w http.ResponseWriter, _ int) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if _, err := send(t, trace.Config{Endpoint: tired.URL}, one); err == nil || len(tired.got) != 5 {
		t.Errorf("a collector that is always busy got %d requests, %v, want 5 and an error", len(tired.got), err)
	}
}

func TestSpansThatWereNotKeptAreReported(t *testing.T) {
	c := collect(t, func(w http.ResponseWriter, _ int) {
		body, _ := proto.Marshal(&v1.ExportTraceServiceResponse{PartialSuccess: &v1.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "too old"}})
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(body)
	})
	if _, err := send(t, trace.Config{Endpoint: c.URL}, one); err == nil || !strings.Contains(err.Error(), "refused 1 spans: too old") || len(c.got) != 1 {
		t.Errorf("%d requests ended with %v", len(c.got), err)
	}
}

// OpenTelemetry's own variables decide about the calls. Those for traces alone come first.
func TestVariablesDecideHowSpansAreSent(t *testing.T) {
	c := &collector{}
	c.Server = httptest.NewTLSServer(c)
	defer c.Close()
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-other=1")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", " api-key = a%2Cb%20c ,,x-tenant=acme=1")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	if _, err := send(t, trace.Config{}, one); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of nobody known ends with %v", err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", ca)
	if _, err := send(t, trace.Config{}, one); err != nil || len(c.got) != 1 {
		t.Fatalf("%d requests ended with %v", len(c.got), err)
	}
	h := c.got[0].header
	if h.Get("Api-Key") != "a,b c" || h.Get("X-Tenant") != "acme=1" || h.Get("X-Other") != "" || h.Get("Content-Encoding") != "gzip" {
		t.Errorf("the headers are %v", h)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "30")
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "300") // of all tries
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		<-r.Context().Done()
	}))
	defer slow.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", slow.URL+"/v1/traces")
	if _, err := send(t, trace.Config{}, one); err == nil || !strings.Contains(err.Error(), "Client.Timeout") {
		t.Errorf("a collector that does not answer ends with %v", err)
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if off, err := trace.Open(t.Context(), trace.Config{}); off != nil || err != nil {
		t.Errorf("with OTEL_SDK_DISABLED it is %v, %v, want none", off, err)
	}
}

func TestVariablesThatCannotBeReadAreRefused(t *testing.T) {
	for _, c := range []struct{ name, value string }{
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"}, {"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "0"},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "hunter2"}, {"OTEL_EXPORTER_OTLP_HEADERS", "a b=hunter2"}, {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=hunter2%zz"}, {"OTEL_EXPORTER_OTLP_HEADERS", "a=hunter2%0d%0ab:c"},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", "no-such-file"}, {"OTEL_EXPORTER_OTLP_CERTIFICATE", "exporter_test.go"},
		{"OTEL_EXPORTER_OTLP_CLIENT_KEY", "key.pem"}, {"OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE", "cert.pem"},
		{"OTEL_TRACES_SAMPLER", "jaeger_remote"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			err := trace.Config{Endpoint: "http://127.0.0.1:4318"}.Check()
			if err == nil || !strings.Contains(err.Error(), c.name) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s ends with %v, want an error with its name and no value", c.value, err)
			}
			if _, open := trace.Open(t.Context(), trace.Config{Endpoint: "http://127.0.0.1:4318"}); open == nil {
				t.Error("it is opened")
			}
		})
	}
}
