package routing

import (
	"math"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/routing/replay"
)

// mostDays is how many days a replay may cover here.
const mostDays = 366

// examples is how many payments that would begin elsewhere are shown.
const examples = 10

// period is which payments are replayed.
func (e *editView) period(now time.Time) (routing.PastRoutes, error) {
	days, err := strconv.Atoi(e.Since)
	if err != nil || days < 1 || days > mostDays {
		return routing.PastRoutes{}, problem.Field(problem.InvalidRequest, "since", daysOutOfRange)
	}
	return routing.PastRoutes{Since: now.AddDate(0, 0, -days), Until: now, Live: e.Live != string(merchants.Sandbox), Examples: examples}, nil
}

// result is what the rules would have done.
type result struct {
	Since, Until time.Time
	Payments     int64
	Elsewhere    int64
	Open         int64
	Simulated    int64
	Unexplained  int64
	All          line
	Low, High    int64 // the probable bounds of All.Replayed
	Estimated    int64 // payments whose end is estimated
	Rails        []line
	Rules        []line // by the rule with conditions that decides
	Accounts     []accountLine
	Examples     []replay.Example
	Unpriced     bool // some were paid at accounts without a price
}

// line is the numbers of some payments, before and after.
type line struct {
	Name           string
	Payments       int64
	Elsewhere      int64
	Real, Replayed int64 // approved
	Was, Now       money.Amount
}

// accountLine is the numbers of an account, before and after.
type accountLine struct {
	Name                     string
	FirstWas, FirstNow       int64
	AcceptedWas, AcceptedNow int64
	CostWas, CostNow         money.Amount
	TriesWas, TriesNow       int64
	EstimatedTriesShare      int64 // of a hundred
}

func newLine(name string, s replay.Sums) line {
	return line{name, s.Payments, s.Elsewhere, s.Real(), whole(s.Replayed()), s.Cost.Was(), s.Cost.Total()}
}

// whole rounds an estimate.
func whole(n float64) int64 { return int64(math.Round(n)) }

func newResult(o routing.PastRoutes, done routing.Rerouted) *result {
	low, high := done.Range()
	told := &result{
		Since: o.Since, Until: o.Until, Payments: done.Payments, Elsewhere: done.Elsewhere, Open: done.Open, Simulated: done.Simulated, Unexplained: done.Unexplained,
		All: newLine("", done.Sums), Low: int64(math.Floor(low)), High: int64(math.Ceil(high)), Estimated: done.Sums.Estimated.Payments, Examples: done.Examples,
		Unpriced: len(done.Unpriced.Real)+len(done.Unpriced.Replayed) > 0,
	}
	for _, s := range done.Rails {
		told.Rails = append(told.Rails, newLine(s.Rail, s.Sums))
	}
	for _, s := range done.Report.Rules {
		told.Rules = append(told.Rules, newLine(s.Decider, s.Sums))
	}
	for _, s := range done.Accounts {
		one := accountLine{
			Name: s.Account, FirstWas: s.First.Real, FirstNow: whole(s.First.Replayed), AcceptedWas: s.Accepted.Real, AcceptedNow: whole(s.Accepted.Replayed),
			CostWas: s.Cost.Was(), CostNow: s.Cost.Total(), TriesWas: s.Tries.Real, TriesNow: whole(s.Tries.Replayed),
		}
		if s.Tries.Replayed > 0 {
			one.EstimatedTriesShare = whole(100 * s.Guessed / s.Tries.Replayed)
		}
		told.Accounts = append(told.Accounts, one)
	}
	return told
}
