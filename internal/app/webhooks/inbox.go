package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
)

const (
	// TrimEvery is the time between two deletions of old inbox rows; trimBatch is how many rows are
	// deleted at a time.
	TrimEvery = time.Minute
	trimBatch = 1000
)

// kept are the headers that an inbox keeps: those that a receiver checks.
var kept = [...]string{
	sender.SignatureHeader, sender.EventHeader, sender.DeliveryHeader,
	"webhook-id", "webhook-timestamp", "webhook-signature",
}

// postInbox delivers to the managed inbox, signed and checked like a delivery over the network. The check knows the
// secrets that signed, however often they are rotated meanwhile.
func (w *Webhooks) postInbox(ctx context.Context, e endpoint, d webhooks.Delivery, m sender.Message) sender.Result {
	began := w.Now()
	err := w.keep(ctx, e, d, w.Sender.Header(m), m.Body)
	result := sender.Result{StatusCode: http.StatusOK, Duration: w.Now().Sub(began)}
	if err == nil {
		return result
	}
	result.StatusCode, result.Err = http.StatusServiceUnavailable, sender.HTTPStatus
	w.Quiet.ComesAgain(ctx, e.sub.Live, "a managed inbox did not accept a delivery; the delivery is retried later", err, "subscription", e.sub.ID)
	return result
}

// unsigned refuses a delivery that is not signed for the inbox.
func unsigned(cause error) error {
	return &problem.Error{Code: problem.InvalidToken, Reason: deliveryUnsigned, Cause: cause}
}

// Receive accepts a delivery to a shop's managed inbox. The delivery names the subscription whose
// secret must have signed it, and so the environment: a shop's two environments have the same
// address, but never mix.
//
// Errors: invalid_token unless it is signed for this inbox, invalid_request if the body is not
// JSON.
func (w *Webhooks) Receive(ctx context.Context, slug string, header http.Header, body []byte) error {
	sent := header.Get(sender.DeliveryHeader)
	if !strings.HasPrefix(sent, sentPrefix) || !base.Storable(sent) {
		return unsigned(nil)
	}
	d, err := w.Store.Deliveries().Any(ctx, storedID(sent))
	if errors.Is(err, store.ErrNotFound) {
		return unsigned(nil)
	}
	if err != nil {
		return err
	}
	e, err := w.endpoint(ctx, d.Subscription)
	if err != nil {
		return err
	}
	if err := w.Sandboxes.MayEnter(ctx, e.sub.Scope); err != nil {
		return err
	}
	_, shop, err := w.Tenant(ctx, base.Principal{Scope: e.sub.Scope})
	if err != nil {
		return err
	}
	if !e.sub.Managed || e.sub.Status == webhooks.Deleted || shop.Slug != slug {
		return unsigned(nil)
	}
	return w.keep(ctx, e, d, header, body)
}

// keep checks a delivery to a managed inbox, and adds it to the inbox.
//
// Errors: invalid_token, invalid_request.
func (w *Webhooks) keep(ctx context.Context, e endpoint, d webhooks.Delivery, header http.Header, body []byte) error {
	signature := header.Get(sender.SignatureHeader)
	err := sender.Verify(signature, body, e.secret, w.Now(), sender.Tolerance)
	if err != nil && e.previous != "" { // the delivery was signed before the secret was rotated
		err = sender.Verify(signature, body, e.previous, w.Now(), sender.Tolerance)
	}
	if err != nil {
		return unsigned(err)
	}
	if !json.Valid(body) || !base.Storable(string(body)) {
		return problem.New(problem.InvalidRequest, deliveryNotJSON)
	}
	now := w.TimeOf(e.sub.Scope)
	got := webhooks.Received{
		ID: w.NewID(webhooks.InboxPrefix, now), Scope: e.sub.Scope, Subscription: e.sub.ID, Delivery: d.ID, Event: d.Event,
		EventType: d.EventType, At: now, Header: map[string]string{}, Body: body,
	}
	for _, name := range kept {
		if value := header.Get(name); base.Storable(value) {
			got.Header[name] = value
		}
	}
	return w.Store.Commit(ctx, pay.Change{Inbox: []webhooks.Received{got}})
}

// Inbox lists the deliveries that a shop's managed inbox received, newest first, with their number.
//
// Errors: webhook_not_found.
func (w *Webhooks) Inbox(ctx context.Context, scope merchants.Scope, subscription string, page lists.Page) ([]webhooks.Received, int64, error) {
	sub, err := w.Subscription(ctx, scope, subscription)
	if err != nil {
		return nil, 0, err
	}
	if err := base.Behind(page.After, func() error { return w.Store.Subscriptions().Received(ctx, scope, sub.ID, page.After) }); err != nil {
		return nil, 0, err
	}
	return w.Store.Subscriptions().Inbox(ctx, scope, sub.ID, page)
}

// TrimInboxes deletes old inbox rows, and returns their number.
func (w *Webhooks) TrimInboxes(ctx context.Context) (int, error) {
	list, err := w.Store.Subscriptions().Inboxes(ctx)
	if err != nil {
		return 0, err
	}
	deleted := 0
	for _, sub := range list {
		oldest := id.From(webhooks.InboxPrefix, w.TimeOf(sub.Scope).Add(-webhooks.InboxAge))
		n, err := w.Store.Subscriptions().TrimInbox(ctx, sub.ID, oldest, trimBatch)
		if err != nil {
			return deleted, err
		}
		deleted += n
	}
	return deleted, nil
}
