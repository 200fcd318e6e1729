package people

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// OperatorsTable is the table operators. New operators are guarded too: if two add the same name, one
// loses.
var OperatorsTable = table.Describe(table.Table[merchants.Operator]{
	Name:    "operators",
	Hashed:  true,
	Lock:    180,
	Of:      func(c *pay.Change) []merchants.Operator { return c.Operators },
	ID:      func(o *merchants.Operator) string { return o.Name },
	Version: func(o *merchants.Operator) int64 { return o.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, o *merchants.Operator) {
		f.Text("id!", &o.Name)
		f.Number("version", &o.Version)
		f.Text("hash", &o.Hash)
		f.Text("preview", &o.Preview)
		f.Time("created_at", &o.CreatedAt)
		f.Time("removed_at", &o.RemovedAt)
		f.Time("ends_at", &o.EndsAt)
	},
})

var (
	selectOperators      = `SELECT ` + OperatorsTable.List + ` FROM operators`
	listOperators        = engine.Statement(selectOperators + ` ORDER BY id`)
	selectOperator       = engine.Statement(selectOperators + ` WHERE id = $1`)
	selectOperatorByHash = engine.Statement(selectOperators + ` WHERE hash = $1 AND hash <> ''`)
)

// List lists all operators by name, including removed ones.
func (s Operators) List(ctx context.Context) ([]merchants.Operator, error) {
	return base.Many(ctx, s.b, listOperators, OperatorsTable.Scan(s.b.Personal))
}

// Get reads an operator by name. ErrNotFound if it never existed.
func (s Operators) Get(ctx context.Context, name string) (merchants.Operator, error) {
	return base.One(ctx, s.b, selectOperator, OperatorsTable.Scan(s.b.Personal), name)
}

// ByHash finds the operator of a token, by its keyed hash.
func (s Operators) ByHash(ctx context.Context, hash string) (merchants.Operator, error) {
	return base.One(ctx, s.b, selectOperatorByHash, OperatorsTable.Scan(s.b.Personal), hash)
}

// Operators are the people and programs that operate the service.
type Operators struct{ b *base.Base }

// Operators returns the database's Operators.
func (o OfOperators) Operators() Operators { return Operators(o) }
