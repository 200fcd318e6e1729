package recovery

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// RecoveriesTable is the table recoveries.
var RecoveriesTable = table.Describe(table.Table[pay.Recovery]{
	Name:    "recoveries",
	Hashed:  true,
	Lock:    320,
	Of:      func(c *pay.Change) []pay.Recovery { return c.Recoveries },
	ID:      func(*pay.Recovery) string { return pay.RecoveryID },
	Version: func(v *pay.Recovery) int64 { return v.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, v *pay.Recovery) {
		f.Written("id!", pay.RecoveryID)
		f.Number("version", &v.Version)
		table.Word(f, "state", &v.State)
		f.Time("lost_from", &v.From)
		f.Time("lost_to", &v.To)
		f.Time("until", &v.Until)
		f.JSON("doc", &v.RecoveryNotes)
	},
})

// FoundTable is the table found.
var FoundTable = table.Describe(table.Table[pay.Found]{
	Name:    "found",
	Hashed:  true,
	Lock:    330,
	Of:      func(c *pay.Change) []pay.Found { return c.Found },
	ID:      func(v *pay.Found) string { return v.ID() },
	Version: func(v *pay.Found) int64 { return v.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, v *pay.Found) {
		f.Written("id!", v.ID())
		f.Number("version", &v.Version)
		f.Text("mark!", &v.Mark)
		table.Word(f, "kind!", &v.Kind)
		f.WrittenFlag("open", v.Open())
		table.Document[foundDoc](f, "doc", v)
	},
})

type foundDoc struct {
	Account   string `json:"account"`
	Reference string `json:"reference"`
	pay.FoundNotes
}

func (d *foundDoc) Of(_ *table.Fields, v *pay.Found) {
	*d = foundDoc{v.Account, v.Reference, v.FoundNotes}
}

func (d *foundDoc) Into(_ *table.Fields, v *pay.Found) error {
	v.Account = d.Account
	v.Reference = d.Reference
	v.FoundNotes = d.FoundNotes
	return nil
}

var (
	selectRecovery = engine.Statement(`SELECT ` + RecoveriesTable.List + ` FROM recoveries WHERE id = '` + pay.RecoveryID + `'`)

	selectFound     = engine.Statement(`SELECT ` + FoundTable.List + ` FROM found WHERE id = $1`)
	selectFoundMark = engine.Statement(`SELECT ` + FoundTable.List + ` FROM found WHERE mark = $1 AND kind = $2 ORDER BY id DESC`)
	listFound       = engine.Statement(`SELECT ` + FoundTable.List + ` FROM found WHERE open OR $1 ORDER BY id LIMIT $2`)
)

// Get reads the state of a restore; the zero value if there never was one.
func (r Recoveries) Get(ctx context.Context) (pay.Recovery, error) {
	v, err := base.One(ctx, r.b, selectRecovery, RecoveriesTable.Scan(r.b.Personal))
	if errors.Is(err, base.ErrNotFound) {
		err = nil
	}
	return v, err
}

// FoundAt reads what was found at an account under our reference. Errors: ErrNotFound.
func (r Recoveries) FoundAt(ctx context.Context, id string) (pay.Found, error) {
	return base.One(ctx, r.b, selectFound, FoundTable.Scan(r.b.Personal), id)
}

// FoundBy lists what was found for a request, by the mark of its ids.
func (r Recoveries) FoundBy(ctx context.Context, mark string, kind pay.FoundKind) ([]pay.Found, error) {
	return base.Many(ctx, r.b, selectFoundMark, FoundTable.Scan(r.b.Personal), mark, string(kind))
}

// ListFound lists open findings, or all.
func (r Recoveries) ListFound(ctx context.Context, all bool, limit int) ([]pay.Found, error) {
	return base.Many(ctx, r.b, listFound, FoundTable.Scan(r.b.Personal), all, limit)
}

// RetentionTable is the table retention.
var RetentionTable = table.Describe(table.Table[pay.Retained]{
	Name:    "retention",
	Hashed:  true,
	Lock:    210,
	Of:      func(c *pay.Change) []pay.Retained { return c.Retained },
	ID:      func(v *pay.Retained) string { return v.Kind },
	Version: func(v *pay.Retained) int64 { return v.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, v *pay.Retained) {
		f.Text("id!", &v.Kind)
		f.Number("version", &v.Version)
		f.Time("began_at", &v.Began)
		f.Text("upto", &v.UpTo)
	},
})

var selectRetained = engine.Statement(`SELECT ` + RetentionTable.List + ` FROM retention WHERE id = $1`)

// Retained reads how far data of a kind was searched; the zero value if never.
func (r Recoveries) Retained(ctx context.Context, kind string) (pay.Retained, error) {
	v, err := base.One(ctx, r.b, selectRetained, RetentionTable.Scan(r.b.Personal), kind)
	if errors.Is(err, base.ErrNotFound) {
		return pay.Retained{Kind: kind}, nil
	}
	return v, err
}

// Recoveries are the state of a restore, and how far old data was searched.
type Recoveries struct{ b *base.Base }

// Recoveries returns the database's Recoveries.
func (o OfRecovery) Recoveries() Recoveries { return Recoveries(o) }
