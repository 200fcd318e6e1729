package replay

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// result is the result of a try.
type result int

const (
	open    result = iota // not yet known
	took                  // the provider accepted the payment
	refused               // the cascade continues
	ended                 // no other account is tried
)

// accepted reports whether a provider accepted a payment: it was approved, or given to its
// shopper to pay. Whether the shopper paid a voucher does not count. A card's page decides nothing: it was accepted if it was paid.
func accepted(p pay.Payment) bool { return paid(p) || !p.Times.Expires.IsZero() && !p.Way.Sync }

// paid reports whether the payment was paid.
func paid(p pay.Payment) bool { return p.End.Captured > 0 }

// untried reports whether a card's page was opened for a payment and nobody tried to pay: no account would have been paid.
func untried(p pay.Payment) bool {
	page := false
	for _, a := range p.Attempts {
		switch pay.FateOf(&p, a.Order) {
		case pay.FatePaid, pay.FateRefused:
			return false
		case pay.FateUntried:
			page = true
		}
	}
	return p.Way.Sync && page
}

// outcome is the result of the i-th real try.
func outcome(p pay.Payment, i int) result {
	last := i == len(p.Attempts)-1
	switch a := p.Attempts[i]; {
	case p.End.Captured == i+1, last && accepted(p) && !paid(p):
		return took
	case p.Way.Sync && pay.FateOf(&p, i+1) == pay.FateUntried:
		return open // this outcome shows nothing about the account
	case !last:
		return refused
	case undecided(p):
		return open
	case pay.FateOf(&p, i+1) == pay.FateRefused:
		if t, _ := p.Attempts[i : i+1].Refusal(); t.Soft {
			return refused
		}
		return ended
	case a.Status == pay.Declined && !a.Soft, a.Status == pay.Lapsed, a.Status == pay.Unknown:
		return ended // no other account is tried if money may have moved
	}
	return refused
}

// undecided reports whether it is not known yet which account takes the payment.
func undecided(p pay.Payment) bool {
	return p.Status == pay.Processing || p.Status == pay.Pending && p.Way.Sync
}

// length is how long a real try took.
func length(p pay.Payment, i int) time.Duration {
	a := p.Attempts[i]
	if _, at, ok := p.Attempts[i].CallResult(); ok {
		return at.Sub(time.UnixMicro(a.Started))
	}
	return time.Duration(max(0, a.Ended-a.Started)) * time.Microsecond
}

// event is a time from which accounts are known to do better or worse.
type event struct {
	at    time.Time
	seq   int // for equal times, the order of recording
	began bool
	rail  string
	band  string
	who   string
	said  pay.OutcomeKind
	took  time.Duration
	page  bool
	ended *pay.Payment // of the end of a payment
}

// timeline is what is still to be learned, a heap by time. It holds only what was in
// progress at one moment, however many payments there are.
type timeline struct {
	events []event
	seq    int
}

func (t *timeline) less(i, j int) bool {
	a, b := t.events[i], t.events[j]
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.seq < b.seq
}

func (t *timeline) push(e event) {
	t.seq++
	e.seq = t.seq
	t.events = append(t.events, e)
	for i := len(t.events) - 1; i > 0; {
		parent := (i - 1) / 2
		if !t.less(i, parent) {
			return
		}
		t.events[i], t.events[parent] = t.events[parent], t.events[i]
		i = parent
	}
}

func (t *timeline) pop() event {
	first, last := t.events[0], len(t.events)-1
	t.events[0] = t.events[last]
	t.events = t.events[:last]
	for i := 0; ; {
		least := i
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < last && t.less(child, least) {
				least = child
			}
		}
		if least == i {
			return first
		}
		t.events[i], t.events[least] = t.events[least], t.events[i]
		i = least
	}
}

// learn applies every event until a moment to health.
func (t *timeline) learn(h *routing.Health, until time.Time) {
	for len(t.events) > 0 && !t.events[0].at.After(until) {
		switch e := t.pop(); {
		case e.began:
			h.Began(e.who, e.rail, e.at)
		case e.ended != nil:
			h.Finished(*e.ended, e.rail, e.at)
		default:
			h.Ended(routing.Call{Account: e.who, Rail: e.rail, Band: e.band, Page: e.page, Said: e.said, Took: e.took}, e.at)
		}
	}
}

// end is when the payment ended, zero if its calls tell all that is to be learned.
func end(p pay.Payment) time.Time {
	if p.Times.Expires.IsZero() || !p.Way.Sync && p.Status != pay.Failed {
		return time.Time{}
	}
	for _, at := range []time.Time{p.Times.Completed, p.Times.Failed, p.Times.Expired} {
		if !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// add adds a payment's tries to the timeline.
func (t *timeline) add(p pay.Payment, rail accounts.Rail) {
	band := routing.Band(p.Price.Amount)
	for i, a := range p.Attempts {
		began := time.UnixMicro(a.Started).UTC()
		t.push(event{at: began, began: true, rail: rail.Key, who: a.Provider})
		if said, at, ok := p.Attempts[i].CallResult(); ok {
			t.push(event{at: at, rail: rail.Key, band: band, who: a.Provider, said: said, took: at.Sub(began), page: p.Way.Sync})
		}
	}
	if at := end(p); !at.IsZero() {
		t.push(event{at: at, rail: rail.Key, ended: &p})
	}
}
