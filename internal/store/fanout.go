package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var fanOutsTable = describe(table[hook.FanOut]{
	name:    "fanouts",
	of:      func(c *pay.Change) []hook.FanOut { return c.FanOuts },
	id:      func(o *hook.FanOut) string { return o.Event },
	version: func(o *hook.FanOut) int64 { return o.Version },
	fields: func(f *fields, o *hook.FanOut) {
		f.text("id!", &o.Event)
		f.text("merchant!", &o.Merchant)
		f.text("shop!", &o.Shop)
		f.flag("live!", &o.Live)
		f.number("version", &o.Version)
		word(f, "type!", &o.Type)
		f.converted("after", func() string { return o.Through }, func(text string) error {
			o.After = text
			return nil
		})
		f.time("at!", &o.At)
		f.time("due_at!", &o.DueAt)
	},
})

const (
	// wideFrom is how many endpoints make an event wide: its deliveries are made by steps of their
	// own, since everybody waits for a transaction that writes fifty rows in fifty places of an index.
	wideFrom = 17
	// fanOutStep is how many deliveries a step makes while other merchants write, and aloneStep
	// while none does.
	fanOutStep = 16
	aloneStep  = 200
)

// deliveryID is the id of the delivery of event e to subscription s.
const deliveryID = `'wd_' || substr(e.id, 5) || '-' || substr(s.id, 4)`

const (
	fanOutSpec = "id TEXT, merchant TEXT, shop TEXT, live BOOLEAN, type TEXT, at BIGINT, due_at BIGINT, budget BIGINT"
	stepSpec   = fanOutSpec + ", after TEXT, through TEXT"
)

// wanted is true where the subscription s wants events of the type of the row e.
func wanted(e string) string { return wantedType(e + ".type") }

// wantedType is wanted for a type that is an expression.
func wantedType(kind string) string {
	all := "TRUE"
	for _, set := range hook.EventsVersions() {
		if types := typesWhere(func(t hook.EventType) bool { return t.Since() == set }); set != hook.FirstEvents {
			all += " AND (s.events_version >= '" + string(set) + "' OR " + kind + " NOT IN (" + types + "))"
		}
	}
	return `(s.events = ',*,' AND ` + strings.TrimPrefix(all, "TRUE AND ") + ` OR s.events LIKE '%,' || ` + kind + ` || ',%')`
}

// optional is true where the row e is an event that is kept only where it is wanted.
func optional(e string) string {
	return e + ".type IN (" + typesWhere(hook.EventType.Optional) + ")"
}

func typesWhere(is func(hook.EventType) bool) string {
	var quoted []string
	for _, t := range hook.EventTypes() {
		if is(t) {
			quoted = append(quoted, "'"+string(t)+"'")
		}
	}
	return strings.Join(quoted, ", ")
}

// makeDeliveries makes a delivery for each endpoint that wants an event.
// They are leased from birth to the node that writes them; where the endpoint's
// circuit is open they wait for it. An event that nobody wanted when it was to be
// written is not there: who wants it since then does not get it.
func makeDeliveries(spec, among string) string {
	return `
INSERT INTO deliveries (` + deliveriesTable.list + `)
SELECT ` + deliveryID + `, e.merchant, e.shop, e.live, 1, e.id, e.type, s.id,
  'pending', 0, e.budget, e.due_at, s.paused, e.at, '{}'
FROM {rows: ` + spec + `} AS e
JOIN subscriptions AS s ON s.shop = e.shop AND s.live = e.live AND s.merchant = e.merchant AND s.status <> 'deleted' AND s.status = 'enabled' AND {among s.shop shop}
  AND ` + wanted("e") + ` AND {unless lost}` + among + `
WHERE NOT ` + optional("e") + ` OR (SELECT 1 FROM events AS kept WHERE kept.id = e.id) = 1
RETURNING ` + deliveriesTable.list
}

var (
	fanOutDeliveries = engine.Statement(makeDeliveries(fanOutSpec, ""))
	stepDeliveries   = engine.Statement(makeDeliveries(stepSpec, " AND s.id > e.after AND s.id <= e.through"))

	fanOutColumns = engine.ParseColumns(fanOutSpec)
	stepColumns   = engine.ParseColumns(stepSpec)
)

var endFanOuts = engine.Statement(`
DELETE FROM fanouts WHERE {among id id} AND (id, version) IN (SELECT r.id, r.version - 1 FROM {rows: id TEXT, version BIGINT} AS r) AND {unless lost}
RETURNING id`)

var selectEndpoints = engine.Statement(`
SELECT s.id FROM subscriptions AS s WHERE s.shop = $1 AND s.live = $2 AND s.merchant = $3 AND s.status <> 'deleted' AND s.status = 'enabled'
  AND ` + wantedType("CAST($4 AS TEXT)") + ` AND s.id > $5
ORDER BY s.id LIMIT $6`)

var fanOutDuty = newDuty("fan-outs", "fanouts", "d.due_at > 0",
	fanOutsTable.list+`, coalesce((SELECT payload FROM events WHERE events.id = fanouts.id), '')`)

