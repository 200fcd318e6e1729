package base

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// database is the store, with a function around its commits.
type database struct {
	*store.Store
	Around func(ctx context.Context, change *pay.Change, commit func() error) error // nil: nothing
}

// Commit commits in the store. The first change of a Repeatable has its key.
func (d database) Commit(ctx context.Context, change pay.Change) error {
	if r := guarded(ctx, &change); r != nil {
		return d.once(ctx, r, change)
	}
	if d.Around == nil {
		return d.Store.Commit(ctx, change)
	}
	return d.within(ctx, change)
}

// once is separate to keep the large change off the heap.
func (d database) once(ctx context.Context, r *Repeatable, change pay.Change) error {
	return r.commit(ctx, &change, func() error {
		if d.Around == nil {
			return d.Store.Commit(ctx, change)
		}
		return d.within(ctx, change)
	})
}

// within is separate to keep the large change off the heap.
func (d database) within(ctx context.Context, change pay.Change) error {
	return d.Around(ctx, &change, func() error { return d.Store.Commit(ctx, change) })
}
