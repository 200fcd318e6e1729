package payments

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// LinksTable is the table payment_links.
var LinksTable = table.Describe(table.Table[pay.PaymentLink]{
	Name:    "payment_links",
	Hashed:  true,
	Lock:    83,
	Of:      func(c *pay.Change) []pay.PaymentLink { return c.PaymentLinks },
	ID:      func(v *pay.PaymentLink) string { return v.ID },
	Version: func(v *pay.PaymentLink) int64 { return v.Version },
	Fields: func(f *table.Fields, v *pay.PaymentLink) {
		f.Text("id!", &v.ID)
		f.Text("merchant!", &v.Merchant)
		f.Text("shop!", &v.Shop)
		f.Flag("live!", &v.Live)
		f.Number("version", &v.Version)
		f.Number("sequence", &v.Sequence)
		f.Count("uses!", &v.Uses)
		f.Count("paid", &v.Paid)
		f.Time("expires_at", &v.Expires)
		f.Time("closed_at", &v.Closed)
		f.Time("due_at", &v.DueAt)
		f.Time("created_at!", &v.CreatedAt)
		f.Time("updated_at", &v.UpdatedAt)
		table.Document[linkDoc](f, "doc", v)
	},
})

type linkDoc struct {
	Amount       *amountDoc          `json:"amount,omitempty"`
	Least        *amountDoc          `json:"least,omitempty"`
	Most         *amountDoc          `json:"most,omitempty"`
	Country      string              `json:"country,omitempty"`
	OrderID      string              `json:"order,omitempty"`
	Purchase     *purchaseDoc        `json:"purchase,omitempty"`
	ReturnURL    string              `json:"returnUrl,omitempty"`
	Installments installment.Request `json:"installments,omitzero"`
	Strict       bool                `json:"strict,omitempty"`
}

func (d *linkDoc) Of(_ *table.Fields, v *pay.PaymentLink) {
	*d = linkDoc{
		Amount:       amountDocOf(v.Amount),
		Least:        amountDocOf(v.Least),
		Most:         amountDocOf(v.Most),
		Country:      v.Country,
		OrderID:      v.OrderID,
		Purchase:     purchaseDocOf(v.Purchase),
		ReturnURL:    v.ReturnURL,
		Installments: v.Installments,
		Strict:       v.Strict,
	}
}

func (d *linkDoc) Into(_ *table.Fields, v *pay.PaymentLink) error {
	v.Amount = d.Amount.amount()
	v.Least = d.Least.amount()
	v.Most = d.Most.amount()
	v.Country = d.Country
	v.OrderID = d.OrderID
	v.Purchase = d.Purchase.purchase()
	v.ReturnURL = d.ReturnURL
	v.Installments = d.Installments
	v.Strict = d.Strict
	return nil
}

// UsesTable is the table link_uses: a row for each payment of a payment link whose method was chosen.
var UsesTable = table.Describe(table.Table[pay.LinkUse]{
	Name:    "link_uses",
	Hashed:  true,
	Lock:    84,
	Of:      func(c *pay.Change) []pay.LinkUse { return c.LinkUses },
	ID:      func(v *pay.LinkUse) string { return v.ID },
	Version: func(v *pay.LinkUse) int64 { return v.Version },
	Fields: func(f *table.Fields, v *pay.LinkUse) {
		f.Text("id!", &v.ID)
		f.Text("merchant!", &v.Merchant)
		f.Text("shop!", &v.Shop)
		f.Flag("live!", &v.Live)
		f.Number("version", &v.Version)
		f.Text("link!", &v.Link)
		table.Word(f, "status", &v.Status)
		f.Time("due_at", &v.DueAt)
		f.Time("created_at!", &v.CreatedAt)
	},
})

// paymentOfUse is the id of the payment of the use u (pay.LinkUse).
const paymentOfUse = `('TXN-' || substr(u.id, 5))`

// The states of a link at a moment, as pay.PaymentLink.Status has them.
const linkStatus = `CASE WHEN l.paid >= l.uses THEN 'used' WHEN l.closed_at > 0 THEN 'closed' WHEN l.expires_at <= $4 THEN 'expired' ELSE 'open' END`

var (
	selectLink     = engine.Statement(`SELECT ` + LinksTable.List + ` FROM payment_links WHERE id = $1 AND shop = $2 AND live = $3`)
	selectAnyLink  = engine.Statement(`SELECT ` + LinksTable.List + ` FROM payment_links WHERE id = $1`)
	countLinks     = engine.Statement(`SELECT count(*) FROM payment_links AS l WHERE l.shop = $1 AND l.live = $2 AND ($3 = '' OR ` + linkStatus + ` = $3)`)
	countHeld      = engine.Statement(`SELECT count(*) FROM link_uses WHERE link = $1 AND status <> 'free'`)
	selectLastUses = engine.Statement(`SELECT ` + UsesTable.List + ` FROM link_uses WHERE link = $1 ORDER BY id DESC LIMIT $2`)
	selectHolders  = engine.Statement(`SELECT r.id, max(` + paymentOfUse + `) FROM {rows: id TEXT} AS r JOIN link_uses AS u ON u.link = r.id AND u.status <> 'free' GROUP BY r.id`)
	selectUse      = engine.Statement(`SELECT ` + UsesTable.List + ` FROM link_uses WHERE id = $1`)
)

