package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/reconcile"
)

const (
	// reconcileChunk is how many lines, or bookings, are looked up at a time.
	reconcileChunk = 500
	// bookingSlack is how far from the period a booking may be that explains a
	// line: a provider may date a payment days before or after we learn of it.
	bookingSlack = 14 * 24 * time.Hour
)

// Report is a file of a provider's report.
type Report struct {
	Name string
	io.Reader
}

// Comparison is what is compared: a provider account's own report with our books.
type Comparison struct {
	Account string
	Reports []Report // read one after the other, as one
	Format  reconcile.Format
	// What was paid here from From on and before To has to be in the report. Zero:
	// from the first of its dates to the last.
	From, To time.Time
	Shared   bool // others use the account too: see reconcile.Matcher
	DryRun   bool // nothing is kept, and nobody is warned
	// Tell is called with each difference when it is found.
	Tell func(reconcile.Finding)
}

// Compared is what came of a comparison.
type Compared struct {
	pay.Reconciliation // without an ID where nothing was kept
	Totals             reconcile.Totals
}

// Reconcile compares a provider's report with our books, and keeps what came of
// it. Whose books differ is warned until a later comparison finds no difference.
//
// Errors: store.ErrNotFound, that the report has no such columns or no line that
// can be read, that its period is not known.
func (a *App) Reconcile(ctx context.Context, c Comparison) (done Compared, err error) {
	account, err := a.store.Account(ctx, c.Account)
	if err != nil {
		return done, fmt.Errorf("provider account %s: %w", c.Account, err)
	}
	m := &reconcile.Matcher{
		Account: account.ID, Owner: account.Merchant, Shared: c.Shared, Tell: c.Tell,
		Cost: func(p pay.Payment) (money.Amount, bool) { return account.Cost(a.catalog.byID[p.RailID].Key, p.Amount) },
	}
	for _, report := range c.Reports {
		if err := a.readReport(ctx, m, report, c); err != nil {
			return done, err
		}
	}
	if bad := m.Totals.Found[reconcile.BadLine]; bad > 0 && bad == m.Totals.Lines {
		return done, fmt.Errorf("none of the %d lines could be read: is this how the report is written?", bad)
	}
	if m.From, m.To = c.From, c.To; m.From.IsZero() {
		m.From = m.Totals.First
	}
	if m.To.IsZero() {
		m.To = m.Totals.Last.Add(time.Microsecond) // itself too
	}
	switch {
	case m.From.IsZero() || m.Totals.Last.IsZero() && c.To.IsZero():
		return done, errors.New("the report has no line with a date: say which period it is of")
	case !m.From.Before(m.To):
		return done, fmt.Errorf("the period ends at %s, before it begins at %s", m.To.Format(time.RFC3339), m.From.Format(time.RFC3339))
	}
	if err := a.readBookings(ctx, m, account); err != nil {
		return done, err
	}
	m.End()
	done.Totals = m.Totals
	done.Reconciliation = a.concluded(account, m, c)
	if c.DryRun {
		return done, nil
	}
	done.ID = a.NewID(pay.ReconciliationPrefix, done.At)
	return done, a.conclude(ctx, account, done)
}

// ReportFormat is how an account's own report is written: as its adapter says, or
// in the generic columns.
//
// Errors: store.ErrNotFound.
func (a *App) ReportFormat(ctx context.Context, id string) (reconcile.Format, error) {
	account, err := a.store.Account(ctx, id)
	if err != nil {
		return reconcile.Format{}, fmt.Errorf("provider account %s: %w", id, err)
	}
	for _, adapter := range a.Adapters {
		if adapter.Name == account.Adapter && adapter.Report.Title != "" {
			return adapter.Report, nil
		}
	}
	return reconcile.Generic(), nil
}

// readReport hands a report to the matcher, some lines at a time.
func (a *App) readReport(ctx context.Context, m *reconcile.Matcher, report Report, c Comparison) error {
	lines, err := reconcile.NewReader(filepath.Base(report.Name), report, c.Format)
	if err != nil {
		return err
	}
	if !lines.Dated() && (c.From.IsZero() || c.To.IsZero()) {
		return fmt.Errorf("%s has no column of dates: say which period it is of", report.Name)
	}
	var chunk []reconcile.Line
	for end := false; !end; {
		line, err := lines.Next()
		var bad *reconcile.Unreadable
		switch {
		case errors.As(err, &bad):
			m.Bad(filepath.Base(report.Name), bad)
			continue
		case errors.Is(err, io.EOF):
			end = true
		case err != nil:
			return err
		default:
			chunk = append(chunk, line)
		}
		if len(chunk) < reconcileChunk && !end {
			continue
		}
		sales, err := a.salesOf(ctx, chunk)
		if err != nil {
			return err
		}
		for _, line := range chunk {
			m.Line(line, sales)
		}
		chunk = chunk[:0]
	}
	return nil
}

// salesOf reads the payments that lines name, by their own ids or by those of
// their refunds.
func (a *App) salesOf(ctx context.Context, lines []reconcile.Line) (reconcile.Sales, error) {
	var payments, claims []string
	for _, l := range lines {
		p, c := l.Names()
		payments, claims = append(payments, p...), append(claims, c...)
	}
	return a.sales(ctx, payments, claims)
}

