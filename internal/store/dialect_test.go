package store

import (
	"strings"
	"testing"
)

// SQLite prepares a statement anew whenever it is given an argument that its plan
// looks at, and it looks at those of LIMIT.
func TestSQLitePlansByNoArgument(t *testing.T) {
	for _, text := range sqliteTexts() {
		if strings.Contains(text, "LIMIT $") {
			t.Errorf("a limit is an argument as it is: %s", text)
		}
	}
}
