package daemon

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"
)

// alerts is a file of rules for Prometheus.
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

// ours lists the metrics that /metrics can tell, with their labels.
func ours() map[string][]string {
	described := make(chan *prometheus.Desc)
	m := newMetrics()
	go func() {
		defer close(described)
		m.requests.Describe(described)
		storeCollector{}.Describe(described)
		(&gauges{}).Describe(described)
	}()
	metrics := map[string][]string{"up": {"job"}}
	desc := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([^}]*)\}`)
	for d := range described {
		found := desc.FindStringSubmatch(d.String())
		metrics[found[1]] = strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' || r == ' ' })
	}
	return metrics
}

// Every alert is about a metric that there is, with the labels and their values that it
// has; the manual says which command ends it; and nothing that stays open has none.
func TestAlertsAreAboutMetricsThatThereAre(t *testing.T) {
	text, err := os.ReadFile("../../docs/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	manual, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	var file alerts
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	metrics := ours()
	values := map[string][]string{"kind": store.OpenKinds(), "work": store.WorkKinds(), "job": {"cascada"}, "outcome": {string(app.MailFailed)}}
	used := regexp.MustCompile(`(\w+)(?:\{(\w+)="([^"]*)"\})?`)
	word := regexp.MustCompile(`^(max|abs|by|increase|work|[0-9]+[mh]?)$`)
	seen := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] || !slices.Contains([]string{"page", "ticket"}, r.Labels["severity"]) || r.Annotations["summary"] == "" || r.Annotations["command"] == "" {
				t.Errorf("%q is there twice, or has no severity, summary or command: %+v", r.Alert, r)
			}
			seen[r.Alert] = true
			if !strings.Contains(string(manual), "| `"+r.Alert+"` |") {
				t.Errorf("the manual has no row for %s", r.Alert)
			}
			about := 0
			for _, found := range used.FindAllStringSubmatch(r.Expr, -1) {
				name, label, value := found[1], found[2], found[3]
				if word.MatchString(name) {
					continue
				}
				about++
				labels, known := metrics[name]
				if !known {
					t.Errorf("%s is about %s, and there is no such metric", r.Alert, name)
				}
				if label != "" && (!slices.Contains(labels, label) || !slices.Contains(values[label], value)) {
					t.Errorf("%s is about %s with %s %q, which it never has", r.Alert, name, label, value)
				}
				seen[value] = true
			}
			if about != 1 {
				t.Errorf("%s is about %d metrics: %s", r.Alert, about, r.Expr)
			}
		}
	}
	for _, kind := range store.OpenKinds() {
		if !seen[kind] {
			t.Errorf("nobody hears of the kind %q that stays open", kind)
		}
	}
}
