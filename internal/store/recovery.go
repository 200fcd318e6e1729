package store

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var recoveriesTable = describe(table[pay.Recovery]{
	name:    "recoveries",
	of:      func(c *pay.Change) []pay.Recovery { return c.Recoveries },
	id:      func(*pay.Recovery) string { return pay.RecoveryID },
	version: func(v *pay.Recovery) int64 { return v.Version },
	met:     stale,
	fields: func(f *fields, v *pay.Recovery) {
		f.written("id!", pay.RecoveryID)
		f.number("version", &v.Version)
		word(f, "state", &v.State)
		f.time("lost_from", &v.From)
		f.time("lost_to", &v.To)
		f.time("until", &v.Until)
		f.json("doc", &v.RecoveryNotes)
	},
})

var foundTable = describe(table[pay.Found]{
	name:    "found",
	of:      func(c *pay.Change) []pay.Found { return c.Found },
	id:      func(v *pay.Found) string { return v.ID() },
	version: func(v *pay.Found) int64 { return v.Version },
	met:     stale,
	fields: func(f *fields, v *pay.Found) {
		f.written("id!", v.ID())
		f.number("version", &v.Version)
		f.text("mark!", &v.Mark)
		word(f, "kind!", &v.Kind)
		f.writtenFlag("open", v.Open())
		document[foundDoc](f, "doc", v)
	},
})

type foundDoc struct {
	Account   string `json:"account"`
	Reference string `json:"reference"`
	pay.FoundNotes
}

func (d *foundDoc) of(_ *fields, v *pay.Found) { *d = foundDoc{v.Account, v.Reference, v.FoundNotes} }

func (d *foundDoc) into(_ *fields, v *pay.Found) error {
	v.Account, v.Reference, v.FoundNotes = d.Account, d.Reference, d.FoundNotes
	return nil
}

var (
	selectRecovery = engine.Statement(`SELECT ` + recoveriesTable.list + ` FROM recoveries WHERE id = '` + pay.RecoveryID + `'`)

	selectFound     = engine.Statement(`SELECT ` + foundTable.list + ` FROM found WHERE id = $1`)
	selectFoundMark = engine.Statement(`SELECT ` + foundTable.list + ` FROM found WHERE mark = $1 AND kind = $2 ORDER BY id DESC`)
	listFound       = engine.Statement(`SELECT ` + foundTable.list + ` FROM found WHERE open OR $1 ORDER BY id LIMIT $2`)
)

// Get reads what is known of a restore; the zero value where there never was one.
func (s *Recoveries) Get(ctx context.Context) (pay.Recovery, error) {
	v, err := one(ctx, s.b, selectRecovery, recoveriesTable.scan(s.b.personal))
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return v, err
}

// FoundAt reads what was found at an account under our reference. ErrNotFound.
func (s *Recoveries) FoundAt(ctx context.Context, id string) (pay.Found, error) {
	return one(ctx, s.b, selectFound, foundTable.scan(s.b.personal), id)
}

// FoundBy lists what was found of a request, by the mark of its ids.
func (s *Recoveries) FoundBy(ctx context.Context, mark string, kind pay.FoundKind) ([]pay.Found, error) {
	return many(ctx, s.b, selectFoundMark, foundTable.scan(s.b.personal), mark, string(kind))
}

// ListFound lists what was found and is open, or all of it.
func (s *Recoveries) ListFound(ctx context.Context, all bool, limit int) ([]pay.Found, error) {
	return many(ctx, s.b, listFound, foundTable.scan(s.b.personal), all, limit)
}
