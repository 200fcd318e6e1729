package replay

import (
	"math"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// prior is the weight of the rail's own rate in an account's estimate, in tries: an account with
// few tries is assumed to be like the others.
const prior = 10

// kind names the tries that are estimated together.
type kind struct{ account, rail, band string }

// counts are the results of tries.
type counts struct{ tries, accepted, ended int64 }

func (c *counts) add(r result) {
	c.tries++
	switch r {
	case took:
		c.accepted++
	case ended:
		c.ended++
	}
}

// Survey records how accounts performed in a period, for estimates. It is the first pass over the
// payments; the Replay is the second.
type Survey struct {
	kinds  map[kind]counts
	rails  map[string]counts
	times  map[kind]length64 // without band
	shares map[string]counts // for a rail's payments: all that were accepted, and those paid
}

// length64 is how long calls took.
type length64 struct {
	sum time.Duration
	n   int64
}

// NewSurvey returns an empty survey.
func NewSurvey() *Survey {
	return &Survey{kinds: map[kind]counts{}, rails: map[string]counts{}, times: map[kind]length64{}, shares: map[string]counts{}}
}

// Add adds a payment that really used the operator's accounts.
func (s *Survey) Add(p pay.Payment, rail accounts.Rail) {
	band := routing.Band(p.Price.Amount)
	for i, a := range p.Attempts {
		r := outcome(p, i)
		if r == open {
			continue
		}
		of, all := s.kinds[kind{a.Provider, rail.Key, band}], s.rails[rail.Key]
		of.add(r)
		all.add(r)
		s.kinds[kind{a.Provider, rail.Key, band}], s.rails[rail.Key] = of, all
		t := s.times[kind{account: a.Provider, rail: rail.Key}]
		t.sum += length(p, i)
		t.n++
		s.times[kind{account: a.Provider, rail: rail.Key}] = t
	}
	if accepted(p) && !p.Status.Open() {
		share := s.shares[rail.Key]
		share.tries++
		if paid(p) {
			share.accepted++
		}
		s.shares[rail.Key] = share
	}
}

// guess is the estimated result of a payment at an account.
type guess struct {
	accepted float64 // how probable it is that it accepts
	wide     float64 // the error of took, in either direction
	ended    float64 // how probable it is that its refusal is final
	tries    int64   // on which it is based
}

// guess estimates from an account's own tries on the rail and band, pulled towards the
// rail's rate if they are few.
func (s *Survey) guess(account, rail, band string) guess {
	of, all := s.kinds[kind{account, rail, band}], s.rails[rail]
	n := float64(of.tries + prior)
	g := guess{tries: of.tries}
	g.accepted = (float64(of.accepted) + prior*float64(all.accepted+1)/float64(all.tries+2)) / n
	g.ended = (float64(of.ended) + prior*float64(all.ended)/float64(all.tries+2)) / n
	g.wide = 2 * math.Sqrt(g.accepted*(1-g.accepted)/n)
	return g
}

// paidShare is how many of a million accepted payments on a rail are paid.
func (s *Survey) paidShare(rail string) int64 {
	c := s.shares[rail]
	if c.tries == 0 {
		return million
	}
	return c.accepted * million / c.tries
}

// usual is how long a try at an account usually takes.
func (s *Survey) usual(account, rail string) time.Duration {
	t := s.times[kind{account: account, rail: rail}]
	if t.n == 0 {
		return 0
	}
	return t.sum / time.Duration(t.n)
}
