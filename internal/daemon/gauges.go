package daemon

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
)

const (
	// gaugeWait is how long a scrape waits for the database before it reports the previous
	// values.
	gaugeWait = time.Second
	// gaugeTimeout bounds the queries, which continue after the scrape gave up.
	gaugeTimeout = 10 * time.Second
)

// gauges are the metrics that need the database. A scrape is answered without it too: they
// matter most when the database is away.
type gauges struct {
	app   *app.App
	look  singleflight.Group
	last  atomic.Pointer[seen]
	first time.Time // when this process started
}

// seen is the last values from the database, and their time.
type seen struct {
	at      time.Time
	due     map[string]time.Time
	open    map[string]time.Time
	aside   int
	mails   int64
	stalled int
	dispute time.Time // the oldest dispute's deadline, zero for none
}

var (
	databaseUp  = prometheus.NewDesc("cascada_database_up", "1 if the database has just reported the due and open work; 0 if the values are older.", nil, nil)
	databaseAge = prometheus.NewDesc("cascada_database_seen_seconds", "Age of the database's values.", nil, nil)
	stalledDesc = prometheus.NewDesc("cascada_webhook_endpoints_stalled", "Endpoints that fail, or for which deliveries are parked.", nil, nil)
	disputeDesc = prometheus.NewDesc("cascada_disputes_oldest_overdue_seconds", "Time since the deadline for evidence of the oldest open dispute in production; 0 while none has passed.", nil, nil)
)

// Describe implements prometheus.
func (*gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{databaseUp, databaseAge, dueDesc, oldestDesc, asideDesc, mailsWaiting, disputeDesc, stalledDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Values that were never read are left out.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	told := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	up := 0.0
	select {
	case r := <-g.look.DoChan("", func() (any, error) { return nil, g.ask() }):
		if r.Err == nil {
			up = 1
		}
	case <-time.After(gaugeWait):
	}
	told(databaseUp, up)
	last := g.last.Load()
	if last == nil {
		told(databaseAge, time.Since(g.first).Seconds())
		return
	}
	told(databaseAge, time.Since(last.at).Seconds())
	now := g.app.Now()
	age := func(at time.Time) float64 {
		if at.IsZero() {
			return 0
		}
		return max(0, now.Sub(at).Seconds())
	}
	for kind, at := range last.due {
		told(dueDesc, age(at), kind)
	}
	for kind, at := range last.open {
		told(oldestDesc, age(at), kind)
	}
	told(asideDesc, float64(last.aside))
	told(mailsWaiting, float64(last.mails))
	told(stalledDesc, float64(last.stalled))
	told(disputeDesc, age(last.dispute))
}

// ask reads the values from the database and keeps them.
func (g *gauges) ask() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTimeout)
	defer cancel()
	s := &seen{at: time.Now()}
	if s.due, err = g.app.OldestDue(ctx); err != nil {
		return err
	}
	if s.open, err = g.app.OldestOpen(ctx); err != nil {
		return err
	}
	aside, err := g.app.Quarantine(ctx)
	if err != nil {
		return err
	}
	s.aside = len(aside)
	if s.mails, err = g.app.Mails.WaitingMails(ctx); err != nil {
		return err
	}
	if s.stalled, err = g.app.Webhooks.StalledEndpoints(ctx); err != nil {
		return err
	}
	if s.dispute, err = g.app.Claims.OldestDispute(ctx); err != nil {
		return err
	}
	g.last.Store(s)
	return nil
}
