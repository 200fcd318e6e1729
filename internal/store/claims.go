package store

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var claimsTable = describe(table[pay.Claim]{
	name:    "claims",
	of:      func(c *pay.Change) []pay.Claim { return c.Claims },
	id:      func(c *pay.Claim) string { return c.ID },
	version: func(c *pay.Claim) int64 { return c.Version },
	fields: func(f *fields, c *pay.Claim) {
		f.text("id!", &c.ID)
		f.text("merchant!", &c.Merchant)
		f.text("shop!", &c.Shop)
		f.flag("live!", &c.Live)
		f.number("version", &c.Version)
		word(f, "kind!", &c.Kind)
		word(f, "status", &c.Status)
		f.text("payment!", &c.Payment)
		f.amount("amount_local!", "currency_local!", &c.Local)
		f.number("amount!", &c.USD)
		f.number("frozen", &c.Frozen)
		f.time("due_at", &c.DueAt)
		f.time("created_at!", &c.CreatedAt)
		f.time("updated_at", &c.UpdatedAt)
		document[claimDocument](f, "doc", c)
		f.written("dispute", c.Case.Key())
	},
})

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

func (d *claimDocument) of(f *fields, c *pay.Claim) {
	*d = claimDocument{
		OrderID: c.OrderID, Fee: c.Fee, Reason: c.Reason, Network: c.Network, Attempt: c.Attempt, Parts: c.Parts, Freed: c.Freed, Call: c.Call,
		Case: c.Case, Previous: c.Previous, Silent: c.Played, DueBy: micros(c.DueBy), Evidence: sealEvidence(f.personal, c.ID, c.Evidence),
		Timeline: c.Timeline, Sequence: c.Sequence, Resolved: micros(c.Resolved),
	}
}

func (d *claimDocument) into(f *fields, c *pay.Claim) error {
	c.OrderID, c.Fee, c.Reason, c.Network, c.Attempt, c.Parts = d.OrderID, d.Fee, d.Reason, d.Network, d.Attempt, d.Parts
	c.Freed, c.Call, c.Case, c.Previous, c.Played, c.DueBy = d.Freed, d.Call, d.Case, d.Previous, d.Silent, fromMicros(d.DueBy)
	c.Evidence, c.Timeline, c.Sequence, c.Resolved = f.s.openEvidence(c.ID, d.Evidence), d.Timeline, d.Sequence, fromMicros(d.Resolved)
	return nil
}

var filesTable = describe(table[pay.File]{
	name: "files",
	of:   func(c *pay.Change) []pay.File { return c.Files },
	id:   func(e *pay.File) string { return e.ID },
	fields: func(f *fields, e *pay.File) {
		f.text("id!", &e.ID)
		f.text("merchant!", &e.Merchant)
		f.text("shop!", &e.Shop)
		f.flag("live!", &e.Live)
		f.text("claim!", &e.Claim)
		f.converted("name!", func() string { return f.seal(fileName.about(e.ID), []byte(e.Name)) }, func(text string) error {
			name, err := f.open(fileName.about(e.ID), text)
			e.Name = string(name)
			return err
		})
		f.text("type!", &e.Type)
		f.time("created_at!", &e.At)
		f.converted("content!", func() string { return e.Sealed }, func(text string) (err error) {
			e.Content, err = f.openFile(e.ID, text)
			return err
		})
	},
})

var (
	selectClaim    = engine.Statement(`SELECT ` + claimsTable.list + ` FROM claims WHERE id = $1 AND shop = $2 AND live = $3`)
	selectAnyClaim = engine.Statement(`SELECT ` + claimsTable.list + ` FROM claims WHERE id = $1`)
)

// Get reads one claim of a shop. ErrNotFound also where it is another's.
func (s *Claims) Get(ctx context.Context, scope tenant.Scope, id string) (pay.Claim, error) {
	return one(ctx, s, selectClaim, claimsTable.scan(s), id, scope.Shop, scope.Live)
}

// Any reads a claim of any tenant, for the operator and for our own
// loops; never for what a merchant asks.
func (s *Claims) Any(ctx context.Context, id string) (pay.Claim, error) {
	return one(ctx, s, selectAnyClaim, claimsTable.scan(s), id)
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

var (
	// A shop has few claims beside its payments; its index is walked.
	claimsOfShop = ` FROM claims WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND ($4 = '' OR kind = $4)
  AND ($5 = '' OR payment = $5)`
	listClaims  = engine.Statement(`SELECT ` + claimsTable.list + claimsOfShop + ` AND id < $6 ORDER BY id DESC LIMIT $7 OFFSET $8`)
	countClaims = engine.Statement(`SELECT count(*)` + claimsOfShop)

	listAnyClaims = engine.Statement(`SELECT ` + claimsTable.list + ` FROM claims
WHERE ($1 = '' OR status = $1) AND ($2 = '' OR kind = $2) AND ($3 = '' OR payment = $3) ORDER BY id DESC LIMIT $4 OFFSET $5`)
)

// List lists a shop's claims, newest first, and counts what the filter
// selects.
func (s *Claims) List(ctx context.Context, scope tenant.Scope, f ClaimFilter) ([]pay.Claim, int64, error) {
	where := []any{scope.Shop, scope.Live, string(f.Status), string(f.Kind), f.Payment}
	total, err := one(ctx, s, countClaims, scanInt, where...)
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, listClaims, claimsTable.scan(s), append(where, before(f.After), f.Limit, f.Offset)...)
	return list, total, err
}

// ListAny lists claims of all tenants, newest first, for the operator.
func (s *Claims) ListAny(ctx context.Context, f ClaimFilter) ([]pay.Claim, error) {
	return many(ctx, s, listAnyClaims, claimsTable.scan(s), string(f.Status), string(f.Kind), f.Payment, f.Limit, f.Offset)
}

// Open claims of disputes are always due some time: the index of due claims has them.
var oldestDispute = engine.Statement(`SELECT coalesce(min(CAST({json doc dueBy} AS BIGINT)), 0) FROM claims
WHERE due_at > 0 AND kind = 'chargeback' AND live`)

// OldestDispute returns the earliest deadline for evidence of all open disputes in
// production; zero where there is none.
func (s *Claims) OldestDispute(ctx context.Context) (time.Time, error) {
	at, err := one(ctx, s, oldestDispute, scanInt)
	return fromMicros(at), err
}

var claimDuty = newDuty("claims", "claims", "d.due_at > 0", claimsTable.list)

// Lease takes claims that are due; nobody else gets them before until.
// The lease is not a version: whoever decides meanwhile is not stale.
func (s *Claims) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Claim, error) {
	return leased(ctx, s, claimDuty, claimsTable.scan(s), now, until, limit)
}

var selectFile = engine.Statement(`SELECT ` + filesTable.list + ` FROM files
WHERE id = $1 AND claim = $2 AND shop = $3 AND live = $4`)

// File reads the content of a piece of evidence of a shop's claim. ErrNotFound
// also where it is another's.
func (s *Claims) File(ctx context.Context, scope tenant.Scope, claim, evidence string) (pay.File, error) {
	return one(ctx, s, selectFile, filesTable.scan(s), evidence, claim, scope.Shop, scope.Live)
}
