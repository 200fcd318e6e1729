package arch

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// most is how many variables one assignment of the store may set from as many values, and how many values of a struct may have
// no names: two of one kind that change places compile.
const most = 3

// Rows are copied one field a line.
func TestRowsAreCopiedByName(t *testing.T) {
	seen := 0
	for _, s := range sources(t, false) {
		if s.dir != "internal/store" && !strings.HasPrefix(s.dir, "internal/store/") {
			continue
		}
		seen++
		for _, decl := range s.file.Decls {
			f, isFunction := decl.(*ast.FuncDecl)
			copies := isFunction && f.Recv != nil && (f.Name.Name == "Of" || f.Name.Name == "Into")
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					if len(n.Rhs) > 1 && (len(n.Lhs) > most || copies && n.Tok == token.ASSIGN) {
						t.Errorf("%s sets %d variables at once: write one a line", s.at(n), len(n.Lhs))
					}
				case *ast.CompositeLit:
					switch n.Type.(type) {
					case *ast.Ident, *ast.SelectorExpr:
					default:
						return true // not a struct
					}
					if _, named := first(n.Elts).(*ast.KeyValueExpr); len(n.Elts) > most && !named {
						t.Errorf("%s has %d values without names: name each", s.at(n), len(n.Elts))
					}
				}
				return true
			})
		}
	}
	if seen < 50 {
		t.Errorf("found only %d files of the store", seen)
	}
}

func first(list []ast.Expr) ast.Expr {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

var (
	tables  = regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\)`)
	columns = regexp.MustCompile(`(?m)^\s+(\w+) (?:TEXT|BIGINT|BOOLEAN|\{bytes\})`)
	word    = regexp.MustCompile(`[a-z_]+`)
	sql     = regexp.MustCompile(`\b(SELECT|FROM|WHERE|INSERT|UPDATE|DELETE|TABLE|VACUUM|SET|JOIN|OLD|CREATE)\b|\{|\$\d|::|\(`)
)

// general are words of the schema that mean something else in the engine: those of SQL's catalogs and functions, and of macros.
var general = []string{"id", "name", "value", "found", "lines"}

// The engine knows no noun: no SQL in it names a table or a column of the schema, and no name in it is made of one of the words
// that tell a payment from other rows.
func TestTheEngineNamesNoTable(t *testing.T) {
	schema, err := os.ReadFile("../store/schema/migrations/0001_baseline.expand.sql")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, table := range tables.FindAllStringSubmatch(string(schema), -1) {
		known = append(known, table[1])
		for _, column := range columns.FindAllStringSubmatch(table[2], -1) {
			known = append(known, column[1])
		}
	}
	if len(known) < 300 || !slices.Contains(known, "payments") || !slices.Contains(known, "currency_asked") {
		t.Fatalf("the schema has only the names %v", known)
	}
	known = slices.DeleteFunc(known, func(name string) bool { return slices.Contains(general, name) })
	for _, s := range sources(t, false) {
		if s.dir != "internal/store/engine" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if n.Kind != token.STRING || !sql.MatchString(n.Value) {
					return true
				}
				for _, name := range word.FindAllString(n.Value, -1) {
					if slices.Contains(known, name) {
						t.Errorf("%s names %s of the schema: %s", s.at(n), name, n.Value)
					}
				}
			case *ast.Ident:
				for _, noun := range []string{"payment", "merchant", "shop", "email", "buyer", "transfer", "wallet", "withdrawal", "settlement", "metadata"} {
					if strings.Contains(strings.ToLower(n.Name), noun) {
						t.Errorf("%s is named after a noun: %s", s.at(n), n.Name)
					}
				}
			}
			return true
		})
	}
}
