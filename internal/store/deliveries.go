package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var deliveriesTable = describe(table[hook.Delivery]{
	name:    "deliveries",
	of:      func(c *pay.Change) []hook.Delivery { return c.Deliveries },
	id:      func(d *hook.Delivery) string { return d.ID },
	version: func(d *hook.Delivery) int64 { return d.Version },
	fields: func(f *fields, d *hook.Delivery) {
		f.text("id!", &d.ID)
		f.text("merchant!", &d.Merchant)
		f.text("shop!", &d.Shop)
		f.flag("live!", &d.Live)
		f.number("version", &d.Version)
		f.text("event!", &d.Event)
		word(f, "type!", &d.EventType)
		f.text("subscription!", &d.Subscription)
		word(f, "status", &d.Status)
		f.count("attempts", &d.Attempts)
		f.count("budget", &d.Budget)
		f.time("due_at", &d.DueAt)
		f.flag("parked", &d.Parked)
		f.time("created_at!", &d.CreatedAt)
		document[deliveryDoc](f, "doc", d)
	},
})

type deliveryDoc struct {
	LastAt      int64            `json:"lastAt,omitempty"`
	DeliveredAt int64            `json:"deliveredAt,omitempty"`
	LastCode    int              `json:"lastCode,omitempty"`
	LastError   string           `json:"lastError,omitempty"`
	LastMs      int64            `json:"lastMs,omitempty"`
	Snippet     string           `json:"snippet,omitempty"`
	Earlier     []hook.Attempted `json:"earlier,omitempty"`
	Urgent      bool             `json:"urgent,omitempty"`
}

func (d *deliveryDoc) of(_ *fields, v *hook.Delivery) {
	*d = deliveryDoc{micros(v.LastAt), micros(v.DeliveredAt), v.LastCode, v.LastError, v.LastMs, v.Snippet, v.Earlier, v.Urgent}
}

func (d *deliveryDoc) into(_ *fields, v *hook.Delivery) error {
	v.Stored = v.Status
	v.LastAt, v.DeliveredAt = fromMicros(d.LastAt), fromMicros(d.DeliveredAt)
	v.LastCode, v.LastError, v.LastMs, v.Snippet = d.LastCode, d.LastError, d.LastMs, d.Snippet
	v.Earlier, v.Urgent = d.Earlier, d.Urgent
	return nil
}

// scanDispatch returns what reads deliveries with what is sent.
func (s *core) scanDispatch() func(engine.Row) (Dispatch, error) {
	scan := deliveriesTable.scan(s)
	return func(r engine.Row) (Dispatch, error) {
		var body string
		d, err := scan(rowWith{r, &body})
		if err != nil {
			return Dispatch{Delivery: d}, err
		}
		payload, err := s.personal.open(eventPayload.about(d.Event), body)
		return Dispatch{Delivery: d, Payload: payload}, err
	}
}

var (
	selectAnyDelivery = engine.Statement(`SELECT ` + deliveriesTable.list + ` FROM deliveries WHERE id = $1`)
	selectDelivery    = engine.Statement(`
SELECT ` + deliveriesTable.list + `, (SELECT payload FROM events WHERE events.id = deliveries.event) FROM deliveries
WHERE id = $1 AND subscription = $2 AND merchant = $3 AND shop = $4 AND live = $5`)
)

// Any reads a delivery of any tenant, for the dispatcher.
func (s *Deliveries) Any(ctx context.Context, id string) (hook.Delivery, error) {
	return one(ctx, s, selectAnyDelivery, deliveriesTable.scan(s), id)
}

// Get reads a delivery of a shop's subscription with what is sent.
// ErrNotFound also where it is another's.
func (s *Deliveries) Get(ctx context.Context, scope tenant.Scope, subscription, id string) (Dispatch, error) {
	return one(ctx, s, selectDelivery, s.scanDispatch(), id, subscription, scope.Merchant, scope.Shop, scope.Live)
}

// Lease takes deliveries that are due; nobody else gets them before
// until.
func (s *Deliveries) Lease(ctx context.Context, now, until time.Time, limit int) ([]Dispatch, error) {
	return leased(ctx, s, deliveryDuty, s.scanDispatch(), now, until, limit)
}

