// Package plans has the operator's price plans: it applies them, assigns them to merchants, and says which terms a merchant has at a
// moment. It computes no fee: internal/pay does.
package plans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	apprates "github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/work"
)

// Plans are the operator's price plans.
type Plans struct {
	*base.Base
	rates   *apprates.Rates
	catalog *appaccounts.Catalog
	reading work.Latch // held while the plans are read
	known   int64      // how many versions the book has
	book    atomic.Pointer[plans.Book]
}

// New returns the Plans of a service. Before Read it knows the built-in plans alone.
func New(b *base.Base, rates *apprates.Rates, catalog *appaccounts.Catalog) *Plans {
	pl := &Plans{Base: b, rates: rates, catalog: catalog, reading: work.NewLatch()}
	pl.book.Store(plans.NewBook(nil))
	base.Applies(b, "plan.apply", func(ctx context.Context, by audit.Actor, a application) error {
		_, _, err := pl.Apply(ctx, by, a.Plan, a.From)
		return err
	})
	return pl
}

// Read reads the plans from the database if one was changed.
func (pl *Plans) Read(ctx context.Context) error {
	pl.reading.Lock() // a slow read must not undo a later one
	defer pl.reading.Unlock()
	n, err := pl.Store.Plans().Count(ctx)
	if err != nil || n == pl.known {
		return err
	}
	list, err := pl.Store.Plans().All(ctx)
	if err != nil {
		return fmt.Errorf("price plans: %w", err)
	}
	pl.book.Store(plans.NewBook(list))
	pl.known = int64(len(list))
	return nil
}

// Book is all plans, as this node knows them.
func (pl *Plans) Book() *plans.Book { return pl.book.Load() }

// For is what a payment over the rail costs the merchant now, on the clock of its environment.
func (pl *Plans) For(ctx context.Context, scope merchants.Scope, m merchants.Merchant, rail accounts.Rail) (merchants.Terms, error) {
	v, err := pl.of(ctx, scope, m)
	if err != nil {
		return merchants.Terms{}, err
	}
	return v.For(m, rail, pl.usd)
}

// Agreed is For, with what the merchant's reserve holds, in USD cents, if the terms bound it.
func (pl *Plans) Agreed(ctx context.Context, scope merchants.Scope, m merchants.Merchant, rail accounts.Rail) (merchants.Terms, int64, error) {
	terms, err := pl.For(ctx, scope, m, rail)
	if err != nil || terms.ReserveCap == 0 || terms.ReserveBps == 0 {
		return terms, 0, err
	}
	have, err := pl.Store.Books().Balances(ctx, scope)
	return terms, have[ledger.Reserve], err
}

// Terms are the merchant's terms now, on the clock of its environment. Its Price is that of no payment.
func (pl *Plans) Terms(ctx context.Context, scope merchants.Scope, m merchants.Merchant) (merchants.Terms, error) {
	v, err := pl.of(ctx, scope, m)
	if err != nil {
		return merchants.Terms{}, err
	}
	return v.General(m, pl.usd)
}

// of is the merchant's plan now. Another node may have made the plan a moment ago: then it is read first.
func (pl *Plans) of(ctx context.Context, scope merchants.Scope, m merchants.Merchant) (plans.Version, error) {
	at := pl.TimeOf(scope)
	v, err := pl.Book().Of(m, at)
	if !errors.Is(err, plans.ErrUnknown) {
		return v, err
	}
	if err := pl.Read(ctx); err != nil {
		return v, err
	}
	return pl.Book().Of(m, at)
}

// usd is the worth of an amount of a plan in USD cents, rounded half up. It is of the last rate, however old: a payment is made only
// at a rate that is not, and a closing or a page must not wait for one.
func (pl *Plans) usd(a money.Amount) (int64, error) {
	rate, err := pl.rates.Last(a.Currency)
	if err != nil {
		return 0, err
	}
	usd, err := rate.ConvertBack(a, money.USD, money.HalfUp)
	return usd.Minor, err
}

// Check validates a plan, including whether its rails exist and its currency has a rate.
//
// Errors: invalid_request.
func (pl *Plans) Check(p plans.Plan) error {
	if err := p.Check(); err != nil {
		return err
	}
	if p.Currency != "" {
		if _, err := pl.rates.Last(p.Currency); err != nil {
			return problem.Field(problem.InvalidRequest, "currency", currencyWithoutRate.With(p.Currency))
		}
	}
	return pl.checkPrices(p.Prices)
}

// checkPrices finds prices that fit no rail.
func (pl *Plans) checkPrices(list []plans.Price) error {
	var wrong []problem.Issue
	for i, p := range list {
		if !slices.ContainsFunc(slices.Concat(pl.catalog.Live, pl.catalog.Sandbox), p.Fits) {
			wrong = append(wrong, problem.Issue{Path: fmt.Sprintf("prices[%d]", i), Reason: priceOfNoRail})
		}
	}
	return problem.Invalid(wrong...)
}

