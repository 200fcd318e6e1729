package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var eventsTable = describe(table[pay.Event]{
	name: "events",
	of:   func(c *pay.Change) []pay.Event { return c.Events },
	id:   func(e *pay.Event) string { return e.ID },
	where: `NOT ` + optional("r") + ` OR (
  SELECT 1 FROM subscriptions AS s WHERE s.shop = r.shop AND s.live = r.live AND s.merchant = r.merchant AND s.status = 'enabled' AND ` + wanted("r") + ` LIMIT 1) = 1`,
	fields: func(f *fields, e *pay.Event) {
		f.text("id!", &e.ID)
		f.text("merchant!", &e.Merchant)
		f.text("shop!", &e.Shop)
		f.flag("live!", &e.Live)
		word(f, "type!", &e.Type)
		f.text("object!", &e.Object)
		f.number("sequence!", &e.Sequence)
		f.time("at!", &e.At)
		f.written("payload!", payload(f.personal, e))
	},
})

// EventFilter selects events of one shop. Empty fields select all.
type EventFilter struct {
	Types  []hook.EventType
	Object string // id of what they are about
	From   time.Time
	To     time.Time // before
	After  string    // older than the event of this id
	Limit  int
	Offset int
}

// Event is what was told of an event.
type Event struct {
	ID      string
	Type    hook.EventType
	At      time.Time
	Payload []byte
}

func (s *core) scanEvent(r engine.Row) (e Event, err error) {
	var at int64
	var body string
	if err := r.Scan(&e.ID, &e.Type, &at, &body); err != nil {
		return e, err
	}
	e.At = fromMicros(at)
	e.Payload, err = s.personal.open(eventPayload.about(e.ID), body)
	return e, err
}

// eventsByTime reads ids by time. There is one index, by type; each type gives its first rows,
// and the first of all are kept, so that a rare type is found without looking at the others.
func eventsByTime(bounds, order string, limit int) string {
	var parts []string
	for i, kind := range hook.EventTypes() {
		parts = append(parts, fmt.Sprintf(`
    SELECT * FROM (SELECT id, at FROM events
      WHERE shop = $1 AND live = $2 AND type = '%[1]s' AND ($3 = '' OR $3 LIKE '%%,%[1]s,%%') AND %[2]s
      ORDER BY at %[3]s, id %[3]s LIMIT $%[4]d) AS kind%[5]d`, kind, bounds, order, limit, i))
	}
	return strings.Join(parts, "\n    UNION ALL")
}

var (
	listEvents = engine.Statement(`WITH page AS (SELECT id FROM (` + eventsByTime("at >= $4 AND at < $5 AND (at, id) < ($6, $7)", "DESC", 8) + `
  ) AS found ORDER BY at DESC, id DESC LIMIT $9 OFFSET $10)
SELECT e.id, e.type, e.at, e.payload FROM events AS e WHERE e.id {in SELECT id FROM page} ORDER BY e.at DESC, e.id DESC`)

	eventsAfter = engine.Statement(`WITH page AS (SELECT id FROM (` + eventsByTime("at < $4 AND (at, id) > ($5, $6)", "ASC", 7) + `
  ) AS found ORDER BY at, id LIMIT $8)
SELECT e.id, e.type, e.at, '' FROM events AS e WHERE e.id {in SELECT id FROM page} ORDER BY e.at, e.id`)

	countEvents = engine.Statement(`
SELECT count(*) FROM events WHERE shop = $1 AND live = $2 AND type IN (` + kinds + `) AND ($3 = '' OR $3 LIKE '%,' || type || ',%') AND at >= $4 AND at < $5`)
)

// An object's events are named after it.
var (
	ofObject = ` FROM events WHERE id > 'evt_' || substr($3, 5) || '-' AND id < 'evt_' || substr($3, 5) || '.' AND object = $3
  AND shop = $1 AND live = $2 AND ($4 = '' OR $4 LIKE '%,' || type || ',%') AND at >= $5 AND at < $6`
	listObjectEvents = engine.Statement(`SELECT id, type, at, payload` + ofObject + ` AND (at, id) < ($7, $8) ORDER BY at DESC, id DESC LIMIT $9 OFFSET $10`)
	countOfObject    = engine.Statement(`SELECT count(*)` + ofObject)

	selectEvent = engine.Statement(`SELECT id, type, at, payload FROM events WHERE id = $1 AND merchant = $2 AND shop = $3 AND live = $4`)
)

// typesText is types as a statement is handed them; "" for all.
func typesText(types []hook.EventType) string {
	if len(types) == 0 {
		return ""
	}
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = string(t)
	}
	return list(words)
}

func (f EventFilter) bounds() (from, to int64) {
	if to = micros(f.To); f.To.IsZero() {
		to = beyond
	}
	return micros(f.From), to
}

// Get reads a shop's event. ErrNotFound also where it is another's.
func (s *Events) Get(ctx context.Context, scope tenant.Scope, id string) (Event, error) {
	return one(ctx, s, selectEvent, s.scanEvent, id, scope.Merchant, scope.Shop, scope.Live)
}

// List lists a shop's events, newest first. ErrNotFound where there is no event After.
func (s *Events) List(ctx context.Context, scope tenant.Scope, f EventFilter) ([]Event, error) {
	from, to := f.bounds()
	at, id := int64(beyond), ""
	if f.After != "" {
		after, err := s.Get(ctx, scope, f.After)
		if err != nil {
			return nil, err
		}
		at, id = micros(after.At), after.ID
	}
	if f.Object != "" {
		return many(ctx, s, listObjectEvents, s.scanEvent, scope.Shop, scope.Live, f.Object, typesText(f.Types), from, to, at, id, f.Limit, f.Offset)
	}
	return many(ctx, s, listEvents, s.scanEvent, scope.Shop, scope.Live, typesText(f.Types), from, to, at, id, f.Limit+f.Offset, f.Limit, f.Offset)
}

// Count counts what the filter selects, leaving After, Limit and Offset aside.
func (s *Events) Count(ctx context.Context, scope tenant.Scope, f EventFilter) (int64, error) {
	from, to := f.bounds()
	if f.Object != "" {
		return one(ctx, s, countOfObject, scanInt, scope.Shop, scope.Live, f.Object, typesText(f.Types), from, to)
	}
	return one(ctx, s, countEvents, scanInt, scope.Shop, scope.Live, typesText(f.Types), from, to)
}

// After reads a shop's events of some types, oldest first, from behind one that happened
// at a time and before to. Their payloads are left out.
func (s *Events) After(ctx context.Context, scope tenant.Scope, types []hook.EventType, at time.Time, id string, to time.Time, limit int) ([]Event, error) {
	return many(ctx, s, eventsAfter, func(r engine.Row) (e Event, err error) {
		var at int64
		var none string
		err = r.Scan(&e.ID, &e.Type, &at, &none)
		e.At = fromMicros(at)
		return e, err
	}, scope.Shop, scope.Live, typesText(types), micros(to), micros(at), id, limit, limit)
}
