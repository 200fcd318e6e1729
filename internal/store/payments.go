package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

const paymentColumns = `id, merchant, shop, live, version, status, amount, amount_local, currency_local, rate, rail, method, country,
  order_id, refunded, sequence, due_at, unsure_at, created_at, updated_at, doc, owner`

// paymentDoc is what no query asks for, but for the buyer's e-mail: the buyer stands first, and an
// index reads it there.
type paymentDoc struct {
	Buyer     pay.Buyer       `json:"buyer"`
	Fees      pay.Fees        `json:"fees"`
	Reserve   int64           `json:"reserve,omitempty"`
	Delay     time.Duration   `json:"delay"`
	Window    time.Duration   `json:"window"`
	Sync      bool            `json:"sync,omitempty"`
	Hosted    bool            `json:"hosted,omitempty"`
	Redirect  bool            `json:"redirect,omitempty"`
	ReturnURL string          `json:"returnUrl,omitempty"`
	Lang      string          `json:"lang,omitempty"`
	FormURL   string          `json:"formUrl,omitempty"`
	Data      pay.PaymentData `json:"data,omitzero"`
	Attempts  []pay.Attempt   `json:"attempts,omitempty"`
	Answered  pay.Status      `json:"answered,omitempty"`
	Simulate  pay.Action      `json:"simulate,omitempty"`
	Failure   *pay.Failure    `json:"failure,omitempty"`
	Disputed  bool            `json:"disputed,omitempty"`
	Challenge bool            `json:"challenge,omitempty"`
	Captured  int             `json:"captured,omitempty"`
	Given     pay.Parts       `json:"given,omitzero"`
	OnRefund  pay.RefundFees  `json:"refundFees,omitempty"` // what becomes of the fees
	Dispute   string          `json:"dispute,omitempty"`    // the claims that are open, for check
	Disputes  []pay.Taking    `json:"disputes,omitempty"`
	Held      []pay.Held      `json:"held,omitempty"`
	Fee       int64           `json:"disputeFee,omitempty"`
	RateFrom  string          `json:"rateFrom,omitempty"`
	RateAt    int64           `json:"rateAt,omitempty"`
	Strays    []strayDoc      `json:"strays,omitempty"`
	After     string          `json:"after,omitempty"`
	Erased    int64           `json:"erased,omitempty"`
	Asked     *amountDoc      `json:"asked,omitempty"` // in the shop's currency
	Purchase  *purchaseDoc    `json:"purchase,omitempty"`
	Cancel    int64           `json:"cancelAsked,omitempty"`
	// Microseconds UTC.
	Expires    int64 `json:"expires,omitempty"`
	Completed  int64 `json:"completed,omitempty"`
	Failed     int64 `json:"failed,omitempty"`
	Expired    int64 `json:"expired,omitempty"`
	RefundedAt int64 `json:"refundedAt,omitempty"`
	Chargeback int64 `json:"chargeback,omitempty"`
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

func paymentRow(r *rows, p *pay.Payment) {
	doc := paymentDoc{
		Buyer: p.Buyer, Fees: p.Fees, Reserve: p.Reserve, Delay: p.Delay, Window: p.Window, Sync: p.Sync,
		Hosted: p.Hosted, Redirect: p.Redirect, ReturnURL: p.ReturnURL, Lang: p.Lang, FormURL: p.FormURL, Data: p.Data,
		Attempts: p.Attempts, Answered: p.Answered, Simulate: p.Simulate, Failure: p.Failure, Disputed: p.Disputed, Challenge: p.Challenged,
		Captured: p.Captured, Given: p.Given, OnRefund: p.RefundFees,
		Dispute: strings.Join(p.OpenDisputes(), ","), Disputes: p.Disputes, Held: p.Held, Fee: p.DisputeFee,
		RateFrom: p.RateSource, RateAt: micros(p.RateAt), Strays: strayDocs(p.Strays), After: p.After, Erased: micros(p.Erased),
		Asked: amountDocOf(p.Asked), Purchase: purchaseDocOf(p.Purchase), Cancel: micros(p.CancelAsked),
		Expires: micros(p.Times.Expires), Completed: micros(p.Times.Completed), Failed: micros(p.Times.Failed),
		Expired: micros(p.Times.Expired), RefundedAt: micros(p.Times.Refunded), Chargeback: micros(p.Times.Chargeback),
	}
	r.text(p.ID, p.Merchant, p.Shop).flag(p.Live).number(p.Version).text(string(p.Status)).
		number(p.Amount.Minor, p.Local.Minor).text(string(p.Local.Currency), p.Rate.Decimal(), p.RailID, p.Method, p.Country, p.OrderID).
		number(p.Refunded, p.Sequence, micros(p.DueAt), micros(p.Unsure), micros(p.Times.Created), micros(p.Times.Updated)).text(encode(&doc), p.Owner)
}

func scanPayment(r row) (p pay.Payment, err error) {
	err = readPayment(r, &p)
	return p, err
}

// readPayment reads into the place where the payment stays: a list of a hundred copies none.
func readPayment(r row, p *pay.Payment) error {
	var rate, currency, text string
	var due, unsure, created, updated int64
	p.Amount.Currency = money.USD
	err := r.Scan(&p.ID, &p.Merchant, &p.Shop, &p.Live, &p.Version, &p.Status, &p.Amount.Minor, &p.Local.Minor, &currency,
		&rate, &p.RailID, &p.Method, &p.Country, &p.OrderID, &p.Refunded, &p.Sequence, &due, &unsure, &created, &updated, &text, &p.Owner)
	if err != nil {
		return err
	}
	var doc paymentDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return fmt.Errorf("payment %s: %w", p.ID, err)
	}
	if p.Rate, err = money.ParseRate(rate); err != nil {
		return fmt.Errorf("payment %s: %w", p.ID, err)
	}
	if p.Local.Currency, err = money.ParseCurrency(currency); err != nil {
		return fmt.Errorf("payment %s: %w", p.ID, err)
	}
	p.Stored = p.Status
	p.Buyer, p.Fees, p.Reserve, p.Delay, p.Window, p.Sync = doc.Buyer, doc.Fees, doc.Reserve, doc.Delay, doc.Window, doc.Sync
	p.Redirect = doc.Redirect
	p.Hosted, p.ReturnURL, p.Lang, p.FormURL, p.Data = doc.Hosted, doc.ReturnURL, doc.Lang, doc.FormURL, doc.Data
	p.Attempts, p.Answered, p.Simulate, p.Failure, p.Disputed = doc.Attempts, doc.Answered, doc.Simulate, doc.Failure, doc.Disputed
	p.Challenged = doc.Challenge
	p.Captured, p.Given, p.RefundFees, p.Disputes, p.Held, p.DisputeFee = doc.Captured, doc.Given, doc.OnRefund, doc.Disputes, doc.Held, doc.Fee
	p.RateSource, p.RateAt = doc.RateFrom, fromMicros(doc.RateAt)
	p.DueAt, p.Unsure = fromMicros(due), fromMicros(unsure)
	p.Strays, p.After, p.Erased = straysOf(doc.Strays), doc.After, fromMicros(doc.Erased)
	p.Asked, p.Purchase, p.CancelAsked = doc.Asked.amount(), doc.Purchase.purchase(), fromMicros(doc.Cancel)
	p.Times = pay.Times{
		Created: fromMicros(created), Updated: fromMicros(updated), Expires: fromMicros(doc.Expires),
		Completed: fromMicros(doc.Completed), Failed: fromMicros(doc.Failed), Expired: fromMicros(doc.Expired),
		Refunded: fromMicros(doc.RefundedAt), Chargeback: fromMicros(doc.Chargeback),
	}
	return nil
}

