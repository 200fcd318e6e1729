package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

const claimColumns = `id, merchant, shop, live, version, kind, status, payment, amount_local, currency_local, amount, frozen, due_at,
  created_at, updated_at, doc`

// claimDocument is what no query asks for; check reads sequence. Times are
// microseconds UTC.
type claimDocument struct {
	OrderID  string          `json:"orderId,omitempty"`
	Fee      int64           `json:"fee,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Network  string          `json:"network,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`
	Parts    pay.Parts       `json:"parts,omitzero"`
	Freed    int64           `json:"freed,omitempty"`
	Call     pay.RefundCall  `json:"call,omitzero"`
	Case     pay.Case        `json:"case,omitzero"`
	Previous string          `json:"previous,omitempty"`
	Silent   bool            `json:"silent,omitempty"`
	DueBy    int64           `json:"dueBy,omitempty"`
	Evidence []pay.Evidence  `json:"evidence,omitempty"`
	Timeline []pay.ClaimStep `json:"timeline"`
	Sequence int64           `json:"sequence"`
	Resolved int64           `json:"resolved,omitempty"`
}

func claimRow(r *rows, c *pay.Claim) {
	doc := claimDocument{
		OrderID: c.OrderID, Fee: c.Fee, Reason: c.Reason, Network: c.Network, Attempt: c.Attempt, Parts: c.Parts, Freed: c.Freed, Call: c.Call,
		Case: c.Case, Previous: c.Previous, Silent: c.Silent, DueBy: micros(c.DueBy), Evidence: sealEvidence(r.personal, c.ID, c.Evidence), Timeline: c.Timeline, Sequence: c.Sequence, Resolved: micros(c.Resolved),
	}
	r.text(c.ID, c.Merchant, c.Shop).flag(c.Live).number(c.Version).text(string(c.Kind), string(c.Status), c.Payment).
		number(c.Local.Minor).text(string(c.Local.Currency)).
		number(c.USD, c.Frozen, micros(c.DueAt), micros(c.CreatedAt), micros(c.UpdatedAt)).text(encode(doc), c.Case.Key())
}

func (s *Store) scanClaim(r row) (c pay.Claim, err error) {
	var currency, text string
	var due, created, updated int64
	err = r.Scan(&c.ID, &c.Merchant, &c.Shop, &c.Live, &c.Version, &c.Kind, &c.Status, &c.Payment, &c.Local.Minor, &currency,
		&c.USD, &c.Frozen, &due, &created, &updated, &text)
	if err != nil {
		return c, err
	}
	if c.Local.Currency, err = money.ParseCurrency(currency); err != nil {
		return c, fmt.Errorf("claim %s: %w", c.ID, err)
	}
	var doc claimDocument
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return c, fmt.Errorf("claim %s: %w", c.ID, err)
	}
	c.OrderID, c.Fee, c.Reason, c.Network, c.Attempt, c.Parts = doc.OrderID, doc.Fee, doc.Reason, doc.Network, doc.Attempt, doc.Parts
	c.Case, c.Previous = doc.Case, doc.Previous
	c.Freed, c.Call, c.Silent, c.Evidence, c.Timeline, c.Sequence = doc.Freed, doc.Call, doc.Silent, s.openEvidence(c.ID, doc.Evidence), doc.Timeline, doc.Sequence
	c.DueBy, c.DueAt, c.Resolved = fromMicros(doc.DueBy), fromMicros(due), fromMicros(doc.Resolved)
	c.CreatedAt, c.UpdatedAt = fromMicros(created), fromMicros(updated)
	return c, nil
}

const (
	selectClaim    = `SELECT ` + claimColumns + ` FROM claims WHERE id = $1 AND shop = $2 AND live = $3`
	selectAnyClaim = `SELECT ` + claimColumns + ` FROM claims WHERE id = $1`
)

// Claim reads one claim of a shop. ErrNotFound also where it is another's.
func (s *Store) Claim(ctx context.Context, scope pay.Scope, id string) (pay.Claim, error) {
	return one(ctx, s, selectClaim, s.scanClaim, id, scope.Shop, scope.Live)
}

// AnyClaim reads a claim of any tenant, for the operator and for our own
// loops; never for what a merchant asks.
func (s *Store) AnyClaim(ctx context.Context, id string) (pay.Claim, error) {
	return one(ctx, s, selectAnyClaim, s.scanClaim, id)
}

