package store

import (
	"maps"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	storewebhooks "github.com/cascadapay/cascada/internal/store/webhooks"
)

// shareLimit is how many payments and deliveries one merchant's changes may write in a batch, unless a
// single change writes more: everybody waits for a batch. The rest goes into later batches. While no other
// merchant has written for the time alone, the limit is aloneLimit.
const (
	shareLimit = 100
	aloneLimit = 1000
	alone      = time.Second
)

// widthKept is how long a shop's number of deliveries per event is trusted: endpoints are also added at
// other nodes.
const widthKept = 10 * time.Second

// widths are the numbers of deliveries per event of a shop, as seen by this process.
type widths struct {
	from    int        // an event with this many deliveries is wide
	mu      sync.Mutex // owns the fields below
	of      map[shopKey]width
	cleared time.Time // when expired entries were last dropped
}

type width struct {
	n  int
	at time.Time
}

// shopKey is a shop, with whether the event is optional: few endpoints may want optional events.
type shopKey struct {
	shop     string
	live     bool
	optional bool
}

func keyOf(e *pay.Event) shopKey { return shopKey{e.Shop, e.Live, e.Type.Optional()} }

// expect is how many deliveries a change's events may make. An unknown shop counts as having the maximum
// number of endpoints.
func (wi *widths) expect(events []pay.Event) (n int) {
	if len(events) == 0 {
		return 0
	}
	now := time.Now()
	wi.mu.Lock()
	defer wi.mu.Unlock()
	for i := range events {
		seen, known := wi.of[keyOf(&events[i])]
		switch {
		case !known || now.Sub(seen.at) > widthKept:
			seen.n = webhooks.MostSubscriptions
		case seen.n >= wi.from: // steps make its deliveries
			seen.n = 1
		}
		n += seen.n
	}
	return n
}

// wide records that an event makes so many deliveries that steps make them.
func (wi *widths) wide(e *pay.Event) bool {
	wi.mu.Lock()
	defer wi.mu.Unlock()
	seen, known := wi.of[keyOf(e)]
	return known && time.Since(seen.at) <= widthKept && seen.n >= wi.from
}

// learn records the deliveries that a batch's events made.
func (wi *widths) learn(kept []*waiting, sent []storewebhooks.Dispatch) {
	made := make(map[string]int, len(sent))
	for i := range sent {
		made[sent[i].Delivery.Event]++
	}
	now := time.Now()
	wi.mu.Lock()
	defer wi.mu.Unlock()
	if now.Sub(wi.cleared) > widthKept {
		maps.DeleteFunc(wi.of, func(_ shopKey, seen width) bool { return now.Sub(seen.at) > widthKept })
		wi.cleared = now
	}
	for _, c := range kept {
		for i := range c.change.Events {
			e := &c.change.Events[i]
			wi.of[keyOf(e)] = width{max(wi.of[keyOf(e)].n, made[e.ID]), now}
		}
		for i := range c.change.Subscriptions {
			s := &c.change.Subscriptions[i]
			delete(wi.of, shopKey{s.Shop, s.Live, false})
			delete(wi.of, shopKey{s.Shop, s.Live, true})
		}
	}
}

// soleWriter knows whether several merchants write. The goroutine of commitLoop owns it.
type soleWriter struct {
	last   string    // the last merchant that wrote
	others time.Time // the last write by a different merchant
}

// limit is how much of a batch one merchant's changes may take.
func (sw *soleWriter) limit(all []*waiting, now time.Time) int {
	for _, w := range all {
		who := owner(w.change)
		if who == "" || who == sw.last {
			continue
		}
		if sw.last != "" {
			sw.others = now
		}
		sw.last = who
	}
	if now.Sub(sw.others) < alone {
		return shareLimit
	}
	return aloneLimit
}

// owner is the merchant whose payments and deliveries a change writes, "" for none.
func owner(c *pay.Change) string {
	switch {
	case len(c.Payments) > 0:
		return c.Payments[0].Merchant
	case len(c.Deliveries) > 0:
		return c.Deliveries[0].Merchant
	case len(c.Events) > 0:
		return c.Events[0].Merchant
	case len(c.FanOuts) > 0:
		return c.FanOuts[0].Merchant
	}
	return ""
}

// part selects the changes that may be written together as a batch, and holds back the others: one
// statement changes a row once, and no merchant may make a batch long for all.
func (co *core) part(all []*waiting) (batch, held []*waiting) {
	seen := make(map[string]struct{}, 2*len(all))
	writes, most := map[string]int{}, co.company.limit(all, time.Now()) // by merchant
	co.b.InCompany.Store(most == shareLimit)
	for _, w := range all {
		wait := len(batch) == batchLimit
		for _, id := range w.guards {
			_, known := seen[id]
			wait = wait || known
		}
		// The ids of a held change count too, or a later change would overtake it.
		for _, id := range w.guards {
			seen[id] = struct{}{}
		}
		if merchant := owner(w.change); merchant != "" && !wait {
			n := co.widths.expect(w.change.Events) + len(w.change.Payments) + len(w.change.Deliveries) + shareLimit*len(w.change.FanOuts)
			if sum := writes[merchant]; sum > 0 && sum+n > most {
				wait = true
			} else {
				writes[merchant] += n
			}
		}
		if wait {
			held = append(held, w)
		} else {
			batch = append(batch, w)
		}
	}
	return batch, held
}
