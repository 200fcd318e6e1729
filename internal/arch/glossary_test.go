package arch

import (
	"go/ast"
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

// avoided are names of functions and types in words for which the glossary says another one, with the packages in which the
// word has its own meaning.
var avoided = []struct {
	name *regexp.Regexp
	say  string
	own  []string
}{
	{regexp.MustCompile(`(?i)^(re|un)?seal`), "encrypt, decrypt", []string{
		"internal/seal", "internal/store", "internal/store/chain", "internal/store/check", "internal/store/empty", "internal/app", "internal/cli/books", "internal/dashboard/console/books",
	}},
	{regexp.MustCompile(`^(Rule|rule)(d?$|d?[A-Z])`), "resolve, invariant, bucket", []string{
		"internal/admin", "internal/admin/shape", // names of the published document
		"internal/pay/routing", "internal/app/routing", "internal/app/accounts", "internal/cli/routing", "internal/e2e/harness"}},
	{regexp.MustCompile(`(?i)^reconcile`), "query", []string{"internal/pay/reconcile", "internal/app/reconciliation", "internal/cli/books", "internal/dashboard/console/books", "internal/e2e/harness"}},
	{regexp.MustCompile(`(?i)^desk`), "connector, writer, pages", nil},
	{regexp.MustCompile(`(?i)^(take|told|said|heard|look|note|mine|met|given|company|room)$`), "what is done: create, apply, send, accept, lease, record, read", nil},
	{regexp.MustCompile(`(?i)^(left|kept|asked)$`), "what it is: remaining, stored, requested", []string{
		"internal/dashboard/money", "internal/dashboard/payments"}}, // words of templates
}

// The code says what the glossary says.
func TestNamesAreTheGlossarys(t *testing.T) {
	for _, s := range sources(t, false) {
		for _, decl := range s.file.Decls {
			var names []*ast.Ident
			switch d := decl.(type) {
			case *ast.FuncDecl:
				names = append(names, d.Name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if of, ok := spec.(*ast.TypeSpec); ok {
						names = append(names, of.Name)
					}
				}
			}
			for _, name := range names {
				for _, word := range avoided {
					if word.name.MatchString(name.Name) && !slices.Contains(word.own, s.dir) {
						t.Errorf("%s: %s: say %s (%s)", s.at(name), name.Name, word.say, glossary)
					}
				}
			}
		}
	}
}
