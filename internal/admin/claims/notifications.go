package claims

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// NotificationPath names a notification.
type NotificationPath struct {
	ID string `path:"id" maxLength:"300" example:"stripe-mx/evt_1" doc:"With / written as %2F"`
}

type notificationsIn struct {
	call.PageQuery
	TransactionID string `query:"transactionId" maxLength:"64" doc:"All notifications of this payment"`
	Unknown       bool   `query:"unknown" doc:"Notifications about objects that the books do not have, newest first; also those of other systems at the same account"`
}

type notificationsOut struct {
	Body struct {
		Data       []shape.ProviderNotification `json:"data"`
		Pagination call.Cursor                  `json:"pagination"`
	}
}

type notificationOut struct{ Body shape.ProviderNotification }

type closeNotificationIn struct {
	NotificationPath
	Body ClosedNotification
}

// ClosedNotification says what the operator did about a notification.
type ClosedNotification struct {
	_    struct{} `additionalProperties:"false"`
	Note string   `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"the difference was refunded" doc:"For the audit log"`
}

func (a *api) notificationRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Notifications"}}
	}
	call.Handle(a.API, operators.View, op("listNotifications", http.MethodGet, "/notifications", "List notifications of providers that need your attention",
		"Oldest first: another currency was paid, another amount was refunded, a report contradicts the books or was not understood."), nil, a.notifications)
	call.Handle(a.API, operators.View, op("getNotification", http.MethodGet, "/notifications/{id}", "Read a notification as the provider sent it", "With its body."), nil, a.notification)
	call.Handle(a.API, operators.Cases, op("closeNotification", http.MethodPost, "/notifications/{id}/close", "Record that you have dealt with a notification",
		"The merchant's balance stops warning of it; the payment does not change."), []problem.Code{problem.ConflictState}, a.closeNotification)
}

func (a *api) notifications(ctx context.Context, _ audit.Actor, in *notificationsIn) (*notificationsOut, error) {
	id := func(n pay.KeptNotice) string { return n.ID }
	var list []pay.KeptNotice
	var err error
	switch {
	case in.Unknown && in.TransactionID != "":
		return nil, message.Refusal(problem.InvalidRequest, "give only one of these: transactionId or unknown")
	case in.Unknown:
		list, err = a.Uses.Lists.Unknown(ctx, in.Rows())
	case in.TransactionID != "":
		if list, err = a.Uses.Notices.Notifications(ctx, in.TransactionID, in.Limit); err == nil {
			id = func(n pay.KeptNotice) string { return call.Sortable(n.At) + " " + n.ID }
			list = call.Cut(in.PageQuery, list, id)
		}
	default:
		list, err = a.Uses.Lists.Misfits(ctx, in.Rows())
	}
	if err != nil {
		return nil, err
	}
	out := &notificationsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, id, shape.NewNotification)
	return out, nil
}

func (a *api) notification(ctx context.Context, _ audit.Actor, in *NotificationPath) (*notificationOut, error) {
	n, err := a.Uses.Notices.Notification(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	shown := shape.NewNotification(n)
	shown.Body = string(n.Body)
	return &notificationOut{shown}, nil
}

func (a *api) closeNotification(ctx context.Context, by audit.Actor, in *closeNotificationIn) (*notificationOut, error) {
	n, err := a.Uses.Notices.Notification(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	waits, err := a.Uses.Notices.Waits(ctx, n)
	if err != nil {
		return nil, err
	}
	if !waits {
		return nil, problem.Conflict("closed", message.Literal("the notification does not wait for anybody"))
	}
	if err := a.Uses.Notices.CloseNotification(ctx, by, in.ID, in.Body.Note); err != nil {
		return nil, err
	}
	n.Verdict = pay.Closed
	return &notificationOut{shape.NewNotification(n)}, nil
}