// ClaimFilter selects claims. Empty fields select all.
type ClaimFilter struct {
	Status  pay.ClaimStatus
	Kind    pay.ClaimKind
	Payment string
	After   string // ids older than this one
	Limit   int
	Offset  int
}

const (
	// A shop has few claims beside its payments; its index is walked.
	claimsOfShop = ` FROM claims WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND ($4 = '' OR kind = $4)
  AND ($5 = '' OR payment = $5)`
	listClaims  = `SELECT ` + claimColumns + claimsOfShop + ` AND id < $6 ORDER BY id DESC LIMIT $7 OFFSET $8`
	countClaims = `SELECT count(*)` + claimsOfShop

	listAnyClaims = `SELECT ` + claimColumns + ` FROM claims
WHERE ($1 = '' OR status = $1) AND ($2 = '' OR kind = $2) AND ($3 = '' OR payment = $3) ORDER BY id DESC LIMIT $4 OFFSET $5`
)

// Claims lists a shop's claims, newest first, and counts what the filter
// selects.
func (s *Store) Claims(ctx context.Context, scope pay.Scope, f ClaimFilter) ([]pay.Claim, int64, error) {
	where := []any{scope.Shop, scope.Live, string(f.Status), string(f.Kind), f.Payment}
	total, err := one(ctx, s, countClaims, scanInt, where...)
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, listClaims, s.scanClaim, append(where, before(f.After), f.Limit, f.Offset)...)
	return list, total, err
}

// AnyClaims lists claims of all tenants, newest first, for the operator.
func (s *Store) AnyClaims(ctx context.Context, f ClaimFilter) ([]pay.Claim, error) {
	return many(ctx, s, listAnyClaims, s.scanClaim, string(f.Status), string(f.Kind), f.Payment, f.Limit, f.Offset)
}

// Open claims of disputes are always due some time: the index of due claims has them.
const oldestDispute = `SELECT coalesce(min(CAST({json doc dueBy} AS BIGINT)), 0) FROM claims
WHERE due_at > 0 AND kind = 'chargeback' AND live`

// OldestDispute returns the earliest deadline for evidence of all open disputes in
// production; zero where there is none.
func (s *Store) OldestDispute(ctx context.Context) (time.Time, error) {
	at, err := one(ctx, s, oldestDispute, scanInt)
	return fromMicros(at), err
}

var claimDuty = newDuty("claims", "claims", "d.due_at > 0", claimColumns)

// LeaseClaims takes claims that are due; nobody else gets them before until.
// The lease is not a version: whoever decides meanwhile is not stale.
func (s *Store) LeaseClaims(ctx context.Context, now, until time.Time, limit int) ([]pay.Claim, error) {
	var list []pay.Claim
	err := s.lease(ctx, claimDuty, now, until, limit, func(r row) error {
		c, err := s.scanClaim(r)
		if err == nil {
			list = append(list, c)
		}
		return err
	})
	return list, err
}

var filesTable = newTable("files", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, claim TEXT!, name TEXT!, type TEXT!, "+
	"created_at BIGINT!, content TEXT!",
	func(f *pay.File) string { return f.ID }, nil,
	func(r *rows, f *pay.File) {
		r.text(f.ID, f.Merchant, f.Shop).flag(f.Live).text(f.Claim, r.seal(fileName.about(f.ID), []byte(f.Name)), f.Type).number(micros(f.At)).
			text(f.Sealed)
	})

const selectFile = `SELECT id, merchant, shop, live, claim, name, type, created_at, content FROM files
WHERE id = $1 AND claim = $2 AND shop = $3 AND live = $4`

// File reads the content of a piece of evidence of a shop's claim. ErrNotFound
// also where it is another's.
func (s *Store) File(ctx context.Context, scope pay.Scope, claim, evidence string) (pay.File, error) {
	return one(ctx, s, selectFile, func(r row) (f pay.File, err error) {
		var at int64
		var name, content string
		if err = r.Scan(&f.ID, &f.Merchant, &f.Shop, &f.Live, &f.Claim, &name, &f.Type, &at, &content); err != nil {
			return f, err
		}
		f.At = fromMicros(at)
		opened, err := s.personal.open(fileName.about(f.ID), name)
		if err != nil {
			return f, err
		}
		f.Name = string(opened)
		f.Content, err = s.personal.openFile(f.ID, content)
		return f, err
	}, evidence, claim, scope.Shop, scope.Live)
}

func claimQueries() []string {
	return []string{selectClaim, selectAnyClaim, listClaims, countClaims, listAnyClaims, oldestDispute, filesTable.insert, selectFile}
}
