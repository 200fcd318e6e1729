package payouts

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Table is the table withdrawals.
var Table = table.Describe(table.Table[pay.Withdrawal]{
	Name:    "withdrawals",
	Hashed:  true,
	Lock:    250,
	Of:      func(c *pay.Change) []pay.Withdrawal { return c.Withdrawals },
	ID:      func(w *pay.Withdrawal) string { return w.ID },
	Version: func(w *pay.Withdrawal) int64 { return w.Version },
	Fields: func(f *table.Fields, w *pay.Withdrawal) {
		f.Text("id!", &w.ID)
		f.Text("merchant!", &w.Merchant)
		f.Text("shop!", &w.Shop)
		f.Flag("live!", &w.Live)
		f.Number("version", &w.Version)
		f.Text("wallet!", &w.Wallet)
		table.Word(f, "status", &w.Status)
		f.Number("amount!", &w.Amount)
		f.Number("fee!", &w.Fee)
		f.Number("sequence", &w.Sequence)
		f.Time("due_at", &w.DueAt)
		f.Time("created_at!", &w.CreatedAt)
		f.Time("updated_at", &w.UpdatedAt)
		f.Text("provider", &w.Payout.Provider)
		f.Text("provider_ref", &w.Payout.ProviderRef)
		f.Text("batch", &w.Payout.Batch)
		table.JSONList(f, "covers", &w.Covers)
		covered := pay.CoveredSum(w.Covers)
		f.Number("covered", &covered)
		f.Number("returned", &w.Returned)
		table.Document[withdrawalDoc](f, "doc", w)
	},
})

type withdrawalDoc struct {
	Checks         int    `json:"checks,omitempty"`
	FailureCode    string `json:"failureCode,omitempty"`
	FailureMessage string `json:"failureMessage,omitempty"`
	SentAt         int64  `json:"sentAt,omitempty"`
	CompletedAt    int64  `json:"completedAt,omitempty"`
	FailedAt       int64  `json:"failedAt,omitempty"`
	Accepted       bool   `json:"accepted,omitempty"`
	Found          bool   `json:"found,omitempty"`
	pay.Flight
	Why        string              `json:"why,omitempty"`
	Passed     []string            `json:"passed,omitempty"`
	Round      int                 `json:"round,omitempty"`
	Tried      []pay.PayoutAttempt `json:"tried,omitempty"`
	Waiting    string              `json:"waiting,omitempty"`
	Said       string              `json:"said,omitempty"`
	BankRef    string              `json:"bankRef,omitempty"`
	ApprovedBy string              `json:"approvedBy,omitempty"`
	Local      int64               `json:"local,omitempty"`
	Currency   money.Currency      `json:"currency,omitempty"`
	Rate       string              `json:"rate,omitempty"`
	RateSource string              `json:"rateSource,omitempty"`
	RateAt     int64               `json:"rateAt,omitempty"`
	Float      int64               `json:"float,omitempty"`
	FloatOf    money.Currency      `json:"floatCurrency,omitempty"`

	ReturnedLocal int64  `json:"returnedLocal,omitempty"`
	Returns       int    `json:"returns,omitempty"`
	Tax           int64  `json:"tax,omitempty"`
	TaxName       string `json:"taxName,omitempty"`
	TaxBps        int64  `json:"taxBps,omitempty"`

	ReturnedParts []int64  `json:"returnedParts,omitempty"`
	ReturnRefs    []string `json:"returnRefs,omitempty"`
}

