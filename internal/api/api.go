// Package api is the JSON API: routes, credentials, requests and replies, the table of errors, and the
// OpenAPI document, which is made from the same types.
//
// It decides nothing about payments: a handler reads a request, calls one use case of internal/app, and
// shows the result.
package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/api/openapi"
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Base is the API's root (VER-1).
const Base = view.Base

// ListenerAgent begins the User-Agent of the developers' command line (internal/devcli) while it waits for events.
const ListenerAgent = "cascada-listen/"

// API serves the merchants' endpoints.
type API struct {
	uses  Uses
	offer offer
	log   *slog.Logger
	gate  *gate.Gate
	huma  huma.API
	mux   *http.ServeMux

	needs    map[string]access // by operation id
	browsers map[string]bool   // patterns of the operations that pages of any origin may use
	exports  *limit.Places     // exports of payments in progress, by merchant

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
	api := &API{uses: u, offer: offered{u.Rates, u.Methods}, log: log, gate: gate, mux: http.NewServeMux(), needs: map[string]access{}, browsers: map[string]bool{}, exports: limit.NewPlaces(exports)}
	config := huma.DefaultConfig("Cascada", view.APIVersion)
	config.OpenAPIPath, config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", "", nil
	config.AllowAdditionalPropertiesByDefault = true
	config.Components.Schemas = openapi.Schemas
	config.Formats = wire.Formats()
	config.Servers = []*huma.Server{{URL: baseURL}}
	// A request refused before its credentials are checked counts as a stranger's.
	refuse := func(w http.ResponseWriter, r *http.Request, err error) {
		gate.Strangers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { api.writeError(w, r, err) }), api.writeError).ServeHTTP(w, r)
	}
	api.register(config, wire.Mux{ServeMux: api.mux, Refuse: refuse})
	api.mux.HandleFunc("POST "+Base+"/providers/{account}/notifications", api.notification)
	notFound := func(w http.ResponseWriter, r *http.Request) {
		api.writeError(w, r, api.lost(r))
	}
	api.mux.Handle("/", gate.Strangers(web.Unrouted(api.mux, notFound,
		func(w http.ResponseWriter, r *http.Request) {
			api.writeError(w, r, api.wrongMethod(w, r))
		}), api.writeError))
	astray := gate.Strangers(http.HandlerFunc(notFound), api.writeError)
	routes := web.Routed(api.mux)
	routed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !web.Straight(r) {
			astray.ServeHTTP(w, r)
			return
		}
		routes.ServeHTTP(w, r)
	})
	handler := web.Recover(routed, log, func(w http.ResponseWriter, r *http.Request) {
		api.writeError(w, r, wire.Fault())
	})
	api.handler = web.CrossOrigin(headed(handler, strings.TrimSuffix(baseURL, Base)+"/docs"), api.forPages)
	return api, nil
}

// forPages reports whether pages of any origin may read the reply to a request: that of an operation for browsers, but not with a secret
// key, which must not be in a page.
func (a *API) forPages(r *http.Request, method string) bool {
	of := r.Clone(r.Context())
	of.Method = method
	_, pattern := a.mux.Handler(of)
	_, credential, sent := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	return a.browsers[pattern] && (!sent || strings.HasPrefix(strings.TrimSpace(credential), "pk_"))
}

// register registers the operations and makes the document from them.
func (a *API) register(config huma.Config, mux humago.Mux) {
	registering.Lock()
	defer registering.Unlock()
	a.huma = humago.NewWithPrefix(mux, Base, config)
	a.huma.UseMiddleware(a.admit)
	a.routes()
	a.publish()
}

// headed adds the API's version to each reply (VER-5), with those of web.Private. Errors link to the reference.
func headed(next http.Handler, reference string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Service-Version"] = []string{view.APIVersion}
		web.Private(w.Header())
		next.ServeHTTP(w, r.WithContext(wire.WithReference(r.Context(), reference)))
	})
}

// inShop gives a handler one shop's scope (call.Scope).
//
// Errors: shop_required if the credentials are the whole merchant's and the address names no shop.
func inShop[I, O any](a *API, handler func(context.Context, Call, *I) (*O, error)) func(context.Context, Call, *I) (*O, error) {
	return func(ctx context.Context, call Call, in *I) (out *O, err error) {
		if call.Scope, err = a.uses.Narrow(ctx, call.Principal, "", ""); err != nil {
			return nil, err
		}
		return handler(ctx, call, in)
	}
}