var (
	parkDeliveries = engine.Standalone(`
UPDATE deliveries SET parked = TRUE FROM {rows: id TEXT, version BIGINT} AS r
WHERE deliveries.id = r.id AND deliveries.version = r.version AND {among deliveries.id id} AND deliveries.status IN ('pending', 'failed')`)

	// A lease that is another's by now is left alone.
	postponeDeliveries = engine.Standalone(`
UPDATE deliveries SET due_at = r.until FROM {rows: id TEXT, leased BIGINT, until BIGINT} AS r
WHERE deliveries.id = r.id AND deliveries.due_at = r.leased AND {among deliveries.id id} AND deliveries.status IN ('pending', 'failed')`)

	unparkDeliveries = engine.Standalone(`
UPDATE deliveries SET parked = FALSE, due_at = $3 WHERE id IN (
  SELECT d.id FROM deliveries AS d WHERE d.parked AND d.subscription = $1 ORDER BY d.due_at LIMIT $2 {skip locked d})
RETURNING ` + deliveriesTable.list + `, (SELECT payload FROM events WHERE events.id = deliveries.event)`)
)

// Parking is a delivery that is to wait for its endpoint.
type Parking struct {
	ID      string
	Version int64
}

// Park lets deliveries wait for their endpoint: they do not come due. Like a
// lease it is no version; one that moved meanwhile stays as it is.
func (s *Deliveries) Park(ctx context.Context, list []Parking) error {
	rows := engine.NewRows(s.db.Dialect(), parkRows, len(list))
	for _, p := range list {
		rows.Text(p.ID).Number(p.Version).Next()
	}
	return s.db.Lease(ctx, s.text(parkDeliveries), rows.Args(), nil)
}

var parkRows = engine.ParseColumns("id TEXT, version BIGINT")

// Postponement is a delivery whose lease is given up: it comes due at a time.
type Postponement struct {
	ID     string
	Leased time.Time // the end of the lease
	Until  time.Time
}

// Postpone gives deliveries back until a time, of those that are still leased as they were.
func (s *Deliveries) Postpone(ctx context.Context, list []Postponement) error {
	rows := engine.NewRows(s.db.Dialect(), postponeRows, len(list))
	for _, p := range list {
		rows.Text(p.ID).Number(micros(p.Leased), micros(p.Until)).Next()
	}
	return s.db.Lease(ctx, s.text(postponeDeliveries), rows.Args(), nil)
}

var postponeRows = engine.ParseColumns("id TEXT, leased BIGINT, until BIGINT")

// selectAhead finds those of some deliveries that were not tried yet, or are to be tried a
// second time.
var selectAhead = engine.Statement(`
SELECT ` + deliveriesTable.list + ` FROM deliveries
WHERE id IN ($1, $2, $3, $4, $5, $6) AND status IN ('pending', 'failed') AND attempts < 2 AND NOT parked`)

// Ahead reads those of at most hook.MostBefore deliveries that were not tried yet, or
// are to be tried a second time. What waits for its endpoint is left out.
func (s *Deliveries) Ahead(ctx context.Context, ids []string) ([]hook.Delivery, error) {
	args := make([]any, hook.MostBefore)
	for i := range args {
		args[i] = ""
		if i < len(ids) {
			args[i] = ids[i]
		}
	}
	return many(ctx, s, selectAhead, deliveriesTable.scan(s), args...)
}

// Unpark takes parked deliveries of one endpoint, those that came due first;
// nobody else gets them before until.
func (s *Deliveries) Unpark(ctx context.Context, subscription string, until time.Time, limit int) ([]Dispatch, error) {
	var list []Dispatch
	scan := s.scanDispatch()
	err := s.db.Lease(ctx, s.text(unparkDeliveries), []any{subscription, limit, micros(until)}, func(r engine.Row) error {
		d, err := scan(r)
		list = append(list, d)
		return err
	})
	slices.SortStableFunc(list, func(a, b Dispatch) int { return a.Delivery.CreatedAt.Compare(b.Delivery.CreatedAt) })
	return list, err
}

// DeliveryFilter selects deliveries of one subscription. Empty fields select
// all.
type DeliveryFilter struct {
	Status hook.DeliveryStatus
	Type   hook.EventType
	From   time.Time     // created from
	To     time.Time     // created before
	After  hook.Delivery // older than this one; the zero value: all
	Limit  int
	Offset int
}

// beyond is after every time that is stored: in the year 9999.
const beyond = 253402300799_000000

func (f DeliveryFilter) bounds() (from, to int64) {
	if to = micros(f.To); f.To.IsZero() {
		to = beyond
	}
	return micros(f.From), to
}

