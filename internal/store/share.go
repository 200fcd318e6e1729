package store

import (
	"maps"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// shareLimit is how many payments and deliveries one merchant's changes may write in a batch, unless
// a single change writes more: everybody waits for a batch. The rest comes with the next ones. It is
// aloneLimit while nobody else writes, which others would wait for: nobody did for so long as alone.
const (
	shareLimit = 100
	aloneLimit = 1000
	alone      = time.Second
)

// widthKept is how long it is believed how many deliveries an event of a shop makes: endpoints come
// at other nodes, too.
const widthKept = 10 * time.Second

// widths are how many deliveries an event of a shop makes, as far as this process saw.
type widths struct {
	from    int        // deliveries on an event is wide
	mu      sync.Mutex // owns what follows
	of      map[shopKey]width
	cleared time.Time // when what is not believed any more was last forgotten
}

type width struct {
	n  int
	at time.Time
}

// shopKey is a shop with what its endpoints want alike: few may want what is optional.
type shopKey struct {
	shop     string
	live     bool
	optional bool
}

func keyOf(e *pay.Event) shopKey { return shopKey{e.Shop, e.Live, e.Type.Optional()} }

// expect is how many deliveries the events of a change may make. A shop that was not seen yet
// is held to have all endpoints that it may have.
func (w *widths) expect(events []pay.Event) (n int) {
	if len(events) == 0 {
		return 0
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range events {
		seen, known := w.of[keyOf(&events[i])]
		switch {
		case !known || now.Sub(seen.at) > widthKept:
			seen.n = hook.MostSubscriptions
		case seen.n >= w.from: // its deliveries come by steps
			seen.n = 1
		}
		n += seen.n
	}
	return n
}

// wide tells that an event makes so many deliveries that they come by steps.
func (w *widths) wide(e *pay.Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen, known := w.of[keyOf(e)]
	return known && time.Since(seen.at) <= widthKept && seen.n >= w.from
}

// learn takes notice of the deliveries that events of a batch made.
func (w *widths) learn(kept []*waiting, sent []webhooks.Dispatch) {
	made := make(map[string]int, len(sent))
	for i := range sent {
		made[sent[i].Delivery.Event]++
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.cleared) > widthKept {
		maps.DeleteFunc(w.of, func(_ shopKey, seen width) bool { return now.Sub(seen.at) > widthKept })
		w.cleared = now
	}
	for _, c := range kept {
		for i := range c.change.Events {
			e := &c.change.Events[i]
			w.of[keyOf(e)] = width{max(w.of[keyOf(e)].n, made[e.ID]), now}
		}
		for i := range c.change.Subscriptions {
			s := &c.change.Subscriptions[i]
			delete(w.of, shopKey{s.Shop, s.Live, false})
			delete(w.of, shopKey{s.Shop, s.Live, true})
		}
	}
}

// company knows whether several merchants write. The goroutine of commitLoop owns it.
type company struct {
	last   string    // a merchant who wrote
	others time.Time // when one wrote who was not the last
}

// limit is how much of a batch one merchant's changes may be.
func (c *company) limit(all []*waiting, now time.Time) int {
	for _, w := range all {
		who := owner(&w.change)
		if who == "" || who == c.last {
			continue
		}
		if c.last != "" {
			c.others = now
		}
		c.last = who
	}
	if now.Sub(c.others) < alone {
		return shareLimit
	}
	return aloneLimit
}

// owner is whose payments and deliveries a change writes, "" where it writes none.
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

// part takes those changes for a batch that may be written together, and holds the others back:
// one statement changes a row once, and no merchant makes a batch long for all.
func (s *core) part(all []*waiting) (batch, held []*waiting) {
	seen := make(map[string]struct{}, 2*len(all))
	writes, most := map[string]int{}, s.company.limit(all, time.Now()) // by merchant
	s.InCompany.Store(most == shareLimit)
	for _, w := range all {
		wait := len(batch) == batchLimit
		for _, id := range w.guards {
			_, known := seen[id]
			wait = wait || known
		}
		// The ids of a held change count too, or a later one would overtake it.
		for _, id := range w.guards {
			seen[id] = struct{}{}
		}
		if merchant := owner(&w.change); merchant != "" && !wait {
			n := s.widths.expect(w.change.Events) + len(w.change.Payments) + len(w.change.Deliveries) + shareLimit*len(w.change.FanOuts)
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
