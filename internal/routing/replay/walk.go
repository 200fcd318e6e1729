package replay

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/routing"
)

// million is a certainty, where chances meet money: a float never holds that.
const million = 1_000_000

// path is how a payment would have gone.
type path struct {
	known    bool    // every try was really made
	tries    float64 // on average
	second   float64 // how likely a second one is made
	likely   float64 // how likely it is taken
	low      float64
	high     float64
	variance float64
	steps    []step
}

// step is a try on a path.
type step struct {
	account string
	reached float64 // how likely it comes to it
	took    float64 // how likely it is taken here, all in all
	known   bool
	result  result // where it is known
	guess   guess  // where it is not
}

// lived is the path that a payment really went.
func lived(p pay.Payment) path {
	way := path{known: true, tries: float64(len(p.Attempts))}
	if len(p.Attempts) > 1 {
		way.second = 1
	}
	for i, a := range p.Attempts {
		at := step{account: a.Provider, reached: 1, known: true, result: outcome(p, i)}
		if at.result == took {
			at.took = 1
			way.likely, way.low, way.high = 1, 1, 1
		}
		way.steps = append(way.steps, at)
	}
	return way
}

// walk follows a cascade. A try that really was made went as it did; any other is
// estimated.
func (s *Survey) walk(p pay.Payment, rail acquirer.Rail, c pay.Cascade) path {
	way := path{known: true}
	// How likely it is that the cascade is still under way, and in the worst and best
	// case.
	going, worst, best := 1.0, 1.0, 1.0
	band := routing.Band(p.Price.Amount)
	so := p // as far as it would have come
	so.Attempts, so.Answered = nil, ""
	now := p.Times.Created
	for n, route := range c.Routes {
		if going == 0 || n > 0 && so.Spent(c.Budget, now) != "" {
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
			if said, _, _ := call(p, i); said == pay.Unknown {
				so.Answered = pay.Processing
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

// step adds a try, and returns how likely the cascade goes on after it.
func (way *path) step(at *step, going, worst, best float64) (float64, float64, float64) {
	if at.known {
		if at.result != took {
			if at.result != refused {
				return 0, 0, 0
			}
			return going, worst, best
		}
		at.took = going
		way.likely, way.low, way.high = way.likely+going, way.low+worst, way.high+best
		return 0, 0, 0
	}
	g := at.guess
	low, high := max(0, g.took-g.wide), min(1, g.took+g.wide)
	at.took = going * g.took
	way.likely, way.low, way.high = way.likely+at.took, way.low+worst*low, way.high+best*high
	on := func(p float64) float64 { return max(0, 1-p-g.ended) }
	return going * on(g.took), worst * on(low), best * on(high)
}

// find returns the try that really was made at an account, -1 where there was none.
func find(p pay.Payment, account string) int {
	for i, a := range p.Attempts {
		if a.Provider == account {
			return i
		}
	}
	return -1
}
