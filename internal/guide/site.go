package guide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"strings"
	"sync"

	"github.com/cascadapay/cascada/internal/web"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// policy forbids everything except our own style and scripts.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// site makes the files of the guides.
type site struct {
	address   string
	list      []Guide
	layout    *template.Template
	reference Reference
}

// Kinds of files.
const (
	ofHTML     = "text/html; charset=utf-8"
	ofMarkdown = "text/markdown; charset=utf-8"
	ofText     = "text/plain; charset=utf-8"
	ofJSON     = "application/json"
)

func (s site) handler() (http.Handler, error) {
	mux := http.NewServeMux()
	serve := func(path, kind string, body []byte) { mux.Handle("GET "+path, guarded(web.NewFile(kind, body))) }
	for name, kind := range map[string]string{"guide.css": "text/css; charset=utf-8", "guide.js": "text/javascript; charset=utf-8"} {
		body, err := files.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		serve("/docs/guides/"+name, kind, body)
	}
	var index, all strings.Builder
	fmt.Fprintf(&index, "# Cascada\n\n> Payments in Latin America through one API: PIX, SPEI, OXXO, PSE, boleto, cash and cards, with a hosted checkout, refunds, disputes, payouts and signed webhooks.\n\nThe API's root is %s/api/v1. Each of these pages is Markdown at its address with .md.\n\n## Guides\n\n", s.address)
	var sections []web.Section
	for _, g := range s.list {
		markdown, err := g.Markdown(s.address)
		if err != nil {
			return nil, err
		}
		page, found, err := s.page(g)
		if err != nil {
			return nil, err
		}
		serve("/docs/guides/"+g.Name, ofHTML, page)
		serve("/docs/guides/"+g.Name+".md", ofMarkdown, []byte(markdown))
		fmt.Fprintf(&index, "- [%s](%s/docs/guides/%s.md): %s\n", g.Title, s.address, g.Name, g.About)
		all.WriteString(markdown + "\n\n")
		sections = append(sections, found...)
	}
	fmt.Fprintf(&index, "\n## Reference\n\n- [API reference](%s/docs.md): every operation, event and error\n- [OpenAPI document](%s/api/openapi.json)\n- [Collection for Postman](%s/docs/cascada.postman_collection.json)\n\n## Optional\n\n- [Everything in one file](%s/llms-full.txt)\n", s.address, s.address, s.address, s.address)
	contents, err := s.contents()
	if err != nil {
		return nil, err
	}
	serve("/docs/guides", ofHTML, contents)
	serve("/llms.txt", ofText, []byte(index.String()))
	mux.Handle("GET /docs/guides/{$}", http.RedirectHandler("/docs/guides", http.StatusMovedPermanently))
	// The reference is made when somebody reads it.
	later(mux, "/docs.md", ofMarkdown, s.reference.Markdown)
	later(mux, "/llms-full.txt", ofText, func() (string, error) {
		reference, err := s.reference.Markdown()
		return all.String() + reference, err
	})
	later(mux, "/docs/search.json", ofJSON, func() (string, error) {
		more, err := s.reference.Sections()
		if err != nil {
			return "", err
		}
		index, err := json.Marshal(append(sections, more...))
		return string(index), err
	})
	return mux, nil
}

// later serves a file that is made on the first request.
func later(mux *http.ServeMux, path, kind string, read func() (string, error)) {
	file := sync.OnceValues(func() (*web.File, error) {
		text, err := read()
		return web.NewFile(kind, []byte(text)), err
	})
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		f, err := file()
		if err != nil {
			panic(err) // our own bug: the server logs it
		}
		guarded(f).ServeHTTP(w, r)
	})
}

// guarded adds the policy.
func guarded(f *web.File) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		f.ServeHTTP(w, r)
	})
}

// view is what the template shows.
type view struct {
	Guides []Guide
	Guide  *Guide // nil in the contents
	Body   template.HTML
	Next   *Guide
}

func (s site) contents() ([]byte, error) { return s.execute(view{Guides: s.list}) }

func (s site) execute(v view) ([]byte, error) {
	var b bytes.Buffer
	if err := s.layout.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("guides: %w", err)
	}
	return b.Bytes(), nil
}

// markdown reads the guides' Markdown. It lets no HTML through.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// page makes the page of a guide, and its sections for searches.
func (s site) page(g Guide) (page []byte, sections []web.Section, err error) {
	source := []byte(strings.ReplaceAll(g.text, example, s.address))
	tree := markdown.Parser().Parse(text.NewReader(source))
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, tree); err != nil {
		return nil, nil, fmt.Errorf("guide %s: %w", g.Name, err)
	}
	html := body.String()
	for _, name := range g.Names() {
		tabs, err := s.tabs(g, name)
		if err != nil {
			return nil, nil, err
		}
		html = strings.ReplaceAll(html, "<p>"+directive+name+"</p>", tabs)
	}
	html = strings.NewReplacer("<table>", `<div class="scroll" tabindex="0"><table>`, "</table>", "</table></div>", "<pre>", `<pre tabindex="0">`).Replace(html)
	v := view{Guides: s.list, Guide: &g, Body: template.HTML(html)} //nolint:gosec // of our own Markdown
	for i := range s.list[:len(s.list)-1] {
		if s.list[i].Name == g.Name {
			v.Next = &s.list[i+1]
		}
	}
	page, err = s.execute(v)
	return page, sectionsOf(g, tree, source), err
}

// tabs shows a snippet in each language.
func (s site) tabs(g Guide, name string) (string, error) {
	list, err := g.Snippets(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`<div class="tabs">`)
	for _, of := range list {
		code := html.EscapeString(strings.ReplaceAll(of.Code, example, s.address))
		fmt.Fprintf(&b, `<figure data-language="%s"><figcaption>%s</figcaption><pre tabindex="0"><code>%s</code></pre></figure>`, of.Ending, of.Name, code)
	}
	return b.String() + "</div>", nil
}

// sectionsOf splits a guide at its headings.
func sectionsOf(g Guide, tree ast.Node, source []byte) (list []web.Section) {
	at := web.Section{Page: g.Title, Title: g.Title, URL: "/docs/guides/" + g.Name}
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			at.Text += wordsOf(n, source) + " "
			continue
		}
		if h.Level == 1 {
			continue
		}
		list = append(list, at)
		at = web.Section{Page: g.Title, Title: wordsOf(h, source), URL: "/docs/guides/" + g.Name}
		if id, ok := h.AttributeString("id"); ok {
			name, _ := id.([]byte)
			at.URL += "#" + string(name)
		}
	}
	return append(list, at)
}

// wordsOf is the text of a node.
func wordsOf(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it never fails
		if !entering {
			return ast.WalkContinue, nil
		}
		switch t := n.(type) {
		case *ast.Text:
			b.Write(t.Segment.Value(source))
			b.WriteByte(' ')
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				b.Write(line.Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
