package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Settings is how a run was made, so that its results can be compared.
type Settings struct {
	URL         string  `json:"url"`
	Merchants   int     `json:"merchants"`
	Connections int     `json:"connections"`
	Warmup      string  `json:"warmup"`
	Duration    string  `json:"duration"`
	Method      string  `json:"method"`
	Amount      string  `json:"amount"`
	Idempotency bool    `json:"idempotency"`
	Rate        float64 `json:"rate"` // 0: closed loop
	Webhooks    bool    `json:"webhooks"`
	DeadPercent int     `json:"deadPercent"` // of the endpoints
	SlowPercent int     `json:"slowPercent"`
	Auth        Auth    `json:"auth"`
	APIVersion  string  `json:"apiVersion"`
	ServerBuild string  `json:"serverBuild"` // "" unless its process id was given
	Database    string  `json:"database"`    // the caller fills it in
	CPUs        int     `json:"cpus"`
	GOMAXPROCS  int     `json:"gomaxprocs"` // the generator's
}

// Result is the measurements of a run.
type Result struct {
	Settings Settings `json:"settings"`

	// Payments are the 201 replies within the window; the following fields are about them.
	Payments  int64   `json:"payments"`
	PerSecond float64 `json:"perSecond"`
	P50Ms     float64 `json:"p50Ms"`
	P95Ms     float64 `json:"p95Ms"`
	P99Ms     float64 `json:"p99Ms"`
	MaxMs     float64 `json:"maxMs"`

	// For the whole run, with warm-up and tail.
	Created  int64            `json:"taken"`    // 201 replies
	Listed   int64            `json:"listed"`   // payments that the service lists afterwards
	Statuses map[string]int64 `json:"statuses"` // of the 201 replies
	Errors   map[string]int64 `json:"errors"`   // all others, by status and code

	// Within the window. The cost of errors is included, and divided by the payments.
	BytesSent     int64   `json:"bytesSent"`
	BytesReceived int64   `json:"bytesReceived"`
	GeneratorUs   float64 `json:"generatorCpuUsPerPayment"`
	MachineBusy   float64 `json:"machineBusyPercent"` // of all CPUs; everything that ran

	ServerCPUUs float64 `json:"serverCpuUsPerPayment,omitempty"`
	ServerCores float64 `json:"serverCores,omitempty"`    // CPU seconds a second
	ServerRSS   int64   `json:"serverRssBytes,omitempty"` // at the end
	WALBytes    float64 `json:"walBytesPerPayment,omitempty"`

	Webhooks *Webhooks `json:"webhooks,omitempty"`
}

// Webhooks is the payment.completed events that arrived. A delay is from the event's
// createdAt (set before its commit, in whole milliseconds) to the arrival, for events
// created within the window.
type Webhooks struct {
	Delivered         int64   `json:"delivered"` // payments, whole run
	PerSecond         float64 `json:"perSecond"` // arrivals within the window
	DelayP50Ms        float64 `json:"delayP50Ms"`
	DelayP99Ms        float64 `json:"delayP99Ms"`
	DelayMaxMs        float64 `json:"delayMaxMs"`
	LastAfterSeconds  float64 `json:"lastAfterSeconds"` // from the window's end
	Missing           int64   `json:"missing"`          // completed payments without an event
	Unexpected        int64   `json:"unexpected"`       // events of payments whose reply did not arrive
	Duplicates        int64   `json:"duplicates"`       // repeated events
	Doubled           int64   `json:"doubled"`          // a second payment.completed of one payment
	OtherEvents       int64   `json:"otherEvents"`
	SignaturesChecked int64   `json:"signaturesChecked"`
	SignaturesBad     int64   `json:"signaturesBad"`
	Malformed         int64   `json:"malformed"`
	Troubled          int64   `json:"troubled"` // deliveries to silent and slow endpoints
}

// result sums the counts of the connections.
func (m *measured) result(c Config) Result {
	r := Result{Statuses: map[string]int64{}, Errors: map[string]int64{}}
	var latencies []uint32
	for _, w := range m.workers {
		latencies = append(latencies, w.latencies...)
		r.Created += w.created
		r.BytesSent += w.sent
		r.BytesReceived += w.arrived
		for status, n := range w.statuses {
			r.Statuses[status] += n
		}
		for reason, n := range w.failures {
			r.Errors[reason] += n
		}
	}
	slices.Sort(latencies)
	r.Payments = int64(len(latencies))
	r.PerSecond = float64(r.Payments) / c.Duration.Seconds()
	r.P50Ms, r.P95Ms = percentile(latencies, 50), percentile(latencies, 95)
	r.P99Ms, r.MaxMs = percentile(latencies, 99), percentile(latencies, 100)

	each := ratio(1, r.Payments)
	r.GeneratorUs = float64((m.after.generator - m.before.generator).Microseconds()) * each
	if all := m.after.busy + m.after.idle - m.before.busy - m.before.idle; all > 0 {
		r.MachineBusy = 100 * float64(m.after.busy-m.before.busy) / float64(all)
	}
	if c.ServerPID > 0 {
		used := m.after.server - m.before.server
		r.ServerCPUUs, r.ServerCores = float64(used.Microseconds())*each, used.Seconds()/c.Duration.Seconds()
		r.ServerRSS = m.after.rss
	}
	if c.WAL != nil {
		r.WALBytes = float64(m.after.wal-m.before.wal) * each
	}
	return r
}

