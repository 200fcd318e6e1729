package daemon

import (
	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/prometheus/client_golang/prometheus"
)

// storeCollector reads this process's counters on each scrape, without a query to the
// database.
type storeCollector struct {
	app  *app.App
	gate *gate.Gate
}

var (
	commitsDesc   = prometheus.NewDesc("cascada_store_commits_total", "Database transactions of the group commit.", nil, nil)
	changesDesc   = prometheus.NewDesc("cascada_store_changes_total", "Changes written by these transactions.", nil, nil)
	againDesc     = prometheus.NewDesc("cascada_store_commits_again_total", "Transactions that started again because a change in them lost to another.", nil, nil)
	halvedDesc    = prometheus.NewDesc("cascada_store_batches_halved_total", "Batches whose halves ran separately because a statement failed.", nil, nil)
	unknownDesc   = prometheus.NewDesc("cascada_store_commits_unknown_total", "Transactions whose answer was lost, and whose result became known later.", nil, nil)
	failedDesc    = prometheus.NewDesc("cascada_store_changes_failed_total", "Changes that were not written, or whose result is unknown, by reason. Most changes that lost to another (stale, insufficient) were decided again.", []string{"cause"}, nil)
	sealedDesc    = prometheus.NewDesc("cascada_seal_last_timestamp_seconds", "When this node last sealed rows; absent until it does.", nil, nil)
	openConns     = prometheus.NewDesc("cascada_database_connections", "Open connections to the database.", []string{"pool", "state"}, nil)
	mostConns     = prometheus.NewDesc("cascada_database_connections_max", "The most connections that may be open.", []string{"pool"}, nil)
	waitsDesc     = prometheus.NewDesc("cascada_database_pool_waits_total", "How often a caller waited for a connection.", []string{"pool"}, nil)
	waitTimeDesc  = prometheus.NewDesc("cascada_database_pool_wait_seconds_total", "The total time of these waits.", []string{"pool"}, nil)
	givenUpDesc   = prometheus.NewDesc("cascada_database_pool_given_up_total", "How often a caller gave up waiting; PostgreSQL only.", []string{"pool"}, nil)
	paymentsDesc  = prometheus.NewDesc("cascada_payments_total", "Payments that reached a status, counted by the node that wrote it.", []string{"rail", "environment", "status"}, nil)
	deadDesc      = prometheus.NewDesc("cascada_webhook_dead_letters_total", "Deliveries that this node gave up.", []string{"environment"}, nil)
	parkedDesc    = prometheus.NewDesc("cascada_webhook_parked_total", "Deliveries that this node parked because their endpoint fails or is slow.", nil, nil)
	postponedDesc = prometheus.NewDesc("cascada_webhook_postponed_total", "Deliveries that this node put back to wait for an earlier event of their object.", nil, nil)
	limitedDesc   = prometheus.NewDesc("cascada_rate_limited_total", "Requests that were refused with 429, by the kind of the empty bucket.", []string{"bucket"}, nil)
	queuedDesc    = prometheus.NewDesc("cascada_store_changes_queued", "Changes waiting for a commit.", nil, nil)
	rateAgeDesc   = prometheus.NewDesc("cascada_fx_oldest_rate_seconds", "Age of the oldest exchange rate that was set or fetched; absent while there is none.", nil, nil)
	ratesHeld     = prometheus.NewDesc("cascada_fx_rates_held", "Exchange rates that jumped and wait for the operator.", nil, nil)
	openDesc      = prometheus.NewDesc("cascada_provider_circuits_open", "Rails of provider accounts that this node passes over because they fail.", nil, nil)
	silentDesc    = prometheus.NewDesc("cascada_provider_accounts_silent", "Provider accounts that do not answer this node's queries, by the object of the query.", []string{"about"}, nil)
	callsDesc     = prometheus.NewDesc("cascada_provider_charges_total", "Charges sent to provider accounts, by outcome.", []string{"account", "rail", "outcome"}, nil)
	callTimeDesc  = prometheus.NewDesc("cascada_provider_charge_seconds_total", "The total time of these charges.", []string{"account", "rail", "outcome"}, nil)
	unmappedDesc  = prometheus.NewDesc("cascada_provider_unmapped_statuses_total", "Statuses of a provider that are not known here and were read as unknown; the log names them.", []string{"account"}, nil)
	oldestDesc    = prometheus.NewDesc("cascada_open_oldest_seconds", "Age of the oldest open object of a kind that a person has to end; 0 if there is none.", []string{"kind"}, nil)
	authDesc      = prometheus.NewDesc("cascada_auth_total", "Events of credentials: logins, refreshed tokens, refusals, ended logins.", []string{"event"}, nil)
	mailsDesc     = prometheus.NewDesc("cascada_mails_total", "This node's tries to send an e-mail, by result: sent, retried, failed.", []string{"outcome"}, nil)
	mailsWaiting  = prometheus.NewDesc("cascada_mails_waiting", "E-mails that no node has sent or given up yet.", nil, nil)
	asideDesc     = prometheus.NewDesc("cascada_work_quarantined", "Rows of due work that cannot be read and were quarantined; cascada check names them.", nil, nil)
	floatDesc     = prometheus.NewDesc("cascada_payout_float", "The operator's money at a payout account by the ledger, in units of the currency: free, committed.", []string{"account", "environment", "currency", "state"}, nil)
	floatOffDesc  = prometheus.NewDesc("cascada_payout_float_off", "The difference to the provider's balance at the last query; absent if the balance cannot be queried.", []string{"account", "environment", "currency"}, nil)
	dueDesc       = prometheus.NewDesc("cascada_work_oldest_due_seconds", "Age of the oldest due work; 0 if none is late.", []string{"work"}, nil)
)

