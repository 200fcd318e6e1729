package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// ReplaysTable is the table replays.
var ReplaysTable = table.Describe(table.Table[webhooks.Replay]{
	Name:    "replays",
	Hashed:  true,
	Lock:    90,
	Of:      func(c *pay.Change) []webhooks.Replay { return c.Replays },
	ID:      func(p *webhooks.Replay) string { return p.ID },
	Version: func(p *webhooks.Replay) int64 { return p.Version },
	Met:     table.DuplicateAnyhow,
	Fields: func(f *table.Fields, p *webhooks.Replay) {
		f.Text("id!", &p.ID)
		f.Text("merchant!", &p.Merchant)
		f.Text("shop!", &p.Shop)
		f.Flag("live!", &p.Live)
		f.Number("version", &p.Version)
		f.Text("subscription!", &p.Subscription)
		table.Word(f, "status", &p.Status)
		f.Time("since!", &p.From)
		f.Time("until!", &p.To)
		f.Time("after_at", &p.AfterAt)
		f.Text("after_id", &p.AfterID)
		f.Time("due_at", &p.DueAt)
		f.Time("created_at!", &p.CreatedAt)
		f.Time("updated_at", &p.UpdatedAt)
		table.Document[replayDoc](f, "doc", p)
	},
})

type replayDoc struct {
	Types   []webhooks.EventType `json:"types,omitempty"`
	Events  int64                `json:"events"`
	Sent    int64                `json:"sent"`
	LeftOut int64                `json:"leftOut"`
	Why     webhooks.StopReason  `json:"why,omitempty"`
	Resume  int64                `json:"resume,omitempty"` // microseconds UTC
}

func (d *replayDoc) Of(_ *table.Fields, p *webhooks.Replay) {
	*d = replayDoc{
		Types:   p.Types,
		Events:  p.Events,
		Sent:    p.Sent,
		LeftOut: p.LeftOut,
		Why:     p.Why,
		Resume:  table.Micros(p.ResumeFrom),
	}
}

func (d *replayDoc) Into(_ *table.Fields, p *webhooks.Replay) error {
	p.Types = d.Types
	p.Events = d.Events
	p.Sent = d.Sent
	p.LeftOut = d.LeftOut
	p.Why = d.Why
	p.ResumeFrom = table.FromMicros(d.Resume)
	return nil
}

var (
	selectReplay = engine.Statement(`SELECT ` + ReplaysTable.List + ` FROM replays
WHERE id = $1 AND subscription = $2 AND merchant = $3 AND shop = $4 AND live = $5`)
	selectRunningReplay = engine.Statement(`SELECT ` + ReplaysTable.List + ` FROM replays WHERE subscription = $1 AND status = 'running'`)
	ofEndpoint          = ` FROM replays WHERE subscription = $1 AND merchant = $2 AND shop = $3 AND live = $4`
	listReplays         = engine.Statement(`SELECT ` + ReplaysTable.List + ofEndpoint + ` AND id < $5 ORDER BY id DESC LIMIT $6 OFFSET $7`)
	countReplays        = engine.Statement(`SELECT count(*)` + ofEndpoint)
	countUntriedOf      = `
SELECT count(*) FROM deliveries WHERE subscription = $1 AND status = 'pending' AND type IN (%s)`
	selectNamedDeliveries = engine.Statement(`
SELECT ` + DeliveriesTable.List + ` FROM deliveries JOIN {rows: name TEXT} AS r ON deliveries.id = r.name AND {among deliveries.id name}`)
)

var (
	countUntried = engine.Statement(fmt.Sprintf(countUntriedOf, kinds))

	selectUntaken = engine.Statement(oldestOf("'pending', 'failed', 'dead_letter'"))
	selectUntried = engine.Statement(oldestOf("'pending'")) // few rows: a replay runs it each second
)

// oldestOf is the time of the oldest event that a replay has processed and whose delivery has one of some
// statuses. A delivery is made with its event or later.
func oldestOf(statuses string) string {
	return `
SELECT coalesce(min(e.at), 0) FROM deliveries AS d JOIN events AS e ON e.id = d.event
WHERE d.subscription = $1 AND d.status IN (` + statuses + `) AND d.type IN (` + kinds + `) AND d.created_at >= $2
  AND ($5 = '' OR $5 LIKE '%,' || d.type || ',%') AND e.at >= $2 AND (e.at < $3 OR e.at = $3 AND e.id <= $4)`
}

