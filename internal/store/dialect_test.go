package store

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// SQLite prepares a statement again for each value of an argument that its plan
// depends on, and that includes the one of LIMIT.
func TestSQLitePlansByNoArgument(t *testing.T) {
	for _, text := range engine.SQLite.Texts() {
		if text := text(); strings.Contains(text, "LIMIT $") {
			t.Errorf("a LIMIT has a plain argument: %s", text)
		}
	}
}