func (d *withdrawalDoc) Of(_ *table.Fields, w *pay.Withdrawal) {
	*d = withdrawalDoc{
		Checks:         w.Payout.Checks,
		FailureCode:    w.FailureCode,
		FailureMessage: w.FailureMessage,
		SentAt:         table.Micros(w.Payout.SentAt),
		CompletedAt:    table.Micros(w.CompletedAt),
		FailedAt:       table.Micros(w.FailedAt),
		Accepted:       w.Payout.Accepted,
		Found:          w.Payout.Found,
		Flight:         w.Payout.Flight,
		Why:            w.Payout.Why,
		Passed:         w.Payout.Passed,
		Round:          w.Round,
		Tried:          w.Tried,
		Waiting:        w.Waiting,
		Said:           w.Payout.Said,
		BankRef:        w.Payout.BankRef,
		ApprovedBy:     w.ApprovedBy,
		Local:          w.Local.Minor,
		Currency:       w.Local.Currency,
		Rate:           table.RateText(w.Rate),
		RateSource:     w.RateSource,
		RateAt:         table.Micros(w.RateAt),
		Float:          w.Payout.Float.Minor,
		FloatOf:        w.Payout.Float.Currency,
		ReturnedLocal:  w.ReturnedLocal,
		Returns:        w.Returns,
		Tax:            w.Tax,
		TaxName:        w.Taxed.Name,
		TaxBps:         w.Taxed.Bps,
		ReturnedParts:  w.ReturnedParts,
		ReturnRefs:     w.ReturnRefs,
	}
}

func (d *withdrawalDoc) Into(_ *table.Fields, w *pay.Withdrawal) (err error) {
	w.Payout.Checks = d.Checks
	w.FailureCode = d.FailureCode
	w.FailureMessage = d.FailureMessage
	w.Payout.Accepted = d.Accepted
	w.Payout.Found = d.Found
	w.Payout.Flight = d.Flight
	w.Payout.Why = d.Why
	w.Payout.Passed = d.Passed
	w.Round = d.Round
	w.Tried = d.Tried
	w.Waiting = d.Waiting
	w.Payout.Said = d.Said
	w.Payout.BankRef = d.BankRef
	w.ApprovedBy = d.ApprovedBy
	w.Conversion = rates.Conversion{Local: money.New(d.Local, d.Currency), RateSource: d.RateSource, RateAt: table.FromMicros(d.RateAt)}
	w.Payout.Float = money.New(d.Float, d.FloatOf)
	w.Payout.SentAt = table.FromMicros(d.SentAt)
	w.CompletedAt = table.FromMicros(d.CompletedAt)
	w.FailedAt = table.FromMicros(d.FailedAt)
	w.ReturnedLocal = d.ReturnedLocal
	w.Returns = d.Returns
	w.Tax = d.Tax
	w.Taxed = merchants.TaxRate{Name: d.TaxName, Bps: d.TaxBps}
	w.ReturnedParts = d.ReturnedParts
	w.ReturnRefs = d.ReturnRefs
	w.Rate, err = table.ParseRate(d.Rate)
	return err
}

// byWithdrawal filters both the list and its count.
const byWithdrawal = `shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND ($4 = '' OR wallet = $4) AND created_at >= $5 AND created_at < $6`

var (
	selectWithdrawal = engine.Statement(`SELECT ` + Table.List + ` FROM withdrawals WHERE id = $1 AND shop = $2 AND live = $3`)
	listWithdrawals  = engine.Statement(`SELECT ` + Table.List + ` FROM withdrawals WHERE ` + byWithdrawal + ` AND id < $7 ORDER BY id DESC LIMIT $8 OFFSET $9`)
	// Finds withdrawals whose account reported only its own reference.
	selectWithdrawalAt = engine.Statement(`SELECT ` + Table.List + ` FROM withdrawals WHERE provider = $1 AND provider_ref = $2 AND provider_ref <> '' ORDER BY id LIMIT 1`)
	countWithdrawals   = engine.Statement(`SELECT count(*) FROM withdrawals WHERE ` + byWithdrawal)
	// Our own reference, the id without its prefix, is no name of the account's.
	countNameless = engine.Statement(`SELECT count(*) FROM withdrawals WHERE provider = $1 AND status = 'processing'
		AND (provider_ref = '' OR provider_ref = substr(id, 5) OR provider_ref LIKE substr(id, 5) || '-%')`)
)

// Get reads a shop's withdrawal. ErrNotFound also for another shop's.
func (wi Withdrawals) Get(ctx context.Context, scope merchants.Scope, id string) (pay.Withdrawal, error) {
	return base.One(ctx, wi.b, selectWithdrawal, Table.Scan(wi.b.Personal), id, scope.Shop, scope.Live)
}

