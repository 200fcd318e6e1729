// Package rates has the exchange rates: it reads the operator's feed, accepts or holds what the feed says, and answers what a
// currency is worth. It converts no payment.
package rates

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/rates/feed"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/work"
)

// FX configures the source of exchange rates and how long they are trusted.
type FX struct {
	Feed   *feed.Feed    // a JSON endpoint; nil for none
	Every  time.Duration // between two reads of the feed
	Limits rates.Limits  // zero: those of DefaultFX
}

// DefaultFX has the documented defaults.
func DefaultFX() FX {
	return FX{Every: time.Hour, Limits: rates.DefaultLimits()}
}

// Rates has the exchange rates. It is safe for use by many goroutines.
type Rates struct {
	*base.Base
	FX      FX
	catalog *appaccounts.Catalog
	table   atomic.Pointer[feed.Table]
	// renewing is held while they are reloaded.
	renewing work.Latch
}

// New returns Rates that has read none yet.
func New(b *base.Base, from FX, catalog *appaccounts.Catalog) *Rates {
	return &Rates{Base: b, FX: from, catalog: catalog, renewing: work.NewLatch()}
}

const (
	// Every is how soon a node reads a rate that another node wrote.
	Every = 2 * time.Second
	// feedRetry is the pause after a feed could not be read. It is longer than the request's
	// timeout.
	feedRetry = time.Minute
)

// Reading returns the rate with which a payment is converted. If the operator set none, the sandbox
// uses the built-in one; production does not. Rates belong to no merchant, so their age is measured
// by the service's own clock.
//
// Errors: service_unavailable with the reason no_rate, or stale_rate if the rate is too old.
func (rs *Rates) Reading(live bool, c money.Currency) (rates.Reading, error) {
	table := rs.table.Load()
	if c == money.USD {
		return table.BuiltIn(c), nil
	}
	q := table.Known(c)
	switch {
	case q.Expired(rs.FX.Limits, rs.Now()):
		return rates.Reading{}, noRate(c, "stale_rate")
	case !q.Rate.IsZero():
		return q.Reading, nil
	case live || table.BuiltIn(c).Rate.IsZero():
		return rates.Reading{}, noRate(c, "no_rate")
	}
	return table.BuiltIn(c), nil
}

// Last is the last known rate of a currency for one USD, however old; the built-in one if the operator set none.
//
// Errors: service_unavailable with the reason no_rate.
func (rs *Rates) Last(c money.Currency) (money.Rate, error) {
	table := rs.table.Load()
	if rate := table.Known(c).Rate; !rate.IsZero() && c != money.USD {
		return rate, nil
	}
	if rate := table.BuiltIn(c).Rate; !rate.IsZero() {
		return rate, nil
	}
	return money.Rate{}, noRate(c, "no_rate")
}

func noRate(c money.Currency, reason string) error {
	return &problem.Error{
		Code:    problem.ServiceUnavailable,
		Reason:  noRateForPayments.With(c, RateNeeded(c, reason)),
		Details: problem.Details{Reason: reason},
	}
}

// RateNeeded says what the operator has to do before a currency can be used. A retry does not help.
func RateNeeded(c money.Currency, reason string) problem.Reason {
	if reason == "stale_rate" {
		return rateTooOld.With(c)
	}
	return rateNotSet.With(c)
}

// USD returns the function that converts an environment's local amounts to USD; it returns false if
// no rate is known.
func (rs *Rates) USD(live bool) func(money.Amount, money.Rounding) (money.Amount, bool) {
	return func(local money.Amount, r money.Rounding) (money.Amount, bool) {
		rate, err := rs.Reading(live, local.Currency)
		if err != nil {
			return money.Amount{}, false
		}
		usd, err := rate.Rate.ConvertBack(local, money.USD, r)
		return usd, err == nil
	}
}

