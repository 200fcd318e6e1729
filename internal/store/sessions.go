package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

var sessionsTable = newTable("sessions", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, hash TEXT!, "+
	"amount BIGINT!, amount_asked BIGINT!, currency_asked TEXT!, rate TEXT!, country TEXT!, order_id TEXT!, payment TEXT, due_at BIGINT, "+
	"created_at BIGINT!, updated_at BIGINT, doc TEXT",
	func(s *pay.Session) string { return s.ID }, func(s *pay.Session) int64 { return s.Version }, sessionRow)

const sessionColumns = `id, merchant, shop, live, version, hash, amount, amount_asked, currency_asked, rate, country, order_id, payment, due_at,
  created_at, updated_at, doc`

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

func sessionRow(r *rows, s *pay.Session) {
	r.text(s.ID, s.Merchant, s.Shop).flag(s.Live).number(s.Version).text(s.Hash).
		number(s.Amount.Minor, s.Asked.Minor).text(string(s.Asked.Currency), s.Rate.Decimal(), s.Country, s.OrderID, s.Payment).
		number(micros(s.DueAt), micros(s.CreatedAt), micros(s.UpdatedAt)).text(encode(sessionDoc{s.Customer, s.IP, s.ReturnURL, s.RateSource, micros(s.RateAt), s.After, purchaseDocOf(s.Purchase), s.Strict}))
}

func scanSession(r row) (pay.Session, error) {
	var s pay.Session
	var currency, rate, text string
	var due, created, updated int64
	err := r.Scan(&s.ID, &s.Merchant, &s.Shop, &s.Live, &s.Version, &s.Hash, &s.Amount.Minor, &s.Asked.Minor, &currency, &rate,
		&s.Country, &s.OrderID, &s.Payment, &due, &created, &updated, &text)
	if err != nil {
		return s, err
	}
	var doc sessionDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return s, fmt.Errorf("session %s: %w", s.ID, err)
	}
	s.Amount.Currency = money.USD
	if s.Asked.Currency, err = money.ParseCurrency(currency); err != nil {
		return s, fmt.Errorf("session %s: %w", s.ID, err)
	}
	if s.Rate, err = money.ParseRate(rate); err != nil {
		return s, fmt.Errorf("session %s: %w", s.ID, err)
	}
	s.Customer, s.IP, s.ReturnURL = doc.Customer, doc.IP, doc.ReturnURL
	s.Purchase = doc.Purchase.purchase()
	s.RateSource, s.RateAt, s.After, s.Strict = doc.RateFrom, fromMicros(doc.RateAt), doc.After, doc.Strict
	s.DueAt, s.CreatedAt, s.UpdatedAt = fromMicros(due), fromMicros(created), fromMicros(updated)
	return s, nil
}

const (
	selectSessionByHash = `SELECT ` + sessionColumns + ` FROM sessions WHERE hash = $1`
	selectSessionOf     = `SELECT ` + sessionColumns + ` FROM sessions WHERE payment = $1 AND payment <> ''`
	selectSession       = `SELECT ` + sessionColumns + ` FROM sessions WHERE id = $1 AND shop = $2 AND live = $3`
)

// SessionByHash reads a session by the keyed hash of its token, which is the
// credential: whose session it is follows from the row.
func (s *Store) SessionByHash(ctx context.Context, hash string) (pay.Session, error) {
	return one(ctx, s, selectSessionByHash, scanSession, hash)
}

// SessionOf reads the session that a payment was chosen in.
func (s *Store) SessionOf(ctx context.Context, payment string) (pay.Session, error) {
	return one(ctx, s, selectSessionOf, scanSession, payment)
}

// Session reads a shop's session. ErrNotFound also where it is another's.
func (s *Store) Session(ctx context.Context, scope pay.Scope, id string) (pay.Session, error) {
	return one(ctx, s, selectSession, scanSession, id, scope.Shop, scope.Live)
}

// LeaseSessions takes checkouts whose time is over.
func (s *Store) LeaseSessions(ctx context.Context, now, until time.Time, limit int) ([]pay.Session, error) {
	return leased(ctx, s, sessionDuty, scanSession, now, until, limit)
}

// Ids begin with their time, so the oldest are the first of the primary key.
const purgeSessions = `
DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE id < $1 ORDER BY id LIMIT $2 {for update})
RETURNING id`

func sessionQueries() []string {
	return []string{sessionsTable.insert, sessionsTable.update, selectSession, selectSessionOf, selectSessionByHash, purgeSessions}
}

// PurgeSessions deletes at most limit sessions whose ids are below one, which
// is the smallest id of a moment, and returns how many.
func (s *Store) PurgeSessions(ctx context.Context, below string, limit int) (int, error) {
	n := 0
	err := s.db.lease(ctx, s.text(purgeSessions), []any{below, limit}, func(r row) error {
		n++
		var id string
		return r.Scan(&id)
	})
	return n, err
}
