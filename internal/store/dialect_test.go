package store

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// SQLite prepares a statement anew whenever it is given an argument that its plan
// looks at, and it looks at those of LIMIT.
func TestSQLitePlansByNoArgument(t *testing.T) {
	for _, text := range engine.SQLite.Texts() {
		if strings.Contains(text, "LIMIT $") {
			t.Errorf("a limit is an argument as it is: %s", text)
		}
	}
}
