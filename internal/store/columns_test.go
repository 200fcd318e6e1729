package store

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// A table's columns are listed only in its description: a new column is added in one place. So no statement is written out
// that inserts rows of it, and none that names many of its columns. A statement may choose a few, in whatever order.
func TestColumnsAreNamedOnce(t *testing.T) {
	const few = 5 // a statement may name that many columns in sequence
	made := regexp.MustCompile(`^INSERT INTO (\w+) \(([^)]+)\) SELECT r\.`)
	alias := regexp.MustCompile(`\b\w\.(\w)`)
	space := regexp.MustCompile(`\s+`)
	inserts := regexp.MustCompile(`INSERT INTO (\w+)`)
	described := map[string]bool{}
	runs := map[string]string{} // sequences of columns, and their tables
	for _, text := range engine.Statements {
		found := made.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		described[found[1]] = true
		names := strings.Split(found[2], ", ")
		for i := range len(names) - few {
			runs[strings.Join(names[i:i+few+1], ", ")] = found[1]
		}
	}
	if len(runs) < 200 {
		t.Fatalf("only %d sequences of columns are known", len(runs))
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob("*/*.go")
	if err != nil || len(below) < 50 {
		t.Fatalf("found only %d files below: %v", len(below), err)
	}
	files = append(files, below...)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				return true
			}
			words := space.ReplaceAllString(alias.ReplaceAllString(text.Value, "$1"), " ")
			if into := inserts.FindStringSubmatch(words); into != nil && described[into[1]] {
				t.Errorf("%s inserts into %s: make it of its description, such as by InsertOf", set.Position(text.Pos()), into[1])
			}
			for run, table := range runs {
				if strings.Contains(words, run) {
					t.Errorf("%s repeats columns of %s: take them from its description", set.Position(text.Pos()), table)
					break
				}
			}
			return true
		})
	}
}
