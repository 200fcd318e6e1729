package api

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

type shopsOut struct {
	Body struct {
		Data       []view.Shop     `json:"data"`
		Pagination wire.Pagination `json:"pagination"`
	}
}

type keysIn struct {
	wire.Page
	Status string `query:"status" enum:"active,ended" doc:"active: keys that are accepted; ended: keys that were revoked or have expired"`
}

type keysOut struct {
	Body struct {
		Data       []view.Key      `json:"data"`
		Pagination wire.Pagination `json:"pagination"`
	}
}

// ownRoutes show a merchant its shops and keys. The operator creates both.
func (a *API) ownRoutes() {
	tags := []string{"Merchant"}
	handle(a, huma.Operation{OperationID: "listShops", Method: http.MethodGet, Path: "/shops", Tags: tags,
		Summary: "List the shops that the credentials reach, oldest first"}, toRead, a.shops)
	handle(a, huma.Operation{OperationID: "listKeys", Method: http.MethodGet, Path: "/keys", Tags: tags,
		Summary: "List keys of this environment, masked, oldest first"}, toRead, a.keys)
}

func (a *API) shops(ctx context.Context, call Call, in *struct{ wire.Page }) (*shopsOut, error) {
	list, total, err := a.uses.Onboarding.ShopsOf(ctx, call.Scope, in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &shopsOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(s merchants.Shop) string { return s.ID }, view.NewShop)
	return out, nil
}

func (a *API) keys(ctx context.Context, call Call, in *keysIn) (*keysOut, error) {
	list, uses, total, err := a.uses.Onboarding.KeysOf(ctx, call.Scope, in.Status, in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &keysOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(k merchants.Key) string { return k.ID },
		func(k merchants.Key) view.Key { return view.NewKey(k, uses[k.ID].Last, a.uses.Now()) })
	return out, nil
}
