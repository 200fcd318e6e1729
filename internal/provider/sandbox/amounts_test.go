package sandbox_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// The documents and the simulated providers have one table of test amounts (SBX-17).
func TestDocsHaveTheTableOfTestAmounts(t *testing.T) {
	text, err := os.ReadFile("../../../docs/API.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n"+sandbox.AmountTable()) {
		t.Errorf("docs/API.md does not have the table of the sandbox's test amounts:\n%s", sandbox.AmountTable())
	}
}