// List lists the replays to a shop's endpoint, newest first, and counts them.
func (re Replays) List(ctx context.Context, scope merchants.Scope, subscription string, page lists.Page) ([]webhooks.Replay, int64, error) {
	of := []any{subscription, scope.Merchant, scope.Shop, scope.Live}
	total, err := base.One(ctx, re.b, countReplays, base.ScanInt, of...)
	if err != nil {
		return nil, 0, err
	}
	list, err := base.Many(ctx, re.b, listReplays, ReplaysTable.Scan(re.b.Personal), append(of, base.Before(page.After), page.Limit, page.Offset)...)
	return list, total, err
}

// Untaken is the time of the oldest event that a replay has processed and its endpoint has not accepted;
// zero if it has accepted all.
func (re Replays) Untaken(ctx context.Context, r webhooks.Replay) (time.Time, error) {
	return oldest(ctx, re.b, selectUntaken, r)
}

// Untried is Untaken for events that were not sent to the endpoint yet.
func (re Replays) Untried(ctx context.Context, r webhooks.Replay) (time.Time, error) {
	return oldest(ctx, re.b, selectUntried, r)
}

func oldest(ctx context.Context, b *base.Base, text string, r webhooks.Replay) (time.Time, error) {
	at, err := base.One(ctx, b, text, base.ScanInt, r.Subscription, table.Micros(r.From), table.Micros(r.AfterAt), r.AfterID, typesText(r.Types))
	return table.FromMicros(at), err
}

// Get reads a replay to a shop's endpoint. ErrNotFound also for another shop's.
func (re Replays) Get(ctx context.Context, scope merchants.Scope, subscription, id string) (webhooks.Replay, error) {
	return base.One(ctx, re.b, selectReplay, ReplaysTable.Scan(re.b.Personal), id, subscription, scope.Merchant, scope.Shop, scope.Live)
}

// Running reads the replay in progress to an endpoint. Errors: ErrNotFound.
func (re Replays) Running(ctx context.Context, subscription string) (webhooks.Replay, error) {
	return base.One(ctx, re.b, selectRunningReplay, ReplaysTable.Scan(re.b.Personal), subscription)
}

// Lease leases replays whose next step is due.
func (re Replays) Lease(ctx context.Context, now, until time.Time, limit int) ([]webhooks.Replay, error) {
	return base.Leased(ctx, re.b, ReplayDuty, ReplaysTable.Scan(re.b.Personal), now, until, limit)
}

// CountUntried counts the deliveries to an endpoint that were not tried yet, or were requested again.
func (re Replays) CountUntried(ctx context.Context, subscription string) (int64, error) {
	return base.One(ctx, re.b, countUntried, base.ScanInt, subscription)
}

// Named reads deliveries by id. Unknown ids are missing.
func (de Deliveries) Named(ctx context.Context, ids []string) (map[string]webhooks.Delivery, error) {
	found := make(map[string]webhooks.Delivery, len(ids))
	rows := engine.NewRows(de.b.DB.Dialect(), deliveryNames, len(ids))
	for _, id := range ids {
		rows.Text(id).Next()
	}
	scan := DeliveriesTable.Scan(de.b.Personal)
	err := de.b.Query(ctx, selectNamedDeliveries, rows.Args(), func(r engine.Row) error {
		d, err := scan(r)
		found[d.ID] = d
		return err
	})
	return found, err
}

var deliveryNames = engine.ParseColumns("name TEXT")

// The tables of due work. A table that is missing in due.Duties has no gauge, and the store does not know
// its statements.
var (
	// ReplayDuty is the due replays.
	ReplayDuty = base.NewDuty("replays", "replays", "d.due_at > 0", ReplaysTable.List)
)

// Replays are replays of events to an endpoint.
type Replays struct{ b *base.Base }

// Replays returns the database's Replays.
func (o OfWebhooks) Replays() Replays { return Replays(o) }