const selectPayment = `
SELECT ` + paymentColumns + ` FROM payments WHERE id = $1 AND shop = $2 AND live = $3
UNION ALL
SELECT ` + paymentColumns + ` FROM processing WHERE id = $1 AND shop = $2 AND live = $3`

// Payment reads one payment of a shop. ErrNotFound also where it is another's.
func (s *Store) Payment(ctx context.Context, scope pay.Scope, id string) (pay.Payment, error) {
	return one(ctx, s, selectPayment, scanPayment, id, scope.Shop, scope.Live)
}

const selectAnyPayment = `
SELECT ` + paymentColumns + ` FROM payments WHERE id = $1
UNION ALL
SELECT ` + paymentColumns + ` FROM processing WHERE id = $1`

// AnyPayment reads a payment of any tenant, for what providers tell us and for
// our own loops; never for what a merchant asks.
func (s *Store) AnyPayment(ctx context.Context, id string) (pay.Payment, error) {
	return one(ctx, s, selectAnyPayment, scanPayment, id)
}

const (
	selectVersions           = `SELECT p.id, p.version FROM {rows: id TEXT} AS r JOIN payments AS p ON p.id = r.id AND {among p.id id}`
	selectProcessingVersions = `SELECT p.id, p.version FROM {rows: id TEXT} AS r JOIN processing AS p ON p.id = r.id AND {among p.id id}`
)

