package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

const verificationSpec = "id TEXT!, merchant TEXT!, live BOOLEAN!, version BIGINT, level TEXT!, status TEXT, " +
	"due_at BIGINT, created_at BIGINT!, updated_at BIGINT, doc TEXT"

const verificationColumns = `id, merchant, live, version, level, status, due_at, created_at, updated_at, doc`

var verificationsTable = newTable("verifications", verificationSpec,
	func(v *pay.Verification) string { return v.ID }, func(v *pay.Verification) int64 { return v.Version }, verificationRow).uniqueRows()

type verificationDoc struct {
	Subject      pay.KYCSubject `json:"subject"`
	ReturnURL    string         `json:"returnUrl,omitempty"`
	ErrorCode    string         `json:"errorCode,omitempty"`
	ErrorMessage string         `json:"errorMessage,omitempty"`
	Expires      int64          `json:"expires"`
}

func verificationRow(r *rows, v *pay.Verification) {
	doc := verificationDoc{v.Subject, v.ReturnURL, v.ErrorCode, v.ErrorMessage, micros(v.ExpiresAt)}
	r.text(v.ID, v.Merchant).flag(v.Live).number(v.Version).text(string(v.Level), string(v.Status)).
		number(micros(v.DueAt), micros(v.CreatedAt), micros(v.UpdatedAt)).text(encode(doc))
}

func scanVerification(r row) (pay.Verification, error) {
	var v pay.Verification
	var due, created, updated int64
	var text string
	if err := r.Scan(&v.ID, &v.Merchant, &v.Live, &v.Version, &v.Level, &v.Status, &due, &created, &updated, &text); err != nil {
		return v, err
	}
	var doc verificationDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return v, fmt.Errorf("verification %s: %w", v.ID, err)
	}
	v.Subject, v.ReturnURL, v.ErrorCode, v.ErrorMessage = doc.Subject, doc.ReturnURL, doc.ErrorCode, doc.ErrorMessage
	v.ExpiresAt = fromMicros(doc.Expires)
	v.DueAt, v.CreatedAt, v.UpdatedAt = fromMicros(due), fromMicros(created), fromMicros(updated)
	return v, nil
}

const (
	selectVerification     = `SELECT ` + verificationColumns + ` FROM verifications WHERE id = $1 AND merchant = $2 AND live = $3`
	selectAnyVerification  = `SELECT ` + verificationColumns + ` FROM verifications WHERE id = $1`
	selectOpenVerification = `
SELECT ` + verificationColumns + ` FROM verifications
WHERE merchant = $1 AND live = $2 AND status IN ('requires_input', 'processing')`
	selectLevels      = `SELECT DISTINCT level FROM verifications WHERE merchant = $1 AND live = $2 AND status = 'verified'`
	listVerifications = `
SELECT ` + verificationColumns + ` FROM verifications WHERE ($1 = '' OR status = $1) AND ($2 = '' OR merchant = $2)
ORDER BY id DESC LIMIT $3`
)

// Verification reads a merchant's verification: whichever shop began it.
func (s *Store) Verification(ctx context.Context, scope pay.Scope, id string) (pay.Verification, error) {
	return one(ctx, s, selectVerification, scanVerification, id, scope.Merchant, scope.Live)
}

// AnyVerification reads a verification of any tenant, for the operator and for
// who has its page's token.
func (s *Store) AnyVerification(ctx context.Context, id string) (pay.Verification, error) {
	return one(ctx, s, selectAnyVerification, scanVerification, id)
}

// OpenVerification reads the one that a merchant has not finished.
func (s *Store) OpenVerification(ctx context.Context, scope pay.Scope) (pay.Verification, error) {
	return one(ctx, s, selectOpenVerification, scanVerification, scope.Merchant, scope.Live)
}

// Levels reads which levels a merchant has been verified at.
func (s *Store) Levels(ctx context.Context, scope pay.Scope) ([]pay.KYCLevel, error) {
	return many(ctx, s, selectLevels, func(r row) (l pay.KYCLevel, err error) {
		err = r.Scan(&l)
		return l, err
	}, scope.Merchant, scope.Live)
}

// Verifications lists the newest of all tenants for the operator. An empty
// status or merchant selects all.
func (s *Store) Verifications(ctx context.Context, status pay.VerificationStatus, merchant string, limit int) ([]pay.Verification, error) {
	return many(ctx, s, listVerifications, scanVerification, string(status), merchant, limit)
}

// LeaseVerifications takes verifications that nobody finished in time.
func (s *Store) LeaseVerifications(ctx context.Context, now, until time.Time, limit int) ([]pay.Verification, error) {
	return leased(ctx, s, verificationDuty, scanVerification, now, until, limit)
}
