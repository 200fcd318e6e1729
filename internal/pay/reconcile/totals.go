package reconcile

import (
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Totals are the result of a comparison.
type Totals struct {
	Lines       int // of the report, without its header
	Charges     int // charges that agree; payouts, for an account that pays out
	Charged     Sums
	Refunds     int // refunds that agree; returns, for an account that pays out
	Refunded    Sums
	Chargebacks int
	Others      map[string]int // lines about no charge, by the report's name for them
	Foreign     int            // lines of other systems that use the account too
	Found       map[Discrepancy]int
	Merchants   map[string]Drift // what the differences are worth, by merchant
	// Fees of the charges that agree: all reported ones, and, for charges with a known price,
	// the reported fees and those by the account's terms.
	Fees     Sums
	Unpriced int // lines whose fee is not an amount in its currency, and is left out
	Told     Sums
	Expected Sums
	First    time.Time // the range of the dates of charges and refunds
	Last     time.Time // a whole day counts to its end
}

// Drift is the difference between a merchant's books and a provider's.
type Drift struct {
	Count int
	USD   int64 // cents
}

// Clean reports whether the report and the books agree.
func (t Totals) Clean() bool { return len(t.Found) == 0 }

// Differences counts the findings.
func (t Totals) Differences() (n int) {
	for _, found := range t.Found {
		n += found
	}
	return n
}

func (t *Totals) line(l Line) {
	t.Lines++
	if l.Kind == Other {
		if t.Others == nil {
			t.Others = map[string]int{}
		}
		word := l.Word
		if _, known := t.Others[word]; !known && len(t.Others) >= maxWords {
			word = "others"
		}
		t.Others[word]++
	}
	if l.Date.IsZero() {
		return
	}
	if t.First.IsZero() || l.Date.Before(t.First) {
		t.First = l.Date
	}
	end := l.Date
	if l.Day {
		end = end.Add(24*time.Hour - time.Microsecond)
	}
	if end.After(t.Last) {
		t.Last = end
	}
}

// maxWords is how many names of other lines are counted separately.
const maxWords = 50

func (t *Totals) charge(l Line, p pay.Payment, cost func(pay.Payment) (money.Amount, bool)) {
	t.Charges++
	plus(&t.Charged, l.Amount)
	if l.Unpriced {
		t.Unpriced++
	}
	if l.Fee.Currency == "" {
		return
	}
	plus(&t.Fees, l.Fee)
	if cost == nil {
		return
	}
	usd, known := cost(p)
	if !known {
		return
	}
	expected := usd
	if l.Fee.Currency != money.USD {
		var err error
		if expected, err = p.Price.Rate.ToLocal(usd, p.Price.Local.Currency); err != nil || l.Fee.Currency != p.Price.Local.Currency {
			return // a fee in a third currency: we have no rate for it
		}
	}
	plus(&t.Told, l.Fee)
	plus(&t.Expected, expected)
}

// payout counts a payout that agrees.
func (t *Totals) payout(l Line) {
	t.Charges++
	plus(&t.Charged, l.Amount)
	if l.Unpriced {
		t.Unpriced++
	}
	if l.Fee.Currency != "" {
		plus(&t.Fees, l.Fee)
	}
}

func (t *Totals) refund(l Line) {
	t.Refunds++
	plus(&t.Refunded, l.Amount)
}

func plus(s *Sums, a money.Amount) {
	if *s == nil {
		*s = Sums{}
	}
	s.add(a)
}

func (t *Totals) found(f Finding) {
	if t.Found == nil {
		t.Found, t.Merchants = map[Discrepancy]int{}, map[string]Drift{}
	}
	t.Found[f.Discrepancy]++
	if f.Merchant != "" && f.Discrepancy != BadLine {
		d := t.Merchants[f.Merchant]
		t.Merchants[f.Merchant] = Drift{d.Count + 1, d.USD + f.USD}
	}
}
