package merchants

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// VerificationsTable is the table verifications.
var VerificationsTable = table.Describe(table.Table[merchants.Verification]{
	Name:    "verifications",
	Hashed:  true,
	Lock:    280,
	Of:      func(c *pay.Change) []merchants.Verification { return c.Verifications },
	ID:      func(v *merchants.Verification) string { return v.ID },
	Version: func(v *merchants.Verification) int64 { return v.Version },
	Met:     table.DuplicateAnyhow,
	Fields: func(f *table.Fields, v *merchants.Verification) {
		f.Text("id!", &v.ID)
		f.Text("merchant!", &v.Merchant)
		f.Flag("live!", &v.Live)
		f.Number("version", &v.Version)
		table.Word(f, "level!", &v.Level)
		table.Word(f, "status", &v.Status)
		f.Time("due_at", &v.DueAt)
		f.Time("created_at!", &v.CreatedAt)
		f.Time("updated_at", &v.UpdatedAt)
		table.Document[verificationDoc](f, "doc", v)
	},
})

type verificationDoc struct {
	Subject      merchants.KYCSubject `json:"subject"`
	ReturnURL    string               `json:"returnUrl,omitempty"`
	ErrorCode    string               `json:"errorCode,omitempty"`
	ErrorMessage string               `json:"errorMessage,omitempty"`
	Expires      int64                `json:"expires"`
}

func (d *verificationDoc) Of(_ *table.Fields, v *merchants.Verification) {
	*d = verificationDoc{
		Subject:      v.Subject,
		ReturnURL:    v.ReturnURL,
		ErrorCode:    v.ErrorCode,
		ErrorMessage: v.ErrorMessage,
		Expires:      table.Micros(v.ExpiresAt),
	}
}

func (d *verificationDoc) Into(_ *table.Fields, v *merchants.Verification) error {
	v.Subject = d.Subject
	v.ReturnURL = d.ReturnURL
	v.ErrorCode = d.ErrorCode
	v.ErrorMessage = d.ErrorMessage
	v.ExpiresAt = table.FromMicros(d.Expires)
	return nil
}

var (
	selectVerification     = engine.Statement(`SELECT ` + VerificationsTable.List + ` FROM verifications WHERE id = $1 AND merchant = $2 AND live = $3`)
	selectAnyVerification  = engine.Statement(`SELECT ` + VerificationsTable.List + ` FROM verifications WHERE id = $1`)
	selectOpenVerification = engine.Statement(`
SELECT ` + VerificationsTable.List + ` FROM verifications
WHERE merchant = $1 AND live = $2 AND status IN ('requires_input', 'processing')`)
	selectLevels      = engine.Statement(`SELECT DISTINCT level FROM verifications WHERE merchant = $1 AND live = $2 AND status = 'verified'`)
	listVerifications = engine.Statement(`
SELECT ` + VerificationsTable.List + ` FROM verifications WHERE ($1 = '' OR status = $1) AND ($2 = '' OR merchant = $2) AND id < $3
ORDER BY id DESC LIMIT $4`)
)

// Get reads a merchant's verification, whichever shop started it.
func (v Verifications) Get(ctx context.Context, scope merchants.Scope, id string) (merchants.Verification, error) {
	return base.One(ctx, v.b, selectVerification, VerificationsTable.Scan(v.b.Personal), id, scope.Merchant, scope.Live)
}

// Any reads a verification of any tenant, for the operator and for the holder of its page's token.
func (v Verifications) Any(ctx context.Context, id string) (merchants.Verification, error) {
	return base.One(ctx, v.b, selectAnyVerification, VerificationsTable.Scan(v.b.Personal), id)
}

// Open reads a merchant's unfinished verification.
func (v Verifications) Open(ctx context.Context, scope merchants.Scope) (merchants.Verification, error) {
	return base.One(ctx, v.b, selectOpenVerification, VerificationsTable.Scan(v.b.Personal), scope.Merchant, scope.Live)
}

// Levels reads the levels at which a merchant is verified.
func (v Verifications) Levels(ctx context.Context, scope merchants.Scope) ([]merchants.KYCLevel, error) {
	return base.Many(ctx, v.b, selectLevels, func(r engine.Row) (l merchants.KYCLevel, err error) {
		err = r.Scan(&l)
		return l, err
	}, scope.Merchant, scope.Live)
}

// List lists the newest verifications of all tenants, for the operator. An empty status or merchant selects
// all.
func (v Verifications) List(ctx context.Context, status merchants.VerificationStatus, merchant, after string, limit int) ([]merchants.Verification, error) {
	return base.Many(ctx, v.b, listVerifications, VerificationsTable.Scan(v.b.Personal), string(status), merchant, base.Before(after), limit)
}

// Lease leases verifications that were not finished in time.
func (v Verifications) Lease(ctx context.Context, now, until time.Time, limit int) ([]merchants.Verification, error) {
	return base.Leased(ctx, v.b, VerificationDuty, VerificationsTable.Scan(v.b.Personal), now, until, limit)
}

// VerificationDuty is the due verifications.
var VerificationDuty = base.NewDuty("verifications", "verifications", "d.due_at > 0", VerificationsTable.List)

// Verifications are how merchants prove who they are.
type Verifications struct{ b *base.Base }

// Verifications returns the database's Verifications.
func (o OfMerchants) Verifications() Verifications { return Verifications(o) }
