package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/cascadapay/cascada/"
	// fileLimit and functionLimit are in lines: a function fits on a screen, and a file is about one noun.
	fileLimit     = 500
	functionLimit = 70
)

// dependencies lists where each third-party module may be imported, so
// that replacing it stays a change of one package.
var dependencies = map[string]string{
	"code.dny.dev/ssrf":                     "internal/app/webhooks/sender",
	"codeberg.org/go-pdf/fpdf":              "internal/statement internal/provider/paper internal/statement/typeface",
	"filippo.io/age":                        "internal/backup internal/cli/books",
	"github.com/KimMachineGun/automemlimit": "internal/daemon",
	"github.com/alecthomas/kong":            "cmd/cascada cmd/cascada-cli internal/cli internal/cli/settings internal/cli/shell",
	"github.com/danielgtaylor/huma":         "internal/api internal/api/auth internal/api/call internal/api/calltest internal/api/claims internal/api/merchants internal/api/methods internal/api/openapi internal/api/payments internal/api/payouts internal/api/sandbox internal/api/settlements internal/api/verification internal/api/webhooks internal/admin internal/admin/accounts internal/admin/books internal/admin/call internal/admin/claims internal/admin/merchants internal/admin/payments internal/admin/payouts internal/admin/people internal/admin/settlements internal/view internal/wire",
	"github.com/go-json-experiment/json":    "internal/wire",
	"github.com/golang-jwt/jwt":             "internal/app/auth",
	"github.com/emersion/go-sasl":           "internal/mail internal/mail/mailtest",
	"github.com/emersion/go-smtp":           "internal/mail internal/mail/mailtest",
	"golang.org/x/net":                      "internal/mail",
	"github.com/klauspost/compress":         "internal/store/packed",
	"github.com/jackc/pgx":                  "internal/store/engine internal/dbtest internal/e2e/harness cmd/cascada",
	"github.com/prometheus/client_golang":   "internal/daemon",
	"go.opentelemetry.io/otel":              "internal/trace",
	"go.opentelemetry.io/proto/slim/otlp":   "internal/trace",
	"google.golang.org/protobuf":            "internal/trace",
	"github.com/alexedwards/argon2id":       "internal/app/people",
	"github.com/pquerna/otp":                "internal/app/people",
	"github.com/go-webauthn/webauthn":       "internal/app/people",
	"github.com/coreos/go-oidc":             "internal/identity",
	"golang.org/x/oauth2":                   "internal/identity",
	"github.com/chromedp":                   "internal/e2e/harness",
	"github.com/boombuler/barcode":          "internal/checkout",
	"go.yaml.in/yaml":                       "internal/pay/plans/planfile internal/pay/routing/rulefile internal/cli/settings/file internal/devcli internal/yamlfile internal/e2e/recompute",
	"github.com/agnivade/levenshtein":       "internal/cli/settings/file internal/near",
	"github.com/coreos/go-systemd":          "cmd/cascada",
	"github.com/go-text/typesetting":        "internal/statement/typeface",
	"github.com/hashicorp/golang-lru":       "internal/app/base internal/app/auth internal/dashboard/frame",
	"golang.org/x/crypto":                   "cmd/cascada internal/pay/destination",
	"golang.org/x/image":                    "internal/statement/typeface",
	"golang.org/x/sys":                      "internal/bench/growth",
	"golang.org/x/sync":                     "internal/store internal/app/base internal/app/webhooks internal/app/payouts internal/app/people internal/api/claims internal/daemon internal/identity internal/work",
	"golang.org/x/term":                     "internal/devcli",
	"golang.org/x/text":                     "internal/checkout internal/pay/bankfile internal/document internal/dashboard/frame internal/statement/pdftest internal/pay/reconcile internal/statement/typeface internal/wire",
	"github.com/gomodule/redigo":            "internal/limit",
	"github.com/google/jsonschema-go":       "internal/devcli/mcp",
	"github.com/modelcontextprotocol":       "internal/devcli/mcp",
	"github.com/santhosh-tekuri/jsonschema": "internal/e2e/harness",
	"modernc.org/sqlite":                    "internal/store/engine",
	"github.com/yuin/goldmark":              "internal/guide",
	"rsc.io/qr":                             "internal/checkout internal/dashboard/account",
}

