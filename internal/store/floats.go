package store

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// The owners of floats stand together: 0 follows the slash.
var (
	selectFloats = engine.Statement(`SELECT ` + balanceColumns + ` FROM balances AS b WHERE b.merchant >= 'float/' AND b.merchant < 'float0' ORDER BY b.merchant, b.live`)

	selectTransfer = engine.Statement(`SELECT id FROM transfers WHERE id = $1`)
)

// Floats reads all floats, in the order of account and currency.
func (s *Books) Floats(ctx context.Context) ([]pay.Float, error) {
	return many(ctx, s, selectFloats, func(r engine.Row) (pay.Float, error) {
		of, balances, err := scanBalances(r)
		f, _ := pay.NewFloat(of.merchant, of.live, balances)
		return f, err
	})
}

// HasTransfer reports whether a transfer was booked.
func (s *Books) HasTransfer(ctx context.Context, id string) (bool, error) {
	found, err := many(ctx, s, selectTransfer, scanID, id)
	return len(found) > 0, err
}
