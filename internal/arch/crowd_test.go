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

// crowded are the packages and types that are still larger. Their numbers may only fall: lower
// them here with the change that does it, and take out what fits.
var crowded = map[string]int{
	"internal/app/base.Base": 35,
}

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
			n := counts[name]
			switch most, known := crowded[name]; {
			case known && n <= limit:
				t.Errorf("%s has %d %s and fits: take it out of the list of what is crowded", name, n, what)
			case known && n != most:
				t.Errorf("%s has %d %s, and the list of what is crowded says %d: it may only fall, and the list follows", name, n, what, most)
			case !known && n > limit:
				t.Errorf("%s has %d %s, %d at most: make it two", name, n, what, limit)
			}
		}
	}
	delete(methods, "client.Client") // a method for each operation of the API, however many there are
	check("files", files, packageLimit)
	check("exported methods", methods, methodLimit)
	for name := range crowded {
		if files[name] == 0 && methods[name] == 0 {
			t.Errorf("the list of what is crowded has %s, and there is no such thing", name)
		}
	}
}
