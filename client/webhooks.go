package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// AllEvents subscribes a webhook to every event.
const AllEvents = "*"

// NewWebhook is what a subscription is made from.
type NewWebhook struct {
	URL         string   `json:"url,omitempty"` // "" for an inbox at the service
	Events      []string `json:"events"`        // such as payment.completed, or AllEvents
	Description string   `json:"description,omitempty"`
}

// Webhook is an endpoint that events are sent to.
type Webhook struct {
	ID                      string    `json:"id"` // wh_…
	URL                     string    `json:"url"`
	Events                  []string  `json:"events"`
	Managed                 bool      `json:"managed"` // the URL is an inbox at the service
	Status                  string    `json:"status"`  // enabled or disabled
	DisabledReason          string    `json:"disabledReason"`
	Description             string    `json:"description"`
	Secret                  string    `json:"secret"` // whsec_…; only CreateWebhook shows it
	SecretPreview           string    `json:"secretPreview"`
	PreviousSecretExpiresAt time.Time `json:"previousSecretExpiresAt"` // zero unless a rotation is under way
	CreatedAt               time.Time `json:"createdAt"`
	UpdatedAt               time.Time `json:"updatedAt"`
	LastDeliveryAt          time.Time `json:"lastDeliveryAt"` // zero before the first
}

// CreateWebhook subscribes an endpoint. Keep the Secret of the reply: it is
// shown this once.
func (c *Client) CreateWebhook(ctx context.Context, n NewWebhook) (Webhook, error) {
	var w Webhook
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/webhooks", body: n}, &w)
	return w, err
}

// WebhookPage is one page of webhooks.
type WebhookPage struct {
	Data       []Webhook  `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Webhooks lists webhooks, newest first. Limit 0 means 50.
func (c *Client) Webhooks(ctx context.Context, limit, offset int) (WebhookPage, error) {
	query := map[string]string{}
	addPage(query, limit, offset)
	var page WebhookPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/webhooks", query: values(query)}, &page)
	return page, err
}

// DeleteWebhook ends a subscription.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: "/webhooks/" + url.PathEscape(id)}, nil)
	return err
}