// percentile is the value that p percent of the sorted values do not exceed, in
// milliseconds; 0 if there are none.
func percentile(sorted []uint32, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return float64(sorted[max(rank, 1)-1]) / 1000
}

// Problems lists what a reader must not overlook; empty after a clean run.
func (r Result) Problems() []string {
	var list []string
	add := func(format string, n int64) {
		if n > 0 {
			list = append(list, fmt.Sprintf(format, n))
		}
	}
	var failed int64
	for _, n := range r.Errors {
		failed += n
	}
	add("%d requests got no 201", failed)
	add("%d payments that were answered 201 are not listed", r.Created-r.Listed)
	if w := r.Webhooks; w != nil {
		add("%d events are missing", w.Missing)
		add("%d payments have two events that say the same", w.Doubled)
		add("%d signatures do not match", w.SignaturesBad)
		add("%d webhook requests were malformed", w.Malformed)
	}
	return list
}

// Write prints the result as a table.
func (r Result) Write(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	s := r.Settings
	line("server", "%s, API %s%s", s.URL, s.APIVersion, optional(", build ", s.ServerBuild))
	line("database", "%s", s.Database)
	line("load", "%d connections, %s; %s; %s %s USD", s.Connections, arrival(s.Rate), all(s.Merchants), s.Method, s.Amount)
	line("requests", "auth %s, idempotency keys %s, webhooks %s", s.Auth, onOff(s.Idempotency), onOff(s.Webhooks))
	if s.DeadPercent+s.SlowPercent > 0 {
		line("endpoints", "%d %% dead (half refuse, half never answer), %d %% answer after %s; the following lines are about the others", s.DeadPercent, s.SlowPercent, slowAnswer)
	}
	line("time", "%s measured after %s of warm-up", s.Duration, s.Warmup)
	line("machine", "%d CPUs, shared by server, database and load generator (GOMAXPROCS %d)", s.CPUs, s.GOMAXPROCS)
	line("", "")
	line("payments/s", "%.0f", r.PerSecond)
	line("latency ms", "p50 %.1f   p95 %.1f   p99 %.1f   max %.1f", r.P50Ms, r.P95Ms, r.P99Ms, r.MaxMs)
	line("payments", "%d measured; %d in all (%s), %d listed by the service", r.Payments, r.Created, counts(r.Statuses), r.Listed)
	line("errors", "%s", counts(r.Errors))
	line("bytes/payment", "%.0f sent, %.0f received", ratio(r.BytesSent, r.Payments), ratio(r.BytesReceived, r.Payments))
	if r.ServerRSS > 0 {
		line("server CPU", "%.0f µs a payment, %.2f cores; RSS %.0f MiB", r.ServerCPUUs, r.ServerCores, float64(r.ServerRSS)/(1<<20))
	}
	line("other CPU", "load generator %.0f µs a payment; machine %.0f %% busy", r.GeneratorUs, r.MachineBusy)
	if r.WALBytes > 0 {
		line("WAL", "%.0f bytes a payment", r.WALBytes)
	}
	if w := r.Webhooks; w != nil {
		line("webhooks/s", "%.0f", w.PerSecond)
		line("delay ms", "p50 %.1f   p99 %.1f   max %.1f   from createdAt (before the commit) to arrival", w.DelayP50Ms, w.DelayP99Ms, w.DelayMaxMs)
		line("events", "%d delivered, the last %.1f s after the end; %d missing, %d came again, %d doubled, %d unexpected, %d of other types",
			w.Delivered, w.LastAfterSeconds, w.Missing, w.Duplicates, w.Doubled, w.Unexpected, w.OtherEvents)
		if s.DeadPercent+s.SlowPercent > 0 {
			line("in the way", "%d deliveries to endpoints that are silent or slow", w.Troubled)
		}
		line("signatures", "%d checked, %d bad; %d malformed requests", w.SignaturesChecked, w.SignaturesBad, w.Malformed)
	}
	for _, p := range r.Problems() {
		line("PROBLEM", "%s", p)
	}
	return t.Flush()
}

// ratio is a/b, or 0 without payments.
func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func arrival(rate float64) string {
	if rate == 0 {
		return "closed loop"
	}
	return fmt.Sprintf("%.0f payments a second at even times", rate)
}

func all(n int) string {
	if n == 1 {
		return "one hot merchant"
	}
	return fmt.Sprintf("%d merchants in turn", n)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func optional(before, value string) string {
	if value == "" {
		return ""
	}
	return before + value
}

// counts is a map as one line, sorted by name.
func counts(m map[string]int64) string {
	if len(m) == 0 {
		return "none"
	}
	parts := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[name], strings.TrimSpace(name)))
	}
	return strings.Join(parts, ", ")
}
