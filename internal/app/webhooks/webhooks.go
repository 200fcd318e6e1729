// Package webhooks manages merchants' endpoints and delivers events to them: in order, and again
// until the endpoint accepts or the delivery is given up. It does not know the content of events.
package webhooks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	mathrand "math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/near"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/printable"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/work"
)

// Config is the configuration of Webhooks.
type Config struct {
	// InboxURL is the address of managed webhook inboxes, without a trailing slash.
	InboxURL string
	// AllowPrivate lets sandbox webhooks reach loopback addresses.
	AllowPrivate bool
	// MaxWebhooks is the most endpoints of a shop in an environment; 0 means
	// webhooks.MostSubscriptions. ProveWebhooks makes production endpoints prove their ownership.
	MaxWebhooks   int
	ProveWebhooks bool
	Sender        *sender.Sender
	// Jitter returns a number from 0 up to 1 that spreads the tries of deliveries; nil means
	// random.
	Jitter func() float64
}

// Webhooks manages endpoints and delivers events to them. It is safe for use by many goroutines.
type Webhooks struct {
	*base.Base
	Config
	subs      *base.Cache[endpoint]
	deliver   *dispatcher
	crowd     crowd      // requests under way, the dispatcher's and others
	shops     work.Turns // by shop: changes of which endpoints it has
	endpoints work.Turns // by endpoint: changes of it
	// steps is held during a fan-out's step and the pause after it, while other merchants write.
	steps work.Latch
}

// New returns a Webhooks without deliveries in hand.
func New(b *base.Base, c Config) *Webhooks {
	if c.MaxWebhooks == 0 {
		c.MaxWebhooks = webhooks.MostSubscriptions
	}
	if c.Jitter == nil {
		c.Jitter = mathrand.Float64
	}
	w := &Webhooks{Base: b, Config: c, subs: base.NewCache[endpoint](&b.Config), crowd: newCrowd(), steps: work.NewLatch()}
	w.deliver = newDispatcher(b, w, w.crowd)
	return w
}

// Written takes over the deliveries of a commit by this node.
func (w *Webhooks) Written(list []store.Dispatch) { w.deliver.submit(list) }

// Drain waits for the deliveries that are under way.
func (w *Webhooks) Drain() { w.deliver.drain() }

// Parked counts the deliveries that this node has parked since it started.
func (w *Webhooks) Parked() int64 {
	parked, _ := w.deliver.counts()
	return parked
}

// Postponed counts the deliveries that this node gave back to wait for an earlier event of their
// object.
func (w *Webhooks) Postponed() int64 {
	_, late := w.deliver.counts()
	return late
}

// StalledEndpoints counts the endpoints that fail or have parked deliveries.
func (w *Webhooks) StalledEndpoints(ctx context.Context) (int, error) {
	list, err := w.Store.Subscriptions().Stalled(ctx)
	return len(list), err
}

// beside checks that a subscription may exist beside its shop's others, and returns the version of
// the shop to be written with it.
//
// Errors: conflict_state.
func (w *Webhooks) beside(ctx context.Context, sub webhooks.Subscription) (merchants.Shop, error) {
	shop, err := w.Store.Merchants().Shop(ctx, sub.Shop)
	if err != nil {
		return shop, err
	}
	others, total, err := w.Store.Subscriptions().List(ctx, sub.Scope, lists.Page{Limit: compared})
	if err != nil {
		return shop, err
	}
	return shop.Next(), sub.Beside(others, total, w.MaxWebhooks)
}

// compared is how many of a shop's endpoints a new one is compared with: a shop has more
// if the operator has lowered the limit since.
const compared = 1000

// proveEndpoint sends a production endpoint a challenge and expects its SHA-256, if the operator
// requires that (Config.ProveWebhooks): whoever makes it answer like this controls it. Many foreign
// endpoints echo what they are sent, but none hashes it.
//
// Errors: invalid_request.
func (w *Webhooks) proveEndpoint(ctx context.Context, sub webhooks.Subscription) error {
	if !w.ProveWebhooks || !sub.Live || sub.Managed {
		return nil
	}
	credentials, err := w.credentials(sub)
	if err != nil {
		return err
	}
	challenge := rand.Text()
	body, err := json.Marshal(map[string]string{"type": sender.Challenge, "challenge": challenge})
	if err != nil {
		return err
	}
	leave, err := w.crowd.enter(ctx, sub.Scope)
	if err != nil {
		return err
	}
	defer leave()
	id := w.NewID("wch_", w.Now())
	result := w.Sender.Send(ctx, true, sender.Message{URL: sub.URL, Secret: sender.NewSecret(), Event: sender.Challenge, DeliveryID: id, EventID: id, Credentials: credentials, Body: body})
	if result.Delivered() && strings.Contains(result.Snippet, sender.Answer(challenge)) {
		return nil
	}
	return problem.Field(problem.InvalidRequest, "url", challengeNotAnswered.With(sender.Challenge))
}

