package webhooks

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Replay sends the events of a span of time to an endpoint again: a few a second, in the order in
// which they happened. Any node can continue it after the last event that was handled.
type Replay struct {
	ID string // rpl_…
	merchants.Scope
	Version      int64
	Subscription string
	Status       ReplayStatus
	From         time.Time
	To           time.Time   // exclusive
	Types        []EventType // none: all that the endpoint wants
	Events       int64       // in that span, when the replay began
	Sent         int64       // deliveries that were begun
	LeftOut      int64       // were under way already, or are not wanted any more
	AfterAt      time.Time   // time of the last event that was handled
	AfterID      string
	Why          StopReason // of a stopped one
	ResumeFrom   time.Time  // of a stopped one: events from this time on may be missing
	DueAt        time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// ReplayStatus is the state of a replay.
type ReplayStatus string

// States of a replay.
const (
	ReplayRunning ReplayStatus = "running"
	ReplayDone    ReplayStatus = "done"
	ReplayStopped ReplayStatus = "stopped"
)

// StopReason says why a replay was stopped.
type StopReason string

// Reasons to stop a replay: its endpoint is disabled or deleted, or somebody asked for it. The
// owner of a deleted endpoint cannot read its replays, so only the database shows that reason.
const (
	StopAsked    StopReason = "requested"
	StopDisabled StopReason = "webhook_disabled"
	StopDeleted  StopReason = "webhook_deleted"
)

const (
	// ReplayPrefix begins a replay's id.
	ReplayPrefix = "rpl_"
	// ReplaySpan is the longest span of time of a replay.
	ReplaySpan = 31 * 24 * time.Hour
	// ReplayMost is the largest number of events of a replay.
	ReplayMost = 100_000
	// ReplayStep is how many events are begun at a time. The next step begins when fewer than that
	// still wait for a try.
	ReplayStep = 50
	// ReplayEvery is the shortest time between two steps.
	ReplayEvery = time.Second
	// replayPause is how long a replay waits while the endpoint's circuit is open.
	replayPause = time.Minute
)

// Begin starts a replay. Its id, scope, subscription, times and types are set.
//
// Errors: invalid_request.
func (r Replay) Begin(now time.Time) (Replay, error) {
	if r.To.IsZero() || r.To.After(now) {
		r.To = now
	}
	end := r.To
	if end.Equal(now) {
		r.To = whole(now)
	}
	switch {
	case !r.From.Before(end):
		return r, problem.Field(problem.InvalidRequest, "from", replayBackwards)
	case end.Sub(r.From) > ReplaySpan:
		return r, problem.Field(problem.InvalidRequest, "from", replayTooLong.With(int(ReplaySpan/(24*time.Hour))))
	}
	r.Version, r.Status, r.AfterAt, r.AfterID = 1, ReplayRunning, r.From, ""
	r.DueAt, r.CreatedAt, r.UpdatedAt = now, now, now
	return r, nil
}

// Bound returns an error if a replay has too many events.
//
// Errors: invalid_request.
func (r Replay) Bound() error {
	if r.Events > ReplayMost {
		return problem.Field(problem.InvalidRequest, "from", replayTooLarge.With(r.Events, ReplayMost))
	}
	return nil
}

// whole rounds the end of a replay up to a millisecond. Replies show milliseconds, and a client
// that continues from the end that it was shown must not miss an event.
func whole(end time.Time) time.Time {
	if shown := end.Truncate(time.Millisecond); shown.Before(end) {
		return shown.Add(time.Millisecond)
	}
	return end
}

// Same reports whether another request asks for the same as a running replay. If the request has no
// end, or an end in the future, it asks for all events up to the time at which the replay began.
func (r Replay) Same(o Replay, now time.Time) bool {
	to := o.To
	if to.IsZero() || to.After(now) {
		to = whole(r.CreatedAt)
	}
	same := func(a, b time.Time) bool { return a.UnixMicro() == b.UnixMicro() } // the stored precision
	return r.Subscription == o.Subscription && same(r.From, o.From) && same(r.To, to) && slices.Equal(r.Types, o.Types)
}

// Selects lists the types that a replay sends to its endpoint.
func (r Replay) Selects(to Subscription) (types []EventType) {
	for _, t := range EventTypes() {
		if to.Wants(t) && (len(r.Types) == 0 || slices.Contains(r.Types, t)) {
			types = append(types, t)
		}
	}
	return types
}

// Replayed is an event of a replay with its delivery to the endpoint. The delivery has version 0 if
// there was none.
type Replayed struct {
	Event    string
	Type     EventType
	At       time.Time
	Delivery Delivery
}

// Send begins the deliveries of the next events. They become due one after the other until the next
// step.
func (r Replay) Send(list []Replayed, now time.Time) (Replay, []Delivery) {
	var begun []Delivery
	pause := ReplayEvery / ReplayStep
	for i, next := range list {
		r.AfterAt, r.AfterID = next.At, next.Event
		d := next.Delivery
		due := now.Add(time.Duration(i) * pause)
		switch {
		case d.Version == 0:
			d = Delivery{
				ID: Subscription{ID: r.Subscription}.Delivery(next.Event), Scope: r.Scope, Version: 1, Event: next.Event, EventType: next.Type, Subscription: r.Subscription,
				Status: DeliveryPending, Stored: DeliveryPending, Budget: DeliveryTries, DueAt: due, CreatedAt: now,
			}
		case d.Status == DeliveryPending:
			r.LeftOut++
			continue
		default:
			d = d.again(due)
		}
		r.Sent++
		begun = append(begun, d)
	}
	r.DueAt = now.Add(ReplayEvery)
	return r.written(now), begun
}

// End ends a replay that has begun all deliveries, each of which was tried. Before that it can be
// stopped and remembers its position.
func (r Replay) End(now time.Time) Replay {
	r.Status, r.DueAt = ReplayDone, time.Time{}
	r.LeftOut = max(r.LeftOut, r.Events-r.Sent)
	return r.written(now)
}

// Wait schedules the next look: soon if the endpoint is busy, later if it fails.
func (r Replay) Wait(fails bool, now time.Time) Replay {
	r.DueAt = now.Add(ReplayEvery)
	if fails {
		r.DueAt = now.Add(replayPause)
	}
	return r.written(now)
}

// Stop ends a replay early. It remembers its position: untaken is the time of its oldest event that
// the endpoint has not accepted, zero if there is none. Deliveries that it has begun continue.
//
// Errors: conflict_state if it is done. A stopped replay does not change.
func (r Replay) Stop(why StopReason, untaken, now time.Time) (Replay, error) {
	switch r.Status {
	case ReplayStopped:
		return r, nil
	case ReplayDone:
		return r, &problem.Error{Code: problem.ConflictState, Reason: replayDone, Details: problem.Details{From: string(r.Status), Action: "stop"}}
	}
	r.Status, r.DueAt, r.Why, r.ResumeFrom = ReplayStopped, time.Time{}, why, r.AfterAt
	if !untaken.IsZero() && untaken.Before(r.AfterAt) {
		r.ResumeFrom = untaken
	}
	return r.written(now), nil
}

// StopFor is the reason why a replay to the endpoint stops, "" if it continues.
func (s Subscription) StopFor() StopReason {
	switch s.Status {
	case Enabled:
		return ""
	case Disabled:
		return StopDisabled
	}
	return StopDeleted
}

func (r Replay) written(now time.Time) Replay {
	r.Version++
	r.UpdatedAt = now
	return r
}
