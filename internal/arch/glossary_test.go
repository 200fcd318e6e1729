package arch

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// glossary has the one meaning of each of our words.
const glossary = "docs/GLOSSARY.md"

// A word is in the glossary once, with a meaning, and with packages that exist.
func TestEveryWordHasOneMeaning(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, glossary))
	if err != nil {
		t.Fatal(err)
	}
	words, _, found := strings.Cut(string(text), "## Say rather")
	if !found {
		t.Fatalf("%s does not say which words to avoid", glossary)
	}
	place := regexp.MustCompile("^`([a-z/]+)`$")
	seen := map[string]bool{}
	for line := range strings.Lines(words) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || line == "| word | meaning | others say | where |" || line == "|---|---|---|---|" {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 4 || slices.Contains(cells, "") {
			t.Errorf("%s: want | word | meaning | others say | where |, got %s", glossary, line)
			continue
		}
		if seen[cells[0]] {
			t.Errorf("%s has %q twice", glossary, cells[0])
		}
		seen[cells[0]] = true
		for at := range strings.SplitSeq(cells[3], ", ") {
			dir := place.FindStringSubmatch(at)
			if dir == nil {
				t.Errorf("%s: want packages in backquotes with commas between them, got %q", glossary, cells[3])
				continue
			}
			if info, err := os.Stat(filepath.Join(root, dir[1])); err != nil || !info.IsDir() {
				t.Errorf("%s: %q lives in %s, which does not exist", glossary, cells[0], dir[1])
			}
		}
	}
	if len(seen) < 100 {
		t.Errorf("%s has %d words", glossary, len(seen))
	}
}

// avoidance is a row of the glossary's table, as a rule about names.
type avoidance struct {
	row   string // the word, and what it would stand for
	name  *regexp.Regexp
	where []string // the packages in which the word would have that meaning, with those below them; nil: everywhere
	own   []string // the packages in which the word has its own meaning
	holds string   // only fields, and results of functions, of this type
	whole bool     // of functions and types alone: fields are read beside their value
}

