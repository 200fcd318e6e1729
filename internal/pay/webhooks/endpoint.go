package webhooks

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Subscription is an endpoint with the events that it gets (HOOK-3).
type Subscription struct {
	ID string // wh_…
	merchants.Scope
	Version        int64
	URL            string
	Events         []string      // event types, or AllEvents
	EventsVersion  EventsVersion // the set that AllEvents stands for
	Managed        bool          // the URL is our own managed inbox
	Status         SubscriptionStatus
	DisabledReason string
	Description    string
	Secret         []byte // encrypted
	SecretPreview  string
	PreviousSecret []byte    // encrypted; empty unless a rotation is under way
	PreviousUntil  time.Time // when the previous secret stops signing
	Authentication Authentication
	Circuit        EndpointCircuit
	CreatedAt      time.Time
	UpdatedAt      time.Time // last change by its owner, or when it was disabled; changes of the circuit do not count
	LastDelivery   time.Time // time of the last try; set only when its owner reads it
}

// Authentication is what an endpoint asks of its callers: a user name with a password, or one header with a value. The zero
// value is none.
type Authentication struct {
	Username  string // of Basic authentication
	Header    string // the header's name
	Encrypted []byte // the password, or the header's value
}

// None reports whether the endpoint asks for nothing.
func (a Authentication) None() bool { return len(a.Encrypted) == 0 }

// Kind is basic, header or none.
func (a Authentication) Kind() string {
	switch {
	case a.None():
		return "none"
	case a.Header != "":
		return "header"
	}
	return "basic"
}

// Same reports whether nothing was changed.
func (a Authentication) Same(b Authentication) bool {
	return a.Username == b.Username && a.Header == b.Header && slices.Equal(a.Encrypted, b.Encrypted)
}

// AuthenticationOf is what the credentials of a subscription are encrypted for: its scheme, host and port too, so that
// nobody who changes the row sends them elsewhere.
func AuthenticationOf(subscription, address string) string {
	return subscription + "/authentication/" + originOf(address)
}

// SubscriptionStatus says whether events are sent.
type SubscriptionStatus string

// States of a subscription. Deleted ones stay for the delivery log.
const (
	Enabled  SubscriptionStatus = "enabled"
	Disabled SubscriptionStatus = "disabled"
	Deleted  SubscriptionStatus = "deleted"
)

const (
	// AllEvents subscribes to every event.
	AllEvents = "*"
	// RotationGrace is how long the previous secret signs after a rotation (HOOK-7).
	RotationGrace = 24 * time.Hour
)

// ValidEvent reports whether s may be in a subscription's events.
func ValidEvent(s string) bool {
	return s == AllEvents || slices.Contains(EventTypes(), EventType(s))
}

// Wants reports whether the endpoint gets events of a type. A type that is listed by name is sent,
// whatever the set.
func (s Subscription) Wants(t EventType) bool {
	return slices.Contains(s.Events, string(t)) || slices.Contains(s.Events, AllEvents) && t.Since() <= s.EventsVersion
}

// Delivery returns the id of the delivery of an event to the endpoint.
func (s Subscription) Delivery(event string) string {
	return DeliveryPrefix + strings.TrimPrefix(event, EventPrefix) + "-" + strings.TrimPrefix(s.ID, SubscriptionPrefix)
}

// SubscriptionEdit is a change by the owner; nil keeps a field.
type SubscriptionEdit struct {
	URL           *string
	Events        []string
	EventsVersion *EventsVersion
	Description   *string
	Status        *SubscriptionStatus
	// Authentication replaces what is sent as credentials; a zero one takes it away.
	Authentication *Authentication
}

// MostSubscriptions is the most endpoints of a shop in an environment, unless the operator sets
// another limit: each event goes to all of them.
const MostSubscriptions = 50

// MaxDescription is the longest description of an endpoint, in characters.
const MaxDescription = 200