// newSecret makes a subscription's secret: its text, the encrypted text, and the preview.
func (w *Webhooks) newSecret(subscription string) (secret string, encrypted []byte, preview string) {
	secret = sender.NewSecret()
	return secret, w.Vault.Encrypt(subscription, []byte(secret)), sender.SecretPrefix + "…" + secret[len(secret)-4:]
}

// allIfAny returns only "*" if the list contains it, because it includes all other events.
func allIfAny(events []string) []string {
	if slices.Contains(events, webhooks.AllEvents) {
		return []string{webhooks.AllEvents}
	}
	return events
}

// paidElsewhere are other services' names of payment.completed. By its letters, the first is
// closest to payment.failed.
var paidElsewhere = []string{"payment.paid", "payment.succeeded", "charge.succeeded", "payment_intent.succeeded", "checkout.session.completed"}

// NotEvent is the reason for an unknown event: the valid ones, and the one that was probably
// meant.
func NotEvent(name string) problem.Reason {
	var names []string
	for _, e := range webhooks.EventTypes() {
		names = append(names, string(e))
	}
	meant := near.Meant(name, names)
	if slices.Contains(paidElsewhere, name) {
		meant = string(webhooks.PaymentCompleted)
	}
	hint := knownEvents.With(names)
	if meant != "" {
		hint = eventMeant.With(meant, names)
	}
	if len(name) > base.MaxKeptID || strings.ContainsFunc(name, printable.Unprintable) {
		return notEventUnnamed.With(hint)
	}
	return notEvent.With(name, hint)
}

// version checks a set of events; "" means that none was asked for. It must not be older than
// before.
func (p *problems) version(v, before webhooks.EventsVersion) {
	switch {
	case v == "" && before == "":
	case !slices.Contains(webhooks.EventsVersions(), v):
		var names []string
		for _, known := range webhooks.EventsVersions() {
			names = append(names, string(known))
		}
		p.issues = append(p.issues, problem.Issue{Path: "eventsVersion", Reason: unknownEventsVersion.With(names)})
	case v < before:
		p.issues = append(p.issues, problem.Issue{Path: "eventsVersion", Reason: eventsVersionBackwards.With(before)})
	}
}

// url checks an endpoint's address, by the rules of production or of the sandbox.
func (p *problems) url(url string, live, allowPrivate bool) {
	if err := sender.CheckURL(url, live, allowPrivate); err != nil {
		why, _ := errors.AsType[problem.Reason](err)
		p.issues = append(p.issues, problem.Issue{Path: "url", Reason: why})
	}
}

// err returns one error with all problems, nil without any.
func (p *problems) err() error {
	if len(p.issues) == 0 {
		return nil
	}
	code := problem.InvalidRequest
	if len(p.issues) == len(p.missing) {
		code = problem.MissingField
	}
	return &problem.Error{
		Code: code, Param: p.issues[0].Path, Reason: p.issues[0].Reason,
		Details: problem.Details{Issues: p.issues, MissingFields: p.missing},
	}
}

// Subscription reads one of a shop's endpoints.
//
// Errors: webhook_not_found.
func (w *Webhooks) Subscription(ctx context.Context, scope merchants.Scope, subscription string) (webhooks.Subscription, error) {
	sub, err := base.Named(subscription, base.Missing(problem.WebhookNotFound, scope, subscription), func() (webhooks.Subscription, error) { return w.Store.Subscriptions().Get(ctx, scope, subscription) })
	return sub.At(w.TimeOf(scope)), err
}

// Subscriptions lists a shop's endpoints, newest first, with their number. A page may begin after
// an endpoint that was deleted meanwhile.
//
// Errors: invalid_request for an unknown cursor.
func (w *Webhooks) Subscriptions(ctx context.Context, scope merchants.Scope, page lists.Page) ([]webhooks.Subscription, int64, error) {
	if err := base.Behind(page.After, func() error {
		sub, err := w.Store.Subscriptions().Any(ctx, page.After)
		if err == nil && sub.Scope != scope {
			err = store.ErrNotFound
		}
		return err
	}); err != nil {
		return nil, 0, err
	}
	list, total, err := w.Store.Subscriptions().List(ctx, scope, page)
	for i := range list {
		list[i] = list[i].At(w.TimeOf(scope))
	}
	return list, total, err
}

