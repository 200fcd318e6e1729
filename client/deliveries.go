package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Delivery is one event on its way to one webhook.
type Delivery struct {
	ID                  string    `json:"id"` // wd_…; the header X-Service-Delivery has it with dlv_
	SubscriptionID      string    `json:"subscriptionId"`
	EventID             string    `json:"eventId"`
	Event               EventType `json:"event"`
	URL                 string    `json:"url"`
	Status              string    `json:"status"` // pending, delivered, failed or dead_letter
	Attempts            int       `json:"attempts"`
	MaxAttempts         int       `json:"maxAttempts"`
	NextAttemptAt       time.Time `json:"nextAttemptAt"`  // zero when there is none
	LastAttemptAt       time.Time `json:"lastAttemptAt"`  // zero before the first
	LastStatusCode      int       `json:"lastStatusCode"` // 0 without an answer
	LastError           string    `json:"lastError"`      // timeout, dns, tls, needs_tls, refused, reset, bad_answer, http_status or blocked_address; "" for none
	LastResponseSnippet string    `json:"lastResponseSnippet"`
	LastDurationMs      int64     `json:"lastDurationMs"`
	CreatedAt           time.Time `json:"createdAt"`
	DeliveredAt         time.Time `json:"deliveredAt"` // zero until it is delivered
	// Only Delivery returns these.
	Payload    json.RawMessage   `json:"payload"` // byte for byte what is signed
	AttemptLog []DeliveryAttempt `json:"attemptLog"`
}

// DeliveryAttempt is one try of a delivery.
type DeliveryAttempt struct {
	At              time.Time `json:"at"`
	StatusCode      int       `json:"statusCode"` // 0 without an answer
	Error           string    `json:"error"`      // as LastError
	DurationMs      int64     `json:"durationMs"`
	ResponseSnippet string    `json:"responseSnippet"`
}

// DeliveryFilter selects deliveries; zero fields select all.
type DeliveryFilter struct {
	Status        string
	Event         EventType
	From          time.Time // created at or after
	To            time.Time // created before
	Limit         int       // rows of a page, 1 to 100; 0 means 50
	Offset        int       // rows to skip
	StartingAfter string    // instead of Offset: the NextCursor of the page before
}

// DeliveryPage is one page of deliveries.
type DeliveryPage struct {
	Data       []Delivery `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Deliveries lists a webhook's deliveries, newest first.
func (c *Client) Deliveries(ctx context.Context, webhook string, f DeliveryFilter) (DeliveryPage, error) {
	query := map[string]string{"status": f.Status, "event": string(f.Event), "from": moment(f.From), "to": moment(f.To)}
	addPage(query, Page{f.Limit, f.Offset, f.StartingAfter})
	var page DeliveryPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: webhookPath(webhook) + "/deliveries", query: values(query)}, &page)
	return page, err
}

// Delivery reads one delivery, under either of its ids, with its payload and
// its tries.
func (c *Client) Delivery(ctx context.Context, webhook, id string) (Delivery, error) {
	var d Delivery
	_, err := c.do(ctx, request{method: http.MethodGet, path: deliveryPath(webhook, id)}, &d)
	return d, err
}

// DeliveryReplay is the result of a replay.
type DeliveryReplay struct {
	OK             bool      `json:"ok"`
	DeliveryID     string    `json:"deliveryId"`
	PreviousStatus string    `json:"previousStatus"`
	NewStatus      string    `json:"newStatus"`
	NextAttemptAt  time.Time `json:"nextAttemptAt"`
	Note           string    `json:"note"`
}

// ReplayDelivery sends a failed delivery again, at once. For other deliveries the service
// returns conflict_state.
func (c *Client) ReplayDelivery(ctx context.Context, webhook, id string) (DeliveryReplay, error) {
	var r DeliveryReplay
	_, err := c.do(ctx, request{method: http.MethodPost, path: deliveryPath(webhook, id) + "/replay"}, &r)
	return r, err
}

func deliveryPath(webhook, id string) string {
	return webhookPath(webhook) + "/deliveries/" + url.PathEscape(id)
}

// Received is a delivery that a managed inbox received.
type Received struct {
	ID         string            `json:"id"` // inb_…
	DeliveryID string            `json:"deliveryId"`
	EventID    string            `json:"eventId"`
	Event      EventType         `json:"event"`
	ReceivedAt time.Time         `json:"receivedAt"`
	Headers    map[string]string `json:"headers"` // with the signatures over Payload
	Payload    json.RawMessage   `json:"payload"` // byte for byte what is signed
}

// InboxPage is one page of an inbox.
type InboxPage struct {
	Data       []Received `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Inbox lists the deliveries to a managed webhook's inbox, newest first: at most 1000, of
// the last 30 days.
func (c *Client) Inbox(ctx context.Context, webhook string, p Page) (InboxPage, error) {
	query := map[string]string{}
	addPage(query, p)
	var page InboxPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: webhookPath(webhook) + "/inbox", query: values(query)}, &page)
	return page, err
}