// avoided are names in words for which the glossary says another one: a rule for each row of the table "Say rather".
var avoided = []avoidance{
	{row: "seal, unseal: hiding a text", name: regexp.MustCompile(`(?i)^(re|un)?seal`), own: []string{
		"internal/admin/books", "internal/app/books", "internal/admin/shape", "internal/seal", "internal/daemon", "internal/app/base", "internal/store", "internal/store/chain", "internal/store/check", "internal/store/empty", "internal/app",
		"internal/cli/books", "internal/dashboard/console/books", "internal/e2e/harness", "internal/pay/merchants", "cmd/cascada"}},
	{row: "receipt: a kept notification", name: regexp.MustCompile(`(?i)receipt`), where: []string{
		"internal/app/notices", "internal/store/payments", "internal/dashboard/console/decisions", "internal/cli/notifications", "internal/provider", "internal/app/accounts"}},
	{row: "reconcile: asking a provider about one payment", name: regexp.MustCompile(`(?i)^reconcile`), own: []string{
		"internal/pay/reconcile", "internal/app/reconciliation", "internal/cli/books", "internal/dashboard/console/books", "internal/e2e/harness", "cmd/cascada"}},
	{row: "desk: a provider account with its client; who writes letters; pages of the console", name: regexp.MustCompile(`^(?i:desks?)$|^desk[A-Z]|Desk`)},
	{row: "take, tell, told, say, said, hear, heard, look, note, mine, met, given, company, room: the whole name of a function or a type", whole: true,
		name: regexp.MustCompile(`(?i)^(take|tell|told|say|said|hear|heard|look|note|mine|met|given|company|room)$`)},
	{row: "left, kept, asked: the whole name of a function or a type", whole: true, name: regexp.MustCompile(`(?i)^(left|kept|asked)$`)},
	{row: "circuit: an endpoint's", name: regexp.MustCompile(`(?i)^circuits?$`), where: []string{"internal/pay/webhooks", "internal/app/webhooks", "internal/store/webhooks"}},
	{row: "account: a merchant's money", name: regexp.MustCompile(`(?i)account`), holds: "Balances"},
	{row: "rule: a property of the whole database; a token bucket; a check digit's test", name: regexp.MustCompile(`(?i)rule`), where: []string{
		"internal/store/check", "internal/limit", "internal/document", "internal/api/gate"}},
	{row: "rule, to: the operator's command that ends something", name: regexp.MustCompile(`^(Rule|rule)(d?$|d?[A-Z])|Rulings?$`), own: []string{
		"internal/admin/accounts", "internal/admin/shape", "internal/pay/routing", "internal/pay/routing/rulefile", "internal/app/routing", "internal/app/accounts", "internal/cli/routing",
		"internal/dashboard/console/routing", "internal/e2e/harness"}},
	{row: "take: an amount, news, a lock, a row", name: regexp.MustCompile(`^([tT]ake|[tT]akes|[tT]aken|[tT]aking)s?([A-Z]|$)`)},
	{row: "take: an amount, news, a lock, a row", whole: true, name: regexp.MustCompile(`^[tT]ook([A-Z]|$)`)}, // a field of this name is a duration
	{row: "claim, to: a row, a line of a settlement", name: regexp.MustCompile(`^(un)?([cC]laim|[cC]laims|[cC]laimed|[cC]laiming)([A-Z]|$)`), where: []string{
		"internal/pay/settlement", "internal/store/settlements", "internal/app/settlements", "internal/store/base", "internal/store/due", "internal/work"}},
	{row: "action: an action that the sandbox simulates", name: regexp.MustCompile(`(?i)^actions?$`), where: []string{"internal/app/sandbox"}},
	{row: "fault: a difference in a report; a file that cannot be read", name: regexp.MustCompile(`(?i)fault`), where: []string{
		"internal/pay/reconcile", "internal/pay/comparison", "internal/app/reconciliation", "internal/pay/bankfile", "internal/pay/routing/rulefile"}},
	{row: "quote: the known rate of a currency", name: regexp.MustCompile(`(?i)quote`), where: []string{"internal/pay/rates", "internal/app/rates", "internal/store/rates", "internal/cli/rates"}},
	{row: "document: a settlement's PDF", name: regexp.MustCompile(`(?i)document`), where: []string{"internal/app/settlements", "internal/store/settlements", "internal/statement", "internal/dashboard/settlements"}},
}

// excepted are the names that a rule of avoided finds and that stay, each with the reason.
var excepted = map[string]string{
	"internal/pay.Ruling":                             "how a dispute ended, in the glossary",
	"internal/pay.Held.Ruling":                        "likewise",
	"internal/pay.Notice.Ruling":                      "likewise",
	"internal/pay/webhooks.Subscription.Circuit":      "a field of the endpoint itself, of the type EndpointCircuit",
	"internal/pay.Attempt.took":                       "a duration",
	"internal/pay.Attempt in JSON.ruled":              "a stored row's",
	"internal/store/payouts.walletDoc in JSON.sealed": "likewise",
	"internal/admin/shape.Verdict in JSON.takes":      "the operators' API has it",
	"internal/bench.Result in JSON.taken":             "files of results have it",
	"internal/dashboard/frame.Page.Took":              "a word of templates: how long something took",
	"internal/dashboard/settlements.balanceView.Left": "a word of templates, beside its object",
	"internal/dashboard/settlements.reserveView.Left": "likewise",
	"internal/dashboard/payments.paymentView.Kept":    "likewise: what the merchant keeps of the payment",
	"internal/dashboard/payments.row.Asked":           "likewise: what the shop asked for",
}

// below reports whether a package is one of some, or below it.
func below(dir string, of []string) bool {
	return slices.ContainsFunc(of, func(one string) bool { return dir == one || strings.HasPrefix(dir, one+"/") })
}

// named is a name that a declaration gives, and the types that it holds or returns.
type named struct {
	name  string
	at    ast.Node
	owner string // of a method or a field: its type; of a variable: its function
	value bool   // a field, also as JSON has it, a variable or a constant: it is read beside its value
	types []ast.Expr
}

func (n named) String() string {
	if n.owner != "" {
		return n.owner + "." + n.name
	}
	return n.name
}