// Currency is the currency in which a shopper pays: the rail's own. A sandbox rail that is used in
// another country has that country's.
func (rs *Rates) Currency(live bool, rail accounts.Rail, where geo.Country) money.Currency {
	if !live && where.Alpha3 != rail.Country && rs.table.Load().Knows(where.Currency) {
		return where.Currency
	}
	return rail.Limits[0].Currency
}

// ReadRates reads the rates from the database.
func (rs *Rates) ReadRates(ctx context.Context) error {
	rs.renewing.Lock() // a slow read must not undo a later one
	defer rs.renewing.Unlock()
	known, err := rs.Store.Rates().List(ctx)
	if err != nil {
		return err
	}
	table := rs.table.Load().With(known)
	rs.table.Store(&table)
	return nil
}

// RateChange is what was done with one reading.
type RateChange struct {
	rates.Reading
	Before  money.Rate // zero: there was none
	Verdict rates.Verdict
}

// SetRates sets the operator's rates, all or none. force also accepts rates that jump and rates
// older than the one in use.
//
// It returns an error if a rate is invalid, or if some jump. Then nothing was written.
func (rs *Rates) SetRates(ctx context.Context, by audit.Actor, readings []rates.Reading, force bool) ([]RateChange, error) {
	for _, r := range readings {
		if err := problem.Fit(problem.Text{Param: "source", Text: r.Source, Most: rates.MaxSource}); err != nil {
			return nil, err
		}
	}
	return rs.applyRates(ctx, readings, force, &by)
}

// JumpError says that rates are far from those in use. Nothing was changed.
type JumpError struct {
	Rates []string // currency and rate
	Most  int64    // percent
}

// Error implements error.
func (e *JumpError) Error() string { return e.Unwrap().Error() }

// Unwrap is the reason.
func (e *JumpError) Unwrap() error { return ratesJump.With(e.Rates, e.Most) }

// ImportRates sets the rates of a file (feed.ParseFile).
//
// Errors: those of SetRates, and for a file that cannot be read.
func (rs *Rates) ImportRates(ctx context.Context, by audit.Actor, file []byte, source string, force bool) ([]RateChange, error) {
	readings, err := feed.ParseFile(file, source, rs.Now())
	if err != nil {
		return nil, err
	}
	return rs.SetRates(ctx, by, readings, force)
}

// applyRates decides about readings and writes the result. If they are an operator's, all are
// refused if one jumps, and the audit log has those that were set. by is nil for a feed.
func (rs *Rates) applyRates(ctx context.Context, readings []rates.Reading, force bool, by *audit.Actor) (changes []RateChange, err error) {
	err = base.Again(func() error {
		known, err := rs.Store.Rates().List(ctx)
		if err != nil {
			return err
		}
		table := rs.table.Load().With(known)
		var change pay.Change
		changes = changes[:0]
		var jumps []string
		for _, r := range readings {
			q := table.Known(r.Currency)
			next, verdict, err := q.Accept(r, table.BuiltIn(r.Currency).Rate, rs.FX.Limits, force, rs.Now())
			if err != nil {
				return err
			}
			if verdict == rates.Held {
				jumps = append(jumps, fmt.Sprintf("%s %s", r.Currency, r.Rate.Decimal()))
			}
			if next.Version != q.Version {
				change.Rates = append(change.Rates, next)
				if by != nil {
					change.Rates[len(change.Rates)-1].By = by.ID
					change.Audit = append(change.Audit, rs.auditRate(*by, q, r, force)...)
				}
			}
			changes = append(changes, RateChange{r, q.Rate, verdict})
		}
		if by != nil && len(jumps) > 0 {
			return &JumpError{jumps, rs.FX.Limits.MaxJumpBps / 100}
		}
		if len(change.Rates) == 0 {
			return nil
		}
		return rs.Store.Commit(ctx, change)
	})
	if err != nil {
		return nil, err
	}
	rs.Reread(ctx, "rates", rs.ReadRates)
	return changes, nil
}

