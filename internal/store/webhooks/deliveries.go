package webhooks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/trace"
)

// DeliveriesTable is the table deliveries.
var DeliveriesTable = table.Describe(table.Table[webhooks.Delivery]{
	Name:    "deliveries",
	Lock:    60,
	Of:      func(c *pay.Change) []webhooks.Delivery { return c.Deliveries },
	ID:      func(d *webhooks.Delivery) string { return d.ID },
	Version: func(d *webhooks.Delivery) int64 { return d.Version },
	Fields: func(f *table.Fields, d *webhooks.Delivery) {
		f.Text("id!", &d.ID)
		f.Text("merchant!", &d.Merchant)
		f.Text("shop!", &d.Shop)
		f.Flag("live!", &d.Live)
		f.Number("version", &d.Version)
		f.Text("event!", &d.Event)
		table.Word(f, "type!", &d.EventType)
		f.Text("subscription!", &d.Subscription)
		table.Word(f, "status", &d.Status)
		f.Count("attempts", &d.Attempts)
		f.Count("budget", &d.Budget)
		f.Time("due_at", &d.DueAt)
		f.Flag("parked", &d.Parked)
		f.Time("created_at!", &d.CreatedAt)
		table.Document[deliveryDoc](f, "doc", d)
	},
})

type deliveryDoc struct {
	LastAt      int64                `json:"lastAt,omitempty"`
	DeliveredAt int64                `json:"deliveredAt,omitempty"`
	LastCode    int                  `json:"lastCode,omitempty"`
	LastError   string               `json:"lastError,omitempty"`
	LastMs      int64                `json:"lastMs,omitempty"`
	Snippet     string               `json:"snippet,omitempty"`
	Earlier     []webhooks.Attempted `json:"earlier,omitempty"`
	Urgent      bool                 `json:"urgent,omitempty"`
}

func (d *deliveryDoc) Of(_ *table.Fields, v *webhooks.Delivery) {
	*d = deliveryDoc{
		LastAt:      table.Micros(v.LastAt),
		DeliveredAt: table.Micros(v.DeliveredAt),
		LastCode:    v.LastCode,
		LastError:   v.LastError,
		LastMs:      v.LastMs,
		Snippet:     v.Snippet,
		Earlier:     v.Earlier,
		Urgent:      v.Urgent,
	}
}

func (d *deliveryDoc) Into(_ *table.Fields, v *webhooks.Delivery) error {
	v.Stored = v.Status
	v.LastAt = table.FromMicros(d.LastAt)
	v.DeliveredAt = table.FromMicros(d.DeliveredAt)
	v.LastCode = d.LastCode
	v.LastError = d.LastError
	v.LastMs = d.LastMs
	v.Snippet = d.Snippet
	v.Earlier = d.Earlier
	v.Urgent = d.Urgent
	return nil
}

// scanDispatch returns a reader of deliveries with their payloads.
func scanDispatch(b *base.Base) func(engine.Row) (Dispatch, error) {
	scan := DeliveriesTable.Scan(b.Personal)
	return func(r engine.Row) (Dispatch, error) {
		var stored []byte
		d, err := scan(table.With(r, &stored))
		if err != nil {
			return Dispatch{Delivery: d}, err
		}
		payload, err := openPayload(b.Personal, d.Scope, d.Event, stored)
		return Dispatch{Delivery: d, Payload: payload}, err
	}
}

var (
	selectAnyDelivery = engine.Statement(`SELECT ` + DeliveriesTable.List + ` FROM deliveries WHERE id = $1`)
	selectDelivery    = engine.Statement(`
SELECT ` + DeliveriesTable.List + `, (SELECT payload FROM events WHERE events.id = deliveries.event) FROM deliveries
WHERE id = $1 AND subscription = $2 AND merchant = $3 AND shop = $4 AND live = $5`)
)

// Any reads a delivery of any tenant, for the dispatcher.
func (de Deliveries) Any(ctx context.Context, id string) (webhooks.Delivery, error) {
	return base.One(ctx, de.b, selectAnyDelivery, DeliveriesTable.Scan(de.b.Personal), id)
}

