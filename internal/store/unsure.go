package store

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
)

const (
	// Each table by its own index, before the two are merged.
	selectUnsure = `
SELECT ` + paymentColumns + ` FROM (
  SELECT ` + paymentColumns + ` FROM payments WHERE unsure_at > 0 ORDER BY unsure_at LIMIT $1) AS p
UNION ALL
SELECT ` + paymentColumns + ` FROM (
  SELECT ` + paymentColumns + ` FROM processing WHERE unsure_at > 0 ORDER BY unsure_at LIMIT $1) AS q
ORDER BY unsure_at LIMIT $1`

	selectWaitingWithdrawals = `
SELECT ` + withdrawalColumns + ` FROM withdrawals WHERE status = 'pending' AND due_at > 0 AND coalesce({json doc waiting}, '') <> '' ORDER BY id LIMIT $1`
	selectAnyWithdrawal   = `SELECT ` + withdrawalColumns + ` FROM withdrawals WHERE id = $1`
	selectSentWithdrawals = `SELECT ` + withdrawalColumns + ` FROM withdrawals WHERE due_at > 0 AND status = 'processing' ORDER BY id LIMIT $1`
)

// Unsure reads payments of all tenants whose outcome nobody knows, the oldest first.
func (s *Store) Unsure(ctx context.Context, limit int) ([]pay.Payment, error) {
	return many(ctx, s, selectUnsure, scanPayment, limit)
}

// AnyWithdrawal reads a withdrawal of any tenant, for the operator; never for what a
// merchant asks.
func (s *Store) AnyWithdrawal(ctx context.Context, id string) (pay.Withdrawal, error) {
	return one(ctx, s, selectAnyWithdrawal, scanWithdrawal, id)
}

// SentWithdrawals reads withdrawals of all tenants that a payout provider has, or may
// have, the oldest first.
func (s *Store) SentWithdrawals(ctx context.Context, limit int) ([]pay.Withdrawal, error) {
	return many(ctx, s, selectSentWithdrawals, scanWithdrawal, limit)
}

func unsureQueries() []string {
	return []string{selectUnsure, selectAnyWithdrawal, selectSentWithdrawals, selectWaitingWithdrawals}
}

// WaitingWithdrawals lists withdrawals that are due and wait for something, of all tenants, the
// oldest first.
func (s *Store) WaitingWithdrawals(ctx context.Context, limit int) ([]pay.Withdrawal, error) {
	return many(ctx, s, selectWaitingWithdrawals, scanWithdrawal, limit)
}
