package store

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var verificationsTable = describe(table[tenant.Verification]{
	name:    "verifications",
	of:      func(c *pay.Change) []tenant.Verification { return c.Verifications },
	id:      func(v *tenant.Verification) string { return v.ID },
	version: func(v *tenant.Verification) int64 { return v.Version },
	met:     duplicateAnyhow,
	fields: func(f *fields, v *tenant.Verification) {
		f.text("id!", &v.ID)
		f.text("merchant!", &v.Merchant)
		f.flag("live!", &v.Live)
		f.number("version", &v.Version)
		word(f, "level!", &v.Level)
		word(f, "status", &v.Status)
		f.time("due_at", &v.DueAt)
		f.time("created_at!", &v.CreatedAt)
		f.time("updated_at", &v.UpdatedAt)
		document[verificationDoc](f, "doc", v)
	},
})

type verificationDoc struct {
	Subject      tenant.KYCSubject `json:"subject"`
	ReturnURL    string            `json:"returnUrl,omitempty"`
	ErrorCode    string            `json:"errorCode,omitempty"`
	ErrorMessage string            `json:"errorMessage,omitempty"`
	Expires      int64             `json:"expires"`
}

func (d *verificationDoc) of(_ *fields, v *tenant.Verification) {
	*d = verificationDoc{v.Subject, v.ReturnURL, v.ErrorCode, v.ErrorMessage, micros(v.ExpiresAt)}
}

func (d *verificationDoc) into(_ *fields, v *tenant.Verification) error {
	v.Subject, v.ReturnURL, v.ErrorCode, v.ErrorMessage = d.Subject, d.ReturnURL, d.ErrorCode, d.ErrorMessage
	v.ExpiresAt = fromMicros(d.Expires)
	return nil
}

var (
	selectVerification     = engine.Statement(`SELECT ` + verificationsTable.list + ` FROM verifications WHERE id = $1 AND merchant = $2 AND live = $3`)
	selectAnyVerification  = engine.Statement(`SELECT ` + verificationsTable.list + ` FROM verifications WHERE id = $1`)
	selectOpenVerification = engine.Statement(`
SELECT ` + verificationsTable.list + ` FROM verifications
WHERE merchant = $1 AND live = $2 AND status IN ('requires_input', 'processing')`)
	selectLevels      = engine.Statement(`SELECT DISTINCT level FROM verifications WHERE merchant = $1 AND live = $2 AND status = 'verified'`)
	listVerifications = engine.Statement(`
SELECT ` + verificationsTable.list + ` FROM verifications WHERE ($1 = '' OR status = $1) AND ($2 = '' OR merchant = $2)
ORDER BY id DESC LIMIT $3`)
)

// Get reads a merchant's verification: whichever shop began it.
func (s *Verifications) Get(ctx context.Context, scope tenant.Scope, id string) (tenant.Verification, error) {
	return one(ctx, s, selectVerification, verificationsTable.scan(s), id, scope.Merchant, scope.Live)
}

// Any reads a verification of any tenant, for the operator and for
// who has its page's token.
func (s *Verifications) Any(ctx context.Context, id string) (tenant.Verification, error) {
	return one(ctx, s, selectAnyVerification, verificationsTable.scan(s), id)
}

// Open reads the one that a merchant has not finished.
func (s *Verifications) Open(ctx context.Context, scope tenant.Scope) (tenant.Verification, error) {
	return one(ctx, s, selectOpenVerification, verificationsTable.scan(s), scope.Merchant, scope.Live)
}

// Levels reads which levels a merchant has been verified at.
func (s *Verifications) Levels(ctx context.Context, scope tenant.Scope) ([]tenant.KYCLevel, error) {
	return many(ctx, s, selectLevels, func(r engine.Row) (l tenant.KYCLevel, err error) {
		err = r.Scan(&l)
		return l, err
	}, scope.Merchant, scope.Live)
}

// List lists the newest of all tenants for the operator. An empty
// status or merchant selects all.
func (s *Verifications) List(ctx context.Context, status tenant.VerificationStatus, merchant string, limit int) ([]tenant.Verification, error) {
	return many(ctx, s, listVerifications, verificationsTable.scan(s), string(status), merchant, limit)
}

// Lease takes verifications that nobody finished in time.
func (s *Verifications) Lease(ctx context.Context, now, until time.Time, limit int) ([]tenant.Verification, error) {
	return leased(ctx, s, verificationDuty, verificationsTable.scan(s), now, until, limit)
}
