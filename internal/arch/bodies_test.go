package arch

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// edges are the packages that answer requests. docs/SECURITY.md says of each who is asked when, and what a request may cost.
var edges = []string{"internal/api", "internal/admin", "internal/checkout", "internal/dashboard", "internal/verify", "internal/evidencelink", "internal/apireference"}

// readers are the files that may touch the body of a request, and why.
var readers = map[string]string{
	"internal/web/arrive.go":      "waits for bodies",
	"internal/api/gate/bodies.go": "counts their bytes while they arrive",
	"internal/api/call/strict.go": "keeps a body that has arrived",
	"internal/wire/wire.go":       "reads over a byte order mark while web.Arrive waits",
	"internal/admin/call/call.go": "reads a body that has arrived, for the key of a repeat",
	"internal/wire/nobody.go":     "reads a body that has arrived and that nobody wants",
}

// Nobody acts with rights that ended while a body was on its way, and nobody's memory is filled, if bodies are read in one place,
// before the caller is identified or with a second look afterwards: web.Arrive. Handlers get bodies that have arrived.
func TestBodiesAreReadInOnePlace(t *testing.T) {
	read := map[string]bool{}
	for _, s := range sources(t, false) {
		file := filepath.ToSlash(s.path)
		edge := slices.ContainsFunc(append([]string{"internal/web", "internal/wire", "internal/daemon"}, edges...), func(of string) bool { return strings.HasPrefix(file, of+"/") })
		if !edge {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			body, ok := n.(*ast.SelectorExpr)
			if !ok || body.Sel.Name != "Body" {
				return true
			}
			if of, named := body.X.(*ast.Ident); !named || !slices.Contains([]string{"r", "req", "request"}, of.Name) {
				return true
			}
			if read[file] = true; readers[file] == "" {
				t.Errorf("%s touches the body of a request: web.Arrive or web.Read waits for it, before the caller is identified or with a second look afterwards", s.at(n))
			}
			return true
		})
	}
	for file, why := range readers {
		if !read[file] {
			t.Errorf("%s (%s) touches no body: remove it from the list", file, why)
		}
	}
}

