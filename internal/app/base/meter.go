package base

import (
	"context"
	"log/slog"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/trace"
)

// Meter gets durations as they are measured. Its functions must not block; nil ones are not called.
type Meter struct {
	Commits store.Meter
	// Attempted: an endpoint answered a delivery with this result, after this time.
	Attempted func(environment merchants.Environment, result string, took time.Duration)
	// Called: a provider account answered a call with this outcome, after this time.
	Called func(account, operation, outcome string, took time.Duration)
}

// The operations of providers.
const (
	OpCharge       = "charge"
	OpQuery        = "query"
	OpCancel       = "cancel"
	OpRefund       = "refund"
	OpQueryRefund  = "query_refund"
	OpQueryDispute = "query_dispute"
	OpDefend       = "defend"
	OpPayout       = "payout"
	OpQueryPayout  = "query_payout"
)

// call is a call to a provider account that is under way.
type call struct {
	app                *Base
	span               *trace.Span
	account, operation string
	about              string
	began              time.Time
}

// Calling begins a call to a provider account about one of our objects. The trace is not sent to
// the provider, which is another company.
func (b *Base) Calling(ctx context.Context, operation, account, about string) (context.Context, call) {
	ctx, span := b.Tracer.Start(ctx, operation+" at a provider", trace.Client)
	span.Text("cascada.provider.account", account)
	span.Text("cascada.reference", about)
	return ctx, call{b, span, account, operation, about, b.Now()}
}

// Ended records the outcome of the call, and the reason if it is known.
func (c call) Ended(ctx context.Context, outcome, why string) {
	took := c.app.Now().Sub(c.began)
	if c.app.Meter.Called != nil {
		c.app.Meter.Called(c.account, c.operation, outcome, took)
	}
	if c.app.Log.Enabled(ctx, slog.LevelDebug) {
		c.app.Log.DebugContext(ctx, "a provider was called", "operation", c.operation, "account", c.account, "outcome", outcome, "why", why, "took", took)
	}
	c.span.Text("cascada.outcome", outcome)
	c.span.Text("cascada.decline", why)
	if outcome == string(pay.Unknown) || outcome == string(pay.Errored) || outcome == string(pay.Unavailable) {
		c.span.Fail(outcome)
	}
	c.span.End()
}

// EndedCharge is Ended for a charge or a refund. It returns the answer as it can be stored.
func (c call) EndedCharge(ctx context.Context, o pay.Outcome) pay.Outcome {
	o, unread := o.Storable()
	c.Ended(ctx, string(o.Kind), o.Decline)
	c.app.Quiet.Unread(ctx, c.account, c.about, unread)
	return o
}

// Paid is Ended for a payout. It returns the answer as it can be stored.
func (c call) Paid(ctx context.Context, o pay.PayoutOutcome) pay.PayoutOutcome {
	o, unread := o.Storable()
	c.Ended(ctx, string(o.Kind), "")
	c.app.Quiet.Unread(ctx, c.account, c.about, unread)
	return o
}
