package frame

import (
	"bytes"
	"cmp"
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
	"time"

	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Pages is the pages of one part of the dashboard, with their texts.
type Pages struct {
	frame *Frame
	texts map[string]texts // the room's, by language
	files fs.FS
	names map[string][]string    // the files of each page, by its name
	clock func(*Visit) time.Time // by which ages are computed; nil: the frame's
}

// TimedBy tells ages and deadlines by the clock of what the pages show: in the sandbox the merchant's test clock
// (SBX-12).
func (pg *Pages) TimedBy(s *Site) *Pages {
	pg.clock = func(v *Visit) time.Time { return s.Uses.TimeOf(v.Scope) }
	return pg
}

// page is a template with its layout.
type page struct {
	template *template.Template
	blocks   map[string]bool // that its files define
}

// NewPages makes a room of its files: templates/<page>.html, which define the blocks that templates/parts.html of this
// package lists; templates/_<name>.html, whose templates all pages of the room have; and text/<language>.json. It
// returns an error for a text that a language lacks. Check finds mistakes in the pages.
// Items are added to the navigation of all pages.
func (f *Frame) NewPages(files fs.FS, items ...Item) (*Pages, error) {
	own, err := textsOf(files)
	if err != nil {
		return nil, err
	}
	r := &Pages{frame: f, files: files, texts: own, names: map[string][]string{}}
	for key := range own[languages[0]] { // the others have the same keys
		if _, known := f.texts[languages[0]][key]; known {
			return nil, fmt.Errorf("dashboard: the frame has the text %q already: use it, or choose another key", key)
		}
	}
	more, err := f.label(items, r.text)
	if err != nil {
		return nil, err
	}
	f.items = append(f.items, more...)
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	shared := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(path.Base(name), "_") })
	for _, file := range names {
		if slices.Contains(shared, file) {
			continue
		}
		name := strings.TrimSuffix(path.Base(file), ".html")
		r.names[name] = append([]string{file}, shared...)
	}
	f.rooms = append(f.rooms, r)
	return r, nil
}

// read parses the files of a page.
func (pg *Pages) read(name string) (*page, error) {
	if err := pg.frame.parsed(); err != nil {
		return nil, err
	}
	own := template.New("").Funcs(pg.frame.functions())
	for _, file := range pg.names[name] {
		body, err := fs.ReadFile(pg.files, file)
		if err != nil {
			return nil, err
		}
		if _, err := own.New(file).Parse(string(body)); err != nil {
			return nil, fmt.Errorf("dashboard page %s: %w", name, err)
		}
	}
	p := &page{blocks: map[string]bool{}}
	var err error
	if p.template, err = pg.frame.base.Clone(); err != nil {
		return nil, err
	}
	for _, t := range own.Templates() {
		if t.Tree == nil || t.Name() == "" || strings.HasSuffix(t.Name(), ".html") {
			continue
		}
		p.blocks[t.Name()] = true
		if _, err := p.template.AddParseTree(t.Name(), t.Tree); err != nil {
			return nil, err
		}
	}
	if !p.blocks["content"] {
		return nil, fmt.Errorf("dashboard page %s does not define the block content", name)
	}
	return p, nil
}

// text is a sentence of the room or of the frame.
func (pg *Pages) text(lang, key string) (sentence string, known bool) {
	if sentence, known = pg.texts[lang][key]; !known {
		return pg.frame.text(lang, key)
	}
	return sentence, known
}

// mostShown is how many pages are kept once they are read. All pages together would be half of what the garbage
// collector looks at while the service takes payments; to read a page takes some milliseconds.
const mostShown = 24

// pageKey names a page among all rooms.
type pageKey struct {
	room *Pages
	page string
}

// find returns a page that has a block; "" stands for any.
func (pg *Pages) find(name, block string) (*page, error) {
	p, kept := pg.frame.shown.Get(pageKey{pg, name})
	if !kept {
		if _, known := pg.names[name]; !known {
			return nil, fmt.Errorf("dashboard: there is no page %q", name)
		}
		var err error
		if p, err = pg.read(name); err != nil {
			return nil, err
		}
		pg.frame.shown.Add(pageKey{pg, name}, p)
	}
	if block != "" && !p.blocks[block] {
		return nil, fmt.Errorf("dashboard: the page %q has no block %q", name, block)
	}
	return p, nil
}

