package store

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
)

// paymentRows is both tables.
type paymentRows struct{}

func (paymentRows) guarded(c *pay.Change, ids []string) []string {
	return of(payments.PaymentsTable).guarded(c, ids)
}

func (paymentRows) lostToDuplicate(*pay.Change, func(string) bool) bool { return false }

func (paymentRows) guards(w *write, steps []engine.Step) []engine.Step {
	in := func(stays, becomes bool) []*pay.Payment {
		return gather(w.batch, payments.PaymentsTable.Of, func(p *pay.Payment) bool {
			return p.Stored != "" && (p.Stored == pay.Processing) == stays && (p.Status == pay.Processing) == becomes
		})
	}
	steps = of(payments.ProcessingTable).removed(w, steps, takeProcessing, in(true, false))
	steps = of(payments.ProcessingTable).replace(w, steps, in(true, true))
	return of(payments.PaymentsTable).replace(w, steps, append(in(false, false), in(false, true)...))
}

func (paymentRows) inserts(w *write, steps []engine.Step) []engine.Step {
	steps = of(payments.ProcessingTable).add(w, steps, gather(w.kept, payments.PaymentsTable.Of, func(p *pay.Payment) bool {
		return p.Stored == "" && p.Status == pay.Processing
	}))
	return of(payments.PaymentsTable).add(w, steps, gather(w.kept, payments.PaymentsTable.Of, func(p *pay.Payment) bool {
		return p.Status != pay.Processing && (p.Stored == "" || p.Stored == pay.Processing)
	}))
}

// takeProcessing removes payments whose outcome is now known.
var takeProcessing = engine.Statement(`
DELETE FROM processing
WHERE {among id id} AND (id, version) IN (SELECT r.id, r.version - 1 FROM {rows: id TEXT, version BIGINT} AS r) AND {unless lost}
RETURNING id`)