// core lists the packages that decide.
var core = []string{
	"internal/money", "internal/ledger", "internal/pay", "internal/pay/problem", "internal/pay/merchants", "internal/pay/analytics", "internal/pay/people",
	"internal/pay/evidence", "internal/pay/lists", "internal/pay/receipt", "internal/pay/comparison", "internal/pay/mails", "internal/pay/rates", "internal/pay/audit",
	"internal/pay/accounts", "internal/pay/webhooks", "internal/pay/installment", "internal/pay/routing", "internal/pay/routing/replay",
}

// clocks lists the packages that may read the time. All others get it from their caller,
// so that a test can set it.
var clocks = map[string]string{
	"internal/daemon":              "hands the clock to everybody else, and times requests",
	"internal/app/webhooks/sender": "has the system's clock as its default",
	"internal/web":                 "gives who reads a long reply time",
	"internal/bench":               "measures",
	"internal/devcli":              "runs at a developer's machine, and signs and waits by its clock",
	"internal/provider/drill":      "plays a provider whose clock is the real one",
	"internal/store":               "knows the database's clock between two looks at it",
	"internal/store/check":         "counts how long a check takes",
	"internal/store/schema":        "waits for older programs, and counts how long a migration took",
	"internal/e2e/harness":         "is the clock that tests move",
	"internal/limit":               "knows how long a connection of Redis was idle",
	"internal/store/engine":        "asks a server again after a while, and counts how long who waited",
	"client":                       "runs in somebody else's program",
}

// long lists functions that may be longer than functionLimit, each with the
// reason. It is empty, and should stay so.
var long = map[string]string{}

// source is one file of ours.
type source struct {
	path string // from the root of the repository
	dir  string
	test bool
	file *ast.File
	set  *token.FileSet
}

func (s source) lines(n ast.Node) int {
	return s.set.Position(n.End()).Line - s.set.Position(n.Pos()).Line + 1
}

// at returns the position of a node, for a failure.
func (s source) at(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.set.Position(n.Pos()).Line)
}

// imports lists the paths that a file imports.
func (s source) imports(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, i := range s.file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, path)
	}
	return list
}

// walk calls do for every file of the repository, by its path from the root.
func walk(t *testing.T, do func(path string) error) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "artifacts"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == ".git" { // a worktree has a file with that name
			return err
		}
		return do(filepath.ToSlash(rel))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sources parses the Go files of the repository.
func sources(t *testing.T, tests bool) []source {
	t.Helper()
	var list []source
	walk(t, func(path string) error {
		test := strings.HasSuffix(path, "_test.go")
		if !strings.HasSuffix(path, ".go") || test && !tests || strings.HasPrefix(path, "spec/oapi/") || strings.HasPrefix(path, "conform/") || strings.HasPrefix(path, "package/") || strings.HasPrefix(path, "client/admin/") { // modules of their own
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(root, path), nil, parser.ParseComments)
		list = append(list, source{path, filepath.ToSlash(filepath.Dir(path)), test, file, set})
		return err
	})
	if len(list) < 50 {
		t.Fatalf("found only %d files", len(list))
	}
	return list
}

func TestImportsGoOneWay(t *testing.T) {
	found := map[string]bool{}
	used := map[string][]string{} // what the files of each package import of ours
	for _, s := range sources(t, false) {
		found[s.dir] = true
		of, known := layers[s.dir]
		if !known {
			t.Errorf("%s: package %s has no line in layers: add one that says what it may import, and why no more", s.path, s.dir)
			continue
		}
		for _, path := range s.imports(t) {
			own, ours := strings.CutPrefix(path, module)
			if ours {
				used[s.dir] = append(used[s.dir], strings.TrimPrefix(own, "internal/"))
			}
			if ours && !of.allows(strings.TrimPrefix(own, "internal/")) {
				t.Errorf("%s imports %s, which %s must not: %s. It may import [%s]", s.path, own, s.dir, of.because, of.may)
			}
		}
	}
	for dir, of := range layers {
		if !found[dir] {
			t.Errorf("layers has a line for %s, which does not exist", dir)
		}
		for _, name := range strings.Fields(of.may) {
			if !slices.ContainsFunc(used[dir], layer{may: name}.allows) {
				t.Errorf("layers lets %s import %s, and it does not", dir, name)
			}
		}
	}
}

