// Package checkout is the pages for shoppers: the choice of a method, how to pay (a QR
// code, account, voucher or bank), the result of a payment, and the simulated banks of
// sandbox payments.
//
// Pages are made on the server and work without JavaScript; a small script adds copy
// buttons, the countdown and live status. Pages load nothing from elsewhere, and show
// nothing of the provider except the form to which they redirect. The package decides
// nothing: it calls the use cases of internal/app.
package checkout

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// Pages serves the shopper's pages.
type Pages struct {
	uses Uses
	log  *slog.Logger
	base string // the service's own address, independent of request headers
	root string // the path of base, before every link
	files
	watchers *watchers
	address  func(*http.Request) string // the address under which a request is counted
	serving  context.Context            // ends with End
	end      context.CancelFunc
}

// files are what pages are made of.
type files struct {
	texts     map[string]text
	templates map[string]*template.Template
	assets    map[string]asset
}

// End ends the streams of live updates. Their pages then connect to another node.
func (p *Pages) End() { p.end() }

// asset is a file with its name in pages, which changes with its contents.
type asset struct {
	path string
	kind string
	sum  string // of the body
	body []byte
}

// New returns the pages of a service with the public address base. from returns the address
// under which a request is counted.
func New(u Uses, log *slog.Logger, base string, from func(*http.Request) string) (*Pages, error) {
	address, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	read, err := readFiles()
	if err != nil {
		return nil, err
	}
	p := &Pages{
		uses: u, log: log, base: base, root: strings.TrimSuffix(address.Path, "/"), files: read,
		watchers: newWatchers(u.Sessions.Versions, log), address: from,
	}
	p.serving, p.end = context.WithCancel(context.Background())
	return p, nil
}

// shopScript is the file that shops load into their own pages, at an address that stays.
const (
	shopScript = "cascada.js"
	script     = "text/javascript; charset=utf-8"
)

// readFiles reads the files, once in a process.
var readFiles = sync.OnceValues(func() (f files, err error) {
	f = files{templates: map[string]*template.Template{}, assets: map[string]asset{}}
	if f.texts, err = readTexts(); err != nil {
		return f, err
	}
	for name, kind := range map[string]string{"checkout.css": "text/css; charset=utf-8", "noscript.css": "text/css; charset=utf-8", "checkout.js": script, "frame.js": script, shopScript: script, "icon.svg": "image/svg+xml"} {
		body, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			return f, err
		}
		digest := sha256.Sum256(body)
		sum := hex.EncodeToString(digest[:6])
		f.assets[name] = asset{"/checkout/assets/" + sum + "-" + name, kind, sum, body}
	}
	for _, name := range []string{"payment", "bank", "selector", "link", "problem"} {
		t, err := template.New("page.html").Funcs(template.FuncMap{"field": newField, "list": newList, "entry": newEntry}).ParseFS(templateFiles, "templates/page.html", "templates/"+name+".html")
		if err != nil {
			return f, fmt.Errorf("checkout page %s: %w", name, err)
		}
		f.templates[name] = t
	}
	return f, nil
})

// Register adds the pages to the public listener. limit wraps the pages that read the
// database.
func (p *Pages) Register(mux *http.ServeMux, limit func(http.Handler) http.Handler) {
	route := func(pattern string, serve func(http.ResponseWriter, *http.Request) error) {
		mux.Handle(pattern, limit(p.guard(serve)))
	}
	route("GET /checkout/{token}", p.choose)
	route("POST /checkout/{token}", p.selectMethod)
	route("GET /l/{id}", p.link)
	route("POST /l/{id}", p.begin)
	route("GET /l/{id}/qr.svg", p.linkQR)
	route("GET /c/{id}", p.form)
	route("GET /pay/{id}", p.payment)
	route("POST /pay/{id}/again", p.again)
	route("POST /pay/{id}/change", p.change)
	route("POST /pay/{id}/retry", p.retry)
	for _, posted := range []string{"again", "change", "retry"} { // where a reload after a POST leads
		route("GET /pay/{id}/"+posted, func(w http.ResponseWriter, r *http.Request) error {
			p.see(w, r, "/pay/"+url.PathEscape(r.PathValue("id")))
			return nil
		})
	}
	route("GET /pay/{id}/live", p.watch)
	route("GET /pay/{id}/state", p.state)
	for _, part := range []string{"GET /checkout/{$}", "GET /pay/{$}", "GET /c/{$}", "GET /l/{$}"} { // a truncated link
		route(part, func(http.ResponseWriter, *http.Request) error {
			return message.Refusal(problem.NotFound, "there is no such page")
		})
	}
	route("GET /pay/{id}/qr.svg", p.qr)
	route("GET /pay/{id}/barcode.svg", p.barcode)
	route("GET /checkout/brand/{style}", p.style)
	route("GET /checkout/logos/{id}", p.logo)
	route("GET /sandbox/bank/{id}", p.bank)
	route("POST /sandbox/bank/{id}", p.decide)
	for _, a := range p.assets {
		mux.HandleFunc("GET "+a.path, func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h.Set("Content-Type", a.kind)
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
			h.Set("X-Content-Type-Options", "nosniff")
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
		})
	}
	mux.HandleFunc("GET /"+shopScript, func(w http.ResponseWriter, r *http.Request) {
		a, h := p.assets[shopScript], w.Header()
		h.Set("Content-Type", a.kind)
		h.Set("Cache-Control", "public, max-age=3600")
		h.Set("ETag", `"`+a.sum+`"`)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		h.Set("Access-Control-Allow-Origin", "*") // for a script tag with integrity
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
	})
}

