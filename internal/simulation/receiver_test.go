package simulation

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/webhook"
)

// inbox is what a shop's endpoint took: of each object, the events by number. Whoever
// has the turn may touch it.
type inbox struct {
	told   map[string]map[int64]string // object → sequence → event
	faulty int                         // it fails once in so many times
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
		} `json:"object"`
	} `json:"data"`
}

// receivers is the network between a node and the endpoints.
type receivers struct{ n *node }

// RoundTrip is for http.RoundTripper.
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
	delivery := request.Header.Get(webhook.DeliveryHeader)
	if err := r.n.stand(); err != nil {
		return nil, err
	}
	w.turns.turn(r.n.name + " sends " + delivery + " " + event.Type)
	if ctx.Err() != nil || r.n.isDead() {
		return nil, errors.New("never left")
	}
	box := w.inboxes[request.URL.Host]
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

func (b *inbox) take(e told) {
	id := e.Data.Object.ID
	if id == "" {
		id = e.Data.Object.RefundID
	}
	if b.told[id] == nil {
		b.told[id] = map[int64]string{}
	}
	b.told[id][e.Sequence] = e.Type
}

func (b *inbox) heal() { b.faulty, b.slow = 0, 0 }
