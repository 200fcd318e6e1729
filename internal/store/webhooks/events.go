package webhooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// someWant is true if an endpoint wants the type of row r.
var someWant = `(
  SELECT 1 FROM subscriptions AS s WHERE s.shop = r.shop AND s.live = r.live AND s.merchant = r.merchant AND s.status = 'enabled' AND ` + Wanted("r") + ` LIMIT 1) = 1`

// EventsTable is the table events.
var EventsTable = table.Describe(table.Table[pay.Event]{
	Name:   "events",
	Hashed: true,
	Lock:   490,
	Of:     func(c *pay.Change) []pay.Event { return c.Events },
	Only:   Written,
	ID:     func(e *pay.Event) string { return e.ID },
	Where:  `NOT ` + Optional("r") + ` OR ` + someWant,
	Fields: func(f *table.Fields, e *pay.Event) {
		f.Text("id!", &e.ID)
		f.Text("merchant!", &e.Merchant)
		f.Text("shop!", &e.Shop)
		f.Flag("live!", &e.Live)
		table.Word(f, "type!", &e.Type)
		f.Text("object!", &e.Object)
		f.Number("sequence!", &e.Sequence)
		f.Time("at!", &e.At)
		f.WrittenBytes("payload!", func() []byte { return storedPayload(f.Personal, e) })
	},
})

// Written reports whether an event has its payload. The others are those that nobody wants, if AskWanted found none.
func Written(e *pay.Event) bool { return e.Write == nil }

var (
	askedColumns = engine.ParseColumns(askedSpec)
	// AskWanted finds the shops whose endpoints want events of a type.
	AskWanted = engine.Statement(`SELECT {lost r.shop} FROM {rows: ` + askedSpec + `} AS r WHERE ` + someWant)
)

const askedSpec = "merchant TEXT, shop TEXT, live BOOLEAN, type TEXT"

// WantedArguments are the arguments of AskWanted for events.
func WantedArguments(d engine.Dialect, events []*pay.Event) []any {
	type kind struct {
		merchants.Scope
		webhooks.EventType
	}
	seen := map[kind]struct{}{}
	rows := engine.NewRows(d, askedColumns, len(events))
	for _, e := range events {
		k := kind{e.Scope, e.Type}
		if _, again := seen[k]; !again {
			seen[k] = struct{}{}
			rows.Text(e.Merchant, e.Shop).Flag(e.Live).Text(string(e.Type)).Next()
		}
	}
	return rows.Args()
}

func scanEvent(b *base.Base, scope merchants.Scope) func(engine.Row) (pay.ToldEvent, error) {
	return func(r engine.Row) (e pay.ToldEvent, err error) {
		var at int64
		var stored []byte
		if err := r.Scan(&e.ID, &e.Type, &at, &stored); err != nil {
			return e, err
		}
		e.At = table.FromMicros(at)
		e.Payload, err = openPayload(b.Personal, scope, e.ID, stored)
		return e, err
	}
}

