package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// NewWebhook is the data of a subscription.
type NewWebhook struct {
	URL    string      `json:"url,omitempty"` // "" for an inbox at the service
	Events []EventType `json:"events"`        // or only AllEvents
	// EventsVersion is the set that AllEvents means; "" is the newest.
	EventsVersion  string                 `json:"eventsVersion,omitempty"`
	Authentication *WebhookAuthentication `json:"authentication,omitempty"` // that a gateway in front of the URL asks for
	Description    string                 `json:"description,omitempty"`

	// Strict makes the sandbox refuse a URL that production refuses, or not; nil keeps the
	// sandbox's setting.
	Strict *bool `json:"-"`
	// IdempotencyKey makes it safe to send the same request again: a repeat gets the webhook that the first request made, with its secret.
	IdempotencyKey string `json:"-"`
}

// WebhookAuthentication is what deliveries carry for a gateway: Username and Password for Basic authentication, or Header and Value. Replies
// have Username or Header only.
type WebhookAuthentication struct {
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	Header   string `json:"header,omitempty"`
	Value    string `json:"value,omitempty"`
}

// MarshalJSON implements json.Marshaler. The zero value is null, which takes credentials away.
func (a WebhookAuthentication) MarshalJSON() ([]byte, error) {
	type fields WebhookAuthentication
	if a == (WebhookAuthentication{}) {
		return []byte("null"), nil
	}
	return json.Marshal(fields(a))
}

// Webhook is an endpoint that receives events.
type Webhook struct {
	ID                      string                 `json:"id"` // wh_…
	URL                     string                 `json:"url"`
	Events                  []EventType            `json:"events"`
	EventsVersion           string                 `json:"eventsVersion"`  // the set that AllEvents means
	Authentication          *WebhookAuthentication `json:"authentication"` // nil for none
	Managed                 bool                   `json:"managed"`        // the URL is an inbox at the service
	Status                  string                 `json:"status"`         // enabled or disabled
	DisabledReason          string                 `json:"disabledReason"`
	Description             string                 `json:"description"`
	Secret                  string                 `json:"secret"` // whsec_…; only CreateWebhook and RotateWebhookSecret show one
	SecretPreview           string                 `json:"secretPreview"`
	PreviousSecretExpiresAt time.Time              `json:"previousSecretExpiresAt"` // zero unless a rotation is in progress
	CreatedAt               time.Time              `json:"createdAt"`
	UpdatedAt               time.Time              `json:"updatedAt"`
	LastDeliveryAt          time.Time              `json:"lastDeliveryAt"` // zero before the first
}

// CreateWebhook subscribes an endpoint. Keep the Secret of the reply: it is shown only
// once. A Receiver needs it to verify and read the deliveries.
func (c *Client) CreateWebhook(ctx context.Context, n NewWebhook) (Webhook, error) {
	var w Webhook
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/webhooks", body: n, header: map[string]string{"Idempotency-Key": n.IdempotencyKey, "Sandbox-Strict": yesOrNo(n.Strict)}}, &w)
	return w, err
}