// Describe implements prometheus.
func (storeCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{commitsDesc, changesDesc, againDesc, halvedDesc, unknownDesc, queuedDesc, rateAgeDesc, ratesHeld, openDesc, authDesc, silentDesc, callsDesc, callTimeDesc, unmappedDesc, mailsDesc, floatDesc, floatOffDesc,
		failedDesc, sealedDesc, openConns, mostConns, waitsDesc, waitTimeDesc, givenUpDesc, paymentsDesc, deadDesc, parkedDesc, postponedDesc, limitedDesc} {
		ch <- d
	}
}

// Collect implements prometheus.
func (c storeCollector) Collect(ch chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	c.database(tell)
	c.providers(tell)
	oldest, known, held := c.app.Rates.RateAges()
	if known {
		tell(rateAgeDesc, prometheus.GaugeValue, oldest.Seconds())
	}
	tell(ratesHeld, prometheus.GaugeValue, float64(held))
	for event, n := range c.app.Access.AuthEvents() {
		tell(authDesc, prometheus.CounterValue, float64(n), string(event))
	}
	for outcome, n := range c.app.Mails.MailTries() {
		tell(mailsDesc, prometheus.CounterValue, float64(n), string(outcome))
	}
	for of, n := range c.app.PaymentCounts() {
		tell(paymentsDesc, prometheus.CounterValue, float64(n), of.Rail, string(of.Environment), string(of.Status))
	}
	for environment, n := range c.app.DeadLetters() {
		tell(deadDesc, prometheus.CounterValue, float64(n), string(environment))
	}
	tell(parkedDesc, prometheus.CounterValue, float64(c.app.Webhooks.Parked()))
	tell(postponedDesc, prometheus.CounterValue, float64(c.app.Webhooks.Postponed()))
	for bucket, n := range c.gate.Refusals() {
		tell(limitedDesc, prometheus.CounterValue, float64(n), bucket)
	}
}

// database reports the write path and the connections.
func (c storeCollector) database(tell func(*prometheus.Desc, prometheus.ValueType, float64, ...string)) {
	s := c.app.Stats()
	tell(commitsDesc, prometheus.CounterValue, float64(s.Commits))
	tell(changesDesc, prometheus.CounterValue, float64(s.Changes))
	tell(againDesc, prometheus.CounterValue, float64(s.Again))
	tell(halvedDesc, prometheus.CounterValue, float64(s.Halved))
	tell(unknownDesc, prometheus.CounterValue, float64(s.Unknown))
	tell(queuedDesc, prometheus.GaugeValue, float64(s.Queued))
	for cause, n := range s.Failed {
		tell(failedDesc, prometheus.CounterValue, float64(n), string(cause))
	}
	if !s.Sealed.IsZero() {
		tell(sealedDesc, prometheus.GaugeValue, float64(s.Sealed.UnixMilli())/1000)
	}
	for _, p := range c.app.Pools() {
		tell(openConns, prometheus.GaugeValue, float64(p.InUse), p.Name, "in_use")
		tell(openConns, prometheus.GaugeValue, float64(p.Idle), p.Name, "idle")
		tell(mostConns, prometheus.GaugeValue, float64(p.Most), p.Name)
		tell(waitsDesc, prometheus.CounterValue, float64(p.Waits), p.Name)
		tell(waitTimeDesc, prometheus.CounterValue, p.Waited.Seconds(), p.Name)
		tell(givenUpDesc, prometheus.CounterValue, float64(p.GivenUp), p.Name)
	}
}

// providers reports the operator's accounts and the money there.
func (c storeCollector) providers(tell func(*prometheus.Desc, prometheus.ValueType, float64, ...string)) {
	tell(openDesc, prometheus.GaugeValue, float64(c.app.Providers.OpenCircuits()))
	for about, n := range c.app.SilentAccounts() {
		tell(silentDesc, prometheus.GaugeValue, float64(n), about)
	}
	for of, n := range c.app.Providers.ProviderCalls() {
		labels := []string{of.Account, of.Rail, string(of.Outcome)}
		tell(callsDesc, prometheus.CounterValue, float64(n.N), labels...)
		tell(callTimeDesc, prometheus.CounterValue, n.Took.Seconds(), labels...)
	}
	for _, f := range c.app.Floats.Seen() {
		labels := []string{f.Account, string(merchants.EnvironmentOf(f.Live)), string(f.Currency)}
		tell(floatDesc, prometheus.GaugeValue, f.Units(f.Free), append(labels, "free")...)
		tell(floatDesc, prometheus.GaugeValue, f.Units(f.Committed), append(labels, "committed")...)
		if f.Unknown == "" {
			tell(floatOffDesc, prometheus.GaugeValue, f.Units(f.Off.Minor), labels...)
		}
	}
	for account, n := range c.app.Providers.UnmappedStatuses() {
		tell(unmappedDesc, prometheus.CounterValue, float64(n), account)
	}
}
