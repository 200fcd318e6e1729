package payouts

import (
	"context"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/merchants"
	"github.com/cascadapay/cascada/internal/store/table"
)

// BatchesTable is the table payout_batches.
var BatchesTable = table.Describe(table.Table[pay.Batch]{
	Name:    "payout_batches",
	Hashed:  true,
	Lock:    270,
	Of:      func(c *pay.Change) []pay.Batch { return c.Batches },
	ID:      func(b *pay.Batch) string { return b.ID },
	Version: func(b *pay.Batch) int64 { return b.Version },
	Met:     table.StaleAnyhow, // if two number a batch alike, one retries
	Fields: func(f *table.Fields, b *pay.Batch) {
		f.Text("id!", &b.ID)
		f.Number("version", &b.Version)
		f.Text("account!", &b.Account)
		f.Flag("live!", &b.Live)
		f.Count("number!", &b.Number)
		table.Word(f, "status", &b.Status)
		f.Text("network!", &b.Network)
		f.Text("layout!", &b.Layout)
		f.Count("lines", &b.Lines)
		f.Number("total", &b.Total.Minor)
		table.Word(f, "currency!", &b.Total.Currency)
		f.Text("checksum!", &b.Checksum)
		f.Bytes("file", &b.File)
		f.Text("made_by!", &b.MadeBy)
		f.Text("approved_by", &b.ApprovedBy)
		f.Time("created_at!", &b.CreatedAt)
		f.Time("updated_at", &b.UpdatedAt)
		f.Time("exported_at", &b.ExportedAt)
	},
})

var (
	selectBatch      = engine.Statement(`SELECT ` + BatchesTable.List + ` FROM payout_batches WHERE id = $1`)
	selectLastBatch  = engine.Statement(`SELECT coalesce(max(number), 0) FROM payout_batches WHERE account = $1`)
	selectBatchAfter = engine.Statement(`SELECT ` + BatchesTable.List + ` FROM payout_batches WHERE id > $1 ORDER BY id LIMIT 1`)
	// Without the files, which a list does not need.
	listBatches = engine.Statement(`
SELECT ` + strings.Replace(BatchesTable.List, ", file,", ", '',", 1) + `
FROM payout_batches WHERE ($1 = '' OR account = $1) AND ($2 = '' OR (created_at, id) < (SELECT c.created_at, c.id FROM payout_batches AS c WHERE c.id = $2)) ORDER BY created_at DESC, id DESC LIMIT $3`)
	selectBatchable = engine.Statement(`
SELECT ` + Table.List + ` FROM withdrawals WHERE provider = $1 AND status = 'processing' AND batch = '' AND id > $2
  AND ` + merchants.NotEmptied("merchant", "live") + ` ORDER BY id LIMIT $3`)
	selectBatched = engine.Statement(`SELECT ` + Table.List + ` FROM withdrawals WHERE batch = $1 AND batch <> '' ORDER BY provider_ref`)
)

// Get reads a batch of payouts with its file. Errors: ErrNotFound.
func (b Batches) Get(ctx context.Context, id string) (pay.Batch, error) {
	return base.One(ctx, b.b, selectBatch, BatchesTable.Scan(b.b.Personal), id)
}

// After reads the batch with the next id. Errors: ErrNotFound.
func (b Batches) After(ctx context.Context, id string) (pay.Batch, error) {
	return base.One(ctx, b.b, selectBatchAfter, BatchesTable.Scan(b.b.Personal), id)
}

// Last is the number of an account's newest batch, 0 for none.
func (b Batches) Last(ctx context.Context, account string) (int, error) {
	n, err := base.One(ctx, b.b, selectLastBatch, base.ScanInt, account)
	return int(n), err
}

// List lists batches without their files, of one account or of all, newest first, after the one with an id.
func (b Batches) List(ctx context.Context, account, after string, limit int) ([]pay.Batch, error) {
	return base.Many(ctx, b.b, listBatches, BatchesTable.Scan(b.b.Personal), account, after, limit)
}

// Batchable lists withdrawals that wait for an account's next batch, with ids after one. It leaves out those of a sandbox
// that is being emptied: they are about to go, and a batch with one of them would be dissolved.
func (b Batches) Batchable(ctx context.Context, account, after string, limit int) ([]pay.Withdrawal, error) {
	return base.Many(ctx, b.b, selectBatchable, Table.Scan(b.b.Personal), account, after, limit)
}

// Batched lists the withdrawals of a batch in line order.
func (b Batches) Batched(ctx context.Context, batch string) ([]pay.Withdrawal, error) {
	return base.Many(ctx, b.b, selectBatched, Table.Scan(b.b.Personal), batch)
}

// Batches are payout files for banks.
type Batches struct{ b *base.Base }

// Batches returns the database's Batches.
func (o OfPayouts) Batches() Batches { return Batches(o) }
