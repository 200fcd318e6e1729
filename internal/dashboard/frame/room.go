package frame

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template/parse"
	"time"

	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// Room is the pages of one part of the dashboard, with their texts.
type Room struct {
	frame *Frame
	texts map[string]texts // the frame's and the room's, by language
	pages map[string]*page
	clock func(*Visit) time.Time // by which ages are told; nil: the frame's
}

// TimedBy tells ages and deadlines by the clock of what the pages show: in the sandbox the merchant's test clock
// (SBX-12).
func (r *Room) TimedBy(s *Site) *Room {
	r.clock = func(v *Visit) time.Time { return s.App.TimeOf(v.Scope) }
	return r
}

// page is a template with its layout.
type page struct {
	template *template.Template // of a page that is only read; the one that is shown comes from again
	// again reads the page when it is first shown. All are read at the start, to find their mistakes, and not kept:
	// together they would be most of what the garbage collector looks at while the service takes payments.
	again  func() (*template.Template, error)
	blocks map[string]bool // that its file defines
}

// Room reads the pages of a room. files has templates/<page>.html, which define the blocks that
// templates/parts.html of this package lists; templates/_<name>.html, whose templates all pages of the room
// have; and text/<language>.json. It returns an error for a text that a language lacks or that a page asks
// for in vain, and for what the browser would refuse to run: scripts, styles and handlers inside a page.
// Items are added to the navigation of all pages.
func (f *Frame) Room(files fs.FS, items ...Item) (*Room, error) {
	own, err := readTexts(files)
	if err != nil {
		return nil, err
	}
	r := &Room{frame: f, texts: map[string]texts{}, pages: map[string]*page{}}
	for lang, t := range own {
		all := f.texts[lang].clone()
		for key, sentence := range t {
			if _, taken := all[key]; taken {
				return nil, fmt.Errorf("dashboard: the frame has the text %q already: use it, or choose another key", key)
			}
			all[key] = sentence
			if _, taken := f.all[lang][key]; !taken {
				f.all[lang][key] = sentence
			}
		}
		r.texts[lang] = all
	}
	more, err := f.label(items, r.texts)
	if err != nil {
		return nil, err
	}
	f.items = append(f.items, more...)
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	shared := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(path.Base(name), "_") })
	for _, name := range names {
		if slices.Contains(shared, name) {
			continue
		}
		all := append([]string{name}, shared...)
		p, err := r.read(files, all)
		if err != nil {
			return nil, fmt.Errorf("dashboard page %s: %w", name, err)
		}
		p.template = nil
		p.again = sync.OnceValues(func() (*template.Template, error) {
			shown, err := r.read(files, all)
			if err != nil {
				return nil, fmt.Errorf("dashboard page %s: %w", name, err)
			}
			return shown.template, nil
		})
		r.pages[strings.TrimSuffix(path.Base(name), ".html")] = p
	}
	return r, nil
}