// access is which credentials an endpoint requires.
type access string

const (
	open      access = "none"   // no Authorization header
	anyKey    access = "any"    // secret or publishable
	secretKey access = "secret" // secret keys only
	orNone    access = "orNone" // as secretKey, or no Authorization header: the body holds the credentials
)

// Access that also requires a right of a secret or restricted key.
const (
	toRead     = access(merchants.RightRead)
	toCharge   = access(merchants.RightPayments)
	toRefund   = access(merchants.RightRefunds)
	toAnswer   = access(merchants.RightClaims)
	toNotify   = access(merchants.RightWebhooks)
	toWithdraw = access(merchants.RightWithdrawals)
	toPlay     = access(merchants.RightSandbox)
)

// right is the right that an endpoint requires, "" for none.
func (ac access) right() merchants.Right {
	if ac == open || ac == anyKey || ac == secretKey || ac == orNone {
		return ""
	}
	return merchants.Right(ac)
}

// Keys of an operation's metadata.
const (
	accessKey = "access"
	withinKey = "within" // time.Duration: how long the body may take to arrive
	// true: pages of any origin may use it (web.CrossOrigin)
	browserKey = "browser"
	readKey    = "read"   // true: reads of one object are limited (LIMIT-3)
	beforeKey  = "before" // func(context.Context, Call, id string) error: asked before a large body is read
)

// shopParam names the shop when the credentials are a whole merchant's.
const shopParam = "shopId"

// Call is the caller and the request.
type Call struct {
	base.Principal
	ClientIP string // the origin that the request states (CHK-21); never trusted
	request  *http.Request
	reply    http.Header
	refusal  error // why the credentials were refused, where the endpoint does not need valid ones
	offer    offer
}

type callKey struct{}

// offer is what requests are checked against and what changes while the service runs.
type offer interface {
	Currencies() []money.Currency
	CheckCurrency(money.Currency) error
	CheckSlug(string) error
}

// offered is a service's current offer.
type offered struct {
	*rates.Rates
	*methods.Methods
}

func offerOf(ctx huma.Context) offer {
	call, _ := ctx.Context().Value(callKey{}).(Call)
	return call.offer
}

// currency reads a currency code that a shop may use, in any case. Errors name param, at path.
func currency(ctx huma.Context, param, path, code string) (money.Currency, error) {
	c, err := money.ParseCurrency(strings.ToUpper(code))
	if err != nil {
		offered := offerOf(ctx).Currencies()
		message := wire.OneOf(param, strings.ToUpper(code), offered)
		if where, ok := geo.Parse(code); ok && slices.Contains(offered, where.Currency) {
			message += "; did you mean " + string(where.Currency) + "?"
		}
		return c, wire.Coded(problem.InvalidRequest, path, message)
	}
	return c, nil
}

// asFieldIssue turns an error of the service into an issue of a field.
func asFieldIssue(err error) error {
	e, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return err
	}
	return wire.Coded(e.Code, e.Param, message.API(e))
}

// handle registers an operation. The table shows the handler's errors.
func handle[I, O any](a *API, op huma.Operation, need access, handler func(context.Context, Call, *I) (*O, error)) {
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = maxBody
	}
	op.MaxBodyBytes++ // huma refuses a body of this size
	if op.Metadata == nil {
		op.Metadata = map[string]any{}
	}
	op.Metadata[accessKey], op.Metadata[withinKey] = need, cmp.Or(op.BodyReadTimeout, web.BodyWithin)
	op.BodyReadTimeout = -1 // when huma reads the body, it has arrived: a time for it would end a slow request
	wire.BodyIn[I](&op)
	a.needs[op.OperationID] = need
	if op.Metadata[browserKey] == true {
		a.browsers[op.Method+" "+Base+op.Path] = true
	}
	if need != open {
		op.Security = []map[string][]string{{"bearer": {}}}
	}
	if need == orNone { // belongs to no shop
		op.Security = append(op.Security, map[string][]string{})
	}
	a.shared(&op, need)
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (out *O, err error) {
		call, _ := ctx.Value(callKey{}).(Call)
		ignored, err := wire.Unknown(ctx)
		wire.TellIgnored(call.reply, ignored)
		if err == nil {
			out, err = handler(ctx, call, in)
		}
		err = wire.Mend(ctx, err)
		var envelope *wire.Envelope
		if err == nil || errors.As(err, &envelope) { // the handler built it, with headers
			return out, err
		}
		return nil, wire.Show(ctx, a.log, err)
	})
	wire.Close(a.huma.OpenAPI().Components.Schemas, a.bodyOf(op), op.Metadata[wire.OwnKey])
}