// auditRate is the entry of a rate that the operator sets. Rates apply to both environments.
func (rs *Rates) auditRate(by audit.Actor, before rates.KnownRate, r rates.Reading, force bool) []audit.Entry {
	was := "none"
	if !before.Rate.IsZero() {
		was = before.Rate.Decimal()
	}
	return rs.Audited(by, merchants.Scope{Live: true}, audit.RateSet, string(r.Currency), map[string]string{
		"rate": r.Rate.Decimal(), "before": was, "source": r.Source, "observedAt": r.At.UTC().Format(time.RFC3339), "forced": strconv.FormatBool(force),
	})
}

// ReadFeed reads the feed of rates when it is due. One node does this for all.
func (rs *Rates) ReadFeed(ctx context.Context) error {
	now := rs.Now()
	leased, err := rs.Store.Rates().LeaseFeed(ctx, rs.FX.Feed.ID(), now, now.Add(feedRetry))
	if err != nil || !leased {
		return err
	}
	readings, refused, err := rs.FX.Feed.Read(ctx, rs.Now)
	if err != nil {
		if ctx.Err() == nil {
			rs.Log.WarnContext(ctx, "the exchange rates could not be read; the present rates stay in use", "error", err)
		}
		return nil // the feed is due again in a minute
	}
	ours := rs.currencies()
	readings = slices.DeleteFunc(readings, func(r rates.Reading) bool { return !ours[r.Currency] })
	for _, r := range refused {
		if ours[r.Currency] {
			rs.Log.WarnContext(ctx, "a published exchange rate is invalid; the present rate stays in use", "currency", r.Currency, "source", rs.FX.Feed.Source(), "error", r.Err)
		}
	}
	readings = slices.DeleteFunc(readings, func(r rates.Reading) bool { // others are applied
		err := r.Check()
		if err != nil {
			rs.Log.WarnContext(ctx, "a published exchange rate is invalid; the present rate stays in use", "currency", r.Currency, "source", rs.FX.Feed.Source(), "error", err)
		}
		return err != nil
	})
	changes, err := rs.applyRates(ctx, readings, false, nil)
	if err != nil {
		return fmt.Errorf("take the rates of %s: %w", rs.FX.Feed.Source(), err)
	}
	for _, c := range changes {
		if c.Verdict == rates.Held {
			rs.Log.WarnContext(ctx, "a published exchange rate jumps and is not applied: set it with cascada fx set --force, or wait for the next",
				"currency", c.Currency, "published", c.Rate, "source", c.Source)
		}
	}
	return rs.Store.Rates().SettleFeed(ctx, rs.FX.Feed.ID(), now.Add(rs.FX.Every))
}

// currencies are those whose rates are kept: the built-in ones, the catalog's, and those that the
// operator set.
func (rs *Rates) currencies() map[money.Currency]bool {
	ours := map[money.Currency]bool{}
	table := rs.table.Load()
	table.BuiltIns(func(r rates.Reading) { ours[r.Currency] = true })
	table.EachKnown(func(q rates.KnownRate) { ours[q.Currency] = true })
	for _, r := range rs.catalog.ByID {
		for _, l := range r.Limits {
			ours[l.Currency] = true
		}
	}
	return ours
}

// StaleRates lists the rates that are old enough for a warning, among the currencies in which the
// merchant has taken payments.
func (rs *Rates) StaleRates(ctx context.Context, scope merchants.Scope) ([]rates.KnownRate, error) {
	stale := map[money.Currency]rates.KnownRate{}
	now := rs.Now()
	rs.table.Load().EachKnown(func(q rates.KnownRate) {
		if q.Stale(rs.FX.Limits, now) {
			stale[q.Currency] = q
		}
	})
	if len(stale) == 0 { // the normal case: nothing is read
		return nil, nil
	}
	used, err := rs.Store.Rates().RailsUsed(ctx, scope)
	if err != nil {
		return nil, err
	}
	var list []rates.KnownRate
	for _, u := range used {
		rail, ok := rs.catalog.ByID[u.Rail]
		if !ok {
			continue
		}
		where, _ := geo.Parse(u.Country)
		currency := rs.Currency(scope.Live, rail, where)
		if q, ok := stale[currency]; ok {
			list = append(list, q)
			delete(stale, currency)
		}
	}
	slices.SortFunc(list, func(a, b rates.KnownRate) int { return strings.Compare(string(a.Currency), string(b.Currency)) })
	return list, nil
}

