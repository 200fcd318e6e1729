package claims

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Table is the table claims.
var Table = table.Describe(table.Table[pay.Claim]{
	Name:    "claims",
	Hashed:  true,
	Lock:    40,
	Of:      func(c *pay.Change) []pay.Claim { return c.Claims },
	ID:      func(c *pay.Claim) string { return c.ID },
	Version: func(c *pay.Claim) int64 { return c.Version },
	Fields: func(f *table.Fields, c *pay.Claim) {
		f.Text("id!", &c.ID)
		f.Text("merchant!", &c.Merchant)
		f.Text("shop!", &c.Shop)
		f.Flag("live!", &c.Live)
		f.Number("version", &c.Version)
		table.Word(f, "kind!", &c.Kind)
		table.Word(f, "status", &c.Status)
		f.Text("payment!", &c.Payment)
		f.Amount("amount_local", "currency_local!", &c.Local) // an inquiry is about the rest once a part of its money is kept
		f.Number("amount", &c.USD)
		f.Number("frozen", &c.Frozen)
		f.Time("due_at", &c.DueAt)
		f.Time("created_at!", &c.CreatedAt)
		f.Time("updated_at", &c.UpdatedAt)
		table.Document[Document](f, "doc", c)
		f.Written("dispute", c.Key())
	},
})

// Document holds what no query filters by; check reads sequence, origin, previous and returned; Carrying reads carry. Times are microseconds UTC.
type Document struct {
	OrderID  string          `json:"orderId,omitempty"`
	Fee      int64           `json:"fee,omitempty"`
	Tax      int64           `json:"tax,omitempty"`
	TaxName  string          `json:"taxName,omitempty"`
	TaxBps   int64           `json:"taxBps,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Network  string          `json:"network,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`
	Parts    pay.Parts       `json:"parts,omitzero"`
	Freed    int64           `json:"freed,omitempty"`
	Call     pay.RefundCall  `json:"call,omitzero"`
	Case     pay.Case        `json:"case,omitzero"`
	Defense  pay.Defense     `json:"defense,omitzero"`
	Carry    int64           `json:"carry,omitempty"` // since when the operator has to submit the evidence
	Previous string          `json:"previous,omitempty"`
	Origin   pay.Origin      `json:"origin,omitempty"`
	Returned string          `json:"returned,omitempty"` // of the refund at the provider, for check
	Silent   bool            `json:"silent,omitempty"`
	DueBy    int64           `json:"dueBy,omitempty"`
	Evidence []pay.Evidence  `json:"evidence,omitempty"`
	Timeline []pay.ClaimStep `json:"timeline"`
	Sequence int64           `json:"sequence"`
	Resolved int64           `json:"resolved,omitempty"`
}

// Of implements table.Document.
func (d *Document) Of(f *table.Fields, c *pay.Claim) {
	*d = Document{
		OrderID:  c.OrderID,
		Fee:      c.Fee,
		Tax:      c.Tax,
		TaxName:  c.Taxed.Name,
		TaxBps:   c.Taxed.Bps,
		Reason:   c.Reason,
		Network:  c.Network,
		Attempt:  c.Attempt,
		Parts:    c.Parts,
		Freed:    c.Freed,
		Call:     c.Call,
		Case:     c.Case,
		Defense:  c.Defense,
		Carry:    c.Defense.Since,
		Previous: c.Previous,
		Origin:   c.Origin,
		Returned: c.Call.Returned,
		Silent:   c.Played,
		DueBy:    table.Micros(c.DueBy),
		Evidence: encryptEvidence(f.Personal, c.ID, c.Evidence),
		Timeline: c.Timeline,
		Sequence: c.Sequence,
		Resolved: table.Micros(c.Resolved),
	}
}