// bodyOf is the schema of a registered operation's body, nil for none.
func (a *API) bodyOf(op huma.Operation) *huma.Schema {
	at := a.huma.OpenAPI().Paths[op.Path]
	registered := map[string]*huma.Operation{http.MethodPost: at.Post, http.MethodPatch: at.Patch, http.MethodPut: at.Put, http.MethodDelete: at.Delete}[op.Method]
	if registered == nil || registered.RequestBody == nil || registered.RequestBody.Content["application/json"] == nil {
		return nil
	}
	return registered.RequestBody.Content["application/json"].Schema
}

// admit checks every request before its endpoint: version, credentials, limits, content type.
func (a *API) admit(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	call := Call{request: r, reply: w.Header(), offer: a.offer}
	call.RequestID = web.RequestID(ctx.Context())
	call.ClientIP, call.Address = web.ClientIP(r.Header, r.RemoteAddr), a.gate.Peer(r)
	if err := a.identify(ctx, &call); err != nil {
		a.refuse(ctx, err)
		return
	}
	if version := ctx.Header("Service-Version"); version != "" && version != view.APIVersion {
		a.refuse(ctx, message.FieldRefusal(problem.InvalidRequest, "Service-Version", "this version is not served: send "+view.APIVersion+", or leave the header out"))
		return
	}
	strict, ignored, err := a.checkParameters(ctx)
	if err == nil {
		err = wire.CheckContentType(ctx.Operation(), r)
	}
	if err != nil {
		a.refuse(ctx, err)
		return
	}
	leave, err := a.arrive(ctx, &call)
	defer leave()
	if err != nil {
		a.refuse(ctx, err)
		return
	}
	if err = wire.NoCard(ctx.Operation(), r); err == nil {
		err = wire.NoBody(ctx.Operation(), r)
	}
	if err != nil {
		a.refuse(ctx, err)
		return
	}
	help := a.keep(ctx, strict)
	help.Ignored = ignored
	next(wire.WithHelp(huma.WithValue(ctx, callKey{}, call), help))
}

// arrive waits for the body. If that took longer than a moment, it finds the caller again: a key that was revoked
// meanwhile does nothing. The body's own errors are for its reader.
func (a *API) arrive(ctx huma.Context, call *Call) (leave func(), err error) {
	op := ctx.Operation()
	if before, ok := op.Metadata[beforeKey].(func(context.Context, Call, string) error); ok {
		if err := before(ctx.Context(), *call, ctx.Param("id")); err != nil {
			call.reply["Connection"] = []string{"close"} // or the server waits for the body
			return func() {}, err
		}
	}
	r, w := humago.Unwrap(ctx)
	if call.Merchant == "" {
		leave = a.gate.StrangersBody(call.reply, r)
	} else {
		leave = a.gate.MerchantsBody(call.reply, r, call.Principal)
	}
	within, _ := op.Metadata[withinKey].(time.Duration)
	late, broken := web.Arrive(w, r, web.Arrival{Most: op.MaxBodyBytes, Within: within})
	if broken != nil && op.RequestBody == nil { // nobody reads it
		return leave, message.Refusal(problem.InvalidRequest, bodyLost)
	}
	if !late || broken != nil || call.Merchant == "" {
		return leave, nil
	}
	principal, err := a.authenticate(ctx, call)
	if err != nil {
		return leave, err
	}
	call.Principal = principal
	return leave, a.permit(ctx, call)
}

// identify finds the caller and counts the call.
func (a *API) identify(ctx huma.Context, call *Call) error {
	op := ctx.Operation()
	need, _ := op.Metadata[accessKey].(access)
	if need == open || need == orNone && ctx.Header("Authorization") == "" {
		return a.gate.Stranger(call.reply, call.request)
	}
	principal, err := a.authenticate(ctx, call)
	if err != nil {
		if call.refusal = err; need == orNone && wire.Unauthorized(err) { // the body may hold valid credentials
			return a.gate.Stranger(call.reply, call.request)
		}
		return err
	}
	web.Owned(ctx.Context(), principal.Merchant)
	call.Principal = principal
	web.Used(ctx.Context(), usedBy(ctx, call))
	if err := a.gate.Tenant(ctx.Context(), call.reply, call.Principal, a.gate.Address(call.request)); err != nil {
		return err
	}
	if err := a.permit(ctx, call); err != nil {
		return err
	}
	if op.Metadata[readKey] == true {
		return a.gate.Read(call.reply, call.Principal, ctx.Param("id"))
	}
	return nil
}

