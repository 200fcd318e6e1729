package rulefile

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/routing"
)

// A file that is taken says rules that routing takes, and they are read again as they are
// written.
func FuzzRead(f *testing.F) {
	document, err := os.ReadFile("../../../../docs/ROUTING.md")
	if err != nil {
		f.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(document), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	for _, text := range []string{
		example, "order: least-cost\nexplored: 0\n", `{"order":"success-rate","budget":{"attempts":3,"time":"20s"}}`, "budget: {attempts: 0}", "budget: {time: 1ns}",
		"accounts:\n  acme-2: {price: 1.5%, limits: [BRL:1-50, \"pix.BRA=BRL:5-60\"], rails: [pix.BRA], priority: 3, enabled: false}\n",
		"rails: {pix.BRA: {accounts: [b, a], explored: 1}}", "rails: {pix.BRA: }", "order: &a priority\nrails: {x: {order: *a}}", "a: &a [*a]", "order: priority\n---\norder: priority", "", "~", "[]",
		"retry: {times: 0}", "retry: {times: 3, within: 20m, reasons: [do_not_honor, processing_error]}", "retry: {within: 1s}", "retry: {reasons: [moon]}", "explored: -1", "explored: 0x10", "budget: {time: -5s}", "rails: {\"\": {order: priority}}", "ordr: priority", "order: !!binary AA==",
		"zone: America/Sao_Paulo\nrules:\n  - {name: night, when: {rail: pix.BRA, amount: [\"BRL:1000-\", USD:-20.5], currency: brl, hours: [22-6, 9:30-10], weekdays: [SAT], zone: UTC}, weights: {a: 70, b: 30}}\n",
		"rules:\n  - {name: all, accounts: [a], order: least_cost}\n  - {name: more, when: {merchant: mer_1, shop: [shp_1], country: br, card_country: [US, BRA], installments: 2-, attempt: later}}\n",
		"rules: [{name: x, when: {merchant: }}]", "rules: [{name: x, when: {shop: []}}]", "rules: [{}]", "rules: [~]", "rules: {}", "rules: [{name: x, when: ~}]", "rules: [{name: x, when: {hours: 9}}]",
		"rules: [{name: x, weights: {a: 0}}]", "rules: [{name: x, weights: {}, accounts: []}]", "rules: [{name: x, when: {installments: 3}}, {name: x}]", "zone: Local", "zone: ~", "zone: a/../b",
		"rules: [{name: &a x, when: &w {attempt: first}}, {name: y, when: *w}]", "rules: [{name: x, when: {amount: \"BRL:0.001-\"}}]",
		"rails: {x: !own }", "rails: {x: {accounts: []}}", "rails: {x: !own y}", "explored: \"a\\nb\"", "\"a\\nb\": 1", "\"\":", "rails: !!map a into b", "text",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Read(text)
		if err != nil {
			if strings.Contains(err.Error(), "rulefile.") || strings.Contains(err.Error(), "routing.") {
				t.Errorf("%q: the names of our types are in %v", text, err)
			}
			return
		}
		if err := file.Rules.Check(); err != nil {
			t.Fatalf("%q is taken: %v", text, err)
		}
		if reflect.DeepEqual(file.Rules, routing.Rules{}) {
			return // of accounts alone, or of nothing in particular
		}
		written, err := Write(file.Rules)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := Read(written)
		if err != nil || !reflect.DeepEqual(New(again.Rules), New(file.Rules)) {
			t.Errorf("%q is written as\n%s and read again as %+v (%v), not %+v", text, written, again.Rules, err, file.Rules)
		}
	})
}
