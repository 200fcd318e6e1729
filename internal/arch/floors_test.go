package arch

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// payFloors are the files of internal/pay from the ground up: each calls itself and those before it, so that who follows a decision
// walks down and never back. Put what two files need of each other into the lower one.
var payFloors = []struct{ file, is string }{
	{"reasons", "why something is refused"},
	{"attempt", "calls to providers, their outcomes and what these prove"},
	{"payment", "the payment, its price and its place in the books"},
	{"change", "what one decision writes: events and notices as they are kept, and what can be kept of them"},
	{"claim", "the claim, its dispute and its evidence as values"},
	{"completion", "how a payment ends, and when it is looked at"},
	{"stray", "money beyond the payment's"},
	{"dispute", "what disputes hold and take; the docket of a payment with its claims"},
	{"refund", "what refunds give back; how claims end"},
	{"cascade", "which attempt follows an outcome"},
	{"contest", "which claim a dispute's notice is about; news that was held back"},
	{"refundcall", "which claim a refund's answer or a list of refunds is about"},
	{"notice", "whom a provider's answer or notice is about; another try after one"},
	{"ending", "what queries after the end, the shop, a shopper who calls off, and the operator decide"},
	{"checkout", "what shoppers choose in: sessions and payment links"},
	{"evidence", "evidence on its way to the provider"},
	{"erasure", "personal data that goes"},
	{"wallet", "where a merchant's money goes"},
	{"adjustment", "balances that the operator adjusts"},
	{"movement", "a balance, line by line"},
	{"settlement", "what is settled, and reserves"},
	{"withdrawal", "money on its way to a wallet"},
	{"payoutcontrol", "limits and floats of payouts"},
	{"coverage", "which settlements a withdrawal pays"},
	{"payout", "what an account's answers and notices about a payout are applied to"},
	{"recovery", "what was found at providers after a restore"},
}

func TestTheCoreCallsDownwards(t *testing.T) {
	const dir = "internal/pay"
	floor := map[string]int{}
	for i, f := range payFloors {
		floor[f.file] = i
	}
	sources := newBySource(t)
	files := sources.parse(dir)
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pay, err := sources.check(module+dir, files, info)
	if err != nil {
		t.Fatal(err)
	}
	name := func(p token.Pos) string {
		return strings.TrimSuffix(filepath.Base(sources.fset.Position(p).Filename), ".go")
	}
	calls := 0
	for _, f := range files {
		from := name(f.Package)
		at, listed := floor[from]
		if !listed {
			t.Errorf("%s/%s.go has no floor: name it in payFloors", dir, from)
			continue
		}
		delete(floor, from)
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			called, ok := info.Uses[id].(*types.Func)
			if !ok || called.Pkg() != pay {
				return true
			}
			calls++
			for _, above := range payFloors[at+1:] {
				if above.file == name(called.Pos()) {
					t.Errorf("%s: %s is in %s.go, which is above %s.go: %s", sources.fset.Position(id.Pos()), id.Name, above.file, from, above.is)
				}
			}
			return true
		})
	}
	for file := range floor {
		t.Errorf("%s/%s.go is gone: take its floor away", dir, file)
	}
	if calls < 1000 {
		t.Errorf("%d calls were found: does the test still see them?", calls)
	}
}

// bySource imports our own packages from their files. Only the declarations of imported ones are read.
type bySource struct {
	fset  *token.FileSet
	std   types.Importer
	known map[string]*types.Package
}

func newBySource(t *testing.T) *bySource {
	goroot, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output() // -trimpath takes it out of the test
	if err != nil {
		t.Fatal(err)
	}
	build.Default.GOROOT = strings.TrimSpace(string(goroot))
	fset := token.NewFileSet()
	return &bySource{fset, importer.ForCompiler(fset, "source", nil), map[string]*types.Package{}}
}

func (s *bySource) Import(path string) (*types.Package, error) {
	dir, ours := strings.CutPrefix(path, module)
	if !ours {
		return s.std.Import(path)
	}
	if s.known[path] == nil {
		pkg, err := s.check(path, s.parse(dir), nil)
		if err != nil {
			return nil, err
		}
		s.known[path] = pkg
	}
	return s.known[path], nil
}

func (s *bySource) parse(dir string) (files []*ast.File) {
	list, _ := filepath.Glob(filepath.Join(root, dir, "*.go"))
	for _, path := range list {
		if f, err := parser.ParseFile(s.fset, path, nil, parser.SkipObjectResolution); err == nil && !strings.HasSuffix(path, "_test.go") {
			files = append(files, f)
		}
	}
	return files
}

func (s *bySource) check(path string, files []*ast.File, info *types.Info) (*types.Package, error) {
	return (&types.Config{Importer: s, IgnoreFuncBodies: info == nil}).Check(path, s.fset, files, info)
}

// A payment, a refund and a withdrawal are made without a thought of restores: whether a provider has one of before is looked up in
// one step of theirs, which is in regain.go.
func TestRestoresAreBehindOneDoor(t *testing.T) {
	doors := 0
	for _, s := range sources(t, false) {
		if !slices.Contains([]string{"internal/app/payments", "internal/app/cascade", "internal/app/claims", "internal/app/payouts"}, s.dir) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || !strings.HasPrefix(id.Name, "Found") {
				return true
			}
			if doors++; filepath.Base(s.path) != "regain.go" {
				t.Errorf("%s names %s, which is about a restore: only regain.go does", s.path, id.Name)
			}
			return true
		})
	}
	if doors < 10 {
		t.Errorf("%d names of what was found after a restore: does the test still see them?", doors)
	}
}
