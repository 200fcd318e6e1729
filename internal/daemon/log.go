package daemon

import (
	"context"
	"log/slog"

	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/web"
)

// ofRequests is a log whose lines name the request that they come from.
type ofRequests struct{ slog.Handler }

// Handle implements slog.Handler.
func (o ofRequests) Handle(ctx context.Context, line slog.Record) error {
	if id := web.RequestID(ctx); id != "" {
		line.AddAttrs(slog.String("request", id))
		if theirs := web.CallerID(ctx); theirs != "" {
			line.AddAttrs(slog.String("caller_request", theirs))
		}
	}
	if id := trace.ID(ctx); id != "" {
		line.AddAttrs(slog.String("trace_id", id))
	}
	return o.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (o ofRequests) WithAttrs(attrs []slog.Attr) slog.Handler {
	return ofRequests{o.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (o ofRequests) WithGroup(name string) slog.Handler { return ofRequests{o.Handler.WithGroup(name)} }
