package daemon

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics is what /metrics tells.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
}

func newMetrics(a *app.App) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cascada_http_request_seconds", Help: "Time to answer an API request.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"method", "status"}),
	}
	m.registry.MustRegister(m.requests, storeCollector{a}, &gauges{app: a, first: time.Now()},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// built tells which program this is.
func (m *metrics) built(version string) {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "cascada_build_info", Help: "1; the labels tell the version of the program."}, []string{"version", "go"})
	info.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(info)
}

// watch tells whether the Redis of the limits answers, where there is one.
func (m *metrics) watch(redis *limit.Redis) {
	if redis == nil {
		return
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cascada_limit_redis_up", Help: "1 while the nodes share their limits; 0 while this one counts by itself.",
	}, func() float64 {
		if redis.Up() {
			return 1
		}
		return 0
	}))
}

// connected tells how many connections there are.
func (m *metrics) connected(c *web.Connections) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "cascada_connections_open", Help: "Connections of clients that are open."},
			func() float64 { return float64(c.Open()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "cascada_connections_refused_total", Help: "Connections that were closed at once, because too many were open, of one address or of all."},
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

// profiles serves Go's profiles. They hold parts of the memory: they are for whoever may read
// all of it.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// count measures each request.
func (m *metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(s, r)
		m.requests.WithLabelValues(methodLabel(r.Method), strconv.Itoa(s.status)).Observe(time.Since(began).Seconds())
	})
}

// methodLabel is a request's method in the metrics: "other" for what no endpoint takes. A
// label is kept for good, so no client may make one up.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// storeCollector reads what this process counts when it is asked.
type storeCollector struct{ app *app.App }

var (
	commitsDesc  = prometheus.NewDesc("cascada_store_commits_total", "Database transactions of the group commit.", nil, nil)
	changesDesc  = prometheus.NewDesc("cascada_store_changes_total", "Changes written by them.", nil, nil)
	againDesc    = prometheus.NewDesc("cascada_store_commits_again_total", "Transactions that were begun again because a change in them had lost to another.", nil, nil)
	halvedDesc   = prometheus.NewDesc("cascada_store_batches_halved_total", "Batches whose halves ran by themselves because a statement failed.", nil, nil)
	unknownDesc  = prometheus.NewDesc("cascada_store_commits_unknown_total", "Transactions whose answer was lost; what became of them was found out.", nil, nil)
	queuedDesc   = prometheus.NewDesc("cascada_store_changes_queued", "Changes waiting for a commit.", nil, nil)
	rateAgeDesc  = prometheus.NewDesc("cascada_fx_oldest_rate_seconds", "Age of the oldest exchange rate that was set or fetched; absent while there is none.", nil, nil)
	ratesHeld    = prometheus.NewDesc("cascada_fx_rates_held", "Exchange rates that jump and wait for the operator.", nil, nil)
	openDesc     = prometheus.NewDesc("cascada_provider_circuits_open", "Rails of provider accounts that this node passes over because they fail.", nil, nil)
	silentDesc   = prometheus.NewDesc("cascada_provider_accounts_silent", "Provider accounts that answer no questions of this node, by what is asked about.", []string{"about"}, nil)
	callsDesc    = prometheus.NewDesc("cascada_provider_charges_total", "Charges that were asked of provider accounts, by what came of them.", []string{"account", "rail", "outcome"}, nil)
	callTimeDesc = prometheus.NewDesc("cascada_provider_charge_seconds_total", "Time that they took.", []string{"account", "rail", "outcome"}, nil)
	unmappedDesc = prometheus.NewDesc("cascada_provider_unmapped_statuses_total", "Status words of a provider that have no meaning here and were read as unknown; the log names them.", []string{"account"}, nil)
	oldestDesc   = prometheus.NewDesc("cascada_open_oldest_seconds", "Age of the oldest thing of a kind that is open until somebody ends it; 0 when there is none.", []string{"kind"}, nil)
	authDesc     = prometheus.NewDesc("cascada_auth_total", "What happened to credentials: logins, refreshed tokens, refusals, logins that were ended.", []string{"event"}, nil)
	mailsDesc    = prometheus.NewDesc("cascada_mails_total", "Tries of this node to send an e-mail, by what came of them: sent, retried, failed.", []string{"outcome"}, nil)
	mailsWaiting = prometheus.NewDesc("cascada_mails_waiting", "E-mails that are not sent yet, and not given up, by any node.", nil, nil)
	asideDesc    = prometheus.NewDesc("cascada_work_quarantined", "Rows of due work that cannot be read and were set aside; cascada check names them.", nil, nil)
	floatDesc    = prometheus.NewDesc("cascada_payout_float", "The operator's money at a payout account as the ledger has it, in units of the currency: free, committed.", []string{"account", "environment", "currency", "state"}, nil)
	floatOffDesc = prometheus.NewDesc("cascada_payout_float_off", "By how much the provider's balance differs from it, when it was asked last; absent where it cannot be asked.", []string{"account", "environment", "currency"}, nil)
	dueDesc      = prometheus.NewDesc("cascada_work_oldest_due_seconds", "Age of the oldest due work; 0 when none is late.", []string{"work"}, nil)
)

