package routing

import (
	"fmt"
	"math"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// memory is the time after which a payment counts half in a success rate.
const memory = 24 * time.Hour

// Score is how many of an account's payments of a kind succeeded.
type Score struct {
	good, all float64 // decayed counts
	at        time.Time
}

// End records how a payment ended.
func (s Score) End(good bool, now time.Time) Score {
	s.good, s.all, s.at = decay(s.good, now.Sub(s.at), memory), decay(s.all, now.Sub(s.at), memory)+1, now
	if good {
		s.good++
	}
	return s
}

// Rate is the share that succeeded, between 0 and 1. An untried account has a rate of one
// half, so that it gets tried.
func (s Score) Rate() float64 { return (s.good + 1) / (s.all + 2) }

// Payments is how many payments the rate is based on. One from a day before the last one
// counts half.
func (s Score) Payments() float64 { return s.all }

// String is the score for people.
func (s Score) String() string { return fmt.Sprintf("%.0f%% of about %.0f", 100*s.Rate(), s.all) }

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
