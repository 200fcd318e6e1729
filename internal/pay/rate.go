package pay

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Reading is an exchange rate from a source: how many units of Currency one US dollar buys.
type Reading struct {
	Currency money.Currency
	Rate     money.Rate
	Source   string
	At       time.Time // time of the rate
}

// KnownRate is the known rate of a currency. Payments are converted with its Reading.
type KnownRate struct {
	Reading         // the rate in use; Rate is zero if none was ever applied
	Version   int64 // 1 when first written; each written change adds one
	Held      Reading
	UpdatedAt time.Time

	// The reading of the last change; it goes into the history.
	Last    Reading
	Verdict RateVerdict
	By      string // the operator's user and host; "" for the service itself
}

// RateVerdict is what was done with a reading.
type RateVerdict string

// The verdicts.
const (
	RateApplied RateVerdict = "applied"
	RateHeld    RateVerdict = "held"  // the step is too large: the operator decides
	RateKnown   RateVerdict = "known" // no newer than the rate in use: nothing was written
)

// RateTerms are the limits for accepting rates.
type RateTerms struct {
	StaleAfter time.Duration // older rates cause a warning
	MaxAge     time.Duration // older rates are not used for new charges
	MaxJumpBps int64         // a larger step, in 1/10,000 of the rate in use, waits for the operator
}

// Take decides about a reading. It never replaces a newer rate. If it differs from the rate in use
// by more than the terms allow, it is held, and the rate in use stays. If none is in use, it is
// compared with builtIn; zero means no comparison. With force, an operator's command, it is always
// applied.
//
// Errors: invalid_request for US dollars, and for a time in the future.
func (q KnownRate) Take(r Reading, builtIn money.Rate, terms RateTerms, force bool, now time.Time) (KnownRate, RateVerdict, error) {
	r.At = r.At.UTC().Truncate(time.Microsecond) // the stored precision
	if r.Currency == money.USD {
		return q, "", problem.Field(problem.InvalidRequest, "currency", "USD has no rate to set: it is always 1")
	}
	if r.At.After(now) {
		return q, "", problem.Field(problem.InvalidRequest, "observedAt", fmt.Sprintf("the rate of %s has a time in the future: %s", r.Currency, r.At.Format(time.RFC3339)))
	}
	present := q.Rate
	if present.IsZero() {
		present = builtIn
	}
	verdict := RateApplied
	switch {
	case force:
	case !q.Rate.IsZero() && (r.At.Before(q.At) || r.At.Equal(q.At) && r.Rate == q.Rate):
		return q, RateKnown, nil
	case !present.IsZero() && r.Rate.Differs(present, terms.MaxJumpBps):
		if r.Rate == q.Held.Rate && r.Source == q.Held.Source {
			return q, RateHeld, nil // the same reading is held already
		}
		verdict = RateHeld
	}
	q.Version++
	q.UpdatedAt, q.Last, q.Verdict = now, r, verdict
	if verdict == RateHeld {
		q.Currency, q.Held = r.Currency, r
	} else {
		q.Reading, q.Held = r, Reading{}
	}
	return q, verdict, nil
}

// Stale reports whether the rate is old enough for a warning.
func (q KnownRate) Stale(terms RateTerms, now time.Time) bool {
	return !q.Rate.IsZero() && now.Sub(q.At) > terms.StaleAfter
}

// Expired reports whether the rate is too old for new charges.
func (q KnownRate) Expired(terms RateTerms, now time.Time) bool {
	return !q.Rate.IsZero() && now.Sub(q.At) > terms.MaxAge
}
