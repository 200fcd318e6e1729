package store

import "github.com/cascadapay/cascada/internal/pay"

// deliveryID is the id of the delivery of event e to subscription s.
const deliveryID = `'wd_' || substr(e.id, 5) || '-' || substr(s.id, 4)`

// fanOutDeliveries makes a delivery for each endpoint that wants an event.
// They are leased from birth to the node that writes them; where the endpoint's
// circuit is open they wait for it.
const fanOutDeliveries = `
INSERT INTO deliveries (` + deliveryColumns + `)
SELECT ` + deliveryID + `, e.merchant, e.shop, e.live, 1, e.id, e.type, s.id,
  'pending', 0, e.budget, e.due_at, s.paused, e.at, '{}'
FROM {rows: id TEXT, merchant TEXT, shop TEXT, live BOOLEAN, type TEXT, at BIGINT, due_at BIGINT, budget BIGINT} AS e
JOIN subscriptions AS s ON s.shop = e.shop AND s.live = e.live AND s.merchant = e.merchant AND s.status <> 'deleted' AND s.status = 'enabled' AND {among s.shop shop}
  AND (s.events = ',*,' OR s.events LIKE '%,' || e.type || ',%') AND {unless lost}
RETURNING ` + deliveryColumns

func (w *write) fanOut(list []*pay.Event) step {
	payloads, parents := make(map[string][]byte, len(list)), w.parents()
	rows := newRows(w.s.db.dialect(), fanOutColumns, len(list))
	for _, e := range list {
		payloads[e.ID] = e.Payload
		rows.text(e.ID, e.Merchant, e.Shop).flag(e.Live).text(string(e.Type)).
			number(micros(e.At), micros(e.At.Add(deliveryLease)), pay.DeliveryTries).next()
	}
	return step{text: w.s.text(fanOutDeliveries), args: rows.args(), each: func(r row) error {
		d, err := scanDelivery(r)
		w.sent = append(w.sent, Dispatch{Delivery: d, Payload: payloads[d.Event], Cause: parents[d.Event]})
		return err
	}}
}

var fanOutColumns = parseColumns("id TEXT, merchant TEXT, shop TEXT, live BOOLEAN, type TEXT, at BIGINT, due_at BIGINT, budget BIGINT")