// listDeliveries reads newest first. There is one index, by status and event;
// each kind gives its newest rows and the best of them are kept, so that a rare
// kind is found without looking at the others.
var listDeliveries = engine.Statement(func() string {
	var parts []string
	for _, status := range hook.DeliveryStatuses() {
		for _, kind := range hook.EventTypes() {
			parts = append(parts, fmt.Sprintf(`
  SELECT * FROM (SELECT %s FROM deliveries
    WHERE subscription = $1 AND status = '%[2]s' AND type = '%[3]s' AND shop = $2 AND live = $3
      AND ($4 = '' OR $4 = '%[2]s') AND ($5 = '' OR $5 = '%[3]s') AND created_at >= $6 AND created_at < $7 AND (created_at < $11 OR id < $12)
    ORDER BY created_at DESC, id DESC LIMIT $8) AS kind%[4]d`, deliveriesTable.list, status, kind, len(parts)))
		}
	}
	return "SELECT " + deliveriesTable.list + " FROM (" + strings.Join(parts, "\n  UNION ALL") + `
) AS d ORDER BY created_at DESC, id DESC LIMIT $9 OFFSET $10`
}())

// List lists what was or is to be sent to a shop's endpoint, newest
// first.
func (s *Deliveries) List(ctx context.Context, scope tenant.Scope, subscription string, f DeliveryFilter) ([]hook.Delivery, error) {
	from, to := f.bounds()
	at := int64(beyond)
	if !f.After.CreatedAt.IsZero() {
		at = micros(f.After.CreatedAt)
		to = min(to, at+1)
	}
	return many(ctx, s, listDeliveries, deliveriesTable.scan(s), subscription, scope.Shop, scope.Live, string(f.Status), string(f.Type), from, to,
		f.Limit+f.Offset, f.Limit, f.Offset, at, f.After.ID)
}

// kinds are all events, so that a count by status can use the index.
var kinds = func() string {
	var quoted []string
	for _, kind := range hook.EventTypes() {
		quoted = append(quoted, "'"+string(kind)+"'")
	}
	return strings.Join(quoted, ", ")
}()

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

// Count counts what the filter selects, leaving Limit and Offset
// aside. Without a time it adds up counters, and the pending ones.
func (s *Deliveries) Count(ctx context.Context, subscription string, f DeliveryFilter) (int64, error) {
	status, kind := string(f.Status), string(f.Type)
	if !f.From.IsZero() || !f.To.IsZero() {
		from, to := f.bounds()
		return one(ctx, s, countDeliveryRange, scanInt, subscription, status, kind, from, to)
	}
	total := int64(0)
	for _, count := range []string{countDeliveries, countPendingDeliveries} {
		n, err := one(ctx, s, count, scanInt, subscription, status, kind)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// upsertDeliveryCounters adds to the counters of deliveries.
var upsertDeliveryCounters = engine.Statement(`
INSERT INTO delivery_counters (subscription, status, type, n, last_at)
SELECT subscription, status, type, n, last_at
FROM {rows: subscription TEXT, status TEXT, type TEXT, n BIGINT, last_at BIGINT} AS r
WHERE {unless lost}
ON CONFLICT (subscription, status, type) DO UPDATE SET n = delivery_counters.n + excluded.n,
  last_at = CASE WHEN excluded.last_at > delivery_counters.last_at THEN excluded.last_at ELSE delivery_counters.last_at END`)

var deliveryCounterRows = engine.ParseColumns("subscription TEXT, status TEXT, type TEXT, n BIGINT, last_at BIGINT")

// deliveryKind is what a list of deliveries may be filtered by.
type deliveryKind struct{ subscription, status, kind string }

func (k deliveryKind) compare(o deliveryKind) int {
	return cmp.Or(strings.Compare(k.subscription, o.subscription), strings.Compare(k.status, o.status), strings.Compare(k.kind, o.kind))
}

// addDeliveryCounters counts what became of deliveries. Pending ones have no
// counter.
func (w *write) addDeliveryCounters(steps []engine.Step) []engine.Step {
	type tally struct{ n, last int64 }
	deltas := map[deliveryKind]*tally{}
	add := func(d *hook.Delivery, status hook.DeliveryStatus, n int64) {
		if status == hook.DeliveryPending {
			return
		}
		key := deliveryKind{d.Subscription, string(status), string(d.EventType)}
		if deltas[key] == nil {
			deltas[key] = &tally{}
		}
		deltas[key].n += n
		deltas[key].last = max(deltas[key].last, micros(d.LastAt))
	}
	for _, d := range gather(w.kept, deliveriesTable.of, nil) {
		add(d, d.Stored, -1)
		add(d, d.Status, 1)
	}
	if len(deltas) == 0 {
		return steps
	}
	rows := engine.NewRows(w.s.db.Dialect(), deliveryCounterRows, len(deltas))
	for _, k := range slices.SortedFunc(maps.Keys(deltas), deliveryKind.compare) {
		rows.Text(k.subscription, k.status, k.kind).Number(deltas[k].n, deltas[k].last).Next()
	}
	return append(steps, engine.Step{Text: w.s.text(upsertDeliveryCounters), Args: rows.Args()})
}
