package store

import (
	"maps"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// shareLimit is how many deliveries one merchant's changes may make in a batch, unless a single
// change makes more: everybody waits for a batch. The rest comes with the next ones.
const shareLimit = 1000

// widthKept is how long it is believed how many deliveries an event of a shop makes: endpoints come
// at other nodes, too.
const widthKept = 10 * time.Second

// widths are how many deliveries an event of a shop makes, as far as this process saw.
type widths struct {
	mu      sync.Mutex // owns what follows
	of      map[shopKey]width
	cleared time.Time // when what is not believed any more was last forgotten
}

type width struct {
	n  int
	at time.Time
}

type shopKey struct {
	shop string
	live bool
}

func keyOf(e *pay.Event) shopKey { return shopKey{e.Shop, e.Live} }

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
		if !known || now.Sub(seen.at) > widthKept {
			seen.n = pay.MostSubscriptions
		}
		n += seen.n
	}
	return n
}

// learn takes notice of the deliveries that events of a batch made.
func (w *widths) learn(kept []*waiting, sent []Dispatch) {
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
			delete(w.of, shopKey{s.Shop, s.Live})
		}
	}
}

// part takes those changes for a batch that may be written together, and holds the others back:
// one statement changes a row once, and no merchant makes a batch long for all.
func (s *Store) part(all []*waiting) (batch, held []*waiting) {
	seen := make(map[string]struct{}, 2*len(all))
	makes := map[string]int{} // deliveries, by merchant
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
		if n := s.widths.expect(w.change.Events); n > 0 && !wait {
			merchant := w.change.Events[0].Merchant
			if made := makes[merchant]; made > 0 && made+n > shareLimit {
				wait = true
			} else {
				makes[merchant] += n
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
