package store

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
	storewebhooks "github.com/cascadapay/cascada/internal/store/webhooks"
)

const (
	// wideFrom is the number of endpoints that makes an event wide: separate steps make its deliveries,
	// since everybody waits for a transaction that writes fifty rows in fifty places of an index.
	wideFrom = 17
)

const (
	fanOutSpec = "id TEXT, merchant TEXT, shop TEXT, live BOOLEAN, type TEXT, at BIGINT, due_at BIGINT, budget BIGINT"
	stepSpec   = fanOutSpec + ", after TEXT, through TEXT"
)

// makeDeliveries makes a delivery for each endpoint that wants an event. The node that writes them holds
// their lease from the start; if the endpoint's circuit is open, they wait for it. An optional event that
// nobody wanted when it was written does not exist, and later subscribers do not get it.
func makeDeliveries(spec, among string) string {
	return storewebhooks.DeliveriesTable.InsertOf(map[string]string{
		"id": storewebhooks.DeliveryID, "merchant": "e.merchant", "shop": "e.shop", "live": "e.live", "version": "1", "event": "e.id", "type": "e.type",
		"subscription": "s.id", "status": "'pending'", "attempts": "0", "budget": "e.budget", "due_at": "e.due_at", "parked": "s.paused",
		"created_at": "e.at", "doc": "'{}'",
	}) + `
FROM {rows: ` + spec + `} AS e
JOIN subscriptions AS s ON s.shop = e.shop AND s.live = e.live AND s.merchant = e.merchant AND s.status <> 'deleted' AND s.status = 'enabled' AND {among s.shop shop}
  AND ` + storewebhooks.Wanted("e") + ` AND {unless lost}` + among + `
WHERE NOT ` + storewebhooks.Optional("e") + ` OR (SELECT 1 FROM events AS kept WHERE kept.id = e.id) = 1
RETURNING ` + storewebhooks.DeliveriesTable.List
}

var (
	fanOutDeliveries = engine.Statement(makeDeliveries(fanOutSpec, ""))
	stepDeliveries   = engine.Statement(makeDeliveries(stepSpec, " AND s.id > e.after AND s.id <= e.through"))

	fanOutColumns = engine.ParseColumns(fanOutSpec)
	stepColumns   = engine.ParseColumns(stepSpec)
)

// fanOut makes the deliveries of events, and stores wide events for their steps.
func (w *write) fanOut(steps []engine.Step, list []*pay.Event) []engine.Step {
	var narrow []*pay.Event
	for _, e := range list {
		if w.s.widths.wide(e) {
			w.wide = append(w.wide, &webhooks.FanOut{Scope: e.Scope, Event: e.ID, Version: 1, Type: e.Type, At: e.At, DueAt: e.At})
		} else {
			narrow = append(narrow, e)
		}
	}
	steps = storewebhooks.FanOutsTable.Add(&w.Batch, steps, w.wide)
	if len(narrow) == 0 {
		return steps
	}
	payloads, parents := make(map[string][]byte, len(narrow)), w.parents()
	rows := engine.NewRows(w.Dialect, fanOutColumns, len(narrow))
	for _, e := range narrow {
		payloads[e.ID] = e.Payload
		rows.Text(e.ID, e.Merchant, e.Shop).Flag(e.Live).Text(string(e.Type)).
			Number(table.Micros(e.At), table.Micros(e.At.Add(webhooks.DeliveryLease)), int64(webhooks.DeliveryTries)).Next()
	}
	scan := storewebhooks.DeliveriesTable.Scan(w.Personal)
	return append(steps, engine.Step{Text: w.s.b.Text(fanOutDeliveries), Args: rows.Args(), Each: func(r engine.Row) error {
		d, err := scan(r)
		w.sent = append(w.sent, storewebhooks.Dispatch{Delivery: d, Payload: payloads[d.Event], Cause: parents[d.Event]})
		return err
	}})
}

// step makes the deliveries of the batch's steps.
func (w *write) step(steps []engine.Step) []engine.Step {
	list := storewebhooks.FanOutsTable.In(w.Kept, func(f *webhooks.FanOut) bool { return f.Through != f.After })
	if len(list) == 0 {
		return steps
	}
	payloads := make(map[string][]byte, len(list))
	rows := engine.NewRows(w.Dialect, stepColumns, len(list))
	for _, f := range list {
		payloads[f.Event] = f.Payload
		rows.Text(f.Event, f.Merchant, f.Shop).Flag(f.Live).Text(string(f.Type)).
			Number(table.Micros(f.At), table.Micros(f.DueAt.Add(webhooks.DeliveryLease)), int64(webhooks.DeliveryTries)).Text(f.After, f.Through).Next()
	}
	scan := storewebhooks.DeliveriesTable.Scan(w.Personal)
	return append(steps, engine.Step{Text: w.s.b.Text(stepDeliveries), Args: rows.Args(), Each: func(r engine.Row) error {
		d, err := scan(r)
		w.sent = append(w.sent, storewebhooks.Dispatch{Delivery: d, Payload: payloads[d.Event]})
		return err
	}})
}
