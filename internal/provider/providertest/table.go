package providertest

import (
	"os"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
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

// table fails the test unless the document agrees with what the suite has proven: the adapter's column of rails, and its row of
// versions.
func (s Suite) table(t *testing.T) {
	b, told := s.connect(t), Table(t, s.Adapter.Name)
	Sources(t, s.Adapter.Name, b.Fake)
	for _, rail := range s.Adapter.Rails {
		if want := s.cell(b, rail); told[rail] != want {
			t.Errorf("%s says %q of %s at %s, want %q", providers, told[rail], rail, s.Adapter.Name, want)
		}
	}
}

// Table reads the document's table of an adapter's rails.
func Table(t *testing.T, adapter string) map[string]string {
	t.Helper()
	told := map[string]string{}
	for rail, row := range Rows(t, "rail") {
		if cell := row[adapter]; cell != "" && !strings.HasPrefix(cell, "-") {
			told[rail] = cell
		}
	}
	return told
}

// Rows reads those of the document's tables whose first column is called first: each row by its first cell, its cells by
// the name of their column.
func Rows(t *testing.T, first string) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile(providers)
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	rows := map[string]map[string]string{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "|") { // a command may contain a bar
			columns = nil
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		name := strings.Trim(cells[0], "`")
		switch {
		case columns == nil:
			columns = cells
		case columns[0] == first && strings.Trim(name, "-") != "":
			rows[name] = map[string]string{}
			for i := 1; i < len(cells) && i < len(columns); i++ {
				rows[name][columns[i]] = cells[i]
			}
		}
	}
	return rows
}

// Sources fails the test unless the document's table of versions names, in an adapter's row, the version and the date of
// each document that its fake is held to.
func Sources(t *testing.T, adapter string, fake any) {
	t.Helper()
	p, ok := fake.(published.Publisher)
	if !ok {
		return
	}
	told := Rows(t, "adapter")[adapter]["typed from (version, date)"]
	for _, d := range p.Published().Documents {
		if !strings.Contains(told, d.Version) || !strings.Contains(told, d.Date) {
			t.Errorf("%s does not say that %s is held to %s (%s, %s)", providers, adapter, d.Name, d.Version, d.Date)
		}
	}
}
