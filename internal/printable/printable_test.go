package printable

import (
	"bytes"
	"encoding/json"
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
			w := Safely(&got)
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
	if err := json.NewEncoder(Safely(&got)).Encode("a\u202eb\x1bc\u009bd"); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(got.Bytes(), &back); err != nil || back != "a\u202eb\x1bc\u009bd" {
		t.Errorf("JSON is printed as %s and read as %q, %v", got.String(), back, err)
	}
}
