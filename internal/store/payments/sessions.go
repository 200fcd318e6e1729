package payments

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// SessionsTable is the table sessions.
var SessionsTable = table.Describe(table.Table[pay.Session]{
	Name:    "sessions",
	Hashed:  true,
	Lock:    80,
	Of:      func(c *pay.Change) []pay.Session { return c.Sessions },
	ID:      func(v *pay.Session) string { return v.ID },
	Version: func(v *pay.Session) int64 { return v.Version },
	Fields: func(f *table.Fields, v *pay.Session) {
		f.Text("id!", &v.ID)
		f.Text("merchant!", &v.Merchant)
		f.Text("shop!", &v.Shop)
		f.Flag("live!", &v.Live)
		f.Number("version", &v.Version)
		f.Text("hash!", &v.Hash)
		f.USD("amount!", &v.Amount)
		f.Amount("amount_asked!", "currency_asked!", &v.Asked)
		f.Rate("rate!", &v.Rate)
		f.Text("country!", &v.Country)
		f.Text("order_id!", &v.OrderID)
		f.Text("payment", &v.Payment)
		f.Time("due_at", &v.DueAt)
		f.Time("created_at!", &v.CreatedAt)
		f.Time("updated_at", &v.UpdatedAt)
		table.Document[sessionDoc](f, "doc", v)
	},
})

type sessionDoc struct {
	Customer     pay.Customer        `json:"customer"`
	IP           string              `json:"ip,omitempty"`
	ReturnURL    string              `json:"returnUrl,omitempty"`
	RateFrom     string              `json:"rateFrom,omitempty"`
	RateAt       int64               `json:"rateAt,omitempty"`
	After        string              `json:"after,omitempty"`
	Purchase     *purchaseDoc        `json:"purchase,omitempty"`
	Strict       bool                `json:"strict,omitempty"`
	Link         string              `json:"link,omitempty"`
	Installments installment.Request `json:"installments,omitzero"`
}

func (d *sessionDoc) Of(_ *table.Fields, v *pay.Session) {
	*d = sessionDoc{
		Customer:     v.Customer,
		IP:           v.IP,
		ReturnURL:    v.ReturnURL,
		RateFrom:     v.RateSource,
		RateAt:       table.Micros(v.RateAt),
		After:        v.After,
		Purchase:     purchaseDocOf(v.Purchase),
		Strict:       v.Strict,
		Link:         v.Link,
		Installments: v.Installments,
	}
}

func (d *sessionDoc) Into(_ *table.Fields, v *pay.Session) error {
	v.Customer = d.Customer
	v.IP = d.IP
	v.ReturnURL = d.ReturnURL
	v.Purchase = d.Purchase.purchase()
	v.RateSource = d.RateFrom
	v.RateAt = table.FromMicros(d.RateAt)
	v.After = d.After
	v.Strict = d.Strict
	v.Link = d.Link
	v.Installments = d.Installments
	return nil
}

var (
	selectSessionByHash = engine.Statement(`SELECT ` + SessionsTable.List + ` FROM sessions WHERE hash = $1`)
	selectSessionOf     = engine.Statement(`SELECT ` + SessionsTable.List + ` FROM sessions WHERE payment = $1 AND payment <> ''`)
	selectSession       = engine.Statement(`SELECT ` + SessionsTable.List + ` FROM sessions WHERE id = $1 AND shop = $2 AND live = $3`)
)

// ByHash reads a session by the keyed hash of its token. The token is the credential; the row says whose
// session it is.
func (s Sessions) ByHash(ctx context.Context, hash string) (pay.Session, error) {
	return base.One(ctx, s.b, selectSessionByHash, SessionsTable.Scan(s.b.Personal), hash)
}

// Of reads the session in which a payment was chosen.
func (s Sessions) Of(ctx context.Context, payment string) (pay.Session, error) {
	return base.One(ctx, s.b, selectSessionOf, SessionsTable.Scan(s.b.Personal), payment)
}

// Get reads a shop's session. ErrNotFound also for another shop's.
func (s Sessions) Get(ctx context.Context, scope merchants.Scope, id string) (pay.Session, error) {
	return base.One(ctx, s.b, selectSession, SessionsTable.Scan(s.b.Personal), id, scope.Shop, scope.Live)
}

// Lease leases expired checkouts.
func (s Sessions) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Session, error) {
	return base.Leased(ctx, s.b, SessionDuty, SessionsTable.Scan(s.b.Personal), now, until, limit)
}

// Ids begin with their time, so the oldest come first in the primary key.
var purgeSessions = engine.Standalone(`
DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE id < $1 ORDER BY id LIMIT $2 {for update})
RETURNING id`)

// Purge deletes at most limit sessions with ids below the smallest id of a moment, and returns their
// number.
func (s Sessions) Purge(ctx context.Context, below string, limit int) (int, error) {
	n := 0
	err := s.b.DB.Lease(ctx, s.b.Text(purgeSessions), []any{below, limit}, func(r engine.Row) error {
		n++
		var id string
		return r.Scan(&id)
	})
	return n, err
}

// SessionDuty is the due checkouts.
var SessionDuty = base.NewDuty("checkouts", "sessions", "d.due_at > 0", SessionsTable.List)

// Sessions are checkout sessions.
type Sessions struct{ b *base.Base }

// Sessions returns the database's Sessions.
func (o OfPayments) Sessions() Sessions { return Sessions{o.b} }

// Each is Payments.Each for checkout sessions.
func (s Sessions) Each(ctx context.Context, merchant string, each func(pay.Session)) (unread []string, err error) {
	return eachOf(ctx, s.b, selectSomeSessions, merchant, SessionsTable.Scan(s.b.Personal), func(v *pay.Session) string { return v.ID }, each)
}

var selectSomeSessions = engine.Statement(`
SELECT ` + SessionsTable.List + ` FROM sessions WHERE merchant = $1 AND id > $2 ORDER BY id LIMIT $3`)
