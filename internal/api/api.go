// Package api is the JSON API: it puts the rooms of the endpoints together, and publishes the OpenAPI document, which is made from the
// types of their requests and replies.
//
// It decides nothing about payments: a handler reads a request, calls one use case of internal/app, and
// shows the result.
package api

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/cascadapay/cascada/internal/api/auth"
	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/api/claims"
	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/api/merchants"
	"github.com/cascadapay/cascada/internal/api/methods"
	"github.com/cascadapay/cascada/internal/api/notices"
	"github.com/cascadapay/cascada/internal/api/openapi"
	"github.com/cascadapay/cascada/internal/api/payments"
	"github.com/cascadapay/cascada/internal/api/payouts"
	"github.com/cascadapay/cascada/internal/api/sandbox"
	"github.com/cascadapay/cascada/internal/api/settlements"
	"github.com/cascadapay/cascada/internal/api/verification"
	"github.com/cascadapay/cascada/internal/api/webhooks"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// Base is the API's root (VER-1).
const Base = view.Base

// ListenerAgent begins the User-Agent of the developers' command line (internal/devcli) while it waits for events.
const ListenerAgent = "cascada-listen/"

// API serves the merchants' endpoints.
type API struct {
	*call.API
	handler http.Handler

	// Document makes the published OpenAPI document, once.
	Document func() ([]byte, error)
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// registering is held while operations are registered: the services of one process share the schemas
// (openapi.Schemas).
var registering sync.Mutex

// New returns the API of a service. Requests already have ids (web.Identify). baseURL is the public address
// with Base.
func New(u Uses, log *slog.Logger, baseURL string, gate *gate.Gate) (*API, error) {
	wire.Adopt()
	config := huma.DefaultConfig("Cascada", view.APIVersion)
	config.OpenAPIPath, config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", "", nil
	config.AllowAdditionalPropertiesByDefault = true
	config.Components.Schemas = openapi.Schemas
	config.Formats = wire.Formats()
	config.Servers = []*huma.Server{{URL: baseURL}}
	api := register(u, log, config, gate)
	notFound := func(w http.ResponseWriter, r *http.Request) {
		api.WriteError(w, r, api.lost(r))
	}
	api.Mux.Handle("/", gate.Strangers(web.Unrouted(api.Mux, notFound,
		func(w http.ResponseWriter, r *http.Request) {
			api.WriteError(w, r, api.wrongMethod(w, r))
		}), api.WriteError))
	astray := gate.Strangers(http.HandlerFunc(notFound), api.WriteError)
	routes := web.Routed(api.Mux)
	routed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !web.Straight(r) {
			astray.ServeHTTP(w, r)
			return
		}
		routes.ServeHTTP(w, r)
	})
	handler := web.Recover(routed, log, func(w http.ResponseWriter, r *http.Request) {
		api.WriteError(w, r, wire.Fault())
	})
	api.handler = web.CrossOrigin(headed(handler, strings.TrimSuffix(baseURL, Base)+"/docs"), api.ForPages)
	return api, nil
}

// register registers the operations of all rooms and makes the document from them.
func register(u Uses, log *slog.Logger, config huma.Config, gate *gate.Gate) *API {
	registering.Lock()
	defer registering.Unlock()
	a := &API{API: call.New(u.Call, log, config, gate)}
	auth.Register(a.API, u.Auth)
	merchants.Register(a.API, u.Merchants)
	methods.Register(a.API, u.Methods)
	payments.Register(a.API, u.Payments)
	webhooks.Register(a.API, u.Webhooks)
	payouts.Register(a.API, u.Payouts)
	verification.Register(a.API, u.Verification)
	sandbox.Register(a.API, u.Sandbox)
	claims.Register(a.API, u.Claims)
	settlements.Register(a.API, u.Settlements)
	notices.Register(a.API, u.Notices)
	a.publish()
	return a
}

// publish serves the OpenAPI document (VER-2), made on the first request.
func (a *API) publish() {
	needs := func(id string) openapi.Credentials {
		need := a.Needs(id)
		return openapi.Credentials{Any: need != call.Open, Secret: need != call.Open && need != call.AnyKey}
	}
	a.Document = sync.OnceValues(openapi.Publish(a.Huma.OpenAPI(), needs, a.Tightened))
	a.Mux.Handle("GET /api/openapi.json", a.Gate.Strangers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := a.Document()
		if err != nil {
			panic(err) // a fault of ours: reported and logged like any other
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // the client may have gone
	}), a.WriteError))
}

// headed adds the API's version to each reply (VER-5), with those of web.Private. Errors link to the reference.
func headed(next http.Handler, reference string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Service-Version"] = []string{view.APIVersion}
		web.Private(w.Header())
		next.ServeHTTP(w, r.WithContext(wire.WithReference(r.Context(), reference)))
	})
}
