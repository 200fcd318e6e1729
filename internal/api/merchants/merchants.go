package merchants

import (
	"context"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/requests"
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

type requestsIn struct {
	wire.Page
	Outcome string `query:"outcome" enum:"ok,failed,fault" doc:"ok: answered with success; failed: refused, or not done; fault: failed by no fault of the request (5xx)"`
	Code    string `query:"code" doc:"Code of the error"`
	wire.Span
}

type requestsOut struct {
	Body struct {
		Data       []view.Request  `json:"data"`
		Pagination wire.Pagination `json:"pagination"`
		Since      view.Time       `json:"since" doc:"When this node of the service began to remember"`
	}
}

// routes show a merchant its profile, shops, keys and last requests. The operator creates shops and keys.
func (a *api) routes() {
	tags := []string{"Merchant"}
	call.Handle(a.API, huma.Operation{OperationID: "getMe", Method: http.MethodGet, Path: "/me", Tags: tags, Summary: "Read the merchant profile"}, call.ToRead, a.me)
	call.Handle(a.API, huma.Operation{OperationID: "listShops", Method: http.MethodGet, Path: "/shops", Tags: tags,
		Summary: "List the shops that the credentials reach, oldest first"}, call.ToRead, a.shops)
	call.Handle(a.API, huma.Operation{OperationID: "listKeys", Method: http.MethodGet, Path: "/keys", Tags: tags,
		Summary: "List keys of this environment, masked, oldest first"}, call.ToRead, a.keys)
	call.Handle(a.API, huma.Operation{OperationID: "listRequests", Method: http.MethodGet, Path: "/requests", Tags: tags,
		Summary: "List the shop's last API requests, newest first"}, call.ToRead, call.InShop(a.API, a.requests))
}

func (a *api) shops(ctx context.Context, caller call.Caller, in *struct{ wire.Page }) (*shopsOut, error) {
	list, total, err := a.uses.Onboarding.ShopsOf(ctx, caller.Scope, in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &shopsOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(s merchants.Shop) string { return s.ID }, view.NewShop)
	return out, nil
}

func (a *api) keys(ctx context.Context, caller call.Caller, in *keysIn) (*keysOut, error) {
	list, uses, total, err := a.uses.Onboarding.KeysOf(ctx, caller.Scope, in.Status, in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &keysOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(k merchants.Key) string { return k.ID },
		func(k merchants.Key) view.Key { return view.NewKey(k, uses[k.ID].Last, a.uses.Now()) })
	return out, nil
}

// requests lists what this node remembers. The list is short, so it is read whole: an offset costs nothing.
func (a *api) requests(_ context.Context, caller call.Caller, in *requestsIn) (*requestsOut, error) {
	rows, span := in.Rows(), in.Time()
	if _, found := a.uses.Requests.Get(caller.Scope, rows.After); rows.After != "" && !found {
		return nil, in.Named(base.NoRow())
	}
	list, total := a.uses.Requests.List(caller.Scope, requests.Filter{
		Result: in.Outcome, Code: in.Code, From: span.From, To: span.To, After: rows.After, Limit: rows.Offset + rows.Limit,
	})
	out := &requestsOut{}
	out.Body.Since = view.Time{Time: a.uses.Requests.Since()}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list[min(rows.Offset, len(list)):], int64(total),
		func(e requests.Entry) string { return e.ID }, func(e requests.Entry) view.Request {
			return view.NewRequest(view.Request{
				ID: e.ID, At: view.Time{Time: e.At}, DurationMs: e.Took.Milliseconds(), Method: e.Method, Route: strings.TrimPrefix(e.Route, view.Base), Status: e.Status,
				Key: e.Preview, Fields: e.Fields,
			}, e.Object, e.Code, e.Message, e.Param)
		})
	return out, nil
}