// Get reads a delivery of a shop's subscription with its payload. ErrNotFound also for another shop's.
func (de Deliveries) Get(ctx context.Context, scope merchants.Scope, subscription, id string) (Dispatch, error) {
	return base.One(ctx, de.b, selectDelivery, scanDispatch(de.b), id, subscription, scope.Merchant, scope.Shop, scope.Live)
}

// Lease leases due deliveries; nobody else gets them before until.
func (de Deliveries) Lease(ctx context.Context, now, until time.Time, limit int) ([]Dispatch, error) {
	return base.Leased(ctx, de.b, DeliveryDuty, scanDispatch(de.b), now, until, limit)
}

var (
	parkDeliveries = engine.Standalone(`
UPDATE deliveries SET parked = TRUE FROM {rows: id TEXT, version BIGINT} AS r
WHERE deliveries.id = r.id AND deliveries.version = r.version AND {among deliveries.id id} AND deliveries.status IN ('pending', 'failed')`)

	// Skips deliveries that another node has leased by now.
	postponeDeliveries = engine.Standalone(`
UPDATE deliveries SET due_at = r.until FROM {rows: id TEXT, leased BIGINT, until BIGINT} AS r
WHERE deliveries.id = r.id AND deliveries.due_at = r.leased AND {among deliveries.id id} AND deliveries.status IN ('pending', 'failed')`)

	unparkDeliveries = engine.Standalone(`
UPDATE deliveries SET parked = FALSE, due_at = $3 WHERE id IN (
  SELECT d.id FROM deliveries AS d WHERE d.parked AND d.subscription = $1 ORDER BY d.due_at LIMIT $2 {skip locked d})
RETURNING ` + DeliveriesTable.List + `, (SELECT payload FROM events WHERE events.id = deliveries.event)`)
)

// Parking is a delivery that will wait for its endpoint.
type Parking struct {
	ID      string
	Version int64
}

// Park makes deliveries wait for their endpoint: they do not come due. Like a lease, it raises no version;
// a delivery that moved meanwhile stays as it is.
func (de Deliveries) Park(ctx context.Context, list []Parking) error {
	rows := engine.NewRows(de.b.DB.Dialect(), parkRows, len(list))
	for _, p := range list {
		rows.Text(p.ID).Number(p.Version).Next()
	}
	return de.b.DB.Lease(ctx, de.b.Text(parkDeliveries), rows.Args(), nil)
}

var parkRows = engine.ParseColumns("id TEXT, version BIGINT")

// Postponement is a delivery whose lease is released: it comes due at a time.
type Postponement struct {
	ID     string
	Leased time.Time // the end of the lease
	Until  time.Time
}

// Postpone releases deliveries until a time, if their leases are unchanged.
func (de Deliveries) Postpone(ctx context.Context, list []Postponement) error {
	rows := engine.NewRows(de.b.DB.Dialect(), postponeRows, len(list))
	for _, p := range list {
		rows.Text(p.ID).Number(table.Micros(p.Leased), table.Micros(p.Until)).Next()
	}
	return de.b.DB.Lease(ctx, de.b.Text(postponeDeliveries), rows.Args(), nil)
}

var postponeRows = engine.ParseColumns("id TEXT, leased BIGINT, until BIGINT")

// selectAhead picks from some deliveries those with no try yet, or with a second try ahead.
var selectAhead = engine.Statement(`
SELECT ` + DeliveriesTable.List + ` FROM deliveries
WHERE id IN ($1, $2, $3, $4, $5, $6) AND status IN ('pending', 'failed') AND attempts < 2 AND NOT parked`)

// Ahead reads, of at most webhooks.MostBefore deliveries, those with no try yet or with a second try ahead.
// Parked deliveries are left out.
func (de Deliveries) Ahead(ctx context.Context, ids []string) ([]webhooks.Delivery, error) {
	args := make([]any, webhooks.MostBefore)
	for i := range args {
		args[i] = ""
		if i < len(ids) {
			args[i] = ids[i]
		}
	}
	return base.Many(ctx, de.b, selectAhead, DeliveriesTable.Scan(de.b.Personal), args...)
}

