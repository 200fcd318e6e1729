package payments

import (
	"context"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// A payment is in one of two tables: it starts in processing, and moves to payments with its first answer.
var (
	// Table is the table payments.
	Table = table.Describe(paymentsIn("payments", func(p *pay.Payment) bool { return p.Status == pay.Processing }))
	// ProcessingTable is the table processing.
	ProcessingTable = table.Describe(paymentsIn("processing", func(p *pay.Payment) bool { return p.Status != pay.Processing }))

	_ = table.Register(bothTables{})
)

func paymentsIn(name string, over func(*pay.Payment) bool) table.Table[pay.Payment] {
	return table.Table[pay.Payment]{
		Name:    name,
		Hashed:  true,
		Lock:    table.ByAnotherKind,
		Over:    over,
		Of:      func(c *pay.Change) []pay.Payment { return c.Payments },
		ID:      func(p *pay.Payment) string { return p.ID },
		Version: func(p *pay.Payment) int64 { return p.Version },
		Fields: func(f *table.Fields, p *pay.Payment) {
			f.Text("id!", &p.ID)
			f.Text("merchant!", &p.Merchant)
			f.Text("shop!", &p.Shop)
			f.Flag("live!", &p.Live)
			f.Number("version", &p.Version)
			table.Word(f, "status", &p.Status)
			f.USD("amount!", &p.Price.Amount)
			f.Amount("amount_local!", "currency_local!", &p.Price.Local)
			f.Rate("rate!", &p.Price.Rate)
			f.Text("rail!", &p.Way.RailID)
			f.Text("method!", &p.Way.Method)
			f.Text("country!", &p.Way.Country)
			f.Text("order_id!", &p.Order.ID)
			f.Text("email", &p.Order.Buyer.Email)
			f.Text("document", &p.Order.Buyer.Document)
			f.AmountIfAny("amount_asked!", "currency_asked!", &p.Price.Asked)
			f.Number("refunded", &p.Refunds.Local)
			f.Number("sequence", &p.Sequence)
			f.Time("due_at", &p.Work.DueAt)
			f.Time("unsure_at", &p.Times.Unsure)
			f.Time("created_at!", &p.Times.Created)
			f.Time("updated_at", &p.Times.Updated)
			f.Time("erased_at", &p.Times.Erased)
			table.Document[paymentDoc](f, "doc", p)
			f.Text("owner", &p.Work.Owner)
		},
	}
}

// bothTables writes payments into the table that their status says.
type bothTables struct{}

func (bothTables) String() string { return "processing, payments" }

// lockBoth is the place of the two tables in the lock order.
const lockBoth = 30

func (bothTables) LockOrder() int { return lockBoth }

func (bothTables) Touches(c *pay.Change) bool { return len(c.Payments) > 0 }

func (bothTables) Guarded(c *pay.Change, ids []string) []string {
	return Table.Guarded(c, ids)
}

func (bothTables) LostToDuplicate(*pay.Change, func(string) bool) bool { return false }

func (bothTables) Guards(b *table.Batch, steps []engine.Step) []engine.Step {
	in := func(stays, becomes bool) []*pay.Payment {
		return Table.In(b.Changes, func(p *pay.Payment) bool {
			return p.Stored != "" && (p.Stored == pay.Processing) == stays && (p.Status == pay.Processing) == becomes
		})
	}
	steps = ProcessingTable.Remove(b, steps, in(true, false))
	steps = ProcessingTable.Replace(b, steps, in(true, true))
	steps = Table.Remove(b, steps, in(false, true)) // a retry: its next call is under way
	return Table.Replace(b, steps, in(false, false))
}

func (bothTables) Inserts(b *table.Batch, steps []engine.Step) []engine.Step {
	steps = ProcessingTable.Add(b, steps, Table.In(b.Kept, func(p *pay.Payment) bool {
		return p.Stored != pay.Processing && p.Status == pay.Processing
	}))
	return Table.Add(b, steps, Table.In(b.Kept, func(p *pay.Payment) bool {
		return p.Status != pay.Processing && (p.Stored == "" || p.Stored == pay.Processing)
	}))
}

// paymentDoc holds what no list filters by.
type paymentDoc struct {
	Buyer     buyerDoc             `json:"buyer,omitzero"`
	Fees      merchants.Fees       `json:"fees"`
	Reserve   int64                `json:"reserve,omitempty"`
	Delay     time.Duration        `json:"delay"`
	Window    time.Duration        `json:"window"`
	Sync      bool                 `json:"sync,omitempty"`
	Hosted    bool                 `json:"hosted,omitempty"`
	Opened    int64                `json:"opened,omitempty"` // microseconds UTC
	Strict    bool                 `json:"redirect,omitempty"`
	Asks      string               `json:"asks,omitempty"`
	ReturnURL string               `json:"returnUrl,omitempty"`
	Lang      string               `json:"lang,omitempty"`
	FormURL   string               `json:"formUrl,omitempty"`
	Page      string               `json:"page,omitempty"` // in place of formUrl, if that ends with the payment's id: what is before it
	Data      pay.PaymentData      `json:"data,omitzero"`
	Attempts  []pay.Attempt        `json:"attempts,omitempty"`
	Answered  pay.Status           `json:"answered,omitempty"`
	Action    string               `json:"simulate,omitempty"`
	Failure   *pay.Failure         `json:"failure,omitempty"`
	Disputed  bool                 `json:"disputed,omitempty"`
	Challenge bool                 `json:"challenge,omitempty"`
	Captured  int                  `json:"captured,omitempty"`
	Given     pay.Parts            `json:"given,omitzero"`
	OnRefund  merchants.RefundFees `json:"refundFees,omitempty"` // what happens to the fees
	Dispute   string               `json:"dispute,omitempty"`    // ids of open dispute claims, for check
	Disputes  []pay.DisputeEntry   `json:"disputes,omitempty"`
	Held      []pay.Held           `json:"held,omitempty"`
	OnDispute pay.Charge           `json:"disputeCharge,omitzero"`
	PerRefund pay.Charge           `json:"refundCharge,omitzero"`
	PricePlan string               `json:"pricePlan,omitempty"`
	TaxName   string               `json:"taxName,omitempty"` // settlements read it and the next one
	TaxBps    int64                `json:"taxBps,omitempty"`
	HoldDays  int                  `json:"reserveDays,omitempty"`
	RateFrom  string               `json:"rateFrom,omitempty"`
	RateAt    int64                `json:"rateAt,omitempty"`
	Strays    []strayDoc           `json:"strays,omitempty"`
	After     string               `json:"after,omitempty"`
	Link      string               `json:"link,omitempty"`
	Purchase  *purchaseDoc         `json:"purchase,omitempty"`
	Cancel    int64                `json:"cancelAsked,omitempty"`
	May       *termsDoc            `json:"installments,omitempty"` // that the shopper may choose
	Plan      *planDoc             `json:"plan,omitempty"`         // that the shopper chose
	// Microseconds UTC.
	Expires    int64 `json:"expires,omitempty"`
	Completed  int64 `json:"completed,omitempty"`
	Failed     int64 `json:"failed,omitempty"`
	Expired    int64 `json:"expired,omitempty"`
	RefundedAt int64 `json:"refundedAt,omitempty"`
	Chargeback int64 `json:"chargeback,omitempty"`
}

func (d *paymentDoc) Of(_ *table.Fields, p *pay.Payment) {
	*d = paymentDoc{
		Buyer:      buyerDoc{p.Order.Buyer.Name, p.Order.Buyer.Phone, p.Order.Buyer.IP},
		Fees:       p.Terms.Fees,
		Reserve:    p.Terms.Reserve,
		Delay:      p.Terms.Delay,
		Window:     p.Way.Window,
		Sync:       p.Way.Sync,
		Hosted:     p.Page.Hosted,
		Opened:     table.Micros(p.Page.Opened),
		Strict:     p.Script.Strict,
		Asks:       p.Script.Challenge,
		ReturnURL:  p.Page.ReturnURL,
		Lang:       p.Page.Lang,
		Data:       p.Page.Data,
		Attempts:   p.Attempts,
		Answered:   p.Work.Answered,
		Action:     p.Script.Action,
		Failure:    p.End.Failure,
		Disputed:   p.Disputes.Any,
		Challenge:  p.Page.Challenged,
		Captured:   p.End.Captured,
		Given:      p.Refunds.USD,
		OnRefund:   p.Terms.RefundFees,
		Dispute:    strings.Join(p.Disputes.Open(), ","),
		Disputes:   p.Disputes.Entries,
		Held:       p.Disputes.Held,
		OnDispute:  p.Terms.Dispute,
		PerRefund:  p.Terms.Refund,
		PricePlan:  p.Terms.Plan,
		TaxName:    p.Terms.Taxed.Name,
		TaxBps:     p.Terms.Taxed.Bps,
		HoldDays:   p.Terms.ReserveDays,
		RateFrom:   p.Price.Source,
		RateAt:     table.Micros(p.Price.At),
		Strays:     strayDocs(p.Strays),
		After:      p.Order.After,
		Link:       p.Order.Link,
		Purchase:   purchaseDocOf(p.Order.Purchase),
		Cancel:     table.Micros(p.Times.CancelAsked),
		May:        termsDocOf(p.Terms.Installments),
		Plan:       planDocOf(p.End.Plan),
		Expires:    table.Micros(p.Times.Expires),
		Completed:  table.Micros(p.Times.Completed),
		Failed:     table.Micros(p.Times.Failed),
		Expired:    table.Micros(p.Times.Expired),
		RefundedAt: table.Micros(p.Times.Refunded),
		Chargeback: table.Micros(p.Times.Chargeback),
	}
	if before, ours := strings.CutSuffix(p.Page.FormURL, p.ID); ours && before != "" {
		d.Page = before
	} else {
		d.FormURL = p.Page.FormURL
	}
}

func (d *paymentDoc) Into(_ *table.Fields, p *pay.Payment) error {
	p.Stored = p.Status
	p.Order.Buyer.Name = d.Buyer.Name
	p.Order.Buyer.Phone = d.Buyer.Phone
	p.Order.Buyer.IP = d.Buyer.IP
	p.Terms.Fees = d.Fees
	p.Terms.Reserve = d.Reserve
	p.Terms.Delay = d.Delay
	p.Way.Window = d.Window
	p.Way.Sync = d.Sync
	p.Page.Hosted = d.Hosted
	p.Page.Opened = table.FromMicros(d.Opened)
	p.Script = pay.Script{Action: d.Action, Strict: d.Strict, Challenge: d.Asks}
	p.Page.ReturnURL = d.ReturnURL
	p.Page.Lang = d.Lang
	if p.Page.FormURL = d.FormURL; d.Page != "" {
		p.Page.FormURL = d.Page + p.ID
	}
	p.Page.Data = d.Data
	p.Attempts = d.Attempts
	p.Work.Answered = d.Answered
	p.End.Failure = d.Failure
	p.Disputes.Any = d.Disputed
	p.Page.Challenged = d.Challenge
	p.End.Captured = d.Captured
	p.Refunds.USD = d.Given
	p.Terms.RefundFees = d.OnRefund
	p.Disputes.Entries = d.Disputes
	p.Disputes.Held = d.Held
	p.Terms.Dispute = d.OnDispute
	p.Terms.Refund = d.PerRefund
	p.Terms.Plan = d.PricePlan
	p.Terms.Taxed = merchants.TaxRate{Name: d.TaxName, Bps: d.TaxBps}
	p.Terms.ReserveDays = d.HoldDays
	p.Price.Source = d.RateFrom
	p.Price.At = table.FromMicros(d.RateAt)
	p.Strays = straysOf(d.Strays)
	p.Order.After = d.After
	p.Order.Link = d.Link
	p.Order.Purchase = d.Purchase.purchase()
	p.Times.CancelAsked = table.FromMicros(d.Cancel)
	p.Terms.Installments = d.May.terms()
	p.End.Plan = d.Plan.plan()
	p.Times.Expires = table.FromMicros(d.Expires)
	p.Times.Completed = table.FromMicros(d.Completed)
	p.Times.Failed = table.FromMicros(d.Failed)
	p.Times.Expired = table.FromMicros(d.Expired)
	p.Times.Refunded = table.FromMicros(d.RefundedAt)
	p.Times.Chargeback = table.FromMicros(d.Chargeback)
	return nil
}

// buyerDoc is the buyer without what has a column.
type buyerDoc struct {
	Name  string `json:"name,omitempty"`
	Phone string `json:"phone,omitempty"`
	IP    string `json:"ip,omitempty"`
}

var selectPayment = engine.Statement(`
SELECT ` + Table.List + ` FROM payments WHERE id = $1 AND shop = $2 AND live = $3
UNION ALL
SELECT ` + Table.List + ` FROM processing WHERE id = $1 AND shop = $2 AND live = $3`)

// Get reads a shop's payment. ErrNotFound also for another shop's.
func (pa Payments) Get(ctx context.Context, scope merchants.Scope, id string) (pay.Payment, error) {
	return base.One(ctx, pa.b, selectPayment, Table.Scan(pa.b.Personal), id, scope.Shop, scope.Live)
}

var selectAnyPayment = engine.Statement(`
SELECT ` + Table.List + ` FROM payments WHERE id = $1
UNION ALL
SELECT ` + Table.List + ` FROM processing WHERE id = $1`)

// Any reads a payment of any tenant, for providers' notices and our own loops; never for a merchant's request.
func (pa Payments) Any(ctx context.Context, id string) (pay.Payment, error) {
	return base.One(ctx, pa.b, selectAnyPayment, Table.Scan(pa.b.Personal), id)
}

var (
	selectVersions           = engine.Statement(`SELECT p.id, p.version FROM {rows: id TEXT} AS r JOIN payments AS p ON p.id = r.id AND {among p.id id}`)
	selectProcessingVersions = engine.Statement(`SELECT p.id, p.version FROM {rows: id TEXT} AS r JOIN processing AS p ON p.id = r.id AND {among p.id id}`)
)

// Versions returns the versions of payments of any tenant. Unknown ids are missing.
func (pa Payments) Versions(ctx context.Context, ids []string) (map[string]int64, error) {
	versions := make(map[string]int64, len(ids))
	// Reads processing first: a payment that leaves it meanwhile is then found in payments.
	for _, text := range []string{selectProcessingVersions, selectVersions} {
		err := pa.b.Query(ctx, text, pa.b.IDs(ids), func(r engine.Row) error {
			var id string
			var version int64
			err := r.Scan(&id, &version)
			versions[id] = max(versions[id], version)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// Lease leases due payments, at most limit of each kind: pending, processing, and unpaid ones that are
// queried again after their end. Nobody else gets them before until. A lease does not raise the version: a
// concurrent decision is not stale.
func (pa Payments) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Payment, error) {
	var list []pay.Payment
	for _, duty := range []base.Duty{ProcessingDuty, PendingDuty, EndedDuty} {
		due, err := base.Leased(ctx, pa.b, duty, Table.Scan(pa.b.Personal), now, until, limit)
		if err != nil {
			return nil, err
		}
		list = append(list, due...)
	}
	return list, nil
}

// Each table yields its own page by key before the two are merged: without knowing the ids, the planner
// would read all rows between them for every page.
var selectBetween = engine.Statement(`
SELECT ` + Table.List + ` FROM (
  SELECT ` + Table.List + ` FROM payments WHERE id > $1 AND id < $2 AND live = $3 ORDER BY id LIMIT $4) AS p
UNION ALL
SELECT ` + Table.List + ` FROM (
  SELECT ` + Table.List + ` FROM processing WHERE id > $1 AND id < $2 AND live = $3 ORDER BY id LIMIT $4) AS q
ORDER BY id LIMIT $4`)

// Between reads the next payments of all merchants, after an id and before another, by id and so by time, for the operator.
func (pa Payments) Between(ctx context.Context, live bool, after, before string, limit int) ([]pay.Payment, error) {
	return base.Many(ctx, pa.b, selectBetween, Table.Scan(pa.b.Personal), after, before, live, limit)
}

// The kinds of due work of payments: by status, and so by index.
const (
	PendingWork    = "pending payments"
	ProcessingWork = "processing payments"
	EndedWork      = "ended payments"
)

var (
	// PendingDuty is the due pending payments.
	PendingDuty = base.NewDuty(PendingWork, "payments", "d.status = 'pending'", Table.List)
	// ProcessingDuty is the due processing payments.
	ProcessingDuty = base.NewDuty(ProcessingWork, "processing", "d.due_at > 0", Table.List)
	// EndedDuty is the due ended payments.
	EndedDuty = base.NewDuty(EndedWork, "payments", "d.due_at > 0 AND d.status <> 'pending'", Table.List)
)

// Payments are all payments, in flight or not.
type Payments struct{ b *base.Base }

// Payments returns the database's Payments.
func (o OfPayments) Payments() Payments { return Payments{o.b} }

// Unsure reads payments with an unknown outcome, of all tenants, oldest first.
func (pa Payments) Unsure(ctx context.Context, limit int) ([]pay.Payment, error) {
	return base.Many(ctx, pa.b, selectUnsure, Table.Scan(pa.b.Personal), limit)
}

// Each table uses its own index before the two are merged.
var selectUnsure = engine.Statement(`
SELECT ` + Table.List + ` FROM (
  SELECT ` + Table.List + ` FROM payments WHERE unsure_at > 0 ORDER BY unsure_at LIMIT $1) AS p
UNION ALL
SELECT ` + Table.List + ` FROM (
  SELECT ` + Table.List + ` FROM processing WHERE unsure_at > 0 ORDER BY unsure_at LIMIT $1) AS q
ORDER BY unsure_at LIMIT $1`)

// ByID reads payments of any tenant, for the operator. Unknown ids are missing.
func (pa Payments) ByID(ctx context.Context, ids []string) (list []pay.Payment, err error) {
	for _, text := range paymentsByID {
		found, err := base.Many(ctx, pa.b, text, Table.Scan(pa.b.Personal), pa.b.IDs(ids)...)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// paymentsByID has one statement per table: a payment is in one of them.
var paymentsByID = func() (list []string) {
	for _, table := range []string{"payments", "processing"} {
		list = append(list, engine.Statement(`SELECT `+Table.ListOf("p")+`
FROM {rows: id TEXT} AS r JOIN `+table+` AS p ON p.id = r.id`))
	}
	return list
}()

// Each calls each with all of a merchant's payments, in both environments. An unreadable row does not stop it: unread has the ids of such rows.
func (pa Payments) Each(ctx context.Context, merchant string, each func(pay.Payment)) (unread []string, err error) {
	for _, text := range selectSomePayments { // processing first, so that a payment that leaves it meanwhile is not missed
		some, err := eachOf(ctx, pa.b, text, merchant, Table.Scan(pa.b.Personal), func(p *pay.Payment) string { return p.ID }, each)
		if unread = append(unread, some...); err != nil {
			return unread, err
		}
	}
	return unread, nil
}

var selectSomePayments = func() (list []string) {
	for _, table := range []string{"processing", "payments"} {
		list = append(list, engine.Statement(`
SELECT `+Table.List+` FROM `+table+` WHERE merchant = $1 AND id > $2 ORDER BY id LIMIT $3`))
	}
	return list
}()

// eachPage is how many rows are read at a time.
const eachPage = 1000

func eachOf[T any](ctx context.Context, b *base.Base, text, merchant string, scan func(engine.Row) (T, error), id func(*T) string, each func(T)) (unread []string, err error) {
	for after, more := "", true; more; {
		n := 0
		err := b.Query(ctx, text, []any{merchant, after, eachPage}, func(r engine.Row) error {
			v, err := scan(r)
			key := id(&v)
			switch {
			case err == nil:
				each(v)
			case key == "": // not even the id could be read
				return err
			default:
				unread = append(unread, key)
			}
			n, after = n+1, key
			return nil
		})
		if err != nil {
			return unread, err
		}
		more = n == eachPage
	}
	return unread, nil
}

// Old lists the payments of all merchants with ids between two, by id, without erased ones.
func (pa Payments) Old(ctx context.Context, after, below string, limit int) ([]string, error) {
	return base.Many(ctx, pa.b, selectOldPayments, base.ScanID, after, below, limit)
}

// It does not look into documents, so an unreadable one hides no other row.
var selectOldPayments = engine.Statement(`
SELECT id FROM payments WHERE id > $1 AND id < $2 AND erased_at = 0 ORDER BY id LIMIT $3`)
