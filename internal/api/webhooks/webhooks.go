package webhooks

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/cascadapay/cascada/internal/api/call"
	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// Events are required, and the document says so. They are checked with the rest, so that all errors are
// reported together.
type subscribeIn struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"1 to 255 printable characters; a repeat gets the subscription that the first request made, with its secret"`
	call.StrictHeader
	RawBody []byte
	Body    struct {
		Events         []string               `json:"events,omitempty" maxItems:"50" doc:"Event names, or * for all"`
		EventsVersion  webhooks.EventsVersion `json:"eventsVersion,omitempty" doc:"The set of event types that * stands for; the newest by default"`
		URL            string                 `json:"url,omitempty" maxLength:"2048" doc:"Absent: a managed inbox"`
		Authentication maybeAuthentication    `json:"authentication,omitzero" doc:"What your gateway asks of callers: username and password, or header and value. Each delivery carries it"`
		Description    string                 `json:"description,omitempty" maxLength:"200"`
	}
}

// Resolve checks the headers.
func (in *subscribeIn) Resolve(ctx huma.Context) []error {
	return append(call.CheckKey(in.IdempotencyKey), in.StrictHeader.Resolve(ctx)...)
}

// AuthenticationBody is what an endpoint asks of its callers, one pair or the other.
type AuthenticationBody struct {
	Username string `json:"username,omitempty" example:"cascada" doc:"For Basic authentication"`
	Password string `json:"password,omitempty" format:"password" writeOnly:"true" doc:"Never shown"`
	Header   string `json:"header,omitempty" example:"X-Api-Key" doc:"The name of a header"`
	Value    string `json:"value,omitempty" format:"password" writeOnly:"true" doc:"The header's value; never shown"`
}

// maybeAuthentication tells null, which takes credentials away, from a field that is absent.
type maybeAuthentication struct {
	sent bool
	body *AuthenticationBody
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *maybeAuthentication) UnmarshalJSON(text []byte) error {
	m.sent = true
	return json.Unmarshal(text, &m.body)
}

// Schema describes the field in the OpenAPI document.
func (maybeAuthentication) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[*AuthenticationBody](), true, "")
}

// removed reports whether null was sent.
func (m maybeAuthentication) removed() bool { return m.sent && m.body == nil }

// credentials are what was sent; nil without an object.
func (m maybeAuthentication) credentials() *appwebhooks.Credentials {
	if m.body == nil {
		return nil
	}
	return &appwebhooks.Credentials{Username: m.body.Username, Password: m.body.Password, Header: m.body.Header, Value: m.body.Value}
}

type subscriptionOut struct{ Body view.Subscription }

type createdSubscriptionOut struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true on a repeat"`
	Body     view.CreatedSubscription
}

// Absent or null fields stay unchanged, but authentication: null takes it away.
type editIn struct {
	ID string `path:"id"`
	call.StrictHeader
	Body struct {
		URL            *string                      `json:"url,omitempty" maxLength:"2048" doc:"A managed inbox becomes an endpoint of your own"`
		Events         []string                     `json:"events,omitempty" maxItems:"50" doc:"Event names, or * for all"`
		EventsVersion  *webhooks.EventsVersion      `json:"eventsVersion,omitempty" doc:"A newer set of event types for * to stand for"`
		Authentication maybeAuthentication          `json:"authentication,omitzero" doc:"Replaces what deliveries carry; null takes it away. A url at another scheme, host or port takes it away too, unless you send it again"`
		Description    *string                      `json:"description,omitempty" maxLength:"200"`
		Status         *webhooks.SubscriptionStatus `json:"status,omitempty" enum:"enabled,disabled" doc:"enabled also ends the pauses after failures"`
	}
}

type rotateOut struct {
	Body struct {
		ID                      string    `json:"id"`
		Secret                  string    `json:"secret" doc:"Shown once"`
		PreviousSecretExpiresAt view.Time `json:"previousSecretExpiresAt" doc:"Until then the previous secret signs too"`
	}
}

type subscriptionsIn struct{ wire.Page }

type subscriptionsOut struct {
	Body struct {
		Data       []view.Subscription `json:"data"`
		Pagination wire.Pagination     `json:"pagination"`
	}
}

type unsubscribeOut struct {
	Body struct {
		ID      string `json:"id"`
		Deleted bool   `json:"deleted"`
	}
}

