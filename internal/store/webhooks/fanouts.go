package webhooks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// FanOutsTable is the table fanouts. The commit that writes a wide event also adds its row. Later changes have the steps,
// and the last step deletes the row.
var FanOutsTable = table.Describe(table.Table[webhooks.FanOut]{
	Name:    "fanouts",
	Lock:    70,
	Of:      func(c *pay.Change) []webhooks.FanOut { return c.FanOuts },
	ID:      func(o *webhooks.FanOut) string { return o.Event },
	Version: func(o *webhooks.FanOut) int64 { return o.Version },
	Over:    func(o *webhooks.FanOut) bool { return o.Over },
	Fields: func(f *table.Fields, o *webhooks.FanOut) {
		f.Text("id!", &o.Event)
		f.Text("merchant!", &o.Merchant)
		f.Text("shop!", &o.Shop)
		f.Flag("live!", &o.Live)
		f.Number("version", &o.Version)
		table.Word(f, "type!", &o.Type)
		f.Converted("after", func() string { return o.Through }, func(text string) error {
			o.After = text
			return nil
		})
		f.Time("at!", &o.At)
		f.Time("due_at!", &o.DueAt)
	},
})

// FanOutDuty is the due fan-outs.
var FanOutDuty = base.NewDuty("fan-outs", "fanouts", "d.due_at > 0",
	FanOutsTable.List+`, coalesce((SELECT payload FROM events WHERE events.id = fanouts.id), '')`)

// scanFanOut returns a reader of fan-outs with their events' payloads.
func scanFanOut(b *base.Base) func(engine.Row) (webhooks.FanOut, error) {
	scan := FanOutsTable.Scan(b.Personal)
	return func(r engine.Row) (webhooks.FanOut, error) {
		var stored []byte
		f, err := scan(table.With(r, &stored))
		switch {
		case err != nil:
			return f, err
		case len(stored) == 0 && !f.Type.Optional(): // an event that nobody wanted is not kept
			return f, fmt.Errorf("fan-out %s has no event", f.Event)
		case len(stored) > 0:
			f.Payload, err = openPayload(b.Personal, f.Scope, f.Event, stored)
		}
		return f, err
	}
}

// LeaseFanOuts leases events whose deliveries must be made, in write order; nobody else gets them before
// until.
func (de Deliveries) LeaseFanOuts(ctx context.Context, now, until time.Time, limit int) ([]webhooks.FanOut, error) {
	list, err := base.Leased(ctx, de.b, FanOutDuty, scanFanOut(de.b), now, until, limit)
	slices.SortFunc(list, func(a, b webhooks.FanOut) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Event, b.Event)) })
	return list, err
}

// InCompany reports whether several merchants were writing a moment ago, as seen by this process.
func (de Deliveries) InCompany() bool { return de.b.InCompany.Load() }

// NextStep returns a fan-out's next step, for a commit.
func (de Deliveries) NextStep(ctx context.Context, f webhooks.FanOut) (webhooks.FanOut, error) {
	if len(f.Payload) == 0 {
		return f.Step(nil, true), nil
	}
	step := aloneStep
	if de.InCompany() {
		step = fanOutStep
	}
	ids, err := base.Many(ctx, de.b, selectEndpoints, func(r engine.Row) (id string, err error) { return id, r.Scan(&id) },
		f.Shop, f.Live, f.Merchant, string(f.Type), f.After, step+1)
	if err != nil {
		return f, err
	}
	return f.Step(ids[:min(len(ids), step)], len(ids) <= step), nil
}

var selectEndpoints = engine.Statement(`
SELECT s.id FROM subscriptions AS s WHERE s.shop = $1 AND s.live = $2 AND s.merchant = $3 AND s.status <> 'deleted' AND s.status = 'enabled'
  AND ` + wantedType("CAST($4 AS TEXT)") + ` AND s.id > $5
ORDER BY s.id LIMIT $6`)

// Wanted is true if subscription s wants the type of event row e.
func Wanted(e string) string { return wantedType(e + ".type") }

// wantedType is Wanted for a type expression.
func wantedType(kind string) string {
	all := "TRUE"
	for _, set := range webhooks.EventsVersions() {
		if types := typesWhere(func(t webhooks.EventType) bool { return t.Since() == set }); set != webhooks.FirstEvents {
			all += " AND (s.events_version >= '" + string(set) + "' OR " + kind + " NOT IN (" + types + "))"
		}
	}
	return `(s.events = ',*,' AND ` + strings.TrimPrefix(all, "TRUE AND ") + ` OR s.events LIKE '%,' || ` + kind + ` || ',%')`
}

// Optional is true if row e is an event that is kept only if somebody wants it.
func Optional(e string) string {
	return e + ".type IN (" + typesWhere(webhooks.EventType.Optional) + ")"
}

func typesWhere(is func(webhooks.EventType) bool) string {
	var quoted []string
	for _, t := range webhooks.EventTypes() {
		if is(t) {
			quoted = append(quoted, "'"+string(t)+"'")
		}
	}
	return strings.Join(quoted, ", ")
}

const (
	// fanOutStep is how many deliveries a step makes while other merchants write; aloneStep applies
	// otherwise.
	fanOutStep = 16
	aloneStep  = 200
)

// DeliveryID is the id of the delivery of event e to subscription s.
const DeliveryID = `'wd_' || substr(e.id, 5) || '-' || substr(s.id, 4)`