// Into implements table.Document.
func (d *Document) Into(f *table.Fields, c *pay.Claim) error {
	c.OrderID = d.OrderID
	c.Fee = d.Fee
	c.Tax = d.Tax
	c.Taxed = merchants.TaxRate{Name: d.TaxName, Bps: d.TaxBps}
	c.Reason = d.Reason
	c.Network = d.Network
	c.Attempt = d.Attempt
	c.Parts = d.Parts
	c.Freed = d.Freed
	c.Call = d.Call
	c.Case = d.Case
	c.Previous = d.Previous
	c.Origin = d.Origin
	c.Played = d.Silent
	c.DueBy = table.FromMicros(d.DueBy)
	c.Call.Returned = d.Returned
	c.Defense = d.Defense
	c.Defense.Since = d.Carry
	c.Evidence = openEvidence(f.Personal, c.ID, d.Evidence)
	c.Timeline = d.Timeline
	c.Sequence = d.Sequence
	c.Resolved = table.FromMicros(d.Resolved)
	return nil
}

// FilesTable is the table files.
var FilesTable = table.Describe(table.Table[pay.File]{
	Name:   "files",
	Hashed: true,
	Lock:   470,
	Of:     func(c *pay.Change) []pay.File { return c.Files },
	ID:     func(e *pay.File) string { return e.ID },
	Fields: func(f *table.Fields, e *pay.File) {
		f.Text("id!", &e.ID)
		f.Text("merchant!", &e.Merchant)
		f.Text("shop!", &e.Shop)
		f.Flag("live!", &e.Live)
		f.Text("claim!", &e.Claim)
		f.Converted("name!", func() string { return f.Personal.Encrypt(table.FileName.About(e.ID), []byte(e.Name)) }, func(text string) error {
			name, err := f.Personal.Decrypt(table.FileName.About(e.ID), text)
			e.Name = string(name)
			return err
		})
		f.Text("type!", &e.Type)
		f.Time("created_at!", &e.At)
		f.Converted("content!", func() string { return e.Stored }, func(text string) (err error) {
			e.Content, err = openFile(f.Personal, e.ID, text)
			return err
		})
	},
})

var (
	selectClaim    = engine.Statement(`SELECT ` + Table.List + ` FROM claims WHERE id = $1 AND shop = $2 AND live = $3`)
	selectAnyClaim = engine.Statement(`SELECT ` + Table.List + ` FROM claims WHERE id = $1`)
)

// Get reads a shop's claim. ErrNotFound also for another shop's.
func (c Claims) Get(ctx context.Context, scope merchants.Scope, id string) (pay.Claim, error) {
	return base.One(ctx, c.b, selectClaim, Table.Scan(c.b.Personal), id, scope.Shop, scope.Live)
}

// Any reads a claim of any tenant, for the operator and our own loops; never for a merchant's request.
func (c Claims) Any(ctx context.Context, id string) (pay.Claim, error) {
	return base.One(ctx, c.b, selectAnyClaim, Table.Scan(c.b.Personal), id)
}

var (
	// A shop has few claims compared with payments, so its index is walked.
	claimsOfShop = ` FROM claims WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND ($4 = '' OR kind = $4)
  AND ($5 = '' OR payment = $5)`
	listClaims  = engine.Statement(`SELECT ` + Table.List + claimsOfShop + ` AND id < $6 ORDER BY id DESC LIMIT $7 OFFSET $8`)
	countClaims = engine.Statement(`SELECT count(*)` + claimsOfShop)

	listAnyClaims = engine.Statement(`SELECT ` + Table.List + ` FROM claims
WHERE ($1 = '' OR status = $1) AND ($2 = '' OR kind = $2) AND ($3 = '' OR payment = $3) AND id < $4 ORDER BY id DESC LIMIT $5 OFFSET $6`)
)

// List lists a shop's claims, newest first, and counts the filter's matches.
func (c Claims) List(ctx context.Context, scope merchants.Scope, f lists.ClaimFilter) ([]pay.Claim, int64, error) {
	where := []any{scope.Shop, scope.Live, string(f.Status), string(f.Kind), f.Payment}
	total, err := base.One(ctx, c.b, countClaims, base.ScanInt, where...)
	if err != nil {
		return nil, 0, err
	}
	list, err := base.Many(ctx, c.b, listClaims, Table.Scan(c.b.Personal), append(where, base.Before(f.After), f.Limit, f.Offset)...)
	return list, total, err
}

