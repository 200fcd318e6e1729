//go:build gallery

package frame

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// gallery serves all parts with sample data.
func gallery(t *testing.T) *http.ServeMux {
	f, r := start(t)
	mux := http.NewServeMux()
	f.Assets(mux)
	show := func(path, name string, live bool) {
		for _, lang := range []string{"en", "es", "pt"} {
			mux.HandleFunc("GET /"+lang+path, func(w http.ResponseWriter, req *http.Request) {
				v := visit(strings.TrimPrefix(path, "/"), live, spokenLanguage(lang))
				if err := r.Show(w, req, v, name, sample()); err != nil {
					f.Problem(w, req, v, err)
				}
			})
		}
	}
	show("/home", "home", false)
	show("/payments", "list", true)
	show("/payments/TXN-1", "detail", false)
	show("/webhooks/new", "form", true)
	show("/team/x", "inner", true)
	for _, env := range []string{"sandbox", "production"} {
		for path, name := range map[string]string{"": "home", "/payments": "list", "/payments/{id}": "detail", "/webhooks": "form"} {
			mux.HandleFunc("GET /dashboard/shp_1/"+env+path, func(w http.ResponseWriter, req *http.Request) {
				v := visit(strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, "/dashboard/shp_1/"+env), "/"), env == "production", "en")
				if err := r.Fragment(w, req, v, name, "content", sample()); err != nil {
					f.Problem(w, req, v, err)
				}
			})
		}
	}
	mux.HandleFunc("GET /dashboard/shp_1/{env}/live", func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "data: <p>It is live</p>\n\n")
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	})
	mux.HandleFunc("GET /dashboard/shp_1/{env}/more", func(w http.ResponseWriter, req *http.Request) {
		_, _ = fmt.Fprint(w, "<p id=\"more\">There is more</p>")
	})
	mux.HandleFunc("POST /dashboard/", func(w http.ResponseWriter, req *http.Request) {
		f.Flash(w, "g_saved", "id", "TXN-1")
		http.Redirect(w, req, "/dashboard/shp_1/sandbox", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /console", func(w http.ResponseWriter, req *http.Request) {
		if err := r.Show(w, req, console("merchants/mer_1"), "list", sample()); err != nil {
			f.Problem(w, req, nil, err)
		}
	})
	mux.HandleFunc("GET /signin", func(w http.ResponseWriter, req *http.Request) {
		if err := r.Show(w, req, nil, "signin", nil); err != nil {
			f.Problem(w, req, nil, err)
		}
	})
	mux.HandleFunc("GET /problem", func(w http.ResponseWriter, req *http.Request) {
		f.Problem(w, req, visit("payments/x", true, "en"), message.Refusal(problem.TransactionNotFound, "there is no payment TXN-9"))
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, req *http.Request) {
		f.Problem(w, req, visit("x", false, "en"), message.Refusal(problem.NotFound, "there is no such page"))
	})
	return mux
}

// TestGallery serves the gallery at GALLERY (host:port) until it is stopped, or takes pictures of it into the
// directory SHOTS, and looks for what is not accessible. ONLY keeps the paths that have it.
func TestGallery(t *testing.T) {
	address := os.Getenv("GALLERY")
	if address != "" {
		t.Log(http.ListenAndServe(address, gallery(t)))
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = http.Serve(listener, gallery(t)) }()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("force-prefers-reduced-motion", true), chromedp.Flag("hide-scrollbars", true), chromedp.WSURLReadTimeout(time.Minute))
	parent, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	tab, end := chromedp.NewContext(parent)
	defer end()
	if err := chromedp.Do(tab, chromedp.Navigate("about:blank")); err != nil { // the browser lives as long as this context
		t.Fatal(err)
	}
	axe, err := os.ReadFile("../../../bin/spec/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv("SHOTS")
	for name, path := range map[string]string{
		"home": "/en/home", "list": "/en/payments?status=completed", "list-es": "/es/payments", "detail": "/en/payments/TXN-1", "form": "/pt/webhooks/new", "inner": "/es/team/x",
		"console": "/console", "signin": "/signin?lang=pt", "menu": "/en/payments#!.bar [popovertarget=side]", "dialog": "/en/payments/TXN-1#![data-dialog=refund]", "palette": "/es/payments#![data-dialog=palette]",
		"shops": "/pt/home#!.switcher>summary", "user": "/es/home#!.menu.end+.menu.end>summary", "shortcuts": "/es/home#![data-dialog=shortcuts]", "problem": "/problem",
	} {
		if !strings.Contains(path, os.Getenv("ONLY")) {
			continue
		}
		for _, size := range [][2]int64{{390, 844}, {1280, 800}, {360, 740}} {
			for _, colours := range []string{"light", "dark"} {
				look(t, tab, "http://"+listener.Addr().String()+path, string(axe), filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, size[0], colours)), size, colours)
			}
		}
	}
}

// look takes a picture, and runs axe.
func look(t *testing.T, tab context.Context, url, axe, file string, size [2]int64, colours string) {
	t.Helper()
	if size[0] == 360 && colours == "dark" {
		return
	}
	tab, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	err := chromedp.Listen(tab, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("%s: %s", url, ev.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if strings.Contains(ev.Entry.Text, "Content Security Policy") {
				t.Errorf("%s: %s", url, ev.Entry.Text)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(tab, chromedp.EmulateViewport(size[0], size[1], chromedp.EmulateScale(1)), chromedp.Navigate("about:blank"), chromedp.Navigate(url), chromedp.Sleep(400*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, selector, found := strings.Cut(url, "#!"); found {
		if _, err := chromedp.Run(tab, chromedp.Evaluate[bool]("(e => e.classList.contains(\"phone-only\") && e.offsetParent === null || e.click())(document.querySelector('"+selector+"')), true")); err != nil {
			t.Fatal(err)
		}
	}
	wide, err := chromedp.Run(tab, chromedp.Evaluate[int64]("document.documentElement.scrollWidth"))
	if err != nil || wide > size[0] {
		t.Errorf("%s is %d wide on a screen of %d: %v", url, wide, size[0], err)
	}
	if size[0] != 360 && filepath.Dir(file) != "." {
		whole := chromedp.FullScreenshot(100)
		if strings.Contains(url, "#!") {
			whole = chromedp.CaptureScreenshot()
		}
		png, err := chromedp.Run(tab, whole)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](axe+"; true")); err != nil {
		t.Fatal(err)
	}
	found, err := chromedp.Run(tab, chromedp.Evaluate[string](`axe.run(document, {resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then((found) => found.violations.flatMap(
  (v) => v.nodes.map((n) => v.id + ' (' + v.help + '): ' + n.html.slice(0, 200) + ': ' + n.failureSummary)).join('\n'))`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	if found != "" {
		t.Errorf("%s at %d in %s colours:\n%s", url, size[0], colours, found)
	}
}
