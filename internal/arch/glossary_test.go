package arch

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
		"internal/admin/books", "internal/app/books", "internal/admin/shape", "internal/seal", "internal/store", "internal/store/chain", "internal/store/check", "internal/store/empty", "internal/app",
		"internal/cli/books", "internal/dashboard/console/books", "internal/e2e/harness", "internal/pay/merchants", "cmd/cascada"}},
	{row: "receipt: a kept notification", name: regexp.MustCompile(`(?i)receipt`), where: []string{
		"internal/app/notices", "internal/store/payments", "internal/dashboard/console/decisions", "internal/cli/notifications", "internal/provider", "internal/app/accounts"}},
	{row: "reconcile: asking a provider about one payment", name: regexp.MustCompile(`(?i)^reconcile`), own: []string{
		"internal/pay/reconcile", "internal/app/reconciliation", "internal/cli/books", "internal/dashboard/console/books", "internal/e2e/harness", "cmd/cascada"}},
	{row: "desk: a provider account with its client; who writes letters; pages of the console", name: regexp.MustCompile(`(?i)^desks?$|^(desk|Desk)[A-Z]|Desk`)},
	{row: "take, told, said, heard, look, note, mine, met, given, company, room: the whole name of a function or a type", whole: true,
		name: regexp.MustCompile(`(?i)^(take|told|said|heard|look|note|mine|met|given|company|room)$`)},
	{row: "left, kept, asked: the whole name of a function or a type", whole: true, name: regexp.MustCompile(`(?i)^(left|kept|asked)$`)},
	{row: "circuit: an endpoint's", name: regexp.MustCompile(`(?i)^circuits?$`), where: []string{"internal/pay/webhooks", "internal/app/webhooks", "internal/store/webhooks"}},
	{row: "account: a merchant's money", name: regexp.MustCompile(`(?i)account`), holds: "Balances"},
	{row: "rule: a property of the whole database; a token bucket; a check digit's test", name: regexp.MustCompile(`(?i)rule`), where: []string{
		"internal/store/check", "internal/limit", "internal/document", "internal/api/gate"}},
	{row: "rule, to: the operator's command that ends something", name: regexp.MustCompile(`^(Rule|rule)(d?$|d?[A-Z])|Rulings?$`), own: []string{
		"internal/admin/accounts", "internal/pay/routing", "internal/app/routing", "internal/app/accounts", "internal/cli/routing", "internal/e2e/harness"}},
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
	ident *ast.Ident
	owner string // of a method or a field: its type
	field bool
	types []ast.Expr
}

func (n named) String() string {
	if n.owner != "" {
		return n.owner + "." + n.ident.Name
	}
	return n.ident.Name
}

// namesOf lists the functions, methods, types and fields of types that a file declares.
func namesOf(file *ast.File) (list []named) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			of := named{ident: d.Name, owner: receiver(d)}
			if d.Type.Results != nil {
				for _, result := range d.Type.Results.List {
					of.types = append(of.types, result.Type)
				}
			}
			list = append(list, of)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				of, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				list = append(list, named{ident: of.Name})
				if fields, ok := of.Type.(*ast.StructType); ok {
					for _, f := range fields.Fields.List {
						for _, name := range f.Names {
							list = append(list, named{name, of.Name.Name, true, []ast.Expr{f.Type}})
						}
					}
				}
			}
		}
	}
	return list
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
				case !word.name.MatchString(name.ident.Name), word.whole && name.field, slices.Contains(word.own, s.dir),
					word.where != nil && !below(s.dir, word.where), word.holds != "" && !holds(name.types, word.holds):
					continue
				}
				if full := s.dir + "." + name.String(); excepted[full] == "" {
					t.Errorf("%s: %s: say %s (%s)", s.at(name.ident), full, say[word.row], glossary)
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
