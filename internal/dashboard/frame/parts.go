package frame

import (
	"bytes"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/cascadapay/cascada/internal/pay/lists"
)

// parse reads layouts and parts. Each page has a copy of the layouts, and all share the parts: a hundred copies of them
// would be most of what the garbage collector looks at.
func (f *Frame) parse() error {
	base, err := template.New("frame").Funcs(f.functions()).ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return err
	}
	f.parts, f.known = base, map[string]map[string]bool{}
	if f.base, err = template.New("layouts").Funcs(f.functions()).ParseFS(templateFiles, "templates/layout.html"); err != nil {
		return err
	}
	for _, t := range base.Templates() {
		if len(t.Name()) < 6 || t.Name()[:5] != "part-" {
			continue
		}
		fields := map[string]bool{}
		fieldsOf(t.Tree.Root, fields)
		if end := base.Lookup("end-" + t.Name()[5:]); end != nil {
			fieldsOf(end.Tree.Root, fields)
		}
		for grown := -1; grown != len(fields); { // a part takes what its template reads, and what those it calls read
			grown = len(fields)
			for _, name := range slices.Collect(maps.Keys(fields)) {
				if inner := base.Lookup(name); inner != nil {
					fieldsOf(inner.Tree.Root, fields)
				}
			}
		}
		f.known[t.Name()[5:]] = fields
	}
	return nil
}

// functions are what templates call, besides the methods of Page.
func (f *Frame) functions() template.FuncMap {
	return template.FuncMap{
		"part": f.part, "done": f.done, "icon": icon, "options": options, "tone": toneOf, "spark": Spark, "initial": initial, "othersheet": otherSheet,
		"asset": func(name string) string { return f.Root + f.assets[name].path },
	}
}

// checkArgument returns an error for a part, or an argument of it, that does not exist.
func (f *Frame) checkArgument(part, arg string) error {
	known, exists := f.known[part]
	if !exists {
		return fmt.Errorf("there is no part %q", part)
	}
	if arg != "" && !known[arg] {
		return fmt.Errorf("the part %q takes no %q", part, arg)
	}
	return nil
}

// opened is a part that is not closed yet.
type opened struct {
	name string
	args map[string]any
}

// String is its name, for an error.
func (o opened) String() string { return o.name }

// part is the HTML of a part, given pairs of names and values.
func (f *Frame) part(p *Page, name string, pairs ...any) (template.HTML, error) {
	if len(pairs)%2 > 0 {
		return "", fmt.Errorf("the part %q has a name without a value", name)
	}
	args := map[string]any{"page": p}
	for i := 0; i < len(pairs); i += 2 {
		arg, ok := pairs[i].(string)
		if !ok {
			return "", fmt.Errorf("the part %q has %v for a name", name, pairs[i])
		}
		if err := f.checkArgument(name, arg); err != nil {
			return "", err
		}
		args[arg] = pairs[i+1]
	}
	if err := f.checkArgument(name, ""); err != nil {
		return "", err
	}
	if f.parts.Lookup("end-"+name) != nil {
		*p.open = append(*p.open, opened{name, args})
	}
	var b bytes.Buffer
	err := f.parts.ExecuteTemplate(&b, "part-"+name, args)
	return template.HTML(b.String()), err //nolint:gosec // a template made it
}

// done closes a part.
func (f *Frame) done(p *Page, name string) (template.HTML, error) {
	open := *p.open
	if len(open) == 0 || open[len(open)-1].name != name {
		return "", fmt.Errorf("the part %q is closed where %v are open", name, open)
	}
	args := open[len(open)-1].args
	*p.open = open[:len(open)-1]
	var b bytes.Buffer
	err := f.parts.ExecuteTemplate(&b, "end-"+name, args)
	return template.HTML(b.String()), err //nolint:gosec // a template made it
}

// walk calls do for every command of a template.
func walk(n parse.Node, do func(*parse.CommandNode)) {
	nodes(n, func(n parse.Node) {
		if c, ok := n.(*parse.CommandNode); ok && len(c.Args) > 0 {
			do(c)
		}
	})
}

