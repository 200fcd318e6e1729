package store

import (
	"context"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var replaysTable = describe(table[hook.Replay]{
	name:    "replays",
	of:      func(c *pay.Change) []hook.Replay { return c.Replays },
	id:      func(p *hook.Replay) string { return p.ID },
	version: func(p *hook.Replay) int64 { return p.Version },
	met:     duplicateAnyhow,
	fields: func(f *fields, p *hook.Replay) {
		f.text("id!", &p.ID)
		f.text("merchant!", &p.Merchant)
		f.text("shop!", &p.Shop)
		f.flag("live!", &p.Live)
		f.number("version", &p.Version)
		f.text("subscription!", &p.Subscription)
		word(f, "status", &p.Status)
		f.time("since!", &p.From)
		f.time("until!", &p.To)
		f.time("after_at", &p.AfterAt)
		f.text("after_id", &p.AfterID)
		f.time("due_at", &p.DueAt)
		f.time("created_at!", &p.CreatedAt)
		f.time("updated_at", &p.UpdatedAt)
		document[replayDoc](f, "doc", p)
	},
})

type replayDoc struct {
	Types   []hook.EventType `json:"types,omitempty"`
	Events  int64            `json:"events"`
	Sent    int64            `json:"sent"`
	LeftOut int64            `json:"leftOut"`
	Why     hook.StopReason  `json:"why,omitempty"`
	Resume  int64            `json:"resume,omitempty"` // microseconds UTC
}

func (d *replayDoc) of(_ *fields, p *hook.Replay) {
	*d = replayDoc{p.Types, p.Events, p.Sent, p.LeftOut, p.Why, micros(p.ResumeFrom)}
}

func (d *replayDoc) into(_ *fields, p *hook.Replay) error {
	p.Types, p.Events, p.Sent, p.LeftOut = d.Types, d.Events, d.Sent, d.LeftOut
	p.Why, p.ResumeFrom = d.Why, fromMicros(d.Resume)
	return nil
}

var (
	selectReplay = engine.Statement(`SELECT ` + replaysTable.list + ` FROM replays
WHERE id = $1 AND subscription = $2 AND merchant = $3 AND shop = $4 AND live = $5`)
	selectRunningReplay = engine.Statement(`SELECT ` + replaysTable.list + ` FROM replays WHERE subscription = $1 AND status = 'running'`)
	ofEndpoint          = ` FROM replays WHERE subscription = $1 AND merchant = $2 AND shop = $3 AND live = $4`
	listReplays         = engine.Statement(`SELECT ` + replaysTable.list + ofEndpoint + ` AND id < $5 ORDER BY id DESC LIMIT $6 OFFSET $7`)
	countReplays        = engine.Statement(`SELECT count(*)` + ofEndpoint)
	countUntriedOf      = `
SELECT count(*) FROM deliveries WHERE subscription = $1 AND status = 'pending' AND type IN (%s)`
	selectNamedDeliveries = engine.Statement(`
SELECT ` + deliveriesTable.list + ` FROM deliveries JOIN {rows: name TEXT} AS r ON deliveries.id = r.name AND {among deliveries.id name}`)
)

var (
	countUntried = engine.Statement(fmt.Sprintf(countUntriedOf, kinds))

	selectUntaken = engine.Statement(oldestOf("'pending', 'failed', 'dead_letter'"))
	selectUntried = engine.Statement(oldestOf("'pending'")) // of which there are few: a replay asks each second
)

// oldestOf is when the oldest event happened that a replay has dealt with and whose delivery has one of
// some statuses. A delivery is made with its event, or later.
func oldestOf(statuses string) string {
	return `
SELECT coalesce(min(e.at), 0) FROM deliveries AS d JOIN events AS e ON e.id = d.event
WHERE d.subscription = $1 AND d.status IN (` + statuses + `) AND d.type IN (` + kinds + `) AND d.created_at >= $2
  AND ($5 = '' OR $5 LIKE '%,' || d.type || ',%') AND e.at >= $2 AND (e.at < $3 OR e.at = $3 AND e.id <= $4)`
}

// List lists the replays to a shop's endpoint, newest first, and counts them.
func (s *Replays) List(ctx context.Context, scope tenant.Scope, subscription string, page Page) ([]hook.Replay, int64, error) {
	of := []any{subscription, scope.Merchant, scope.Shop, scope.Live}
	total, err := one(ctx, s, countReplays, scanInt, of...)
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, listReplays, replaysTable.scan(s), append(of, before(page.After), page.Limit, page.Offset)...)
	return list, total, err
}

// Untaken is when the oldest event happened that a replay has dealt with and its endpoint has not
// taken; zero where it has taken them all.
func (s *Replays) Untaken(ctx context.Context, r hook.Replay) (time.Time, error) {
	return s.oldest(ctx, selectUntaken, r)
}

// Untried is Untaken of those that the endpoint was not asked to take yet.
func (s *Replays) Untried(ctx context.Context, r hook.Replay) (time.Time, error) {
	return s.oldest(ctx, selectUntried, r)
}

func (s *core) oldest(ctx context.Context, text string, r hook.Replay) (time.Time, error) {
	at, err := one(ctx, s, text, scanInt, r.Subscription, micros(r.From), micros(r.AfterAt), r.AfterID, typesText(r.Types))
	return fromMicros(at), err
}

// Get reads a replay to a shop's endpoint. ErrNotFound also where it is another's.
func (s *Replays) Get(ctx context.Context, scope tenant.Scope, subscription, id string) (hook.Replay, error) {
	return one(ctx, s, selectReplay, replaysTable.scan(s), id, subscription, scope.Merchant, scope.Shop, scope.Live)
}

// Running reads the replay that runs to an endpoint. ErrNotFound where none does.
func (s *Replays) Running(ctx context.Context, subscription string) (hook.Replay, error) {
	return one(ctx, s, selectRunningReplay, replaysTable.scan(s), subscription)
}

// Lease takes replays whose next step is due.
func (s *Replays) Lease(ctx context.Context, now, until time.Time, limit int) ([]hook.Replay, error) {
	return leased(ctx, s, replayDuty, replaysTable.scan(s), now, until, limit)
}

// CountUntried counts the deliveries to an endpoint that were not tried yet, or were asked for
// again.
func (s *Replays) CountUntried(ctx context.Context, subscription string) (int64, error) {
	return one(ctx, s, countUntried, scanInt, subscription)
}

// Named reads deliveries by their ids, those that there are.
func (s *Deliveries) Named(ctx context.Context, ids []string) (map[string]hook.Delivery, error) {
	found := make(map[string]hook.Delivery, len(ids))
	rows := engine.NewRows(s.db.Dialect(), deliveryNames, len(ids))
	for _, id := range ids {
		rows.Text(id).Next()
	}
	scan := deliveriesTable.scan(s)
	err := s.query(ctx, selectNamedDeliveries, rows.Args(), func(r engine.Row) error {
		d, err := scan(r)
		found[d.ID] = d
		return err
	})
	return found, err
}

var deliveryNames = engine.ParseColumns("name TEXT")
