// Package apireference is the API reference page at /docs: HTML made once, on the first
// request, from the service's OpenAPI document. It loads nothing from other hosts, works
// without scripts, and knows nothing about the API beyond the document.
package apireference

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"sync"
)

//go:embed assets
var assets embed.FS

// policy forbids everything except our own style and script.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// file is a complete answer.
type file struct {
	kind string
	body []byte
	tag  string
}

func newFile(kind string, body []byte) file {
	sum := sha256.Sum256(body)
	return file{kind, body, `"` + hex.EncodeToString(sum[:8]) + `"`}
}

// ServeHTTP implements http.Handler.
func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(f.body)))
	_, _ = w.Write(f.body) // the reader may have left
}

// New returns the page of an OpenAPI 3.1 document, to be mounted at /docs and
// /docs/.
func New(spec func() ([]byte, error)) (http.Handler, error) {
	text, err := template.New("page.html").ParseFS(assets, "assets/page.html")
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	page := sync.OnceValues(func() (file, error) { return render(text, spec) })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /docs", func(w http.ResponseWriter, r *http.Request) {
		f, err := page()
		if err != nil {
			panic(err) // our own bug: the server logs it
		}
		f.ServeHTTP(w, r)
	})
	mux.Handle("GET /docs/{$}", http.RedirectHandler("/docs", http.StatusMovedPermanently))
	for path, kind := range map[string]string{
		"style.css": "text/css; charset=utf-8", "script.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		body, err := assets.ReadFile("assets/" + path)
		if err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
		mux.Handle("GET /docs/"+path, newFile(kind, body))
	}
	return mux, nil
}

func render(text *template.Template, spec func() ([]byte, error)) (file, error) {
	doc, err := spec()
	if err != nil {
		return file{}, err
	}
	var tree map[string]any
	if err := json.Unmarshal(doc, &tree); err != nil {
		return file{}, fmt.Errorf("reference: %w", err)
	}
	var html bytes.Buffer
	if err := text.Execute(&html, newPage(document{tree})); err != nil {
		return file{}, fmt.Errorf("reference: %w", err)
	}
	return newFile("text/html; charset=utf-8", html.Bytes()), nil
}