// Nameless reports whether a payout is under way at an account whose own reference is not known yet.
func (wi Withdrawals) Nameless(ctx context.Context, account string) (bool, error) {
	n, err := base.One(ctx, wi.b, countNameless, base.ScanInt, account)
	return n > 0, err
}

// At reads the withdrawal with a payout account's own reference, of any tenant. Errors: ErrNotFound.
func (wi Withdrawals) At(ctx context.Context, account, ref string) (pay.Withdrawal, error) {
	return base.One(ctx, wi.b, selectWithdrawalAt, Table.Scan(wi.b.Personal), account, ref)
}

// List lists a shop's withdrawals, newest first, and counts the filter's matches.
func (wi Withdrawals) List(ctx context.Context, scope merchants.Scope, f lists.WithdrawalFilter) ([]pay.Withdrawal, int64, error) {
	from, to := base.Bounds(f.Span)
	args := []any{scope.Shop, scope.Live, string(f.Status), f.Wallet, from, to}
	total, err := base.One(ctx, wi.b, countWithdrawals, base.ScanInt, args...)
	if err != nil {
		return nil, 0, err
	}
	list, err := base.Many(ctx, wi.b, listWithdrawals, Table.Scan(wi.b.Personal), append(args, base.Before(f.After), f.Limit, f.Offset)...)
	return list, total, err
}

// Lease leases withdrawals to send or to query.
func (wi Withdrawals) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Withdrawal, error) {
	return base.Leased(ctx, wi.b, WithdrawalDuty, Table.Scan(wi.b.Personal), now, until, limit)
}

// WithdrawalDuty is the due withdrawals.
var WithdrawalDuty = base.NewDuty("withdrawals", "withdrawals", "d.due_at > 0", Table.List)

// Withdrawals are payouts to merchants, with their controls.
type Withdrawals struct{ b *base.Base }

// Withdrawals returns the database's Withdrawals.
func (o OfPayouts) Withdrawals() Withdrawals { return Withdrawals(o) }

// Any reads a withdrawal of any tenant, for the operator; never for a merchant's request.
func (wi Withdrawals) Any(ctx context.Context, id string) (pay.Withdrawal, error) {
	return base.One(ctx, wi.b, selectAnyWithdrawal, Table.Scan(wi.b.Personal), id)
}

// Sent reads withdrawals of all tenants that a payout provider has, or may have, oldest first.
func (wi Withdrawals) Sent(ctx context.Context, after string, limit int) ([]pay.Withdrawal, error) {
	return base.Many(ctx, wi.b, selectSentWithdrawals, Table.Scan(wi.b.Personal), after, limit)
}

// Waiting lists withdrawals that are not sent, or not sent again, and wait for something, and those that were set aside, of all
// tenants, oldest first.
func (wi Withdrawals) Waiting(ctx context.Context, after string, limit int) ([]pay.Withdrawal, error) {
	return base.Many(ctx, wi.b, selectWaitingWithdrawals, table.ScanAnd(wi.b.Personal, Table, func(w *pay.Withdrawal, aside int64) {
		if aside > 0 {
			w.Waiting = string(pay.WaitsProof)
		}
	}), after, limit)
}

var (
	selectWaitingWithdrawals = engine.Statement(`
SELECT ` + Table.ListOf("w") + `, CASE WHEN q.id IS NULL THEN 0 ELSE 1 END FROM withdrawals AS w
LEFT JOIN quarantined AS q ON q.work = 'withdrawals' AND q.id = w.id AND q.due_at = w.due_at
WHERE w.due_at > 0 AND (q.id IS NOT NULL OR w.status IN ('pending', 'processing') AND coalesce({json w.doc waiting}, '') <> '') AND w.id > $1 ORDER BY w.id LIMIT $2`)
	selectAnyWithdrawal   = engine.Statement(`SELECT ` + Table.List + ` FROM withdrawals WHERE id = $1`)
	selectSentWithdrawals = engine.Statement(`SELECT ` + Table.List + ` FROM withdrawals WHERE due_at > 0 AND status = 'processing' AND id > $1 ORDER BY id LIMIT $2`)
)

