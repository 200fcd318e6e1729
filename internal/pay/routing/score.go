package routing

import (
	"fmt"
	"math"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// memory is the time after which a payment counts half in a success rate.
const memory = 24 * time.Hour

// Score is how many of an account's payments of a kind succeeded: its shoppers paid. A voucher or a transfer succeeds once the
// account accepts it.
type Score struct {
	good, all, opened float64 // decayed counts
	at                time.Time
}

// since returns the score with its counts decayed until now.
func (s Score) since(now time.Time) Score {
	past := now.Sub(s.at)
	return Score{good: decay(s.good, past, memory), all: decay(s.all, past, memory), opened: decay(s.opened, past, memory), at: now}
}

// End records how a payment ended.
func (s Score) End(good bool, now time.Time) Score {
	s = s.since(now)
	if s.all++; good {
		s.good++
	}
	return s
}

// Opened records that the account opened a page or a voucher.
func (s Score) Opened(now time.Time) Score {
	s = s.since(now)
	s.opened++
	return s
}

// Refuse records that a payment that counted as a success at a time was refused after all. Another node may have counted it: then
// it lowers the successes of this one, which has as many of the other's to count.
func (s Score) Refuse(at, now time.Time) Score {
	s = s.since(now)
	s.good = max(0, s.good-decay(1, now.Sub(at), memory))
	return s
}

// Rate is the rate by which accounts are ordered, between 0 and 1: the share that succeeded, pulled towards one half while there
// are few. An untried account has one half, so that it gets tried. It is not for people: see Succeeded.
func (s Score) Rate() float64 { return (s.good + 1) / (s.all + 2) }

// Payments is how many payments were decided, Succeeded how many of them succeeded, and Pages how many pages and vouchers were
// opened. One from a day before the last one counts half.
func (s Score) Payments() float64 { return s.all }

// Succeeded: see Payments.
func (s Score) Succeeded() float64 { return s.good }

// Pages: see Payments.
func (s Score) Pages() float64 { return s.opened }

// Known reports whether anything is known: an account that was only called for pages that wait has a score, and no rate yet.
func (s Score) Known() bool { return s.all > 0 || s.opened > 0 }

// String is the score for people.
func (s Score) String() string {
	if s.all < .5 {
		return "0 of 0"
	}
	return fmt.Sprintf("%.0f of about %.0f", s.good, s.all)
}

// bands are the upper limits of the amounts that are rated together, in whole USD.
var bands = [...]int64{10, 50, 200, 1000}

// Band names the band in which a payment is rated: a provider's success with small amounts
// says little about large ones.
func Band(usd money.Amount) string {
	low := int64(0)
	for _, high := range bands {
		if usd.Minor < high*100 {
			return fmt.Sprintf("%d-%d USD", low, high)
		}
		low = high
	}
	return fmt.Sprintf("%d USD and above", low)
}

// Bands lists the names of all bands, smallest amounts first.
func Bands() (names []string) {
	low := int64(0)
	for _, high := range append(bands[:], math.MaxInt64/100) {
		names = append(names, Band(money.New(low*100, money.USD)))
		low = high
	}
	return names
}
