// Package operators reads the people and programs that run the service, what needs two of them, and what one of them proposed. It
// describes their tables.
package operators

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// OfOperators has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfOperators struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfOperators { return OfOperators{b} }

// Table is the table operators. New operators are guarded too: if two add the same name, one
// loses.
var Table = table.Describe(table.Table[operators.Operator]{
	Name:    "operators",
	Hashed:  true,
	Lock:    180,
	Of:      func(c *pay.Change) []operators.Operator { return c.Operators },
	ID:      func(o *operators.Operator) string { return o.Name },
	Version: func(o *operators.Operator) int64 { return o.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, o *operators.Operator) {
		f.Text("id!", &o.Name)
		f.Number("version", &o.Version)
		f.Text("role", (*string)(&o.Role))
		f.Text("person", &o.Person)
		f.Text("made_by", &o.MadeBy)
		f.Text("hash", &o.Hash)
		f.Text("preview", &o.Preview)
		f.Time("created_at", &o.CreatedAt)
		f.Time("removed_at", &o.RemovedAt)
		f.Time("ends_at", &o.EndsAt)
	},
})

var (
	selectOperators      = `SELECT ` + Table.List + ` FROM operators`
	listOperators        = engine.Statement(selectOperators + ` ORDER BY id`)
	selectOperator       = engine.Statement(selectOperators + ` WHERE id = $1`)
	selectOperatorByHash = engine.Statement(selectOperators + ` WHERE hash = $1 AND hash <> ''`)
)

// List lists all operators by name, including removed ones.
func (o Operators) List(ctx context.Context) ([]operators.Operator, error) {
	return base.Many(ctx, o.b, listOperators, Table.Scan(o.b.Personal))
}

// Get reads an operator by name. ErrNotFound if it never existed.
func (o Operators) Get(ctx context.Context, name string) (operators.Operator, error) {
	return base.One(ctx, o.b, selectOperator, Table.Scan(o.b.Personal), name)
}

// ByHash finds the operator of a token, by its keyed hash.
func (o Operators) ByHash(ctx context.Context, hash string) (operators.Operator, error) {
	return base.One(ctx, o.b, selectOperatorByHash, Table.Scan(o.b.Personal), hash)
}

// Operators are the people and programs that operate the service.
type Operators struct{ b *base.Base }

// Operators returns the database's Operators.
func (o OfOperators) Operators() Operators { return Operators(o) }