// Beside returns an error if a subscription may not exist beside the others of its shop and
// environment. total is their number. A new one must not exceed the limit, and no two may have the
// same URL and the same events.
//
// Errors: conflict_state.
func (s Subscription) Beside(others []Subscription, total int64, most int) error {
	events := sortedEvents(s)
	for _, o := range others {
		if o.ID != s.ID && sameURL(o.URL, s.URL) && slices.Equal(sortedEvents(o), events) {
			return problem.Field(problem.ConflictState, "url", sameEndpoint.With(o.ID))
		}
	}
	if s.Version == 1 && total >= int64(most) {
		return problem.New(problem.ConflictState, tooManyEndpoints.With(total, most))
	}
	return nil
}

// sameURL reports whether two addresses lead to the same place, even if they are written
// differently.
func sameURL(a, b string) bool { return a == b || plainURL(a) == plainURL(b) }

func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return originOf(text) + " " + "/" + strings.TrimPrefix(u.EscapedPath(), "/") + " " + u.RawQuery
}

// originOf is the scheme, host and port of an address, in one spelling.
func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	port := u.Port()
	if u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		port = ""
	}
	return u.Scheme + " " + strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") + " " + port
}

func sortedEvents(s Subscription) []string {
	return slices.Compact(slices.Sorted(slices.Values(s.Events)))
}

// Edit changes a subscription. A managed one with a new URL becomes the owner's own. A new URL, and
// enabling, reset the circuit. Credentials do not follow to another scheme, host or port. An edit that
// changes nothing writes nothing.
func (s Subscription) Edit(e SubscriptionEdit, now time.Time) Subscription {
	next := s
	if e.URL != nil {
		next.Managed = next.Managed && *e.URL == next.URL
		next.URL = *e.URL
	}
	if originOf(next.URL) != originOf(s.URL) {
		next.Authentication = Authentication{}
	}
	if e.Authentication != nil {
		next.Authentication = *e.Authentication
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
		next.Circuit = EndpointCircuit{}
	}
	if next.URL == s.URL && next.Managed == s.Managed && slices.Equal(next.Events, s.Events) && next.EventsVersion == s.EventsVersion && next.Description == s.Description &&
		next.Status == s.Status && next.DisabledReason == s.DisabledReason && next.Circuit == s.Circuit && next.Authentication.Same(s.Authentication) {
		return s
	}
	return next.written(now)
}

// Rotate gives a subscription a new secret. The previous one also signs for a day. After two
// rotations in a day the newest two secrets sign.
func (s Subscription) Rotate(encrypted []byte, preview string, now time.Time) Subscription {
	s.PreviousSecret, s.PreviousUntil = s.Secret, now.Add(RotationGrace)
	s.Secret, s.SecretPreview = encrypted, preview
	return s.written(now)
}

// At returns the subscription at a time: without the previous secret if its grace period is over.
func (s Subscription) At(now time.Time) Subscription {
	if !now.Before(s.PreviousUntil) {
		s.PreviousSecret, s.PreviousUntil = nil, time.Time{}
	}
	return s
}

// Delete ends a subscription. Nobody needs its credentials any more.
func (s Subscription) Delete(now time.Time) Subscription {
	s.Status, s.Authentication = Deleted, Authentication{}
	return s.written(now)
}

// Disable stops a subscription, with a reason that its owner sees. One that is not enabled does not
// change.
func (s Subscription) Disable(reason string, now time.Time) Subscription {
	if s.Status != Enabled {
		return s
	}
	s.Status, s.DisabledReason = Disabled, reason
	return s.written(now)
}

// Unchanged is a new version with the same content. It is written with a decision that depends on
// the subscription: if somebody has changed the subscription first, the decision is stale.
func (s Subscription) Unchanged() Subscription {
	s.Version++
	return s
}

// written is a new version whose change the owner sees.
func (s Subscription) written(now time.Time) Subscription {
	s.Version++
	s.UpdatedAt = now
	return s
}

// Received is a delivery that a managed inbox received.
type Received struct {
	ID string // inb_…
	merchants.Scope
	Subscription string
	Delivery     string // wd_…
	Event        string
	EventType    EventType
	At           time.Time
	Header       map[string]string // for the check of the signature
	Body         []byte
}

const (
	// InboxPrefix begins the id of a received delivery.
	InboxPrefix = "inb_"
	// InboxKept is the number of deliveries that an inbox keeps.
	InboxKept = 1000
	// InboxAge is how long it keeps them.
	InboxAge = 30 * 24 * time.Hour
)
