package store

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// A new operator is guarded too: of two who add the same name one loses.
var operatorsTable = describe(table[tenant.Operator]{
	name:    "operators",
	of:      func(c *pay.Change) []tenant.Operator { return c.Operators },
	id:      func(o *tenant.Operator) string { return o.Name },
	version: func(o *tenant.Operator) int64 { return o.Version },
	met:     stale,
	fields: func(f *fields, o *tenant.Operator) {
		f.text("id!", &o.Name)
		f.number("version", &o.Version)
		f.text("hash", &o.Hash)
		f.text("preview", &o.Preview)
		f.time("created_at", &o.CreatedAt)
		f.time("removed_at", &o.RemovedAt)
		f.time("ends_at", &o.EndsAt)
	},
})

var (
	selectOperators      = `SELECT ` + operatorsTable.list + ` FROM operators`
	listOperators        = engine.Statement(selectOperators + ` ORDER BY id`)
	selectOperator       = engine.Statement(selectOperators + ` WHERE id = $1`)
	selectOperatorByHash = engine.Statement(selectOperators + ` WHERE hash = $1 AND hash <> ''`)
)

// List lists all operators by name, the removed ones too.
func (s *Operators) List(ctx context.Context) ([]tenant.Operator, error) {
	return many(ctx, s, listOperators, operatorsTable.scan(s))
}

// Get reads an operator by name. ErrNotFound where there never was one.
func (s *Operators) Get(ctx context.Context, name string) (tenant.Operator, error) {
	return one(ctx, s, selectOperator, operatorsTable.scan(s), name)
}

// ByHash finds who has a token, by its keyed hash.
func (s *Operators) ByHash(ctx context.Context, hash string) (tenant.Operator, error) {
	return one(ctx, s, selectOperatorByHash, operatorsTable.scan(s), hash)
}

// operatorRules are the invariants of operators (check.go).
var operatorRules = invariants([]rule{
	{"a removed operator has no token, every other has one", `SELECT id, preview FROM operators WHERE (removed_at > 0) <> (hash = '')`},
})
