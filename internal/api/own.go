package api

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/danielgtaylor/huma/v2"
)

type shopsOut struct {
	Body struct {
		Data       []view.Shop `json:"data"`
		Pagination Pagination  `json:"pagination"`
	}
}

type keysIn struct {
	Page
	Status string `query:"status" enum:"active,ended" doc:"active: keys that are accepted; ended: keys that were revoked or have expired"`
}

type keysOut struct {
	Body struct {
		Data       []view.Key `json:"data"`
		Pagination Pagination `json:"pagination"`
	}
}

// ownRoutes tell a merchant what it has: shops and keys. They are made by the operator.
func (a *API) ownRoutes() {
	tags := []string{"Merchant"}
	handle(a, huma.Operation{OperationID: "listShops", Method: http.MethodGet, Path: "/shops", Tags: tags,
		Summary: "List the shops that the credentials reach, oldest first"}, toRead, a.shops)
	handle(a, huma.Operation{OperationID: "listKeys", Method: http.MethodGet, Path: "/keys", Tags: tags,
		Summary: "List keys of this environment, masked, oldest first"}, toRead, a.keys)
}

func (a *API) shops(ctx context.Context, call Call, in *struct{ Page }) (*shopsOut, error) {
	list, total, err := a.app.Onboarding.ShopsOf(ctx, call.Scope, in.read())
	if err != nil {
		return nil, in.named(err)
	}
	out := &shopsOut{}
	list, out.Body.Pagination = pageOf(in.Page, list, total, func(s tenant.Shop) string { return s.ID })
	out.Body.Data = make([]view.Shop, 0, len(list))
	for _, s := range list {
		out.Body.Data = append(out.Body.Data, view.NewShop(s))
	}
	return out, nil
}

func (a *API) keys(ctx context.Context, call Call, in *keysIn) (*keysOut, error) {
	list, uses, total, err := a.app.Onboarding.KeysOf(ctx, call.Scope, in.Status, in.read())
	if err != nil {
		return nil, in.named(err)
	}
	out := &keysOut{}
	list, out.Body.Pagination = pageOf(in.Page, list, total, func(k tenant.Key) string { return k.ID })
	out.Body.Data = make([]view.Key, 0, len(list))
	for _, k := range list {
		out.Body.Data = append(out.Body.Data, view.NewKey(k, uses[k.ID].Last, a.app.Now()))
	}
	return out, nil
}