// WebhookPage is one page of webhooks.
type WebhookPage struct {
	Data       []Webhook  `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Webhooks lists webhooks, newest first.
func (c *Client) Webhooks(ctx context.Context, p Page) (WebhookPage, error) {
	query := map[string]string{}
	addPage(query, p)
	var page WebhookPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/webhooks", query: values(query)}, &page)
	return page, err
}

// Webhook reads a subscription.
func (c *Client) Webhook(ctx context.Context, id string) (Webhook, error) {
	var w Webhook
	_, err := c.do(ctx, request{method: http.MethodGet, path: webhookPath(id)}, &w)
	return w, err
}

// WebhookChange is what UpdateWebhook changes; nil keeps the present value.
type WebhookChange struct {
	URL            *string                `json:"url,omitempty"`
	Events         []EventType            `json:"events,omitempty"`
	EventsVersion  *string                `json:"eventsVersion,omitempty"`  // a newer set
	Authentication *WebhookAuthentication `json:"authentication,omitempty"` // the zero value takes it away; so does a URL at another host, unless it is sent again
	Description    *string                `json:"description,omitempty"`
	Status         *string                `json:"status,omitempty"` // enabled or disabled

	// Strict makes the sandbox refuse a URL that production refuses, or not; nil keeps the
	// sandbox's setting.
	Strict *bool `json:"-"`
}

// UpdateWebhook changes a subscription. Its secret stays.
func (c *Client) UpdateWebhook(ctx context.Context, id string, change WebhookChange) (Webhook, error) {
	var w Webhook
	_, err := c.do(ctx, request{method: http.MethodPatch, path: webhookPath(id), body: change, header: map[string]string{"Sandbox-Strict": yesOrNo(change.Strict)}}, &w)
	return w, err
}

// RotatedSecret is a subscription's new secret, shown only once.
type RotatedSecret struct {
	ID                      string    `json:"id"`
	Secret                  string    `json:"secret"`
	PreviousSecretExpiresAt time.Time `json:"previousSecretExpiresAt"` // until then deliveries are signed with the old secret too
}

// RotateWebhookSecret gives a subscription a new secret.
func (c *Client) RotateWebhookSecret(ctx context.Context, id string) (RotatedSecret, error) {
	var r RotatedSecret
	_, err := c.do(ctx, request{method: http.MethodPost, path: webhookPath(id) + "/rotate-secret"}, &r)
	return r, err
}

// DeleteWebhook ends a subscription.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: webhookPath(id)}, nil)
	return err
}

// NewReplay requests that the events of a time span are sent again.
type NewReplay struct {
	From  time.Time   `json:"from"`
	To    time.Time   `json:"to,omitzero"`     // and before; zero: now
	Types []EventType `json:"types,omitempty"` // none: all types of the webhook

	// IdempotencyKey makes it safe to send the same request again: a repeat gets the replay
	// that the first one began.
	IdempotencyKey string `json:"-"`
}

// Replay sends the events of a time span again.
type Replay struct {
	ID             string      `json:"id"` // rpl_…
	SubscriptionID string      `json:"subscriptionId"`
	Status         string      `json:"status"`     // running, done or stopped
	StopReason     string      `json:"stopReason"` // requested or webhook_disabled; "" unless it is stopped
	ResumeFrom     time.Time   `json:"resumeFrom"` // the NewReplay.From that continues a stopped replay
	From           time.Time   `json:"from"`
	To             time.Time   `json:"to"`
	Types          []EventType `json:"types"`
	Events         int64       `json:"events"`  // events in the time span
	Sent           int64       `json:"sent"`    // deliveries that were begun so far
	LeftOut        int64       `json:"leftOut"` // already on their way, or no longer subscribed
	CreatedAt      time.Time   `json:"createdAt"`
	UpdatedAt      time.Time   `json:"updatedAt"`
}

// ReplayEvents sends the events of a time span to a webhook again: at most 31 days and
// 100,000 events. A webhook has at most one running replay.
//
// Errors: invalid_request, conflict_state.
func (c *Client) ReplayEvents(ctx context.Context, webhook string, n NewReplay) (Replay, error) {
	var r Replay
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: webhookPath(webhook) + "/replay", body: n, header: map[string]string{"Idempotency-Key": n.IdempotencyKey},
	}, &r)
	return r, err
}

// Replay reads the progress of a replay.
func (c *Client) Replay(ctx context.Context, webhook, id string) (Replay, error) {
	var r Replay
	_, err := c.do(ctx, request{method: http.MethodGet, path: webhookPath(webhook) + "/replays/" + url.PathEscape(id)}, &r)
	return r, err
}

// ReplayPage is one page of replays.
type ReplayPage struct {
	Data       []Replay   `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Replays lists the replays to a webhook, newest first.
func (c *Client) Replays(ctx context.Context, webhook string, p Page) (ReplayPage, error) {
	query := map[string]string{}
	addPage(query, p)
	var page ReplayPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: webhookPath(webhook) + "/replays", query: values(query)}, &page)
	return page, err
}

// StopReplay stops a replay. Deliveries that it has begun are still sent.
//
// Errors: conflict_state for one that is done.
func (c *Client) StopReplay(ctx context.Context, webhook, id string) (Replay, error) {
	var r Replay
	_, err := c.do(ctx, request{method: http.MethodPost, path: webhookPath(webhook) + "/replays/" + url.PathEscape(id) + "/stop"}, &r)
	return r, err
}

func webhookPath(id string) string { return "/webhooks/" + url.PathEscape(id) }
