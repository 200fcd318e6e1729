package settlements

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// AdjustmentsTable is the table adjustments.
var AdjustmentsTable = table.Describe(table.Table[pay.Adjustment]{
	Name:    "adjustments",
	Lock:    315,
	Hashed:  true,
	Of:      func(c *pay.Change) []pay.Adjustment { return c.Adjustments },
	ID:      func(a *pay.Adjustment) string { return a.ID },
	Version: func(a *pay.Adjustment) int64 { return a.Version },
	Met:     table.Stale, // the same reference twice at once: one retries
	Fields: func(f *table.Fields, a *pay.Adjustment) {
		f.Text("id!", &a.ID)
		f.Text("merchant!", &a.Merchant)
		f.Flag("live!", &a.Live)
		f.Number("version", &a.Version)
		table.Word(f, "status", &a.Status)
		f.Number("amount", &a.Amount) // one that was rejected may be made again
		table.Word(f, "reason", &a.Reason)
		f.Text("note", &a.Note)
		f.Text("about", &a.About)
		f.Text("reference!", &a.Reference)
		f.Text("reverses!", &a.Reverses)
		f.Flag("negative", &a.Negative)
		f.Text("made_by", &a.MadeBy)
		f.Text("decided_by", &a.DecidedBy)
		f.Time("created_at", &a.CreatedAt)
		f.Time("updated_at", &a.UpdatedAt)
	},
})

var (
	selectAdjustment  = engine.Statement(`SELECT ` + AdjustmentsTable.List + ` FROM adjustments WHERE id = $1`)
	selectAdjustments = engine.Statement(`SELECT ` + AdjustmentsTable.ListOf("a") + ` FROM {rows: id TEXT} AS r JOIN adjustments AS a ON a.id = r.id`)
	listAdjustments   = engine.Statement(`
SELECT ` + AdjustmentsTable.List + ` FROM adjustments
WHERE ($1 = '' OR merchant = $1) AND ($2 = '' OR status = $2) AND ($3 = '' OR (created_at, id) < (SELECT c.created_at, c.id FROM adjustments AS c WHERE c.id = $3))
ORDER BY created_at DESC, id DESC LIMIT $4`)
)

// Adjustments are what operators booked by hand.
type Adjustments struct{ b *base.Base }

// Adjustments returns the database's Adjustments.
func (o OfSettlements) Adjustments() Adjustments { return Adjustments(o) }

// Any reads an adjustment of any merchant. Errors: ErrNotFound.
func (ad Adjustments) Any(ctx context.Context, id string) (pay.Adjustment, error) {
	return base.One(ctx, ad.b, selectAdjustment, AdjustmentsTable.Scan(ad.b.Personal), id)
}

// ByID reads adjustments by id. Those without a row are missing.
func (ad Adjustments) ByID(ctx context.Context, ids []string) (map[string]pay.Adjustment, error) {
	wanted := engine.NewRows(ad.b.DB.Dialect(), engine.ParseColumns("id TEXT"), len(ids))
	for _, id := range ids {
		wanted.Text(id).Next()
	}
	list, err := base.Many(ctx, ad.b, selectAdjustments, AdjustmentsTable.Scan(ad.b.Personal), wanted.Args()...)
	found := make(map[string]pay.Adjustment, len(list))
	for _, a := range list {
		found[a.ID] = a
	}
	return found, err
}

// All lists adjustments of every merchant or of one, of every status or of one, newest first, after the one with an id.
func (ad Adjustments) All(ctx context.Context, merchant string, status pay.AdjustmentStatus, after string, limit int) ([]pay.Adjustment, error) {
	return base.Many(ctx, ad.b, listAdjustments, AdjustmentsTable.Scan(ad.b.Personal), merchant, string(status), after, limit)
}
