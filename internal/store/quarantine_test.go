package store

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/store/claims"
	"github.com/cascadapay/cascada/internal/store/due"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/mails"
	"github.com/cascadapay/cascada/internal/store/merchants"
	paymentspkg "github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/payouts"
	"github.com/cascadapay/cascada/internal/store/settlements"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// work is a kind of due work, and how a test inserts its rows.
type work struct {
	duty    base.Duty
	table   string
	columns []engine.Column
	fields  map[string]string // SQL of columns that are not '', 0 or false
	lease   func(ctx context.Context, now, until time.Time) (int, error)
}

func leaser[T any](lease func(context.Context, time.Time, time.Time, int) ([]T, error)) func(context.Context, time.Time, time.Time) (int, error) {
	return func(ctx context.Context, now, until time.Time) (int, error) {
		list, err := lease(ctx, now, until, 100)
		return len(list), err
	}
}

func works(s *Store) []work {
	payments, open := leaser(s.Payments().Lease), leaser(s.Settlements().Lease)
	status := func(word string) map[string]string { return map[string]string{"status": "'" + word + "'"} }
	return []work{
		{paymentspkg.PendingDuty, "payments", paymentspkg.Table.Columns, status("pending"), payments},
		{paymentspkg.ProcessingDuty, "processing", paymentspkg.ProcessingTable.Columns, status("processing"), payments},
		{paymentspkg.EndedDuty, "payments", paymentspkg.Table.Columns, status("expired"), payments},
		{webhooks.DeliveryDuty, "deliveries", webhooks.DeliveriesTable.Columns, map[string]string{"status": "'pending'", "event": "'evt_1'"}, leaser(s.Deliveries().Lease)},
		{claims.Duty, "claims", claims.Table.Columns, status("pending"), leaser(s.Claims().Lease)},
		{payouts.WalletDuty, "wallets", payouts.WalletsTable.Columns, map[string]string{"status": "'pending_verification'", "fingerprint": "'ID'"}, leaser(s.Wallets().Lease)},
		{payouts.WithdrawalDuty, "withdrawals", payouts.Table.Columns, status("pending"), leaser(s.Withdrawals().Lease)},
		{merchants.VerificationDuty, "verifications", merchants.VerificationsTable.Columns, map[string]string{"status": "'requires_input'", "merchant": "'ID'"}, leaser(s.Verifications().Lease)},
		{paymentspkg.SessionDuty, "sessions", paymentspkg.SessionsTable.Columns, map[string]string{"currency_asked": "'USD'", "hash": "'ID'"}, leaser(s.Sessions().Lease)},
		{paymentspkg.LinkDuty, "payment_links", paymentspkg.LinksTable.Columns, nil, leaser(s.PaymentLinks().Lease)},
		{paymentspkg.UseDuty, "link_uses", paymentspkg.UsesTable.Columns, map[string]string{"status": "'paid'"}, leaser(s.PaymentLinks().LeaseUses)},
		{webhooks.ReplayDuty, "replays", webhooks.ReplaysTable.Columns, map[string]string{"status": "'running'", "subscription": "'ID'"}, leaser(s.Replays().Lease)},
		{settlements.Duty, "settlements", settlements.Table.Columns, map[string]string{"status": "'open'", "merchant": "'ID'"}, open},
		{settlements.ReceiptDuty, "settlements", settlements.Table.Columns, map[string]string{"status": "'closed'", "merchant": "'ID'"}, leaser(s.Settlements().LeaseReceipts)},
		{settlements.ReserveDuty, "reserves", settlements.ReservesTable.Columns, nil, leaser(s.Reserves().Lease)},
		{webhooks.FanOutDuty, "fanouts", webhooks.FanOutsTable.Columns, nil, leaser(s.Deliveries().LeaseFanOuts)},
		{mails.Duty, "mails", mails.Table.Columns, status("waiting"), leaser(s.Mails().Lease)},
	}
}

