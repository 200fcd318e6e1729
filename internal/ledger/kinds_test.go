package ledger

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// What is made from Kinds (movements, settlements) misses nothing.
func TestEveryKindIsListed(t *testing.T) {
	set := token.NewFileSet()
	var declared []Kind
	for _, name := range []string{"ledger.go", "kinds.go"} {
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if of, ok := v.Type.(*ast.Ident); !ok || of.Name != "Kind" {
				return true
			}
			for _, value := range v.Values {
				text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, Kind(text))
			}
			return true
		})
	}
	listed := Kinds()
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) {
		t.Errorf("Kinds lists %v, the constants are %v", listed, declared)
	}
}