// Show writes a page.
func (pg *Pages) Show(w http.ResponseWriter, req *http.Request, v *Visit, name string, data any) error {
	return pg.ShowStatus(w, req, v, http.StatusOK, name, data)
}

// ShowStatus writes a page with a status. v is nil for a page of nobody, such as the one to sign in.
func (pg *Pages) ShowStatus(w http.ResponseWriter, req *http.Request, v *Visit, status int, name string, data any) error {
	found, err := pg.find(name, "")
	if err != nil {
		return err
	}
	p := pg.page(req, v, data)
	p.layout(w, req, found)
	return p.write(w, status, found, p.Frame.Name)
}

// Fragment writes one block of a page, if htmx asks for a part of a page; else it writes the page.
func (pg *Pages) Fragment(w http.ResponseWriter, req *http.Request, v *Visit, name, block string, data any) error {
	found, err := pg.find(name, block)
	if err != nil {
		return err
	}
	if !Partial(req) {
		return pg.Show(w, req, v, name, data)
	}
	return pg.page(req, v, data).write(w, http.StatusOK, found, block)
}

// Block is the HTML of one block of a page, for a message of a stream of events.
func (pg *Pages) Block(req *http.Request, v *Visit, name, block string, data any) (string, error) {
	found, err := pg.find(name, block)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = pg.page(req, v, data).render(&b, found, block)
	return b.String(), err
}

// Text is a sentence in the visitor's language, for what is no page: the heads of a CSV file, an error of a
// form. It is plain text.
func (pg *Pages) Text(v *Visit, key string, args ...any) string {
	lang := languages[0]
	if v != nil {
		lang = spoken(v.Language())
	}
	pairs := make([]string, 0, len(args))
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, "{"+fmt.Sprint(args[i])+"}", fmt.Sprint(args[i+1]))
	}
	sentence, known := pg.text(lang, key)
	if !known {
		sentence = key
	}
	return strings.NewReplacer(pairs...).Replace(sentence)
}

// actPrefix begins the key of the text that names an act of the audit log.
const actPrefix = "act_"

// Act is the name of an act of the audit log in the visitor's language, as plain text.
func (pg *Pages) Act(v *Visit, act audit.Act) string { return pg.Text(v, actPrefix+string(act)) }

// Acts are the choices of a filter by act: all of them, in the order of their names.
func (pg *Pages) Acts(v *Visit) (list []Option) {
	for key := range pg.frame.texts[languages[0]] {
		if act, ok := strings.CutPrefix(key, actPrefix); ok {
			list = append(list, Option{Value: act, Label: pg.Act(v, audit.Act(act))})
		}
	}
	slices.SortFunc(list, func(x, y Option) int { return cmp.Compare(x.Label, y.Label) })
	return list
}

// Pages lists the names of the room's pages, for tests.
func (pg *Pages) Pages() []string { return slices.Sorted(maps.Keys(pg.names)) }

// Partial reports whether htmx asks for a part of a page. A link that htmx follows asks for a whole one.
func Partial(r *http.Request) bool {
	h := r.Header
	return h.Get("HX-Request") != "" && h.Get("HX-Target") != "" && h.Get("HX-Request-Type") != "full" &&
		h.Get("HX-Boosted") == "" && h.Get("HX-History-Restore-Request") == ""
}

// spoken is a language of the pages.
func spoken(l merchants.Language) string {
	if slices.Contains(languages, string(l)) {
		return string(l)
	}
	return languages[0]
}

// Policy is the content security policy of every page: our own files only, and no code inside the page.
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

// render runs a template. A window's title is text alone, so it is made of the page's title first. A part that is left
// open would break what follows.
func (p *Page) render(b *bytes.Buffer, found *page, block string) error {
	if block == p.Frame.Name && found.blocks["title"] {
		if err := found.template.ExecuteTemplate(b, "title", p); err != nil {
			return fmt.Errorf("dashboard: %w", err)
		}
		p.Frame.Title = html.UnescapeString(tags.ReplaceAllString(b.String(), ""))
		b.Reset()
	}
	if err := found.template.ExecuteTemplate(b, block, p); err != nil {
		return fmt.Errorf("dashboard: %w", err)
	}
	if open := *p.open; len(open) > 0 {
		return fmt.Errorf("dashboard: block %s does not close the part %s", block, open[len(open)-1])
	}
	return nil
}
