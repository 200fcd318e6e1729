package shape

import (
	"math"
	"time"

	apprates "github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/pay/routing/replay"
	"github.com/cascadapay/cascada/internal/pay/routing/rulefile"
	"github.com/cascadapay/cascada/internal/view"
)

// RoutingRules are the operator's routing rules.
type RoutingRules struct {
	Version   int64      `json:"version" doc:"A change names it; 0: none were ever applied"`
	Applied   bool       `json:"applied" doc:"false: the servers use their --routing"`
	ChangedAt *view.Time `json:"changedAt" nullable:"true"`
	File      string     `json:"file" doc:"The rules as YAML, which a change accepts" example:"order: success_rate\n"`
}

// NewRoutingRules shows rules.
func NewRoutingRules(v routing.RulesVersion) (RoutingRules, error) {
	file, err := rulefile.Write(v.Rules)
	return RoutingRules{v.Version, v.Applied, moment(v.At), string(file)}, err
}

// ReplayedRouting is what would have been different for past payments.
type ReplayedRouting struct {
	Version     int64             `json:"rulesInForce" doc:"Their version; 0: none"`
	Simulated   int64             `json:"simulated" doc:"Payments of the simulated providers: left out"`
	Open        int64             `json:"open" doc:"Payments whose outcome is not known: left out"`
	Unexplained int64             `json:"beganElsewhereThanRulesInForce"`
	All         ReplayedSums      `json:"all"`
	Rails       []ReplayedRail    `json:"rails"`
	Accounts    []ReplayedAccount `json:"accounts"`
	Examples    []ReplayedExample `json:"examples"`
}

// ReplayedSums are numbers about some payments, as they really were and as they would have been.
type ReplayedSums struct {
	Payments  int64         `json:"payments"`
	Elsewhere int64         `json:"beginElsewhere"`
	Approved  ReplayedPair  `json:"approved"`
	Low       float64       `json:"approvedAtLeast"`
	High      float64       `json:"approvedAtMost"`
	Estimated int64         `json:"estimated" doc:"Of these payments it is not known what would have happened: it is estimated"`
	Failovers ReplayedPair  `json:"failovers"`
	Tries     ReplayedPair  `json:"tries"`
	Paid      ReplayedMoney `json:"paid"`
	Cost      ReplayedMoney `json:"cost"`
}

// ReplayedPair is a number as it really was, and as it would have been.
type ReplayedPair struct {
	Real     int64   `json:"real"`
	Replayed float64 `json:"replayed"`
}

// ReplayedMoney is USD as text, as it really was, and as it would have been.
type ReplayedMoney struct {
	Real      string `json:"real"`
	Replayed  string `json:"replayed"`
	Estimated string `json:"estimated" doc:"Of replayed"`
}

// ReplayedRail is the part of a rail.
type ReplayedRail struct {
	Rail string `json:"rail"`
	ReplayedSums
}

// ReplayedAccount is the part of an account.
type ReplayedAccount struct {
	Account  string        `json:"account"`
	First    ReplayedPair  `json:"first"`
	Tries    ReplayedPair  `json:"tries"`
	Approved ReplayedPair  `json:"approved"`
	Cost     ReplayedMoney `json:"cost"`
}

// ReplayedExample is a payment that would have begun elsewhere.
type ReplayedExample struct {
	ID       string   `json:"id"`
	Rail     string   `json:"rail"`
	Amount   string   `json:"amount"`
	Real     []string `json:"real"`
	Replayed []string `json:"replayed"`
}

// NewReplayedRouting shows the result of a replay.
func NewReplayedRouting(r routing.Rerouted) ReplayedRouting {
	shown := ReplayedRouting{
		Version: r.InForce.Version, Simulated: r.Simulated, Open: r.Open, Unexplained: r.Unexplained, All: newReplayedSums(r.Sums),
		Rails: []ReplayedRail{}, Accounts: []ReplayedAccount{}, Examples: []ReplayedExample{},
	}
	for _, s := range r.Rails {
		shown.Rails = append(shown.Rails, ReplayedRail{s.Rail, newReplayedSums(s.Sums)})
	}
	for _, s := range r.Accounts {
		shown.Accounts = append(shown.Accounts, ReplayedAccount{s.Account, newReplayedPair(s.First), newReplayedPair(s.Tries), newReplayedPair(s.Accepted), newReplayedMoney(s.Cost)})
	}
	for _, x := range r.Examples {
		shown.Examples = append(shown.Examples, ReplayedExample{x.ID, x.Rail, x.Amount.Decimal(), append([]string{}, x.Really...), append([]string{}, x.Replayed...)})
	}
	return shown
}

