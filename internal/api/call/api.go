// Package call carries out calls of the merchants' API, whatever they ask for: it knows who calls and with which rights, counts calls,
// waits for bodies, shows errors, and has the parts of requests that several rooms read. The endpoints are in the rooms beside it, one
// for each noun.
package call

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Uses are the use cases that every call needs.
type Uses struct {
	*base.Base
	Access *auth.Access
	Offer  Offer
}

// API has the registered endpoints.
type API struct {
	Gate *gate.Gate
	Log  *slog.Logger
	Huma huma.API
	Mux  *http.ServeMux
	uses Uses

	needs    map[string]Access                     // by operation id
	browsers map[string]bool                       // patterns of the operations that pages of any origin may use
	tighten  []func(paths, schemas map[string]any) // what the rooms change in the published document
}

// New returns an API without endpoints.
func New(u Uses, log *slog.Logger, config huma.Config, gate *gate.Gate) *API {
	a := &API{Gate: gate, Log: log, Mux: http.NewServeMux(), uses: u, needs: map[string]Access{}, browsers: map[string]bool{}}
	// A request refused before its credentials are checked counts as a stranger's.
	refuse := func(w http.ResponseWriter, r *http.Request, err error) {
		gate.Strangers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.WriteError(w, r, err) }), a.WriteError).ServeHTTP(w, r)
	}
	a.Huma = humago.NewWithPrefix(wire.Mux{ServeMux: a.Mux, Refuse: refuse}, view.Base, config)
	a.Huma.UseMiddleware(a.admit)
	return a
}

// Needs is which credentials an operation requires.
func (a *API) Needs(operation string) Access { return a.needs[operation] }

// Tighten lets a room add the constraints that huma does not validate to the published document: violations have their own codes or are
// clamped.
func (a *API) Tighten(change func(paths, schemas map[string]any)) {
	a.tighten = append(a.tighten, change)
}

// Tightened makes all rooms' changes to the published document.
func (a *API) Tightened(paths, schemas map[string]any) {
	for _, change := range a.tighten {
		change(paths, schemas)
	}
}

// ForPages reports whether pages of any origin may read the reply to a request: that of an operation for browsers, but not with a secret
// key, which must not be in a page.
func (a *API) ForPages(r *http.Request, method string) bool {
	of := r.Clone(r.Context())
	of.Method = method
	_, pattern := a.Mux.Handler(of)
	_, credential, sent := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	return a.browsers[pattern] && (!sent || strings.HasPrefix(strings.TrimSpace(credential), "pk_"))
}
