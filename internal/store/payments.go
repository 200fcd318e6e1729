package store

import (
	"context"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// A payment is in one of two tables: it starts in processing, leaves it with the first answer, and
// stays in payments.
var (
	paymentsTable   = describe(paymentsIn("payments"))
	processingTable = describe(paymentsIn("processing"))
)

func paymentsIn(name string) table[pay.Payment] {
	return table[pay.Payment]{
		name:    name,
		of:      func(c *pay.Change) []pay.Payment { return c.Payments },
		id:      func(p *pay.Payment) string { return p.ID },
		version: func(p *pay.Payment) int64 { return p.Version },
		fields: func(f *fields, p *pay.Payment) {
			f.text("id!", &p.ID)
			f.text("merchant!", &p.Merchant)
			f.text("shop!", &p.Shop)
			f.flag("live!", &p.Live)
			f.number("version", &p.Version)
			word(f, "status", &p.Status)
			f.usd("amount!", &p.Price.Amount)
			f.amount("amount_local!", "currency_local!", &p.Price.Local)
			f.rate("rate!", &p.Price.Rate)
			f.text("rail!", &p.Way.RailID)
			f.text("method!", &p.Way.Method)
			f.text("country!", &p.Way.Country)
			f.text("order_id!", &p.OrderID)
			f.number("refunded", &p.Refunds.Local)
			f.number("sequence", &p.Sequence)
			f.time("due_at", &p.DueAt)
			f.time("unsure_at", &p.Unsure)
			f.time("created_at!", &p.Times.Created)
			f.time("updated_at", &p.Times.Updated)
			document[paymentDoc](f, "doc", p)
			f.text("owner", &p.Owner)
		},
	}
}

// paymentDoc is what no query asks for, but for the buyer's e-mail: the buyer stands first, and an
// index reads it there.
type paymentDoc struct {
	Buyer     pay.Buyer         `json:"buyer"`
	Fees      tenant.Fees       `json:"fees"`
	Reserve   int64             `json:"reserve,omitempty"`
	Delay     time.Duration     `json:"delay"`
	Window    time.Duration     `json:"window"`
	Sync      bool              `json:"sync,omitempty"`
	Hosted    bool              `json:"hosted,omitempty"`
	Strict    bool              `json:"redirect,omitempty"`
	ReturnURL string            `json:"returnUrl,omitempty"`
	Lang      string            `json:"lang,omitempty"`
	FormURL   string            `json:"formUrl,omitempty"`
	Data      pay.PaymentData   `json:"data,omitzero"`
	Attempts  []pay.Attempt     `json:"attempts,omitempty"`
	Answered  pay.Status        `json:"answered,omitempty"`
	Action    string            `json:"simulate,omitempty"`
	Failure   *pay.Failure      `json:"failure,omitempty"`
	Disputed  bool              `json:"disputed,omitempty"`
	Challenge bool              `json:"challenge,omitempty"`
	Captured  int               `json:"captured,omitempty"`
	Given     pay.Parts         `json:"given,omitzero"`
	OnRefund  tenant.RefundFees `json:"refundFees,omitempty"` // what becomes of the fees
	Dispute   string            `json:"dispute,omitempty"`    // the claims that are open, for check
	Disputes  []pay.Taking      `json:"disputes,omitempty"`
	Held      []pay.Held        `json:"held,omitempty"`
	Fee       int64             `json:"disputeFee,omitempty"`
	RateFrom  string            `json:"rateFrom,omitempty"`
	RateAt    int64             `json:"rateAt,omitempty"`
	Strays    []strayDoc        `json:"strays,omitempty"`
	After     string            `json:"after,omitempty"`
	Erased    int64             `json:"erased,omitempty"`
	Asked     *amountDoc        `json:"asked,omitempty"` // in the shop's currency
	Purchase  *purchaseDoc      `json:"purchase,omitempty"`
	Cancel    int64             `json:"cancelAsked,omitempty"`
	// Microseconds UTC.
	Expires    int64 `json:"expires,omitempty"`
	Completed  int64 `json:"completed,omitempty"`
	Failed     int64 `json:"failed,omitempty"`
	Expired    int64 `json:"expired,omitempty"`
	RefundedAt int64 `json:"refundedAt,omitempty"`
	Chargeback int64 `json:"chargeback,omitempty"`
}

func (d *paymentDoc) of(_ *fields, p *pay.Payment) {
	*d = paymentDoc{
		Buyer: p.Buyer, Fees: p.Terms.Fees, Reserve: p.Terms.Reserve, Delay: p.Terms.Delay, Window: p.Way.Window, Sync: p.Way.Sync,
		Hosted: p.Page.Hosted, Strict: p.Script.Strict, ReturnURL: p.Page.ReturnURL, Lang: p.Page.Lang, FormURL: p.Page.FormURL, Data: p.Page.Data,
		Attempts: p.Attempts, Answered: p.Answered, Action: p.Script.Action, Failure: p.Failure, Disputed: p.Disputes.Any, Challenge: p.Challenged,
		Captured: p.Captured, Given: p.Refunds.USD, OnRefund: p.Terms.RefundFees,
		Dispute: strings.Join(p.OpenDisputes(), ","), Disputes: p.Disputes.Takings, Held: p.Disputes.Held, Fee: p.Terms.DisputeFee,
		RateFrom: p.Price.Source, RateAt: micros(p.Price.At), Strays: strayDocs(p.Strays), After: p.After, Erased: micros(p.Erased),
		Asked: amountDocOf(p.Price.Asked), Purchase: purchaseDocOf(p.Purchase), Cancel: micros(p.CancelAsked),
		Expires: micros(p.Times.Expires), Completed: micros(p.Times.Completed), Failed: micros(p.Times.Failed),
		Expired: micros(p.Times.Expired), RefundedAt: micros(p.Times.Refunded), Chargeback: micros(p.Times.Chargeback),
	}
}

func (d *paymentDoc) into(_ *fields, p *pay.Payment) error {
	p.Stored = p.Status
	p.Buyer, p.Terms.Fees, p.Terms.Reserve, p.Terms.Delay, p.Way.Window, p.Way.Sync = d.Buyer, d.Fees, d.Reserve, d.Delay, d.Window, d.Sync
	p.Page.Hosted, p.Script, p.Page.ReturnURL, p.Page.Lang, p.Page.FormURL, p.Page.Data = d.Hosted, pay.Script{Action: d.Action, Strict: d.Strict}, d.ReturnURL, d.Lang, d.FormURL, d.Data
	p.Attempts, p.Answered, p.Failure, p.Disputes.Any, p.Challenged = d.Attempts, d.Answered, d.Failure, d.Disputed, d.Challenge
	p.Captured, p.Refunds.USD, p.Terms.RefundFees, p.Disputes.Takings, p.Disputes.Held, p.Terms.DisputeFee = d.Captured, d.Given, d.OnRefund, d.Disputes, d.Held, d.Fee
	p.Price.Source, p.Price.At = d.RateFrom, fromMicros(d.RateAt)
	p.Strays, p.After, p.Erased = straysOf(d.Strays), d.After, fromMicros(d.Erased)
	p.Price.Asked, p.Purchase, p.CancelAsked = d.Asked.amount(), d.Purchase.purchase(), fromMicros(d.Cancel)
	p.Times.Expires, p.Times.Completed, p.Times.Failed = fromMicros(d.Expires), fromMicros(d.Completed), fromMicros(d.Failed)
	p.Times.Expired, p.Times.Refunded, p.Times.Chargeback = fromMicros(d.Expired), fromMicros(d.RefundedAt), fromMicros(d.Chargeback)
	return nil
}

// strayDoc is money that came late, or of another amount.
type strayDoc struct {
	Code     pay.AttentionCode `json:"code"`
	Order    int               `json:"order"`
	Minor    int64             `json:"minor"`
	Currency money.Currency    `json:"currency"`
	Claim    string            `json:"claim,omitempty"`
	End      pay.StrayEnd      `json:"end,omitempty"`
}

// paymentRows is both tables.
type paymentRows struct{}

func (paymentRows) guarded(c *pay.Change, ids []string) []string {
	return paymentsTable.guarded(c, ids)
}

func (paymentRows) lostToDuplicate(*pay.Change, func(string) bool) bool { return false }

func (paymentRows) guards(w *write, steps []engine.Step) []engine.Step {
	in := func(stays, becomes bool) []*pay.Payment {
		return gather(w.batch, paymentsTable.of, func(p *pay.Payment) bool {
			return p.Stored != "" && (p.Stored == pay.Processing) == stays && (p.Status == pay.Processing) == becomes
		})
	}
	steps = processingTable.removed(w, steps, takeProcessing, in(true, false))
	steps = processingTable.replace(w, steps, in(true, true))
	return paymentsTable.replace(w, steps, append(in(false, false), in(false, true)...))
}

func (paymentRows) inserts(w *write, steps []engine.Step) []engine.Step {
	steps = processingTable.add(w, steps, gather(w.kept, paymentsTable.of, func(p *pay.Payment) bool {
		return p.Stored == "" && p.Status == pay.Processing
	}))
	return paymentsTable.add(w, steps, gather(w.kept, paymentsTable.of, func(p *pay.Payment) bool {
		return p.Status != pay.Processing && (p.Stored == "" || p.Stored == pay.Processing)
	}))
}

// takeProcessing removes payments whose outcome is known now.
var takeProcessing = engine.Statement(`
DELETE FROM processing
WHERE {among id id} AND (id, version) IN (SELECT r.id, r.version - 1 FROM {rows: id TEXT, version BIGINT} AS r) AND {unless lost}
RETURNING id`)

func strayDocs(strays []pay.Stray) (docs []strayDoc) {
	for _, s := range strays {
		docs = append(docs, strayDoc{s.Code, s.Order, s.Local.Minor, s.Local.Currency, s.Claim, s.End})
	}
	return docs
}

func straysOf(docs []strayDoc) (strays []pay.Stray) {
	for _, d := range docs {
		strays = append(strays, pay.Stray{Code: d.Code, Order: d.Order, Local: money.New(d.Minor, d.Currency), Claim: d.Claim, End: d.End})
	}
	return strays
}

var selectPayment = engine.Statement(`
SELECT ` + paymentsTable.list + ` FROM payments WHERE id = $1 AND shop = $2 AND live = $3
UNION ALL
SELECT ` + paymentsTable.list + ` FROM processing WHERE id = $1 AND shop = $2 AND live = $3`)

// Get reads one payment of a shop. ErrNotFound also where it is another's.
func (s *Payments) Get(ctx context.Context, scope tenant.Scope, id string) (pay.Payment, error) {
	return one(ctx, s, selectPayment, paymentsTable.scan(s), id, scope.Shop, scope.Live)
}

var selectAnyPayment = engine.Statement(`
SELECT ` + paymentsTable.list + ` FROM payments WHERE id = $1
UNION ALL
SELECT ` + paymentsTable.list + ` FROM processing WHERE id = $1`)

// Any reads a payment of any tenant, for what providers tell us and for
// our own loops; never for what a merchant asks.
func (s *Payments) Any(ctx context.Context, id string) (pay.Payment, error) {
	return one(ctx, s, selectAnyPayment, paymentsTable.scan(s), id)
}

var (
	selectVersions           = engine.Statement(`SELECT p.id, p.version FROM {rows: id TEXT} AS r JOIN payments AS p ON p.id = r.id AND {among p.id id}`)
	selectProcessingVersions = engine.Statement(`SELECT p.id, p.version FROM {rows: id TEXT} AS r JOIN processing AS p ON p.id = r.id AND {among p.id id}`)
)

// Versions tells the versions of payments of any tenants; those that there are not are left
// out.
func (s *Payments) Versions(ctx context.Context, ids []string) (map[string]int64, error) {
	versions := make(map[string]int64, len(ids))
	// One that leaves the second table meanwhile is in the first one when that is read after it.
	for _, text := range []string{selectProcessingVersions, selectVersions} {
		err := s.query(ctx, text, s.ids(ids), func(r engine.Row) error {
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

// Lease takes payments that are due, at most limit of each kind: pending and
// processing ones, and those that ended unpaid and are asked about once more. Nobody
// else gets them before until. The lease is not a version: whoever decides meanwhile
// is not stale.
func (s *Payments) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Payment, error) {
	var list []pay.Payment
	for _, duty := range []duty{processingDuty, pendingDuty, endedDuty} {
		due, err := leased(ctx, s, duty, paymentsTable.scan(s), now, until, limit)
		if err != nil {
			return nil, err
		}
		list = append(list, due...)
	}
	return list, nil
}

func scanInt(r engine.Row) (n int64, err error) {
	err = r.Scan(&n)
	return n, err
}

// Each table gives its own page, by its key, before the two are merged: a planner who
// does not know the ids would read all between them for every page.
var selectBetween = engine.Statement(`
SELECT ` + paymentsTable.list + ` FROM (
  SELECT ` + paymentsTable.list + ` FROM payments WHERE id > $1 AND id < $2 AND live = $3 ORDER BY id LIMIT $4) AS p
UNION ALL
SELECT ` + paymentsTable.list + ` FROM (
  SELECT ` + paymentsTable.list + ` FROM processing WHERE id > $1 AND id < $2 AND live = $3 ORDER BY id LIMIT $4) AS q
ORDER BY id LIMIT $4`)

// Between reads the next payments of all merchants after an id and before
// another, by id, which is by time. It is for the operator.
func (s *Payments) Between(ctx context.Context, live bool, after, before string, limit int) ([]pay.Payment, error) {
	return many(ctx, s, selectBetween, paymentsTable.scan(s), after, before, live, limit)
}
