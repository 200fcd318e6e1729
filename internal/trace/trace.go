// Package trace makes spans and sends them to an OpenTelemetry collector, by OTLP over
// HTTP. It knows nothing about their subjects. Without a collector there is no Tracer: a
// nil *Tracer and a nil *Span are ready for use and do nothing.
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

// Tracer makes spans. It is safe for concurrent use.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdk.TracerProvider
}

// Span is one step of an operation, from Start to End. Its methods are safe for concurrent
// use, and do nothing after End.
type Span struct{ span trace.Span }

// Kind says which side of a call a span is.
type Kind trace.SpanKind

// The kinds.
const (
	Internal = Kind(trace.SpanKindInternal)
	Server   = Kind(trace.SpanKindServer) // it answers a call
	Client   = Kind(trace.SpanKindClient) // it makes a call
	Producer = Kind(trace.SpanKindProducer)
)

// Ref names a span, here or elsewhere. The zero value names none.
type Ref struct{ of trace.SpanContext }

// Incoming is the parent span that a request names (W3C Trace Context).
func Incoming(h http.Header) Ref {
	if len(h["Traceparent"]) == 0 {
		return Ref{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(h))
	return Ref{trace.SpanContextFromContext(ctx)}
}

// ID is the id of a context's trace; "" if the trace is not kept.
func ID(ctx context.Context) string {
	of := trace.SpanContextFromContext(ctx)
	if !of.IsSampled() {
		return ""
	}
	return of.TraceID().String()
}

// Start begins a span within the context's span, or a new trace. The caller must end it.
func (t *Tracer) Start(ctx context.Context, name string, kind Kind) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKind(kind)))
	return ctx, &Span{span}
}

// Within returns a context whose spans belong to another span, which usually has ended.
func (t *Tracer) Within(ctx context.Context, of Ref) context.Context {
	if t == nil || !of.of.IsValid() {
		return ctx
	}
	return trace.ContextWithSpanContext(ctx, of.of)
}

// mostLinks is the collector's default limit for a span.
const mostLinks = 128

// Joint begins a span of work for several spans at once. It is a part of the first of them
// that is kept, and linked to the others. If none is kept, it returns nil.
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

// Named changes the span's name, for a name that is known only at the end.
func (s *Span) Named(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// Text adds a text attribute.
func (s *Span) Text(key, value string) {
	if s != nil && value != "" && s.span.IsRecording() {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Number adds a number attribute.
func (s *Span) Number(key string, value int) {
	if s != nil && s.span.IsRecording() {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// Link links the span to another one.
func (s *Span) Link(with Ref) {
	if s != nil && with.of.IsValid() {
		s.span.AddLink(trace.Link{SpanContext: with.of})
	}
}

// Fail marks the span as failed, with a short reason.
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