func newReplayedSums(s replay.Sums) ReplayedSums {
	low, high := s.Range()
	return ReplayedSums{
		Payments: s.Payments, Elsewhere: s.Elsewhere, Approved: ReplayedPair{s.Real(), rounded(s.Replayed(), 1)}, Low: math.Floor(low), High: math.Ceil(high), Estimated: s.Estimated.Payments,
		Failovers: newReplayedPair(s.Failovers), Tries: newReplayedPair(s.Tries), Paid: newReplayedMoney(s.Volume), Cost: newReplayedMoney(s.Cost),
	}
}

func newReplayedPair(p replay.Pair) ReplayedPair { return ReplayedPair{p.Real, rounded(p.Replayed, 1)} }

func newReplayedMoney(m replay.Money) ReplayedMoney {
	return ReplayedMoney{m.Was().Decimal(), m.Total().Decimal(), m.Estimated().Decimal()}
}

// ExchangeRate is how many units of a currency one US dollar buys.
type ExchangeRate struct {
	Currency money.Currency `json:"currency" example:"BRL"`
	Rate     string         `json:"rate" doc:"Units for one USD; empty: none is known" example:"5.4321"`
	Source   string         `json:"source"`
	At       *view.Time     `json:"at" nullable:"true" doc:"Time of the rate"`
	State    string         `json:"state" enum:"built-in,fresh,stale,expired,none" doc:"built-in: for the sandbox only; expired: no new charges"`
	Held     *HeldRate      `json:"held,omitempty" doc:"A reading that is too far from the rate in use: it waits for you"`
}

// HeldRate is a reading that waits for the operator.
type HeldRate struct {
	Rate   string    `json:"rate"`
	Source string    `json:"source"`
	At     view.Time `json:"at"`
}

// NewExchangeRate shows a rate.
func NewExchangeRate(r apprates.RateStatus) ExchangeRate {
	used := r.Reading
	if used.Rate.IsZero() {
		used = r.BuiltIn
	}
	shown := ExchangeRate{Currency: r.Currency, Rate: rateText(used.Rate), Source: used.Source, At: moment(used.At), State: r.State}
	if shown.State == "" {
		shown.State = "none"
	}
	if !r.Held.Rate.IsZero() {
		shown.Held = &HeldRate{r.Held.Rate.Decimal(), r.Held.Source, view.Time{Time: r.Held.At}}
	}
	return shown
}

func rateText(r money.Rate) string {
	if r.IsZero() {
		return ""
	}
	return r.Decimal()
}

// RateReading is a rate that was read or set.
type RateReading struct {
	Currency  money.Currency `json:"currency" example:"BRL"`
	Rate      string         `json:"rate" example:"5.4321"`
	Source    string         `json:"source"`
	At        view.Time      `json:"at" doc:"Time of the rate"`
	Verdict   rates.Verdict  `json:"verdict" enum:"applied,held,known" doc:"held: it waits for you; known: it is no newer than the rate in use, and was not applied"`
	By        string         `json:"by,omitempty" doc:"The operator; absent: the service"`
	DecidedAt *view.Time     `json:"decidedAt,omitempty"`
	Before    string         `json:"before,omitempty" doc:"The rate that was in use; absent: none, or in a history"`
}

// NewRateReading shows a reading of the past.
func NewRateReading(r rates.Reading, verdict rates.Verdict, by string, at time.Time) RateReading {
	return RateReading{Currency: r.Currency, Rate: rateText(r.Rate), Source: r.Source, At: view.Time{Time: r.At}, Verdict: verdict, By: by, DecidedAt: moment(at)}
}

// NewRateChange shows what became of a rate that was set.
func NewRateChange(c apprates.RateChange) RateReading {
	return RateReading{Currency: c.Currency, Rate: rateText(c.Rate), Source: c.Source, At: view.Time{Time: c.At}, Verdict: c.Verdict, Before: rateText(c.Before)}
}