func usedBy(ctx huma.Context, call *Call) web.Key {
	return web.Key{ID: call.KeyID, Preview: call.Preview, Shop: call.Shop, Live: call.Live, Object: ctx.Param("id")}
}

// permit checks that the caller may use the endpoint, at the shop that the address names.
func (a *API) permit(ctx huma.Context, call *Call) error {
	if err := a.uses.Sandboxes.MayEnter(ctx.Context(), call.Scope); err != nil {
		return err
	}
	need, _ := ctx.Operation().Metadata[accessKey].(access)
	if ctx.Method() != http.MethodGet && need != orNone {
		if err := a.uses.Sandboxes.MayWrite(ctx.Context(), call.Merchant); err != nil {
			return err
		}
	}
	if need != anyKey && call.Kind == merchants.Publishable {
		return message.Refusal(problem.KeyKindNotAllowed, "use a secret key here (sk_test_… or sk_live_…): a publishable one reaches only GET /ping and GET /payment-methods")
	}
	var err error
	if right := need.right(); right != "" && !call.May(right) {
		err = merchants.NoRight(right)
	}
	if shop := ctx.Query(shopParam); err == nil && shop != "" {
		if call.Scope, err = a.uses.Narrow(ctx.Context(), call.Principal, "", shop); err == nil {
			web.Used(ctx.Context(), usedBy(ctx, call))
		}
	}
	if err != nil {
		a.uses.Access.WentBeyond(ctx.Context(), call.Principal, err)
	}
	return err
}

func (a *API) authenticate(ctx huma.Context, call *Call) (principal base.Principal, err error) {
	header := strings.TrimSpace(ctx.Header("Authorization"))
	scheme, credential, _ := strings.Cut(header, " ")
	credential = strings.TrimSpace(credential)
	if !strings.EqualFold(scheme, "Bearer") || credential == "" {
		return principal, a.gate.Guess(call.reply, call.request, "", func() error {
			err := message.Refusal(problem.MissingCredentials, send(call.request.Header))
			a.uses.Access.CredentialRefused(ctx.Context(), call.Principal, err)
			return err
		})
	}
	return principal, a.gate.Guess(call.reply, call.request, credential, func() (err error) {
		principal, err = a.uses.Access.Authenticate(ctx.Context(), call.Principal, credential)
		if err != nil {
			a.uses.Access.CredentialRefused(ctx.Context(), call.Principal, err)
		}
		return err
	})
}

func (a *API) writeError(w http.ResponseWriter, r *http.Request, err error) {
	a.uses.Access.TurnedAway(r.Context(), base.Principal{Address: a.gate.Peer(r)}, err)
	wire.Write(w, r, a.log, err)
}

// refuse replies with an error in place of the handler.
func (a *API) refuse(ctx huma.Context, err error) {
	r, w := humago.Unwrap(ctx)
	a.writeError(w, r.WithContext(ctx.Context()), err)
}

// maxBody bounds a request's body (LIMIT-5).
const maxBody = 1 << 20

// notification accepts a provider's notification. The raw body is verified before it is parsed.
func (a *API) notification(w http.ResponseWriter, r *http.Request) {
	account := r.PathValue("account")
	if err := a.gate.Notice(w.Header(), r); err != nil {
		a.writeError(w, r, err)
		return
	}
	defer a.gate.StrangersBody(w.Header(), r)()
	body, err := readBody(w, r)
	if err != nil {
		a.writeError(w, r, err)
		return
	}
	if err := a.uses.Notices.Notify(r.Context(), account, accounts.Notification{Header: r.Header, Query: r.URL.Query(), Body: body}); err != nil {
		a.writeError(w, r, a.gate.BadNotice(w.Header(), account, err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"ok":true}`+"\n") // the provider may have gone
}

const bodyLost = "the body did not arrive: send it again"

// readBody reads the body of a request that huma does not read.
//
// Errors: payload_too_large, rate_limited; invalid_request if the body does not arrive.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := web.Read(w, r, web.Arrival{Most: maxBody})
	if err != nil {
		return nil, wire.Unread(err)
	}
	return body, nil
}
