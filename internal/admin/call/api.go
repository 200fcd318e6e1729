// Package call is what the operations of the operators' API stand on: who calls, with which right, once or again, how much at a
// time, and how lists are paged. The rooms beside it register the operations.
package call

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

	"github.com/cascadapay/cascada/internal/app/auth"
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

// Root is the API's root.
const Root = "/admin/v1"

// Scheme names the credentials in the document.
const Scheme = "operator"

// maxBody bounds a request's body: an account's settings and its credentials, with keys and certificates.
const maxBody = 256 << 10

// Config is what an API needs.
type Config struct {
	Base      *base.Base
	Operators *auth.Operators
	Log       *slog.Logger
	Node      string         // this node's name, in replies that differ by node
	Proxies   []netip.Prefix // proxies whose X-Forwarded-For is trusted, for the audit log
	Now       func() time.Time
	// Bodies counts the body of an operator's request until leave.
	Bodies func(reply http.Header, r *http.Request, operator string) (leave func())
}

// API serves operators.
type API struct {
	Config
	Huma  huma.API
	Mux   *http.ServeMux
	turns work.Turns    // of requests with the same Idempotency-Key
	heavy *limit.Places // of operations that read much, by person
}

// New returns an API without operations.
func New(c Config) *API {
	wire.Adopt()
	a := &API{Config: c, Mux: http.NewServeMux(), heavy: limit.NewPlaces(heavyReads)}
	config := huma.DefaultConfig("Cascada for operators", "1")
	config.OpenAPIPath, config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", "", nil
	config.AllowAdditionalPropertiesByDefault = true // in replies; request bodies forbid additional properties
	config.Formats = wire.Formats()
	config.Servers = []*huma.Server{{URL: Root, Description: "This node."}}
	a.Huma = humago.NewWithPrefix(wire.Mux{ServeMux: a.Mux, Refuse: func(w http.ResponseWriter, r *http.Request, err error) { wire.Write(w, r, c.Log, err) }}, Root, config)
	a.Huma.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[planfile.Number](), reflect.TypeFor[float64]())
	a.Huma.UseMiddleware(a.admit)
	return a
}

type actorKey struct{}

// CodesKey is the metadata key of an operation's error codes.
const CodesKey = "codes"

// RightKey is the metadata key of the right that an operation needs.
const RightKey = "right"

// Handle registers an operation that needs a right (OPR-1), with its own error codes.
func Handle[I, O any](a *API, right operators.Right, op huma.Operation, codes []problem.Code, handler func(context.Context, audit.Actor, *I) (*O, error)) {
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = maxBody + 1 // huma refuses a body of this size
	}
	op.BodyReadTimeout = -1 // when huma reads the body, it has arrived: a time for it would end a slow request
	op.Security = []map[string][]string{{Scheme: {}}}
	if op.Metadata == nil {
		op.Metadata = map[string]any{}
	}
	op.Metadata[CodesKey], op.Metadata[RightKey] = codes, right
	op.Extensions = map[string]any{"x-right": right}
	wire.BodyIn[I](&op)
	missing := MissingAt(op.Path)
	huma.Register(a.Huma, op, func(ctx context.Context, in *I) (*O, error) {
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

// MissingAt is the code for an object that the path of an operation names and that does not exist.
func MissingAt(path string) problem.Code {
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
	right, _ := ctx.Operation().Metadata[RightKey].(operators.Right)
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
	help := wire.Help{Schemas: a.Huma.OpenAPI().Components.Schemas}
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
	o, err := a.Operators.Authenticate(r.Context(), text)
	if shown, ok := errors.AsType[*problem.Error](err); ok && message.ShownOf(shown.Code).Status == http.StatusUnauthorized {
		a.Base.Quiet.WarnSometimes(r.Context(), "the admin API refused a token", "", "address", by.IP, "code", string(shown.Code))
	}
	by.ID = o.Name
	if err == nil {
		err = o.Role.Check(right)
	}
	return by, token{o.Name + "@" + strconv.FormatInt(o.CreatedAt.UnixMicro(), 36), cmp.Or(o.Person, o.Name)}, err
}
