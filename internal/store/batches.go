package store

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

const batchColumns = "id, version, account, live, number, status, network, layout, lines, total, currency, checksum, file, made_by, approved_by, created_at, updated_at, exported_at"

var batchesTable = newTable("payout_batches", "id TEXT!, version BIGINT, account TEXT!, live BOOLEAN!, number BIGINT!, status TEXT, network TEXT!, "+
	"layout TEXT!, lines BIGINT!, total BIGINT!, currency TEXT!, checksum TEXT!, file TEXT, made_by TEXT!, approved_by TEXT, created_at BIGINT!, "+
	"updated_at BIGINT, exported_at BIGINT",
	func(b *pay.Batch) string { return b.ID }, func(b *pay.Batch) int64 { return b.Version },
	func(r *rows, b *pay.Batch) {
		r.text(b.ID).number(b.Version).text(b.Account).flag(b.Live).number(int64(b.Number)).text(string(b.Status), b.Network, b.Layout).
			number(int64(b.Lines), b.Total.Minor).text(string(b.Total.Currency), b.Checksum, base64.StdEncoding.EncodeToString(b.File), b.MadeBy, b.ApprovedBy).
			number(micros(b.CreatedAt), micros(b.UpdatedAt), micros(b.ExportedAt))
	}).uniqueRows()

func batches(c *pay.Change) []pay.Batch { return c.Batches }

func scanBatch(r row) (b pay.Batch, err error) {
	var number, lines, total, created, updated, exported int64
	var currency, file string
	if err := r.Scan(&b.ID, &b.Version, &b.Account, &b.Live, &number, &b.Status, &b.Network, &b.Layout, &lines, &total, &currency, &b.Checksum, &file,
		&b.MadeBy, &b.ApprovedBy, &created, &updated, &exported); err != nil {
		return b, err
	}
	if b.File, err = base64.StdEncoding.DecodeString(file); err != nil {
		return b, fmt.Errorf("batch %s: %w", b.ID, err)
	}
	b.Number, b.Lines, b.Total = int(number), int(lines), money.New(total, money.Currency(currency))
	b.CreatedAt, b.UpdatedAt, b.ExportedAt = fromMicros(created), fromMicros(updated), fromMicros(exported)
	return b, nil
}

const (
	selectBatch      = `SELECT ` + batchColumns + ` FROM payout_batches WHERE id = $1`
	selectLastBatch  = `SELECT coalesce(max(number), 0) FROM payout_batches WHERE account = $1`
	selectBatchAfter = `SELECT ` + batchColumns + ` FROM payout_batches WHERE id > $1 ORDER BY id LIMIT 1`
	// Without the files, which nobody reads in a list.
	listBatches = `
SELECT id, version, account, live, number, status, network, layout, lines, total, currency, checksum, '', made_by, approved_by, created_at, updated_at, exported_at
FROM payout_batches WHERE $1 = '' OR account = $1 ORDER BY created_at DESC, id DESC LIMIT $2`
	selectBatchable = `
SELECT ` + withdrawalColumns + ` FROM withdrawals WHERE provider = $1 AND status = 'processing' AND batch = '' AND id > $2 ORDER BY id LIMIT $3`
	selectBatched = `SELECT ` + withdrawalColumns + ` FROM withdrawals WHERE batch = $1 AND batch <> '' ORDER BY provider_ref`
)

// Batch reads a batch of payouts with its file. ErrNotFound.
func (s *Store) Batch(ctx context.Context, id string) (pay.Batch, error) {
	return one(ctx, s, selectBatch, scanBatch, id)
}

// BatchAfter reads the batch with the next id. ErrNotFound.
func (s *Store) BatchAfter(ctx context.Context, id string) (pay.Batch, error) {
	return one(ctx, s, selectBatchAfter, scanBatch, id)
}

// LastBatch is the number of an account's newest batch, 0 where it has none.
func (s *Store) LastBatch(ctx context.Context, account string) (int, error) {
	n, err := one(ctx, s, selectLastBatch, scanInt, account)
	return int(n), err
}

// Batches lists batches without their files, of one account or of all, the newest first.
func (s *Store) Batches(ctx context.Context, account string, limit int) ([]pay.Batch, error) {
	return many(ctx, s, listBatches, scanBatch, account, limit)
}

// Batchable lists withdrawals that wait for a batch of an account, after an id.
func (s *Store) Batchable(ctx context.Context, account, after string, limit int) ([]pay.Withdrawal, error) {
	return many(ctx, s, selectBatchable, scanWithdrawal, account, after, limit)
}

// Batched lists the withdrawals of a batch in the order of its lines.
func (s *Store) Batched(ctx context.Context, batch string) ([]pay.Withdrawal, error) {
	return many(ctx, s, selectBatched, scanWithdrawal, batch)
}

func batchQueries() []string {
	return []string{batchesTable.insert, batchesTable.update, selectBatch, selectBatchAfter, selectLastBatch, listBatches, selectBatchable, selectBatched}
}
