package replay

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// Report compares the replayed payments with the real ones.
type Report struct {
	Sums
	Open        int64                                       // payments whose outcome is not known yet: left out
	Unexplained int64                                       // payments that do not begin where they really did, even by the rules in force
	Unpriced    struct{ Real, Replayed map[string]float64 } // paid at accounts without a price
	Rails       []RailSums
	Rules       []DeciderSums // of the changed rules, in their order; none if none has conditions
	Accounts    []AccountSums
	Examples    []Example
}

// Sums are numbers about some payments. A payment is known if every try that it would make
// was really made; otherwise it is estimated.
type Sums struct {
	Payments  int64
	Elsewhere int64 // payments that begin at a different account than by the rules in force
	Known     struct{ Payments, Accepted, Replayed int64 }
	Estimated struct {
		Payments, Accepted int64 // Accepted: really
		Replayed           float64
		low, high, spread  float64 // spread: the variance of chance
	}
	Failovers Pair
	Tries     Pair // of all payments
	Volume    Money
	Cost      Money
}

// RailSums are the sums of a rail.
type RailSums struct {
	Rail string
	Sums
}

// DeciderSums are the sums of the payments about which a rule with conditions decides.
type DeciderSums struct {
	Decider string // its name; "" of the payments about which the rails' rules decide
	Sums
}

// AccountSums are the sums of an account.
type AccountSums struct {
	Account  string
	First    Pair // payments that begin there
	Tries    Pair
	Accepted Pair
	Paid     Pair
	Guessed  float64 // the part of the replayed tries that is estimated
	Cost     Money
}

// Pair is a real count and its replayed value.
type Pair struct {
	Real     int64
	Replayed float64
}

// Money is USD, real and replayed.
type Money struct {
	Real      int64 // cents
	known     int64 // cents
	estimated int64 // thousandths of a cent
}

// add adds millionths of a cent. The known part keeps whole cents; the estimated part keeps
// as much precision as a sum of millions of payments has room for.
func (m *Money) add(known bool, n int64) {
	if known {
		m.known += n / million
		return
	}
	m.estimated += n / 1000
}

// Was is the real amount.
func (m Money) Was() money.Amount { return usd(m.Real) }

// Known is the known part of the replayed amount.
func (m Money) Known() money.Amount { return usd(m.known) }

// Estimated is the estimated part of the replayed amount.
func (m Money) Estimated() money.Amount { return usd((m.estimated + 500) / 1000) }

// Total is the replayed amount.
func (m Money) Total() money.Amount { return m.Known().Add(m.Estimated()) }

// Example is a payment that begins elsewhere.
type Example struct {
	ID       string
	Rail     string
	Amount   money.Amount
	Really   []string
	Replayed []string
}

func (su *Sums) add(p pay.Payment, way path, elsewhere bool) {
	su.Payments++
	if elsewhere {
		su.Elsewhere++
	}
	really := int64(0)
	if accepted(p) {
		really = 1
	}
	if way.known {
		su.Known.Payments++
		su.Known.Accepted += really
		su.Known.Replayed += int64(math.Round(way.likely))
	} else {
		e := &su.Estimated
		e.Payments++
		e.Accepted += really
		e.Replayed += way.likely
		e.low, e.high, e.spread = e.low+way.low, e.high+way.high, e.spread+way.variance
	}
	su.Tries.Real += int64(len(p.Attempts))
	su.Tries.Replayed += way.tries
	if len(p.Attempts) > 1 {
		su.Failovers.Real++
	}
	su.Failovers.Replayed += way.second
}

// Real is how many payments a provider really accepted.
func (su Sums) Real() int64 { return su.Known.Accepted + su.Estimated.Accepted }

// Replayed is how many it would have accepted.
func (su Sums) Replayed() float64 { return float64(su.Known.Replayed) + su.Estimated.Replayed }

// Range is the probable lower and upper bound of Replayed: an account's rate is only as
// certain as its tries are many, and chance plays a part.
func (su Sums) Range() (low, high float64) {
	e := su.Estimated
	chance := 2 * math.Sqrt(e.spread)
	low, high = max(0, e.low-chance), min(float64(e.Payments), e.high+chance)
	return float64(su.Known.Replayed) + low, float64(su.Known.Replayed) + high
}

// Report returns the report on the payments so far.
func (r *Replay) Report() Report {
	told := r.report
	for _, rail := range slices.Sorted(maps.Keys(r.rails)) {
		told.Rails = append(told.Rails, RailSums{rail, *r.rails[rail]})
	}
	if rules := r.config.Changed.Rules.Conditional; len(rules) > 0 {
		for _, of := range append(slices.Clone(rules), routing.Conditional{}) {
			told.Rules = append(told.Rules, DeciderSums{of.Name, *sumsOf(r.rules, of.Name)})
		}
	}
	for _, of := range r.accounts {
		told.Accounts = append(told.Accounts, *of)
	}
	slices.SortFunc(told.Accounts, func(a, b AccountSums) int { return cmp.Compare(a.Account, b.Account) })
	return told
}
