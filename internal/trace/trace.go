// Package trace makes spans and sends them to a collector of OpenTelemetry, by OTLP over HTTP.
// It knows no domain: what a span is about, its maker says. Without a collector there is no
// Tracer, and nothing is done: a nil *Tracer and a nil *Span are fit for use.
package trace

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracer makes spans. It is safe for use by many goroutines.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdk.TracerProvider
}

// Span is one step of something, from Start to End. Its methods may be called from many
// goroutines, and do nothing after End.
type Span struct{ span trace.Span }

// Kind says on which side of a call a span is.
type Kind trace.SpanKind

// The kinds.
const (
	Internal = Kind(trace.SpanKindInternal)
	Server   = Kind(trace.SpanKindServer) // it answers
	Client   = Kind(trace.SpanKindClient) // it asks
	Producer = Kind(trace.SpanKindProducer)
)

// Ref names a span, here or elsewhere. The zero value names none.
type Ref struct{ of trace.SpanContext }

// Incoming is the span that a request says it is a part of (W3C Trace Context).
func Incoming(h http.Header) Ref {
	if len(h["Traceparent"]) == 0 {
		return Ref{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(h))
	return Ref{trace.SpanContextFromContext(ctx)}
}

// ID is the id of the trace that a context belongs to; "" where nobody keeps it.
func ID(ctx context.Context) string {
	of := trace.SpanContextFromContext(ctx)
	if !of.IsSampled() {
		return ""
	}
	return of.TraceID().String()
}

// Start begins a span within the one of the context, or a trace. Whoever calls ends it.
func (t *Tracer) Start(ctx context.Context, name string, kind Kind) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKind(kind)))
	return ctx, &Span{span}
}

// Within returns a context whose spans are parts of another one, which has mostly ended.
func (t *Tracer) Within(ctx context.Context, of Ref) context.Context {
	if t == nil || !of.of.IsValid() {
		return ctx
	}
	return trace.ContextWithSpanContext(ctx, of.of)
}

// mostLinks is what the collector keeps of a span by default.
const mostLinks = 128

// Joint begins a span of what is done for several at once. It is a part of the first of them
// that is kept, and linked with the others. Where none is kept there is none.
func (t *Tracer) Joint(name string, kind Kind, of []*Span) *Span {
	if t == nil {
		return nil
	}
	var kept []*Span
	for _, s := range of {
		if s != nil && s.span.IsRecording() && len(kept) < mostLinks {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	_, joint := t.Start(trace.ContextWithSpan(context.Background(), kept[0].span), name, kind)
	for _, s := range kept {
		s.Link(joint.Ref())
		if s != kept[0] {
			joint.Link(s.Ref())
		}
	}
	return joint
}

// Ref names the span.
func (s *Span) Ref() Ref {
	if s == nil {
		return Ref{}
	}
	return Ref{s.span.SpanContext()}
}

// Named changes the span's name, where it is known only at the end.
func (s *Span) Named(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// Text adds what the span is about.
func (s *Span) Text(key, value string) {
	if s != nil && value != "" && s.span.IsRecording() {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Number adds what the span is about.
func (s *Span) Number(key string, value int) {
	if s != nil && s.span.IsRecording() {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// Link says that the span has to do with another one.
func (s *Span) Link(with Ref) {
	if s != nil && with.of.IsValid() {
		s.span.AddLink(trace.Link{SpanContext: with.of})
	}
}

// Fail says that what the span is of went wrong, in a word or two.
func (s *Span) Fail(why string) {
	if s != nil {
		s.span.SetStatus(codes.Error, why)
	}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.span.End()
	}
}