func (a *api) webhookRoutes() {
	tags := []string{"Webhooks"}
	call.Handle(a.API, huma.Operation{OperationID: "createWebhook", Method: http.MethodPost, Path: "/webhooks", Tags: tags,
		Summary: "Subscribe an endpoint to events", DefaultStatus: http.StatusCreated}, call.ToNotify, call.InShop(a.API, a.subscribe))
	call.Handle(a.API, huma.Operation{OperationID: "listWebhooks", Method: http.MethodGet, Path: "/webhooks", Tags: tags,
		Summary: "List subscriptions, newest first"}, call.ToRead, call.InShop(a.API, a.subscriptions))
	call.Handle(a.API, huma.Operation{OperationID: "getWebhook", Method: http.MethodGet, Path: "/webhooks/{id}", Tags: tags,
		Summary: "Read a subscription"}, call.ToRead, call.InShop(a.API, a.subscription))
	call.Handle(a.API, huma.Operation{OperationID: "updateWebhook", Method: http.MethodPatch, Path: "/webhooks/{id}", Tags: tags,
		Summary: "Change a subscription; its secret is kept"}, call.ToNotify, call.InShop(a.API, a.editSubscription))
	call.Handle(a.API, huma.Operation{OperationID: "rotateWebhookSecret", Method: http.MethodPost, Path: "/webhooks/{id}/rotate-secret", Tags: tags,
		Summary: "Give a subscription a new secret"}, call.ToNotify, call.InShop(a.API, a.rotateSecret))
	call.Handle(a.API, huma.Operation{OperationID: "deleteWebhook", Method: http.MethodDelete, Path: "/webhooks/{id}", Tags: tags,
		Summary: "Delete a subscription"}, call.ToNotify, call.InShop(a.API, a.unsubscribe))
	a.deliveryRoutes(tags)
}

func (a *api) subscribe(ctx context.Context, caller call.Caller, in *subscribeIn) (*createdSubscriptionOut, error) {
	if err := in.SandboxOnly(caller); err != nil {
		return nil, err
	}
	n := appwebhooks.NewSubscription{
		URL: in.Body.URL, Events: in.Body.Events, EventsVersion: in.Body.EventsVersion, Description: in.Body.Description, Strict: in.Chosen(),
		Credentials: in.Body.Authentication.credentials(),
	}
	if in.IdempotencyKey != "" {
		n.Idempotency = call.OnceFor("POST /webhooks", in.IdempotencyKey, in.RawBody, in.StrictHeader.Strict)
	}
	made, err := a.uses.Webhooks.Subscribe(ctx, caller.Principal, caller.Scope, n)
	if err != nil {
		return nil, err
	}
	return &createdSubscriptionOut{call.Repeated(made.Replayed), view.CreatedSubscription{Subscription: view.NewSubscription(made.Subscription), Secret: made.Secret}}, nil
}

func (a *api) subscriptions(ctx context.Context, caller call.Caller, in *subscriptionsIn) (*subscriptionsOut, error) {
	list, total, err := a.uses.Webhooks.Subscriptions(ctx, caller.Scope, in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &subscriptionsOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(s webhooks.Subscription) string { return s.ID }, view.NewSubscription)
	return out, nil
}

func (a *api) subscription(ctx context.Context, caller call.Caller, in *call.IDPath) (*subscriptionOut, error) {
	sub, err := a.uses.Webhooks.Subscription(ctx, caller.Scope, in.ID)
	if err != nil {
		return nil, err
	}
	return &subscriptionOut{view.NewSubscription(sub)}, nil
}

func (a *api) editSubscription(ctx context.Context, caller call.Caller, in *editIn) (*subscriptionOut, error) {
	if err := in.SandboxOnly(caller); err != nil {
		return nil, err
	}
	sub, err := a.uses.Webhooks.EditSubscription(ctx, caller.Principal, caller.Scope, in.ID, appwebhooks.SubscriptionEdit{
		SubscriptionEdit: webhooks.SubscriptionEdit{
			URL: in.Body.URL, Events: in.Body.Events, EventsVersion: in.Body.EventsVersion, Description: in.Body.Description, Status: in.Body.Status,
		},
		Credentials: in.Body.Authentication.credentials(), NoCredentials: in.Body.Authentication.removed(), Strict: in.Chosen(),
	})
	if err != nil {
		return nil, err
	}
	return &subscriptionOut{view.NewSubscription(sub)}, nil
}

func (a *api) rotateSecret(ctx context.Context, caller call.Caller, in *call.IDPath) (*rotateOut, error) {
	sub, secret, err := a.uses.Webhooks.RotateSecret(ctx, caller.Principal, caller.Scope, in.ID)
	if err != nil {
		return nil, err
	}
	out := &rotateOut{}
	out.Body.ID, out.Body.Secret, out.Body.PreviousSecretExpiresAt = sub.ID, secret, view.Time{Time: sub.PreviousUntil}
	return out, nil
}

func (a *api) unsubscribe(ctx context.Context, caller call.Caller, in *call.IDPath) (*unsubscribeOut, error) {
	if err := a.uses.Webhooks.Unsubscribe(ctx, caller.Actor(), caller.Scope, in.ID); err != nil {
		return nil, err
	}
	out := &unsubscribeOut{}
	out.Body.ID, out.Body.Deleted = in.ID, true
	return out, nil
}
