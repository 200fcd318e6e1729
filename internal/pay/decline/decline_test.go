package decline

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// yes is a cell of the table.
var yes = map[bool]string{true: "yes", false: "no"}

// docs/DECLINES.md has the whole vocabulary, and means the same.
func TestReasonsAreDocumented(t *testing.T) {
	content, err := os.ReadFile("../../../docs/DECLINES.md")
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "| `") && strings.Count(line, "|") == 7 {
			have = append(have, strings.TrimSpace(line))
		}
	}
	var want []string
	for _, r := range Reasons() {
		m := r.Meaning()
		code := string(m.Code)
		if code == "" {
			code = "–"
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |", r, code, m.Outcome, yes[m.Elsewhere], yes[m.Again], m.Message))
		if m.Message == "" || m.Outcome == "" {
			t.Errorf("%s means %+v", r, m)
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("docs/DECLINES.md has\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}
