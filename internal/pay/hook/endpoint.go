package hook

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// Subscription is an endpoint that wants events (HOOK-3).
type Subscription struct {
	ID string // wh_…
	tenant.Scope
	Version        int64
	URL            string
	Events         []string      // event types, or AllEvents
	EventsVersion  EventsVersion // what AllEvents stands for
	Managed        bool          // the URL is our own inbox
	Status         SubscriptionStatus
	DisabledReason string
	Description    string
	Secret         []byte // sealed
	SecretPreview  string
	PreviousSecret []byte    // sealed; empty unless a rotation is under way
	PreviousUntil  time.Time // when the previous secret stops signing
	Circuit        Circuit
	CreatedAt      time.Time
	UpdatedAt      time.Time // by its owner, or disabled; the circuit is not told here
	LastDelivery   time.Time // the last try to it; known in what its owner reads only
}

// SubscriptionStatus says whether events are sent.
type SubscriptionStatus string

// States of a subscription. Deleted ones are kept for the delivery log.
const (
	Enabled  SubscriptionStatus = "enabled"
	Disabled SubscriptionStatus = "disabled"
	Deleted  SubscriptionStatus = "deleted"
)

const (
	// AllEvents subscribes to every event.
	AllEvents = "*"
	// RotationGrace is how long the previous secret still signs after a
	// rotation (HOOK-7).
	RotationGrace = 24 * time.Hour
)

// ValidEvent reports whether s may stand in a subscription's events.
func ValidEvent(s string) bool {
	return s == AllEvents || slices.Contains(EventTypes(), EventType(s))
}

// Wants reports whether an event of a type is sent to the endpoint. A type that is named is,
// whatever the set.
func (s Subscription) Wants(t EventType) bool {
	return slices.Contains(s.Events, string(t)) || slices.Contains(s.Events, AllEvents) && t.Since() <= s.EventsVersion
}

// Delivery names the delivery of an event to the endpoint.
func (s Subscription) Delivery(event string) string {
	return DeliveryPrefix + strings.TrimPrefix(event, EventPrefix) + "-" + strings.TrimPrefix(s.ID, SubscriptionPrefix)
}

// SubscriptionEdit is what the owner changes; nil keeps what is.
type SubscriptionEdit struct {
	URL           *string
	Events        []string
	EventsVersion *EventsVersion
	Description   *string
	Status        *SubscriptionStatus
}

// MostSubscriptions is how many endpoints a shop has in an environment at most, unless the
// operator says otherwise: each event goes to all of them.
const MostSubscriptions = 50

// Beside reports whether a subscription may stand beside the others of its shop and
// environment, of which there are total. A new one may not be one too many; no two have one
// URL and the same events.
//
// Errors: conflict_state.
func (s Subscription) Beside(others []Subscription, total int64, most int) error {
	events := sortedEvents(s)
	for _, o := range others {
		if o.ID != s.ID && sameURL(o.URL, s.URL) && slices.Equal(sortedEvents(o), events) {
			return problem.Field(problem.ConflictState, "url", "the webhook "+o.ID+" has this URL and these events: change it, or delete it first")
		}
	}
	if s.Version == 1 && total >= int64(most) {
		return problem.New(problem.ConflictState, fmt.Sprintf("the shop has %d webhooks, and may have %d in an environment: delete one first", total, most))
	}
	return nil
}

// sameURL reports whether two addresses lead to the same place, however they are written.
func sameURL(a, b string) bool { return a == b || plainURL(a) == plainURL(b) }

func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	port := u.Port()
	if u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		port = ""
	}
	return u.Scheme + " " + strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") + " " + port + " " + "/" + strings.TrimPrefix(u.EscapedPath(), "/") + " " + u.RawQuery
}

func sortedEvents(s Subscription) []string {
	return slices.Compact(slices.Sorted(slices.Values(s.Events)))
}

// Edit changes a subscription. A managed one that is given a URL is the
// owner's own from then on. A new URL, and being enabled, begin with a closed
// circuit. An edit that says nothing new changes nothing.
func (s Subscription) Edit(e SubscriptionEdit, now time.Time) Subscription {
	next := s
	if e.URL != nil {
		next.Managed = next.Managed && *e.URL == next.URL
		next.URL = *e.URL
	}
	if e.Events != nil {
		next.Events = e.Events
	}
	if e.EventsVersion != nil {
		next.EventsVersion = *e.EventsVersion
	}
	if e.Description != nil {
		next.Description = *e.Description
	}
	if e.Status != nil {
		next.Status, next.DisabledReason = *e.Status, ""
		if *e.Status == Disabled {
			next.DisabledReason = "disabled by its owner"
		}
	}
	if next.URL != s.URL || e.Status != nil && *e.Status == Enabled {
		next.Circuit = Circuit{}
	}
	if next.URL == s.URL && next.Managed == s.Managed && slices.Equal(next.Events, s.Events) && next.EventsVersion == s.EventsVersion && next.Description == s.Description &&
		next.Status == s.Status && next.DisabledReason == s.DisabledReason && next.Circuit == s.Circuit {
		return s
	}
	return next.written(now)
}

// Rotate gives a subscription a new secret. The one before signs beside it for
// a day; of two rotations in a day the newest two secrets sign.
func (s Subscription) Rotate(sealed []byte, preview string, now time.Time) Subscription {
	s.PreviousSecret, s.PreviousUntil = s.Secret, now.Add(RotationGrace)
	s.Secret, s.SecretPreview = sealed, preview
	return s.written(now)
}

// At is the subscription as it is at a moment: a previous secret whose grace
// is over is gone.
func (s Subscription) At(now time.Time) Subscription {
	if !now.Before(s.PreviousUntil) {
		s.PreviousSecret, s.PreviousUntil = nil, time.Time{}
	}
	return s
}

// Delete ends a subscription.
func (s Subscription) Delete(now time.Time) Subscription {
	s.Status = Deleted
	return s.written(now)
}

// Disable stops a subscription, with the reason that its owner sees. One that
// is not enabled stays as it is.
func (s Subscription) Disable(reason string, now time.Time) Subscription {
	if s.Status != Enabled {
		return s
	}
	s.Status, s.DisabledReason = Disabled, reason
	return s.written(now)
}

// Unchanged is a version that says the same. Written with a decision that rests on how the subscription is,
// it makes the decision stale where somebody changed that first.
func (s Subscription) Unchanged() Subscription {
	s.Version++
	return s
}

// written is a version that the owner sees.
func (s Subscription) written(now time.Time) Subscription {
	s.Version++
	s.UpdatedAt = now
	return s
}

// Received is a delivery that a managed inbox took.
type Received struct {
	ID string // inb_…
	tenant.Scope
	Subscription string
	Delivery     string // wd_…
	Event        string
	EventType    EventType
	At           time.Time
	Header       map[string]string // what the signature is checked with
	Body         []byte
}

const (
	// InboxPrefix starts the id of what an inbox got.
	InboxPrefix = "inb_"
	// InboxKept is how many deliveries an inbox keeps.
	InboxKept = 1000
	// InboxAge is for how long it keeps them.
	InboxAge = 30 * 24 * time.Hour
)
