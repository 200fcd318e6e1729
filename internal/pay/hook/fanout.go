package hook

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// FanOut is an event of a shop with many endpoints, whose deliveries are made a few at a time so
// that no merchant makes a batch long for others. It is over when each endpoint has its delivery.
type FanOut struct {
	tenant.Scope
	Event   string
	Version int64
	Type    EventType
	After   string    // the last endpoint, in the order of ids, that has its delivery
	At      time.Time // of the event
	DueAt   time.Time

	Through string // the last endpoint that gets its delivery now; not stored
	Over    bool   // there is no other endpoint; not stored
	Payload []byte // the event's; not stored
}

// Step makes deliveries for the next endpoints, which are sorted and as many as one step makes, or all
// that are left where last is true.
func (f FanOut) Step(endpoints []string, last bool) FanOut {
	f.Version++
	f.Over = last
	f.Through = f.After
	if len(endpoints) > 0 {
		f.Through = endpoints[len(endpoints)-1]
	}
	return f
}
