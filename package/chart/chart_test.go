// Package chart_test checks the Helm chart: Helm's own linter, its manifests read strictly into the types of Kubernetes, that whatever a
// manifest names is there, and that the program accepts the settings. `make chart` runs it; CASCADA_CHART names a packed chart, which make
// release has made, and CASCADA_TEST_BINARY a program that was built before.
package chart_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// cases are values that operators give.
var cases = map[string]string{
	"sqlite": `masterKey: {existingSecret: cascada}`,
	"postgres": `
masterKey: {existingSecret: cascada}
postgres: {existingSecret: cascada-database, caSecret: database-ca}
replicas: 3
settings: {public-url: https://pay.example.com, trusted-proxies: [10.0.0.0/8], log-format: json}
`,
	"everything": `
image: {repository: registry.example.com/cascada, digest: "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", pullPolicy: Always}
imagePullSecrets: [{name: registry}]
masterKey: {existingSecret: keys, key: current}
postgres: {existingSecret: cascada-database}
settings: {public-url: https://pay.example.com}
secretFiles: {redis-file: {secret: redis, key: url}}
admin: true
console: true
service: {type: LoadBalancer, port: 8080, annotations: {a: b}}
ingress: {enabled: true, className: nginx, host: pay.example.com, tlsSecret: pay-tls, annotations: {a: b}}
serviceAccount: {annotations: {a: b}}
networkPolicy:
  enabled: true
  from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}]
  internalFrom: [{podSelector: {matchLabels: {app: prometheus}}}]
  egress: [{ports: [{port: 443, protocol: TCP}]}]
serviceMonitor: {enabled: true, labels: {release: prometheus}}
podAnnotations: {a: b}
podLabels: {team: pay}
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy:3128"}]
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: pay, operator: Exists}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Exists}]}]}}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app.kubernetes.io/name: cascada}}}]
priorityClassName: high
`,
	"sqlite with less": `
masterKey: {existingSecret: cascada}
metrics: false
persistence: {size: 1Gi, storageClass: fast, annotations: {a: b}}
serviceAccount: {create: false}
networkPolicy: {enabled: true}
resources: {}
`,
}

// refused are values that the schema refuses, and a word of the reason.
var refused = map[string]struct{ values, reason string }{
	"no master key":     {`{}`, "masterKey"},
	"a listener":        {`{masterKey: {existingSecret: a}, settings: {listen: "1.2.3.4:5"}}`, "listen"},
	"a misspelt value":  {`{masterKey: {existingSecret: a}, replica: 3}`, "replica"},
	"a secret in clear": {`{masterKey: {existingSecret: a}, secretFiles: {smtp-password: {secret: a, key: b}}}`, "smtp-password"},
	"no host":           {`{masterKey: {existingSecret: a}, ingress: {enabled: true}}`, "host"},
	"nobody to scrape":  {`{masterKey: {existingSecret: a}, networkPolicy: {enabled: true}, serviceMonitor: {enabled: true}}`, "internalFrom"},
	"no time to end":    {`{masterKey: {existingSecret: a}, terminationGracePeriodSeconds: 10}`, "terminationGracePeriodSeconds"},
}

// unpacked is the directory of the chart.
func unpacked(t *testing.T) string {
	t.Helper()
	packed := os.Getenv("CASCADA_CHART")
	if packed == "" {
		return "."
	}
	dir := t.TempDir()
	if err := chartutil.ExpandFile(dir, packed); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "cascada")
}

