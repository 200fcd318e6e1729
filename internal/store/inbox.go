package store

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var inboxTable = describe(table[hook.Received]{
	name: "inbox",
	of:   func(c *pay.Change) []hook.Received { return c.Inbox },
	id:   func(m *hook.Received) string { return m.ID },
	fields: func(f *fields, m *hook.Received) {
		f.text("id!", &m.ID)
		f.text("merchant!", &m.Merchant)
		f.text("shop!", &m.Shop)
		f.flag("live!", &m.Live)
		f.text("subscription!", &m.Subscription)
		f.text("delivery!", &m.Delivery)
		f.text("event!", &m.Event)
		word(f, "type!", &m.EventType)
		f.time("received_at!", &m.At)
		f.json("header!", &m.Header)
		f.sealed("body!", inboxBody, &m.ID, &m.Body)
	},
})

var (
	selectInbox = engine.Statement(`
SELECT ` + inboxTable.list + ` FROM inbox
WHERE subscription = $1 AND shop = $2 AND live = $3 AND id < $6
  AND id >= coalesce((SELECT o.id FROM inbox AS o WHERE o.subscription = $1 ORDER BY o.id DESC LIMIT 1 OFFSET $7), '')
ORDER BY id DESC LIMIT $4 OFFSET $5`)
	selectReceived = engine.Statement(`SELECT id FROM inbox WHERE id = $1 AND subscription = $2 AND shop = $3 AND live = $4`)
	// What is beyond the limit is about to be deleted.
	countInbox = engine.Statement(`SELECT count(*) FROM (SELECT id FROM inbox WHERE subscription = $1 AND shop = $2 AND live = $3 LIMIT $4) AS kept`)
)

// Inbox lists what a shop's managed inbox got, newest first, and counts it.
func (s *Subscriptions) Inbox(ctx context.Context, scope tenant.Scope, subscription string, page Page) ([]hook.Received, int64, error) {
	total, err := one(ctx, s, countInbox, scanInt, subscription, scope.Shop, scope.Live, hook.InboxKept)
	if err != nil {
		return nil, 0, err
	}
	scan := inboxTable.scan(s)
	list, err := many(ctx, s, selectInbox, func(r engine.Row) (hook.Received, error) {
		m, err := scan(r)
		if errors.Is(err, errShut) {
			s.log.Error("what an inbox got cannot be opened", "error", err)
			m.Body, err = []byte(`"`+shut+`"`), nil
		}
		return m, err
	}, subscription, scope.Shop, scope.Live, page.Limit, page.Offset, before(page.After), hook.InboxKept-1)
	return list, total, err
}

// Received reports with ErrNotFound that a shop's managed inbox has no such delivery.
func (s *Subscriptions) Received(ctx context.Context, scope tenant.Scope, subscription, id string) error {
	_, err := one(ctx, s, selectReceived, scanID, id, subscription, scope.Shop, scope.Live)
	return err
}

var (
	// As selectStalled, it steps from one inbox to the next.
	selectInboxes = engine.Statement(`
WITH RECURSIVE box(id) AS (
  SELECT min(i.subscription) FROM inbox AS i
  UNION ALL
  SELECT (SELECT min(i.subscription) FROM inbox AS i WHERE i.subscription > b.id) FROM box AS b WHERE b.id IS NOT NULL
)
SELECT ` + subscriptionsTable.list + ` FROM subscriptions WHERE id IN (SELECT b.id FROM box AS b WHERE b.id IS NOT NULL)`)

	trimInbox = engine.Standalone(`
DELETE FROM inbox WHERE id IN (
  SELECT d.id FROM inbox AS d WHERE d.subscription = $1
    AND (d.id < $2 OR d.id <= coalesce((SELECT o.id FROM inbox AS o WHERE o.subscription = $1 ORDER BY o.id DESC LIMIT 1 OFFSET $3), ''))
  ORDER BY d.id LIMIT $4 {skip locked d})
RETURNING id`)
)

// Inboxes reads the subscriptions whose inbox has got something.
func (s *Subscriptions) Inboxes(ctx context.Context) ([]hook.Subscription, error) {
	return many(ctx, s, selectInboxes, subscriptionsTable.scan(s))
}

// TrimInbox deletes at most limit of what an inbox got before oldest, which is
// an id, or what is more than it keeps. It returns how many it deleted.
func (s *Subscriptions) TrimInbox(ctx context.Context, subscription, oldest string, limit int) (n int, err error) {
	err = s.db.Lease(ctx, s.text(trimInbox), []any{subscription, oldest, hook.InboxKept, limit}, func(engine.Row) error {
		n++
		return nil
	})
	return n, err
}
