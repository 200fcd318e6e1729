package rulefile

import (
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

// A file of rules costs no more than its size: neither its aliases nor its mistakes multiply it.
func TestRulesCostNoMoreThanTheirSize(t *testing.T) {
	for name, input := range map[string]func(int) string{
		"unknown names": growth.Numbered("", "x%d: 1\n", ""), "rails": growth.Numbered("rails:\n", "  r%d: {accounts: [a]}\n", ""),
		"accounts of a rail": growth.Numbered("rails: {pix.BRA: {accounts: [", "a%d, ", "b]}}\n"), "wrong values": growth.Numbered("rails:\n", "  r%d: {explored: x}\n", ""),
		"the same name": growth.Repeated("", "order: priority\n", ""), "reasons": growth.Repeated("retry: {reasons: [", "moon, ", "moon]}"),
		"rules": growth.Numbered("rules:\n", "  - {name: r%d}\n", ""), "rules of one name": growth.Repeated("rules:\n", "  - {name: x}\n", ""),
		"amounts": growth.Repeated("rules: [{name: x, when: {amount: [", "BRL:0, ", "BRL:1-]}}]\n"), "countries": growth.Repeated("rules: [{name: x, when: {country: [", "ZZ, ", "BR]}}]\n"),
		"conditions without values": growth.Repeated("rules:\n", "  - {name: x, when: {shop: }}\n", ""), "weights": growth.Numbered("rules: [{name: x, weights: {", "a%d: 0, ", "b: 1}}]\n"),
		"a long zone": growth.Repeated("zone: ", "x", "\n"), "aliases of conditions": growth.Repeated("rules:\n  - {name: x, when: &w {country: BR}}\n", "  - {name: y, when: *w}\n", ""),
		"brackets": growth.Repeated("rails: ", "[", ""), "aliases": growth.Repeated("accounts:\n  a: &a {priority: 1}\n", "  b: *a\n", ""),
		"aliases of aliases": growth.Repeated("x: &x [1]\n", "y: [*x, *x]\n", ""), "a long text": growth.Repeated("order: ", "x", "\n"), "dashes": growth.Repeated("", "- ", ""),
	} {
		growth.Of(t, name, MaxSize-16<<10, input, func(text string) int {
			_, err := Read([]byte(text))
			if err != nil {
				return len(err.Error())
			}
			return 0
		})
	}
}
