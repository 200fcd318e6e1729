package due

import (
	"context"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Quarantined is a row of due work that cannot be read.
type Quarantined struct {
	Work   string // the kind in OldestDue
	ID     string
	Reason string
	Since  time.Time
}

// SelectQuarantined lists the unreadable rows of due work, of all tenants.
var SelectQuarantined = engine.Statement(func() string {
	var parts []string
	for _, d := range Duties() {
		parts = append(parts, d.Stuck)
	}
	return strings.Join(parts, "\nUNION ALL\n")
}())

// Quarantine reads the quarantined rows of due work, of all tenants.
func Quarantine(ctx context.Context, s *base.Base) ([]Quarantined, error) {
	return base.Many(ctx, s, SelectQuarantined, func(r engine.Row) (q Quarantined, err error) {
		var since int64
		err = r.Scan(&q.Work, &q.ID, &q.Reason, &since)
		q.Since = table.FromMicros(since)
		return q, err
	})
}
