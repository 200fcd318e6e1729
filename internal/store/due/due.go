// Package due lists waiting work over all nouns: what comes due and when, what is open, what is
// quarantined.
//
// It leases nothing: each noun leases its own.
package due

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/chain"
	"github.com/cascadapay/cascada/internal/store/claims"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/mails"
	"github.com/cascadapay/cascada/internal/store/merchants"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/payouts"
	"github.com/cascadapay/cascada/internal/store/settlements"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// Duties are the tables of due work. A table that is missing here has no gauge.
func Duties() []base.Duty {
	return []base.Duty{
		payments.PendingDuty, payments.ProcessingDuty, payments.EndedDuty, webhooks.DeliveryDuty, claims.Duty, payouts.WalletDuty, payouts.WithdrawalDuty, merchants.VerificationDuty,
		payments.SessionDuty, payments.LinkDuty, payments.UseDuty, webhooks.ReplayDuty,
		settlements.Duty, settlements.ReceiptDuty, settlements.ReserveDuty, mails.Duty, webhooks.FanOutDuty,
	}
}

var oldestDue = engine.Statement(func() string {
	var parts []string
	for _, d := range Duties() {
		parts = append(parts, d.Oldest)
	}
	parts = append(parts, chain.OldestMark, payments.OldestFacts)
	return strings.Join(parts, "\nUNION ALL\n")
}())

// Oldest returns the earliest due time of each kind of work; zero where nothing waits. Work that waits for
// a test clock does not count.
func Oldest(ctx context.Context, s *base.Base) (map[string]time.Time, error) {
	due := map[string]time.Time{}
	err := s.Query(ctx, oldestDue, nil, func(r engine.Row) error {
		var kind string
		var at int64
		err := r.Scan(&kind, &at)
		due[kind] = table.FromMicros(at)
		return err
	})
	return due, err
}

// ParkedWork is the kind of deliveries that wait for their endpoint. Next alone knows it.
const ParkedWork = "parked"

// anyParked reports whether there are such deliveries.
const anyParked = `SELECT '` + ParkedWork + `' AS kind, 1 AS due FROM deliveries WHERE parked LIMIT 1`

var (
	nextDue = engine.Statement(firstOf(func(d base.Duty) string { return d.Next },
		anyParked, `SELECT '`+chain.SealWork+`' AS kind, min(at) AS due FROM unsealed`, `SELECT '`+payments.FactsWork+`' AS kind, min(at) AS due FROM facts`))
	nextClocked = engine.Statement(firstOf(func(d base.Duty) string { return d.OnClock }))
)

// firstOf joins each duty's query, and more, into one statement.
func firstOf(of func(base.Duty) string, more ...string) string {
	parts := more
	for _, d := range Duties() {
		parts = append(parts, of(d))
	}
	for i, part := range parts {
		parts[i] = fmt.Sprintf("SELECT kind, due FROM (%s) AS next%d WHERE due IS NOT NULL", part, i)
	}
	return strings.Join(parts, "\nUNION ALL\n")
}

// Next returns when the next row of each kind of work comes due, in the service's clock; kinds without
// waiting work are missing. Parked deliveries are a kind that is always due, since they wait for endpoints.
// It takes one statement, or two if a test clock was moved, and reads the first row of each index.
func Next(ctx context.Context, s *base.Base) (map[string]time.Time, error) {
	due := map[string]time.Time{}
	each := func(r engine.Row) error {
		var kind string
		var micros int64
		if err := r.Scan(&kind, &micros); err != nil {
			return err
		}
		if at := table.FromMicros(micros); due[kind].IsZero() || at.Before(due[kind]) {
			due[kind] = at
		}
		return nil
	}
	if err := s.Query(ctx, nextDue, nil, each); err != nil || !s.Clocked.Load() {
		return due, err
	}
	return due, s.Query(ctx, nextClocked, nil, each)
}
