// Package apireference is the API reference page at /docs: HTML made once, on the first
// request, from the service's OpenAPI document. It loads nothing from other hosts, works
// without scripts, and knows nothing about the API beyond the document.
package apireference

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"sync"

	"github.com/cascadapay/cascada/internal/web"
)

//go:embed assets
var assets embed.FS

// policy forbids everything except our own style and script.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Reference is the API reference of a service.
type Reference struct {
	http.Handler
	page func() (page, error)
}

// guarded adds the policy.
func guarded(f *web.File) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		f.ServeHTTP(w, r)
	})
}

// New returns the reference of an OpenAPI 3.1 document, to be mounted at /docs and
// /docs/.
func New(spec func() ([]byte, error)) (*Reference, error) {
	text, err := template.New("page.html").ParseFS(assets, "assets/page.html")
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	read := sync.OnceValues(func() (page, error) {
		d, err := readDocument(spec)
		return newPage(d), err
	})
	made := sync.OnceValues(func() (*web.File, error) { return render(text, read) })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /docs", func(w http.ResponseWriter, r *http.Request) {
		f, err := made()
		if err != nil {
			panic(err) // our own bug: the server logs it
		}
		guarded(f).ServeHTTP(w, r)
	})
	mux.Handle("GET "+CollectionPath, newCollection(spec))
	mux.Handle("GET /docs/{$}", http.RedirectHandler("/docs", http.StatusMovedPermanently))
	for path, kind := range map[string]string{
		"style.css": "text/css; charset=utf-8", "script.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		body, err := assets.ReadFile("assets/" + path)
		if err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
		mux.Handle("GET /docs/"+path, guarded(web.NewFile(kind, body)))
	}
	return &Reference{mux, read}, nil
}

// readDocument reads the document.
func readDocument(spec func() ([]byte, error)) (document, error) {
	doc, err := spec()
	if err != nil {
		return document{}, err
	}
	var tree map[string]any
	if err := json.Unmarshal(doc, &tree); err != nil {
		return document{}, fmt.Errorf("reference: %w", err)
	}
	return document{tree}, nil
}

func render(text *template.Template, read func() (page, error)) (*web.File, error) {
	p, err := read()
	if err != nil {
		return nil, err
	}
	var html bytes.Buffer
	if err := text.Execute(&html, p); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	return web.NewFile("text/html; charset=utf-8", html.Bytes()), nil
}
