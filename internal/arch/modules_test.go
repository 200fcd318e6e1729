package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A shop's program gets nothing with the client, and may be built with a Go that is some years old.
func TestTheClientRequiresNothing(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "client/go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		switch directive, _, _ := strings.Cut(strings.TrimSpace(line), " "); directive {
		case "", "//", "module", "go":
		default:
			t.Errorf("client/go.mod has the line %q: the client needs only the standard library", line)
		}
	}
	for _, s := range sources(t, true) {
		if s.dir == "client" {
			for _, path := range s.imports(t) {
				if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") && path != module+"client" {
					t.Errorf("%s imports %s: a test that needs the service is in client/e2e", s.path, path)
				}
			}
		}
	}
}