// Every use case has the store in a field that others could reach: a page or a command asks the use case.
func TestOnlyUseCasesReachTheStore(t *testing.T) {
	for _, s := range sources(t, false) {
		mayAsk := strings.Contains(layers[s.dir].may, "app")
		if !mayAsk || s.dir == "internal/app" || strings.HasPrefix(s.dir, "internal/app/") || strings.HasPrefix(s.dir, "internal/e2e/") {
			continue
		}
		called := map[ast.Expr]bool{} // atomics have a method Store
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				called[call.Fun] = true
			}
			if of, ok := n.(*ast.SelectorExpr); ok && of.Sel.Name == "Store" && !called[of] {
				t.Errorf("%s reaches the store past the use cases: give the use case a method", s.at(n))
			}
			return true
		})
	}
}

func TestDependenciesStayInTheirPackage(t *testing.T) {
	used := map[string]bool{} // by dependency and package
	for _, s := range sources(t, false) {
		for _, path := range s.imports(t) {
			first, _, _ := strings.Cut(path, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(path+"/", module) {
				continue // the standard library's, or ours
			}
			if slices.Contains(core, s.dir) {
				t.Errorf("%s imports %s: the core has no dependencies", s.path, path)
			}
			name, known := "", false
			for dependency := range dependencies {
				if path == dependency || strings.HasPrefix(path, dependency+"/") {
					name, known = dependency, true
				}
			}
			used[name+" "+s.dir] = true
			if !known {
				t.Errorf("%s imports %s: a new dependency needs a reason, and a line in dependencies", s.path, path)
			} else if !slices.Contains(strings.Fields(dependencies[name]), s.dir) {
				t.Errorf("%s imports %s, which only [%s] may: replacing it must stay a small change", s.path, path, dependencies[name])
			}
		}
	}
	for dependency, packages := range dependencies {
		for dir := range strings.FieldsSeq(packages) {
			if !used[dependency+" "+dir] {
				t.Errorf("dependencies lets %s import %s, and it does not", dir, dependency)
			}
		}
	}
}

func TestCoreIsPure(t *testing.T) {
	forbidden := []string{
		"context", "database/sql", "net/http", "os", "io", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand",
	}
	for _, s := range sources(t, false) {
		if !slices.Contains(core, s.dir) {
			continue
		}
		for _, path := range s.imports(t) {
			if slices.Contains(forbidden, path) {
				t.Errorf("%s imports %s: the core takes values and returns values; I/O, randomness and logs belong to the app", s.path, path)
			}
		}
		for _, where := range asksTheTime(s) {
			t.Errorf("%s reads the time: take it from the caller", where)
		}
	}
}

func TestOnlyTheEdgesReadTheTime(t *testing.T) {
	asked := map[string]bool{}
	for _, s := range sources(t, false) {
		places := asksTheTime(s)
		asked[s.dir] = asked[s.dir] || len(places) > 0
		if _, may := clocks[s.dir]; may {
			continue
		}
		for _, where := range places {
			t.Errorf("%s reads the time: take it from the caller, so that a test can set it", where)
		}
	}
	for dir := range clocks {
		if !asked[dir] {
			t.Errorf("clocks has a line for %s, which does not read the time", dir)
		}
	}
}

// asksTheTime lists where a file uses time.Now, time.Since or time.Until,
// as a call or as a value.
func asksTheTime(s source) (places []string) {
	name := ""
	for _, i := range s.file.Imports {
		if i.Path.Value == `"time"` {
			name = "time"
			if i.Name != nil {
				name = i.Name.Name
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := selector.X.(*ast.Ident)
		if ok && name != "" && of.Name == name && slices.Contains([]string{"Now", "Since", "Until"}, selector.Sel.Name) {
			places = append(places, s.at(n))
		}
		return true
	})
	return places
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	docs := map[string]string{}
	for _, s := range sources(t, false) {
		docs[s.dir] += s.file.Doc.Text()
	}
	for dir, doc := range docs {
		kind := "Package "
		if strings.HasPrefix(dir, "cmd/") {
			kind = "Command "
		}
		said, named := strings.CutPrefix(doc, kind+filepath.Base(dir)+" ")
		if !named || len(strings.Fields(said)) < 8 {
			t.Errorf("%s: want a comment %q that says what it is for and what it is not, got %q", dir, kind+filepath.Base(dir)+" …", doc)
		}
	}
}

func TestEverythingExportedSaysWhatItIs(t *testing.T) {
	for _, s := range sources(t, false) {
		for _, decl := range s.file.Decls {
			for _, name := range undocumented(decl) {
				t.Errorf("%s: %s is exported and has no comment", s.at(name), name.Name)
			}
		}
	}
}

func undocumented(decl ast.Decl) (names []*ast.Ident) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && !hidden(d) {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch v := spec.(type) {
			case *ast.TypeSpec:
				if d.Doc == nil && v.Doc == nil && v.Name.IsExported() {
					names = append(names, v.Name)
				}
			case *ast.ValueSpec:
				for _, n := range v.Names {
					if d.Doc == nil && v.Doc == nil && v.Comment == nil && n.IsExported() {
						names = append(names, n)
					}
				}
			}
		}
	}
	return names
}

