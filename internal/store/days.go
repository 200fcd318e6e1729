package store

import (
	"context"
	"fmt"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// young is the first day that may have payments which allDays lacks.
func (b *base) young() int64 { return max(0, b.rolledUp.Load()-slackDays) }

// readRolledUp learns which days are rolled up.
func (b *base) readRolledUp(ctx context.Context) (day int64, err error) {
	if day, err = one(ctx, b, selectRolledUp, scanInt); err != nil {
		return 0, fmt.Errorf("read how far counters are rolled up: %w", err)
	}
	b.rolledUp.Store(day)
	return day, nil
}

// slackDays is by how much a node's idea of which days are rolled up may be
// old: so many days before the watermark are looked at as if they were young.
const slackDays = 7

// dayMicros is a day of times in the database.
const dayMicros = 24 * 60 * 60 * 1_000_000

// allDays is the day of the counters that count a shop's whole life, but for
// the young days.
const allDays = -1

var selectRolledUp = engine.Statement(`SELECT day FROM watermarks WHERE id = 'counters'`)
