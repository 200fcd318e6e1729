package frame

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// actsOf lists the constants of the audit log's acts.
func actsOf(t *testing.T) (acts []audit.Act) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../pay/audit/audit.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == "Act" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			acts = append(acts, audit.Act(text))
		}
		return true
	})
	return acts
}

// Every act of the audit log has a name in every language, and a filter offers each of them and no other.
func TestEveryActHasAName(t *testing.T) {
	acts := actsOf(t)
	if len(acts) < 60 {
		t.Fatalf("only %d acts are found", len(acts))
	}
	_, r := start(t)
	for _, lang := range merchants.Languages() {
		v := visit("/", true, lang)
		var offered []audit.Act
		for _, o := range r.Acts(v) {
			offered = append(offered, audit.Act(o.Value))
			if o.Label == "" || o.Label != r.Act(v, audit.Act(o.Value)) {
				t.Errorf("%s: the filter calls %s %q", lang, o.Value, o.Label)
			}
		}
		for _, act := range acts {
			if !slices.Contains(offered, act) {
				t.Errorf("%s has no name for %s", lang, act)
			}
		}
		if len(offered) != len(acts) {
			t.Errorf("%s: the filter offers %d acts, there are %d", lang, len(offered), len(acts))
		}
	}
}
