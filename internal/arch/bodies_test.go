package arch

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// edges are the packages that answer requests. docs/SECURITY.md says of each who is asked when, and what a request may cost.
var edges = []string{"internal/api", "internal/admin", "internal/checkout", "internal/dashboard", "internal/verify", "internal/evidencelink"}

// readers are the files that may touch the body of a request, and why.
var readers = map[string]string{
	"internal/web/arrive.go":      "waits for bodies",
	"internal/api/gate/bodies.go": "counts their bytes while they arrive",
	"internal/api/strict.go":      "keeps a body that has arrived",
}

// Nobody acts with rights that ended while a body was on its way, and nobody's memory is filled, if bodies are read in one place,
// before the caller is identified or with a second look afterwards: web.Arrive. Handlers get bodies that have arrived.
func TestBodiesAreReadInOnePlace(t *testing.T) {
	read := map[string]bool{}
	for _, s := range sources(t, false) {
		file := filepath.ToSlash(s.path)
		edge := slices.ContainsFunc(append([]string{"internal/web", "internal/wire", "internal/apireference", "internal/daemon"}, edges...), func(of string) bool { return strings.HasPrefix(file, of+"/") })
		if !edge {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			body, ok := n.(*ast.SelectorExpr)
			if !ok || body.Sel.Name != "Body" {
				return true
			}
			if of, named := body.X.(*ast.Ident); !named || !slices.Contains([]string{"r", "req", "request"}, of.Name) {
				return true
			}
			if read[file] = true; readers[file] == "" {
				t.Errorf("%s touches the body of a request: web.Arrive or web.Read waits for it, before the caller is identified or with a second look afterwards", s.at(n))
			}
			return true
		})
	}
	for file, why := range readers {
		if !read[file] {
			t.Errorf("%s (%s) touches no body: remove it from the list", file, why)
		}
	}
}

// Each edge has a row in the table of docs/SECURITY.md.
func TestEveryEdgeSaysWhatARequestCosts(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "## Who is asked when")
	if !found {
		t.Fatal("docs/SECURITY.md has no table of who is asked when")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	for _, edge := range edges {
		if !strings.Contains(table, "`"+edge+"`") {
			t.Errorf("the table has no row for %s", edge)
		}
	}
}
