package frame

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reachPages are the rooms whose errors a page of the dashboard can show.
var reachPages = []string{
	"app", "pay", "store/base", "store/engine", "webhook/address.go", "webhook/credentials.go", "dashboard",
}

// neverOnPages are files, and whole packages, whose errors no page shows, with the reason.
var neverOnPages = map[string]string{
	"app/auth/auth.go": "the API's credentials", "app/auth/logins.go": "the API's logins", "app/auth/operators.go": "operators' tokens", "app/auth/masterkey.go": "the command line",
	"app/acquiring/notices.go": "what providers send", "app/notices": "what providers send", "app/payouts/notify.go": "what providers send",
	"app/base/principal.go": "a visit has its shop", "app/webhooks/inbox.go": "what the service sends to itself",
	"app/payouts/batches.go": "the command line", "app/payouts/float.go": "the command line", "app/privacy": "the command line",
	"pay/erasure.go": "the command line", "pay/recovery.go": "the command line and the API", "pay/payout.go": "the command line",
	"pay/payoutcontrol.go": "the command line, but for the approval", "app/payments/otherway.go": "the checkout", "pay/session.go": "the checkout",
	"pay/merchants/operator.go": "the command line", "pay/cascade.go": "a failed payment, which has a page of its own", "app/cascade": "a payment that goes on",
}

// written are messages that are made of parts, or of values that the scan cannot read: the file, and the sentences.
var written = map[string][]string{
	"app/acquiring/accounts.go":      nil, // of an account's parts, for operators: the terms are checked by the form first
	"app/acquiring/catalog.go":       nil, // a form lists the methods that there are
	"app/base/missing.go":            {"there is no such transaction{}", "there is no such claim{}", "there is no such settlement{}", "there is no such withdrawal{}", "there is no such wallet{}", "there is no such webhook{}", "there is no such verification{}"},
	"app/webhooks/webhooks.go":       {"{} is not an event{}", "that is not an event{}"},
	"app/payments/sessions.go":       {"no payment method can be charged in any country now: GET /payment-methods gives the reason for each"},
	"app/payouts/payers.go":          {"the payout waits for float: {}", "the payout waits: no account pays it now"},
	"app/requests/requests.go":       nil, // the message of a past request, as the API sent it
	"dashboard/console/merchants.go": nil, // of a flag of the command line, which is cut off
	"dashboard/frame/problem.go":     nil, // hands on
	"dashboard/console/desk/desk.go": nil, // of what an operator has typed: the core's own words
	"dashboard/payments/list.go":     nil, // texts of the room, and the sentence about a day, handed on
	"pay/accounts/account.go":        nil, // of the file of an account, for operators
	"pay/adjustment.go": {
		"only an adjustment that waits for approval can be approved: it is {}", "only an adjustment that waits for approval can be rejected: it is {}",
		"the operator who made the adjustment cannot approve it: another operator must; it is {}", "only an adjustment that is applied can be reversed: it is {}",
		"a reversal cannot be reversed: make a new adjustment; it is {}",
	},
	"pay/payment.go":       {"amount must be at most {}: it is in dollars, not in cents"},
	"pay/payoutcontrol.go": {"the withdrawal is {}: only a pending one can be approved"},
}

// notWhole are sentences that are no message of a page, with the reason.
var notWhole = map[string]string{
	"it has {} bytes": "a part of another", "it is not a PNG or JPEG picture": "a part of another", "it is {} by {} pixels": "a part of another",
	"{}, and * for all": "a part of another", "{} in {}: check the id, and the key: {} sees nothing of {}, nor of other shops": "the end of another",
	"several keys have the preview {}: give the id of one: {}": "the command line", "this key lacks a right: use one with the right {}; cascada key create makes one": "the API",
}

// sentence reads a string of the source: {} stands for each value. known is false if there are no words in it.
func sentence(e ast.Expr) (text string, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		a, knownA := sentence(e.X)
		b, knownB := sentence(e.Y)
		return a + b, knownA || knownB
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
			return sentence(e.Args[0])
		}
	}
	return "{}", false
}

var verbs = regexp.MustCompile(`%[sdqvg]`)

// messages calls tell with every message of an error in a file:
func messages(file *ast.File, tell func(e ast.Expr)) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.Ident: // refuse("…") and conflict("reason", "…"), which add what all have
				if (f.Name == "refuse" || f.Name == "conflict") && len(n.Args) > 0 {
					tell(n.Args[len(n.Args)-1])
				}
			case *ast.SelectorExpr:
				from, _ := f.X.(*ast.Ident)
				switch {
				case from == nil:
				case from.Name == "problem" && (f.Sel.Name == "New" || f.Sel.Name == "Conflict" || f.Sel.Name == "Beyond"):
					tell(n.Args[1])
				case from.Name == "problem" && f.Sel.Name == "Field":
					tell(n.Args[2])
				case file.Name.Name == "webhook" && (from.Name == "errors" || from.Name == "fmt" && f.Sel.Name == "Errorf"):
					tell(n.Args[0])
				}
			}
		case *ast.CompositeLit:
			if t, ok := n.Type.(*ast.SelectorExpr); ok && (t.Sel.Name == "Error" || t.Sel.Name == "Issue") {
				for _, field := range n.Elts {
					if kv, ok := field.(*ast.KeyValueExpr); ok {
						if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Message" {
							tell(kv.Value)
						}
					}
				}
			}
		case *ast.AssignStmt: // conflict.Message = …
			if to, ok := n.Lhs[0].(*ast.SelectorExpr); ok && to.Sel.Name == "Message" {
				tell(n.Rhs[0])
			}
		}
		return true
	})
}

