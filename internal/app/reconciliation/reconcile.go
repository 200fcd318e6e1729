// Package reconciliation compares providers' reports with the books, and keeps the results. It
// corrects nothing: people deal with the discrepancies.
package reconciliation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/comparison"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/provider"
)

// Reconciliation compares providers' reports with the books.
type Reconciliation struct {
	*base.Base
	providers *appaccounts.Providers
	catalog   *appaccounts.Catalog
	adapters  []provider.Adapter
}

// New returns a Reconciliation for accounts at these adapters.
func New(b *base.Base, providers *appaccounts.Providers, catalog *appaccounts.Catalog, adapters []provider.Adapter) *Reconciliation {
	return &Reconciliation{b, providers, catalog, adapters}
}

const (
	// reconcileChunk is how many lines, or transfers, are looked up at a time.
	reconcileChunk = 500
	// bookingSlack is how far outside the period a transfer that explains a line may be: a provider
	// may date a payment days before or after we learn of it.
	bookingSlack = 14 * 24 * time.Hour
)

// comparing is the comparison for one kind of account.
type comparing interface {
	lines(ctx context.Context, list []reconcile.Line) error
	bad(file string, u *reconcile.Unreadable)
	totals() *reconcile.Totals
	bookings(ctx context.Context, from, to time.Time) error
	end()
}

// Report is a file of a provider's report.
type Report struct {
	Name string
	io.Reader
}

// Comparison describes a comparison of a provider account's report with our books.
type Comparison struct {
	Account string
	Reports []Report // read one after the other, as one report
	Format  reconcile.Format
	// Our payments from From (inclusive) to To (exclusive) must be in the report. Zero: from the
	// first of its dates to the last.
	From, To time.Time
	Shared   bool        // others use the account too: see reconcile.Matcher
	DryRun   bool        // nothing is kept, and there are no warnings
	By       audit.Actor // who compares; zero: the operator at the command line
	// Tell is called with each discrepancy as it is found.
	Tell func(reconcile.Finding)
}

// Compared is the result of a comparison.
type Compared struct {
	comparison.Result // without an ID if nothing was kept
	Totals            reconcile.Totals
}

// Reconcile compares a provider's report with our books, and keeps the result. Merchants whose
// books differ are warned until a later comparison finds no difference.
//
// Errors: store.ErrNotFound; other errors if the report lacks the columns, if no line can be read,
// or if its period is not known.
func (rc *Reconciliation) Reconcile(ctx context.Context, c Comparison) (done Compared, err error) {
	if c.By == (audit.Actor{}) {
		c.By = rc.Self()
	}
	account, err := rc.Store.Accounts().Get(ctx, c.Account)
	if err != nil {
		return done, fmt.Errorf("provider account %s: %w", c.Account, err)
	}
	adapter, err := rc.providers.Adapter(account.Adapter)
	if err != nil {
		return done, err
	}
	from, to := c.From.Truncate(time.Microsecond), c.To.Truncate(time.Microsecond) // the stored precision
	var of comparing = &chargesCompared{rc, account, &reconcile.Matcher{
		Account: account.ID, Owner: account.Merchant, Shared: c.Shared, Tell: c.Tell,
		Cost: func(p pay.Payment) (money.Amount, bool) {
			return account.Cost(rc.catalog.ByID[p.Way.RailID].Key, p.Price.Amount)
		},
	}}
	if adapter.OpenPayouts != nil {
		of = &payoutsCompared{rc, account, &reconcile.PayoutMatcher{Account: account.ID, Live: account.Live, Owner: account.Merchant, Shared: c.Shared, Tell: c.Tell}}
	}
	for _, report := range c.Reports {
		if err := rc.readReport(ctx, of, report, c); err != nil {
			return done, err
		}
	}
	totals := of.totals()
	if bad := totals.Found[reconcile.BadLine]; bad > 0 && bad == totals.Lines {
		return done, fmt.Errorf("none of the %d lines could be read: check the report's format", bad)
	}
	if from.IsZero() {
		from = totals.First
	}
	if to.IsZero() {
		to = totals.Last.Add(time.Microsecond) // inclusive
	}
	switch {
	case from.IsZero() || totals.Last.IsZero() && c.To.IsZero():
		return done, errors.New("the report has no line with a date: give its period")
	case c.From.IsZero() && c.To.IsZero() && totals.First.Equal(totals.Last):
		return done, errors.New("all lines of the report have the same time, so nothing could be missing: give its period")
	case !from.Before(to):
		return done, fmt.Errorf("the period ends at %s, before it begins at %s", to.Format(time.RFC3339), from.Format(time.RFC3339))
	}
	if err := of.bookings(ctx, from, to); err != nil {
		return done, err
	}
	of.end()
	done.Totals = *totals
	done.Result = rc.concluded(account, from, to, *totals, c)
	done.PaysOut = adapter.OpenPayouts != nil
	if c.DryRun {
		return done, nil
	}
	done.ID = rc.NewID(comparison.Prefix, done.At)
	return done, rc.conclude(ctx, c.By, account, done)
}

