package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Commands print only through Stdout, which is safe. Messages for an agent are JSON, which must arrive as it is.
func TestCommandsPrintToNoTerminalDirectly(t *testing.T) {
	direct := regexp.MustCompile(`os\.Stdout|fmt\.Print`)
	looked := 0
	for _, root := range []string{".", "../../cmd/cascada", "../devcli", "../../cmd/cascada-cli"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "terminal.go" {
				return err
			}
			looked++
			text, err := os.ReadFile(path)
			for i, line := range strings.Split(string(text), "\n") {
				if direct.MatchString(strings.NewReplacer("printable.Safely(os.Stdout)", "", "var stdout = &output{to: os.Stdout}", "").Replace(line)) {
					t.Errorf("%s:%d prints to the terminal directly: %s", path, i+1, strings.TrimSpace(line))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 40 {
		t.Errorf("only %d files of commands were found", looked)
	}
}
