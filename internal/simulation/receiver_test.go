package simulation

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

// inbox is the deliveries that a shop's endpoint accepted: for each object, the events by
// number. The owner of the turn may touch it.
type inbox struct {
	told   map[string]map[int64]string // object → sequence → event; without events that have no number
	mu     sync.Mutex                  // guards open, which changes without the turn
	open   map[string]string           // object and node → the delivery that is under way
	faulty int                         // it fails once in so many deliveries
	slow   int
}

// told is the part of an event that the inbox keeps.
type told struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Sequence int64  `json:"sequence"`
	Data     struct {
		Object struct {
			ID       string `json:"id"`
			RefundID string `json:"refundId"`
			Token    string `json:"sessionId"`
		} `json:"object"`
	} `json:"data"`
}

// receivers is the network between a node and the endpoints.
type receivers struct{ n *node }

// RoundTrip implements http.RoundTripper.
func (r receivers) RoundTrip(request *http.Request) (*http.Response, error) {
	w, ctx := r.n.w, request.Context()
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	var event told
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	delivery := request.Header.Get(sender.DeliveryHeader)
	if err := r.n.stand(); err != nil {
		return nil, err
	}
	w.turns.turn(r.n.name + " sends " + delivery + " " + event.Type)
	if ctx.Err() != nil || r.n.isDead() {
		return nil, errors.New("never left")
	}
	box := w.inboxes[request.URL.Host]
	defer box.enter(w, r.n.name, event, delivery)()
	wait := w.turns.between(time.Millisecond, 200*time.Millisecond)
	if w.turns.one(box.slow) {
		wait = w.turns.between(0, 14*time.Second)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.n.dead:
		return nil, errDead
	}
	w.turns.turn(delivery + " arrives")
	status := http.StatusOK
	switch {
	case w.turns.one(box.faulty):
		w.count("deliveries failed")
		status = http.StatusInternalServerError
	default:
		w.count("deliveries")
		box.take(event)
	}
	if err := r.n.stand(); err != nil {
		return nil, err
	}
	w.turns.turn(r.n.name + " hears of " + delivery)
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func (e told) object() string {
	if id := e.Data.Object.ID; id != "" {
		return id
	}
	return cmp.Or(e.Data.Object.RefundID, e.Data.Object.Token)
}

// enter records that a node sends a delivery. A node sends one at a time for an object.
func (b *inbox) enter(w *world, node string, e told, delivery string) (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		b.open = map[string]string{}
	}
	line := node + " " + e.object()
	if other := b.open[line]; other != "" && other != delivery {
		w.find(oneByOne, e.object(), "%s sends %s while %s is under way", node, delivery, other)
	}
	b.open[line] = delivery
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.open[line] == delivery {
			delete(b.open, line)
		}
	}
}

func (b *inbox) take(e told) {
	if e.Sequence == 0 { // from before events were numbered; payments in progress have no earlier event
		return
	}
	id := e.object()
	if b.told[id] == nil {
		b.told[id] = map[int64]string{}
	}
	b.told[id][e.Sequence] = e.Type
}

func (b *inbox) heal() { b.faulty, b.slow = 0, 0 }
