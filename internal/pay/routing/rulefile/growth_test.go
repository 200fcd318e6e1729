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
