package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTerminalOutputIsSafe(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":                     "plain\ttext\n",
		"Ação, 日本, 😀":                       "Ação, 日本, 😀",
		"\x1b]0;owned\x07":                  `\u001b]0;owned\u0007`,
		"\x1b[2K\rpaid":                     `\u001b[2K\u000dpaid`,
		"100\u202e001":                      `100\u202e001`,
		"a\u2066b\u2069c\u200fd\u061ce":     `a\u2066b\u2069c\u200fd\u061ce`,
		"\u009b31m":                         `\u009b31m`,
		"\x9b31m":                           "\ufffd31m",
		"one\u2028line\u2029":               `one\u2028line\u2029`,
		"\x7f":                              `\u007f`,
		strings.Repeat("x", 1<<13) + "\x1b": strings.Repeat("x", 1<<13) + `\u001b`,
	} {
		for _, at := range []int{len(text), 1, 2, 3} { // writes may end within a character
			var got bytes.Buffer
			w := &printable{to: &got}
			for rest := []byte(text); len(rest) > 0; {
				n, err := w.Write(rest[:min(at, len(rest))])
				if err != nil || n != min(at, len(rest)) {
					t.Fatalf("%d, %v", n, err)
				}
				rest = rest[n:]
			}
			if got.String() != want {
				t.Errorf("%q in pieces of %d is printed as %q, want %q", text, at, got.String(), want)
			}
		}
	}
	var got bytes.Buffer
	if err := json.NewEncoder(&printable{to: &got}).Encode("a\u202eb\x1bc\u009bd"); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(got.Bytes(), &back); err != nil || back != "a\u202eb\x1bc\u009bd" {
		t.Errorf("JSON is printed as %s and read as %q, %v", got.String(), back, err)
	}
}

// Commands print only through Stdout, which is safe.
func TestCommandsPrintToNoTerminalDirectly(t *testing.T) {
	direct := regexp.MustCompile(`os\.Stdout|fmt\.Print`)
	looked := 0
	for _, root := range []string{".", "../../cmd/cascada"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "terminal.go" {
				return err
			}
			looked++
			text, err := os.ReadFile(path)
			for i, line := range strings.Split(string(text), "\n") {
				if direct.MatchString(line) {
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