// eventsByTime reads ids by time. There is one index, by type; each type yields its first rows, and the
// first of all are kept, so that a rare type is found without reading the others.
func eventsByTime(bounds, order string, limit int) string {
	var parts []string
	for i, kind := range webhooks.EventTypes() {
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

// An object's events are named after it, and found by their ids: the index of a shop's events is no use here.
var (
	ofObject = ` FROM events WHERE {named id evt_ $3} AND object = $3
  AND shop || '' = $1 AND live = $2 AND ($4 = '' OR $4 LIKE '%,' || type || ',%') AND at >= $5 AND at < $6`
	listObjectEvents = engine.Statement(`SELECT id, type, at, payload` + ofObject + ` AND (at, id) < ($7, $8) ORDER BY at DESC, id DESC LIMIT $9 OFFSET $10`)
	countOfObject    = engine.Statement(`SELECT count(*)` + ofObject)

	selectEvent = engine.Statement(`SELECT id, type, at, payload FROM events WHERE id = $1 AND merchant = $2 AND shop = $3 AND live = $4`)
)

// typesText is types as a statement's argument; "" for all.
func typesText(types []webhooks.EventType) string {
	if len(types) == 0 {
		return ""
	}
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = string(t)
	}
	return table.List(words)
}

// Get reads a shop's event. ErrNotFound also for another shop's.
func (ev Events) Get(ctx context.Context, scope merchants.Scope, id string) (pay.ToldEvent, error) {
	return base.One(ctx, ev.b, selectEvent, scanEvent(ev.b, scope), id, scope.Merchant, scope.Shop, scope.Live)
}

// List lists a shop's events, newest first. ErrNotFound if no event has the id After.
func (ev Events) List(ctx context.Context, scope merchants.Scope, f lists.EventFilter) ([]pay.ToldEvent, error) {
	from, to := base.Bounds(f.Span)
	at, id := int64(base.Beyond), ""
	if f.After != "" {
		after, err := ev.Get(ctx, scope, f.After)
		if err != nil {
			return nil, err
		}
		at, id = table.Micros(after.At), after.ID
	}
	if at > to { // an index scan begins at the cursor, and would read all that is newer than the span
		at, id = to, ""
	}
	if f.Object != "" {
		return base.Many(ctx, ev.b, listObjectEvents, scanEvent(ev.b, scope), scope.Shop, scope.Live, f.Object, typesText(f.Types), from, to, at, id, f.Limit, f.Offset)
	}
	return base.Many(ctx, ev.b, listEvents, scanEvent(ev.b, scope), scope.Shop, scope.Live, typesText(f.Types), from, to, at, id, f.Limit+f.Offset, f.Limit, f.Offset)
}

// Count counts the filter's matches, ignoring After, Limit and Offset.
func (ev Events) Count(ctx context.Context, scope merchants.Scope, f lists.EventFilter) (int64, error) {
	from, to := base.Bounds(f.Span)
	if f.Object != "" {
		return base.One(ctx, ev.b, countOfObject, base.ScanInt, scope.Shop, scope.Live, f.Object, typesText(f.Types), from, to)
	}
	return base.One(ctx, ev.b, countEvents, base.ScanInt, scope.Shop, scope.Live, typesText(f.Types), from, to)
}

// After reads a shop's events of some types, oldest first, after a given event and time and before to,
// without payloads.
func (ev Events) After(ctx context.Context, scope merchants.Scope, types []webhooks.EventType, at time.Time, id string, to time.Time, limit int) ([]pay.ToldEvent, error) {
	return base.Many(ctx, ev.b, eventsAfter, func(r engine.Row) (e pay.ToldEvent, err error) {
		var at int64
		var none string
		err = r.Scan(&e.ID, &e.Type, &at, &none)
		e.At = table.FromMicros(at)
		return e, err
	}, scope.Shop, scope.Live, typesText(types), table.Micros(to), table.Micros(at), id, limit, limit)
}

// Events are the merchants' events.
type Events struct{ b *base.Base }

// Events returns the database's Events.
func (o OfWebhooks) Events() Events { return Events(o) }

// Of reads an object's events, without their snapshots. A payload that cannot be read is nil.
func (ev Events) Of(ctx context.Context, object string) ([]pay.Event, error) {
	scan := EventsTable.Scan(table.Personal{})
	return base.Many(ctx, ev.b, selectObjectEvents, func(r engine.Row) (pay.Event, error) {
		var stored []byte
		e, err := scan(table.With(r, &stored))
		if err != nil {
			return e, err
		}
		e.Payload, err = openPayload(ev.b.Personal, e.Scope, e.ID, stored)
		if errors.Is(err, table.ErrShut) {
			ev.b.Log.Error("an event cannot be opened", "error", err)
			err = nil
		}
		return e, err
	}, object)
}

var selectObjectEvents = engine.Statement(`SELECT ` + EventsTable.List + `, payload FROM events WHERE {named id evt_ $1} AND object = $1 ORDER BY sequence`)