// Each edge has a row in the table of docs/SECURITY.md.
func TestEveryEdgeSaysWhatARequestCosts(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "## Who is asked when")
	if !found {
		t.Fatal("docs/SECURITY.md has no table of who is asked when")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	for _, edge := range edges {
		if !strings.Contains(table, "`"+edge+"`") {
			t.Errorf("the table has no row for %s", edge)
		}
	}
	for _, b := range bounds {
		code, err := os.ReadFile(filepath.Join(root, b.file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(code), b.code) {
			t.Errorf("%s has no %q any more: see what the table says of %q, and change this test", b.file, b.code, b.says)
		}
		if !strings.Contains(table, b.says) {
			t.Errorf("the table does not say %q: %s has %q", b.says, b.file, b.code)
		}
	}
}

// bounds are what the table says, and where the code says it.
var bounds = []struct{ says, file, code string }{
	{"30 seconds", "internal/web/web.go", "ReadTimeout:       30 * time.Second"},
	{"longer than 0.1 s", "internal/web/arrive.go", "moment = 100 * time.Millisecond"},
	{"within 5 s", "internal/web/arrive.go", "BodyWithin = 5 * time.Second"},
	{"16 KB", "internal/web/arrive.go", "SmallForm = 16 << 10"},
	{"1 MiB, within 5 s", "internal/api/call/body.go", "const MaxBody = 1 << 20"},
	{"evidence 14.3 MiB", "internal/api/claims/evidence.go", "maxEvidenceBody = int64(pay.MaxEvidenceFile+2)/3*4 + call.MaxBody"},
	{"evidence 14.3 MiB", "internal/pay/evidence.go", "MaxEvidenceFile = 10 << 20"},
	{"within 50 s", "internal/api/claims/evidence.go", "evidenceTimeout = 50 * time.Second"},
	{"by merchant, 128 MiB", "internal/api/gate/bodies.go", "strangersBodies, merchantsBodies, operatorsBodies = 32 << 20, 128 << 20, 128 << 20"},
	{"by operator, 128 MiB", "internal/api/gate/bodies.go", "32 << 20, 128 << 20, 128 << 20"},
	{"by address, 32 MiB", "internal/api/gate/bodies.go", "32 << 20, 128 << 20, 128 << 20"},
	{"at most 5 queries at once about a payout", "internal/app/payouts/notify.go", "askedOfPayout   = limit.Bucket{Every: 5 * time.Second, Burst: 5}"},
	{"100 of an account", "internal/app/payouts/notify.go", "askedOfAccount  = limit.PerSecond(10, 100)"},
	{"evidence 26 MiB, within 3 minutes", "internal/pay/evidence.go", "MaxEvidenceAtOnce = 25 << 20"},
	{"evidence 26 MiB, within 3 minutes", "internal/dashboard/claims/evidence.go", "maxBody = pay.MaxEvidenceAtOnce + 1<<20"},
	{"evidence 26 MiB, within 3 minutes", "internal/dashboard/claims/evidence.go", "bodyWithin = 3 * time.Minute"},
	{"3 answers to disputes at a time", "internal/dashboard/claims/evidence.go", "mostAnswers = 3"},
	{"1 MiB; evidence 26 MiB", "internal/dashboard/frame/site.go", "const maxForm = 1 << 20"},
	{"files 33 MiB, within 2 minutes", "internal/dashboard/console/payouts/batches.go", "maxAnswer = payouts.MostAnswer + 1<<20"},
	{"files 33 MiB, within 2 minutes", "internal/dashboard/console/payouts/batches.go", "answerWithin = 2 * time.Minute"},
	{"files 33 MiB, within 2 minutes", "internal/pay/bankfile/answer.go", "MaxSize = 32 << 20"},
	{"256 KiB, within 5 s", "internal/admin/call/api.go", "const maxBody = 256 << 10"},
}

// unmeasured are packages with a fuzz target whose parsers no test measures, and why.
var unmeasured = map[string]string{
	"internal/api/call":         measuredWhole,
	"internal/api/methods":      measuredWhole,
	"internal/api/payments":     measuredWhole,
	"internal/api/payouts":      measuredWhole,
	"internal/api/settlements":  measuredWhole,
	"internal/api/webhooks":     measuredWhole,
	"client/e2e":                "a shop's program reads what our service sends",
	"internal/bench":            "it reads replies of its own service",
	"internal/checkout":         "it draws codes that an adapter let through, which bounds them",
	"internal/daemon/masterkey": "the operator's own file of keys",
	"internal/provider/sandbox": "TestNoRequestCostsMoreThanItsSize sends what it reads",
}

// measuredWhole is why a room of the merchants' API is not measured by itself.
const measuredWhole = "TestNoRequestCostsMoreThanItsSize sends bodies and queries to every operation"

// Every parser of what comes from outside is measured: it costs no more than its input's size.
func TestEveryParserIsMeasured(t *testing.T) {
	fuzzed, measured := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t, true) {
		if !s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if strings.HasPrefix(n.Name.Name, "Fuzz") {
					fuzzed[s.dir] = true
				}
			case *ast.SelectorExpr:
				of, _ := n.X.(*ast.Ident)
				if of != nil && (of.Name == "growth" && n.Sel.Name == "Of" || of.Name == "providertest" && n.Sel.Name == "Suite") { // the suite measures notifications
					measured[s.dir] = true
				}
			}
			return true
		})
	}
	if len(fuzzed) < 20 {
		t.Fatalf("found only %d packages with fuzz targets", len(fuzzed))
	}
	for dir := range fuzzed {
		if why := unmeasured[dir]; measured[dir] == (why != "") {
			t.Errorf("%s has a fuzz target: measured %t, and the reason not to be is %q", dir, measured[dir], why)
		}
	}
}
