package daemon

import (
	"context"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/work"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics is the content of /metrics. Labels must have a bounded number of values, so none
// names a merchant, a payment, or anything that a client can invent.
type metrics struct {
	registry *prometheus.Registry
	under    prometheus.Gauge         // requests in progress
	requests *prometheus.CounterVec   // by method, route and status
	latency  *prometheus.HistogramVec // by method and route
	waited   prometheus.Histogram     // time that changes waited for their transaction
	written  *prometheus.HistogramVec // transactions, by result
	batches  prometheus.Histogram     // changes in a transaction
	calls    *prometheus.CounterVec   // to providers, by account, operation and outcome
	callTime *prometheus.HistogramVec // by account and operation
	attempts *prometheus.CounterVec   // of deliveries, by environment and result
	reply    *prometheus.HistogramVec // of endpoints, by environment
	runs     *prometheus.CounterVec   // of loops, by loop and result
	runTime  *prometheus.CounterVec   // by loop
	success  *prometheus.GaugeVec     // when a loop last succeeded
	every    *prometheus.GaugeVec     // its longest pause
	spans    *prometheus.CounterVec   // by result
}

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	requests := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	commits := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	calls := []float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		under:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "cascada_http_requests_in_flight", Help: "Requests in progress."}),
		requests: counter("cascada_http_requests_total", "Requests that were answered, by the pattern of their path and by status; the route \"other\" means no pattern.", "method", "route", "status"),
		latency:  histogram("cascada_http_request_seconds", "Time to answer a request.", requests, "method", "route"),
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "cascada_store_change_wait_seconds", Buckets: commits,
			Help: "Time that a change waited for its transaction to begin."}),
		written: histogram("cascada_store_transaction_seconds", "Time that a transaction of the group commit took, by result.", commits, "end"),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "cascada_store_transaction_changes", Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, 500},
			Help: "Changes in a written transaction."}),
		calls:    counter("cascada_provider_calls_total", "Calls to provider accounts, by operation and outcome.", "account", "operation", "outcome"),
		callTime: histogram("cascada_provider_call_seconds", "Time of these calls.", calls, "account", "operation"),
		attempts: counter("cascada_webhook_attempts_total", "Delivery tries, by the endpoint's answer: a class of status codes, or why there was none.", "environment", "result"),
		reply:    histogram("cascada_webhook_attempt_seconds", "Time that endpoints took to answer.", calls, "environment"),
		runs:     counter("cascada_loop_runs_total", "Runs of the loops that do due work.", "loop", "result"),
		runTime:  counter("cascada_loop_run_seconds_total", "Time of these runs.", "loop"),
		success:  gauge("cascada_loop_last_success_timestamp_seconds", "When a loop of this node last ended a run without an error; before the first, when it started.", "loop"),
		every:    gauge("cascada_loop_interval_seconds", "The longest pause of the loop.", "loop"),
		spans:    counter("cascada_trace_spans_total", "Spans that were sent to the collector of traces, or refused by it.", "result"),
	}
	m.registry.MustRegister(m.under, m.requests, m.latency, m.waited, m.written, m.batches, m.calls, m.callTime, m.attempts, m.reply,
		m.runs, m.runTime, m.success, m.every, m.spans,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// A counter that begins with its first event shows no increase for it.
	for _, result := range webhooks.AttemptResults() {
		m.attempts.WithLabelValues(string(merchants.Sandbox), result)
		m.attempts.WithLabelValues(string(merchants.Production), result)
	}
	for _, end := range store.TransactionEnds() {
		m.written.WithLabelValues(string(end))
	}
	for _, result := range []string{spansSent, spansLost} {
		m.spans.WithLabelValues(result)
	}
	return m
}

const spansSent, spansLost = "sent", "lost"

// sent counts spans.
func (m *metrics) sent(spans int, err error) {
	result := spansSent
	if err != nil {
		result = spansLost
	}
	m.spans.WithLabelValues(result).Add(float64(spans))
}

// of adds the metrics of a service and of its program.
func (m *metrics) of(a *app.App, gate *gate.Gate, version string) {
	m.registry.MustRegister(storeCollector{a, gate}, &gauges{app: a, first: time.Now()})
	build := newBuildInfo()
	build.WithLabelValues(version, runtime.Version(), a.Engine()).Set(1)
	m.registry.MustRegister(build)
}

func newBuildInfo() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "cascada_build_info", Help: "1; the labels say what runs."}, []string{"version", "go_version", "database"})
}

// meter measures what the use cases do.
func (m *metrics) meter() base.Meter {
	return base.Meter{
		Commits: store.Meter{
			Waited: func(d time.Duration) { m.waited.Observe(d.Seconds()) },
			Ended: func(end store.TransactionEnd, changes int, took time.Duration) {
				m.written.WithLabelValues(string(end)).Observe(took.Seconds())
				if end == store.Written {
					m.batches.Observe(float64(changes))
				}
			},
		},
		Attempted: func(environment merchants.Environment, result string, took time.Duration) {
			m.attempts.WithLabelValues(string(environment), result).Inc()
			m.reply.WithLabelValues(string(environment)).Observe(took.Seconds())
		},
		Called: func(account, operation, outcome string, took time.Duration) {
			m.calls.WithLabelValues(account, operation, outcome).Inc()
			m.callTime.WithLabelValues(account, operation).Observe(took.Seconds())
		},
	}
}

// loop measures the runs of a loop.
func (m *metrics) loop(l work.Loop) work.Loop {
	success, took := m.success.WithLabelValues(l.Name), m.runTime.WithLabelValues(l.Name)
	done, failed := m.runs.WithLabelValues(l.Name, "done"), m.runs.WithLabelValues(l.Name, "failed")
	m.every.WithLabelValues(l.Name).Set(l.Every.Seconds())
	success.SetToCurrentTime()
	do := l.Do
	l.Do = func(ctx context.Context) (int, error) {
		began := time.Now()
		n, err := do(ctx)
		took.Add(time.Since(began).Seconds())
		if err != nil {
			failed.Inc()
			return n, err
		}
		done.Inc()
		success.SetToCurrentTime()
		return n, nil
	}
	return l
}

// answered counts a request that was answered.
func (m *metrics) answered(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.latency.WithLabelValues(method, route).Observe(took.Seconds())
}

// watch reports whether the Redis of the limits answers, if there is one.
func (m *metrics) watch(redis *limit.Redis) {
	if redis == nil {
		return
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cascada_limit_redis_up", Help: "1 while the nodes share their limits; 0 while this node counts alone.",
	}, func() float64 {
		if redis.Up() {
			return 1
		}
		return 0
	}))
}

// connected reports the number of connections.
func (m *metrics) connected(c *web.Connections) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "cascada_connections_open", Help: "Open connections of clients."},
			func() float64 { return float64(c.Open()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "cascada_connections_refused_total", Help: "Connections that were closed at once because too many were open, from one address or in total."},
			func() float64 { return float64(c.Refused()) }))
}

func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	page := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		page.ServeHTTP(w, r)
	})
	return mux
}

// profiles serves Go's profiles. They hold parts of the memory, so they are only for people
// who may read all of it.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
