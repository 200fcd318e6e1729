package hook

import (
	"strconv"
	"strings"
	"time"
)

// The events of one object are numbered, and an endpoint gets them one after the
// other (docs/decisions/order.md). Two stand before the first: what an event's id has
// in place of the number, which sorts before it, and its place.
var unnumbered = []struct {
	kind  EventType
	name  string
	place int64
}{{PaymentCreated, "0a", -1}, {PaymentPending, "0b", 0}}

const (
	// MostBefore is how many earlier deliveries one waits for at most.
	MostBefore = 6
	// orderGrace is for how long after it happened an event waits for earlier ones.
	orderGrace = time.Minute
)

// EventID is the id of an object's event, by the part of the object's id behind its prefix, and the event's number.
func EventID(suffix string, number int64) string {
	return EventPrefix + suffix + "-" + strconv.FormatInt(number, 10)
}

// EarlyEventID is the id of an event that stands before the first number.
func EarlyEventID(suffix string, t EventType) string {
	name := ""
	for _, u := range unnumbered {
		if u.kind == t {
			name = u.name
		}
	}
	return EventPrefix + suffix + "-" + name
}

// parts of an event's id: what it is about, its number or the word in its place, and what
// makes it one of a shop's.
func eventParts(id string) (suffix, number, rest string) {
	suffix, number, _ = strings.Cut(strings.TrimPrefix(id, EventPrefix), "-")
	number, rest, found := strings.Cut(number, "-")
	if found {
		rest = "-" + rest
	}
	return suffix, number, rest
}

// About names the object that the event is about, as far as its deliveries are told apart
// by it.
func (d Delivery) About() string {
	suffix, _, rest := eventParts(d.Event)
	return suffix + rest
}

// Place is where the event stands among those of its object: its number, or below.
func (d Delivery) Place() int64 {
	_, number, _ := eventParts(d.Event)
	for _, u := range unnumbered {
		if u.name == number {
			return u.place
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0 // no event of ours
	}
	return n
}

// Before names the deliveries to its endpoint that may tell of the same object and stand
// before this one: the last MostBefore of them.
func (d Delivery) Before(to Subscription) (ids []string) {
	suffix, _, rest := eventParts(d.Event)
	name := func(number string) {
		if len(ids) < MostBefore {
			ids = append(ids, to.Delivery(EventPrefix+suffix+"-"+number+rest))
		}
	}
	place := d.Place()
	for n := place - 1; n > 0 && len(ids) < MostBefore; n-- {
		name(strconv.FormatInt(n, 10))
	}
	for i := len(unnumbered) - 1; i >= 0; i-- {
		if unnumbered[i].place < place && to.Wants(unnumbered[i].kind) {
			name(unnumbered[i].name)
		}
	}
	return ids
}

// Waits reports whether at a moment the delivery still waits for earlier ones: at its first
// try, and not for long. What a person asked for again never does.
func (d Delivery) Waits(now time.Time) bool {
	return d.Attempts == 0 && !d.Urgent && now.Before(d.CreatedAt.Add(orderGrace))
}
