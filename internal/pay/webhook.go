package pay

import (
	"slices"
	"time"
)

// Subscription is an endpoint that wants events (gaps: Webhook subscriptions
// and deliveries).
type Subscription struct {
	ID string // wh_…
	Scope
	Version        int64
	URL            string
	Events         []string // event types, or AllEvents
	Managed        bool     // the URL is our own inbox
	Status         SubscriptionStatus
	DisabledReason string
	Description    string
	Secret         []byte // sealed
	SecretPreview  string
	PreviousSecret []byte    // sealed; empty unless a rotation is under way
	PreviousUntil  time.Time // when the previous secret stops signing
	CreatedAt      time.Time
	UpdatedAt      time.Time
	LastDelivery   time.Time // last try of the newest delivery; known in lists only
}

// SubscriptionStatus says whether events are sent.
type SubscriptionStatus string

// States of a subscription. Deleted ones are kept for the delivery log.
const (
	Enabled  SubscriptionStatus = "enabled"
	Disabled SubscriptionStatus = "disabled"
	Deleted  SubscriptionStatus = "deleted"
)

// AllEvents subscribes to every event.
const AllEvents = "*"

// ValidEvent reports whether s may stand in a subscription's events.
func ValidEvent(s string) bool {
	return s == AllEvents || slices.Contains(EventTypes(), EventType(s))
}

// Delete ends a subscription.
func (s Subscription) Delete(now time.Time) Change {
	s.Status = Deleted
	s.Version++
	s.UpdatedAt = now
	return Change{Subscriptions: []Subscription{s}}
}

// Disable stops a subscription, with the reason that its owner sees.
func (s Subscription) Disable(reason string, now time.Time) Subscription {
	s.Status, s.DisabledReason = Disabled, reason
	s.Version++
	s.UpdatedAt = now
	return s
}

// Delivery is one event on its way to one endpoint. The row is made by Commit
// with the event, and the same row is used for every try and replay.
type Delivery struct {
	ID string // wd_…
	Scope
	Version      int64
	Event        string
	EventType    EventType
	Subscription string
	Status       DeliveryStatus
	Attempts     int       // tries so far, replays included
	Budget       int       // tries after which it is a dead letter; a replay adds to it
	DueAt        time.Time // next try; while leased, the end of the lease
	LastAt       time.Time
	DeliveredAt  time.Time
	LastCode     int    // HTTP status, 0 when there was no answer
	LastError    string // webhook.Reason
	LastMs       int64
	Snippet      string
	CreatedAt    time.Time
}

// DeliveryStatus is where a delivery stands (gaps).
type DeliveryStatus string

// States of a delivery. A failed one will be tried again.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
	DeadLetter        DeliveryStatus = "dead_letter"
)

// Try is what came of sending a delivery once.
type Try struct {
	Code     int // HTTP status, 0 when there was no answer
	Error    string
	Snippet  string
	Duration time.Duration
	Again    time.Duration // until the next try
	GiveUp   bool          // no next try
}

// Tried notes a try.
func (d Delivery) Tried(t Try, now time.Time) Delivery {
	d.Version++
	d.Attempts++
	d.LastAt, d.LastCode, d.LastError = now, t.Code, t.Error
	d.LastMs, d.Snippet = t.Duration.Milliseconds(), t.Snippet
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