func read(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// render returns the manifests of a release.
func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	chart, err := loader.Load(unpacked(t))
	if err != nil {
		t.Fatal(err)
	}
	all, err := util.ToRenderValues(chart, read(t, values), common.ReleaseOptions{Name: "shop", Namespace: "pay", Revision: 1, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(chart, all)
}

func TestHelmsLinterFindsNothing(t *testing.T) {
	for name, values := range cases {
		for _, m := range lint.RunAll(unpacked(t), read(t, values), "pay").Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	for name, c := range refused {
		if _, err := render(t, c.values); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v, want %q", name, err, c.reason)
		}
	}
}

func TestManifestsFitTogether(t *testing.T) {
	for name, values := range cases {
		t.Run(name, func(t *testing.T) {
			files, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			m := &manifests{t: t}
			for path, text := range files {
				if strings.HasSuffix(path, "NOTES.txt") {
					continue
				}
				for _, one := range strings.Split(text, "\n---\n") {
					m.add(path, one)
				}
			}
			m.fit()
			m.settings()
		})
	}
	kinds := func(values string) string {
		files, err := render(t, values)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, text := range files {
			for line := range strings.Lines(text) {
				if kind, ok := strings.CutPrefix(line, "kind: "); ok {
					kinds = append(kinds, strings.TrimSpace(kind))
				}
			}
		}
		slices.Sort(kinds)
		return strings.Join(kinds, " ")
	}
	for name, want := range map[string]string{
		"sqlite":           "ConfigMap Pod Service Service ServiceAccount StatefulSet",
		"postgres":         "ConfigMap Deployment Pod PodDisruptionBudget Service Service ServiceAccount",
		"everything":       "ConfigMap Deployment Ingress NetworkPolicy Pod PodDisruptionBudget Service Service ServiceAccount ServiceMonitor",
		"sqlite with less": "ConfigMap NetworkPolicy Pod Service StatefulSet",
	} {
		if got := kinds(cases[name]); got != want {
			t.Errorf("%s makes %s, want %s", name, got, want)
		}
	}
}

// manifests are the objects of a release.
type manifests struct {
	t        *testing.T
	pod      *core.PodTemplateSpec
	selector *meta.LabelSelector
	claims   []string // volumes that a stateful set adds
	services []core.Service
	config   []core.ConfigMap
	accounts []core.ServiceAccount
	budgets  []policy.PodDisruptionBudget
	networks []networking.NetworkPolicy
	ingress  []networking.Ingress
	monitors []monitoring.ServiceMonitor
	tests    []core.Pod
}

// add reads a manifest into the type of its kind. A field that the type does not have is an error.
func (m *manifests) add(path, text string) {
	m.t.Helper()
	var about struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(text), &about); err != nil {
		m.t.Fatalf("%s: %v\n%s", path, err, text)
	}
	if about.Kind == "" {
		if strings.TrimSpace(text) != "" {
			m.t.Errorf("%s: no kind: %s", path, text)
		}
		return
	}
	if wrong := validation.IsDNS1123Label(about.Name); len(wrong) > 0 {
		m.t.Errorf("%s: the name %q: %v", path, about.Name, wrong)
	}
	for key, value := range about.Labels {
		if wrong := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(wrong) > 0 {
			m.t.Errorf("%s: the label %s=%s: %v", path, key, value, wrong)
		}
	}
	strictly := func(into any) {
		asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			m.t.Fatalf("%s: %v\n%s", path, err, text)
		}
		unknown, err := json.UnmarshalStrict(asJSON, into) // case counts, as for the API server
		if err := errors.Join(append(unknown, err)...); err != nil {
			m.t.Errorf("%s: %v\n%s", path, err, text)
		}
	}
	switch about.APIVersion + " " + about.Kind {
	case "apps/v1 Deployment":
		var d apps.Deployment
		strictly(&d)
		m.pod, m.selector = &d.Spec.Template, d.Spec.Selector
	case "apps/v1 StatefulSet":
		var s apps.StatefulSet
		strictly(&s)
		m.pod, m.selector = &s.Spec.Template, s.Spec.Selector
		if *s.Spec.Replicas != 1 {
			m.t.Errorf("%d nodes would share an SQLite file", *s.Spec.Replicas)
		}
		for _, c := range s.Spec.VolumeClaimTemplates {
			m.claims = append(m.claims, c.Name)
		}
	case "v1 Service":
		m.services = append(m.services, core.Service{})
		strictly(&m.services[len(m.services)-1])
	case "v1 ConfigMap":
		m.config = append(m.config, core.ConfigMap{})
		strictly(&m.config[len(m.config)-1])
	case "v1 ServiceAccount":
		m.accounts = append(m.accounts, core.ServiceAccount{})
		strictly(&m.accounts[len(m.accounts)-1])
	case "policy/v1 PodDisruptionBudget":
		m.budgets = append(m.budgets, policy.PodDisruptionBudget{})
		strictly(&m.budgets[len(m.budgets)-1])
	case "networking.k8s.io/v1 NetworkPolicy":
		m.networks = append(m.networks, networking.NetworkPolicy{})
		strictly(&m.networks[len(m.networks)-1])
	case "networking.k8s.io/v1 Ingress":
		m.ingress = append(m.ingress, networking.Ingress{})
		strictly(&m.ingress[len(m.ingress)-1])
	case "monitoring.coreos.com/v1 ServiceMonitor":
		m.monitors = append(m.monitors, monitoring.ServiceMonitor{})
		strictly(&m.monitors[len(m.monitors)-1])
	case "v1 Pod":
		m.tests = append(m.tests, core.Pod{})
		strictly(&m.tests[len(m.tests)-1])
	default:
		m.t.Errorf("%s: the kind %s %s is not known here", path, about.APIVersion, about.Kind)
	}
}