// namesOf lists the names that a file declares: functions, methods, types, fields, what JSON calls them, constants, variables and
// parameters.
func namesOf(file *ast.File) (list []named) {
	add := func(owner string, value bool, of ast.Expr, names ...*ast.Ident) {
		for _, name := range names {
			list = append(list, named{name.Name, name, owner, value, []ast.Expr{of}})
		}
	}
	for _, decl := range file.Decls {
		owner := ""
		if d, ok := decl.(*ast.FuncDecl); ok {
			of := named{name: d.Name.Name, at: d.Name, owner: receiver(d)}
			if owner = of.String(); d.Type.Results != nil {
				for _, result := range d.Type.Results.List {
					of.types = append(of.types, result.Type)
				}
			}
			list = append(list, of)
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				add(owner, false, nil, n.Name)
				owner = n.Name.Name
			case *ast.ValueSpec:
				add(owner, true, n.Type, n.Names...)
			case *ast.AssignStmt:
				if n.Tok == token.DEFINE {
					add(owner, true, nil, variables(n.Lhs...)...)
				}
			case *ast.RangeStmt:
				if n.Tok == token.DEFINE {
					add(owner, true, nil, variables(n.Key, n.Value)...)
				}
			case *ast.InterfaceType:
				for _, method := range n.Methods.List {
					add(owner, false, nil, method.Names...)
				}
			case *ast.Field:
				if _, function := n.Type.(*ast.FuncType); !function { // of an interface, or what a parameter does
					add(owner, true, n.Type, n.Names...)
				}
				if name := inJSON(n); name != "" {
					list = append(list, named{name, n, owner + " in JSON", true, nil})
				}
			}
			return true
		})
	}
	return list
}

// variables are those of some expressions that are names.
func variables(list ...ast.Expr) (names []*ast.Ident) {
	for _, e := range list {
		if name, ok := e.(*ast.Ident); ok {
			names = append(names, name)
		}
	}
	return names
}

// inJSON is what JSON calls a field, "" if it says nothing about it.
func inJSON(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	tag, _ := strconv.Unquote(f.Tag.Value)
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name
}

// holds reports whether one of some types has a name.
func holds(list []ast.Expr, name string) bool {
	return slices.ContainsFunc(list, func(e ast.Expr) bool {
		if of, ok := e.(*ast.SelectorExpr); ok {
			return of.Sel.Name == name
		}
		of, ok := e.(*ast.Ident)
		return ok && of.Name == name
	})
}

// The code says what the glossary says, in every row.
func TestNamesAreTheGlossarys(t *testing.T) {
	say := sayRather(t)
	for _, word := range avoided {
		if say[word.row] == "" {
			t.Errorf("%s has no row %q", glossary, word.row)
		}
	}
	for row := range say {
		if !slices.ContainsFunc(avoided, func(word avoidance) bool { return word.row == row }) {
			t.Errorf("%s: nothing enforces the row %q: add it to avoided", glossary, row)
		}
	}
	used := map[string]bool{}
	for _, s := range sources(t, false) {
		for _, name := range namesOf(s.file) {
			for _, word := range avoided {
				switch {
				case !word.name.MatchString(name.name), word.whole && name.value, slices.Contains(word.own, s.dir),
					word.where != nil && !below(s.dir, word.where), word.holds != "" && !holds(name.types, word.holds):
					continue
				}
				if full := s.dir + "." + name.String(); excepted[full] == "" {
					t.Errorf("%s: %s: say %s (%s)", s.at(name.at), full, say[word.row], glossary)
				} else {
					used[full] = true
				}
			}
		}
	}
	for name := range excepted {
		if !used[name] {
			t.Errorf("%s is excepted, and nothing has that name", name)
		}
	}
}

// sayRather reads the table of words to avoid: what to say, by "word: what it stands for".
func sayRather(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, glossary))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Say rather")
	say := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		if len(cells) == 3 && cells[0] != "not" {
			say[cells[0]+": "+cells[1]] = cells[2]
		}
	}
	if len(say) < 10 {
		t.Fatalf("%s says what to avoid in %d rows", glossary, len(say))
	}
	return say
}