// uncovering is the condition of the index withdrawals_uncovering, word for word.
const uncovering = `covered <> CASE status WHEN 'canceled' THEN 0 WHEN 'failed' THEN CASE WHEN returned > 0 THEN amount - returned ELSE 0 END ELSE amount - returned END`

var (
	selectUncovering = engine.Statement(`
SELECT ` + Table.List + ` FROM withdrawals WHERE merchant = $1 AND live = $2 AND ` + uncovering + ` ORDER BY id`)
	selectCanceled = engine.Statement(`
SELECT ` + Table.List + ` FROM withdrawals WHERE merchant = $1 AND live = $2 AND status = 'canceled' AND updated_at >= $3
UNION ALL SELECT ` + Table.List + ` FROM withdrawals
WHERE shop IN (SELECT s.id FROM shops AS s WHERE s.merchant = $1) AND live = $2 AND status = 'failed' AND updated_at >= $3
  AND {json doc failureCode} = 'wallet_disabled'`)
)

// Uncovering reads a merchant's withdrawals that cover less or more of its settlements than they pay, oldest first. Those that are
// open are among them.
func (wi Withdrawals) Uncovering(ctx context.Context, scope merchants.Scope) ([]pay.Withdrawal, error) {
	return base.Many(ctx, wi.b, selectUncovering, Table.Scan(wi.b.Personal), scope.Merchant, scope.Live)
}

// Canceled reads a merchant's withdrawals that were canceled since a time, or failed because the merchant deleted their wallet.
func (wi Withdrawals) Canceled(ctx context.Context, scope merchants.Scope, since time.Time) ([]pay.Withdrawal, error) {
	return base.Many(ctx, wi.b, selectCanceled, Table.Scan(wi.b.Personal), scope.Merchant, scope.Live, table.Micros(since))
}

// Bound lists withdrawals of a merchant's sandbox that hold a part of a float or are in a batch.
func (wi Withdrawals) Bound(ctx context.Context, merchant string, limit int) ([]pay.Withdrawal, error) {
	return base.Many(ctx, wi.b, selectBound, Table.Scan(wi.b.Personal), merchant, limit)
}

// ByID reads withdrawals of any tenant, for the operator. Unknown ids are missing.
func (wi Withdrawals) ByID(ctx context.Context, ids []string) ([]pay.Withdrawal, error) {
	return base.Many(ctx, wi.b, selectWithdrawalsByID, Table.Scan(wi.b.Personal), wi.b.IDs(ids)...)
}

// AtEach reads the withdrawals with a payout account's own references.
func (wi Withdrawals) AtEach(ctx context.Context, account string, references []string) ([]pay.Withdrawal, error) {
	r := engine.NewRows(wi.b.DB.Dialect(), atColumns, len(references))
	for _, ref := range references {
		r.Text(account, ref).Next()
	}
	return base.Many(ctx, wi.b, selectWithdrawalsAt, Table.Scan(wi.b.Personal), r.Args()...)
}

var atColumns = engine.ParseColumns("account TEXT, ref TEXT")

var (
	selectBound = engine.Statement(`
SELECT ` + Table.List + ` FROM withdrawals WHERE shop IN (SELECT s.id FROM shops AS s WHERE s.merchant = $1) AND live = FALSE
  AND (batch <> '' OR {json doc float} IS NOT NULL) LIMIT $2`)
	selectWithdrawalsByID = engine.Statement(`SELECT ` + Table.ListOf("w") + ` FROM {rows: id TEXT} AS r JOIN withdrawals AS w ON w.id = r.id`)
	selectWithdrawalsAt   = engine.Statement(`SELECT ` + Table.ListOf("w") + ` FROM {rows: account TEXT, ref TEXT} AS r
JOIN withdrawals AS w ON w.provider = r.account AND w.provider_ref = r.ref AND w.provider_ref <> ''`)
)
