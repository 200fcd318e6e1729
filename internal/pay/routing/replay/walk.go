package replay

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// million stands for certainty where probabilities meet money: a float never holds money.
const million = 1_000_000

// path is how a payment would have been tried.
type path struct {
	known    bool    // every try was really made
	tries    float64 // on average
	second   float64 // how probable a second try is
	likely   float64 // how probable it is that it is accepted
	low      float64
	high     float64
	variance float64
	steps    []step
}

// step is a try on a path.
type step struct {
	account  string
	reached  float64 // how probable it is that this try is reached
	accepted float64 // how probable it is that it is accepted here, in total
	known    bool
	result   result // if it is known
	guess    guess  // if it is not
}

// lived is the real path of a payment.
func lived(p pay.Payment) path {
	way := path{known: true, tries: float64(len(p.Attempts))}
	if len(p.Attempts) > 1 {
		way.second = 1
	}
	for i, a := range p.Attempts {
		at := step{account: a.Provider, reached: 1, known: true, result: outcome(p, i)}
		if at.result == took {
			at.accepted = 1
			way.likely, way.low, way.high = 1, 1, 1
		}
		way.steps = append(way.steps, at)
	}
	return way
}

// walk follows a cascade. A try that was really made has its real result; any other is
// estimated.
func (s *Survey) walk(p pay.Payment, rail accounts.Rail, c pay.Cascade) path {
	way := path{known: true}
	// How probable it is that the cascade is still in progress: expected, worst and best case.
	going, worst, best := 1.0, 1.0, 1.0
	band := routing.Band(p.Price.Amount)
	so := p // the payment at this point of the path
	so.Attempts, so.Work.Answered = nil, ""
	now := p.Times.Created
	for n, route := range c.Routes {
		if going == 0 || n > 0 && c.Budget.Spent(so, now) != "" {
			break
		}
		at := step{account: route.Provider, reached: going}
		way.tries += going
		if n > 0 {
			way.second = max(way.second, going)
		}
		tried := pay.Attempt{Order: n + 1, Provider: route.Provider, Started: now.UnixMicro()}
		var took time.Duration
		if i := find(p, route.Provider); i >= 0 {
			at.known, at.result = true, outcome(p, i)
			took = length(p, i)
			if said, _, _ := p.Attempts[i].CallResult(); said == pay.Unknown {
				so.Work.Answered = pay.Processing
			}
		} else {
			way.known = false
			at.guess = s.guess(route.Provider, rail.Key, band)
			took = s.usual(route.Provider, rail.Key)
		}
		now = now.Add(took)
		tried.Ended = now.UnixMicro()
		so.Attempts = append(so.Attempts, tried)
		going, worst, best = way.step(&at, going, worst, best)
		way.steps = append(way.steps, at)
	}
	way.variance = way.likely * (1 - way.likely)
	return way
}

// step adds a try, and returns how probable it is that the cascade continues after it.
func (pa *path) step(at *step, going, worst, best float64) (float64, float64, float64) {
	if at.known {
		if at.result != took {
			if at.result != refused {
				return 0, 0, 0
			}
			return going, worst, best
		}
		at.accepted = going
		pa.likely, pa.low, pa.high = pa.likely+going, pa.low+worst, pa.high+best
		return 0, 0, 0
	}
	g := at.guess
	low, high := max(0, g.accepted-g.wide), min(1, g.accepted+g.wide)
	at.accepted = going * g.accepted
	pa.likely, pa.low, pa.high = pa.likely+at.accepted, pa.low+worst*low, pa.high+best*high
	on := func(p float64) float64 { return max(0, 1-p-g.ended) }
	return going * on(g.accepted), worst * on(low), best * on(high)
}

// find returns the real try at an account, -1 if there was none.
func find(p pay.Payment, account string) int {
	for i, a := range p.Attempts {
		if a.Provider == account {
			return i
		}
	}
	return -1
}
