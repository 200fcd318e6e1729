package arch

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ruleTable is where each rule of the specification names the tests that prove
// it.
const ruleTable = "docs/RULES.md"

// testsDeclared lists the names of every test and fuzz target.
func testsDeclared(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, s := range sources(t, true) {
		if !s.test {
			continue
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

func TestEveryRuleNamesTestsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ruleTable))
	if err != nil {
		t.Fatal(err)
	}
	declared := testsDeclared(t)
	one := regexp.MustCompile("^`(Test|Fuzz)[A-Za-z0-9]+`$")
	heading, rows, total := "", 1, 0
	rules := map[string]bool{}
	for n, line := range strings.Split(string(text), "\n") {
		at := func(format string, args ...any) {
			t.Errorf("%s:%d: "+format, append([]any{ruleTable, n + 1}, args...)...)
		}
		if title, ok := strings.CutPrefix(line, "## "); ok {
			if rows == 0 {
				at("%q has no rules", heading)
			}
			heading, rows = title, 0
			continue
		}
		if !strings.HasPrefix(line, "|") || line == "| rule | proved by |" || line == "|---|---|" {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if heading == "" || len(cells) != 2 || len(strings.Fields(cells[0])) == 0 {
			at("want | rule | tests | under a heading, got %s", line)
			continue
		}
		rows++
		total++
		if rule := heading + "/" + strings.TrimSpace(cells[0]); rules[rule] {
			at("the rule stands here twice: %s", rule)
		} else {
			rules[rule] = true
		}
		for _, name := range strings.Split(strings.TrimSpace(cells[1]), ", ") {
			if !one.MatchString(name) {
				at("want tests in backquotes with commas between them, got %q", cells[1])
			} else if name = strings.Trim(name, "`"); !declared[name] {
				at("there is no test %s", name)
			}
		}
	}
	if rows == 0 {
		t.Errorf("%s: %q has no rules", ruleTable, heading)
	}
	if total < 100 {
		t.Errorf("%s has %d rules, want the whole specification's", ruleTable, total)
	}
}

// securityTable says of each attack what happens, and which tests show it.
const securityTable = "docs/SECURITY.md"

func TestEveryAttackNamesTestsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, securityTable))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "## Attack by attack")
	if !found {
		t.Fatalf("%s has no table of attacks", securityTable)
	}
	declared := testsDeclared(t)
	attacks := map[string]bool{}
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || line == "| attack | what happens | test |" || line == "|---|---|---|" {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if len(cells) != 3 {
			t.Errorf("%s: want | attack | what happens | tests |, got %s", securityTable, line)
			continue
		}
		if attacks[cells[0]] {
			t.Errorf("%s: the attack stands here twice: %s", securityTable, cells[0])
		}
		attacks[cells[0]] = true
		for name := range strings.SplitSeq(strings.TrimSpace(cells[2]), ", ") {
			if plain := strings.Trim(name, "`"); !declared[plain] || "`"+plain+"`" != name {
				t.Errorf("%s: there is no test %s", securityTable, name)
			}
		}
	}
	if len(attacks) < 60 {
		t.Errorf("%s has %d attacks, want 60 at least", securityTable, len(attacks))
	}
}
