package store

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var (
	// Each table by its own index, before the two are merged.
	selectUnsure = engine.Statement(`
SELECT ` + paymentsTable.List + ` FROM (
  SELECT ` + paymentsTable.List + ` FROM payments WHERE unsure_at > 0 ORDER BY unsure_at LIMIT $1) AS p
UNION ALL
SELECT ` + paymentsTable.List + ` FROM (
  SELECT ` + paymentsTable.List + ` FROM processing WHERE unsure_at > 0 ORDER BY unsure_at LIMIT $1) AS q
ORDER BY unsure_at LIMIT $1`)

	selectWaitingWithdrawals = engine.Statement(`
SELECT ` + withdrawalsTable.List + ` FROM withdrawals WHERE status = 'pending' AND due_at > 0 AND coalesce({json doc waiting}, '') <> '' ORDER BY id LIMIT $1`)
	selectAnyWithdrawal   = engine.Statement(`SELECT ` + withdrawalsTable.List + ` FROM withdrawals WHERE id = $1`)
	selectSentWithdrawals = engine.Statement(`SELECT ` + withdrawalsTable.List + ` FROM withdrawals WHERE due_at > 0 AND status = 'processing' ORDER BY id LIMIT $1`)
)

// Unsure reads payments of all tenants whose outcome nobody knows, the oldest first.
func (s *Payments) Unsure(ctx context.Context, limit int) ([]pay.Payment, error) {
	return base.Many(ctx, s.b, selectUnsure, paymentsTable.Scan(s.b.Personal), limit)
}

// Any reads a withdrawal of any tenant, for the operator; never for what a
// merchant asks.
func (s *Withdrawals) Any(ctx context.Context, id string) (pay.Withdrawal, error) {
	return base.One(ctx, s.b, selectAnyWithdrawal, withdrawalsTable.Scan(s.b.Personal), id)
}

// Sent reads withdrawals of all tenants that a payout provider has, or may
// have, the oldest first.
func (s *Withdrawals) Sent(ctx context.Context, limit int) ([]pay.Withdrawal, error) {
	return base.Many(ctx, s.b, selectSentWithdrawals, withdrawalsTable.Scan(s.b.Personal), limit)
}

// Waiting lists withdrawals that are due and wait for something, of all tenants, the
// oldest first.
func (s *Withdrawals) Waiting(ctx context.Context, limit int) ([]pay.Withdrawal, error) {
	return base.Many(ctx, s.b, selectWaitingWithdrawals, withdrawalsTable.Scan(s.b.Personal), limit)
}
