package webhooks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The events of one object are numbered, and an endpoint gets them in order
// (docs/decisions/order.md). unnumbered are those that precede the first number.
var unnumbered = func() (list []eventRow) {
	for _, e := range events {
		if e.early != "" {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b eventRow) int { return cmp.Compare(a.place, b.place) })
	return list
}()

const (
	// MostBefore is the largest number of earlier deliveries that a delivery waits for.
	MostBefore = 6
	// orderGrace is how long an event waits for earlier ones, counted from when it happened.
	orderGrace = time.Minute
)

// EventID is the id of an object's event. suffix is the object's id without its prefix.
func EventID(suffix string, number int64) string {
	return EventPrefix + suffix + "-" + strconv.FormatInt(number, 10)
}

// EarlyEventID is the id of an event that precedes the first number.
func EarlyEventID(suffix string, t EventType) string {
	return EventPrefix + suffix + "-" + rows[t].early
}

// eventParts splits an event's id into its object, its number or the name that replaces it, and the
// part that tells the shops apart.
func eventParts(id string) (suffix, number, rest string) {
	suffix, number, _ = strings.Cut(strings.TrimPrefix(id, EventPrefix), "-")
	number, rest, found := strings.Cut(number, "-")
	if found {
		rest = "-" + rest
	}
	return suffix, number, rest
}

// About names the object of the event. Deliveries with the same About are kept in order.
func (d Delivery) About() string {
	suffix, _, rest := eventParts(d.Event)
	return suffix + rest
}

// Place is the event's place among those of its object: its number, or 0 or less for early events.
func (d Delivery) Place() int64 {
	_, number, _ := eventParts(d.Event)
	for _, u := range unnumbered {
		if u.early == number {
			return u.place
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0 // not an id of our events
	}
	return n
}

// Before lists the possible deliveries of earlier events of the same object to the endpoint: the
// last MostBefore of them.
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
			name(unnumbered[i].early)
		}
	}
	return ids
}

// Waits reports whether the delivery still waits for earlier ones at a time: only before its first
// try, and at most orderGrace. A delivery that a person requested never waits.
func (d Delivery) Waits(now time.Time) bool {
	return d.Attempts == 0 && !d.Urgent && now.Before(d.CreatedAt.Add(orderGrace))
}
