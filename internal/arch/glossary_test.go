package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// glossary has the one meaning of each of our words.
const glossary = "docs/GLOSSARY.md"

// A word is in the glossary once, with a meaning, and with packages that exist.
func TestEveryWordHasOneMeaning(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, glossary))
	if err != nil {
		t.Fatal(err)
	}
	words, _, found := strings.Cut(string(text), "## Say rather")
	if !found {
		t.Fatalf("%s does not say which words to avoid", glossary)
	}
	place := regexp.MustCompile("^`([a-z/]+)`$")
	seen := map[string]bool{}
	for line := range strings.Lines(words) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || line == "| word | meaning | others say | where |" || line == "|---|---|---|---|" {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 4 || slices.Contains(cells, "") {
			t.Errorf("%s: want | word | meaning | others say | where |, got %s", glossary, line)
			continue
		}
		if seen[cells[0]] {
			t.Errorf("%s has %q twice", glossary, cells[0])
		}
		seen[cells[0]] = true
		for at := range strings.SplitSeq(cells[3], ", ") {
			dir := place.FindStringSubmatch(at)
			if dir == nil {
				t.Errorf("%s: want packages in backquotes with commas between them, got %q", glossary, cells[3])
				continue
			}
			if info, err := os.Stat(filepath.Join(root, dir[1])); err != nil || !info.IsDir() {
				t.Errorf("%s: %q lives in %s, which does not exist", glossary, cells[0], dir[1])
			}
		}
	}
	if len(seen) < 100 {
		t.Errorf("%s has %d words", glossary, len(seen))
	}
}
