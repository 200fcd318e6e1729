package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

const withdrawalSpec = "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, wallet TEXT!, status TEXT, " +
	"amount BIGINT!, fee BIGINT!, sequence BIGINT, due_at BIGINT, created_at BIGINT!, updated_at BIGINT, provider TEXT, provider_ref TEXT, batch TEXT, doc TEXT"

const withdrawalColumns = `id, merchant, shop, live, version, wallet, status, amount, fee, sequence, due_at, created_at, updated_at, provider, provider_ref, batch, doc`

var withdrawalsTable = newTable("withdrawals", withdrawalSpec,
	func(w *pay.Withdrawal) string { return w.ID }, func(w *pay.Withdrawal) int64 { return w.Version }, withdrawalRow)

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

func withdrawalRow(r *rows, w *pay.Withdrawal) {
	doc := withdrawalDoc{"", "", w.Checks, w.FailureCode, w.FailureMessage,
		micros(w.SentAt), micros(w.CompletedAt), micros(w.FailedAt), w.Accepted, w.Found, w.Flight,
		w.Why, w.Passed, w.Round, w.Tried, w.Waiting, w.Said, w.BankRef, w.ApprovedBy, w.Local.Minor, w.Local.Currency, "", w.RateSource, micros(w.RateAt),
		w.Float.Minor, w.Float.Currency}
	if !w.Rate.IsZero() {
		doc.Rate = w.Rate.Decimal()
	}
	r.text(w.ID, w.Merchant, w.Shop).flag(w.Live).number(w.Version).text(w.Wallet, string(w.Status)).
		number(w.Amount, w.Fee, w.Sequence, micros(w.DueAt), micros(w.CreatedAt), micros(w.UpdatedAt)).text(w.Provider, w.ProviderRef, w.Batch, encode(doc))
}

func scanWithdrawal(r row) (pay.Withdrawal, error) {
	var w pay.Withdrawal
	var due, created, updated int64
	var text string
	err := r.Scan(&w.ID, &w.Merchant, &w.Shop, &w.Live, &w.Version, &w.Wallet, &w.Status, &w.Amount, &w.Fee, &w.Sequence,
		&due, &created, &updated, &w.Provider, &w.ProviderRef, &w.Batch, &text)
	if err != nil {
		return w, err
	}
	var doc withdrawalDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return w, fmt.Errorf("withdrawal %s: %w", w.ID, err)
	}
	w.Provider, w.ProviderRef = cmp.Or(w.Provider, doc.Provider), cmp.Or(w.ProviderRef, doc.ProviderRef)
	w.Checks = doc.Checks
	w.FailureCode, w.FailureMessage, w.Accepted, w.Found, w.Flight = doc.FailureCode, doc.FailureMessage, doc.Accepted, doc.Found, doc.Flight
	w.Why, w.Passed, w.Round, w.Tried, w.Waiting, w.Said, w.BankRef, w.ApprovedBy = doc.Why, doc.Passed, doc.Round, doc.Tried, doc.Waiting, doc.Said, doc.BankRef, doc.ApprovedBy
	w.Conversion = pay.Conversion{Local: money.New(doc.Local, doc.Currency), RateSource: doc.RateSource, RateAt: fromMicros(doc.RateAt)}
	w.Float = money.New(doc.Float, doc.FloatOf)
	if doc.Rate != "" {
		if w.Rate, err = money.ParseRate(doc.Rate); err != nil {
			return w, fmt.Errorf("withdrawal %s: %w", w.ID, err)
		}
	}
	w.SentAt, w.CompletedAt, w.FailedAt = fromMicros(doc.SentAt), fromMicros(doc.CompletedAt), fromMicros(doc.FailedAt)
	w.DueAt, w.CreatedAt, w.UpdatedAt = fromMicros(due), fromMicros(created), fromMicros(updated)
	return w, nil
}

// byWithdrawal is the filter of the list and of its count.
const byWithdrawal = `shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND ($4 = '' OR wallet = $4) AND created_at >= $5 AND created_at < $6`

const (
	selectWithdrawal = `SELECT ` + withdrawalColumns + ` FROM withdrawals WHERE id = $1 AND shop = $2 AND live = $3`
	listWithdrawals  = `SELECT ` + withdrawalColumns + ` FROM withdrawals WHERE ` + byWithdrawal + ` AND id < $7 ORDER BY id DESC LIMIT $8 OFFSET $9`
	// An account that was told of by its own reference alone.
	selectWithdrawalAt = `SELECT ` + withdrawalColumns + ` FROM withdrawals WHERE provider = $1 AND provider_ref = $2 AND provider_ref <> '' ORDER BY id LIMIT 1`
	countWithdrawals   = `SELECT count(*) FROM withdrawals WHERE ` + byWithdrawal
)

// Withdrawal reads a shop's withdrawal. ErrNotFound also where it is another's.
func (s *Store) Withdrawal(ctx context.Context, scope pay.Scope, id string) (pay.Withdrawal, error) {
	return one(ctx, s, selectWithdrawal, scanWithdrawal, id, scope.Shop, scope.Live)
}

// WithdrawalAt reads the withdrawal that a payout account calls by a reference of its own, of any
// tenant. ErrNotFound.
func (s *Store) WithdrawalAt(ctx context.Context, account, ref string) (pay.Withdrawal, error) {
	return one(ctx, s, selectWithdrawalAt, scanWithdrawal, account, ref)
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

// Withdrawals lists a shop's withdrawals, newest first, and counts what the
// filter selects.
func (s *Store) Withdrawals(ctx context.Context, scope pay.Scope, f WithdrawalFilter) ([]pay.Withdrawal, int64, error) {
	to := int64(1<<63 - 1)
	if !f.To.IsZero() {
		to = micros(f.To)
	}
	args := []any{scope.Shop, scope.Live, string(f.Status), f.Wallet, micros(f.From), to}
	total, err := one(ctx, s, countWithdrawals, scanInt, args...)
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, listWithdrawals, scanWithdrawal, append(args, before(f.After), f.Limit, f.Offset)...)
	return list, total, err
}

// LeaseWithdrawals takes withdrawals that are to be sent or asked about.
func (s *Store) LeaseWithdrawals(ctx context.Context, now, until time.Time, limit int) ([]pay.Withdrawal, error) {
	return leased(ctx, s, withdrawalDuty, scanWithdrawal, now, until, limit)
}

func payoutQueries() []string {
	return []string{
		walletsTable.insert, walletsTable.update, selectWallet, selectDefaultWallet, selectWalletFor, listWallets, countWallets, selectWalletsAfter,
		withdrawalsTable.insert, withdrawalsTable.update, selectWithdrawal, selectWithdrawalAt, listWithdrawals, countWithdrawals,
		verificationsTable.insert, verificationsTable.update, selectVerification, selectAnyVerification, selectOpenVerification,
		selectLevels, listVerifications,
	}
}
