package rates

import (
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// MaxSource is the longest name of a rate's source, in characters.
const MaxSource = 100

// Reading is an exchange rate from a source: how many units of Currency one US dollar buys.
type Reading struct {
	Currency money.Currency
	Rate     money.Rate
	Source   string
	At       time.Time // time of the rate
}

// Conversion is what arrives for the USD of a withdrawal. It is zero for a token, for which no rate
// is kept: the account that pays it out pays the value of the USD.
type Conversion struct {
	Local      money.Amount // in the wallet's currency
	Rate       money.Rate   // of one USD
	RateSource string
	RateAt     time.Time
}

// Into converts a USD amount that is paid out with the reading.
func (r Reading) Into(usd money.Amount) (Conversion, error) {
	local, err := r.Rate.Payout(usd, r.Currency)
	return Conversion{Local: local, Rate: r.Rate, RateSource: r.Source, RateAt: r.At}, err
}

// Reading is the rate of the conversion.
func (c Conversion) Reading() Reading {
	return Reading{Currency: c.Local.Currency, Rate: c.Rate, Source: c.RateSource, At: c.RateAt}
}

// KnownRate is the known rate of a currency. Payments are converted with its Reading.
type KnownRate struct {
	Reading         // the rate in use; Rate is zero if none was ever applied
	Version   int64 // 1 when first written; each written change adds one
	Held      Reading
	UpdatedAt time.Time

	// The reading of the last change; it goes into the history.
	Last    Reading
	Verdict Verdict
	By      string // the operator's user and host; "" for the service itself
}

// Verdict is what was done with a reading.
type Verdict string

// The verdicts.
const (
	Applied Verdict = "applied"
	Held    Verdict = "held"  // the step is too large: the operator decides
	Known   Verdict = "known" // no newer than the rate in use: nothing was written
)

// Limits are the limits for accepting rates.
type Limits struct {
	StaleAfter time.Duration // older rates cause a warning
	MaxAge     time.Duration // older rates are not used for new charges
	MaxJumpBps int64         // a larger step, in 1/10,000 of the rate in use, waits for the operator
}

// DefaultLimits has the documented defaults.
func DefaultLimits() Limits {
	return Limits{StaleAfter: 24 * time.Hour, MaxAge: 7 * 24 * time.Hour, MaxJumpBps: 20_00}
}

// mostLocal is the largest payment in the smallest units of a currency that a rate may make: sums of thousands of them
// fit an amount.
const mostLocal = 1_000_000_000_000_000

// Check reports whether amounts of the currency can be held at the rate: the largest payment is not too many of the
// smallest unit, and that unit is worth at most a dollar.
//
// Errors: invalid_request.
func (r Reading) Check() error {
	most, err := r.Rate.Price(money.New(accounts.MaxAmount, money.USD), r.Currency)
	unit, unitErr := r.Rate.OwedInUSD(money.New(1, r.Currency))
	if err == nil && unitErr == nil && most.Minor <= mostLocal && unit.Minor <= 100 {
		return nil
	}
	return problem.Field(problem.InvalidRequest, "rate", rateImpossible.With(r.Rate, r.Currency, accounts.MaxAmountText))
}

// Accept decides about a reading. It never replaces a newer rate. If it differs from the rate in use
// by more than the limits allow, it is held, and the rate in use stays. If none is in use, it is
// compared with builtIn; zero means no comparison. With force, an operator's command, it is always
// applied.
//
// Errors: invalid_request for US dollars, for a time in the future, and for a rate at which amounts cannot be held
// (Check), even with force.
func (k KnownRate) Accept(r Reading, builtIn money.Rate, limits Limits, force bool, now time.Time) (KnownRate, Verdict, error) {
	r.At = r.At.UTC().Truncate(time.Microsecond) // the stored precision
	if r.Currency == money.USD {
		return k, "", problem.Field(problem.InvalidRequest, "currency", rateOfUSD)
	}
	if r.At.After(now) {
		return k, "", problem.Field(problem.InvalidRequest, "observedAt", rateFromFuture.With(r.Currency, r.At))
	}
	if err := r.Check(); err != nil {
		return k, "", err
	}
	present := k.Rate
	if present.IsZero() {
		present = builtIn
	}
	verdict := Applied
	switch {
	case force:
	case !k.Rate.IsZero() && (r.At.Before(k.At) || r.At.Equal(k.At) && r.Rate == k.Rate):
		return k, Known, nil
	case !present.IsZero() && r.Rate.Differs(present, limits.MaxJumpBps):
		if r.Rate == k.Held.Rate && r.Source == k.Held.Source {
			return k, Held, nil // the same reading is held already
		}
		verdict = Held
	}
	k.Version++
	k.UpdatedAt, k.Last, k.Verdict = now, r, verdict
	if verdict == Held {
		k.Currency, k.Held = r.Currency, r
	} else {
		k.Reading, k.Held = r, Reading{}
	}
	return k, verdict, nil
}

// Stale reports whether the rate is old enough for a warning.
func (k KnownRate) Stale(limits Limits, now time.Time) bool {
	return !k.Rate.IsZero() && now.Sub(k.At) > limits.StaleAfter
}

// Expired reports whether the rate is too old for new charges.
func (k KnownRate) Expired(limits Limits, now time.Time) bool {
	return !k.Rate.IsZero() && now.Sub(k.At) > limits.MaxAge
}
