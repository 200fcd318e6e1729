package base

import (
	"context"
	"fmt"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// Young is the first day that may have payments which AllDays lacks.
func (b *Base) Young() int64 { return max(0, b.RolledUp.Load()-SlackDays) }

// ReadRolledUp learns which days are rolled up.
func (b *Base) ReadRolledUp(ctx context.Context) (day int64, err error) {
	if day, err = One(ctx, b, selectRolledUp, ScanInt); err != nil {
		return 0, fmt.Errorf("read how far counters are rolled up: %w", err)
	}
	b.RolledUp.Store(day)
	return day, nil
}

// SlackDays is by how much a node's idea of which days are rolled up may be
// old: so many days before the watermark are looked at as if they were young.
const SlackDays = 7

// DayMicros is a day of times in the database.
const DayMicros = 24 * 60 * 60 * 1_000_000

// AllDays is the day of the counters that count a shop's whole life, but for
// the young days.
const AllDays = -1

var selectRolledUp = engine.Statement(`SELECT day FROM watermarks WHERE id = 'counters'`)
