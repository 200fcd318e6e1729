package app

import (
	"context"
	"log/slog"
	"maps"
	"net/url"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/webhook"
)

// Meter is told how long things take, as they happen. Its functions must not block; nil ones
// are not called.
type Meter struct {
	Commits store.Meter
	// Attempted: an endpoint was called and answered so, in so long.
	Attempted func(environment pay.Environment, result string, took time.Duration)
	// Called: a provider account was asked for something, and this came of it in so long.
	Called func(account, operation, outcome string, took time.Duration)
}

// The operations of providers.
const (
	opCharge       = "charge"
	opQuery        = "query"
	opCancel       = "cancel"
	opRefund       = "refund"
	opQueryRefund  = "query_refund"
	opQueryDispute = "query_dispute"
	opPayout       = "payout"
	opQueryPayout  = "query_payout"
)

// PaymentCount names the payments that are counted together: those that came to a status.
type PaymentCount struct {
	Rail        string // catalog key
	Environment pay.Environment
	Status      pay.Status
}

// call is one to a provider account that is under way.
type call struct {
	app                *App
	span               *trace.Span
	account, operation string
	began              time.Time
}

// calling begins a call to a provider account, about something of ours. No trace is told to the
// provider: he is another party.
func (a *App) calling(ctx context.Context, operation, account, about string) (context.Context, call) {
	ctx, span := a.Tracer.Start(ctx, operation+" at a provider", trace.Client)
	span.Text("cascada.provider.account", account)
	span.Text("cascada.reference", about)
	return ctx, call{a, span, account, operation, a.Now()}
}

// ended tells what came of it, in the outcome's word, and why where that is known.
func (c call) ended(ctx context.Context, outcome, why string) {
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

// heard is ended, of a charge or a refund.
func (c call) heard(ctx context.Context, o pay.Outcome) pay.Outcome {
	c.ended(ctx, string(o.Kind), o.Decline)
	return o
}

// paid is ended, of a payout.
func (c call) paid(ctx context.Context, o pay.PayoutOutcome) pay.PayoutOutcome {
	c.ended(ctx, string(o.Kind), "")
	return o
}

// passed counts what a change makes of payments and deliveries.
func (t *tally) passed(c *pay.Change) {
	if len(c.Payments) == 0 && len(c.Deliveries) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range c.Payments {
		if p := &c.Payments[i]; p.Status != p.Stored {
			t.payments[PaymentCount{p.RailID, pay.EnvironmentOf(p.Live), p.Status}]++
		}
	}
	for i := range c.Deliveries {
		if d := &c.Deliveries[i]; d.Status == pay.DeadLetter && d.Stored != pay.DeadLetter {
			t.dead[pay.EnvironmentOf(d.Live)]++
		}
	}
}

// PaymentCounts counts the payments that came to each status by what this node wrote since it
// started.
func (a *App) PaymentCounts() map[PaymentCount]int64 {
	a.tally.mu.Lock()
	defer a.tally.mu.Unlock()
	counts := make(map[PaymentCount]int64, len(a.tally.payments))
	for of, n := range a.tally.payments {
		of.Rail = a.catalog.byID[of.Rail].Key
		counts[of] += n
	}
	return counts
}

// DeadLetters counts the deliveries that this node gave up since it started.
func (a *App) DeadLetters() map[pay.Environment]int64 {
	a.tally.mu.Lock()
	defer a.tally.mu.Unlock()
	counts := map[pay.Environment]int64{pay.Sandbox: 0, pay.Production: 0}
	maps.Copy(counts, a.tally.dead)
	return counts
}

// Parked counts the deliveries that this node has let wait for their endpoints since it started.
func (a *App) Parked() int64 { return a.deliver.parked.Load() }

// Postponed counts the deliveries that this node gave back to wait for an earlier event of
// their object.
func (a *App) Postponed() int64 { return a.deliver.late.Load() }

// StalledEndpoints counts the endpoints that fail, or that deliveries are parked for.
func (a *App) StalledEndpoints(ctx context.Context) (int, error) {
	list, err := a.store.Stalled(ctx)
	return len(list), err
}

// AttemptResults lists what an endpoint's answer can be: a class of status codes, or why there
// was none.
func AttemptResults() []string {
	return []string{
		"1xx", "2xx", "3xx", "4xx", "5xx",
		string(webhook.Timeout), string(webhook.DNS), string(webhook.TLS), string(webhook.Refused), string(webhook.BlockedAddress),
	}
}

// delivering begins a delivery's try, within what made the delivery where this node knows that.
// No trace is told to the endpoint: it is another party's, who has the event's id.
func (a *App) delivering(ctx context.Context, it item, address string) (context.Context, *trace.Span) {
	ctx, span := a.Tracer.Start(a.Tracer.Within(ctx, it.Cause), "delivery", trace.Producer)
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
func (a *App) attempted(ctx context.Context, span *trace.Span, d pay.Delivery, r webhook.Result) {
	result := attemptResult(r)
	if a.Meter.Attempted != nil {
		a.Meter.Attempted(pay.EnvironmentOf(d.Live), result, r.Duration)
	}
	if a.Log.Enabled(ctx, slog.LevelDebug) {
		a.Log.DebugContext(ctx, "a delivery was tried", "delivery", d.ID, "subscription", d.Subscription, "result", result, "took", r.Duration)
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

// Pools tells how the database's connections are used, without asking it.
func (a *App) Pools() []store.Pool { return a.store.Pools() }

// Engine names the kind of the database: sqlite or postgres.
func (a *App) Engine() string { return a.store.Engine() }