// Describe is for prometheus.
func (storeCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{commitsDesc, changesDesc, againDesc, halvedDesc, unknownDesc, queuedDesc, rateAgeDesc, ratesHeld, openDesc, authDesc, silentDesc, callsDesc, callTimeDesc, unmappedDesc, mailsDesc, floatDesc, floatOffDesc} {
		ch <- d
	}
}

// Collect is for prometheus.
func (c storeCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.app.Stats()
	ch <- prometheus.MustNewConstMetric(commitsDesc, prometheus.CounterValue, float64(s.Commits))
	ch <- prometheus.MustNewConstMetric(changesDesc, prometheus.CounterValue, float64(s.Changes))
	ch <- prometheus.MustNewConstMetric(againDesc, prometheus.CounterValue, float64(s.Again))
	ch <- prometheus.MustNewConstMetric(halvedDesc, prometheus.CounterValue, float64(s.Halved))
	ch <- prometheus.MustNewConstMetric(unknownDesc, prometheus.CounterValue, float64(s.Unknown))
	ch <- prometheus.MustNewConstMetric(queuedDesc, prometheus.GaugeValue, float64(s.Queued))
	oldest, known, held := c.app.RateAges()
	if known {
		ch <- prometheus.MustNewConstMetric(rateAgeDesc, prometheus.GaugeValue, oldest.Seconds())
	}
	ch <- prometheus.MustNewConstMetric(ratesHeld, prometheus.GaugeValue, float64(held))
	ch <- prometheus.MustNewConstMetric(openDesc, prometheus.GaugeValue, float64(c.app.OpenCircuits()))
	for event, n := range c.app.AuthEvents() {
		ch <- prometheus.MustNewConstMetric(authDesc, prometheus.CounterValue, float64(n), string(event))
	}
	for outcome, n := range c.app.MailTries() {
		ch <- prometheus.MustNewConstMetric(mailsDesc, prometheus.CounterValue, float64(n), string(outcome))
	}
	for about, n := range c.app.SilentAccounts() {
		ch <- prometheus.MustNewConstMetric(silentDesc, prometheus.GaugeValue, float64(n), about)
	}
	for of, n := range c.app.ProviderCalls() {
		labels := []string{of.Account, of.Rail, string(of.Outcome)}
		ch <- prometheus.MustNewConstMetric(callsDesc, prometheus.CounterValue, float64(n.N), labels...)
		ch <- prometheus.MustNewConstMetric(callTimeDesc, prometheus.CounterValue, n.Took.Seconds(), labels...)
	}
	for _, f := range c.app.FloatsSeen() {
		labels := []string{f.Account, string(pay.EnvironmentOf(f.Live)), string(f.Currency)}
		ch <- prometheus.MustNewConstMetric(floatDesc, prometheus.GaugeValue, f.Units(f.Free), append(labels, "free")...)
		ch <- prometheus.MustNewConstMetric(floatDesc, prometheus.GaugeValue, f.Units(f.Committed), append(labels, "committed")...)
		if f.Unknown == "" {
			ch <- prometheus.MustNewConstMetric(floatOffDesc, prometheus.GaugeValue, f.Units(f.Off.Minor), labels...)
		}
	}
	for account, n := range c.app.UnmappedStatuses() {
		ch <- prometheus.MustNewConstMetric(unmappedDesc, prometheus.CounterValue, float64(n), account)
	}
}