// RateStatus is a currency's rate as the operator sees it.
type RateStatus struct {
	rates.KnownRate
	BuiltIn rates.Reading // the sandbox's fallback; Rate is zero if there is none
	State   string        // built-in, fresh, stale or expired
}

// RateList lists the rates for the operator, by currency.
func (rs *Rates) RateList(ctx context.Context) ([]RateStatus, error) {
	if err := rs.ReadRates(ctx); err != nil {
		return nil, err
	}
	now := rs.Now()
	table := rs.table.Load()
	var list []RateStatus
	for currency := range rs.currencies() {
		q := table.Known(currency)
		s := RateStatus{KnownRate: q, BuiltIn: table.BuiltIn(currency), State: "fresh"}
		s.Currency = currency
		switch {
		case currency == money.USD:
			continue
		case q.Rate.IsZero() && s.BuiltIn.Rate.IsZero():
			s.State = "none"
		case q.Rate.IsZero():
			s.State = "built-in"
		case q.Expired(rs.FX.Limits, now):
			s.State = "expired"
		case q.Stale(rs.FX.Limits, now):
			s.State = "stale"
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b RateStatus) int { return strings.Compare(string(a.Currency), string(b.Currency)) })
	return list, nil
}

// RateHistory lists the latest readings of a currency, newest first.
func (rs *Rates) RateHistory(ctx context.Context, c money.Currency) ([]store.PastReading, error) {
	const latest = 100
	return rs.Store.Rates().History(ctx, c, latest)
}

// RateAges returns the age of the oldest rate in use, and how many readings wait for the operator.
// known is false if there are only built-in rates.
func (rs *Rates) RateAges() (oldest time.Duration, known bool, held int) {
	now := rs.Now()
	rs.table.Load().EachKnown(func(q rates.KnownRate) {
		if !q.Held.Rate.IsZero() {
			held++
		}
		if !q.Rate.IsZero() {
			oldest, known = max(oldest, now.Sub(q.At)), true
		}
	})
	return oldest, known, held
}

// LoadRates reads the rates before the first request.
func (rs *Rates) LoadRates(ctx context.Context) error {
	table, err := feed.Reference()
	if err != nil {
		return err
	}
	rs.table.Store(&table)
	return rs.ReadRates(ctx)
}

// Check sets the defaults and refuses contradictory values.
func (f *FX) Check() error {
	defaults := DefaultFX()
	if f.Limits == (rates.Limits{}) {
		f.Limits = defaults.Limits
	}
	if f.Every == 0 {
		f.Every = defaults.Every
	}
	t := f.Limits
	if t.StaleAfter <= 0 || t.MaxAge < t.StaleAfter || t.MaxJumpBps <= 0 || f.Every < time.Second {
		return limitsContradict
	}
	return nil
}

// AskedRate is the rate of the currency of a shop's amount.
//
// Errors: unsupported_currency if no rate is known, service_unavailable if none is reliable.
func (rs *Rates) AskedRate(live bool, c money.Currency) (rates.Reading, error) {
	if err := rs.CheckCurrency(c); err != nil {
		return rates.Reading{}, err
	}
	return rs.Reading(live, c)
}

// Currencies lists the currencies of amounts that a shop may send, sorted by code.
func (rs *Rates) Currencies() []money.Currency { return rs.table.Load().Currencies() }

// CheckCurrency returns an error for a currency that a shop cannot use.
//
// Errors: unsupported_currency.
func (rs *Rates) CheckCurrency(c money.Currency) error {
	if rs.table.Load().Knows(c) {
		return nil
	}
	var codes []string
	for _, c := range rs.Currencies() {
		codes = append(codes, string(c))
	}
	return problem.Field(problem.UnsupportedCurrency, "currency", rateUnknown.With(c, codes))
}
