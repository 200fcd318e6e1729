package arch

import (
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ruleTable has the id of each rule of the service, and the names of the tests that
// prove it.
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

// ruleHeading is a heading with the letters that the ids of its rules begin with.
var ruleHeading = regexp.MustCompile(`^## .+ \(([A-Z]{2,7})\)$`)

// rulesDeclared reads the table: the ids of the rules, and the letters that they begin with.
func rulesDeclared(t *testing.T) (ids, letters map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ruleTable))
	if err != nil {
		t.Fatal(err)
	}
	declared := testsDeclared(t)
	one := regexp.MustCompile("^`(Test|Fuzz)[A-Za-z0-9]+`$")
	number := regexp.MustCompile(`^[1-9][0-9]*$`)
	ids, letters = map[string]bool{}, map[string]bool{}
	rules := map[string]bool{}
	heading, rows := "", 1
	for n, line := range strings.Split(string(text), "\n") {
		at := func(format string, args ...any) {
			t.Errorf("%s:%d: "+format, append([]any{ruleTable, n + 1}, args...)...)
		}
		if strings.HasPrefix(line, "## ") {
			if rows == 0 {
				at("%s has no rules", heading)
			}
			found := ruleHeading.FindStringSubmatch(line)
			if found == nil || letters[found[1]] {
				at("want a heading with letters of its own, such as ## Payments (PAY), got %s", line)
				continue
			}
			heading, rows = found[1], 0
			letters[heading] = true
			continue
		}
		if !strings.HasPrefix(line, "|") || line == "| id | rule | proved by |" || line == "|---|---|---|" {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if heading == "" || len(cells) != 3 || len(strings.Fields(cells[1])) == 0 {
			at("want | id | rule | tests | under a heading, got %s", line)
			continue
		}
		rows++
		id := strings.TrimSpace(cells[0])
		if of, own, _ := strings.Cut(id, "-"); of != heading || !number.MatchString(own) {
			at("want an id such as %s-7, got %s", heading, id)
		}
		if ids[id] {
			at("the id stands here twice: %s", id)
		}
		ids[id] = true
		if rule := strings.TrimSpace(cells[1]); rules[rule] {
			at("the rule stands here twice: %s", rule)
		} else {
			rules[rule] = true
		}
		for _, name := range strings.Split(strings.TrimSpace(cells[2]), ", ") {
			if !one.MatchString(name) {
				at("want tests in backquotes with commas between them, got %q", cells[2])
			} else if name = strings.Trim(name, "`"); !declared[name] {
				at("there is no test %s", name)
			}
		}
	}
	if rows == 0 {
		t.Errorf("%s: %s has no rules", ruleTable, heading)
	}
	if len(ids) < 300 {
		t.Errorf("%s has only %d rules: want those of the whole service", ruleTable, len(ids))
	}
	return ids, letters
}

func TestEveryRuleNamesTestsThatExist(t *testing.T) { rulesDeclared(t) }

// remarks returns texts for people, by position: each comment in Go code, and each line of a page
// and of a migration.
func remarks(t *testing.T) map[string]string {
	t.Helper()
	written := map[string]string{}
	for _, s := range sources(t, true) {
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				written[fmt.Sprintf("%s:%d", s.path, s.set.Position(c.Pos()).Line)] = c.Text
			}
		}
	}
	walk(t, func(path string) error {
		if strings.Contains(path, "node_modules/") || !slices.Contains([]string{".md", ".sql", ".sh", ".yml"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		for n, line := range strings.Split(string(text), "\n") {
			written[fmt.Sprintf("%s:%d", path, n+1)] = line
		}
		return err
	})
	return written
}

// A comment names a rule by an id that a reader can look up, and no document that is not here.
func TestEveryRuleThatIsNamedExists(t *testing.T) {
	ids, letters := rulesDeclared(t)
	named := regexp.MustCompile(`\b([A-Z]{2,7})-[0-9]+\b`)
	elsewhere := regexp.MustCompile(`(?i)\b(gaps|contract|style)(:| and contract:)|\(gaps\b|\bthe contract('s| says| wants| names)\b|\bof the contract\b|\bthe specification\b`)
	count := 0
	for where, text := range remarks(t) {
		if found := elsewhere.FindString(text); found != "" {
			t.Errorf("%s says %q: name the rule by its id in %s", where, found, ruleTable)
		}
		for _, found := range named.FindAllStringSubmatch(text, -1) {
			if letters[found[1]] && !ids[found[0]] {
				t.Errorf("%s names %s, which is not in %s", where, found[0], ruleTable)
			} else if letters[found[1]] && !strings.HasPrefix(where, ruleTable) {
				count++
			}
		}
	}
	if count < 100 {
		t.Errorf("%d comments name a rule: does the test still find them?", count)
	}
}

// securityTable lists attacks, each with the reaction and the tests that show it.
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
			t.Errorf("%s: this attack is listed twice: %s", securityTable, cells[0])
		}
		attacks[cells[0]] = true
		for name := range strings.SplitSeq(strings.TrimSpace(cells[2]), ", ") {
			if plain := strings.Trim(name, "`"); !declared[plain] || "`"+plain+"`" != name {
				t.Errorf("%s: there is no test %s", securityTable, name)
			}
		}
	}
	if len(attacks) < 60 {
		t.Errorf("%s has %d attacks, want at least 60", securityTable, len(attacks))
	}
}

// make test runs with the race detector the tests that .ci/atonce finds in each room, and some by their names: a script that finds
// nothing, or another name, would silently leave them out.
func TestEveryTestThatMakeRunsExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	rooms := regexp.MustCompile(`(?m)^MEETING := (.+)$`).FindSubmatch(text)
	names := regexp.MustCompile(`(?m)^AT_ONCE = .*\bNAMES=(\S+) `).FindSubmatch(text)
	if rooms == nil || names == nil {
		t.Fatal("the Makefile has no MEETING, or no NAMES in AT_ONCE")
	}
	declared := testsDeclared(t)
	found := func(names, room string) []string {
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "atonce"), "internal/e2e/"+room)
		cmd.Env = append(os.Environ(), "NAMES="+names)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.Trim(string(out), "^()$\n"), "|")
	}
	for room := range strings.FieldsSeq(string(rooms[1])) {
		list := found("", room)
		if len(list) < 3 {
			t.Errorf(".ci/atonce finds %q in the room %s, want at least 3 tests", list, room)
		}
		for _, name := range append(list, strings.Split(string(names[1]), "|")...) {
			if !declared[name] {
				t.Errorf("make test runs %s, and there is no such test", name)
			}
		}
	}
}
