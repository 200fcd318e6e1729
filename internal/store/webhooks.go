package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

const (
	// deliveryLease is how long the node that wrote an event has to send it
	// before another one may: longer than a try may take.
	deliveryLease = 30 * time.Second
	// deliveryBudget is how often a delivery is tried (gaps: Webhook
	// subscriptions and deliveries).
	deliveryBudget = 11
)

const subscriptionColumns = `id, merchant, shop, live, version, status, events, created_at, updated_at, doc`

type subscriptionDoc struct {
	URL            string `json:"url"`
	Managed        bool   `json:"managed,omitempty"`
	DisabledReason string `json:"disabledReason,omitempty"`
	Description    string `json:"description,omitempty"`
	Secret         []byte `json:"secret"` // sealed
	SecretPreview  string `json:"secretPreview"`
	PreviousSecret []byte `json:"previousSecret,omitempty"` // sealed
	PreviousUntil  int64  `json:"previousUntil,omitempty"`
}

func subscriptionRow(r *rows, s *pay.Subscription) {
	doc := subscriptionDoc{s.URL, s.Managed, s.DisabledReason, s.Description, s.Secret, s.SecretPreview, s.PreviousSecret, micros(s.PreviousUntil)}
	r.text(s.ID, s.Merchant, s.Shop).flag(s.Live).number(s.Version).text(string(s.Status), list(s.Events)).
		number(micros(s.CreatedAt), micros(s.UpdatedAt)).text(encode(doc))
}

func scanSubscription(r row) (pay.Subscription, error) {
	var s pay.Subscription
	var events, text, latest string
	var created, updated int64
	if err := r.Scan(&s.ID, &s.Merchant, &s.Shop, &s.Live, &s.Version, &s.Status, &events, &created, &updated, &text, &latest); err != nil {
		return s, err
	}
	var doc subscriptionDoc
	var delivery deliveryDoc
	if err := errors.Join(json.Unmarshal([]byte(text), &doc), json.Unmarshal([]byte(latest), &delivery)); err != nil {
		return s, fmt.Errorf("subscription %s: %w", s.ID, err)
	}
	s.LastDelivery = fromMicros(delivery.LastAt)
	s.URL, s.Managed, s.DisabledReason, s.Description = doc.URL, doc.Managed, doc.DisabledReason, doc.Description
	s.Secret, s.SecretPreview = doc.Secret, doc.SecretPreview
	s.PreviousSecret, s.PreviousUntil = doc.PreviousSecret, fromMicros(doc.PreviousUntil)
	s.Events, s.CreatedAt, s.UpdatedAt = unlist(events), fromMicros(created), fromMicros(updated)
	return s, nil
}

const (
	selectSubscription  = `SELECT ` + subscriptionColumns + `, '{}' FROM subscriptions WHERE id = $1`
	selectSubscriptions = `
SELECT ` + subscriptionColumns + `, coalesce((
  SELECT d.doc FROM deliveries AS d WHERE d.subscription = subscriptions.id AND d.attempts > 0
  ORDER BY d.created_at DESC LIMIT 1), '{}')
FROM subscriptions WHERE shop = $1 AND live = $2 AND status <> 'deleted'
ORDER BY id DESC LIMIT $3 OFFSET $4`
	countSubscriptions = `SELECT count(*) FROM subscriptions WHERE shop = $1 AND live = $2 AND status <> 'deleted'`
)

// Subscription reads a shop's subscription. ErrNotFound also where it is
// another's or deleted.
func (s *Store) Subscription(ctx context.Context, scope pay.Scope, id string) (pay.Subscription, error) {
	sub, err := s.AnySubscription(ctx, id)
	if err == nil && (sub.Scope != scope || sub.Status == pay.Deleted) {
		return pay.Subscription{}, ErrNotFound
	}
	return sub, err
}

// AnySubscription reads a subscription of any tenant, for the dispatcher.
func (s *Store) AnySubscription(ctx context.Context, id string) (pay.Subscription, error) {
	return one(ctx, s, selectSubscription, scanSubscription, id)
}

// Subscriptions lists a shop's subscriptions, newest first, and counts them.
func (s *Store) Subscriptions(ctx context.Context, scope pay.Scope, limit, offset int) ([]pay.Subscription, int64, error) {
	total, err := one(ctx, s, countSubscriptions, scanInt, scope.Shop, scope.Live)
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, selectSubscriptions, scanSubscription, scope.Shop, scope.Live, limit, offset)
	return list, total, err
}

const deliveryColumns = `id, merchant, shop, live, version, event, type, subscription, status, attempts, budget, due_at, created_at, doc`

type deliveryDoc struct {
	LastAt      int64  `json:"lastAt,omitempty"`
	DeliveredAt int64  `json:"deliveredAt,omitempty"`
	LastCode    int    `json:"lastCode,omitempty"`
	LastError   string `json:"lastError,omitempty"`
	LastMs      int64  `json:"lastMs,omitempty"`
	Snippet     string `json:"snippet,omitempty"`
}

func deliveryRow(r *rows, d *pay.Delivery) {
	doc := deliveryDoc{micros(d.LastAt), micros(d.DeliveredAt), d.LastCode, d.LastError, d.LastMs, d.Snippet}
	r.text(d.ID, d.Merchant, d.Shop).flag(d.Live).number(d.Version).text(d.Event, string(d.EventType), d.Subscription, string(d.Status)).
		number(int64(d.Attempts), int64(d.Budget), micros(d.DueAt), micros(d.CreatedAt)).text(encode(doc))
}

func scanDelivery(r row) (pay.Delivery, error) {
	d, _, err := scanDispatch(r, false)
	return d, err
}

func scanDispatch(r row, payload bool) (pay.Delivery, []byte, error) {
	var d pay.Delivery
	var text, body string
	var due, created int64
	into := []any{&d.ID, &d.Merchant, &d.Shop, &d.Live, &d.Version, &d.Event, &d.EventType, &d.Subscription,
		&d.Status, &d.Attempts, &d.Budget, &due, &created, &text}
	if payload {
		into = append(into, &body)
	}
	if err := r.Scan(into...); err != nil {
		return d, nil, err
	}
	var doc deliveryDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return d, nil, fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	d.DueAt, d.CreatedAt = fromMicros(due), fromMicros(created)
	d.LastAt, d.DeliveredAt = fromMicros(doc.LastAt), fromMicros(doc.DeliveredAt)
	d.LastCode, d.LastError, d.LastMs, d.Snippet = doc.LastCode, doc.LastError, doc.LastMs, doc.Snippet
	return d, []byte(body), nil
}

const selectDelivery = `SELECT ` + deliveryColumns + ` FROM deliveries WHERE id = $1`

// Delivery reads a delivery of any tenant.
func (s *Store) Delivery(ctx context.Context, id string) (pay.Delivery, error) {
	return one(ctx, s, selectDelivery, scanDelivery, id)
}

// LeaseDeliveries takes deliveries that are due; nobody else gets them before
// until.
func (s *Store) LeaseDeliveries(ctx context.Context, now, until time.Time, limit int) ([]Dispatch, error) {
	var list []Dispatch
	err := s.lease(ctx, deliveryDuty, now, until, limit, func(r row) error {
		d, payload, err := scanDispatch(r, true)
		list = append(list, Dispatch{d, payload})
		return err
	})
	return list, err
}
