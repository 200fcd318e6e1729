package docs

import (
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func TestPatternSeesEveryDifference(t *testing.T) {
	for _, c := range []struct {
		want, got   string
		differences int
	}{
		{`{"a":1,"b":["<txn>"]}`, `{"b":["TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"],"a":1}`, 0},
		{`{"a":1}`, `{"a":1.0}`, 1},
		{`{"a":1}`, `{"a":"1"}`, 1},
		{`{"a":null}`, `{}`, 1},
		{`{}`, `{"a":null}`, 1},
		{`{"a":[1]}`, `{"a":[1,2]}`, 1},
		{`{"a":{"b":"<time>"},"c":1}`, `{"a":{"b":"2026-11-21T12:00:00Z"},"c":2}`, 2},
		{`{"a":"<digits>"}`, `{"a":5}`, 1},
		{`{"a":"<number>"}`, `{"a":5}`, 0},
		{`{"a":"<number>"}`, `{"a":"5"}`, 1},
		{`{"a":"<list>"}`, `{"a":[5]}`, 0},
		{`{"a":"<list>"}`, `{"a":{}}`, 1},
	} {
		if got := harness.Compare("", harness.Decode(t, []byte(c.want)), harness.Decode(t, []byte(c.got))); len(got) != c.differences {
			t.Errorf("%s against %s: %q, want %d differences", c.got, c.want, got, c.differences)
		}
	}
}