// Unpark leases parked deliveries of one endpoint, earliest due first; nobody else gets them before until.
func (de Deliveries) Unpark(ctx context.Context, subscription string, until time.Time, limit int) ([]Dispatch, error) {
	var list []Dispatch
	scan := scanDispatch(de.b)
	err := de.b.DB.Lease(ctx, de.b.Text(unparkDeliveries), []any{subscription, limit, table.Micros(until)}, func(r engine.Row) error {
		d, err := scan(r)
		list = append(list, d)
		return err
	})
	slices.SortStableFunc(list, func(a, b Dispatch) int { return a.Delivery.CreatedAt.Compare(b.Delivery.CreatedAt) })
	return list, err
}

// Deliveries are read newest first. All of an endpoint are read by time. Those of a status or a type are read by the index of
// both: each kind yields its newest rows, and the newest of all are kept, so that a rare kind is found without reading the
// others. Each statement has only the kinds that it needs: PostgreSQL plans every one of them each time.
var (
	// ListDeliveries reads deliveries of all kinds.
	ListDeliveries = engine.Statement(`SELECT ` + DeliveriesTable.List + ` FROM deliveries
WHERE subscription = $1 AND shop = $2 AND live = $3 AND created_at >= $4 AND created_at < $5 AND (created_at < $6 OR id < $7)
ORDER BY created_at DESC, id DESC LIMIT $8 OFFSET $9`)

	listDeliveriesOfStatus = engine.Statement(newestOfKinds(deliveryKinds("type", webhooks.EventTypes()), "status = $11"))
	listDeliveriesOfType   = engine.Statement(newestOfKinds(deliveryKinds("status", webhooks.DeliveryStatuses()), "type = $11 AND ($12 = '' OR status = $12)"))
)

// deliveryKinds are conditions, one for each value of a column.
func deliveryKinds[T ~string](column string, values []T) (list []string) {
	for _, value := range values {
		list = append(list, column+" = '"+string(value)+"'")
	}
	return list
}

// newestOfKinds reads the newest of some kinds of deliveries that also fit a condition.
func newestOfKinds(kinds []string, also string) string {
	var parts []string
	for i, kind := range kinds {
		parts = append(parts, fmt.Sprintf(`
  SELECT * FROM (SELECT %s FROM deliveries {by deliveries_list}
    WHERE subscription = $1 AND %s AND %s AND shop = $2 AND live = $3 AND created_at >= $4 AND created_at < $5 AND (created_at < $6 OR id < $7)
    ORDER BY created_at DESC, id DESC LIMIT $10) AS kind%d`, DeliveriesTable.List, kind, also, i))
	}
	return "SELECT " + DeliveriesTable.List + " FROM (" + strings.Join(parts, "\n  UNION ALL") + `
) AS d ORDER BY created_at DESC, id DESC LIMIT $8 OFFSET $9`
}

// List lists past and future deliveries to a shop's endpoint, newest first: those older than after, or all
// if that is the zero value.
func (de Deliveries) List(ctx context.Context, scope merchants.Scope, subscription string, f lists.DeliveryFilter, after webhooks.Delivery) ([]webhooks.Delivery, error) {
	from, to := base.Bounds(f.Span)
	at := int64(base.Beyond)
	if !after.CreatedAt.IsZero() {
		at = table.Micros(after.CreatedAt)
		to = min(to, at+1)
	}
	args := []any{subscription, scope.Shop, scope.Live, from, to, at, after.ID, f.Limit, f.Offset}
	scan := DeliveriesTable.Scan(de.b.Personal)
	switch {
	case f.Type != "":
		return base.Many(ctx, de.b, listDeliveriesOfType, scan, append(args, f.Limit+f.Offset, string(f.Type), string(f.Status))...)
	case f.Status != "":
		return base.Many(ctx, de.b, listDeliveriesOfStatus, scan, append(args, f.Limit+f.Offset, string(f.Status))...)
	}
	return base.Many(ctx, de.b, ListDeliveries, scan, args...)
}

