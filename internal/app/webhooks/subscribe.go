package webhooks

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
)

// NewSubscription describes a subscription to be made.
type NewSubscription struct {
	URL           string // empty: a managed inbox
	Events        []string
	EventsVersion webhooks.EventsVersion // "": the newest
	Description   string
	Credentials   *Credentials // that each delivery carries; nil: none
	Strict        *bool        // header Sandbox-Strict; nil: the setting of the merchant's sandbox
	Idempotency   base.Idempotency
}

// Subscribed is an endpoint with its secret.
type Subscribed struct {
	webhooks.Subscription
	Secret   string
	Replayed bool // an earlier request with the same key added it
}

// Subscribe adds an endpoint and returns it with its secret. A repeat with the same key gets the endpoint as it is now, with the secret that
// signs now (IDEM-14). Nobody else sees a secret again.
//
// Errors: missing_field, invalid_request, conflict_state above the limit, or for a duplicate, idempotency_conflict, webhook_not_found for a
// repeat after the endpoint was deleted.
func (w *Webhooks) Subscribe(ctx context.Context, by base.Principal, scope merchants.Scope, n NewSubscription) (Subscribed, error) {
	var bad problems
	bad.events(n.Events)
	bad.version(n.EventsVersion, "")
	bad.description(n.Description)
	merchant, shop, err := w.Tenant(ctx, base.Principal{Scope: scope})
	if err != nil {
		return Subscribed{}, err
	}
	if n.URL != "" {
		bad.url(n.URL, scope.Live || merchant.StrictFor(scope.Live, n.Strict), w.AllowPrivate)
	}
	bad.credentials(n.Credentials, n.URL == "")
	if err := bad.err(); err != nil {
		return Subscribed{}, err
	}
	if n.Idempotency.Hash != "" { // the body may have a password: nobody who reads the database may try guesses
		sum := w.Vault.MAC("request of a webhook", n.Idempotency.Hash)
		n.Idempotency.Hash = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	done, err := w.shops.Lock(ctx, scope.Shop)
	if err != nil {
		return Subscribed{}, err
	}
	defer done()
	if made, err := w.earlier(ctx, scope, n.Idempotency); err != nil || made.Replayed {
		return made, err
	}
	now := w.TimeOf(scope)
	sub := webhooks.Subscription{
		ID: w.NewID(webhooks.SubscriptionPrefix, now), Scope: scope, Version: 1, URL: n.URL, Events: allIfAny(n.Events),
		EventsVersion: cmp.Or(n.EventsVersion, webhooks.NewestEvents), Status: webhooks.Enabled,
		Description: n.Description, CreatedAt: now, UpdatedAt: now,
	}
	var secret string
	secret, sub.Secret, sub.SecretPreview = w.newSecret(sub.ID)
	if n.URL == "" {
		sub.Managed, sub.URL = true, w.InboxURL+"/"+shop.Slug
	}
	if n.Credentials != nil {
		sub.Authentication = w.encrypted(sub.ID, sub.URL, *n.Credentials)
	}
	if _, err := w.beside(ctx, sub); err != nil { // no challenge is sent if there are too many
		return Subscribed{}, err
	}
	if err := w.proveEndpoint(ctx, sub); err != nil {
		return Subscribed{}, err
	}
	return base.Decide(func() (Subscribed, error) {
		if made, err := w.earlier(ctx, scope, n.Idempotency); err != nil || made.Replayed { // another node was first
			return made, err
		}
		shop, err := w.beside(ctx, sub)
		if err != nil {
			return Subscribed{}, err
		}
		err = w.Store.Commit(ctx, pay.Change{
			Once: n.Idempotency.Guard(scope, sub.ID, now), Shops: []merchants.Shop{shop}, Subscriptions: []webhooks.Subscription{sub},
			Audit: w.Audited(by.Actor(), scope, audit.WebhookCreated, sub.ID,
				audited(sub, webhooks.Subscription{})),
		})
		if errors.Is(err, store.ErrDuplicate) {
			err = store.ErrStale
		}
		return Subscribed{Subscription: sub, Secret: secret}, err
	})
}

// earlier reads the endpoint that an earlier request with the same key added; zero if there was none.
func (w *Webhooks) earlier(ctx context.Context, scope merchants.Scope, i base.Idempotency) (Subscribed, error) {
	object, found, err := w.Earlier(ctx, scope, i)
	if err != nil || !found {
		return Subscribed{}, err
	}
	sub, err := w.Subscription(ctx, scope, object)
	if err != nil {
		return Subscribed{}, err
	}
	secret, err := w.Vault.Decrypt(sub.ID, sub.Secret)
	return Subscribed{sub, string(secret), true}, err
}
