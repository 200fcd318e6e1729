package webhooks

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// SubscriptionsTable is the table subscriptions.
var SubscriptionsTable = table.Describe(table.Table[webhooks.Subscription]{
	Name:    "subscriptions",
	Hashed:  true,
	Lock:    50,
	Of:      func(c *pay.Change) []webhooks.Subscription { return c.Subscriptions },
	ID:      func(v *webhooks.Subscription) string { return v.ID },
	Version: func(v *webhooks.Subscription) int64 { return v.Version },
	Fields: func(f *table.Fields, v *webhooks.Subscription) {
		f.Text("id!", &v.ID)
		f.Text("merchant!", &v.Merchant)
		f.Text("shop!", &v.Shop)
		f.Flag("live!", &v.Live)
		f.Number("version", &v.Version)
		table.Word(f, "status", &v.Status)
		f.Converted("events", func() string { return table.List(v.Events) }, func(text string) error {
			v.Events = table.Unlist(text)
			return nil
		})
		table.Word(f, "events_version", &v.EventsVersion)
		f.Flag("paused", &v.Circuit.Open)
		f.Time("created_at!", &v.CreatedAt)
		f.Time("updated_at", &v.UpdatedAt)
		table.Document[subscriptionDoc](f, "doc", v)
	},
})

type subscriptionDoc struct {
	URL            string `json:"url"`
	Managed        bool   `json:"managed,omitempty"`
	DisabledReason string `json:"disabledReason,omitempty"`
	Description    string `json:"description,omitempty"`
	Secret         []byte `json:"secret"` // encrypted
	SecretPreview  string `json:"secretPreview"`
	PreviousSecret []byte `json:"previousSecret,omitempty"` // encrypted
	PreviousUntil  int64  `json:"previousUntil,omitempty"`
	Username       string `json:"username,omitempty"`
	Header         string `json:"header,omitempty"`
	Credentials    []byte `json:"credentials,omitempty"` // encrypted
	// The endpoint circuit.
	Failures int   `json:"failures,omitempty"`
	Since    int64 `json:"since,omitempty"`
	ProbeAt  int64 `json:"probeAt,omitempty"`
}

func (d *subscriptionDoc) Of(_ *table.Fields, v *webhooks.Subscription) {
	*d = subscriptionDoc{
		URL:            v.URL,
		Managed:        v.Managed,
		DisabledReason: v.DisabledReason,
		Description:    v.Description,
		Secret:         v.Secret,
		SecretPreview:  v.SecretPreview,
		PreviousSecret: v.PreviousSecret,
		PreviousUntil:  table.Micros(v.PreviousUntil),
		Username:       v.Authentication.Username,
		Header:         v.Authentication.Header,
		Credentials:    v.Authentication.Encrypted,
		Failures:       v.Circuit.Failures,
		Since:          table.Micros(v.Circuit.Since),
		ProbeAt:        table.Micros(v.Circuit.ProbeAt),
	}
}

func (d *subscriptionDoc) Into(_ *table.Fields, v *webhooks.Subscription) error {
	v.URL = d.URL
	v.Managed = d.Managed
	v.DisabledReason = d.DisabledReason
	v.Description = d.Description
	v.Secret = d.Secret
	v.SecretPreview = d.SecretPreview
	v.PreviousSecret = d.PreviousSecret
	v.PreviousUntil = table.FromMicros(d.PreviousUntil)
	v.Authentication = webhooks.Authentication{Username: d.Username, Header: d.Header, Encrypted: d.Credentials}
	v.Circuit.Failures = d.Failures
	v.Circuit.Since = table.FromMicros(d.Since)
	v.Circuit.ProbeAt = table.FromMicros(d.ProbeAt)
	return nil
}

// lastTry is when a subscription's endpoint was last called.
const lastTry = `coalesce((SELECT max(c.last_at) FROM delivery_counters AS c WHERE c.subscription = subscriptions.id), 0)`

