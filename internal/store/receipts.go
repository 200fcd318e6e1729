package store

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
)

const (
	receiptColumns = "id, account, payment, verdict, body, at"
	selectReceipt  = `SELECT ` + receiptColumns + ` FROM receipts WHERE id = $1`
	// What the operator has closed has a receipt of its own that says so.
	unclosed         = `verdict = 'mismatched' AND NOT EXISTS (SELECT 1 FROM receipts AS c WHERE c.id = '/closed/' || receipts.id)`
	selectUnclosed   = `SELECT ` + receiptColumns + ` FROM receipts WHERE ` + unclosed + ` ORDER BY at, id LIMIT $1`
	selectReceiptsOf = `SELECT ` + receiptColumns + ` FROM receipts WHERE payment = $1 ORDER BY at, id`
)

func scanReceipt(r row) (n pay.Receipt, err error) {
	var body string
	var at int64
	err = r.Scan(&n.ID, &n.Account, &n.Payment, &n.Verdict, &body, &at)
	n.Body, n.At = []byte(body), fromMicros(at)
	return n, err
}

// Receipt reads a notification as it was kept. ErrNotFound.
func (s *Store) Receipt(ctx context.Context, id string) (pay.Receipt, error) {
	return one(ctx, s, selectReceipt, scanReceipt, id)
}

// ReceiptsOf reads what was told of a payment, in the order in which it came.
func (s *Store) ReceiptsOf(ctx context.Context, payment string) ([]pay.Receipt, error) {
	return many(ctx, s, selectReceiptsOf, scanReceipt, payment)
}

// Unclosed reads the notifications that did not fit their payments and wait for
// the operator, of all tenants, the oldest first.
func (s *Store) Unclosed(ctx context.Context, limit int) ([]pay.Receipt, error) {
	return many(ctx, s, selectUnclosed, scanReceipt, limit)
}

func receiptQueries() []string { return []string{selectReceipt, selectReceiptsOf, selectUnclosed} }
