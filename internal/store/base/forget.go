package base

import (
	"context"
	"fmt"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// Forget runs a statement that deletes at most limit rows from before a bound, and returns how many.
func Forget(ctx context.Context, b *Base, text string, before any, limit int) (n int, err error) {
	err = b.DB.Lease(ctx, b.Text(text), []any{before, limit}, func(engine.Row) error { n++; return nil })
	if err != nil {
		err = fmt.Errorf("forget: %w", err)
	}
	return n, err
}