// scanFanOut returns what reads fan-outs with what their events tell.
func (s *core) scanFanOut() func(engine.Row) (hook.FanOut, error) {
	scan := fanOutsTable.scan(s)
	return func(r engine.Row) (hook.FanOut, error) {
		var body string
		f, err := scan(rowWith{r, &body})
		switch {
		case err != nil:
			return f, err
		case body == "" && !f.Type.Optional(): // one that nobody wanted is not kept
			return f, fmt.Errorf("fan-out %s has no event", f.Event)
		case body != "":
			f.Payload, err = s.personal.open(eventPayload.about(f.Event), body)
		}
		return f, err
	}
}

// LeaseFanOuts takes events whose deliveries are to be made, in the order in which they were written;
// nobody else gets them before until.
func (s *Deliveries) LeaseFanOuts(ctx context.Context, now, until time.Time, limit int) ([]hook.FanOut, error) {
	list, err := leased(ctx, s, fanOutDuty, s.scanFanOut(), now, until, limit)
	slices.SortFunc(list, func(a, b hook.FanOut) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Event, b.Event)) })
	return list, err
}

// InCompany reports whether several merchants write, as far as this process saw a moment ago.
func (s *Deliveries) InCompany() bool { return s.inCompany.Load() }

// NextStep returns a fan-out's next step, to be committed.
func (s *Deliveries) NextStep(ctx context.Context, f hook.FanOut) (hook.FanOut, error) {
	if len(f.Payload) == 0 {
		return f.Step(nil, true), nil
	}
	step := aloneStep
	if s.InCompany() {
		step = fanOutStep
	}
	ids, err := many(ctx, s, selectEndpoints, func(r engine.Row) (id string, err error) { return id, r.Scan(&id) },
		f.Shop, f.Live, f.Merchant, string(f.Type), f.After, step+1)
	if err != nil {
		return f, err
	}
	return f.Step(ids[:min(len(ids), step)], len(ids) <= step), nil
}

// fanOut makes the deliveries of events, and keeps wide events for their steps.
func (w *write) fanOut(steps []engine.Step, list []*pay.Event) []engine.Step {
	var narrow []*pay.Event
	for _, e := range list {
		if w.s.widths.wide(e) {
			w.wide = append(w.wide, &hook.FanOut{Scope: e.Scope, Event: e.ID, Version: 1, Type: e.Type, At: e.At, DueAt: e.At})
		} else {
			narrow = append(narrow, e)
		}
	}
	steps = fanOutsTable.add(w, steps, w.wide)
	if len(narrow) == 0 {
		return steps
	}
	payloads, parents := make(map[string][]byte, len(narrow)), w.parents()
	rows := engine.NewRows(w.s.db.Dialect(), fanOutColumns, len(narrow))
	for _, e := range narrow {
		payloads[e.ID] = e.Payload
		rows.Text(e.ID, e.Merchant, e.Shop).Flag(e.Live).Text(string(e.Type)).
			Number(micros(e.At), micros(e.At.Add(hook.DeliveryLease)), hook.DeliveryTries).Next()
	}
	scan := deliveriesTable.scan(w.s)
	return append(steps, engine.Step{Text: w.s.text(fanOutDeliveries), Args: rows.Args(), Each: func(r engine.Row) error {
		d, err := scan(r)
		w.sent = append(w.sent, Dispatch{Delivery: d, Payload: payloads[d.Event], Cause: parents[d.Event]})
		return err
	}})
}

// fanOutRows are the wide events whose deliveries are made by steps. A row ends with its last step.
type fanOutRows struct{ *table[hook.FanOut] }

func (t fanOutRows) guards(w *write, steps []engine.Step) []engine.Step {
	steps = t.replace(w, steps, gather(w.batch, t.of, func(f *hook.FanOut) bool { return !f.Over }))
	return t.removed(w, steps, endFanOuts, gather(w.batch, t.of, func(f *hook.FanOut) bool { return f.Over }))
}

// inserts adds none: fanOut does, once it knows how wide an event is.
func (t fanOutRows) inserts(_ *write, steps []engine.Step) []engine.Step { return steps }

// step makes the deliveries of steps.
func (w *write) step(steps []engine.Step) []engine.Step {
	list := gather(w.kept, fanOutsTable.of, func(f *hook.FanOut) bool { return f.Through != f.After })
	if len(list) == 0 {
		return steps
	}
	payloads := make(map[string][]byte, len(list))
	rows := engine.NewRows(w.s.db.Dialect(), stepColumns, len(list))
	for _, f := range list {
		payloads[f.Event] = f.Payload
		rows.Text(f.Event, f.Merchant, f.Shop).Flag(f.Live).Text(string(f.Type)).
			Number(micros(f.At), micros(f.DueAt.Add(hook.DeliveryLease)), hook.DeliveryTries).Text(f.After, f.Through).Next()
	}
	scan := deliveriesTable.scan(w.s)
	return append(steps, engine.Step{Text: w.s.text(stepDeliveries), Args: rows.Args(), Each: func(r engine.Row) error {
		d, err := scan(r)
		w.sent = append(w.sent, Dispatch{Delivery: d, Payload: payloads[d.Event]})
		return err
	}})
}
