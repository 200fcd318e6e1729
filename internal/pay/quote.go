package pay

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Reading is an exchange rate as somebody told it: how many units of Currency
// one US dollar buys.
type Reading struct {
	Currency money.Currency
	Rate     money.Rate
	Source   string
	At       time.Time // when it was so
}

// Quote is what is known of a currency's rate. Payments are converted with its
// Reading.
type Quote struct {
	Reading         // the one in use; no Rate where none was ever applied
	Version   int64 // 1 when first written; each written change adds one
	Held      Reading
	UpdatedAt time.Time

	// What the last change was about; it goes into the history.
	Last    Reading
	Verdict RateVerdict
	By      string // the operator's user and host, "" for the service itself
}

// RateVerdict says what was done with a reading.
type RateVerdict string

// The verdicts.
const (
	RateApplied RateVerdict = "applied"
	RateHeld    RateVerdict = "held"  // it jumps: the operator decides
	RateKnown   RateVerdict = "known" // no newer than what is in use: nothing was written
)

// RateTerms is how rates are trusted.
type RateTerms struct {
	StaleAfter time.Duration // older ones are warned of
	MaxAge     time.Duration // older ones take no new charges
	MaxJumpBps int64         // a larger step, in 1/10,000 of the rate in use, waits for the operator
}

// Take decides about a reading. A reading replaces older ones only; one that
// differs from the rate in use by more than the terms allow is held, and the
// rate in use stays. Where none is in use, builtIn is what it is compared with;
// zero for nothing. force, which is the operator's, applies it in any case.
//
// Errors: invalid_request for US dollars, and for a time that has not come.
func (q Quote) Take(r Reading, builtIn money.Rate, terms RateTerms, force bool, now time.Time) (Quote, RateVerdict, error) {
	r.At = r.At.UTC().Truncate(time.Microsecond) // as it is stored
	if r.Currency == money.USD {
		return q, "", problem.Field(problem.InvalidRequest, "currency", "a US dollar is a US dollar: USD has no rate to set")
	}
	if r.At.After(now) {
		return q, "", problem.Field(problem.InvalidRequest, "observedAt", fmt.Sprintf("the rate of %s is of a time that has not come: %s", r.Currency, r.At.Format(time.RFC3339)))
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
			return q, RateHeld, nil // nothing new about it
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

// Stale reports whether the rate is old enough to be warned of.
func (q Quote) Stale(terms RateTerms, now time.Time) bool {
	return !q.Rate.IsZero() && now.Sub(q.At) > terms.StaleAfter
}

// Expired reports whether the rate is too old for new charges.
func (q Quote) Expired(terms RateTerms, now time.Time) bool {
	return !q.Rate.IsZero() && now.Sub(q.At) > terms.MaxAge
}
