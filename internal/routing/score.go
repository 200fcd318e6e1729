package routing

import (
	"fmt"
	"math"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// memory is how soon a payment counts half in a success rate.
const memory = 24 * time.Hour

// Score is how many of an account's payments of a kind went well.
type Score struct {
	good, all float64 // decayed counts
	at        time.Time
}

// End notes how a payment went.
func (s Score) End(good bool, now time.Time) Score {
	s.good, s.all, s.at = decay(s.good, now.Sub(s.at), memory), decay(s.all, now.Sub(s.at), memory)+1, now
	if good {
		s.good++
	}
	return s
}

// Rate is the share that went well, between 0 and 1. An account that nobody has
// tried is as good as one that does well half of the time, so it is found out.
func (s Score) Rate() float64 { return (s.good + 1) / (s.all + 2) }

// Payments is how many payments the rate is of. One that was made a day before the
// last one counts half.
func (s Score) Payments() float64 { return s.all }

// String is the score for people.
func (s Score) String() string { return fmt.Sprintf("%.0f%% of about %.0f", 100*s.Rate(), s.all) }

// bands are the upper ends of the amounts that are rated together, in USD.
var bands = [...]int64{10, 50, 200, 1000}

// Band names the amounts that a payment is rated with: what a provider does with
// small ones says little of large ones.
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

// Bands lists the names of all bands, the smallest amounts first.
func Bands() (names []string) {
	low := int64(0)
	for _, high := range append(bands[:], math.MaxInt64/100) {
		names = append(names, Band(money.New(low*100, money.USD)))
		low = high
	}
	return names
}
