package store

import (
	"regexp"
	"testing"

	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/schema"
)

// Triggers also refuse changes to the tables that only grow. An owner of the tables can remove them, so
// none of our statements may need that.
func TestNoStatementChangesAppendOnlyTables(t *testing.T) {
	change := regexp.MustCompile(`(?i)\b(UPDATE|DELETE\s+FROM)\s+(transfers|audit|blocks)\b`)
	emptying := regexp.MustCompile(`^DELETE FROM transfers WHERE [^;]* AND NOT live AND \$2 IN \(SELECT [^;()]* FROM resets AS [^;()]*\) RETURNING id$`) // the triggers of production stay (SBX-16)
	for _, text := range engine.Statements {
		if emptying.MatchString(text) {
			continue
		}
		if found := change.FindString(text); found != "" {
			t.Errorf("%s, in %s", found, text)
		}
	}
	for _, table := range []string{"transfers", "audit", "blocks"} {
		if !regexp.MustCompile(`\{append only ` + table + `\}`).MatchString(schema.Baseline) {
			t.Errorf("%s has no triggers that keep it append-only", table)
		}
	}
}
