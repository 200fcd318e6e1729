package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
)

const subscriptionColumns = `id, merchant, shop, live, version, status, events, events_version, paused, created_at, updated_at, doc`

type subscriptionDoc struct {
	URL            string `json:"url"`
	Managed        bool   `json:"managed,omitempty"`
	DisabledReason string `json:"disabledReason,omitempty"`
	Description    string `json:"description,omitempty"`
	Secret         []byte `json:"secret"` // sealed
	SecretPreview  string `json:"secretPreview"`
	PreviousSecret []byte `json:"previousSecret,omitempty"` // sealed
	PreviousUntil  int64  `json:"previousUntil,omitempty"`
	// The circuit.
	Failures int   `json:"failures,omitempty"`
	Since    int64 `json:"since,omitempty"`
	ProbeAt  int64 `json:"probeAt,omitempty"`
}

func subscriptionRow(r *rows, s *pay.Subscription) {
	doc := subscriptionDoc{
		URL: s.URL, Managed: s.Managed, DisabledReason: s.DisabledReason, Description: s.Description,
		Secret: s.Secret, SecretPreview: s.SecretPreview, PreviousSecret: s.PreviousSecret, PreviousUntil: micros(s.PreviousUntil),
		Failures: s.Circuit.Failures, Since: micros(s.Circuit.Since), ProbeAt: micros(s.Circuit.ProbeAt),
	}
	r.text(s.ID, s.Merchant, s.Shop).flag(s.Live).number(s.Version).text(string(s.Status), list(s.Events), string(s.EventsVersion)).flag(s.Circuit.Open).
		number(micros(s.CreatedAt), micros(s.UpdatedAt)).text(encode(doc))
}

// scanSubscription reads a subscription and the time of the last try.
func scanSubscription(r row) (pay.Subscription, error) {
	var latest int64
	s, err := scanSubscriptionAnd(r, &latest)
	s.LastDelivery = fromMicros(latest)
	return s, err
}

// scanSubscriptionAnd reads a subscription and one more column.
func scanSubscriptionAnd(r row, more any) (pay.Subscription, error) {
	var s pay.Subscription
	var events, text string
	var created, updated int64
	if err := r.Scan(&s.ID, &s.Merchant, &s.Shop, &s.Live, &s.Version, &s.Status, &events, &s.EventsVersion, &s.Circuit.Open,
		&created, &updated, &text, more); err != nil {
		return s, err
	}
	var doc subscriptionDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return s, fmt.Errorf("subscription %s: %w", s.ID, err)
	}
	s.URL, s.Managed, s.DisabledReason, s.Description = doc.URL, doc.Managed, doc.DisabledReason, doc.Description
	s.Secret, s.SecretPreview = doc.Secret, doc.SecretPreview
	s.PreviousSecret, s.PreviousUntil = doc.PreviousSecret, fromMicros(doc.PreviousUntil)
	s.Circuit.Failures, s.Circuit.Since, s.Circuit.ProbeAt = doc.Failures, fromMicros(doc.Since), fromMicros(doc.ProbeAt)
	s.Events, s.CreatedAt, s.UpdatedAt = unlist(events), fromMicros(created), fromMicros(updated)
	return s, nil
}

// lastTry is when a subscription's endpoint was last called.
const lastTry = `coalesce((SELECT max(c.last_at) FROM delivery_counters AS c WHERE c.subscription = subscriptions.id), 0)`

const (
	selectAnySubscription = `SELECT ` + subscriptionColumns + `, 0 FROM subscriptions WHERE id = $1`
	selectSubscription    = `
SELECT ` + subscriptionColumns + `, ` + lastTry + ` FROM subscriptions
WHERE id = $1 AND merchant = $2 AND shop = $3 AND live = $4 AND status <> 'deleted'`
	selectSubscriptions = `
SELECT ` + subscriptionColumns + `, ` + lastTry + ` FROM subscriptions WHERE shop = $1 AND live = $2 AND status <> 'deleted' AND id < $3
ORDER BY id DESC LIMIT $4 OFFSET $5`
	countSubscriptions = `SELECT count(*) FROM subscriptions WHERE shop = $1 AND live = $2 AND status <> 'deleted'`
)

// Subscription reads a shop's subscription. ErrNotFound also where it is
// another's or deleted.
func (s *Store) Subscription(ctx context.Context, scope pay.Scope, id string) (pay.Subscription, error) {
	return one(ctx, s, selectSubscription, scanSubscription, id, scope.Merchant, scope.Shop, scope.Live)
}

// AnySubscription reads a subscription of any tenant, for the dispatcher.
func (s *Store) AnySubscription(ctx context.Context, id string) (pay.Subscription, error) {
	return one(ctx, s, selectAnySubscription, scanSubscription, id)
}

// Subscriptions lists a shop's subscriptions, newest first, and counts them.
func (s *Store) Subscriptions(ctx context.Context, scope pay.Scope, page Page) ([]pay.Subscription, int64, error) {
	total, err := one(ctx, s, countSubscriptions, scanInt, scope.Shop, scope.Live)
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, selectSubscriptions, scanSubscription, scope.Shop, scope.Live, before(page.After), page.Limit, page.Offset)
	return list, total, err
}

// selectStalled steps through the index of what is parked, from one endpoint
// to the next, so that it costs as much as there are endpoints.
const selectStalled = `
WITH RECURSIVE waiting(id) AS (
  SELECT min(d.subscription) FROM deliveries AS d WHERE d.parked
  UNION ALL
  SELECT (SELECT min(d.subscription) FROM deliveries AS d WHERE d.parked AND d.subscription > w.id) FROM waiting AS w WHERE w.id IS NOT NULL
)
SELECT ` + subscriptionColumns + `, TRUE FROM subscriptions WHERE id IN (SELECT w.id FROM waiting AS w WHERE w.id IS NOT NULL)
UNION ALL
SELECT ` + subscriptionColumns + `, FALSE FROM subscriptions WHERE paused AND status = 'enabled'
  AND id NOT IN (SELECT w.id FROM waiting AS w WHERE w.id IS NOT NULL)`

// Stalled is a subscription whose deliveries wait for it, or whose circuit is
// open.
type Stalled struct {
	pay.Subscription
	Parked bool // some are parked
}

// Stalled reads the stalled subscriptions of all tenants.
func (s *Store) Stalled(ctx context.Context) ([]Stalled, error) {
	return many(ctx, s, selectStalled, func(r row) (l Stalled, err error) {
		l.Subscription, err = scanSubscriptionAnd(r, &l.Parked)
		return l, err
	})
}

func subscriptionQueries() []string {
	return []string{selectAnySubscription, selectSubscription, selectSubscriptions, countSubscriptions, selectStalled, selectSubscriptionsAfter}
}

const selectSubscriptionsAfter = `SELECT ` + subscriptionColumns + `, 0 FROM subscriptions WHERE id > $1 ORDER BY id LIMIT $2`

// SubscriptionsAfter reads everybody's subscriptions by their ids from one on, deleted ones too.
func (s *Store) SubscriptionsAfter(ctx context.Context, id string, limit int) ([]pay.Subscription, error) {
	return many(ctx, s, selectSubscriptionsAfter, scanSubscription, id, limit)
}
