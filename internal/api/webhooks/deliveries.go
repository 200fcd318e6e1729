package webhooks

import (
	"context"
	"io"
	"net/http"

	"github.com/cascadapay/cascada/internal/api/call"
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

func (a *api) deliveryRoutes(tags []string) {
	call.Handle(a.API, huma.Operation{OperationID: "listDeliveries", Method: http.MethodGet, Path: "/webhooks/{id}/deliveries", Tags: tags,
		Summary: "List deliveries, newest first"}, call.ToRead, call.InShop(a.API, a.deliveries))
	call.Handle(a.API, huma.Operation{OperationID: "getDelivery", Method: http.MethodGet, Path: "/webhooks/{id}/deliveries/{deliveryId}", Tags: tags,
		Summary: "Read a delivery, its payload and its tries"}, call.ToRead, call.InShop(a.API, a.delivery))
	call.Handle(a.API, huma.Operation{OperationID: "replayDelivery", Method: http.MethodPost, Path: "/webhooks/{id}/deliveries/{deliveryId}/replay", Tags: tags,
		Summary: "Send a failed delivery again"}, call.ToNotify, call.InShop(a.API, a.replayDelivery))
	call.Handle(a.API, huma.Operation{OperationID: "listInbox", Method: http.MethodGet, Path: "/webhooks/{id}/inbox", Tags: tags,
		Summary: "List what the managed inbox received, newest first"}, call.ToRead, call.InShop(a.API, a.listInbox))
	a.Mux.Handle("POST /inbox/{slug}", a.Gate.Strangers(http.HandlerFunc(a.receive), a.WriteError))
}

func (a *api) deliveries(ctx context.Context, caller call.Caller, in *deliveriesIn) (*deliveriesOut, error) {
	log, err := a.uses.Webhooks.Deliveries(ctx, caller.Scope, in.ID, in.filter())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &deliveriesOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, log.Deliveries, log.Total, func(d webhooks.Delivery) string { return d.ID },
		func(d webhooks.Delivery) view.Delivery { return view.NewDelivery(d, log.Subscription) })
	return out, nil
}

func (a *api) delivery(ctx context.Context, caller call.Caller, in *deliveryIn) (*deliveryOut, error) {
	sub, d, err := a.uses.Webhooks.Delivery(ctx, caller.Scope, in.ID, in.DeliveryID)
	if err != nil {
		return nil, err
	}
	return &deliveryOut{view.NewDeliveryDetail(d.Delivery, sub, d.Payload)}, nil
}

func (a *api) replayDelivery(ctx context.Context, caller call.Caller, in *deliveryIn) (*replayOut, error) {
	r, err := a.uses.Webhooks.Replay(ctx, caller.Principal, caller.Scope, in.ID, in.DeliveryID)
	if err != nil {
		return nil, err
	}
	return &replayOut{view.NewReplay(r.Delivery, r.Previous, r.Status, r.Next)}, nil
}

func (a *api) listInbox(ctx context.Context, caller call.Caller, in *inboxIn) (*inboxOut, error) {
	list, total, err := a.uses.Webhooks.Inbox(ctx, caller.Scope, in.ID, in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &inboxOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(r webhooks.Received) string { return r.ID }, view.NewReceived)
	return out, nil
}

// receive accepts a delivery to a managed inbox. The signature over the raw body replaces credentials.
func (a *api) receive(w http.ResponseWriter, r *http.Request) {
	defer a.Gate.StrangersBody(w.Header(), r)()
	body, err := call.ReadBody(w, r)
	if err != nil {
		a.WriteError(w, r, err)
		return
	}
	if err := a.uses.Webhooks.Receive(r.Context(), r.PathValue("slug"), r.Header, body); err != nil {
		a.WriteError(w, r, a.Gate.Refuse(w.Header(), r, err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"ok":true}`+"\n") // the sender may have gone
}
