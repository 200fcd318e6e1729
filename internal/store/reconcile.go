package store

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

var (
	// Who has money moved by providers, from behind a merchant.
	selectBooked = engine.Statement(`SELECT merchant FROM balances WHERE live = $1 AND merchant > $2 ORDER BY merchant LIMIT $3`)

	// The index of a merchant's transfers by kind and time is walked: what was paid in
	// a period is found by when it was paid, however long before it was asked for.
	selectBookings = engine.Statement(`
SELECT t.id, t.payment, t.claim, t.at FROM transfers AS t
WHERE t.merchant = $1 AND t.live = $2 AND t.kind = $3 AND t.at >= $4 AND t.at < $5 AND (t.at > $4 OR t.id > $6)
ORDER BY t.at, t.id LIMIT $7`)

	selectClaimPayments = engine.Statement(`SELECT c.id, c.payment FROM {rows: id TEXT} AS r JOIN claims AS c ON c.id = r.id`)
)

var (
	selectWithdrawalsByID = engine.Statement(`SELECT ` + withdrawalsTable.ListOf("w") + ` FROM {rows: id TEXT} AS r JOIN withdrawals AS w ON w.id = r.id`)
	selectWithdrawalsAt   = engine.Statement(`SELECT ` + withdrawalsTable.ListOf("w") + ` FROM {rows: account TEXT, ref TEXT} AS r
JOIN withdrawals AS w ON w.provider = r.account AND w.provider_ref = r.ref AND w.provider_ref <> ''`)
)

var selectClaimsOf = engine.Statement(`SELECT ` + claimsTable.ListOf("c") + ` FROM {rows: id TEXT} AS r JOIN claims AS c ON c.payment = r.id ORDER BY c.id`)

// paymentsByID is one statement a table: a merchant's payment is in one of them.
var paymentsByID = func() (list []string) {
	for _, table := range []string{"payments", "processing"} {
		list = append(list, engine.Statement(`SELECT `+paymentsTable.ListOf("p")+`
FROM {rows: id TEXT} AS r JOIN `+table+` AS p ON p.id = r.id`))
	}
	return list
}()

// ByID reads payments of any tenant; those that do not exist are left
// out. It is for the operator.
func (s *Payments) ByID(ctx context.Context, ids []string) (list []pay.Payment, err error) {
	for _, text := range paymentsByID {
		found, err := base.Many(ctx, s.b, text, paymentsTable.Scan(s.b.Personal), s.b.IDs(ids)...)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// Of reads all claims on payments of any tenant, for the operator.
func (s *Claims) Of(ctx context.Context, payments []string) ([]pay.Claim, error) {
	return base.Many(ctx, s.b, selectClaimsOf, claimsTable.Scan(s.b.Personal), s.b.IDs(payments)...)
}

// PaymentsOf says which payments claims are on; claims that do not exist are
// left out.
func (s *Claims) PaymentsOf(ctx context.Context, claims []string) (map[string]string, error) {
	found := map[string]string{}
	err := s.b.Query(ctx, selectClaimPayments, s.b.IDs(claims), func(r engine.Row) error {
		var claim, payment string
		err := r.Scan(&claim, &payment)
		found[claim] = payment
		return err
	})
	return found, err
}

// ByID reads withdrawals of any tenant, for the operator; those that do not exist are left out.
func (s *Withdrawals) ByID(ctx context.Context, ids []string) ([]pay.Withdrawal, error) {
	return base.Many(ctx, s.b, selectWithdrawalsByID, withdrawalsTable.Scan(s.b.Personal), s.b.IDs(ids)...)
}

// AtEach reads the withdrawals that a payout account calls by references of its own.
func (s *Withdrawals) AtEach(ctx context.Context, account string, references []string) ([]pay.Withdrawal, error) {
	r := engine.NewRows(s.b.DB.Dialect(), atColumns, len(references))
	for _, ref := range references {
		r.Text(account, ref).Next()
	}
	return base.Many(ctx, s.b, selectWithdrawalsAt, withdrawalsTable.Scan(s.b.Personal), r.Args()...)
}

var atColumns = engine.ParseColumns("account TEXT, ref TEXT")

// Booked lists merchants that have books in an environment, by id, from behind
// one.
func (s *Books) Booked(ctx context.Context, live bool, after string, limit int) ([]string, error) {
	return base.Many(ctx, s.b, selectBooked, func(r engine.Row) (id string, err error) { return id, r.Scan(&id) }, live, after, limit)
}

// Booking is a transfer, as far as it says which payment money moved for.
type Booking struct {
	ID      string
	Payment string
	Claim   string // "" for a capture
	At      time.Time
}

// Bookings lists a merchant's transfers of a kind from a time on and before
// another, in order of time; of that first time itself from behind a transfer.
func (s *Books) Bookings(ctx context.Context, merchant string, live bool, kind ledger.Kind, from, to time.Time, after string, limit int) ([]Booking, error) {
	return base.Many(ctx, s.b, selectBookings, func(r engine.Row) (b Booking, err error) {
		var at int64
		err = r.Scan(&b.ID, &b.Payment, &b.Claim, &at)
		b.At = table.FromMicros(at)
		return b, err
	}, merchant, live, string(kind), table.Micros(from), table.Micros(to), after, limit)
}