// apart reports whether no page shows what a file says.
func apart(path string) bool {
	for name := range neverOnPages {
		if path == name || strings.HasPrefix(path, name+"/") {
			return true
		}
	}
	return false
}

// coreSays lists the sentences of errors that a page can show, with the file of each.
func coreSays(t *testing.T) map[string]string {
	t.Helper()
	said := map[string]string{}
	for _, room := range reachPages {
		err := filepath.WalkDir(filepath.Join("..", "..", room), func(path string, d fs.DirEntry, err error) error {
			name := filepath.ToSlash(strings.TrimPrefix(path, filepath.Join("..", "..")+string(filepath.Separator)))
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || apart(name) {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			messages(file, func(e ast.Expr) {
				if text, known := sentence(e); known {
					said[verbs.ReplaceAllString(strings.ReplaceAll(text, "%%", "%"), "{}")] = name
				} else if call, ok := e.(*ast.CallExpr); ok && strings.HasSuffix(nameOf(call), "Text") { // a text of the room
				} else if _, told := written[name]; !told && !passesOn(e) {
					t.Errorf("%s makes a message of an error that the test cannot read: say in written which sentences these are", name)
				}
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, sentences := range written {
		for _, s := range sentences {
			said[s] = name
		}
	}
	return said
}

// nameOf is the name of what is called.
func nameOf(call *ast.CallExpr) string {
	if f, ok := call.Fun.(*ast.SelectorExpr); ok {
		return f.Sel.Name
	}
	return ""
}

// passesOn reports whether an expression is only handed on, as the argument of a function that adds what all its
// errors have: then the callers are read.
func passesOn(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "why" || e.Name == "message"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Message"
	}
	return false
}

// apiWords are the names of fields and the requests of the API, which no page shows: a form has labels.
var apiWords = regexp.MustCompile(`\b[a-z]+[A-Z]\w*|\b(installments|customer|details)\.[a-z]\w*|\b(GET|POST|PATCH|DELETE) /`)

// Every error of the core that can reach a page has a text in Spanish and Portuguese, and errors.json has no text that
// nothing says.
func TestEveryErrorIsTranslated(t *testing.T) {
	t.Parallel()
	all, err := readSayings(errorsFile)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	said := coreSays(t)
	if len(said) < 150 {
		t.Fatalf("the scan finds only %d errors", len(said))
	}
	for _, text := range slices.Sorted(maps.Keys(said)) {
		if notWhole[text] != "" {
			continue
		}
		found, _ := all.find(text)
		if found == nil {
			t.Errorf("%s says %q, which has no text in frame/errors.json", said[text], text)
			continue
		}
		used[found.core] = true
	}
	for core, one := range all.exact {
		if apiWords.MatchString(core) && one.words["en"] == "" {
			t.Errorf("errors.json has no English for %q, which speaks of the API", core)
		}
		if !used[core] {
			t.Errorf("errors.json has %q, which nothing says", core)
		}
	}
	for _, one := range all.open {
		if apiWords.MatchString(one.core) && one.words["en"] == "" {
			t.Errorf("errors.json has no English for %q, which speaks of the API", one.core)
		}
		if !used[one.core] {
			t.Errorf("errors.json has %q, which nothing says", one.core)
		}
	}
}

// A message is shown in the language of the page, with amounts and statuses as pages write them; what is not the
// core's stays.
func TestErrorsSpeakTheVisitorsLanguage(t *testing.T) {
	t.Parallel()
	f, _ := start(t)
	for _, c := range []struct{ lang, message, want string }{
		{"es", "the webhook is disabled: enable it first, with PATCH and status enabled", "El webhook está desactivado: actívalo primero."},
		{"en", "the webhook is disabled: enable it first, with PATCH and status enabled", "The webhook is disabled: enable it first."},
		{"en", "the amount must be at most what is left, 1200.50 USD", "The amount must be at most what is left, 1200.50 USD"},
		{"pt", "the amount must be at most what is left, 1200.50 USD", "O valor pode ser no máximo o que resta: 1.200,50\u00a0USD."},
		{"es", "The payment is expired: only a pending one can be canceled", "El estado del pago es vencido: solo se cancela uno pendiente."},
		{"es", "Falta el nombre", "Falta el nombre"},
		{"pt", "there is no such transaction in the sandbox: check the id, and the key", "Este pagamento não existe nesta loja e neste ambiente."},
		{"pt", "", ""},
	} {
		if got := f.said(c.lang, c.message); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.lang, c.message, got, c.want)
		}
	}
}