// selects reports whether a selector selects labels. A selector without labels selects everything, which no manifest means.
func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return len(selector) > 0
}

// fit fails the test if a manifest names what another one does not have, or a pod may do more than it needs.
func (m *manifests) fit() {
	m.t.Helper()
	if m.pod == nil {
		m.t.Fatal("there is no pod")
	}
	labels := m.pod.Labels
	for what, selector := range m.selectors() {
		if !selects(selector, labels) {
			m.t.Errorf("%s selects %v, and the pods have %v", what, selector, labels)
		}
	}
	ports := m.ports()
	for _, s := range m.services {
		for _, p := range s.Spec.Ports {
			if !slices.Contains(ports, p.TargetPort.StrVal) {
				m.t.Errorf("the service %s leads to the port %s, and the pods have %v", s.Name, p.TargetPort.String(), ports)
			}
		}
	}
	for _, n := range m.networks {
		for _, rule := range n.Spec.Ingress {
			for _, p := range rule.Ports {
				if !slices.Contains(ports, p.Port.StrVal) {
					m.t.Errorf("a policy names the port %s, and the pods have %v", p.Port, ports)
				}
			}
			tested := slices.ContainsFunc(rule.From, func(from networking.NetworkPolicyPeer) bool {
				return from.PodSelector != nil && selects(from.PodSelector.MatchLabels, m.tests[0].Labels)
			})
			if rule.Ports[0].Port.StrVal == "http" && len(rule.From) > 0 && !tested {
				m.t.Errorf("a policy keeps helm test out: %v", rule.From)
			}
		}
	}
	for _, i := range m.ingress {
		to := i.Spec.Rules[0].HTTP.Paths[0].Backend.Service
		if !m.hasService(func(s core.Service) bool { return s.Name == to.Name && hasPort(s, to.Port.Name) }) {
			m.t.Errorf("the ingress leads to %s %s, which is not there", to.Name, to.Port.Name)
		}
	}
	for _, o := range m.monitors {
		if !m.hasService(func(s core.Service) bool {
			return selects(o.Spec.Selector.MatchLabels, s.Labels) && hasPort(s, o.Spec.Endpoints[0].Port)
		}) {
			m.t.Error("the monitor finds no service")
		}
	}
	for _, test := range m.tests {
		at := test.Spec.Containers[0].Args[3]
		if !m.hasService(func(s core.Service) bool { return at == fmt.Sprintf("%s:%d", s.Name, s.Spec.Ports[0].Port) }) {
			m.t.Errorf("the test asks %s, which is not there", at)
		}
		m.confined(test.Spec)
	}
	if want := cmp.Or(m.pod.Spec.ServiceAccountName, "default"); want != "default" && !slices.ContainsFunc(m.accounts, func(a core.ServiceAccount) bool { return a.Name == want }) {
		m.t.Errorf("the account %s is not there", want)
	}
	m.volumes()
	m.confined(m.pod.Spec)
}

// selectors returns the selectors that must select the pods, by what has them.
func (m *manifests) selectors() map[string]map[string]string {
	list := map[string]map[string]string{"the workload": m.selector.MatchLabels}
	for _, s := range m.services {
		list["the service "+s.Name] = s.Spec.Selector
	}
	for _, b := range m.budgets {
		list["the disruption budget"] = b.Spec.Selector.MatchLabels
	}
	for _, n := range m.networks {
		list["the network policy"] = n.Spec.PodSelector.MatchLabels
	}
	return list
}

// ports returns the names of the pods' ports. Probes ask one of them.
func (m *manifests) ports() (names []string) {
	m.t.Helper()
	c := m.pod.Spec.Containers[0]
	for _, p := range c.Ports {
		names = append(names, p.Name)
	}
	for _, probe := range []*core.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || !slices.Contains(names, probe.HTTPGet.Port.StrVal) {
			m.t.Errorf("a probe asks %+v, and the pods have %v", probe, names)
		}
	}
	return names
}

