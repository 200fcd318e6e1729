package store

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
)

// A new operator is guarded too: of two who add the same name one loses.
var operatorsTable = newTable("operators", "id TEXT!, version BIGINT, hash TEXT, preview TEXT, created_at BIGINT, removed_at BIGINT, ends_at BIGINT",
	func(o *pay.Operator) string { return o.Name }, func(o *pay.Operator) int64 { return o.Version },
	func(r *rows, o *pay.Operator) {
		r.text(o.Name).number(o.Version).text(o.Hash, o.Preview).number(micros(o.CreatedAt), micros(o.RemovedAt), micros(o.EndsAt))
	}).onceOnly()

func operators(c *pay.Change) []pay.Operator { return c.Operators }

const (
	selectOperators      = `SELECT id, version, hash, preview, created_at, removed_at, ends_at FROM operators`
	listOperators        = selectOperators + ` ORDER BY id`
	selectOperator       = selectOperators + ` WHERE id = $1`
	selectOperatorByHash = selectOperators + ` WHERE hash = $1 AND hash <> ''`
)

func scanOperator(r row) (o pay.Operator, err error) {
	var created, removed, ends int64
	err = r.Scan(&o.Name, &o.Version, &o.Hash, &o.Preview, &created, &removed, &ends)
	o.CreatedAt, o.RemovedAt, o.EndsAt = fromMicros(created), fromMicros(removed), fromMicros(ends)
	return o, err
}

// Operators lists all operators by name, the removed ones too.
func (s *Store) Operators(ctx context.Context) ([]pay.Operator, error) {
	return many(ctx, s, listOperators, scanOperator)
}

// Operator reads an operator by name. ErrNotFound where there never was one.
func (s *Store) Operator(ctx context.Context, name string) (pay.Operator, error) {
	return one(ctx, s, selectOperator, scanOperator, name)
}

// OperatorByHash finds who has a token, by its keyed hash.
func (s *Store) OperatorByHash(ctx context.Context, hash string) (pay.Operator, error) {
	return one(ctx, s, selectOperatorByHash, scanOperator, hash)
}

func operatorQueries() []string {
	return []string{operatorsTable.insert, operatorsTable.update, listOperators, selectOperator, selectOperatorByHash}
}

// operatorRules are the invariants of operators (check.go).
var operatorRules = []rule{
	{"a removed operator has no token, every other has one", `SELECT id, preview FROM operators WHERE (removed_at > 0) <> (hash = '')`},
}
