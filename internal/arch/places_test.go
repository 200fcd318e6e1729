package arch

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A page that sends a reader to a file that is gone is worse than none.
func TestEveryPlaceThatIsNamedExists(t *testing.T) {
	place := regexp.MustCompile("(?:^|[\\s`(\"])((?:internal|cmd|docs|client)/[A-Za-z0-9_./*-]+)")
	named := 0
	walk(t, func(path string) error {
		if filepath.Ext(path) != ".md" || strings.Contains(path, "node_modules/") || path == "CHANGELOG.md" {
			return nil // the last tells of what was, too
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		for n, line := range strings.Split(string(text), "\n") {
			for _, found := range place.FindAllStringSubmatch(line, -1) {
				name := strings.TrimRight(found[1], "./*")
				if strings.Contains(name, "NAME") { // stands for any
					continue
				}
				named++
				if list, _ := filepath.Glob(filepath.Join(root, name)); len(list) == 0 {
					t.Errorf("%s:%d names %s, and there is no such place", path, n+1, name)
				}
			}
		}
		return err
	})
	if named < 200 {
		t.Errorf("%d places are named: does the test still find them?", named)
	}
}

// declared has the names of what each file and each package declares at its top.
func declared(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, s := range sources(t, true) {
		add := func(name string) {
			for _, where := range []string{s.path, s.dir} {
				if all[where] == nil {
					all[where] = map[string]bool{}
				}
				all[where][name] = true
			}
		}
		for _, decl := range s.file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				add(d.Name.Name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name.Name)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							add(name.Name)
						}
					}
				}
			}
		}
	}
	return all
}

// guide is the page that says what lives where.
const guide = "docs/HOUSE.md"

// The guide and the page on the design say in which file something is: each name is declared where they say.
func TestTheGuideNamesWhatIsThere(t *testing.T) {
	there := declared(t)
	inFile := regexp.MustCompile("`([A-Za-z][A-Za-z0-9]*)` in `([a-z][A-Za-z0-9_./-]*)`")
	found := 0
	for _, page := range []string{guide, "docs/ARCHITECTURE.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range inFile.FindAllStringSubmatch(string(text), -1) {
			found++
			if name, where := match[1], match[2]; filepath.Dir(where) != "." && !there[where][name] {
				t.Errorf("%s says that %s is in %s, and it is not", page, name, where)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d functions and constants are named with their file: does the test still find them?", found)
	}
}

// A newcomer finds every room in the guide.
func TestTheGuideNamesEveryRoom(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, guide))
	if err != nil {
		t.Fatal(err)
	}
	rooms, _, _ := strings.Cut(string(text), "## You want to change X")
	for _, s := range sources(t, true) {
		if !strings.Contains(rooms, "`"+s.dir+"`") {
			t.Errorf("%s has no line for %s: say what lives there", guide, s.dir)
		}
	}
}