// Versions tells the versions of payments of any tenants; those that there are not are left
// out.
func (s *Store) Versions(ctx context.Context, ids []string) (map[string]int64, error) {
	versions := make(map[string]int64, len(ids))
	// One that leaves the second table meanwhile is in the first one when that is read after it.
	for _, text := range []string{selectProcessingVersions, selectVersions} {
		err := s.query(ctx, text, s.ids(ids), func(r row) error {
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

// LeasePayments takes payments that are due, at most limit of each kind: pending and
// processing ones, and those that ended unpaid and are asked about once more. Nobody
// else gets them before until. The lease is not a version: whoever decides meanwhile
// is not stale.
func (s *Store) LeasePayments(ctx context.Context, now, until time.Time, limit int) ([]pay.Payment, error) {
	var list []pay.Payment
	for _, duty := range []duty{processingDuty, pendingDuty, endedDuty} {
		err := s.lease(ctx, duty, now, until, limit, func(r row) error {
			p, err := scanPayment(r)
			if err == nil {
				list = append(list, p)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func scanInt(r row) (n int64, err error) {
	err = r.Scan(&n)
	return n, err
}

const (
	selectOnce = `SELECT id, hash, object, at FROM once WHERE id = $1`
	pageOnce   = `SELECT coalesce(max(p.id), '') FROM (SELECT id FROM once WHERE id > $1 ORDER BY id LIMIT $2) AS p`
	purgeOnce  = `DELETE FROM once WHERE id > $1 AND id <= $2 AND at < $3 AND hash <> '' RETURNING id`
)

// PurgeOnce deletes, of the next limit keys after one, those of requests that
// came before a time, and returns the last key that it looked at, "" past the
// end. What a service does once in its life has no hash and is kept for good. Keys
// are looked at in their own order: an index by time would cost each payment more
// than this costs in a day.
func (s *Store) PurgeOnce(ctx context.Context, after string, before time.Time, limit int) (last string, err error) {
	last, err = one(ctx, s, pageOnce, func(r row) (id string, err error) { return id, r.Scan(&id) }, after, limit)
	if err != nil || last == "" {
		return "", err
	}
	return last, s.db.lease(ctx, s.text(purgeOnce), []any{after, last, micros(before)}, func(row) error { return nil })
}

// Once reads a key that was used.
func (s *Store) Once(ctx context.Context, key string) (pay.Once, error) {
	return one(ctx, s, selectOnce, func(r row) (o pay.Once, err error) {
		var at int64
		err = r.Scan(&o.Key, &o.Hash, &o.Object, &at)
		o.At = fromMicros(at)
		return o, err
	}, key)
}

// Each table gives its own page, by its key, before the two are merged: a planner who
// does not know the ids would read all between them for every page.
const selectBetween = `
SELECT ` + paymentColumns + ` FROM (
  SELECT ` + paymentColumns + ` FROM payments WHERE id > $1 AND id < $2 AND live = $3 ORDER BY id LIMIT $4) AS p
UNION ALL
SELECT ` + paymentColumns + ` FROM (
  SELECT ` + paymentColumns + ` FROM processing WHERE id > $1 AND id < $2 AND live = $3 ORDER BY id LIMIT $4) AS q
ORDER BY id LIMIT $4`

// PaymentsBetween reads the next payments of all merchants after an id and before
// another, by id, which is by time. It is for the operator.
func (s *Store) PaymentsBetween(ctx context.Context, live bool, after, before string, limit int) ([]pay.Payment, error) {
	return many(ctx, s, selectBetween, scanPayment, after, before, live, limit)
}
