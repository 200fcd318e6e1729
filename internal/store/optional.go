package store

import (
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// An optional event is kept only if an endpoint wants it, and few do. So its payload is not made as long as nobody wanted such an
// event of its shop a moment ago. That is a guess, because an endpoint may just have been added, at this node or at another. The
// commit itself asks: if an endpoint subscribes to the event, nothing is written, and the batch runs again with the payload.

// errWanted: an endpoint subscribes to an event that has no payload yet.
var errWanted = errors.New("an event without a payload is wanted")

// Unwanted reports whether a moment ago nobody wanted the optional events of a shop.
func Unwanted(s *Store, shop merchants.Scope) bool { return s.widths.unwanted(shop) }

func (wi *widths) unwanted(shop merchants.Scope) bool {
	wi.mu.Lock()
	defer wi.mu.Unlock()
	seen, known := wi.of[shopKey{shop.Shop, shop.Live, true}]
	return known && seen.n == 0 && time.Since(seen.at) <= widthKept
}

// unwritten lists the batch's events that have no payload yet.
func (w *write) unwritten() []*pay.Event {
	return webhooks.EventsTable.In(w.Changes, func(e *pay.Event) bool { return e.Write != nil })
}

// askWanted adds the question whether an endpoint subscribes to them; if so, wanted is set and nothing is written.
func (w *write) askWanted(guards []engine.Step, wanted *bool) []engine.Step {
	list := w.unwritten()
	if len(list) == 0 {
		return guards
	}
	ask := engine.Step{Text: w.s.b.Text(webhooks.AskWanted), Args: webhooks.WantedArguments(w.Dialect, list)}
	if w.Dialect == engine.SQLite {
		ask.Each = func(engine.Row) error { *wanted = true; return errWanted }
		return append([]engine.Step{ask}, guards...)
	}
	ask.Each = func(engine.Row) error { *wanted = true; return nil }
	w.Look = append(w.Look, ask)
	return guards
}

// writeEvents makes the payloads of the batch's events, and returns who still waits: a change whose payload cannot be made is
// lost.
func (w *write) writeEvents() (kept []*waiting) {
	for _, c := range w.batch {
		var failed error
		for i := range c.change.Events {
			if e := &c.change.Events[i]; e.Write != nil {
				var err error
				e.Payload, err = e.Write()
				e.Write, failed = nil, errors.Join(failed, err)
			}
		}
		if failed != nil {
			w.lost[c] = failed
			continue
		}
		kept = append(kept, c)
	}
	return kept
}
