package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/cascadapay/cascada/"
)

// allowed lists what each package may import of our own. The direction is
// money → ledger → pay → {store, provider, webhook, vault} → view → app → {web,
// api} → daemon → cmd; what is to the right of a package it may not know.
var allowed = map[string]string{
	"internal/money":            "",
	"internal/ledger":           "money",
	"internal/geo":              "money",
	"internal/fx":               "money",
	"internal/id":               "",
	"internal/vault":            "",
	"internal/webhook":          "",
	"internal/work":             "",
	"internal/web":              "",
	"internal/arch":             "",
	"internal/e2e":              "",
	"internal/dbtest":           "",
	"internal/pay":              "money ledger",
	"internal/catalog":          "money pay",
	"internal/provider":         "money pay",
	"internal/provider/sandbox": "money pay provider",
	"internal/store":            "money ledger pay",
	"internal/view":             "money ledger pay",
	"internal/app":              "money ledger pay geo fx id catalog vault provider provider/sandbox store webhook view work",
	"internal/api":              "money ledger pay geo id store view app web",
	"internal/daemon":           "id vault provider provider/sandbox webhook app web api",
	"internal/bench":            "webhook client",
	"client":                    "",
	"cmd/cascada":               "pay app daemon bench",
}

// source is one file of ours that is not a test.
type source struct {
	path string // from the root of the repository
	dir  string
	file *ast.File
	set  *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	var list []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		list = append(list, source{rel, filepath.Dir(rel), file, set})
		return err
	})
	if err != nil || len(list) < 50 {
		t.Fatalf("found %d files: %v", len(list), err)
	}
	return list
}

func imports(s source) []string {
	var list []string
	for _, i := range s.file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err == nil {
			list = append(list, path)
		}
	}
	return list
}

func TestImportsGoOneWay(t *testing.T) {
	for _, s := range sources(t) {
		may, known := allowed[s.dir]
		if !known {
			t.Errorf("%s: package %s has no line in the table: say there what it may import", s.path, s.dir)
			continue
		}
		for _, path := range imports(s) {
			own, ours := strings.CutPrefix(path, module)
			if ours && !slices.Contains(strings.Fields(may), strings.TrimPrefix(own, "internal/")) {
				t.Errorf("%s imports %s: %s may import only [%s], or the layers would grow into each other", s.path, own, s.dir, may)
			}
		}
	}
}

// core is pure, so that every rule of payments can be tested with values.
func TestCoreIsPure(t *testing.T) {
	forbidden := []string{"context", "database/sql", "net/http", "os", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "io"}
	for _, s := range sources(t) {
		if !slices.Contains([]string{"internal/money", "internal/ledger", "internal/pay"}, s.dir) {
			continue
		}
		for _, path := range imports(s) {
			if slices.Contains(forbidden, path) {
				t.Errorf("%s imports %s: deciding takes values and returns values; I/O is the app's", s.path, path)
			}
		}
		if where := clock(s); where != "" {
			t.Errorf("%s asks for the time: the caller hands it in", where)
		}
	}
}

// The clock is handed in, so that a test can move it.
func TestOnlyTheEdgesAskForTheTime(t *testing.T) {
	edges := map[string]string{
		"internal/daemon": "hands the clock to everybody else",
		"internal/bench":  "measures",
		"internal/dbtest": "waits for a server",
		"internal/work":   "sleeps between looks",
		"client":          "runs in somebody else's program",
	}
	for _, s := range sources(t) {
		if _, edge := edges[s.dir]; edge {
			continue
		}
		if where := clock(s); where != "" {
			t.Errorf("%s asks for the time; only %v may", where, edges)
		}
	}
}

// clock returns where a file calls time.Now, time.Since or time.Until.
func clock(s source) (where string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains([]string{"Now", "Since", "Until"}, selector.Sel.Name) {
			where = s.path + ":" + strconv.Itoa(s.set.Position(call.Pos()).Line)
		}
		return true
	})
	return where
}

func TestEverythingExportedSaysWhatItIs(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		documented[s.dir] = documented[s.dir] || s.file.Doc != nil
		for _, decl := range s.file.Decls {
			for _, name := range undocumented(decl) {
				t.Errorf("%s: %s is exported and has no comment", s.path, name)
			}
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s does not say what it is for", dir)
		}
	}
}

func undocumented(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && !hidden(d) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch v := spec.(type) {
			case *ast.TypeSpec:
				if d.Doc == nil && v.Doc == nil && v.Name.IsExported() {
					names = append(names, v.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range v.Names {
					if d.Doc == nil && v.Doc == nil && v.Comment == nil && n.IsExported() {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// hidden reports whether a method is of an unexported type, or implements an
// interface of the standard library whose contract everybody knows.
func hidden(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	kind := d.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	if of, ok := kind.(*ast.IndexExpr); ok {
		kind = of.X
	}
	name, ok := kind.(*ast.Ident)
	return ok && !name.IsExported() || slices.Contains([]string{"Error", "Unwrap", "String", "Run"}, d.Name.Name)
}

func TestFilesAndFunctionsFitAReader(t *testing.T) {
	for _, s := range sources(t) {
		if lines := s.set.Position(s.file.End()).Line; lines > 500 {
			t.Errorf("%s has %d lines: a file is one noun, of 500 lines at most", s.path, lines)
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if lines := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line; lines > 70 {
				t.Errorf("%s: %s has %d lines: a function fits a screen, 70 at most", s.path, f.Name.Name, lines)
			}
		}
	}
}

// What is written here must be true on every machine.
func TestNoPathOfOneMachine(t *testing.T) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && slices.Contains([]string{".git", "bin"}, d.Name()) {
				return filepath.SkipDir
			}
			return err
		}
		if !slices.Contains([]string{".go", ".md", ".sh", ".sql", ".mod", ""}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, home := range []string{"/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/"} {
			if strings.Contains(string(text), home) {
				t.Errorf("%s names %s", path, home)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
