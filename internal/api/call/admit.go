package call

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// shopParam names the shop when the credentials are a whole merchant's.
const shopParam = "shopId"

// admit checks every request before its endpoint: version, credentials, limits, content type.
func (a *API) admit(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	caller := Caller{Request: r, Reply: w.Header(), Offer: a.uses.Offer}
	caller.RequestID = web.RequestID(ctx.Context())
	caller.ClientIP, caller.Address = web.ClientIP(r.Header, r.RemoteAddr), a.Gate.Peer(r)
	if err := a.identify(ctx, &caller); err != nil {
		a.Refuse(ctx, err)
		return
	}
	if version := ctx.Header("Service-Version"); version != "" && version != view.APIVersion {
		a.Refuse(ctx, message.FieldRefusal(problem.InvalidRequest, "Service-Version", "this version is not served: send "+view.APIVersion+", or leave the header out"))
		return
	}
	strict, ignored, err := a.checkParameters(ctx)
	if err == nil {
		err = wire.CheckContentType(ctx.Operation(), r)
	}
	if err != nil {
		a.Refuse(ctx, err)
		return
	}
	leave, err := a.arrive(ctx, &caller)
	defer leave()
	if err != nil {
		a.Refuse(ctx, err)
		return
	}
	if err = wire.NoCard(ctx.Operation(), r); err == nil {
		err = wire.NoBody(ctx.Operation(), r)
	}
	if err != nil {
		a.Refuse(ctx, err)
		return
	}
	help := a.keep(ctx, strict)
	help.Ignored = ignored
	next(wire.WithHelp(With(ctx, caller), help))
}

// arrive waits for the body. If that took longer than a moment, it finds the caller again: a key that was revoked
// meanwhile does nothing. The body's own errors are for its reader.
func (a *API) arrive(ctx huma.Context, caller *Caller) (leave func(), err error) {
	op := ctx.Operation()
	if before, ok := op.Metadata[BeforeKey].(func(context.Context, Caller, string) error); ok {
		if err := before(ctx.Context(), *caller, ctx.Param("id")); err != nil {
			caller.Reply["Connection"] = []string{"close"} // or the server waits for the body
			return func() {}, err
		}
	}
	r, w := humago.Unwrap(ctx)
	if caller.Merchant == "" {
		leave = a.Gate.StrangersBody(caller.Reply, r)
	} else {
		leave = a.Gate.MerchantsBody(caller.Reply, r, caller.Principal)
	}
	within, _ := op.Metadata[withinKey].(time.Duration)
	late, broken := web.Arrive(w, r, web.Arrival{Most: op.MaxBodyBytes, Within: within})
	if broken != nil && op.RequestBody == nil { // nobody reads it
		return leave, message.Refusal(problem.InvalidRequest, BodyLost)
	}
	if !late || broken != nil || caller.Merchant == "" {
		return leave, nil
	}
	principal, err := a.authenticate(ctx, caller)
	if err != nil {
		return leave, err
	}
	caller.Principal = principal
	return leave, a.permit(ctx, caller)
}

// identify finds the caller and counts the call.
func (a *API) identify(ctx huma.Context, caller *Caller) error {
	op := ctx.Operation()
	need, _ := op.Metadata[accessKey].(Access)
	if need == Open || need == OrNone && ctx.Header("Authorization") == "" {
		return a.Gate.Stranger(caller.Reply, caller.Request)
	}
	principal, err := a.authenticate(ctx, caller)
	if err != nil {
		if caller.Refusal = err; need == OrNone && wire.Unauthorized(err) { // the body may hold valid credentials
			return a.Gate.Stranger(caller.Reply, caller.Request)
		}
		return err
	}
	web.Owned(ctx.Context(), principal.Merchant)
	caller.Principal = principal
	web.Used(ctx.Context(), usedBy(ctx, caller))
	if err := a.Gate.Tenant(ctx.Context(), caller.Reply, caller.Principal, a.Gate.Address(caller.Request)); err != nil {
		return err
	}
	if err := a.permit(ctx, caller); err != nil {
		return err
	}
	if op.Metadata[ReadKey] == true {
		return a.Gate.Read(caller.Reply, caller.Principal, ctx.Param("id"))
	}
	return nil
}

