package store

import (
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
)

// deliveryID is the id of the delivery of event e to subscription s.
const deliveryID = `'wd_' || substr(e.id, 5) || '-' || substr(s.id, 4)`

// wanted is true where the subscription s wants events of the type of the row e.
func wanted(e string) string {
	all := "TRUE"
	for _, set := range pay.EventsVersions() {
		if types := typesWhere(func(t pay.EventType) bool { return t.Since() == set }); set != pay.FirstEvents {
			all += " AND (s.events_version >= '" + string(set) + "' OR " + e + ".type NOT IN (" + types + "))"
		}
	}
	return `(s.events = ',*,' AND ` + strings.TrimPrefix(all, "TRUE AND ") + ` OR s.events LIKE '%,' || ` + e + `.type || ',%')`
}

// optional is true where the row e is an event that is kept only where it is wanted.
func optional(e string) string {
	return e + ".type IN (" + typesWhere(pay.EventType.Optional) + ")"
}

func typesWhere(is func(pay.EventType) bool) string {
	var quoted []string
	for _, t := range pay.EventTypes() {
		if is(t) {
			quoted = append(quoted, "'"+string(t)+"'")
		}
	}
	return strings.Join(quoted, ", ")
}

// fanOutDeliveries makes a delivery for each endpoint that wants an event.
// They are leased from birth to the node that writes them; where the endpoint's
// circuit is open they wait for it. An event that nobody wanted when it was to be
// written is not there: who wants it since then does not get it.
var fanOutDeliveries = `
INSERT INTO deliveries (` + deliveryColumns + `)
SELECT ` + deliveryID + `, e.merchant, e.shop, e.live, 1, e.id, e.type, s.id,
  'pending', 0, e.budget, e.due_at, s.paused, e.at, '{}'
FROM {rows: id TEXT, merchant TEXT, shop TEXT, live BOOLEAN, type TEXT, at BIGINT, due_at BIGINT, budget BIGINT} AS e
JOIN subscriptions AS s ON s.shop = e.shop AND s.live = e.live AND s.merchant = e.merchant AND s.status <> 'deleted' AND s.status = 'enabled' AND {among s.shop shop}
  AND ` + wanted("e") + `
WHERE NOT ` + optional("e") + ` OR (SELECT 1 FROM events AS kept WHERE kept.id = e.id) = 1
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
