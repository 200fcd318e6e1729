package wire

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

func TestCardsInBodiesAreNamed(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":[{"b":"4242 4242 4242 4242"}]}`: "a[0].b", `{"a":4242424242424242}`: "a", `{"a":4242424242424242.0}`: "a", `{"4242424242424242":1}`: wholeBody,
		`{"a":1.4242424242424242}`: "", `{"a":-103.4242424242424242}`: "", `{"a":"-34.42424242424242"}`: "", `{"a":"4242424242424241"}`: "",
		strings.Repeat("[", 100) + `"4242424242424242"` + strings.Repeat("]", 100): wholeBody,
	} {
		if issue := findCard([]byte(body), nil); issue.Path != want {
			t.Errorf("%s: %q, want %q", body, issue.Path, want)
		}
	}
}

// A deep body with many texts costs no more than its size.
func TestCardsInDeepBodiesCostNoMoreThanTheirSize(t *testing.T) {
	growth.Of(t, "a deep body", 64<<10, func(n int) string {
		deep := min(n/4, 9_000)
		return strings.Repeat("[", deep) + `"a"` + strings.Repeat(`,"a"`, n/4) + strings.Repeat("]", deep)
	}, func(body string) int {
		if findCard([]byte(body), nil).Path != "" {
			return 1
		}
		return 0
	})
	growth.Of(t, "a body with many numbers of documents", 64<<10, growth.Repeated(`[""`, `,"4006381333931"`, "]"), func(body string) int {
		return len(findCard([]byte(body), nil).Path)
	})
}