func usedBy(ctx huma.Context, caller *Caller) web.Key {
	return web.Key{ID: caller.KeyID, Preview: caller.Preview, Shop: caller.Shop, Live: caller.Live, Object: ctx.Param("id")}
}

// permit checks that the caller may use the endpoint, at the shop that the address names.
func (a *API) permit(ctx huma.Context, caller *Caller) error {
	if err := a.uses.Sandboxes.MayEnter(ctx.Context(), caller.Scope); err != nil {
		return err
	}
	need, _ := ctx.Operation().Metadata[accessKey].(Access)
	if ctx.Method() != http.MethodGet && need != OrNone {
		if err := a.uses.Sandboxes.MayWrite(ctx.Context(), caller.Merchant); err != nil {
			return err
		}
	}
	if need != AnyKey && caller.Kind == merchants.Publishable {
		return message.Refusal(problem.KeyKindNotAllowed, "use a secret key here (sk_test_… or sk_live_…): a publishable one reaches only GET /ping and GET /payment-methods")
	}
	var err error
	if right := need.right(); right != "" && !caller.May(right) {
		err = merchants.NoRight(right)
	}
	if shop := ctx.Query(shopParam); err == nil && shop != "" {
		if caller.Scope, err = a.uses.Narrow(ctx.Context(), caller.Principal, "", shop); err == nil {
			web.Used(ctx.Context(), usedBy(ctx, caller))
		}
	}
	if err != nil {
		a.uses.Access.WentBeyond(ctx.Context(), caller.Principal, err)
	}
	return err
}

func (a *API) authenticate(ctx huma.Context, caller *Caller) (principal base.Principal, err error) {
	header := strings.TrimSpace(ctx.Header("Authorization"))
	scheme, credential, _ := strings.Cut(header, " ")
	credential = strings.TrimSpace(credential)
	if !strings.EqualFold(scheme, "Bearer") || credential == "" {
		return principal, a.Gate.Guess(caller.Reply, caller.Request, "", func() error {
			err := message.Refusal(problem.MissingCredentials, send(caller.Request.Header))
			a.uses.Access.CredentialRefused(ctx.Context(), caller.Principal, err)
			return err
		})
	}
	return principal, a.Gate.Guess(caller.Reply, caller.Request, credential, func() (err error) {
		principal, err = a.uses.Access.Authenticate(ctx.Context(), caller.Principal, credential)
		if err != nil {
			a.uses.Access.CredentialRefused(ctx.Context(), caller.Principal, err)
		}
		return err
	})
}

// send says which credentials an endpoint wants, and what was sent instead.
func send(header http.Header) string {
	const want = "send the header Authorization: Bearer, and after it a secret key (sk_test_… or sk_live_…) or an access token of POST /auth/token"
	scheme, _, _ := strings.Cut(strings.TrimSpace(header.Get("Authorization")), " ")
	switch {
	case strings.EqualFold(scheme, "Basic"):
		return want + "; Basic is not taken"
	case strings.HasPrefix(scheme, "sk_"), strings.HasPrefix(scheme, "pk_"), strings.HasPrefix(scheme, "rk_"), strings.Count(scheme, ".") == 2:
		return want + "; the word Bearer is missing in front of yours"
	case strings.EqualFold(scheme, "Bearer"):
		return want + "; nothing follows the word Bearer"
	case scheme != "":
		return want + "; only Bearer is taken"
	}
	for _, name := range []string{"X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token"} {
		if header.Get(name) != "" {
			return want + "; the header " + name + " is not read"
		}
	}
	return want
}

// WriteError replies with an error, and records who was turned away.
func (a *API) WriteError(w http.ResponseWriter, r *http.Request, err error) {
	a.uses.Access.TurnedAway(r.Context(), base.Principal{Address: a.Gate.Peer(r)}, err)
	wire.Write(w, r, a.Log, err)
}

// Refuse replies with an error in place of the handler.
func (a *API) Refuse(ctx huma.Context, err error) {
	r, w := humago.Unwrap(ctx)
	a.WriteError(w, r.WithContext(ctx.Context()), err)
}
