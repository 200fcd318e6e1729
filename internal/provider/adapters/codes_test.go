package adapters

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

var write = flag.Bool("write", false, "write the providers' codes into docs/DECLINES.md")

// The chapter of docs/DECLINES.md that the adapters' tables make.
const (
	declines = "../../../docs/DECLINES.md"
	chapter  = "## What each provider's codes mean\n"
)

// docs/DECLINES.md has each code that an adapter knows, what it means, and where the provider lists it.
func TestProvidersCodesAreDocumented(t *testing.T) {
	content, err := os.ReadFile(declines)
	if err != nil {
		t.Fatal(err)
	}
	above, have, found := strings.Cut(string(content), chapter)
	want := codes(t)
	if *write {
		if err := os.WriteFile(declines, []byte(above+chapter+want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !found || have != want {
		t.Errorf("%s is not what the adapters' tables make; go test ./internal/provider/adapters -run Codes -write writes\n%s", declines, want)
	}
}

// codes writes the chapter.
func codes(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\nMade from the adapters' tables. A code that is not here means `declined`, and is reported to the operator.\n")
	for _, a := range All() {
		cards := slices.ContainsFunc(a.Rails, func(rail string) bool { return strings.HasPrefix(rail, "card.") })
		if cards && a.Open != nil && len(a.Declines) == 0 {
			t.Errorf("%s takes cards, and does not say what its codes of refusals mean", a.Name)
		}
		for _, list := range a.Declines {
			if list.Field == "" || list.Source == "" || len(list.Table) == 0 {
				t.Errorf("%s: codes without their field or their source: %+v", a.Name, list)
			}
			fmt.Fprintf(&b, "\n### %s: %s\n\n%s.\n\n| code | ours | elsewhere | again |\n|---|---|---|---|\n", a.Name, list.Field, list.Source)
			rows(t, &b, list)
		}
	}
	return b.String()
}

// rows writes a row for each reason of a list, in the order of the alphabet.
func rows(t *testing.T, b *strings.Builder, list provider.Codes) {
	t.Helper()
	by := map[decline.Reason][]string{}
	for code, reason := range list.Table {
		if !reason.Known() {
			t.Errorf("%s: %s means %q, which is in no vocabulary", list.Field, code, reason)
		}
		if code = "`" + code + "`"; code == "``" {
			code = "none"
		}
		by[reason] = append(by[reason], code)
	}
	yes := map[bool]string{true: "yes", false: "no"}
	for _, reason := range decline.Reasons() {
		if words := by[reason]; len(words) > 0 {
			slices.Sort(words)
			m := reason.Meaning()
			fmt.Fprintf(b, "| %s | `%s` | %s | %s |\n", strings.Join(words, " "), reason, yes[m.Elsewhere], yes[m.Again])
		}
	}
}
