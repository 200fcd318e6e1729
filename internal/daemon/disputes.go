package daemon

import (
	"context"
	"math"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/prometheus/client_golang/prometheus"
)

// disputeAge tells how long the oldest open dispute waits for its end: an issuer
// that tells nobody is found by its alarm.
func disputeAge(a *app.App) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cascada_disputes_oldest_overdue_seconds",
		Help: "Time since the deadline for evidence of the oldest open dispute in production; 0 while none has passed, NaN where the database cannot be asked.",
	}, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		deadline, err := a.OldestDispute(ctx)
		if err != nil {
			return math.NaN()
		}
		if deadline.IsZero() {
			return 0
		}
		return max(0, a.Now().Sub(deadline).Seconds())
	})
}