// fieldsOf collects the names that a template reads, and the templates that it calls.
func fieldsOf(n parse.Node, names map[string]bool) {
	nodes(n, func(n parse.Node) {
		switch n := n.(type) {
		case *parse.FieldNode:
			names[n.Ident[0]] = true
		case *parse.VariableNode:
			if n.Ident[0] == "$" && len(n.Ident) > 1 {
				names[n.Ident[1]] = true
			}
		case *parse.TemplateNode:
			names[n.Name] = true
		}
	})
}

// nodes calls do for every node of a template.
func nodes(n parse.Node, do func(parse.Node)) {
	branch := func(b *parse.BranchNode) {
		nodes(b.Pipe, do)
		nodes(b.List, do)
		if b.ElseList != nil {
			nodes(b.ElseList, do)
		}
	}
	do(n)
	switch n := n.(type) {
	case *parse.ListNode:
		for _, inner := range n.Nodes {
			nodes(inner, do)
		}
	case *parse.ActionNode:
		nodes(n.Pipe, do)
	case *parse.PipeNode:
		if n == nil {
			return
		}
		for _, c := range n.Cmds {
			nodes(c, do)
		}
	case *parse.CommandNode:
		for _, arg := range n.Args {
			nodes(arg, do)
		}
	case *parse.ChainNode:
		nodes(n.Node, do)
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	case *parse.TemplateNode:
		nodes(n.Pipe, do)
	}
}

// Option is a choice of a select or of choices.
type Option struct {
	Value, Label string
	Hint         string // of choices
}

// options makes choices of pairs of values and labels.
func options(pairs ...any) []Option {
	var list []Option
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, Option{Value: fmt.Sprint(pairs[i]), Label: fmt.Sprint(pairs[i+1])})
	}
	return list
}

// Rows is how many rows a page of a list has. FileRows is how many rows of a list a file reads at a time.
const (
	Rows     = lists.PageRows
	FileRows = 500
)

// PageOf is the page of a list that a request asks for, with one row more than the page shows: it tells that there are
// more.
func PageOf(r *http.Request) lists.Page {
	return lists.Page{Limit: Rows + 1, After: r.FormValue("cursor")}
}

// Cut removes the row that only tells that there are more, and returns the cursor of the next page, "" on the last one.
func Cut[T any](list []T, id func(T) string) (shown []T, next string) {
	if len(list) <= Rows {
		return list, ""
	}
	return list[:Rows], id(list[Rows-1])
}

// Pager says where a list's page stands in it.
type Pager struct {
	From, To int    // the first and last row, from 1; From may be 0 if it is not known
	Total    int    // of all rows; 0: it is not known
	More     bool   // there are more than Total
	Next     string // the cursor of the next page, "" on the last
}

// Paged cuts a list that was read with PageOf, as Cut does, and returns where its page stands among all rows.
func Paged[T any](r *http.Request, list []T, total int64, id func(T) string) ([]T, Pager) {
	p := Pager{Total: int(total)}
	list, p.Next = Cut(list, id)
	if r.FormValue("cursor") == "" && len(list) > 0 {
		p.From, p.To = 1, len(list)
	}
	return list, p
}

// tones are the tones of statuses. All others are neutral.
var tones = map[string]string{
	"completed": "good", "paid": "good", "succeeded": "good", "active": "good", "approved": "good", "delivered": "good",
	"verified": "good", "healthy": "good", "sent": "good", "won": "good", "enabled": "good", "ok": "good", "applied": "good",
	"pending": "waiting", "processing": "waiting", "needs_evidence": "waiting", "under_review": "waiting", "waiting": "waiting",
	"pending_verification": "waiting", "open": "waiting", "awaiting_method": "waiting", "retrying": "waiting", "degraded": "waiting",
	"invited": "waiting", "attention": "waiting", "reconciling": "waiting",
	"failed": "bad", "chargeback": "bad", "disputed": "bad", "lost": "bad", "dead": "bad", "down": "bad", "broken": "bad",
	"refused": "bad", "error": "bad",
}

// toneOf is the tone of a status: good, bad, waiting or neutral.
func toneOf(status any) string {
	if tone, known := tones[fmt.Sprint(status)]; known {
		return tone
	}
	return "neutral"
}

// initial is the first letter of a name.
func initial(name string) string {
	for _, c := range strings.ToUpper(name) {
		return string(c)
	}
	return "?"
}