// ReportFormat is the format of an account's report: its adapter's, or the generic columns.
//
// Errors: store.ErrNotFound.
func (rc *Reconciliation) ReportFormat(ctx context.Context, id string) (reconcile.Format, error) {
	account, err := rc.Store.Accounts().Get(ctx, id)
	if err != nil {
		return reconcile.Format{}, fmt.Errorf("provider account %s: %w", id, err)
	}
	for _, adapter := range rc.adapters {
		switch {
		case adapter.Name != account.Adapter:
		case adapter.Report.Title != "":
			return adapter.Report, nil
		case adapter.OpenPayouts != nil:
			return reconcile.GenericPayouts(), nil
		}
	}
	return reconcile.Generic(), nil
}

// readReport passes a report to the comparison, some lines at a time.
func (rc *Reconciliation) readReport(ctx context.Context, of comparing, report Report, c Comparison) error {
	lines, err := reconcile.NewReader(filepath.Base(report.Name), report, c.Format)
	if err != nil {
		return err
	}
	if !lines.Dated() && (c.From.IsZero() || c.To.IsZero()) {
		return fmt.Errorf("%s has no column of dates: give its period", report.Name)
	}
	var chunk []reconcile.Line
	for end := false; !end; {
		line, err := lines.Next()
		var bad *reconcile.Unreadable
		switch {
		case errors.As(err, &bad):
			of.bad(filepath.Base(report.Name), bad)
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
		if err := of.lines(ctx, chunk); err != nil {
			return err
		}
		chunk = chunk[:0]
	}
	return nil
}

// concluded is the comparison in its stored form.
func (rc *Reconciliation) concluded(account accounts.Account, from, to time.Time, t reconcile.Totals, c Comparison) comparison.Result {
	r := comparison.Result{
		Account: account.ID, Live: account.Live, From: from, To: to, By: c.By.ID, At: rc.Now(),
		Lines: t.Lines, Charges: t.Charges, Refunds: t.Refunds, Charged: t.Charged, Refunded: t.Refunded,
		Findings: map[string]int{}, Count: t.Differences(),
	}
	for _, report := range c.Reports {
		r.Reports = append(r.Reports, filepath.Base(report.Name))
	}
	for discrepancy, n := range t.Found {
		r.Findings[string(discrepancy)] = n
	}
	return r
}

func (rc *Reconciliation) conclude(ctx context.Context, by audit.Actor, account accounts.Account, done Compared) error {
	found := map[string]comparison.Drift{}
	for merchant, d := range done.Totals.Merchants {
		found[merchant] = comparison.Drift{Findings: d.Count, USD: d.USD}
	}
	return base.Again(func() error {
		open, err := rc.Store.Reconciliations().OpenDrifts(ctx, account.ID)
		if err != nil {
			return err
		}
		change := pay.Change{Reconciliations: []comparison.Result{done.Result}, Drifts: done.Drifts(open, found)}
		change.Audit = rc.providers.AuditAccount(by, audit.ProviderReconciled, account, map[string]string{
			"reconciliation": done.ID, "from": done.From.Format(time.RFC3339), "to": done.To.Format(time.RFC3339),
			"lines": strconv.Itoa(done.Lines), "findings": strconv.Itoa(done.Count),
		})
		return rc.Store.Commit(ctx, change)
	})
}

// Reconciliations lists the newest comparisons with providers' reports, of one account or of all.
func (rc *Reconciliation) Reconciliations(ctx context.Context, account string, limit int) ([]comparison.Result, error) {
	return rc.Store.Reconciliations().List(ctx, account, "", limit)
}
