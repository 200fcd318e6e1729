// Package empty deletes what is in a merchant's sandbox, in passes over all tables (docs/decisions/sandbox-reset.md).
// Each step is a short transaction, so that nobody waits, and a pass may end anywhere: the next one continues.
//
// It decides nothing: a use case says whose sandbox is emptied, and when that is done.
package empty

import (
	"context"
	"fmt"

	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
)

const (
	// piece is how many rows a step deletes, sumPiece those of sums; part how many rows of a table a step reads.
	piece, sumPiece, part = 200, 1000, 2000
)

// Pass is one pass over all tables.
type Pass struct {
	b        *base.Base
	merchant string
	// alive is called before each step, and ends the pass with its error.
	alive          func() error
	Found, Deleted int64 // rows so far
}

// New returns a pass over the sandbox of a merchant.
func New(b *base.Base, merchant string, alive func() error) *Pass {
	return &Pass{b: b, merchant: merchant, alive: alive}
}

// Now is the database's clock, in microseconds.
func (p *Pass) Now(ctx context.Context) (int64, error) { return base.One(ctx, p.b, now, base.ScanInt) }

// Unsealed counts what the sandbox wrote up to a time of the database's clock and no block holds yet. Such rows
// must not be deleted: a later block would say that they are there.
func (p *Pass) Unsealed(ctx context.Context, chain string, at int64) (int64, error) {
	return base.One(ctx, p.b, unsealed, base.ScanInt, at, chain)
}

// Uncounted counts the facts of the merchant's shops up to a time that are not added up yet.
func (p *Pass) Uncounted(ctx context.Context, at int64) (int64, error) {
	return base.One(ctx, p.b, uncounted, base.ScanInt, at, p.merchant)
}

// SealedTo is the newest block of the sandbox's chain, 0 for none.
func (p *Pass) SealedTo(ctx context.Context) (int64, error) {
	return base.One(ctx, p.b, sealedTo, base.ScanInt, p.merchant)
}

// Rows deletes the rows of all nouns.
func (p *Pass) Rows(ctx context.Context) error {
	for _, n := range nouns {
		if err := p.noun(ctx, n); err != nil {
			return fmt.Errorf("empty %s: %w", n.table, err)
		}
	}
	return nil
}

func (p *Pass) noun(ctx context.Context, n noun) error {
	if n.find == "" {
		return p.walk(ctx, n)
	}
	for {
		ids, err := p.ids(ctx, n.find, p.merchant, piece)
		if err != nil || len(ids) == 0 {
			return err
		}
		deleted, err := p.remove(ctx, n, ids)
		if err != nil || deleted == 0 { // other transactions are changing the rows: the next pass deletes them
			return err
		}
	}
}

// walk reads a table part by part.
func (p *Pass) walk(ctx context.Context, n noun) error {
	for from := ""; from != base.BehindAll; {
		if err := p.alive(); err != nil {
			return err
		}
		before := base.BehindAll
		err := p.b.DB.Walk(ctx, p.b.Text(n.bound), []any{from, part}, func(r engine.Row) error { return r.Scan(&before) })
		if err != nil {
			return err
		}
		ids, err := p.ids(ctx, n.part, from, before, p.merchant)
		if err != nil {
			return err
		}
		for len(ids) > 0 {
			some := ids[:min(len(ids), piece)]
			ids = ids[len(some):]
			if _, err := p.remove(ctx, n, some); err != nil {
				return err
			}
		}
		from = before
	}
	return nil
}

func (p *Pass) ids(ctx context.Context, text string, args ...any) (ids []string, err error) {
	err = p.b.DB.Walk(ctx, p.b.Text(text), args, func(r engine.Row) error {
		id, err := base.ScanID(r)
		ids = append(ids, id)
		return err
	})
	p.Found += int64(len(ids))
	return ids, err
}

// remove deletes rows, and what belongs to those that it deleted.
func (p *Pass) remove(ctx context.Context, n noun, ids []string) (deleted int, err error) {
	if err := p.alive(); err != nil {
		return 0, err
	}
	var gone []string
	steps := []engine.Step{{Text: p.b.Text(n.remove), Args: p.arguments(ids), Each: func(r engine.Row) error {
		id, err := base.ScanID(r)
		gone = append(gone, id)
		return err
	}}}
	err = p.b.DB.Transact(ctx, steps, func() (more []engine.Step, _ error) {
		for _, text := range n.with {
			if len(gone) > 0 {
				more = append(more, engine.Step{Text: p.b.Text(text), Args: p.arguments(gone)})
			}
		}
		return more, nil
	})
	if err == nil {
		p.Deleted += int64(len(gone))
	}
	return len(gone), err
}

// arguments are the arguments of a statement on the rows with ids of the merchant.
func (p *Pass) arguments(ids []string) []any { return append(p.b.IDs(ids), p.merchant) }

// Sums deletes what counted the rows.
func (p *Pass) Sums(ctx context.Context) error {
	for _, s := range sums {
		for n := sumPiece; n == sumPiece; {
			if err := p.alive(); err != nil {
				return err
			}
			n = 0
			if err := p.b.DB.Lease(ctx, p.b.Text(s.remove), []any{p.merchant, sumPiece}, func(engine.Row) error { n++; return nil }); err != nil {
				return fmt.Errorf("empty %s: %w", s.table, err)
			}
			p.count(n)
		}
	}
	return nil
}

func (p *Pass) count(n int) {
	p.Found += int64(n)
	p.Deleted += int64(n)
}

// Totals deletes the sandbox's totals of analytics, and takes them from the totals of all shops in the same
// transaction. Call it when no facts wait.
func (p *Pass) Totals(ctx context.Context) error {
	for n := sumPiece; n == sumPiece; {
		if err := p.alive(); err != nil {
			return err
		}
		n = 0
		lower := payments.NewLowering(p.b)
		guards := []engine.Step{
			{Text: p.b.Text(payments.LockTotals)},
			{Text: p.b.Text(removeRollups), Args: []any{p.merchant, sumPiece}, Each: func(r engine.Row) error {
				n++
				return lower.Scan(r)
			}},
		}
		err := p.b.DB.Transact(ctx, guards, func() ([]engine.Step, error) {
			if n == 0 {
				return nil, nil
			}
			return []engine.Step{lower.Step(), {Text: p.b.Text(removeZeros)}}, nil
		})
		if err != nil {
			return fmt.Errorf("empty rollups: %w", err)
		}
		p.count(n)
	}
	return nil
}
