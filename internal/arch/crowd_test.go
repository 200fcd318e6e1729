package arch

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A newcomer can remember only so much: the files of a package, and the methods of a type.
const (
	packageLimit = 25 // files without tests, and without reasons.go, which is a table that every package may have
	methodLimit  = 25 // exported
	roomLimit    = 25 // files of end-to-end tests in a package below internal/e2e
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
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	name, ok := of.(*ast.Ident)
	if !ok {
		return ""
	}
	return name.Name
}

// The end-to-end tests have rooms. One that is full becomes two, or a test goes where it fits better.
func TestRoomsOfEndToEndTestsStaySmall(t *testing.T) {
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

func TestPackagesAndTypesStaySmall(t *testing.T) {
	files, methods := map[string]int{}, map[string]int{}
	for _, s := range sources(t, false) {
		if !strings.HasSuffix(s.path, "/reasons.go") {
			files[s.dir]++
		}
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

// A type has one name for its receiver, made of letters of the type's name, so that a reader knows what a short name stands for.
// Tests, what they stand on and generated code are free to choose the letters.
func TestReceiversHaveOneName(t *testing.T) {
	first := map[string]string{} // receivers by type
	free := []string{"internal/view", "internal/e2e", "client"}
	for _, s := range sources(t, true) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || len(f.Recv.List[0].Names) == 0 || f.Recv.List[0].Names[0].Name == "_" {
				continue
			}
			name, of := f.Recv.List[0].Names[0].Name, s.dir+"."+s.file.Name.Name+"."+receiver(f)
			if before, known := first[of]; !known {
				first[of] = name
			} else if name != before {
				t.Errorf("%s: the receiver of %s is %s here and %s elsewhere", s.at(f), of, name, before)
			}
			if !strings.HasSuffix(s.path, "_test.go") && !below(s.dir, free) && !isShort(name, receiver(f)) {
				t.Errorf("%s: the receiver of %s is %s: want letters of its name, in their order, from the beginning of a word", s.at(f), of, name)
			}
		}
	}
}

// isShort reports whether short has letters of a name in their order, and begins as one of its words does.
func isShort(short, name string) bool {
	rest := strings.ToLower(name)
	for _, letter := range strings.ToLower(short) {
		_, after, found := strings.Cut(rest, string(letter))
		if !found {
			return false
		}
		rest = after
	}
	for at, letter := range name {
		if (at == 0 || unicode.IsUpper(letter)) && strings.EqualFold(string(letter), short[:1]) {
			return true
		}
	}
	return false
}

// A name does not repeat that of its package, which its readers see before it: payments.New, claims.Table.
func TestNamesDoNotRepeatTheirPackage(t *testing.T) {
	for _, s := range sources(t, false) {
		of := s.file.Name.Name
		var names []*ast.Ident
		functions := map[*ast.Ident]bool{}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names = append(names, d.Name)
					functions[d.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						names = append(names, spec.Name)
					case *ast.ValueSpec:
						names = append(names, spec.Names...)
					}
				}
			}
		}
		for _, name := range names {
			low := strings.ToLower(name.Name)
			for _, own := range []string{of, strings.TrimSuffix(of, "s")} {
				repeats := functions[name] && low == "new"+of
				for _, kind := range []string{"table", "duty", "config", "document", "outcome"} {
					repeats = repeats || low == own+kind
				}
				if repeats && name.IsExported() {
					t.Errorf("%s: %s.%s repeats its package's name", s.at(name), of, name.Name)
					break
				}
			}
		}
	}
}
