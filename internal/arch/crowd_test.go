package arch

import (
	"go/ast"
	"maps"
	"slices"
	"testing"
)

// A newcomer holds so much in his head: the files of a package, and what can be asked of a type.
const (
	packageLimit = 25 // files without tests
	methodLimit  = 25 // exported
)

// receiver is the name of the type that a method is of, "" for a function.
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

func TestPackagesAndTypesFitAHead(t *testing.T) {
	files, methods := map[string]int{}, map[string]int{}
	for _, s := range sources(t, false) {
		files[s.dir]++
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() && receiver(f) != "" { // of a type that is not exported too: others may embed it
				methods[s.dir+"."+receiver(f)]++
			}
		}
	}
	check := func(what string, counts map[string]int, limit int) {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if n := counts[name]; n > limit {
				t.Errorf("%s has %d %s, %d at most: make it two", name, n, what, limit)
			}
		}
	}
	delete(methods, "client.Client") // a method for each operation of the API, however many there are
	check("files", files, packageLimit)
	check("exported methods", methods, methodLimit)
}