func (m *manifests) hasService(is func(core.Service) bool) bool {
	return slices.ContainsFunc(m.services, is)
}

func hasPort(s core.Service, name string) bool {
	return slices.ContainsFunc(s.Spec.Ports, func(p core.ServicePort) bool { return p.Name == name })
}

// volumes fails the test if a container mounts what the pod does not have.
func (m *manifests) volumes() {
	m.t.Helper()
	have := slices.Clone(m.claims)
	for _, v := range m.pod.Spec.Volumes {
		have = append(have, v.Name)
		if v.ConfigMap != nil && !slices.ContainsFunc(m.config, func(c core.ConfigMap) bool { return c.Name == v.ConfigMap.Name }) {
			m.t.Errorf("the settings %s are not there", v.ConfigMap.Name)
		}
	}
	var mounted []string
	for _, v := range m.pod.Spec.Containers[0].VolumeMounts {
		mounted = append(mounted, v.Name)
	}
	slices.Sort(have)
	slices.Sort(mounted)
	if !slices.Equal(have, mounted) {
		m.t.Errorf("the pod has the volumes %v and mounts %v", have, mounted)
	}
}

// confined fails the test if a pod has more rights than it needs: the restricted standard for pods.
func (m *manifests) confined(pod core.PodSpec) {
	m.t.Helper()
	is := func(b *bool, want bool) bool { return b != nil && *b == want }
	s := pod.SecurityContext
	if s == nil || !is(s.RunAsNonRoot, true) || s.SeccompProfile == nil || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault || !is(pod.AutomountServiceAccountToken, false) {
		m.t.Errorf("a pod is not confined: %+v", s)
	}
	for _, c := range pod.Containers {
		if s := c.SecurityContext; s == nil || !is(s.ReadOnlyRootFilesystem, true) || !is(s.AllowPrivilegeEscalation, false) || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
			m.t.Errorf("a container is not confined: %+v", s)
		}
	}
}

// settings fails the test if the program refuses the settings, with secrets as they are mounted and the image's environment.
func (m *manifests) settings() {
	m.t.Helper()
	secrets := m.t.TempDir()
	for _, v := range m.pod.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			for _, item := range source.Secret.Items {
				text := map[string]string{"master-key": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "database": "postgres://db.example.com/cascada?sslmode=require", "redis": "redis://redis.example.com"}[item.Path]
				if err := os.WriteFile(filepath.Join(secrets, item.Path), []byte(text), 0o600); err != nil {
					m.t.Fatal(err)
				}
			}
		}
	}
	path := filepath.Join(m.t.TempDir(), "cascada.yaml")
	text := strings.ReplaceAll(m.config[0].Data["cascada.yaml"], "/run/secrets/cascada", secrets)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	c := exec.Command(program(m.t), "config", "check", path)
	c.Env = []string{"CASCADA_LISTEN=0.0.0.0:8080", "CASCADA_DEMO=false"}
	if out, err := c.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("The settings are valid")) {
		m.t.Errorf("the program refuses the settings: %v\n%s\n%s", err, text, out)
	}
}

// program is the path of a program that was built before, or of one that make build has made.
func program(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(cmp.Or(os.Getenv("CASCADA_TEST_BINARY"), "../../bin/cascada"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: make build makes it", err)
	}
	return path
}

// Every value of values.yaml is in the schema, and no more: a value that the schema lacks would be refused, and one that values.yaml lacks is
// nowhere described.
func TestTheSchemaHasTheValues(t *testing.T) {
	chart, err := loader.Load(unpacked(t))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"properties"`
	}
	if err := yaml.Unmarshal(chart.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	delete(schema.Properties, "global") // Helm's own
	if got, want := slices.Sorted(maps.Keys(schema.Properties)), slices.Sorted(maps.Keys(chart.Values)); !slices.Equal(got, want) {
		t.Errorf("the schema has %v, and values.yaml %v", got, want)
	}
	for name, p := range schema.Properties {
		below, ok := chart.Values[name].(map[string]any)
		if !ok || len(p.Properties) == 0 {
			continue
		}
		if got, want := slices.Sorted(maps.Keys(p.Properties)), slices.Sorted(maps.Keys(below)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, and values.yaml %v", name, got, want)
		}
	}
}
