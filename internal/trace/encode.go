package trace

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	wire "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// encode writes spans as OTLP has them: those of one resource together, and of each those of one scope.
func encode(spans []sdk.ReadOnlySpan) (list []*wire.ResourceSpans) {
	type place struct {
		of    attribute.Distinct
		scope instrumentation.Scope
	}
	resources, scopes := map[attribute.Distinct]*wire.ResourceSpans{}, map[place]*wire.ScopeSpans{}
	for _, s := range spans {
		at := place{s.Resource().Equivalent(), s.InstrumentationScope()}
		in := resources[at.of]
		if in == nil {
			in = &wire.ResourceSpans{Resource: &resource.Resource{Attributes: pairs(s.Resource().Attributes())}, SchemaUrl: s.Resource().SchemaURL()}
			resources[at.of] = in
			list = append(list, in)
		}
		within := scopes[at]
		if within == nil {
			within = &wire.ScopeSpans{SchemaUrl: at.scope.SchemaURL, Scope: &common.InstrumentationScope{
				Name: at.scope.Name, Version: at.scope.Version, Attributes: pairs(at.scope.Attributes.ToSlice()),
			}}
			scopes[at] = within
			in.ScopeSpans = append(in.ScopeSpans, within)
		}
		within.Spans = append(within.Spans, encodeSpan(s))
	}
	return list
}

func encodeSpan(s sdk.ReadOnlySpan) *wire.Span {
	of, parent := s.SpanContext(), s.Parent()
	id, span := of.TraceID(), of.SpanID()
	w := &wire.Span{
		TraceId: id[:], SpanId: span[:], TraceState: of.TraceState().String(), Flags: flags(of.TraceFlags(), parent),
		Name: s.Name(), Kind: wire.Span_SpanKind(s.SpanKind()), // the same numbers
		StartTimeUnixNano: nanos(s.StartTime().UnixNano()), EndTimeUnixNano: nanos(s.EndTime().UnixNano()),
		Attributes: pairs(s.Attributes()), DroppedAttributesCount: count(s.DroppedAttributes()),
		DroppedEventsCount: count(s.DroppedEvents()), DroppedLinksCount: count(s.DroppedLinks()),
		Status: &wire.Status{Message: s.Status().Description},
	}
	switch s.Status().Code {
	case codes.Ok:
		w.Status.Code = wire.Status_STATUS_CODE_OK
	case codes.Error:
		w.Status.Code = wire.Status_STATUS_CODE_ERROR
	}
	if above := parent.SpanID(); above.IsValid() {
		w.ParentSpanId = above[:]
	}
	for _, l := range s.Links() {
		id, span := l.SpanContext.TraceID(), l.SpanContext.SpanID()
		w.Links = append(w.Links, &wire.Span_Link{
			TraceId: id[:], SpanId: span[:], TraceState: l.SpanContext.TraceState().String(), Flags: flags(l.SpanContext.TraceFlags(), l.SpanContext),
			Attributes: pairs(l.Attributes), DroppedAttributesCount: count(l.DroppedAttributeCount),
		})
	}
	for _, e := range s.Events() {
		w.Events = append(w.Events, &wire.Span_Event{
			Name: e.Name, TimeUnixNano: nanos(e.Time.UnixNano()), Attributes: pairs(e.Attributes), DroppedAttributesCount: count(e.DroppedAttributeCount),
		})
	}
	return w
}

// flags are those of a span, and whether its parent, or the span of a link, is in another program.
func flags(of trace.TraceFlags, other trace.SpanContext) uint32 {
	f := uint32(of) | uint32(wire.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	if other.IsRemote() {
		f |= uint32(wire.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	return f
}

func nanos(n int64) uint64 { return uint64(max(0, n)) }

func count(n int) uint32 { return uint32(min(max(0, n), math.MaxInt32)) }

func pairs(of []attribute.KeyValue) []*common.KeyValue {
	list := make([]*common.KeyValue, 0, len(of))
	for _, a := range of {
		list = append(list, &common.KeyValue{Key: string(a.Key), Value: value(a.Value)})
	}
	return list
}

// value writes what Span and OTEL_RESOURCE_ATTRIBUTES can hold, and anything else as text.
func value(v attribute.Value) *common.AnyValue {
	switch v.Type() {
	case attribute.STRING:
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v.AsString()}}
	case attribute.INT64:
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.BOOL:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.FLOAT64:
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.STRINGSLICE:
		list := &common.ArrayValue{}
		for _, text := range v.AsStringSlice() {
			list.Values = append(list.Values, &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: text}})
		}
		return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: list}}
	default:
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v.String()}}
	}
}
