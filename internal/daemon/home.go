package daemon

import (
	"errors"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/api"
	"github.com/cascadapay/cascada/internal/apireference"
	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/guide"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/web"
)

// Production reports whether a service is public: then it has no demo merchant, because the
// log would hold the merchant's secret.
func Production(publicURL string) bool {
	return strings.HasPrefix(strings.ToLower(publicURL), "https://")
}

// newHome is the page at /, and /demo, which opens a new checkout of the demo merchant.
func newHome(c Config, a *app.App) (http.Handler, error) {
	demo := c.Demo && !Production(c.PublicURL)
	page, err := apireference.NewHome(apireference.Home{Version: c.Version, API: c.PublicURL + api.Base, Demo: demo})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.HandleFunc("/demo", func(w http.ResponseWriter, r *http.Request) {
		if !demo {
			answer(w, http.StatusNotFound, "this service has no demo")
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			answer(w, http.StatusMethodNotAllowed, "open this page with GET")
			return
		}
		token, err := a.DemoCheckout(r.Context())
		switch {
		case errors.Is(err, store.ErrNotFound):
			answer(w, http.StatusNotFound, "this service has no demo merchant: one is created only on an empty database")
		case web.ClientLeft(r.Context(), err):
		case err != nil:
			c.Log.ErrorContext(r.Context(), "no demo checkout was opened", "error", err)
			answer(w, http.StatusServiceUnavailable, "no checkout can be opened now: try again in a moment")
		default:
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, "/checkout/"+token, http.StatusSeeOther)
		}
	})
	return mux, nil
}

// docsPaths are the patterns of what newDocs serves.
var docsPaths = append([]string{"/docs", "/docs/"}, guide.Paths()...)

// newDocs serves the reference of the API and the guides.
func newDocs(c Config, document func() ([]byte, error)) (http.Handler, error) {
	reference, err := apireference.New(document)
	if err != nil {
		return nil, err
	}
	guides, mux := guide.New(c.PublicURL, reference), http.NewServeMux()
	mux.Handle("/", reference)
	for _, path := range guide.Paths() {
		mux.Handle(path, guides)
	}
	return web.Routed(mux), nil
}
