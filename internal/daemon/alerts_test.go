package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"
)

// alerts is a file of Prometheus rules.
type alerts struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			For         string            `yaml:"for"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// told describes /metrics: the labels of each metric, without those that Prometheus adds, and the
// values of the labels whose values are all known.
type told struct {
	labels map[string][]string
	values map[string][]string
}

// ours describes our /metrics.
func ours() told {
	m := newMetrics()
	m.watch(&limit.Redis{})
	m.connected(&web.Connections{})
	t := told{labels: map[string][]string{"up": nil}, values: map[string][]string{
		"kind": store.OpenKinds(), "work": store.WorkKinds(), "job": {"cascada"},
		"environment": {string(merchants.Sandbox), string(merchants.Production)}, "result": append(webhooks.AttemptResults(), "done", "failed", spansSent, spansLost),
		"outcome":   {string(mails.Sent), string(mails.Retried), string(mails.Failed)},
		"operation": {"charge"}, "pool": {"writer", "reader"}, "method": {"GET", "POST"}, "state": {"free", "committed", "in_use", "idle"},
		"route": {"/readyz", "/healthz", "/api/v1/payments"}, "status": {"200", "429", "500", "503"},
		"bucket": slices.Collect(maps.Keys(gate.New(nil, nil, nil, nil, time.Now).Refusals())),
	}}
	for _, s := range pay.Statuses() {
		t.values["status"] = append(t.values["status"], string(s))
	}
	for _, o := range []pay.OutcomeKind{pay.Approved, pay.Awaiting, pay.Declined, pay.Unavailable, pay.Errored, pay.Unknown} {
		t.values["outcome"] = append(t.values["outcome"], string(o))
	}
	for _, f := range store.Failures() {
		t.values["cause"] = append(t.values["cause"], string(f))
	}
	for _, e := range store.TransactionEnds() {
		t.values["end"] = append(t.values["end"], string(e))
	}
	for _, e := range auth.EventKinds() {
		t.values["event"] = append(t.values["event"], string(e))
	}
	described := func(histogram bool, all ...prometheus.Collector) {
		for _, c := range all {
			t.describe(c, histogram)
		}
	}
	described(false, m.registry, storeCollector{}, &gauges{}, newBuildInfo())
	described(true, m.latency, m.waited, m.written, m.batches, m.callTime, m.reply)
	return t
}

// describe adds the metrics of a collector. A histogram has sums and counts.
func (t told) describe(c prometheus.Collector, histogram bool) {
	described := make(chan *prometheus.Desc)
	go func() {
		defer close(described)
		c.Describe(described)
	}()
	desc := regexp.MustCompile(`fqName: "([\w:]+)".*variableLabels: \{([^}]*)\}`)
	for d := range described {
		found := desc.FindStringSubmatch(d.String())
		name, labels := found[1], strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' || r == ' ' })
		if !histogram {
			t.labels[name] = labels
			continue
		}
		delete(t.labels, name)
		t.labels[name+"_sum"], t.labels[name+"_count"] = labels, labels
		t.labels[name+"_bucket"] = append(slices.Clone(labels), "le")
	}
}

var (
	inBrackets = regexp.MustCompile(`\[[^\]]*\]`)
	grouping   = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	selector   = regexp.MustCompile(`([a-zA-Z_:][\w:]*)\s*(\{[^}]*\}|\()?`)
	matcher    = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	letters    = regexp.MustCompile(`^(and|or|unless|bool|offset)$`)
)

// wrong returns what is wrong with the metrics and labels in a PromQL expression. It does not check
// the syntax: promtool does.
func (t told) wrong(expr string) (wrong []string, metrics int) {
	expr = inBrackets.ReplaceAllString(expr, "")
	known := []string{"job", "instance"}
	groups := grouping.FindAllStringSubmatch(expr, -1)
	for _, found := range selector.FindAllStringSubmatch(grouping.ReplaceAllString(expr, ""), -1) {
		name, rest := found[1], found[2]
		if rest == "(" || letters.MatchString(name) {
			continue
		}
		metrics++
		labels, is := t.labels[name]
		if !is {
			wrong = append(wrong, "there is no metric "+name)
			continue
		}
		known = append(known, labels...)
		for _, m := range matcher.FindAllStringSubmatch(rest, -1) {
			if !slices.Contains(append([]string{"job", "instance"}, labels...), m[1]) {
				wrong = append(wrong, fmt.Sprintf("%s has no label %s", name, m[1]))
			}
			for _, value := range strings.Split(m[3], "|") {
				wants := regexp.MustCompile("^(?:" + value + ")$")
				if values, closed := t.values[m[1]]; closed && !slices.ContainsFunc(values, wants.MatchString) {
					wrong = append(wrong, fmt.Sprintf("%s is never %q", m[1], value))
				}
			}
		}
	}
	for _, g := range groups {
		for label := range strings.SplitSeq(g[2], ",") {
			if label = strings.TrimSpace(label); label != "" && !slices.Contains(known, label) {
				wrong = append(wrong, "nothing has the label "+label)
			}
		}
	}
	return wrong, metrics
}

// Every alert uses existing metrics, with existing labels and values; the runbook says what to do; and
// every kind of thing that stays open has an alert.
func TestAlertsUseExistingMetrics(t *testing.T) {
	manual, err := os.ReadFile("../../docs/RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	file, ours, seen, all := readAlerts(t), ours(), map[string]bool{}, ""
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] || !slices.Contains([]string{"page", "ticket"}, r.Labels["severity"]) || r.Annotations["summary"] == "" || r.Annotations["command"] == "" {
				t.Errorf("%q exists twice, or has no severity, summary or command: %+v", r.Alert, r)
			}
			seen[r.Alert] = true
			_, section, _ := strings.Cut(string(manual), "\n### "+r.Alert+"\n")
			section, _, _ = strings.Cut(section, "\n#")
			for _, part := range []string{"**Means:**", "**Look", "do:**"} {
				if !strings.Contains(strings.ReplaceAll(section, "Do:", "do:"), part) {
					t.Errorf("the runbook's section %s has no %s", r.Alert, part)
				}
			}
			wrong, metrics := ours.wrong(r.Expr)
			if len(wrong) > 0 || metrics == 0 {
				t.Errorf("%s is about %d metrics: %s", r.Alert, metrics, strings.Join(wrong, "; "))
			}
			all += r.Expr
		}
	}
	for _, kind := range store.OpenKinds() {
		if !strings.Contains(all, `kind="`+kind+`"`) {
			t.Errorf("no alert reports the open kind %q", kind)
		}
	}
	for heading := range strings.SplitSeq(string(manual), "\n### Cascada") {
		if name, _, _ := strings.Cut(heading, "\n"); !strings.HasPrefix(name, "#") && !seen["Cascada"+name] {
			t.Errorf("the runbook has an alert Cascada%s that does not exist", name)
		}
	}
}

func readAlerts(t *testing.T) (file alerts) {
	t.Helper()
	text, err := os.ReadFile("../../docs/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	return file
}

// wrong finds what is wrong with an expression.
func TestAlertsWithUnknownMetricsAreFound(t *testing.T) {
	for expr, want := range map[string]string{
		`max(cascada_gone) > 0`:                                                                 "there is no metric cascada_gone",
		`cascada_http_request_seconds > 1`:                                                      "there is no metric cascada_http_request_seconds",
		`cascada_http_requests_total{rail="PIX"}`:                                               "cascada_http_requests_total has no label rail",
		`cascada_store_changes_failed_total{cause=~"stale|no"}`:                                 `cause is never "no"`,
		`sum by (rail) (rate(cascada_http_requests_total[5m]))`:                                 "nothing has the label rail",
		`sum by (le, route) (rate(cascada_http_request_seconds_bucket{job="cascada"}[5m])) > 0`: "",
	} {
		if wrong, _ := ours().wrong(expr); strings.Join(wrong, "; ") != want {
			t.Errorf("%s: %q, want %q", expr, wrong, want)
		}
	}
}

// Each alert fires when its condition holds, and no other one does.
func TestAlertsFire(t *testing.T) {
	tests, err := os.ReadFile("../../docs/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range readAlerts(t).Groups {
		for _, r := range g.Rules {
			if !strings.Contains(string(tests), `alertname="`+r.Alert+`"`) {
				t.Errorf("no test of %s", r.Alert)
			}
		}
	}
	promtool(t, "check", "rules", "../../docs/alerts.yml")
	promtool(t, "test", "rules", "../../docs/alerts_test.yml")
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v (make test installs it)\n%s", strings.Join(args, " "), err, out)
	}
}

// grafana is the part of a Grafana dashboard that the test needs.
type grafana struct {
	Title  string
	Panels []struct {
		ID      int
		Title   string
		Type    string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

// Every panel of the dashboard shows existing metrics.
func TestDashboardShowsExistingMetrics(t *testing.T) {
	text, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d grafana
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	ours, ids, rules := ours(), map[int]bool{}, "groups:\n  - name: panels\n    rules:\n"
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("panel %d %q exists twice, or shows nothing", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%q overlaps %q, or is outside the page", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for i, target := range p.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			wrong, metrics := ours.wrong(strings.NewReplacer(`instance=~"$instance"`, "").Replace(expr))
			if len(wrong) > 0 || metrics == 0 {
				t.Errorf("%q shows %d metrics: %s", p.Title, metrics, strings.Join(wrong, "; "))
			}
			rules += fmt.Sprintf("      - {record: 'panel:%d:%d', expr: '%s'}\n", p.ID, i, expr)
		}
	}
	file := filepath.Join(t.TempDir(), "panels.yml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}
