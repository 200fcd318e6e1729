package store

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/trace"
)

// about adds a change's ids to a span, and nothing else.
func about(span *trace.Span, c *pay.Change) {
	if span == nil {
		return
	}
	if len(c.Payments) > 0 {
		span.Text("cascada.payment.id", c.Payments[0].ID)
	}
	if len(c.Claims) > 0 {
		span.Text("cascada.claim.id", c.Claims[0].ID)
	}
	if len(c.Withdrawals) > 0 {
		span.Text("cascada.withdrawal.id", c.Withdrawals[0].ID)
	}
	if len(c.Deliveries) > 0 {
		span.Text("cascada.delivery.id", c.Deliveries[0].ID)
	}
}

// transaction starts the span of a batch's transaction, which belongs to many requests at once.
func (co *core) transaction(batch []*waiting) *trace.Span {
	if co.tracer == nil {
		return nil
	}
	spans := make([]*trace.Span, 0, len(batch))
	for _, w := range batch {
		spans = append(spans, w.span)
	}
	span := co.tracer.Joint("transaction", trace.Client, spans)
	span.Text("db.system.name", co.system())
	span.Number("cascada.transaction.changes", len(batch))
	return span
}

// system is the database's OpenTelemetry name.
func (co *core) system() string {
	if co.b.DB.Dialect() == engine.PostgreSQL {
		return "postgresql"
	}
	return "sqlite"
}

// parents are the commits that write events; the events' deliveries belong to the same traces. Nil without
// tracing.
func (w *write) parents() map[string]trace.Ref {
	if w.s.tracer == nil {
		return nil
	}
	refs := map[string]trace.Ref{}
	for _, c := range w.kept {
		for i := range c.change.Events {
			refs[c.change.Events[i].ID] = c.span.Ref()
		}
	}
	return refs
}
