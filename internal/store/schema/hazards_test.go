package schema

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// hazards are statements that a migration must not have, because programs beside it would fail or wait.
var hazards = []struct {
	pattern *regexp.Regexp
	expand  bool // only in expand migrations
	why     string
}{
	{regexp.MustCompile(`(?i)\bDROP (TABLE|COLUMN)|\bRENAME\b`), true, "older programs use it"},
	{regexp.MustCompile(`(?i)\bSET NOT NULL|\bALTER COLUMN \w+ TYPE|\bSET DATA TYPE`), true, "it reads or writes the whole table under a lock, and older programs may break it"},
	{regexp.MustCompile(`(?i)ADD COLUMN \w+ \w+ NOT NULL\s*(;|,|$)`), true, "older programs do not fill it in: give it a DEFAULT"},
	{regexp.MustCompile(`(?i)\bCREATE (UNIQUE )?INDEX (IF|\w)`), false, "it locks the table: say {concurrently}"},
	{regexp.MustCompile(`(?i)^\s*(UPDATE|DELETE)\b`), false, "it takes as long as the table is large: say -- again and again, with a LIMIT"},
	{regexp.MustCompile(`(?i)ADD CONSTRAINT`), false, "it reads the whole table under a lock"},
}

// hazard returns what is wrong with a migration, "" if nothing is. Nobody uses a table that it creates itself.
func (m migration) hazard() string {
	for _, statement := range m.statements() {
		for _, h := range hazards {
			if h.expand && m.contract || m.repeated && strings.Contains(h.why, "again and again") {
				continue
			}
			if h.pattern.MatchString(statement) && !ofItsOwn(m.text, statement) {
				return fmt.Sprintf("%s: %s", strings.TrimSpace(statement), h.why)
			}
		}
	}
	if m.repeated && !strings.Contains(m.text, "LIMIT") {
		return "what is done again and again needs a LIMIT"
	}
	return ""
}

var indexed = regexp.MustCompile(`(?i)CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)`)

func ofItsOwn(text, statement string) bool {
	on := indexed.FindStringSubmatch(statement)
	return on != nil && strings.Contains(text, "CREATE TABLE "+on[1]+" ")
}

// No migration stops the programs that run beside it.
func TestMigrationsStopNobody(t *testing.T) {
	list, err := Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(list[0].text, " DEFAULT ") {
		t.Errorf("%s: a column has a DEFAULT: every insert names all columns, and a default would hide one that it forgot", list[0])
	}
	good := []migration{
		{text: "ALTER TABLE payments ADD COLUMN note TEXT NOT NULL DEFAULT '';"},
		{text: "-- again and again\nUPDATE payments SET note = 'none' WHERE id IN (SELECT id FROM payments WHERE note = '' LIMIT 2)", repeated: true, aside: true},
		{text: "-- by itself\nDROP INDEX {concurrently} IF EXISTS payments_note;\nCREATE INDEX {concurrently} payments_note ON payments (note);\n", aside: true},
		{contract: true, text: "CREATE TABLE only_new (id TEXT NOT NULL PRIMARY KEY);"},
	}
	for _, m := range append(good, list[1:]...) { // nobody runs beside the first
		if why := m.hazard(); why != "" {
			t.Errorf("%s: %s", m, why)
		}
	}
	for _, bad := range []migration{
		{text: "ALTER TABLE payments DROP COLUMN doc;"}, {text: "ALTER TABLE payments RENAME TO paid;"}, {text: "ALTER TABLE payments ALTER COLUMN doc TYPE JSONB;"},
		{text: "ALTER TABLE payments ADD COLUMN x BIGINT NOT NULL;"}, {text: "CREATE INDEX a ON payments (id);"}, {contract: true, text: "CREATE UNIQUE INDEX a ON payments (id);"},
		{text: "UPDATE payments SET note = '';"}, {text: "-- again and again\nUPDATE payments SET note = ''", repeated: true, aside: true},
		{contract: true, text: "ALTER TABLE payments ADD CONSTRAINT x CHECK (id <> '');"},
	} {
		if bad.hazard() == "" {
			t.Errorf("%q passes", bad.text)
		}
	}
}