// from is the time from which a change is in force: as given, or as soon as all nodes know it.
//
// Errors: invalid_request for a time in the past.
func (pl *Plans) from(at time.Time) (time.Time, error) {
	now := pl.Now()
	switch {
	case at.IsZero():
		return now, nil
	case at.Before(now.Add(-time.Minute)):
		return at, problem.Field(problem.InvalidRequest, "from", planFromPast)
	case at.After(now.AddDate(2, 0, 0)):
		return at, problem.Field(problem.InvalidRequest, "from", planFromFar)
	}
	return at, nil
}

// application is a plan that is applied from a time on.
type application struct {
	Plan  plans.Plan
	From  time.Time
	After int64 // the newest version when it was proposed; 0: there was none
}

// Apply makes a plan, or changes one, from a time on; a zero time is now. All nodes use it within base.CacheTTL. Payments that exist
// keep their terms. Applying what is in force already changes nothing.
//
// Errors: invalid_request; those of base.DualControls.Require.
func (pl *Plans) Apply(ctx context.Context, by audit.Actor, p plans.Plan, from time.Time) (v plans.Version, changed bool, err error) {
	if err := pl.Check(p); err != nil {
		return v, false, err
	}
	wanted := from
	if from, err = pl.from(from); err != nil {
		return v, false, err
	}
	err = base.Again(func() error {
		if err := pl.Read(ctx); err != nil {
			return err
		}
		list := pl.Book().Versions(p.Name)
		v = plans.Version{Plan: p, Number: 1, From: from, At: pl.Now()}
		if n := len(list); n > 0 {
			last := list[n-1]
			if last.Currency != p.Currency { // the exceptions of its merchants are in it
				return problem.Field(problem.InvalidRequest, "currency", currencyStays.With(p.Name, last.In()))
			}
			if changed = !last.Plan.Same(p) || last.From.After(from); !changed {
				v = last
				return nil
			}
			v.Number = last.Number + 1
		}
		if err := pl.Dual.Require(ctx, by, base.Ask{
			Right: operators.Prices, Kind: "plan.apply", Subject: p.Name, Details: map[string]string{"from": from.UTC().Format(time.RFC3339), "plan": p.Text()},
			Body: application{p, wanted, v.Number - 1},
		}); err != nil {
			return err
		}
		changed = true
		return pl.Store.Commit(ctx, pay.Change{
			Plans: []plans.Version{v},
			Audit: pl.Audited(by, merchants.Scope{Live: true}, audit.PlanApplied, p.Name, map[string]string{
				"version": strconv.FormatInt(v.Number, 10), "from": from.UTC().Format(time.RFC3339), "plan": p.Text(),
			}),
		})
	})
	if err != nil {
		return v, false, err
	}
	pl.Reread(ctx, "price plans", pl.Read)
	return v, changed, nil
}

// Assignment is what a merchant is given.
type Assignment struct {
	Plan   string
	Own    plans.Exceptions
	From   time.Time // zero: now
	Reason string    // for the audit log
}

// Check validates an assignment.
//
// Errors: invalid_request; not_found is never one: a plan that does not exist is a wrong field.
func (pl *Plans) check(a Assignment) error {
	v, known := pl.Book().At(a.Plan, a.From)
	if !known {
		return Unknown(pl.Book(), a.Plan)
	}
	if v.From.After(a.From) {
		return problem.Field(problem.InvalidRequest, "from", planNotYet.With(a.Plan, v.From.UTC()))
	}
	if err := a.Own.Check(v.Plan); err != nil {
		return err
	}
	return pl.checkPrices(a.Own.Prices)
}

// Assign adds the assignment to a merchant, and the entry for the audit log. The caller writes both.
//
// Errors: invalid_request, conflict_state for too many assignments.
func (pl *Plans) Assign(m merchants.Merchant, by audit.Actor, a Assignment) (merchants.Merchant, []audit.Entry, error) {
	var err error
	if a.From, err = pl.from(a.From); err != nil {
		return m, nil, err
	}
	if err = pl.check(a); err != nil {
		return m, nil, err
	}
	given := merchants.Assignment{Plan: a.Plan, From: a.From, Own: a.Own.Text()}
	if n := len(m.Assignments); n > 0 {
		if last := m.Assignments[n-1]; last.Plan == given.Plan && last.Own == given.Own && !last.From.After(given.From) {
			return m, nil, nil // the merchant has this plan already
		}
	}
	next, err := m.Assign(given, pl.Now())
	if err != nil {
		return m, nil, err
	}
	details := map[string]string{"plan": a.Plan, "from": a.From.UTC().Format(time.RFC3339)}
	if given.Own != "" {
		details["exceptions"] = given.Own
	}
	return next, pl.Noted(by, merchants.Scope{Merchant: m.ID, Live: true}, audit.PlanAssigned, m.ID, a.Reason, details), nil
}