// kinds lists all events, so that a count by status can use the index.
var kinds = func() string {
	var quoted []string
	for _, kind := range webhooks.EventTypes() {
		quoted = append(quoted, "'"+string(kind)+"'")
	}
	return strings.Join(quoted, ", ")
}()

// DeliveryCounterKey is the key of delivery_counters.
const DeliveryCounterKey = "subscription, status, type"

var (
	countDeliveries = engine.Statement(`
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM delivery_counters
WHERE subscription = $1 AND ($2 = '' OR status = $2) AND ($3 = '' OR type = $3)`)

	countPendingDeliveries = engine.Statement(`
SELECT count(*) FROM deliveries WHERE subscription = $1 AND status = 'pending' AND ($2 = '' OR $2 = 'pending') AND type IN (` + kinds + `)
  AND ($3 = '' OR type = $3)`)

	countDeliveryRange = engine.Statement(`
SELECT count(*) FROM deliveries
WHERE subscription = $1 AND status IN ('pending', 'delivered', 'failed', 'dead_letter') AND type IN (` + kinds + `)
  AND ($2 = '' OR status = $2) AND ($3 = '' OR type = $3) AND created_at >= $4 AND created_at < $5`)
)

// Count counts the filter's matches, ignoring Limit and Offset. Without a time span it sums counters, and
// counts pending deliveries.
func (de Deliveries) Count(ctx context.Context, subscription string, f lists.DeliveryFilter) (int64, error) {
	status, kind := string(f.Status), string(f.Type)
	if !f.From.IsZero() || !f.To.IsZero() {
		from, to := base.Bounds(f.Span)
		return base.One(ctx, de.b, countDeliveryRange, base.ScanInt, subscription, status, kind, from, to)
	}
	total := int64(0)
	for _, count := range []string{countDeliveries, countPendingDeliveries} {
		n, err := base.One(ctx, de.b, count, base.ScanInt, subscription, status, kind)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// DeliveryDuty is the due deliveries.
var DeliveryDuty = base.NewDuty("deliveries", "deliveries", "d.status IN ('pending', 'failed') AND NOT d.parked",
	DeliveriesTable.List+`, (SELECT payload FROM events WHERE events.id = deliveries.event)`)

// Deliveries are deliveries of events, and the fan-outs that make them.
type Deliveries struct{ b *base.Base }

// Deliveries returns the database's Deliveries.
func (o OfWebhooks) Deliveries() Deliveries { return Deliveries(o) }

// A delivery is named after its event, and an event after its object.
var (
	deliveriesOf = engine.Statement(`
SELECT ` + DeliveriesTable.List + ` FROM deliveries WHERE {named id wd_ $1}`)
	deliveriesAbout = engine.Statement(`
SELECT ` + DeliveriesTable.List + ` FROM deliveries
WHERE {named id wd_ $1} AND shop = $2 AND live = $3 ORDER BY id LIMIT $4`)
)

// Of reads the deliveries of an object's events.
func (de Deliveries) Of(ctx context.Context, object string) ([]webhooks.Delivery, error) {
	return base.Many(ctx, de.b, deliveriesOf, DeliveriesTable.Scan(de.b.Personal), object)
}

// About reads the deliveries of a shop's events about one of its objects, such as a payment.
func (de Deliveries) About(ctx context.Context, scope merchants.Scope, object string, limit int) ([]webhooks.Delivery, error) {
	return base.Many(ctx, de.b, deliveriesAbout, DeliveriesTable.Scan(de.b.Personal), object, scope.Shop, scope.Live, limit)
}

// Dispatch is a delivery in progress, with its payload.
type Dispatch struct {
	Delivery webhooks.Delivery
	Payload  []byte
	Cause    trace.Ref // the commit that made it; none if it was read from the database
}
