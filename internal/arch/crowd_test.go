package arch

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A newcomer holds so much in his head: the files of a package, and what can be asked of a type.
const (
	packageLimit = 25 // files without tests
	methodLimit  = 25 // exported
	roomLimit    = 25 // files of end-to-end tests in a package below internal/e2e
)

// crowded are the packages and types that are still larger. Their numbers may only fall: lower
// them here with the change that does it, and take out what fits.
var crowded = map[string]int{
	"internal/pay.Payment":   52,
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

// The end-to-end tests have rooms. One that is full becomes two, or a test goes where it fits better.
func TestRoomsOfEndToEndTestsFitAHead(t *testing.T) {
	files := map[string]int{}
	for _, s := range sources(t, true) {
		if s.test && strings.HasPrefix(s.dir, "internal/e2e") {
			files[s.dir]++
		}
	}
	if len(files) < 5 {
		t.Errorf("found only the rooms %v", files)
	}
	for room, n := range files {
		if n > roomLimit {
			t.Errorf("%s has %d files of tests, %d at most", room, n, roomLimit)
		}
	}
	if files["internal/e2e"]+files["internal/e2e/harness"] > 0 {
		t.Error("internal/e2e and its harness have tests: they belong in a room")
	}
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