// EditSubscription changes the fields that the edit names. The secret stays.
//
// Errors: webhook_not_found, missing_field, invalid_request, conflict_state for a duplicate.
func (w *Webhooks) EditSubscription(ctx context.Context, by base.Principal, scope merchants.Scope, subscription string, e SubscriptionEdit) (sub webhooks.Subscription, err error) {
	merchant, _, err := w.Tenant(ctx, base.Principal{Scope: scope})
	if err != nil {
		return sub, err
	}
	var bad problems
	if e.Events != nil {
		bad.events(e.Events)
		e.Events = allIfAny(e.Events)
	}
	proved := ""
	done, err := w.shops.Lock(ctx, scope.Shop)
	if err != nil {
		return sub, err
	}
	defer done()
	err = w.change(ctx, scope, subscription, func(read webhooks.Subscription) (pay.Change, error) {
		bad := bad // start without problems in each try
		// A managed endpoint may be given its own address again.
		if e.URL != nil && !(read.Managed && *e.URL == read.URL) {
			bad.url(*e.URL, scope.Live || merchant.StrictFor(scope.Live, e.Strict), w.AllowPrivate)
		}
		bad.credentials(e.Credentials, read.Managed && (e.URL == nil || *e.URL == read.URL))
		if e.EventsVersion != nil {
			bad.version(*e.EventsVersion, read.EventsVersion)
		}
		next := read.Edit(w.edit(read, e), w.TimeOf(scope))
		bad.description(next.Description)
		if err := bad.err(); err != nil {
			return pay.Change{}, err
		}
		if sub = next; sub.Version == read.Version {
			return pay.Change{}, nil
		}
		change := pay.Change{Subscriptions: []webhooks.Subscription{sub}}
		if sub.URL != read.URL && sub.URL != proved {
			if err := w.proveEndpoint(ctx, sub); err != nil {
				return change, err
			}
			proved = sub.URL
		}
		if sub.URL != read.URL || !slices.Equal(sub.Events, read.Events) {
			shop, err := w.beside(ctx, sub)
			if err != nil {
				return change, err
			}
			change.Shops = []merchants.Shop{shop}
		}
		if read.Status == webhooks.Disabled && sub.Status == webhooks.Enabled {
			if change.Replays, err = w.stillReplaying(ctx, sub.ID); err != nil {
				return change, err
			}
		}
		change.Audit = w.Audited(by.Actor(), scope, audit.WebhookUpdated, sub.ID, audited(sub, read))
		return change, nil
	})
	w.deliver.wake() // waiting deliveries may be sent now
	return sub, err
}

// RotateSecret gives an endpoint a new secret, which is shown only once. The previous one also
// signs for a day.
//
// Errors: webhook_not_found.
func (w *Webhooks) RotateSecret(ctx context.Context, by base.Principal, scope merchants.Scope, subscription string) (sub webhooks.Subscription, secret string, err error) {
	err = w.change(ctx, scope, subscription, func(read webhooks.Subscription) (pay.Change, error) {
		var encrypted []byte
		var preview string
		secret, encrypted, preview = w.newSecret(read.ID)
		sub = read.Rotate(encrypted, preview, w.TimeOf(scope))
		return pay.Change{Subscriptions: []webhooks.Subscription{sub}, Audit: w.Audited(by.Actor(), scope, audit.WebhookRotated, sub.ID, nil)}, nil
	})
	if err != nil {
		return sub, "", err
	}
	return sub, secret, nil
}

// Unsubscribe deletes an endpoint. Its unsent deliveries are dropped.
//
// Errors: webhook_not_found.
func (w *Webhooks) Unsubscribe(ctx context.Context, by audit.Actor, scope merchants.Scope, subscription string) error {
	return w.change(ctx, scope, subscription, func(read webhooks.Subscription) (pay.Change, error) {
		return pay.Change{
			Subscriptions: []webhooks.Subscription{read.Delete(w.TimeOf(scope))},
			Audit:         w.Audited(by, scope, audit.WebhookDeleted, read.ID, map[string]string{"url": origin(read.URL)}),
		}, nil
	})
}

// change decides about an endpoint and repeats stale decisions.
//
// Errors: webhook_not_found.
func (w *Webhooks) change(ctx context.Context, scope merchants.Scope, subscription string, decide func(webhooks.Subscription) (pay.Change, error)) error {
	done, err := w.endpoints.Lock(ctx, subscription)
	if err != nil {
		return err
	}
	defer done()
	err = base.Again(func() error {
		read, err := w.Subscription(ctx, scope, subscription)
		if err != nil {
			return err
		}
		change, err := decide(read)
		if err != nil || len(change.Subscriptions) == 0 {
			return err
		}
		return w.Store.Commit(ctx, change)
	})
	w.subs.Forget(subscription)
	return err
}

// origin is the part of an endpoint's URL that the audit log shows: the rest may contain a password
// or a token.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// endpoint is a subscription with its secrets decrypted.
type endpoint struct {
	sub              webhooks.Subscription
	secret, previous string
	credentials      sender.Credentials
}

// endpoint reads the endpoint of a delivery.
func (w *Webhooks) endpoint(ctx context.Context, subscription string) (endpoint, error) {
	return w.subs.Get(ctx, subscription, func(ctx context.Context) (e endpoint, err error) {
		if e.sub, err = w.Store.Subscriptions().Any(ctx, subscription); err != nil {
			return e, err
		}
		secret, err := w.Vault.Decrypt(e.sub.ID, e.sub.Secret)
		if err != nil {
			return e, err
		}
		e.secret = string(secret)
		if e.credentials, err = w.credentials(e.sub); err != nil {
			return e, err
		}
		if e.sub = e.sub.At(w.TimeOf(e.sub.Scope)); len(e.sub.PreviousSecret) > 0 {
			previous, err := w.Vault.Decrypt(e.sub.ID, e.sub.PreviousSecret)
			if err != nil {
				return e, err
			}
			e.previous = string(previous)
		}
		return e, nil
	})
}