var (
	selectAnySubscription = engine.Statement(`SELECT ` + SubscriptionsTable.List + ` FROM subscriptions WHERE id = $1`)
	selectSubscription    = engine.Statement(`
SELECT ` + SubscriptionsTable.List + `, ` + lastTry + ` FROM subscriptions
WHERE id = $1 AND merchant = $2 AND shop = $3 AND live = $4 AND status <> 'deleted'`)
	selectSubscriptions = engine.Statement(`
SELECT ` + SubscriptionsTable.List + `, ` + lastTry + ` FROM subscriptions WHERE shop = $1 AND live = $2 AND status <> 'deleted' AND id < $3
ORDER BY id DESC LIMIT $4 OFFSET $5`)
	countSubscriptions = engine.Statement(`SELECT count(*) FROM subscriptions WHERE shop = $1 AND live = $2 AND status <> 'deleted'`)
)

func lastTried(v *webhooks.Subscription, at int64) { v.LastDelivery = table.FromMicros(at) }

// Get reads a shop's subscription. ErrNotFound also for another shop's or a deleted one.
func (s Subscriptions) Get(ctx context.Context, scope merchants.Scope, id string) (webhooks.Subscription, error) {
	return base.One(ctx, s.b, selectSubscription, table.ScanAnd(s.b.Personal, SubscriptionsTable, lastTried), id, scope.Merchant, scope.Shop, scope.Live)
}

// Any reads a subscription of any tenant, for the dispatcher.
func (s Subscriptions) Any(ctx context.Context, id string) (webhooks.Subscription, error) {
	return base.One(ctx, s.b, selectAnySubscription, SubscriptionsTable.Scan(s.b.Personal), id)
}

// List lists a shop's subscriptions, newest first, and counts them.
func (s Subscriptions) List(ctx context.Context, scope merchants.Scope, page lists.Page) ([]webhooks.Subscription, int64, error) {
	total, err := base.One(ctx, s.b, countSubscriptions, base.ScanInt, scope.Shop, scope.Live)
	if err != nil {
		return nil, 0, err
	}
	list, err := base.Many(ctx, s.b, selectSubscriptions, table.ScanAnd(s.b.Personal, SubscriptionsTable, lastTried), scope.Shop, scope.Live, base.Before(page.After), page.Limit, page.Offset)
	return list, total, err
}

// selectStalled steps through the index of parked deliveries from one endpoint to the next, so its cost
// grows only with the number of endpoints.
var selectStalled = engine.Statement(`
WITH RECURSIVE waiting(id) AS (
  SELECT min(d.subscription) FROM deliveries AS d WHERE d.parked
  UNION ALL
  SELECT (SELECT min(d.subscription) FROM deliveries AS d WHERE d.parked AND d.subscription > w.id) FROM waiting AS w WHERE w.id IS NOT NULL
)
SELECT ` + SubscriptionsTable.List + `, TRUE FROM subscriptions WHERE id IN (SELECT w.id FROM waiting AS w WHERE w.id IS NOT NULL)
UNION ALL
SELECT ` + SubscriptionsTable.List + `, FALSE FROM subscriptions WHERE paused AND status = 'enabled'
  AND id NOT IN (SELECT w.id FROM waiting AS w WHERE w.id IS NOT NULL)`)

// Stalled is a subscription with parked deliveries or an open circuit.
type Stalled struct {
	webhooks.Subscription
	Parked bool // it has parked deliveries
}

// Stalled reads the stalled subscriptions of all tenants.
func (s Subscriptions) Stalled(ctx context.Context) ([]Stalled, error) {
	scan := SubscriptionsTable.Scan(s.b.Personal)
	return base.Many(ctx, s.b, selectStalled, func(r engine.Row) (l Stalled, err error) {
		l.Subscription, err = scan(table.With(r, &l.Parked))
		return l, err
	})
}

var selectSubscriptionsAfter = engine.Statement(`SELECT ` + SubscriptionsTable.List + ` FROM subscriptions WHERE id > $1 ORDER BY id LIMIT $2`)

// After reads subscriptions of all tenants by id, from one on, also deleted ones.
func (s Subscriptions) After(ctx context.Context, id string, limit int) ([]webhooks.Subscription, error) {
	return base.Many(ctx, s.b, selectSubscriptionsAfter, SubscriptionsTable.Scan(s.b.Personal), id, limit)
}

// Subscriptions are webhook endpoints and inboxes.
type Subscriptions struct{ b *base.Base }

// Subscriptions returns the database's Subscriptions.
func (o OfWebhooks) Subscriptions() Subscriptions { return Subscriptions(o) }
