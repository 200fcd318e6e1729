package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Config says where spans are sent. OpenTelemetry's own variables fill in empty fields.
type Config struct {
	// Endpoint is the collector's base address, such as http://127.0.0.1:4318; empty:
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT, or none.
	Endpoint string
	Version  string
	Log      *slog.Logger
	// Sent, if set, is called with the number of spans that were sent to the collector, or
	// with the error if they were not.
	Sent func(spans int, err error)
}

// OpenTelemetry's variables for where, and whether, traces are sent. readOptions has those for how, and the library reads the others.
const (
	endpointVar      = "OTEL_EXPORTER_OTLP_ENDPOINT"
	traceEndpointVar = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	disabledVar      = "OTEL_SDK_DISABLED"
	exporterVar      = "OTEL_TRACES_EXPORTER"
	samplerVar       = "OTEL_TRACES_SAMPLER"
	samplerArgVar    = "OTEL_TRACES_SAMPLER_ARG"
)

// tracesPath is the path for traces below a collector's base address.
const tracesPath = "/v1/traces"

// flushTimeout is how long Close waits for a collector.
const flushTimeout = 3 * time.Second

// Check says what is wrong with the collector's address. It makes no call.
func (c Config) Check() error {
	if address := c.address(); address != "" {
		return check(address)
	}
	return nil
}

// address is where traces are sent, "" for nowhere.
func (c Config) address() string {
	if strings.EqualFold(os.Getenv(disabledVar), "true") || os.Getenv(exporterVar) == "none" {
		return ""
	}
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = os.Getenv(endpointVar)
	}
	address, exact := os.Getenv(traceEndpointVar), c.Endpoint == ""
	if !exact || address == "" {
		if address = endpoint; address != "" {
			address = strings.TrimSuffix(endpoint, "/") + tracesPath
		}
	}
	return address
}

// Open returns a Tracer; nil if no collector is configured, or the variables disable
// tracing. The collector may be unreachable: unsent spans are dropped after a minute, and
// at most 2048 wait. The caller must close it.
func Open(ctx context.Context, c Config) (*Tracer, error) {
	address := c.address()
	if address == "" {
		return nil, nil
	}
	if err := check(address); err != nil {
		return nil, err
	}
	with, err := readOptions()
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "cascada"), attribute.String("service.version", c.Version)),
		resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", "OTEL_RESOURCE_ATTRIBUTES", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(&reporter{SpanExporter: newExporter(address, c.Version, with), log: c.Log, sent: c.Sent}), sdk.WithResource(about))
	return &Tracer{provider.Tracer("github.com/cascadapay/cascada"), provider}, nil
}

// check refuses an address, and variables that cannot be read.
func check(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New("the address of the collector of traces: want http:// or https:// and a host, such as http://127.0.0.1:4318")
	}
	if _, err := readOptions(); err != nil {
		return err
	}
	sampler := os.Getenv(samplerVar)
	if known := []string{"", "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}; !slices.Contains(known, sampler) {
		return fmt.Errorf("%s is %q: want one of%s", samplerVar, sampler, strings.Join(known, " "))
	}
	if arg := os.Getenv(samplerArgVar); arg != "" && strings.HasSuffix(sampler, "ratio") {
		if share, err := strconv.ParseFloat(arg, 64); err != nil || share < 0 || share > 1 {
			return fmt.Errorf("%s is %q: want a share from 0 to 1", samplerArgVar, arg)
		}
	}
	return nil
}

// Close sends the waiting spans. It gives up if the collector does not answer.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// reporter reports the results of sending spans.
type reporter struct {
	sdk.SpanExporter
	log  *slog.Logger
	sent func(int, error)
	lost atomic.Bool // the last spans were lost
}

// ExportSpans implements sdk.SpanExporter.
func (r *reporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	if r.sent != nil {
		r.sent(len(spans), err)
	}
	switch was := r.lost.Swap(err != nil); {
	case err != nil && !was:
		r.log.Warn("traces cannot be sent: they are dropped until the collector accepts them", "error", err)
	case err == nil && was:
		r.log.Info("the collector accepts traces again")
	}
	return nil // it was reported
}
