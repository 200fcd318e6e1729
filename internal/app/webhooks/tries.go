package webhooks

import (
	"context"
	"log/slog"
	"net/url"
	"strconv"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/trace"
)

// delivering begins the trace span of a delivery's try, below the span that made the delivery if
// this node knows it. The trace is not sent to the endpoint, which belongs to another company; it
// gets the event's id.
func (w *Webhooks) delivering(ctx context.Context, it item, address string) (context.Context, *trace.Span) {
	ctx, span := w.Tracer.Start(w.Tracer.Within(ctx, it.Cause), "delivery", trace.Producer)
	if span == nil {
		return ctx, nil
	}
	span.Text("cascada.delivery.id", sentID(it.Delivery.ID))
	span.Text("cascada.event.id", it.Delivery.Event)
	span.Text("cascada.event.type", string(it.Delivery.EventType))
	if u, err := url.Parse(address); err == nil { // its path may be a secret
		span.Text("server.address", u.Hostname())
	}
	return ctx, span
}

// attempted reports a delivery's try to the meter, the trace and the log.
func (w *Webhooks) attempted(ctx context.Context, span *trace.Span, d webhooks.Delivery, r sender.Result) {
	result := attemptResult(r)
	if w.Meter.Attempted != nil {
		w.Meter.Attempted(merchants.EnvironmentOf(d.Live), result, r.Duration)
	}
	if w.Log.Enabled(ctx, slog.LevelDebug) {
		w.Log.DebugContext(ctx, "a delivery was tried", "delivery", d.ID, "subscription", d.Subscription, "result", result, "took", r.Duration)
	}
	if r.StatusCode != 0 {
		span.Number("http.response.status_code", r.StatusCode)
	}
	if !r.Delivered() {
		span.Fail(string(r.Err))
	}
	span.End()
}

func attemptResult(r sender.Result) string {
	if class := r.StatusCode / 100; class >= 1 && class <= 5 {
		return strconv.Itoa(class) + "xx"
	}
	if r.StatusCode != 0 { // not a status code that HTTP knows
		return "5xx"
	}
	return string(r.Err)
}

// AttemptResults lists the possible results of a try: a class of status codes, or the reason why
// there was no answer.
func AttemptResults() []string {
	return []string{
		"1xx", "2xx", "3xx", "4xx", "5xx",
		string(sender.Timeout), string(sender.DNS), string(sender.TLS), string(sender.Refused), string(sender.BlockedAddress),
		string(sender.NeedsTLS), string(sender.Reset), string(sender.BadAnswer),
	}
}
