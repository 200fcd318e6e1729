package base

import (
	"context"
	"fmt"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// Young is the first day whose payments may be missing from AllDays.
func (b *Base) Young() int64 { return max(0, b.RolledUp.Load()-SlackDays) }

// ReadRolledUp reads which days are rolled up.
func (b *Base) ReadRolledUp(ctx context.Context) (day int64, err error) {
	if day, err = One(ctx, b, selectRolledUp, ScanInt); err != nil {
		return 0, fmt.Errorf("read how far counters are rolled up: %w", err)
	}
	b.RolledUp.Store(day)
	return day, nil
}

// SlackDays is how many days a node's copy of the roll-up watermark may lag: that many days before
// the watermark count as young.
const SlackDays = 7

// DayMicros is a day in database time (microseconds).
const DayMicros = 24 * 60 * 60 * 1_000_000

// AllDays is the day number of the counters over a shop's whole life, without the young days.
const AllDays = -1

var selectRolledUp = engine.Statement(`SELECT day FROM watermarks WHERE id = 'counters'`)
