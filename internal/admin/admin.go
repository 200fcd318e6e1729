// Package admin is the operators' API: provider accounts, the decisions about a payment, the health of
// accounts. It has its own listener and is never served on the public one.
//
// It decides nothing: a handler reads a request, calls one use case of internal/app in the name of the
// token's operator, and shows the result.
package admin

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/plans/planfile"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/cascadapay/cascada/internal/work"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Base is the API's root.
const Base = "/admin/v1"

// maxBody bounds a request's body: an account's settings and its credentials, with keys and certificates.
const maxBody = 256 << 10

// Config is what an API needs.
type Config struct {
	Uses    Uses
	Log     *slog.Logger
	Node    string         // this node's name, in replies that differ by node
	Proxies []netip.Prefix // proxies whose X-Forwarded-For is trusted, for the audit log
	Now     func() time.Time
	// Bodies counts the body of an operator's request until leave.
	Bodies func(reply http.Header, r *http.Request, operator string) (leave func())
}

// API serves operators.
type API struct {
	Config
	huma  huma.API
	mux   *http.ServeMux
	turns work.Turns    // of requests with the same Idempotency-Key
	heavy *limit.Places // of operations that read much, by person
}

// New returns the API as a handler.
func New(c Config) (http.Handler, error) {
	wire.Adopt()
	a := &API{Config: c, mux: http.NewServeMux(), heavy: limit.NewPlaces(heavyReads)}
	config := huma.DefaultConfig("Cascada for operators", "1")
	config.OpenAPIPath, config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", "", nil
	config.AllowAdditionalPropertiesByDefault = true // in replies; request bodies forbid additional properties
	config.Formats = wire.Formats()
	config.Servers = []*huma.Server{{URL: Base, Description: "This node."}}
	a.huma = humago.NewWithPrefix(wire.Mux{ServeMux: a.mux, Refuse: func(w http.ResponseWriter, r *http.Request, err error) { wire.Write(w, r, c.Log, err) }}, Base, config)
	a.huma.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[planfile.Number](), reflect.TypeFor[float64]())
	a.huma.UseMiddleware(a.admit)
	a.routes()
	if err := a.publish(); err != nil {
		return nil, err
	}
	a.mux.Handle("/", web.Unrouted(a.mux,
		func(w http.ResponseWriter, r *http.Request) {
			wire.Write(w, r, c.Log, message.Refusal(problem.NotFound, "there is no such endpoint"))
		},
		func(w http.ResponseWriter, r *http.Request) {
			wire.Write(w, r, c.Log, message.Refusal(problem.MethodNotAllowed, "this endpoint does not take "+r.Method))
		}))
	handler := web.Recover(web.Routed(a.mux), c.Log, func(w http.ResponseWriter, r *http.Request) { wire.Write(w, r, c.Log, wire.Fault()) })
	return private(handler), nil
}

// routes registers the operations of all nouns.
func (a *API) routes() {
	for _, of := range []func(){
		a.accountRoutes, a.merchantRoutes, a.shopRoutes, a.keyRoutes, a.userRoutes, a.operatorRoutes, a.dualControlRoutes, a.planRoutes, a.readRoutes, a.rulingRoutes,
		a.adjustmentRoutes, a.limitRoutes, a.withdrawalRoutes, a.batchRoutes, a.floatRoutes, a.claimRoutes, a.notificationRoutes, a.verificationRoutes,
		a.settlementRoutes, a.ruleRoutes, a.rateRoutes, a.reconciliationRoutes, a.auditRoutes, a.checkRoutes, a.privacyRoutes,
	} {
		of()
	}
}

// private keeps replies out of caches and stops browsers from reading them as pages.
func private(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.Private(w.Header())
		next.ServeHTTP(w, r)
	})
}

type actorKey struct{}

// codesKey is the metadata key of an operation's error codes.
const codesKey = "codes"

// rightKey is the metadata key of the right that an operation needs.
const rightKey = "right"

// handle registers an operation that needs a right (OPR-1), with its own error codes.
func handle[I, O any](a *API, right operators.Right, op huma.Operation, codes []problem.Code, handler func(context.Context, audit.Actor, *I) (*O, error)) {
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = maxBody + 1 // huma refuses a body of this size
	}
	op.BodyReadTimeout = -1 // when huma reads the body, it has arrived: a time for it would end a slow request
	op.Security = []map[string][]string{{scheme: {}}}
	if op.Metadata == nil {
		op.Metadata = map[string]any{}
	}
	op.Metadata[codesKey], op.Metadata[rightKey] = codes, right
	op.Extensions = map[string]any{"x-right": right}
	wire.BodyIn[I](&op)
	missing := missingAt(op.Path)
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		by, _ := ctx.Value(actorKey{}).(audit.Actor)
		out, err := handler(ctx, by, in)
		switch {
		case err == nil:
			return out, nil
		case base.Absent(err):
			err = message.Refusal(missing, err.Error())
		}
		return nil, wire.Show(ctx, a.Log, err)
	})
}

