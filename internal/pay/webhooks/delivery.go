package webhooks

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Delivery is one event on its way to one endpoint. It is written in the same commit as the event,
// and the same row is used for every try and replay.
type Delivery struct {
	ID string // wd_…
	merchants.Scope
	Version      int64
	Event        string
	EventType    EventType
	Subscription string
	Status       DeliveryStatus
	Stored       DeliveryStatus // status when the row was read; the counters need it
	Attempts     int            // tries so far, replays included
	Budget       int            // tries until it is a dead letter; a replay adds to it
	DueAt        time.Time      // next try; while leased, the end of the lease
	Parked       bool           // waits for its endpoint, not for a time
	Urgent       bool           // requested by a person and not tried since: it is tried even if the circuit is open
	LastAt       time.Time
	DeliveredAt  time.Time
	LastCode     int    // HTTP status, 0 if there was no answer
	LastError    string // sender.Reason
	LastMs       int64
	Snippet      string
	Earlier      []Attempted // the tries before the last, oldest first; only the newest are kept
	CreatedAt    time.Time
}

// Forget removes the text of the endpoint's answer.
func (d Delivery) Forget() Delivery {
	d.Version++
	d.Snippet = ""
	return d
}

// Attempted is one try of a delivery, as the delivery log keeps it.
type Attempted struct {
	At      int64  `json:"at"` // microseconds UTC
	Code    int    `json:"code,omitempty"`
	Error   string `json:"error,omitempty"`
	Ms      int64  `json:"ms,omitempty"`
	Snippet string `json:"snippet,omitempty"`
}

// deliveryPauses are the pauses between the tries of a delivery, about 2.9 days together (HOOK-13): short ones first, for an
// endpoint that restarts, then long ones, for one that somebody has to mend.
var deliveryPauses = [...]time.Duration{
	10 * time.Second,
	time.Minute,
	5 * time.Minute,
	15 * time.Minute,
	time.Hour,
	3 * time.Hour,
	6 * time.Hour,
	12 * time.Hour,
	24 * time.Hour,
	24 * time.Hour,
}

const (
	// DeliveryTries is the number of tries before a delivery is a dead letter. A replay adds as
	// many.
	DeliveryTries = len(deliveryPauses) + 1
	// DeliveryLease is how long a delivery belongs to the node that leased or wrote it, before
	// another node may send it. It is longer than a try may take.
	DeliveryLease = 30 * time.Second
	// attemptLog is the number of tries that a delivery keeps, including the last.
	attemptLog = 20
	// logSnippet is how much of an earlier try's answer is kept, in bytes.
	logSnippet = 256
)

// DeliveryStatus is the state of a delivery (HOOK-22).
type DeliveryStatus string

// States of a delivery. A failed one is tried again.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
	DeadLetter        DeliveryStatus = "dead_letter"
)

// DeliveryStatuses lists the states.
func DeliveryStatuses() []DeliveryStatus {
	return []DeliveryStatus{DeliveryPending, DeliveryDelivered, DeliveryFailed, DeadLetter}
}

// Try is the result of sending a delivery once.
type Try struct {
	Code     int // HTTP status, 0 if there was no answer
	Error    string
	Snippet  string
	Duration time.Duration
	Again    time.Duration // until the next try
	GiveUp   bool          // no next try
}

// Tried records a try.
func (d Delivery) Tried(t Try, now time.Time) Delivery {
	d = d.logged(t, now)
	switch {
	case t.Error == "":
		d.Status, d.DeliveredAt, d.DueAt = DeliveryDelivered, now, time.Time{}
	case t.GiveUp:
		d.Status, d.DueAt = DeadLetter, time.Time{}
	default:
		d.Status, d.DueAt = DeliveryFailed, now.Add(t.Again)
	}
	return d
}

// Pause is how long to wait after the try that is under way, if it fails. It is changed by up to 20 %, by u in [0, 1), so
// that deliveries that failed together do not come back together. After the last try it returns false: the delivery is a
// dead letter (HOOK-13).
func (d Delivery) Pause(u float64) (time.Duration, bool) {
	failed := max(1, d.Attempts+1-(d.Budget-DeliveryTries)) // the budget grows with each replay, and the pauses start again
	if failed >= DeliveryTries {
		return 0, false
	}
	return time.Duration(float64(deliveryPauses[failed-1]) * (0.8 + 0.4*u)), true
}

