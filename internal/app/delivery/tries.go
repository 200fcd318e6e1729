package delivery

import (
	"context"
	"log/slog"
	"net/url"
	"strconv"

	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/webhook"
)

// delivering begins a delivery's try, within what made the delivery where this node knows that.
// No trace is told to the endpoint: it is another party's, who has the event's id.
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

// attempted tells of a delivery's try.
func (w *Webhooks) attempted(ctx context.Context, span *trace.Span, d hook.Delivery, r webhook.Result) {
	result := attemptResult(r)
	if w.Meter.Attempted != nil {
		w.Meter.Attempted(tenant.EnvironmentOf(d.Live), result, r.Duration)
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

func attemptResult(r webhook.Result) string {
	if class := r.StatusCode / 100; class >= 1 && class <= 5 {
		return strconv.Itoa(class) + "xx"
	}
	if r.StatusCode != 0 { // what no HTTP knows
		return "5xx"
	}
	return string(r.Err)
}

// AttemptResults lists what an endpoint's answer can be: a class of status codes, or why there
// was none.
func AttemptResults() []string {
	return []string{
		"1xx", "2xx", "3xx", "4xx", "5xx",
		string(webhook.Timeout), string(webhook.DNS), string(webhook.TLS), string(webhook.Refused), string(webhook.BlockedAddress),
	}
}
