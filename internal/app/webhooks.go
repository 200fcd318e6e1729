package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/webhook"
)

// NewSubscription is what a subscription is made from.
type NewSubscription struct {
	URL         string // empty: a managed inbox
	Events      []string
	Description string
}

// Subscribe adds an endpoint and returns its secret, which is shown once.
//
// Errors: missing_field, invalid_request.
func (a *App) Subscribe(ctx context.Context, by Principal, scope pay.Scope, n NewSubscription) (pay.Subscription, string, error) {
	if err := a.checkSubscription(scope, n); err != nil {
		return pay.Subscription{}, "", err
	}
	if slices.Contains(n.Events, pay.AllEvents) {
		n.Events = []string{pay.AllEvents} // which names every other
	}
	now := a.now(scope)
	secret := id.Secret(webhook.SecretPrefix)
	sub := pay.Subscription{
		ID: a.NewID("wh_", now), Scope: scope, Version: 1, URL: n.URL, Events: n.Events, Status: pay.Enabled,
		Description: n.Description, SecretPreview: webhook.SecretPrefix + "…" + secret[len(secret)-4:], CreatedAt: now, UpdatedAt: now,
	}
	sub.Secret = a.Vault.Seal(sub.ID, []byte(secret))
	if n.URL == "" {
		_, shop, err := a.Tenant(ctx, by)
		if err != nil {
			return sub, "", err
		}
		sub.Managed, sub.URL = true, a.InboxURL+"/"+shop.Slug
	}
	return sub, secret, a.store.Commit(ctx, pay.Change{
		Subscriptions: []pay.Subscription{sub},
		Audit: a.audit(by.Actor(), scope, pay.WebhookCreated, sub.ID,
			map[string]string{"url": origin(sub.URL), "events": strings.Join(sub.Events, ",")}),
	})
}

// checkSubscription reports everything that is wrong at once.
func (a *App) checkSubscription(scope pay.Scope, n NewSubscription) error {
	bad := pay.Error{Code: pay.CodeInvalidRequest}
	add := func(path, message string) {
		bad.Details.Issues = append(bad.Details.Issues, pay.Issue{Path: path, Message: message})
	}
	if len(n.Events) == 0 {
		add("events", "events must name at least one event, or *")
		bad.Details.MissingFields = []string{"events"}
	}
	for i, e := range n.Events {
		if !pay.ValidEvent(e) {
			add(fmt.Sprintf("events[%d]", i), fmt.Sprintf("%q is not an event", e))
		}
	}
	if n.URL != "" {
		if err := webhook.CheckURL(n.URL, scope.Live, a.AllowPrivate); err != nil {
			add("url", err.Error())
		}
	}
	issues := bad.Details.Issues
	if len(issues) == 0 {
		return nil
	}
	if len(issues) == len(bad.Details.MissingFields) {
		bad.Code = pay.CodeMissingField
	}
	bad.Param, bad.Message = issues[0].Path, issues[0].Message
	return &bad
}

// Subscriptions lists a shop's endpoints, newest first, and counts them.
func (a *App) Subscriptions(ctx context.Context, scope pay.Scope, limit, offset int) ([]pay.Subscription, int64, error) {
	return a.store.Subscriptions(ctx, scope, limit, offset)
}

// Unsubscribe deletes an endpoint. What is still on its way to it is dropped.
//
// Errors: webhook_not_found.
func (a *App) Unsubscribe(ctx context.Context, by Principal, scope pay.Scope, subscription string) error {
	if !storable(subscription) {
		return pay.NewError(pay.CodeWebhookNotFound, "there is no such webhook")
	}
	err := again(func() error {
		sub, err := a.store.Subscription(ctx, scope, subscription)
		if err != nil {
			return err
		}
		change := sub.Delete(a.now(scope))
		change.Audit = a.audit(by.Actor(), scope, pay.WebhookDeleted, sub.ID, map[string]string{"url": origin(sub.URL)})
		return a.store.Commit(ctx, change)
	})
	if errors.Is(err, store.ErrNotFound) {
		return pay.NewError(pay.CodeWebhookNotFound, "there is no such webhook")
	}
	a.subs.forget(subscription)
	return err
}

// origin is what the audit log tells of an endpoint's URL: the rest of it may
// hold a password or a token.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// endpoint is a subscription with its secrets open.
type endpoint struct {
	sub              pay.Subscription
	secret, previous string
}

// endpoint reads where a delivery goes.
func (a *App) endpoint(ctx context.Context, subscription string) (endpoint, error) {
	return a.subs.get(subscription, func() (e endpoint, err error) {
		if e.sub, err = a.store.AnySubscription(ctx, subscription); err != nil {
			return e, err
		}
		secret, err := a.Vault.Open(e.sub.ID, e.sub.Secret)
		if err != nil {
			return e, err
		}
		e.secret = string(secret)
		if len(e.sub.PreviousSecret) > 0 && a.now(e.sub.Scope).Before(e.sub.PreviousUntil) {
			previous, err := a.Vault.Open(e.sub.ID, e.sub.PreviousSecret)
			if err != nil {
				return e, err
			}
			e.previous = string(previous)
		}
		return e, nil
	})
}
