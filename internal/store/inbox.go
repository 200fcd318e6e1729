package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
)

var inboxTable = newTable("inbox", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, subscription TEXT!, delivery TEXT!, event TEXT!, "+
	"type TEXT!, received_at BIGINT!, header TEXT!, body TEXT!",
	func(m *pay.Received) string { return m.ID }, nil,
	func(r *rows, m *pay.Received) {
		r.text(m.ID, m.Merchant, m.Shop).flag(m.Live).text(m.Subscription, m.Delivery, m.Event, string(m.EventType)).
			number(micros(m.At)).text(encode(m.Header), r.seal(inboxBody.about(m.ID), m.Body))
	})

func received(c *pay.Change) []pay.Received { return c.Inbox }

const (
	selectInbox = `
SELECT id, merchant, shop, live, subscription, delivery, event, type, received_at, header, body FROM inbox
WHERE subscription = $1 AND shop = $2 AND live = $3 AND id < $6
  AND id >= coalesce((SELECT o.id FROM inbox AS o WHERE o.subscription = $1 ORDER BY o.id DESC LIMIT 1 OFFSET $7), '')
ORDER BY id DESC LIMIT $4 OFFSET $5`
	selectReceived = `SELECT id FROM inbox WHERE id = $1 AND subscription = $2 AND shop = $3 AND live = $4`
	// What is beyond the limit is about to be deleted.
	countInbox = `SELECT count(*) FROM (SELECT id FROM inbox WHERE subscription = $1 AND shop = $2 AND live = $3 LIMIT $4) AS kept`
)

// Inbox lists what a shop's managed inbox got, newest first, and counts it.
func (s *Store) Inbox(ctx context.Context, scope pay.Scope, subscription string, page Page) ([]pay.Received, int64, error) {
	total, err := one(ctx, s, countInbox, scanInt, subscription, scope.Shop, scope.Live, pay.InboxKept)
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, selectInbox, func(r row) (m pay.Received, err error) {
		var at int64
		var header, body string
		if err := r.Scan(&m.ID, &m.Merchant, &m.Shop, &m.Live, &m.Subscription, &m.Delivery, &m.Event, &m.EventType, &at, &header, &body); err != nil {
			return m, err
		}
		m.At = fromMicros(at)
		if err := json.Unmarshal([]byte(header), &m.Header); err != nil {
			return m, fmt.Errorf("inbox %s: %w", m.ID, err)
		}
		m.Body, err = s.personal.open(inboxBody.about(m.ID), body)
		if errors.Is(err, errShut) {
			s.log.Error("what an inbox got cannot be opened", "error", err)
			m.Body, err = []byte(`"`+shut+`"`), nil
		}
		return m, err
	}, subscription, scope.Shop, scope.Live, page.Limit, page.Offset, before(page.After), pay.InboxKept-1)
	return list, total, err
}

// Received reports with ErrNotFound that a shop's managed inbox has no such delivery.
func (s *Store) Received(ctx context.Context, scope pay.Scope, subscription, id string) error {
	_, err := one(ctx, s, selectReceived, scanID, id, subscription, scope.Shop, scope.Live)
	return err
}

const (
	// As selectStalled, it steps from one inbox to the next.
	selectInboxes = `
WITH RECURSIVE box(id) AS (
  SELECT min(i.subscription) FROM inbox AS i
  UNION ALL
  SELECT (SELECT min(i.subscription) FROM inbox AS i WHERE i.subscription > b.id) FROM box AS b WHERE b.id IS NOT NULL
)
SELECT ` + subscriptionColumns + `, 0 FROM subscriptions WHERE id IN (SELECT b.id FROM box AS b WHERE b.id IS NOT NULL)`

	trimInbox = `
DELETE FROM inbox WHERE id IN (
  SELECT d.id FROM inbox AS d WHERE d.subscription = $1
    AND (d.id < $2 OR d.id <= coalesce((SELECT o.id FROM inbox AS o WHERE o.subscription = $1 ORDER BY o.id DESC LIMIT 1 OFFSET $3), ''))
  ORDER BY d.id LIMIT $4 {skip locked d})
RETURNING id`
)

// Inboxes reads the subscriptions whose inbox has got something.
func (s *Store) Inboxes(ctx context.Context) ([]pay.Subscription, error) {
	return many(ctx, s, selectInboxes, scanSubscription)
}

// TrimInbox deletes at most limit of what an inbox got before oldest, which is
// an id, or what is more than it keeps. It returns how many it deleted.
func (s *Store) TrimInbox(ctx context.Context, subscription, oldest string, limit int) (n int, err error) {
	err = s.db.lease(ctx, s.text(trimInbox), []any{subscription, oldest, pay.InboxKept, limit}, func(row) error {
		n++
		return nil
	})
	return n, err
}

func inboxQueries() []string {
	return []string{inboxTable.insert, selectInbox, selectReceived, countInbox, selectInboxes, trimInbox}
}
