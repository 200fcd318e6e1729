package webhooks

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// FanOutLease is how long an event's steps belong to the node that leased them, before another node may make them: many times
// what a step takes, and a node that died delays the rest by no more.
const FanOutLease = 30 * time.Second

// FanOut makes the deliveries of an event of a shop with many endpoints, a few at a time, so that
// no merchant delays the others' commits. It is over when each endpoint has its delivery.
type FanOut struct {
	merchants.Scope
	Event   string
	Version int64
	Type    EventType
	After   string    // the last endpoint that has its delivery, in the order of ids
	At      time.Time // of the event
	DueAt   time.Time

	Through string // the last endpoint that gets its delivery in this step; not stored
	Over    bool   // no endpoint is left; not stored
	Payload []byte // the event's; not stored
}

// Step makes deliveries for the next endpoints. They are sorted; there is a full step of them, or
// all that are left if last is true.
func (f FanOut) Step(endpoints []string, last bool) FanOut {
	f.Version++
	f.Over = last
	f.Through = f.After
	if len(endpoints) > 0 {
		f.Through = endpoints[len(endpoints)-1]
	}
	return f
}