// policy is the content security policy of every page: our own files only.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'"

// leaving is the policy of the page whose form ends at the provider: browsers apply
// form-action to redirects too.
const leaving = policy + " https:"

// secure sets a policy that allows the shop's own origins to embed the page.
func secure(w http.ResponseWriter, policy string, b merchants.Brand) {
	h, frames := w.Header(), "'none'"
	h.Set("X-Frame-Options", "DENY")
	if len(b.Frames) > 0 {
		frames = strings.Join(b.Frames, " ")
		h.Del("X-Frame-Options") // this header cannot list origins
	}
	h.Set("Content-Security-Policy", policy+"; frame-ancestors "+frames)
}

// guard sets the common headers of every page, refuses card numbers, and shows errors as pages.
func (p *Pages) guard(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return web.Recover(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		secure(w, policy, merchants.Brand{})
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		err := noCard(r)
		if err == nil {
			err = serve(w, r)
		}
		if err != nil {
			p.problem(w, r, err)
		}
	}), p.log, func(w http.ResponseWriter, r *http.Request) { p.problem(w, r, errors.New("panic")) })
}

// problem shows what went wrong and what to do next. If the shopper has left the page, it
// logs nothing.
func (p *Pages) problem(w http.ResponseWriter, r *http.Request, err error) {
	if web.ClientLeft(r.Context(), err) {
		return
	}
	var shown *problem.Error
	status, kind := http.StatusInternalServerError, "fault"
	if errors.As(err, &shown) {
		switch shown.Code {
		case problem.TransactionNotFound, problem.NotFound:
			status, kind = http.StatusNotFound, "unknown"
			if strings.Contains(r.Pattern, "/l/") {
				kind = "link"
			}
		case problem.CheckoutSessionNotFound:
			status, kind = http.StatusNotFound, "session"
		case problem.ConflictState:
			status, kind = http.StatusConflict, "moved"
		case problem.InvalidRequest:
			status, kind = http.StatusBadRequest, "bad"
		case problem.ServiceUnavailable:
			status, kind = http.StatusServiceUnavailable, "busy"
		case problem.RateLimited:
			status, kind = http.StatusTooManyRequests, "busy"
		}
	}
	if errors.Is(err, errCard) {
		status, kind = http.StatusBadRequest, "card"
	}
	if errors.Is(err, errNoKey) {
		status, kind = http.StatusForbidden, "key"
	}
	if kind == "fault" {
		p.log.ErrorContext(r.Context(), "a checkout page failed", "route", r.Pattern, "error", err)
	}
	v := problemView{view: p.view(r, ""), Kind: kind}
	if kind == "session" { // for some weeks we know the shop that opened it
		s, shop, found, err := p.uses.Sessions.EndedSession(r.Context(), r.PathValue("token"))
		if err != nil {
			p.log.WarnContext(r.Context(), "an ended session cannot be read", "error", err)
		} else if found {
			v.view = p.view(r, s.Country)
			v.brand(p, shop)
			v.Back, v.BackHost = abandoned(s, shop)
			secure(w, policy, shop.Brand)
		}
	}
	v.Title = v.T("problem_" + kind + "_title")
	p.render(w, status, "problem", v)
}

// problemView is the page about an error.
type problemView struct {
	view
	Kind     string
	Back     template.URL // the shop's address, if it is known
	BackHost string
}

// render writes a page whole, or an error.
func (p *Pages) render(w http.ResponseWriter, status int, name string, data any) {
	var page bytes.Buffer
	if err := p.templates[name].Execute(&page, data); err != nil {
		p.log.Error("a checkout page cannot be made", "page", name, "error", err)
		http.Error(w, "something went wrong", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // the shopper may have left
}
