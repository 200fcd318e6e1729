package call

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// Caller is who calls, and the request.
type Caller struct {
	base.Principal
	ClientIP string // the origin that the request states (CHK-21); never trusted
	Request  *http.Request
	Reply    http.Header
	Refusal  error // why the credentials were refused, where the endpoint does not need valid ones
	Offer    Offer // what the request is checked against
}

type callerKey struct{}

// InShop gives a handler one shop's scope (Caller.Scope).
//
// Errors: shop_required if the credentials are the whole merchant's and the address names no shop.
func InShop[I, O any](a *API, handler func(context.Context, Caller, *I) (*O, error)) func(context.Context, Caller, *I) (*O, error) {
	return func(ctx context.Context, caller Caller, in *I) (out *O, err error) {
		if caller.Scope, err = a.uses.Narrow(ctx, caller.Principal, "", ""); err != nil {
			return nil, err
		}
		return handler(ctx, caller, in)
	}
}

// Offer is what requests are checked against and what changes while the service runs.
type Offer interface {
	Currencies() []money.Currency
	CheckCurrency(money.Currency) error
	CheckSlug(string) error
	SimulatedActions() []string // that a new payment may ask for, in a sandbox
}

// With makes a caller known to what reads the request.
func With(ctx huma.Context, caller Caller) huma.Context {
	return huma.WithValue(ctx, callerKey{}, caller)
}

// Of is who makes a request.
func Of(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// OfferOf is what a request is checked against.
func OfferOf(ctx huma.Context) Offer {
	return Of(ctx.Context()).Offer
}

// Currency reads a currency code that a shop may use, in any case. Errors name param, at path.
func Currency(ctx huma.Context, param, path, code string) (money.Currency, error) {
	c, err := money.ParseCurrency(strings.ToUpper(code))
	if err != nil {
		offered := OfferOf(ctx).Currencies()
		message := wire.OneOf(param, strings.ToUpper(code), offered)
		if where, ok := geo.Parse(code); ok && slices.Contains(offered, where.Currency) {
			message += "; did you mean " + string(where.Currency) + "?"
		}
		return c, wire.Coded(problem.InvalidRequest, path, message)
	}
	return c, nil
}

// AsFieldIssue turns an error of the service into an issue of a field.
func AsFieldIssue(err error) error {
	e, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return err
	}
	return wire.Coded(e.Code, e.Param, message.API(e))
}
