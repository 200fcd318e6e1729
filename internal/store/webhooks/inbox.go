package webhooks

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// InboxTable is the table inbox.
var InboxTable = table.Describe(table.Table[webhooks.Received]{
	Name:   "inbox",
	Hashed: true,
	Lock:   460,
	Of:     func(c *pay.Change) []webhooks.Received { return c.Inbox },
	ID:     func(m *webhooks.Received) string { return m.ID },
	Fields: func(f *table.Fields, m *webhooks.Received) {
		f.Text("id!", &m.ID)
		f.Text("merchant!", &m.Merchant)
		f.Text("shop!", &m.Shop)
		f.Flag("live!", &m.Live)
		f.Text("subscription!", &m.Subscription)
		f.Text("delivery!", &m.Delivery)
		f.Text("event!", &m.Event)
		table.Word(f, "type!", &m.EventType)
		f.Time("received_at!", &m.At)
		f.JSON("header!", &m.Header)
		f.Encrypted("body!", table.InboxBody, &m.ID, &m.Body)
	},
})

var (
	selectInbox = engine.Statement(`
SELECT ` + InboxTable.List + ` FROM inbox
WHERE subscription = $1 AND shop = $2 AND live = $3 AND id < $6
  AND id >= coalesce((SELECT o.id FROM inbox AS o WHERE o.subscription = $1 ORDER BY o.id DESC LIMIT 1 OFFSET $7), '')
ORDER BY id DESC LIMIT $4 OFFSET $5`)
	selectReceived = engine.Statement(`SELECT id FROM inbox WHERE id = $1 AND subscription = $2 AND shop = $3 AND live = $4`)
	// Rows beyond the limit are about to be deleted.
	countInbox = engine.Statement(`SELECT count(*) FROM (SELECT id FROM inbox WHERE subscription = $1 AND shop = $2 AND live = $3 LIMIT $4) AS kept`)
)

// Inbox lists the deliveries in a shop's managed inbox, newest first, and counts them.
func (s Subscriptions) Inbox(ctx context.Context, scope merchants.Scope, subscription string, page lists.Page) ([]webhooks.Received, int64, error) {
	total, err := base.One(ctx, s.b, countInbox, base.ScanInt, subscription, scope.Shop, scope.Live, webhooks.InboxKept)
	if err != nil {
		return nil, 0, err
	}
	scan := InboxTable.Scan(s.b.Personal)
	list, err := base.Many(ctx, s.b, selectInbox, func(r engine.Row) (webhooks.Received, error) {
		m, err := scan(r)
		if errors.Is(err, table.ErrShut) {
			s.b.Log.Error("a delivery in an inbox cannot be decrypted", "error", err)
			m.Body, err = []byte(`"`+table.Shut+`"`), nil
		}
		return m, err
	}, subscription, scope.Shop, scope.Live, page.Limit, page.Offset, base.Before(page.After), webhooks.InboxKept-1)
	return list, total, err
}

// Received returns ErrNotFound if a shop's managed inbox does not have the delivery.
func (s Subscriptions) Received(ctx context.Context, scope merchants.Scope, subscription, id string) error {
	_, err := base.One(ctx, s.b, selectReceived, base.ScanID, id, subscription, scope.Shop, scope.Live)
	return err
}

var (
	// Like selectStalled, it steps from one inbox to the next.
	selectInboxes = engine.Statement(`
WITH RECURSIVE box(id) AS (
  SELECT min(i.subscription) FROM inbox AS i
  UNION ALL
  SELECT (SELECT min(i.subscription) FROM inbox AS i WHERE i.subscription > b.id) FROM box AS b WHERE b.id IS NOT NULL
)
SELECT ` + SubscriptionsTable.List + ` FROM subscriptions WHERE id IN (SELECT b.id FROM box AS b WHERE b.id IS NOT NULL)`)

	trimInbox = engine.Standalone(`
DELETE FROM inbox WHERE id IN (
  SELECT d.id FROM inbox AS d WHERE d.subscription = $1
    AND (d.id < $2 OR d.id <= coalesce((SELECT o.id FROM inbox AS o WHERE o.subscription = $1 ORDER BY o.id DESC LIMIT 1 OFFSET $3), ''))
  ORDER BY d.id LIMIT $4 {skip locked d})
RETURNING id`)
)

// Inboxes reads the subscriptions with a non-empty inbox.
func (s Subscriptions) Inboxes(ctx context.Context) ([]webhooks.Subscription, error) {
	return base.Many(ctx, s.b, selectInboxes, SubscriptionsTable.Scan(s.b.Personal))
}

// TrimInbox deletes at most limit of an inbox's deliveries: those older than the id oldest, or beyond the
// inbox's size. It returns how many it deleted.
func (s Subscriptions) TrimInbox(ctx context.Context, subscription, oldest string, limit int) (n int, err error) {
	err = s.b.DB.Lease(ctx, s.b.Text(trimInbox), []any{subscription, oldest, webhooks.InboxKept, limit}, func(engine.Row) error {
		n++
		return nil
	})
	return n, err
}
