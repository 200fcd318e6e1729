package arch

import (
	"go/ast"
	"maps"
	"slices"
	"testing"
)

// A newcomer can remember only so much: the files of a package, and the methods of a type.
const (
	packageLimit = 25 // files without tests
	methodLimit  = 25 // exported
)

// receiver returns the name of a method's type, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	name, ok := of.(*ast.Ident)
	if !ok {
		return ""
	}
	return name.Name
}

func TestPackagesAndTypesStaySmall(t *testing.T) {
	files, methods := map[string]int{}, map[string]int{}
	for _, s := range sources(t, false) {
		files[s.dir]++
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() && receiver(f) != "" { // an unexported type counts too: others may embed it
				methods[s.dir+"."+receiver(f)]++
			}
		}
	}
	check := func(what string, counts map[string]int, limit int) {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if n := counts[name]; n > limit {
				t.Errorf("%s has %d %s, want at most %d: split it", name, n, what, limit)
			}
		}
	}
	delete(methods, "client.Client") // it has a method for each operation of the API
	check("files", files, packageLimit)
	check("exported methods", methods, methodLimit)
}