// ListAny lists claims of all tenants, newest first, for the operator.
func (c Claims) ListAny(ctx context.Context, f lists.ClaimFilter) ([]pay.Claim, error) {
	return base.Many(ctx, c.b, listAnyClaims, Table.Scan(c.b.Personal), string(f.Status), string(f.Kind), f.Payment, base.Before(f.After), f.Limit, f.Offset)
}

// An open dispute's claim always has a due time, so the index of due claims has it.
var oldestDispute = engine.Statement(`SELECT coalesce(min(CAST({json doc dueBy} AS BIGINT)), 0) FROM claims
WHERE due_at > 0 AND kind = 'chargeback' AND live`)

// OldestDispute returns the earliest evidence deadline of all open disputes in production; zero for none.
func (c Claims) OldestDispute(ctx context.Context) (time.Time, error) {
	at, err := base.One(ctx, c.b, oldestDispute, base.ScanInt)
	return table.FromMicros(at), err
}

// Duty is the due claims.
var Duty = base.NewDuty("claims", "claims", "d.due_at > 0", Table.List)

// Lease leases due claims; nobody else gets them before until. A lease does not raise the version: a
// concurrent decision is not stale.
func (c Claims) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Claim, error) {
	return base.Leased(ctx, c.b, Duty, Table.Scan(c.b.Personal), now, until, limit)
}

var listCarrying = engine.Statement(`SELECT ` + Table.ListOf("d") + ` FROM claims AS d
WHERE d.status IN ('pending', 'needs_evidence', 'under_review') AND d.kind = 'chargeback' AND CAST({json d.doc carry} AS BIGINT) > 0 AND d.id > $1 ORDER BY d.id LIMIT $2`)

// Carrying lists the open disputes of all tenants whose evidence the operator has to submit, oldest first, after the one with an id.
func (c Claims) Carrying(ctx context.Context, after string, limit int) ([]pay.Claim, error) {
	return base.Many(ctx, c.b, listCarrying, Table.Scan(c.b.Personal), after, limit)
}

var selectFile = engine.Statement(`SELECT ` + FilesTable.List + ` FROM files
WHERE id = $1 AND claim = $2 AND shop = $3 AND live = $4`)

// File reads the content of a file of evidence for a shop's claim. ErrNotFound also for another shop's.
func (c Claims) File(ctx context.Context, scope merchants.Scope, claim, evidence string) (pay.File, error) {
	return base.One(ctx, c.b, selectFile, FilesTable.Scan(c.b.Personal), evidence, claim, scope.Shop, scope.Live)
}

// Claims are refunds and disputes, with their evidence.
type Claims struct{ b *base.Base }

// Claims returns the database's Claims.
func (o OfClaims) Claims() Claims { return Claims(o) }

// Of reads all claims on payments of any tenant, for the operator, and on a payment that was read in its scope.
func (c Claims) Of(ctx context.Context, payments []string) ([]pay.Claim, error) {
	return base.Many(ctx, c.b, selectClaimsOf, Table.Scan(c.b.Personal), c.b.IDs(payments)...)
}

// PaymentsOf maps claims to their payments; unknown claims are missing.
func (c Claims) PaymentsOf(ctx context.Context, claims []string) (map[string]string, error) {
	found := map[string]string{}
	err := c.b.Query(ctx, selectClaimPayments, c.b.IDs(claims), func(r engine.Row) error {
		var claim, payment string
		err := r.Scan(&claim, &payment)
		found[claim] = payment
		return err
	})
	return found, err
}

var selectClaimsOf = engine.Statement(`SELECT ` + Table.ListOf("c") + ` FROM {rows: id TEXT} AS r JOIN claims AS c ON c.payment = r.id ORDER BY c.id`)

var selectClaimPayments = engine.Statement(`SELECT c.id, c.payment FROM {rows: id TEXT} AS r JOIN claims AS c ON c.id = r.id`)

// Old lists the claims of all merchants with ids between two, by id.
func (c Claims) Old(ctx context.Context, after, below string, limit int) ([]string, error) {
	return base.Many(ctx, c.b, selectOldClaims, base.ScanID, after, below, limit)
}

var selectOldClaims = engine.Statement(`
SELECT id FROM claims WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3`)