// hidden reports whether a method belongs to an unexported type, or implements a well-known
// interface.
func hidden(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	kind := d.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	switch of := kind.(type) {
	case *ast.IndexExpr:
		kind = of.X
	case *ast.IndexListExpr:
		kind = of.X
	}
	name, ok := kind.(*ast.Ident)
	return ok && !name.IsExported() || slices.Contains([]string{"Error", "Unwrap", "String", "Run"}, d.Name.Name)
}

func TestFilesAndFunctionsStayShort(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t, true) {
		if lines := s.set.File(s.file.Pos()).LineCount(); lines > fileLimit && !ast.IsGenerated(s.file) {
			t.Errorf("%s has %d lines: a file is about one noun, with at most %d lines", s.path, lines, fileLimit)
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || s.test || ast.IsGenerated(s.file) { // a test tells one story
				continue
			}
			name := s.dir + "." + f.Name.Name
			seen[name] = true
			if lines := s.lines(f); lines > functionLimit && long[name] == "" {
				t.Errorf("%s: %s has %d lines: a function fits on a screen, with at most %d lines", s.at(f), f.Name.Name, lines, functionLimit)
			}
		}
	}
	for name := range long {
		if !seen[name] {
			t.Errorf("long has a line for %s, which does not exist", name)
		}
	}
}

// The texts here must be true on every machine, and the code must build on every machine.
func TestNothingNamesOneMachine(t *testing.T) {
	home := regexp.MustCompile(`(?:^|file://|[^\w./-])/(?:work|root|home|Users)/`)
	hosts := []string{"artifactory", "jfrog", "verdaccio", "codeartifact", "sonatype", "nexus3"}
	hosts = append(hosts, privateProxies(t)...)
	walk(t, func(path string) error {
		if path == "internal/arch/arch_test.go" || path == ".git" { // the second is the file of a worktree
			return nil // the first contains all of these names
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			return err // not a text file
		}
		for n, line := range strings.Split(string(text), "\n") {
			if home.MatchString(line) {
				t.Errorf("%s:%d names a directory of one machine: %s", path, n+1, line)
			}
			for _, host := range hosts {
				if strings.Contains(strings.ToLower(line), host) {
					t.Errorf("%s:%d names a private registry (%s)", path, n+1, host)
				}
			}
			if path == "go.mod" && strings.HasPrefix(line, "replace") {
				t.Errorf("go.mod:%d replaces a module: others build without our copy of it: %s", n+1, line)
			}
		}
		return nil
	})
}

// privateProxies lists the hosts from which this machine gets modules, other than
// the public ones.
func privateProxies(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, address := range strings.FieldsFunc(strings.TrimSpace(string(out)), func(r rune) bool { return r == ',' || r == '|' }) {
		_, host, isURL := strings.Cut(address, "://")
		host = host[strings.LastIndex(host, "@")+1:]
		host, _, _ = strings.Cut(host, "/")
		if isURL && host != "" && host != "proxy.golang.org" {
			list = append(list, strings.ToLower(host))
		}
	}
	return list
}