// SelectLinks is named so that a test reads its plan.
var SelectLinks = engine.Statement(`
SELECT ` + LinksTable.List + ` FROM payment_links AS l
WHERE l.shop = $1 AND l.live = $2 AND ($3 = '' OR ` + linkStatus + ` = $3) AND l.id < $5 ORDER BY l.id DESC LIMIT $6 OFFSET $7`)

// PaymentLinks are the shops' payment links.
type PaymentLinks struct{ b *base.Base }

// PaymentLinks returns the database's PaymentLinks.
func (o OfPayments) PaymentLinks() PaymentLinks { return PaymentLinks{o.b} }

// Get reads a shop's payment link. ErrNotFound also for another shop's.
func (pl PaymentLinks) Get(ctx context.Context, scope merchants.Scope, id string) (pay.PaymentLink, error) {
	return base.One(ctx, pl.b, selectLink, LinksTable.Scan(pl.b.Personal), id, scope.Shop, scope.Live)
}

// Any reads the payment link of an address, whose id is the credential.
func (pl PaymentLinks) Any(ctx context.Context, id string) (pay.PaymentLink, error) {
	return base.One(ctx, pl.b, selectAnyLink, LinksTable.Scan(pl.b.Personal), id)
}

// List lists a shop's payment links, newest first, and counts them. An empty status selects all; now says which of them have ended.
func (pl PaymentLinks) List(ctx context.Context, scope merchants.Scope, status pay.LinkStatus, now time.Time, page lists.Page) ([]pay.PaymentLink, int64, error) {
	total, err := base.One(ctx, pl.b, countLinks, base.ScanInt, scope.Shop, scope.Live, string(status), table.Micros(now))
	if err != nil {
		return nil, 0, err
	}
	list, err := base.Many(ctx, pl.b, SelectLinks, LinksTable.Scan(pl.b.Personal), scope.Shop, scope.Live, string(status), table.Micros(now), base.Before(page.After), page.Limit, page.Offset)
	return list, total, err
}

// Held counts the payments of a link that hold one of its uses: they are paid, or may still be.
func (pl PaymentLinks) Held(ctx context.Context, link string) (int, error) {
	n, err := base.One(ctx, pl.b, countHeld, base.ScanInt, link)
	return int(n), err
}

// LastUses lists uses of a link, whatever became of them, the newest first.
func (pl PaymentLinks) LastUses(ctx context.Context, link string, limit int) ([]pay.LinkUse, error) {
	return base.Many(ctx, pl.b, selectLastUses, UsesTable.Scan(pl.b.Personal), link, limit)
}

// Holders is the newest payment of each link of which one holds a use.
func (pl PaymentLinks) Holders(ctx context.Context, links []string) (map[string]string, error) {
	of := map[string]string{}
	if len(links) == 0 {
		return of, nil
	}
	err := pl.b.Query(ctx, selectHolders, pl.b.IDs(links), func(r engine.Row) error {
		var link, payment string
		err := r.Scan(&link, &payment)
		of[link] = payment
		return err
	})
	return of, err
}

// Use reads a use of a payment link.
func (pl PaymentLinks) Use(ctx context.Context, id string) (pay.LinkUse, error) {
	return base.One(ctx, pl.b, selectUse, UsesTable.Scan(pl.b.Personal), id)
}

// Lease leases links whose time is over.
func (pl PaymentLinks) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.PaymentLink, error) {
	return base.Leased(ctx, pl.b, LinkDuty, LinksTable.Scan(pl.b.Personal), now, until, limit)
}

// LeaseUses leases paid uses that their links have not counted.
func (pl PaymentLinks) LeaseUses(ctx context.Context, now, until time.Time, limit int) ([]pay.LinkUse, error) {
	return base.Leased(ctx, pl.b, UseDuty, UsesTable.Scan(pl.b.Personal), now, until, limit)
}

// UsesWork is the kind of work of counting paid payments of payment links.
const UsesWork = "uses of payment links"

// Duties of payment links: the end of their time, and payments to count.
var (
	LinkDuty = base.NewDuty("payment links", "payment_links", "d.due_at > 0", LinksTable.List)
	UseDuty  = base.NewDuty(UsesWork, "link_uses", "d.due_at > 0", UsesTable.List)
)
