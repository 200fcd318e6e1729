package view

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/danielgtaylor/huma/v2"
)

// Subscription is a webhook subscription (HOOK-3).
type Subscription struct {
	ID                      string                      `json:"id" example:"wh_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	URL                     string                      `json:"url"`
	Events                  []string                    `json:"events" doc:"Event names, or * for all"`
	EventsVersion           webhooks.EventsVersion      `json:"eventsVersion" doc:"The set of event types that * stands for"`
	Managed                 bool                        `json:"managed" doc:"The URL is an inbox at the service"`
	Status                  webhooks.SubscriptionStatus `json:"status" enum:"enabled,disabled"`
	DisabledReason          *string                     `json:"disabledReason"`
	Description             *string                     `json:"description"`
	SecretPreview           string                      `json:"secretPreview"`
	Authentication          *EndpointAuthentication     `json:"authentication" doc:"What deliveries carry for your gateway, without the secret; null: nothing"`
	PreviousSecretExpiresAt *Time                       `json:"previousSecretExpiresAt" nullable:"true" doc:"Until then the previous secret signs too"`
	CreatedAt               Time                        `json:"createdAt"`
	UpdatedAt               Time                        `json:"updatedAt"`
	LastDeliveryAt          *Time                       `json:"lastDeliveryAt" nullable:"true" doc:"The last try"`
}

// CreatedSubscription is a subscription that was made just now.
type CreatedSubscription struct {
	Subscription
	Secret string `json:"secret" doc:"Shown here, to a repeat with the same Idempotency-Key, and when it is rotated"`
}

// EndpointAuthentication is what an endpoint asks of its callers, without the secret.
type EndpointAuthentication struct {
	Username string `json:"username,omitempty" doc:"Of Basic authentication"`
	Header   string `json:"header,omitempty" doc:"The name of the header"`
}

func newAuthentication(a webhooks.Authentication) *EndpointAuthentication {
	if a.None() {
		return nil
	}
	return &EndpointAuthentication{Username: a.Username, Header: a.Header}
}

// NewSubscription shows a subscription, without its secrets.
func NewSubscription(s webhooks.Subscription) Subscription {
	return Subscription{
		ID: s.ID, URL: s.URL, Events: slices.Clone(s.Events), EventsVersion: s.EventsVersion, Managed: s.Managed, Status: s.Status,
		DisabledReason: text(s.DisabledReason), Description: text(s.Description), SecretPreview: s.SecretPreview,
		Authentication:          newAuthentication(s.Authentication),
		PreviousSecretExpiresAt: at(s.PreviousUntil), CreatedAt: Time{s.CreatedAt}, UpdatedAt: Time{s.UpdatedAt},
		LastDeliveryAt: at(s.LastDelivery),
	}
}

// Delivery is one event on its way to one endpoint, as lists show it (HOOK-22).
type Delivery struct {
	ID                  string                  `json:"id" example:"wd_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6-1-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6" doc:"The header X-Service-Delivery has the same with dlv_"`
	SubscriptionID      string                  `json:"subscriptionId"`
	EventID             string                  `json:"eventId"`
	Event               webhooks.EventType      `json:"event"`
	URL                 string                  `json:"url" doc:"Where the subscription points now"`
	Status              webhooks.DeliveryStatus `json:"status" enum:"pending,delivered,failed,dead_letter"`
	Attempts            int                     `json:"attempts" doc:"Tries so far; a replay adds to them"`
	MaxAttempts         int                     `json:"maxAttempts" doc:"Tries after which it is a dead letter; a replay adds to them"`
	NextAttemptAt       *Time                   `json:"nextAttemptAt" nullable:"true"`
	LastAttemptAt       *Time                   `json:"lastAttemptAt" nullable:"true"`
	LastStatusCode      *int                    `json:"lastStatusCode" doc:"Null when there was no answer"`
	LastError           DeliveryError           `json:"lastError"`
	LastResponseSnippet *string                 `json:"lastResponseSnippet" doc:"The start of the answer, at most 1 KB"`
	LastDurationMs      *int64                  `json:"lastDurationMs"`
	CreatedAt           Time                    `json:"createdAt"`
	DeliveredAt         *Time                   `json:"deliveredAt" nullable:"true"`
}

// NewDelivery shows a delivery to a subscription.
func NewDelivery(d webhooks.Delivery, s webhooks.Subscription) Delivery {
	v := Delivery{
		ID: d.ID, SubscriptionID: d.Subscription, EventID: d.Event, Event: d.EventType, URL: s.URL, Status: d.Status,
		Attempts: d.Attempts, MaxAttempts: d.Budget, NextAttemptAt: at(d.DueAt), CreatedAt: Time{d.CreatedAt}, DeliveredAt: at(d.DeliveredAt),
	}
	if d.Parked && s.Circuit.Open && s.Circuit.ProbeAt.After(d.DueAt) {
		v.NextAttemptAt = at(s.Circuit.ProbeAt)
	}
	if log := d.Log(); len(log) > 0 {
		last := newAttempt(log[len(log)-1])
		v.LastAttemptAt, v.LastStatusCode, v.LastError = &last.At, last.StatusCode, last.Error
		v.LastResponseSnippet, v.LastDurationMs = last.ResponseSnippet, &last.DurationMs
	}
	return v
}

// DeliveryError is why a try failed, null if it succeeded.
type DeliveryError string

// MarshalJSON writes the word or null.
func (e DeliveryError) MarshalJSON() ([]byte, error) { return json.Marshal(text(string(e))) }

// Schema describes the output of MarshalJSON in the OpenAPI document.
func (DeliveryError) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Nullable: true, Description: "Why the try failed",
		Enum: []any{"timeout", "dns", "tls", "needs_tls", "refused", "reset", "bad_answer", "http_status", "credentials_refused", "blocked_address", nil},
	}
}

// DeliveryDetail is a delivery with its payload and the result of each try.
type DeliveryDetail struct {
	Delivery
	Payload    Payload   `json:"payload"`
	AttemptLog []Attempt `json:"attemptLog" doc:"The last 20 tries, oldest first"`
}

// Attempt is one try of a delivery.
type Attempt struct {
	At              Time          `json:"at"`
	StatusCode      *int          `json:"statusCode" doc:"Null when there was no answer"`
	Error           DeliveryError `json:"error"`
	DurationMs      int64         `json:"durationMs"`
	ResponseSnippet *string       `json:"responseSnippet" doc:"The start of the answer; 256 bytes of all but the last"`
}

func newAttempt(a webhooks.Attempted) Attempt {
	v := Attempt{At: Time{timeOf(a.At)}, Error: DeliveryError(a.Error), DurationMs: a.Ms, ResponseSnippet: text(a.Snippet)}
	if a.Code != 0 {
		v.StatusCode = &a.Code
	}
	return v
}

// NewDeliveryDetail shows a delivery with all details.
func NewDeliveryDetail(d webhooks.Delivery, s webhooks.Subscription, payload []byte) DeliveryDetail {
	v := DeliveryDetail{Delivery: NewDelivery(d, s), Payload: payload, AttemptLog: []Attempt{}}
	for _, a := range d.Log() {
		v.AttemptLog = append(v.AttemptLog, newAttempt(a))
	}
	return v
}

// Payload is an event's body, byte for byte as it was signed.
type Payload json.RawMessage

// MarshalJSON writes the body.
func (p Payload) MarshalJSON() ([]byte, error) { return p, nil }

// Schema describes the output of MarshalJSON in the OpenAPI document.
func (Payload) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Description: "The event as it is sent", AdditionalProperties: true}
}

// Replay is the answer to a replay (HOOK-26).
type Replay struct {
	OK             bool                    `json:"ok"`
	DeliveryID     string                  `json:"deliveryId"`
	PreviousStatus webhooks.DeliveryStatus `json:"previousStatus" enum:"failed,dead_letter"`
	NewStatus      webhooks.DeliveryStatus `json:"newStatus" enum:"pending"`
	NextAttemptAt  Time                    `json:"nextAttemptAt"`
	Note           string                  `json:"note"`
}

// NewReplay shows a replay.
func NewReplay(delivery string, previous, status webhooks.DeliveryStatus, next time.Time) Replay {
	return Replay{
		OK: true, DeliveryID: delivery, PreviousStatus: previous, NewStatus: status, NextAttemptAt: Time{next},
		Note: "The delivery is sent again within 5 seconds, with a fresh set of tries. Its id and its event's id stay the same.",
	}
}

// Received is a delivery in a managed inbox (HOOK-31).
type Received struct {
	ID         string             `json:"id" example:"inb_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	DeliveryID string             `json:"deliveryId"`
	EventID    string             `json:"eventId"`
	Event      webhooks.EventType `json:"event"`
	ReceivedAt Time               `json:"receivedAt"`
	Headers    ReceivedHeaders    `json:"headers" doc:"As an endpoint of your own would get them"`
	Payload    Payload            `json:"payload"`
}

// ReceivedHeaders are the delivery headers that receivers use. A test compares the names with those of
// package webhook.
type ReceivedHeaders struct {
	Signature         string `json:"X-Service-Signature"`
	Event             string `json:"X-Service-Event"`
	Delivery          string `json:"X-Service-Delivery"`
	StandardID        string `json:"webhook-id"`
	StandardTimestamp string `json:"webhook-timestamp"`
	StandardSignature string `json:"webhook-signature"`
}

// newReceivedHeaders reads each field from the header of its name.
func newReceivedHeaders(header map[string]string) (headers ReceivedHeaders) {
	fields := reflect.ValueOf(&headers).Elem()
	for field, value := range fields.Fields() {
		value.SetString(header[field.Tag.Get("json")])
	}
	return headers
}

// NewReceived shows a delivery in an inbox.
func NewReceived(r webhooks.Received) Received {
	return Received{
		ID: r.ID, DeliveryID: r.Delivery, EventID: r.Event, Event: r.EventType, ReceivedAt: Time{r.At},
		Headers: newReceivedHeaders(r.Header),
		Payload: r.Body,
	}
}