// missingAt is the code for an object that the path of an operation names and that does not exist.
func missingAt(path string) problem.Code {
	switch {
	case strings.HasPrefix(path, "/payments/"):
		return problem.TransactionNotFound
	case strings.HasPrefix(path, "/withdrawals/"):
		return problem.WithdrawalNotFound
	case strings.HasPrefix(path, "/claims/"):
		return problem.ClaimNotFound
	case strings.HasPrefix(path, "/settlements/"):
		return problem.SettlementNotFound
	}
	return problem.NotFound
}

// admit checks every request before its endpoint: the token and the content type. It waits for the body, whose own errors
// are for its reader.
func (a *API) admit(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	refuse := func(err error) { wire.Write(w, r.WithContext(ctx.Context()), a.Log, err) }
	right, _ := ctx.Operation().Metadata[rightKey].(operators.Right)
	by, from, err := a.identify(r, right)
	if err != nil {
		refuse(err)
		return
	}
	_, _, err = wire.CheckQuery(ctx.Operation(), r.URL.RawQuery, true, func(string) bool { return false }) // refuses misspelt names
	if err == nil {
		err = wire.CheckContentType(ctx.Operation(), r)
	}
	if err != nil {
		refuse(err)
		return
	}
	defer a.Bodies(w.Header(), r, by.ID)()
	op := ctx.Operation()
	late, broken := web.Arrive(w, r, web.Arrival{Most: op.MaxBodyBytes, Within: web.BodyWithin})
	switch {
	case broken != nil && op.RequestBody == nil: // nobody reads it
		err = message.Refusal(problem.InvalidRequest, "the body did not arrive: send it again")
	case broken == nil && late: // the token may have been removed meanwhile
		by, from, err = a.identify(r, right)
	}
	if err != nil {
		refuse(err)
		return
	}
	if err = wire.NoCard(op, r); err == nil {
		err = wire.NoBody(op, r)
	}
	leave := func() {}
	if err == nil {
		leave, err = a.enter(w.Header(), op, from.person)
	}
	if err != nil {
		refuse(err)
		return
	}
	defer leave()
	help := wire.Help{Schemas: a.huma.OpenAPI().Components.Schemas}
	if body := op.RequestBody; body != nil && body.Content["application/json"] != nil {
		help.Body = body.Content["application/json"].Schema
	}
	err = a.once(ctx, from.owner, func(ctx huma.Context) { next(wire.WithHelp(huma.WithValue(ctx, actorKey{}, by), help)) })
	if err != nil {
		refuse(err)
	}
}

// token is the token of a request.
type token struct {
	owner  string // whose keys of repeats its bearer has: a name that is given again gets another one
	person string // who has it: a user of the console, or the operator of that name
}

// identify returns the caller, the address and the request's id, if the caller's role has a right.
//
// Errors: missing_credentials, invalid_token, forbidden.
func (a *API) identify(r *http.Request, right operators.Right) (by audit.Actor, from token, err error) {
	by = audit.Actor{Kind: audit.ByOperator, IP: web.Peer(r, a.Proxies).String(), Request: web.RequestID(r.Context())}
	kind, text, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	text = strings.TrimSpace(text)
	if !strings.EqualFold(kind, "Bearer") || text == "" {
		return by, from, message.Refusal(problem.MissingCredentials, "send Authorization: Bearer and an operator's token")
	}
	o, err := a.Uses.Operators.Authenticate(r.Context(), text)
	if shown, ok := errors.AsType[*problem.Error](err); ok && message.ShownOf(shown.Code).Status == http.StatusUnauthorized {
		a.Uses.Quiet.WarnSometimes(r.Context(), "the admin API refused a token", "", "address", by.IP, "code", string(shown.Code))
	}
	by.ID = o.Name
	if err == nil {
		err = o.Role.Check(right)
	}
	return by, token{o.Name + "@" + strconv.FormatInt(o.CreatedAt.UnixMicro(), 36), cmp.Or(o.Person, o.Name)}, err
}