// PauseAsked is Pause for an endpoint that asked to be left alone for so long: no shorter, and at most what is left of the
// schedule, so that no answer holds a delivery back for ever. The number of tries stays. The wish is made longer by up to
// 20 %, by u, so that deliveries do not come back together.
func (d Delivery) PauseAsked(u float64, asked time.Duration) (time.Duration, bool) {
	pause, more := d.Pause(u)
	if !more || asked <= pause {
		return pause, more
	}
	var left time.Duration
	for _, p := range deliveryPauses[max(0, d.Attempts-(d.Budget-DeliveryTries)):] {
		left += p
	}
	return max(pause, min(time.Duration(float64(asked)*(1+0.2*u)), left)), true
}

// Overtaken records a try of a delivery that was replayed during the try. d is the replayed
// delivery. If the try succeeded, it need not be sent again; a failure is one more try in the log
// and does not change the replay. It returns false if the delivery has changed since, so that the
// try no longer counts.
func (d Delivery) Overtaken(t Try, now time.Time) (Delivery, bool) {
	if !d.Urgent {
		return d, false
	}
	if t.Error == "" {
		return d.Tried(t, now), true
	}
	d = d.logged(t, now)
	d.Budget++ // the replay keeps its number of tries
	d.Urgent = true
	return d, true
}

// logged counts a try.
func (d Delivery) logged(t Try, now time.Time) Delivery {
	if d.Attempts > 0 && !d.LastAt.IsZero() {
		earlier := append(slices.Clone(d.Earlier), Attempted{d.LastAt.UnixMicro(), d.LastCode, d.LastError, d.LastMs, head(d.Snippet)})
		d.Earlier = earlier[max(0, len(earlier)-(attemptLog-1)):]
	}
	d.Version++
	d.Attempts++
	d.Parked, d.Urgent = false, false
	d.LastAt, d.LastCode, d.LastError = now, t.Code, t.Error
	d.LastMs, d.Snippet = t.Duration.Milliseconds(), t.Snippet
	return d
}

// head returns the start of a text, without splitting a character.
func head(text string) string {
	if len(text) <= logSnippet {
		return text
	}
	for i := range text {
		if i > logSnippet-4 {
			return text[:i]
		}
	}
	return text
}

// Log lists the tries that are kept, oldest first.
func (d Delivery) Log() []Attempted {
	if d.LastAt.IsZero() {
		return nil
	}
	return append(slices.Clone(d.Earlier), Attempted{d.LastAt.UnixMicro(), d.LastCode, d.LastError, d.LastMs, d.Snippet})
}

// Abandon makes a delivery a dead letter because its endpoint is disabled or deleted. It does not
// count as a try.
func (d Delivery) Abandon() Delivery {
	d.Version++
	d.Status, d.DueAt, d.Parked, d.Urgent = DeadLetter, time.Time{}, false, false
	return d
}

// Replay sends a delivery again: due now, with as many tries as a new one. The count of tries
// continues.
//
// Errors: conflict_state unless it is a dead letter or failed (HOOK-25).
func (d Delivery) Replay(now time.Time) (Delivery, error) {
	if d.Status != DeadLetter && d.Status != DeliveryFailed {
		return d, &problem.Error{
			Code: problem.ConflictState, Reason: deliveryNotReplayable.With(d.Status),
			Details: problem.Details{From: string(d.Status), Action: "replay"},
		}
	}
	d = d.again(now)
	d.Urgent = true
	return d, nil
}

// again returns the delivery with as many tries as a new one, due at a time.
func (d Delivery) again(due time.Time) Delivery {
	d.Version++
	d.Status, d.DueAt, d.Parked, d.Urgent, d.DeliveredAt = DeliveryPending, due, false, false, time.Time{}
	d.Budget = d.Attempts + DeliveryTries
	return d
}
