package providertest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
)

// providers is the document about the adapters.
const providers = "../../../docs/PROVIDERS.md"

// cell is the content of a rail's cell in the table: create, query, refund, notify,
// notification of refunds, cancel. A small q: only by repeating the call.
func (s Suite) cell(b *bench, rail string) string {
	cell := "C"
	if s.Blind == "" {
		cell += "Q"
	} else {
		cell += "q"
	}
	if s.Unrefundable[rail] == "" {
		cell += "R"
	}
	cell += "N"
	if s.Unrefundable[rail] == "" && s.Untold == "" {
		cell += "T"
	}
	if _, ok := b.Provider.(provider.Canceler); ok && s.Without[Canceled] == "" && s.Uncancelable[rail] == "" {
		cell += "X"
	}
	return cell
}

// table fails the test unless the adapter's column in the document agrees with what the
// suite has proven.
func (s Suite) table(t *testing.T) {
	b, told := s.connect(t), Table(t, s.Adapter.Name)
	for _, rail := range s.Adapter.Rails {
		if want := s.cell(b, rail); told[rail] != want {
			t.Errorf("%s says %q of %s at %s, want %q", providers, told[rail], rail, s.Adapter.Name, want)
		}
	}
}

// Table reads a document's table of an adapter's rails.
func Table(t *testing.T, adapter string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(providers)
	if err != nil {
		t.Fatal(err)
	}
	column, told := -1, map[string]string{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "|") { // a command may contain a bar
			column = -1
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		if cells[0] == "rail" {
			column = slices.Index(cells, adapter)
		} else if column > 0 && column < len(cells) && cells[column] != "" && !strings.HasPrefix(cells[column], "-") {
			told[cells[0]] = cells[column]
		}
	}
	return told
}