// insert makes a row that is due.
func (w work) insert(id, doc string) string {
	values := make([]string, len(w.columns))
	names := make([]string, len(w.columns))
	for i, c := range w.columns {
		names[i] = c.Name
		values[i] = map[string]string{"TEXT": "''", "BIGINT": "0", "BOOLEAN": "FALSE"}[c.Kind]
		for column, value := range map[string]string{"id": "'ID'", "version": "1", "due_at": "1", "rate": "'1'", "currency_local": "'BRL'", "doc": "'" + doc + "'"} {
			if c.Name == column {
				values[i] = value
			}
		}
		if value, ok := w.fields[c.Name]; ok {
			values[i] = value
		}
	}
	text := "INSERT INTO " + w.table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
	return strings.ReplaceAll(text, "ID", id)
}

// A row of due work that cannot be read does not delay others: it is set aside where operators see it,
// and processed once it can be read.
func TestUnreadableRowDelaysNoOther(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		ctx := t.Context()
		s, err := Open(ctx, database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		all := works(s)
		if len(all) != len(due.Duties()) {
			t.Fatalf("%d kinds of due work are tried, of %d", len(all), len(due.Duties()))
		}
		do := func(text string) {
			t.Helper()
			if err := s.b.DB.Lease(ctx, text, nil, nil); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		event := func(id string) string {
			return `INSERT INTO events (id, merchant, shop, live, type, object, sequence, at, payload, row_hash) VALUES ('` + id + `', '', '', FALSE, '', '` + id + `', 1, 1, '{}', '')`
		}
		do(event("evt_1"))
		do(event("A")) // one for the fan-outs
		do(event("Z"))
		now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		for _, w := range all {
			t.Run(w.duty.Name, func(t *testing.T) {
				bad, spoil, mend := w.insert("BAD", "{"), "", ""
				if number := map[string]string{"reserves": "held", "link_uses": "created_at"}[w.table]; number != "" { // it has no document; PostgreSQL allows nothing else in it either
					if s.b.DB.Dialect() == engine.PostgreSQL {
						return
					}
					bad = w.insert("BAD", "")
					spoil, mend = "UPDATE "+w.table+" SET "+number+" = 'x' WHERE id = 'BAD'", "UPDATE "+w.table+" SET "+number+" = 0 WHERE id = 'BAD'"
				} else if w.table == "fanouts" { // it has no document either, but an event
					bad, mend = w.insert("BAD", ""), event("BAD")
				} else {
					mend = "UPDATE " + w.table + " SET doc = '{}' WHERE id = 'BAD'"
				}
				do(w.insert("A", "{}"))
				if do(bad); spoil != "" {
					do(spoil)
				}
				do(w.insert("Z", "{}"))
				if n, err := w.lease(ctx, now, now.Add(time.Minute)); err != nil || n != 2 {
					t.Errorf("%d rows are leased, want the 2 that can be read: %v", n, err)
				}
				if n, err := w.lease(ctx, now.Add(2*time.Minute), now.Add(3*time.Minute)); err != nil || n != 2 {
					t.Errorf("after that %d rows are leased: %v", n, err)
				}
				list, err := s.Quarantine(ctx)
				if err != nil || len(list) != 1 || list[0].Work != w.duty.Name || list[0].ID != "BAD" || list[0].Reason == "" || !list[0].Since.Equal(now) {
					t.Errorf("set aside are %v, %v", list, err)
				}
				found, _ := s.Check(ctx) // an invariant may fail on such a row; this finding comes first
				if !slices.ContainsFunc(found, func(b check.Broken) bool {
					return b.ID == w.duty.Name+" BAD" && b.Invariant == "a row of due work can be read"
				}) {
					t.Errorf("Check does not name it: %v", found)
				}
				if n, err := w.lease(ctx, now.Add(2*time.Hour), now.Add(3*time.Hour)); err != nil || n != 2 {
					t.Errorf("an hour later %d rows are leased: %v", n, err)
				}
				do(mend)
				if n, err := w.lease(ctx, now.Add(4*time.Hour), now.Add(5*time.Hour)); err != nil || n != 3 {
					t.Errorf("after the repair %d rows are leased, want 3: %v", n, err)
				}
				if list, err := s.Quarantine(ctx); err != nil || len(list) != 0 {
					t.Errorf("after the repair there are %v set aside, %v", list, err)
				}
				do("DELETE FROM " + w.table + " WHERE id IN ('A', 'BAD', 'Z')")
			})
		}
	})
}