// read parses the files of a page.
func (r *Room) read(files fs.FS, names []string) (*page, error) {
	own := template.New("").Funcs(r.frame.functions())
	for _, name := range names {
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		if found := Forbidden(string(body)); found != "" {
			return nil, fmt.Errorf("%s has %q, which the content security policy forbids", name, found)
		}
		if _, err := own.New(name).Parse(string(body)); err != nil {
			return nil, err
		}
	}
	p := &page{blocks: map[string]bool{}}
	var err error
	if p.template, err = r.frame.base.Clone(); err != nil {
		return nil, err
	}
	for _, t := range own.Templates() {
		if t.Tree == nil || t.Name() == "" || strings.HasSuffix(t.Name(), ".html") {
			continue
		}
		p.blocks[t.Name()] = true
		if err := r.check(t.Tree); err != nil {
			return nil, err
		}
		if _, err := p.template.AddParseTree(t.Name(), t.Tree); err != nil {
			return nil, err
		}
	}
	if !p.blocks["content"] {
		return nil, fmt.Errorf("it does not define the block content")
	}
	for _, t := range p.template.Templates() {
		if t.Tree == nil {
			continue
		}
		nodes(t.Tree.Root, func(n parse.Node) {
			if call, ok := n.(*parse.TemplateNode); ok && p.template.Lookup(call.Name) == nil {
				err = fmt.Errorf("%s calls the template %q, which a page cannot see: parts are called with {{part}}", t.Name(), call.Name)
			}
		})
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// check looks for texts that do not exist, and for parts and their arguments.
func (r *Room) check(tree *parse.Tree) error {
	var wrong error
	walk(tree.Root, func(command *parse.CommandNode) {
		name := called(command.Args[0])
		literal := func(i int) (string, bool) {
			if i >= len(command.Args) {
				return "", false
			}
			s, ok := command.Args[i].(*parse.StringNode)
			if !ok {
				return "", false
			}
			return s.Text, true
		}
		switch name {
		case "T":
			if key, ok := literal(1); ok {
				if _, known := r.texts[languages[0]][key]; !known {
					wrong = fmt.Errorf("it asks for the text %q, which does not exist", key)
				}
			}
		case "part":
			part, ok := literal(2)
			if !ok {
				return
			}
			for i := 3; i < len(command.Args); i += 2 {
				if arg, ok := literal(i); ok {
					if err := r.frame.takes(part, arg); err != nil {
						wrong = err
					}
				}
			}
			if err := r.frame.takes(part, ""); err != nil {
				wrong = err
			}
		}
	})
	return wrong
}

// called is the name of the function or method that a command calls.
func called(n parse.Node) string {
	switch n := n.(type) {
	case *parse.IdentifierNode:
		return n.Ident
	case *parse.FieldNode:
		return n.Ident[len(n.Ident)-1]
	case *parse.VariableNode:
		return n.Ident[len(n.Ident)-1]
	case *parse.ChainNode:
		return n.Field[len(n.Field)-1]
	}
	return ""
}

// forbidden is what the policy of pages does not let run.
var forbidden = regexp.MustCompile(`(?i)<script|<style|\sstyle\s*=|[\s"']on[a-z]+\s*=|javascript:|hx-on|["']js:|hx-trigger="[^"]*\[`)

// Forbidden returns what in a template the browser would refuse to run or that needs eval: a script, a style
// or a handler inside a page; "" if there is nothing.
func Forbidden(text string) string { return strings.TrimSpace(forbidden.FindString(text)) }

// Show writes a page.
func (r *Room) Show(w http.ResponseWriter, req *http.Request, v *Visit, name string, data any) error {
	return r.ShowStatus(w, req, v, http.StatusOK, name, data)
}

// ShowStatus writes a page with a status. v is nil for a page of nobody, such as the one to sign in.
func (r *Room) ShowStatus(w http.ResponseWriter, req *http.Request, v *Visit, status int, name string, data any) error {
	found, known := r.pages[name]
	if !known {
		return fmt.Errorf("dashboard: there is no page %q", name)
	}
	p := r.page(req, v, data)
	p.layout(w, req, found)
	return p.write(w, status, found, p.Frame.Name)
}

// Fragment writes one block of a page, if htmx asks for a part of a page; else it writes the page.
func (r *Room) Fragment(w http.ResponseWriter, req *http.Request, v *Visit, name, block string, data any) error {
	found, known := r.pages[name]
	if !known || !found.blocks[block] {
		return fmt.Errorf("dashboard: there is no page %q with a block %q", name, block)
	}
	if !Partial(req) {
		return r.Show(w, req, v, name, data)
	}
	return r.page(req, v, data).write(w, http.StatusOK, found, block)
}

// Block is the HTML of one block of a page, for a message of a stream of events.
func (r *Room) Block(req *http.Request, v *Visit, name, block string, data any) (string, error) {
	found, known := r.pages[name]
	if !known || !found.blocks[block] {
		return "", fmt.Errorf("dashboard: there is no page %q with a block %q", name, block)
	}
	var b bytes.Buffer
	err := r.page(req, v, data).render(&b, found, block)
	return b.String(), err
}

// Text is a sentence in the visitor's language, for what is no page: the heads of a CSV file, an error of a
// form. It is plain text.
func (r *Room) Text(v *Visit, key string, args ...any) string {
	lang := languages[0]
	if v != nil {
		lang = spoken(v.Language())
	}
	pairs := make([]string, 0, len(args))
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, "{"+fmt.Sprint(args[i])+"}", fmt.Sprint(args[i+1]))
	}
	sentence, known := r.texts[lang][key]
	if !known {
		sentence = key
	}
	return strings.NewReplacer(pairs...).Replace(sentence)
}

// Pages lists the names of the room's pages, for tests.
func (r *Room) Pages() []string { return slices.Sorted(maps.Keys(r.pages)) }

// Partial reports whether htmx asks for a part of a page. A link that htmx follows asks for a whole one.
func Partial(r *http.Request) bool {
	h := r.Header
	return h.Get("HX-Request") != "" && h.Get("HX-Target") != "" && h.Get("HX-Request-Type") != "full" &&
		h.Get("HX-Boosted") == "" && h.Get("HX-History-Restore-Request") == ""
}

// spoken is a language of the pages.
func spoken(l tenant.Language) string {
	if slices.Contains(languages, string(l)) {
		return string(l)
	}
	return languages[0]
}

// Policy is the content security policy of every page: our own files only, and nothing inside the page that
// runs.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; " +
	"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Secure sets the headers that every page has.
func Secure(h http.Header) {
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "HX-Request, HX-Request-Type")
}

// write renders a block of a page whole, and then writes it.
func (p *Page) write(w http.ResponseWriter, status int, found *page, block string) error {
	var b bytes.Buffer
	if err := p.render(&b, found, block); err != nil {
		return err
	}
	Secure(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the visitor may have left
	return nil
}

// tags are those of an amount in a title.
var tags = regexp.MustCompile(`<[^>]*>`)

// render runs a template. A window's title is text alone, so that it is made of the page's title first. A part that is left open would break what follows.
func (p *Page) render(b *bytes.Buffer, found *page, block string) error {
	shown, err := found.again()
	if err != nil {
		return err
	}
	if block == p.Frame.Name && found.blocks["title"] {
		if err := shown.ExecuteTemplate(b, "title", p); err != nil {
			return fmt.Errorf("dashboard: %w", err)
		}
		p.Frame.Title = html.UnescapeString(tags.ReplaceAllString(b.String(), ""))
		b.Reset()
	}
	if err := shown.ExecuteTemplate(b, block, p); err != nil {
		return fmt.Errorf("dashboard: %w", err)
	}
	if open := *p.open; len(open) > 0 {
		return fmt.Errorf("dashboard: block %s does not close the part %s", block, open[len(open)-1])
	}
	return nil
}
