package adapters_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider/adapters"
)

var (
	hostIn = regexp.MustCompile(`^https://([a-z0-9.-]+)`)
	// joined is the end of a host whose beginning is a credential of the account.
	joined = regexp.MustCompile(`^(-[a-z0-9-]+\.[a-z0-9.-]+)/`)
	// hostRow is a row of the table of hosts in docs/PCI.md: adapters, hosts of the sandbox and of production.
	hostRow = regexp.MustCompile("(?m)^\\| (`[a-z-]+`(?:, `[a-z-]+`)*) \\| ([^|]*) \\| ([^|]*) \\|")
	quoted  = regexp.MustCompile("`([^`]+)`")
)

// The hosts that docs/PCI.md lists for each adapter are those in the adapter's code, and every adapter has a row.
func TestTheListOfHostsIsThatOfTheCode(t *testing.T) {
	text, err := os.ReadFile("../../../docs/PCI.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Hosts")
	rows := map[string][]string{} // hosts by package
	var listed []string
	for _, row := range hostRow.FindAllStringSubmatch(table, -1) {
		names := quoted.FindAllStringSubmatch(row[1], -1)
		for _, name := range names {
			listed = append(listed, name[1])
		}
		var hosts []string
		for _, host := range quoted.FindAllStringSubmatch(row[2]+row[3], -1) {
			hosts = append(hosts, host[1])
		}
		rows[names[0][1]] = hosts
	}
	var all []string
	for _, a := range adapters.All() {
		all = append(all, a.Name)
	}
	slices.Sort(listed)
	if slices.Sort(all); !slices.Equal(listed, all) {
		t.Errorf("docs/PCI.md lists hosts of %v, want of %v", listed, all)
	}
	for name, hosts := range rows {
		folder := map[string]string{"bank-file": "bankfiles"}[name]
		if folder == "" {
			folder = name
		}
		code := hostsOf(t, "../"+folder)
		slices.Sort(hosts)
		if hosts = slices.Compact(hosts); !slices.Equal(hosts, code) {
			t.Errorf("docs/PCI.md lists for %s the hosts %v, want those of its code, %v", name, hosts, code)
		}
	}
}

// hostsOf lists the hosts in the texts of a package's code.
func hostsOf(t *testing.T, folder string) (hosts []string) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no code: %v", folder, err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			if found := hostIn.FindStringSubmatch(text); found != nil {
				hosts = append(hosts, found[1])
			} else if found := joined.FindStringSubmatch(text); found != nil {
				hosts = append(hosts, "PREFIX"+found[1])
			}
			return true
		})
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
