package store

import (
	"cmp"
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var withdrawalsTable = describe(table[pay.Withdrawal]{
	name:    "withdrawals",
	of:      func(c *pay.Change) []pay.Withdrawal { return c.Withdrawals },
	id:      func(w *pay.Withdrawal) string { return w.ID },
	version: func(w *pay.Withdrawal) int64 { return w.Version },
	fields: func(f *fields, w *pay.Withdrawal) {
		f.text("id!", &w.ID)
		f.text("merchant!", &w.Merchant)
		f.text("shop!", &w.Shop)
		f.flag("live!", &w.Live)
		f.number("version", &w.Version)
		f.text("wallet!", &w.Wallet)
		word(f, "status", &w.Status)
		f.number("amount!", &w.Amount)
		f.number("fee!", &w.Fee)
		f.number("sequence", &w.Sequence)
		f.time("due_at", &w.DueAt)
		f.time("created_at!", &w.CreatedAt)
		f.time("updated_at", &w.UpdatedAt)
		f.text("provider", &w.Provider)
		f.text("provider_ref", &w.ProviderRef)
		f.text("batch", &w.Batch)
		document[withdrawalDoc](f, "doc", w)
	},
})

type withdrawalDoc struct {
	// Where it is had its place here before version 30, and has it where a node of before writes.
	Provider    string `json:"provider,omitempty"`
	ProviderRef string `json:"providerRef,omitempty"`

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
}

func (d *withdrawalDoc) of(_ *fields, w *pay.Withdrawal) {
	*d = withdrawalDoc{"", "", w.Checks, w.FailureCode, w.FailureMessage,
		micros(w.SentAt), micros(w.CompletedAt), micros(w.FailedAt), w.Accepted, w.Found, w.Flight,
		w.Why, w.Passed, w.Round, w.Tried, w.Waiting, w.Said, w.BankRef, w.ApprovedBy, w.Local.Minor, w.Local.Currency,
		rateText(w.Rate), w.RateSource, micros(w.RateAt), w.Float.Minor, w.Float.Currency}
}

func (d *withdrawalDoc) into(_ *fields, w *pay.Withdrawal) (err error) {
	w.Provider, w.ProviderRef = cmp.Or(w.Provider, d.Provider), cmp.Or(w.ProviderRef, d.ProviderRef)
	w.Checks, w.FailureCode, w.FailureMessage, w.Accepted, w.Found, w.Flight = d.Checks, d.FailureCode, d.FailureMessage, d.Accepted, d.Found, d.Flight
	w.Why, w.Passed, w.Round, w.Tried, w.Waiting, w.Said, w.BankRef, w.ApprovedBy = d.Why, d.Passed, d.Round, d.Tried, d.Waiting, d.Said, d.BankRef, d.ApprovedBy
	w.Conversion = pay.Conversion{Local: money.New(d.Local, d.Currency), RateSource: d.RateSource, RateAt: fromMicros(d.RateAt)}
	w.Float = money.New(d.Float, d.FloatOf)
	w.SentAt, w.CompletedAt, w.FailedAt = fromMicros(d.SentAt), fromMicros(d.CompletedAt), fromMicros(d.FailedAt)
	w.Rate, err = parseRate(d.Rate)
	return err
}

// byWithdrawal is the filter of the list and of its count.
const byWithdrawal = `shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND ($4 = '' OR wallet = $4) AND created_at >= $5 AND created_at < $6`

var (
	selectWithdrawal = engine.Statement(`SELECT ` + withdrawalsTable.list + ` FROM withdrawals WHERE id = $1 AND shop = $2 AND live = $3`)
	listWithdrawals  = engine.Statement(`SELECT ` + withdrawalsTable.list + ` FROM withdrawals WHERE ` + byWithdrawal + ` AND id < $7 ORDER BY id DESC LIMIT $8 OFFSET $9`)
	// An account that was told of by its own reference alone.
	selectWithdrawalAt = engine.Statement(`SELECT ` + withdrawalsTable.list + ` FROM withdrawals WHERE provider = $1 AND provider_ref = $2 AND provider_ref <> '' ORDER BY id LIMIT 1`)
	countWithdrawals   = engine.Statement(`SELECT count(*) FROM withdrawals WHERE ` + byWithdrawal)
)

// Get reads a shop's withdrawal. ErrNotFound also where it is another's.
func (s *Withdrawals) Get(ctx context.Context, scope tenant.Scope, id string) (pay.Withdrawal, error) {
	return one(ctx, s, selectWithdrawal, withdrawalsTable.scan(s), id, scope.Shop, scope.Live)
}

// At reads the withdrawal that a payout account calls by a reference of its own, of any
// tenant. ErrNotFound.
func (s *Withdrawals) At(ctx context.Context, account, ref string) (pay.Withdrawal, error) {
	return one(ctx, s, selectWithdrawalAt, withdrawalsTable.scan(s), account, ref)
}

// WithdrawalFilter selects withdrawals of one shop. Zero fields select all.
type WithdrawalFilter struct {
	Status   pay.WithdrawalStatus
	Wallet   string
	From, To time.Time // created at From or later, and before To
	After    string    // ids older than this one
	Limit    int
	Offset   int
}

// List lists a shop's withdrawals, newest first, and counts what the
// filter selects.
func (s *Withdrawals) List(ctx context.Context, scope tenant.Scope, f WithdrawalFilter) ([]pay.Withdrawal, int64, error) {
	to := int64(1<<63 - 1)
	if !f.To.IsZero() {
		to = micros(f.To)
	}
	args := []any{scope.Shop, scope.Live, string(f.Status), f.Wallet, micros(f.From), to}
	total, err := one(ctx, s, countWithdrawals, scanInt, args...)
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, listWithdrawals, withdrawalsTable.scan(s), append(args, before(f.After), f.Limit, f.Offset)...)
	return list, total, err
}

// Lease takes withdrawals that are to be sent or asked about.
func (s *Withdrawals) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Withdrawal, error) {
	return leased(ctx, s, withdrawalDuty, withdrawalsTable.scan(s), now, until, limit)
}
