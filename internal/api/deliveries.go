package api

import (
	"context"
	"io"
	"net/http"

	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

type deliveriesIn struct {
	wire.Page
	ID     string                             `path:"id"`
	Status wire.Word[webhooks.DeliveryStatus] `query:"status"`
	Event  wire.Word[webhooks.EventType]      `query:"event" doc:"Event name"`
	wire.Span
}

func (in *deliveriesIn) filter() lists.DeliveryFilter {
	return lists.DeliveryFilter{Page: in.Rows(), Span: in.Time(), Status: webhooks.DeliveryStatus(in.Status), Type: webhooks.EventType(in.Event)}
}

type deliveriesOut struct {
	Body struct {
		Data       []view.Delivery `json:"data"`
		Pagination wire.Pagination `json:"pagination"`
	}
}

type deliveryIn struct {
	ID         string `path:"id"`
	DeliveryID string `path:"deliveryId" doc:"wd_…, or dlv_… as in the header"`
}

type deliveryOut struct{ Body view.DeliveryDetail }

type replayOut struct{ Body view.Replay }

type inboxIn struct {
	wire.Page
	ID string `path:"id"`
}

type inboxOut struct {
	Body struct {
		Data       []view.Received `json:"data" doc:"The newest 1000 of the last 30 days"`
		Pagination wire.Pagination `json:"pagination"`
	}
}

func (a *API) deliveryRoutes(tags []string) {
	handle(a, huma.Operation{OperationID: "listDeliveries", Method: http.MethodGet, Path: "/webhooks/{id}/deliveries", Tags: tags,
		Summary: "List deliveries, newest first"}, toRead, inShop(a, a.deliveries))
	handle(a, huma.Operation{OperationID: "getDelivery", Method: http.MethodGet, Path: "/webhooks/{id}/deliveries/{deliveryId}", Tags: tags,
		Summary: "Read a delivery, its payload and its tries"}, toRead, inShop(a, a.delivery))
	handle(a, huma.Operation{OperationID: "replayDelivery", Method: http.MethodPost, Path: "/webhooks/{id}/deliveries/{deliveryId}/replay", Tags: tags,
		Summary: "Send a failed delivery again"}, toNotify, inShop(a, a.replayDelivery))
	handle(a, huma.Operation{OperationID: "listInbox", Method: http.MethodGet, Path: "/webhooks/{id}/inbox", Tags: tags,
		Summary: "List what the managed inbox received, newest first"}, toRead, inShop(a, a.listInbox))
	a.mux.Handle("POST /inbox/{slug}", a.gate.Strangers(http.HandlerFunc(a.receive), a.writeError))
}

func (a *API) deliveries(ctx context.Context, call Call, in *deliveriesIn) (*deliveriesOut, error) {
	log, err := a.uses.Webhooks.Deliveries(ctx, call.Scope, in.ID, in.filter())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &deliveriesOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, log.Deliveries, log.Total, func(d webhooks.Delivery) string { return d.ID },
		func(d webhooks.Delivery) view.Delivery { return view.NewDelivery(d, log.Subscription) })
	return out, nil
}

func (a *API) delivery(ctx context.Context, call Call, in *deliveryIn) (*deliveryOut, error) {
	sub, d, err := a.uses.Webhooks.Delivery(ctx, call.Scope, in.ID, in.DeliveryID)
	if err != nil {
		return nil, err
	}
	return &deliveryOut{view.NewDeliveryDetail(d.Delivery, sub, d.Payload)}, nil
}

func (a *API) replayDelivery(ctx context.Context, call Call, in *deliveryIn) (*replayOut, error) {
	r, err := a.uses.Webhooks.Replay(ctx, call.Principal, call.Scope, in.ID, in.DeliveryID)
	if err != nil {
		return nil, err
	}
	return &replayOut{view.NewReplay(r.Delivery, r.Previous, r.Status, r.Next)}, nil
}

func (a *API) listInbox(ctx context.Context, call Call, in *inboxIn) (*inboxOut, error) {
	list, total, err := a.uses.Webhooks.Inbox(ctx, call.Scope, in.ID, in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &inboxOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(r webhooks.Received) string { return r.ID }, view.NewReceived)
	return out, nil
}

// receive accepts a delivery to a managed inbox. The signature over the raw body replaces credentials.
func (a *API) receive(w http.ResponseWriter, r *http.Request) {
	defer a.gate.StrangersBody(w.Header(), r)()
	body, err := readBody(w, r)
	if err != nil {
		a.writeError(w, r, err)
		return
	}
	if err := a.uses.Webhooks.Receive(r.Context(), r.PathValue("slug"), r.Header, body); err != nil {
		a.writeError(w, r, a.gate.Refuse(w.Header(), r, err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"ok":true}`+"\n") // the sender may have gone
}