// sales reads payments with their claims.
func (a *App) sales(ctx context.Context, payments, claims []string) (reconcile.Sales, error) {
	on, err := a.store.ClaimPayments(ctx, unique(claims))
	if err != nil {
		return nil, err
	}
	list, err := a.store.PaymentsByID(ctx, unique(slices.AppendSeq(payments, maps.Values(on))))
	if err != nil {
		return nil, err
	}
	sales := reconcile.Sales{}
	var ids []string
	for _, p := range list {
		sales[p.ID] = &reconcile.Sale{Payment: p}
		ids = append(ids, p.ID)
	}
	all, err := a.store.ClaimsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		sale := sales[c.Payment]
		sale.Claims = append(sale.Claims, c)
		sales[c.ID] = sale
	}
	return sales, nil
}

func unique(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// readBookings hands what moved in the period to the matcher, merchant by
// merchant. Lines that wait for the provider's own reference are looked for around
// the period too.
func (a *App) readBookings(ctx context.Context, m *reconcile.Matcher, account pay.ProviderAccount) error {
	from, to := m.From, m.To
	kinds := []ledger.Kind{ledger.Capture, ledger.LateCapture, ledger.RefundPaid, ledger.LateRefund}
	if m.Lines() {
		from, to = from.Add(-bookingSlack), to.Add(bookingSlack)
		kinds = append(kinds, ledger.ChargebackHold)
	}
	read := func(merchant string) error {
		for _, kind := range kinds {
			if err := a.readBookingsOf(ctx, m, merchant, account.Live, kind, from, to); err != nil {
				return err
			}
		}
		return nil
	}
	if account.Merchant != "" {
		return read(account.Merchant)
	}
	for after := ""; ; {
		merchants, err := a.store.Booked(ctx, account.Live, after, reconcileChunk)
		if err != nil {
			return err
		}
		for _, merchant := range merchants {
			if err := read(merchant); err != nil {
				return err
			}
			after = merchant
		}
		if len(merchants) < reconcileChunk {
			return nil
		}
	}
}

func (a *App) readBookingsOf(ctx context.Context, m *reconcile.Matcher, merchant string, live bool, kind ledger.Kind, from, to time.Time) error {
	back := kind == ledger.RefundPaid || kind == ledger.LateRefund
	for after := ""; ; {
		page, err := a.store.Bookings(ctx, merchant, live, kind, from, to, after, reconcileChunk)
		if err != nil {
			return err
		}
		var ids []string
		for _, b := range page {
			ids = append(ids, b.Payment)
			from, after = b.At, b.ID
		}
		sales, err := a.sales(ctx, ids, nil)
		if err != nil {
			return err
		}
		for _, b := range page {
			booking := reconcile.Booking{Payment: b.Payment, Claim: b.Claim, Back: back, At: b.At}
			if kind == ledger.ChargebackHold {
				booking.At = time.Time{} // outside of every period: it explains lines, and asks for none
			}
			m.Booked(booking, sales[b.Payment])
		}
		if len(page) < reconcileChunk {
			return nil
		}
	}
}

// concluded is the comparison as it is kept.
func (a *App) concluded(account pay.ProviderAccount, m *reconcile.Matcher, c Comparison) pay.Reconciliation {
	r := pay.Reconciliation{
		Account: account.ID, Live: account.Live, From: m.From, To: m.To, By: a.Self().ID, At: a.Now(),
		Lines: m.Totals.Lines, Charges: m.Totals.Charges, Refunds: m.Totals.Refunds, Charged: m.Totals.Charged, Refunded: m.Totals.Refunded,
		Findings: map[string]int{}, Count: m.Totals.Differences(),
	}
	for _, report := range c.Reports {
		r.Reports = append(r.Reports, filepath.Base(report.Name))
	}
	for fault, n := range m.Totals.Found {
		r.Findings[string(fault)] = n
	}
	return r
}

func (a *App) conclude(ctx context.Context, account pay.ProviderAccount, done Compared) error {
	found := map[string]pay.Drift{}
	for merchant, d := range done.Totals.Merchants {
		found[merchant] = pay.Drift{Findings: d.Count, USD: d.USD}
	}
	return again(func() error {
		open, err := a.store.OpenDrifts(ctx, account.ID)
		if err != nil {
			return err
		}
		change := done.Conclude(open, found)
		change.Audit = a.auditAccount(a.Self(), pay.ProviderReconciled, account, map[string]string{
			"reconciliation": done.ID, "from": done.From.Format(time.RFC3339), "to": done.To.Format(time.RFC3339),
			"lines": strconv.Itoa(done.Lines), "findings": strconv.Itoa(done.Count),
		})
		return a.store.Commit(ctx, change)
	})
}

// Reconciliations lists the newest comparisons with providers' reports, of one
// account or of all.
func (a *App) Reconciliations(ctx context.Context, account string, limit int) ([]pay.Reconciliation, error) {
	return a.store.Reconciliations(ctx, account, limit)
}
