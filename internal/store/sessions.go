package store

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var sessionsTable = describe(table[pay.Session]{
	name:    "sessions",
	of:      func(c *pay.Change) []pay.Session { return c.Sessions },
	id:      func(v *pay.Session) string { return v.ID },
	version: func(v *pay.Session) int64 { return v.Version },
	fields: func(f *fields, v *pay.Session) {
		f.text("id!", &v.ID)
		f.text("merchant!", &v.Merchant)
		f.text("shop!", &v.Shop)
		f.flag("live!", &v.Live)
		f.number("version", &v.Version)
		f.text("hash!", &v.Hash)
		f.usd("amount!", &v.Amount)
		f.amount("amount_asked!", "currency_asked!", &v.Asked)
		f.rate("rate!", &v.Rate)
		f.text("country!", &v.Country)
		f.text("order_id!", &v.OrderID)
		f.text("payment", &v.Payment)
		f.time("due_at", &v.DueAt)
		f.time("created_at!", &v.CreatedAt)
		f.time("updated_at", &v.UpdatedAt)
		document[sessionDoc](f, "doc", v)
	},
})

type sessionDoc struct {
	Customer  pay.Customer `json:"customer"`
	IP        string       `json:"ip,omitempty"`
	ReturnURL string       `json:"returnUrl,omitempty"`
	RateFrom  string       `json:"rateFrom,omitempty"`
	RateAt    int64        `json:"rateAt,omitempty"`
	After     string       `json:"after,omitempty"`
	Purchase  *purchaseDoc `json:"purchase,omitempty"`
	Strict    bool         `json:"strict,omitempty"`
}

func (d *sessionDoc) of(_ *fields, v *pay.Session) {
	*d = sessionDoc{v.Customer, v.IP, v.ReturnURL, v.RateSource, micros(v.RateAt), v.After, purchaseDocOf(v.Purchase), v.Strict}
}

func (d *sessionDoc) into(_ *fields, v *pay.Session) error {
	v.Customer, v.IP, v.ReturnURL, v.Purchase = d.Customer, d.IP, d.ReturnURL, d.Purchase.purchase()
	v.RateSource, v.RateAt, v.After, v.Strict = d.RateFrom, fromMicros(d.RateAt), d.After, d.Strict
	return nil
}

var (
	selectSessionByHash = engine.Statement(`SELECT ` + sessionsTable.list + ` FROM sessions WHERE hash = $1`)
	selectSessionOf     = engine.Statement(`SELECT ` + sessionsTable.list + ` FROM sessions WHERE payment = $1 AND payment <> ''`)
	selectSession       = engine.Statement(`SELECT ` + sessionsTable.list + ` FROM sessions WHERE id = $1 AND shop = $2 AND live = $3`)
)

// ByHash reads a session by the keyed hash of its token, which is the
// credential: whose session it is follows from the row.
func (s *Sessions) ByHash(ctx context.Context, hash string) (pay.Session, error) {
	return one(ctx, s, selectSessionByHash, sessionsTable.scan(s), hash)
}

// Of reads the session that a payment was chosen in.
func (s *Sessions) Of(ctx context.Context, payment string) (pay.Session, error) {
	return one(ctx, s, selectSessionOf, sessionsTable.scan(s), payment)
}

// Get reads a shop's session. ErrNotFound also where it is another's.
func (s *Sessions) Get(ctx context.Context, scope tenant.Scope, id string) (pay.Session, error) {
	return one(ctx, s, selectSession, sessionsTable.scan(s), id, scope.Shop, scope.Live)
}

// Lease takes checkouts whose time is over.
func (s *Sessions) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Session, error) {
	return leased(ctx, s, sessionDuty, sessionsTable.scan(s), now, until, limit)
}

// Ids begin with their time, so the oldest are the first of the primary key.
var purgeSessions = engine.Standalone(`
DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE id < $1 ORDER BY id LIMIT $2 {for update})
RETURNING id`)

// Purge deletes at most limit sessions whose ids are below one, which
// is the smallest id of a moment, and returns how many.
func (s *Sessions) Purge(ctx context.Context, below string, limit int) (int, error) {
	n := 0
	err := s.db.Lease(ctx, s.text(purgeSessions), []any{below, limit}, func(r engine.Row) error {
		n++
		var id string
		return r.Scan(&id)
	})
	return n, err
}
